"""The automaton that makes high-order dependencies cheap: label patterns become states.

A model that scores patterns of consecutive labels needs to remember, of all the labels so far,
only the longest suffix that may still grow into a pattern. Those suffixes are the states; their
number is at most the number of prefixes of the patterns, whatever the order.

Reference: N. V. Cuong, N. Ye, W. S. Lee and H. L. Chieu (2014), "Conditional Random Field with
High-order Dependencies for Sequence Labeling and Segmentation", Journal of Machine Learning
Research 15, Section 2.2. The paper's second set of states, for the backward pass, is not needed:
a backward variable depends only on the longest suffix among the first (Lemma 1c).
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Sequence
from enum import Enum, EnumMeta
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from octavo.engine.chains.label_sequences import (
    classes_of,
    encode_labels,
    object_array,
    stack_labels,
)
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.checked import checked

__all__ = ["BoundaryLabel", "PatternAutomaton", "observed_patterns"]

Pattern = tuple[Hashable, ...]


class _Uncalled(EnumMeta):
    """Values that nobody calls: no arguments to document, whatever this Python's enums take."""

    @property
    def __signature__(cls) -> inspect.Signature:
        return inspect.Signature()


class BoundaryLabel(Enum, metaclass=_Uncalled):
    """Marks that stand in patterns for the beginning and the end of a sequence.

    Examples
    --------
    >>> from octavo.sequence import BoundaryLabel, observed_patterns
    >>> (BoundaryLabel.BEGIN, "a") in observed_patterns([["a", "b"]], 1, boundary_labels=True)
    True
    """

    BEGIN = "begin"
    END = "end"

    def __repr__(self) -> str:
        return self.name


@checked
def observed_patterns(
    y: Any,
    max_order: int,
    *,
    min_count: int = 1,
    boundary_labels: bool = False,
    max_patterns: int | None = None,
    lengths: ArrayLike | None = None,
) -> dict[Pattern, int]:
    """Return every label pattern of a set of sequences, with how often it occurs.

    Parameters
    ----------
    y : list of label sequences, or flat sequence of labels
        Labels are anything hashable.
    max_order : int
        The longest patterns have ``max_order + 1`` labels.
    min_count : int, default=1
        Patterns that occur less often are left out.
    boundary_labels : bool, default=False
        Also count patterns that begin or end with the sequence, as `BoundaryLabel` marks.
    max_patterns : int, optional
        More than that is an error.
    lengths : array-like of int, optional
        Lengths of the sequences of a flat y.

    Returns
    -------
    counts : dict of tuple to int
        Shorter patterns first, then in the order of the labels.

    Examples
    --------
    >>> from octavo.sequence import observed_patterns
    >>> observed_patterns([["a", "b", "a", "b"], ["b"]], 1)
    {('a',): 2, ('b',): 3, ('a', 'b'): 2, ('b', 'a'): 1}
    """
    stack = stack_labels(y, lengths)
    classes = classes_of(stack.labels)
    codes = encode_labels(stack, classes)
    names = classes.tolist()
    sizes = stack.lengths
    if boundary_labels:
        codes = mark_boundaries(codes, sizes, len(names))
        sizes = sizes + 2
        names = [*names, BoundaryLabel.BEGIN, BoundaryLabel.END]
    found = count_windows(codes, sizes, len(names), max_order, min_count)
    patterns = {tuple(names[c] for c in window): count for window, count in found}
    for mark in BoundaryLabel:  # a mark alone says nothing
        patterns.pop((mark,), None)
    if max_patterns is not None and len(patterns) > max_patterns:
        states = len({z[:k] for z in patterns for k in range(len(z))})
        raise ValueError(
            f"{len(patterns)} patterns up to order {max_order} are more than "
            f"max_patterns={max_patterns}; they would need {states * len(names)} state-label "
            f"pairs. Lower max_order, raise the minimal count, or raise max_patterns."
        )
    return patterns


def mark_boundaries(
    codes: NDArray[np.int64], lengths: NDArray[np.int64], n_labels: int
) -> NDArray[np.int64]:
    """Return the stacked codes with a mark before and after every sequence."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    where = np.concatenate([starts, ends])
    marks = np.repeat([n_labels, n_labels + 1], lengths.size)
    # np.insert keeps the order of equal places: a sequence's end before the next one's beginning.
    order = np.lexsort((marks == n_labels, where))
    return np.insert(codes, where[order], marks[order])


def count_windows(
    # the same key for the same window: its prefix's number and its last code
    codes: NDArray[np.int64],
    lengths: NDArray[np.int64],
    n_labels: int,
    max_order: int,
    min_count: int,
) -> list[tuple[tuple[int, ...], int]]:
    """Return the windows of 1 to max_order + 1 codes that occur min_count times, with counts."""
    position = np.arange(codes.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found: list[tuple[tuple[int, ...], int]] = []
    windows: list[tuple[int, ...]] = [()]
    ends = np.arange(codes.size)  # where a window of the current length ends
    number = np.zeros(codes.size, dtype=np.int64)  # which window ends there, by position
    for size in range(1, max_order + 2):
        ends = ends[position[ends] >= size - 1]
        # a window can be frequent only if its prefix is
        before = number[ends - 1] if size > 1 else number[ends]
        ends, before = ends[before >= 0], before[before >= 0]
        keys, inverse, counts = np.unique(
            before * n_labels + codes[ends], return_inverse=True, return_counts=True
        )
        kept = counts >= min_count
        new = [(*windows[key // n_labels], int(key % n_labels)) for key in keys[kept].tolist()]
        found += zip(new, counts[kept].tolist())
        number = np.full(codes.size, -1, dtype=np.int64)
        number[ends] = np.where(kept, np.cumsum(kept) - 1, -1)[inverse]
        windows = new
    return found


@njit(cache=True)
def _walk(delta, codes, ptr, start, states):
    """Fill states with the state before each label; every sequence begins in ``start``."""
    for q in range(ptr.shape[0] - 1):
        at = start
        for n in range(ptr[q], ptr[q + 1]):
            states[n] = at
            at = delta[at, codes[n]]


class PatternAutomaton:
    """The finite automaton of a set of label patterns.

    Its states are the empty pattern, all labels and all proper prefixes of the patterns. From a
    state p, a label y leads to the longest suffix of p followed by y that is a state.

    Parameters
    ----------
    labels : sequence of hashable
        All labels, each once.
    patterns : sequence of tuple
        Tuples of labels, each once.
    complete : bool, default=False
        Make whole patterns states too; then the patterns that have just been completed can be
        read off the state alone.

    Attributes
    ----------
    labels, patterns : list
        As given.
    states : list of tuple
        Shorter ones first, then in the order of the labels; the empty one is state 0.
    delta : ndarray of shape (n_states, n_labels)
        The state that a label leads to.
    suffix_matrix : sparse array of shape (n_patterns, n_states * n_labels)
        1 where the pattern ends the state followed by the label; pairs are numbered
        ``state * n_labels + label``.
    state_matrix : sparse array of shape (n_patterns, n_states)
        1 where the pattern ends the state.
    last : ndarray of shape (n_states,)
        The last label of a state, -1 for the empty one.
    fail : ndarray of shape (n_states,)
        The longest state that is a shorter suffix of the state, -1 for the empty one.

    Examples
    --------
    >>> from octavo.sequence import PatternAutomaton
    >>> automaton = PatternAutomaton("POL", [("L", "O", "L")])
    >>> automaton.states
    [(), ('P',), ('O',), ('L',), ('L', 'O')]
    >>> automaton.delta[3].tolist()
    [1, 4, 3]
    """

    def __init__(
        self,
        labels: Sequence[Hashable],
        patterns: Sequence[Pattern],
        *,
        complete: bool = False,
    ) -> None:
        self.labels, self.patterns = list(labels), list(patterns)
        self._place = _places(self.labels)
        coded = _coded(self.patterns, self._place)
        # The set P of Section 2.2: the empty pattern, all labels, all proper prefixes of patterns.
        prefixes = {z[:k] for z in coded for k in range(len(z) + complete)}
        prefixes |= {(), *((code,) for code in range(len(self.labels)))}
        ordered = sorted(prefixes, key=lambda p: (len(p), p))
        index = {p: i for i, p in enumerate(ordered)}
        self.states: list[Pattern] = [tuple(self.labels[c] for c in p) for p in ordered]
        self.last = np.array([p[-1] if p else -1 for p in ordered])
        self._parent = np.array([index[p[:-1]] if p else -1 for p in ordered])
        self._size = np.array([len(p) for p in ordered])
        self._connect()
        self._prefix = np.array([index[z[:-1]] for z in coded], dtype=np.int64)
        self._final = np.array([z[-1] for z in coded], dtype=np.int64)
        self._whole = np.array([index.get(z, -1) for z in coded], dtype=np.int64)

    def _connect(self) -> None:
        """Fill delta and fail level by level, as in the automaton of Aho and Corasick.

        delta[p, y] is the longest suffix of p·y in P, the paper's relation ≤ˢ_P.
        """
        n = len(self.labels)
        self.delta = np.zeros((len(self.states), n), dtype=np.int64)
        self.fail = np.full(len(self.states), -1, dtype=np.int64)
        self.delta[0] = np.arange(1, n + 1)
        for size in range(1, int(self._size.max()) + 1):
            level = np.flatnonzero(self._size == size)
            parent, last = self._parent[level], self.last[level]
            # the longest proper suffix in P
            self.fail[level] = 0 if size == 1 else self.delta[self.fail[parent], last]
            # δ(p, y) of a p without a child y is that of its longest suffix
            self.delta[level] = self.delta[self.fail[level]]
            longer = np.flatnonzero(self._size == size + 1)
            self.delta[self._parent[longer], self.last[longer]] = longer  # the children themselves

    @property
    def n_states(self) -> int:
        """Number of states, the empty one included."""
        return len(self.states)

    def _incidence(self, owner: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (pattern, state) for each state with the pattern's owner among its suffixes."""
        order = np.argsort(owner, kind="stable")
        order = order[owner[order] >= 0]
        first = np.searchsorted(owner[order], np.arange(self.n_states + 1))
        patterns, states = [], []
        state = suffix = np.arange(self.n_states)
        while suffix.size:
            counts = first[suffix + 1] - first[suffix]
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            patterns.append(order[np.repeat(first[suffix], counts) + within])
            states.append(np.repeat(state, counts))
            suffix = self.fail[suffix]  # shorter and shorter suffixes, until none is left
            state, suffix = state[suffix >= 0], suffix[suffix >= 0]
        return np.concatenate(patterns), np.concatenate(states)

    @cached_property
    def suffix_matrix(self) -> sp.csr_array:
        """Patterns by pairs: 1 where the pattern ends the state followed by the label."""
        pattern, state = self._incidence(self._prefix)
        pair = state * len(self.labels) + self._final[pattern]
        shape = (len(self.patterns), self.n_states * len(self.labels))
        return sp.csr_array((np.ones(pattern.size), (pattern, pair)), shape=shape)

    @cached_property
    def state_matrix(self) -> sp.csr_array:
        """Patterns by states: 1 where the pattern ends the state."""
        pattern, state = self._incidence(self._whole)
        shape = (len(self.patterns), self.n_states)
        return sp.csr_array((np.ones(pattern.size), (pattern, state)), shape=shape)

    def walk(
        self, codes: NDArray[np.int64], lengths: NDArray[np.int64], start: int = 0
    ) -> NDArray[np.int64]:
        """Return the state before each label of stacked sequences of label codes."""
        states = np.empty(codes.size, dtype=np.int64)
        _walk(self.delta, codes, np.concatenate([[0], np.cumsum(lengths)]), start, states)
        return states

    def count(self, y: Any, lengths: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return how often each pattern occurs in label sequences.

        Parameters
        ----------
        y : list of label sequences, or flat sequence of labels
            Labels that the automaton knows.
        lengths : array-like of int, optional
            Lengths of the sequences of a flat y.

        Returns
        -------
        counts : ndarray of shape (n_patterns,)
            In the order of `patterns`.
        """
        stack = stack_labels(y, lengths)
        codes = encode_labels(stack, object_array(self.labels), seen="the automaton")
        pairs = self.walk(codes, stack.lengths) * len(self.labels) + codes
        return self.suffix_matrix @ np.bincount(pairs, minlength=self.suffix_matrix.shape[1])


def _places(labels: Sequence[Hashable]) -> dict[Hashable, int]:
    if not labels:
        raise ValueError("An automaton needs at least one label.")
    place: dict[Hashable, int] = {}
    for code, label in enumerate(labels):
        try:
            if label in place:
                raise ValueError(f"Label {label!r} is listed twice.")
            place[label] = code
        except TypeError:
            raise ValueError(f"labels must be hashable, got {label!r}.") from None
    return place


def _coded(patterns: Sequence[Pattern], place: dict[Hashable, int]) -> list[tuple[int, ...]]:
    """Return patterns as tuples of label codes, each checked."""
    coded: list[tuple[int, ...]] = []
    seen: dict[tuple[int, ...], int] = {}
    for i, pattern in enumerate(patterns):
        if not isinstance(pattern, tuple):
            raise ValueError(f"Pattern {i} must be a tuple of labels, got {pattern!r}.")
        if not pattern:
            raise ValueError(f"Pattern {i} is empty.")
        try:
            codes = tuple(place.get(label, -1) for label in pattern)
        except TypeError:
            raise ValueError(f"Pattern {i}: labels must be hashable, got {pattern!r}.") from None
        if -1 in codes:
            unknown = pattern[codes.index(-1)]
            raise ValueError(f"Pattern {i} is {pattern!r}, but {unknown!r} is no label.")
        if codes in seen:
            raise ValueError(f"Pattern {i} is {pattern!r}, listed twice (also {seen[codes]}).")
        seen[codes] = i
        coded.append(codes)
    return coded


def _warmup() -> None:
    PatternAutomaton("ab", [("a", "b")]).walk(np.zeros(2, dtype=np.int64), np.array([2]))
