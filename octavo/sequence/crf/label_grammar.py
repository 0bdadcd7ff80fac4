"""From label patterns to chains: states, transitions and what each pattern is worth on them.

A `LabelGrammar` lays the states of a `PatternAutomaton` out for the engine. Two histories that
differ only far back have the same scores for most next labels: the transition (p, y) is that of
the longest suffix r of p for which r·y is itself a pattern or a state. Transitions are kept for
such r only, out of whole groups of histories (`octavo.engine.chains.lanes.GroupedEdges`); for the
971 patterns of 626 words these are 2,854 in place of 17,446.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from octavo.engine.chains.inference import Edges
from octavo.engine.chains.lanes import GroupedEdges
from octavo.engine.chains.sequences import locate
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.sequence.crf.pattern_automaton import BoundaryLabel, Pattern, PatternAutomaton


class Potentials(NamedTuple):
    """Scores of first states, transitions and last states."""

    start: Floats
    edges: GroupedEdges
    end: Floats


class LabelGrammar:
    """The chain of an automaton: which states there are and which transitions.

    Parameters
    ----------
    labels : sequence of hashable
        All labels.
    patterns : sequence of tuple
        Patterns of labels; they may begin with `BoundaryLabel.BEGIN` and end with
        `BoundaryLabel.END`.
    allow_repeat : bool
        Whether a label may follow itself.
    complete : bool
        Whether whole patterns are states.
    """

    def __init__(
        self,
        labels: Sequence[Hashable],
        patterns: Sequence[Pattern],
        *,
        allow_repeat: bool = True,
        complete: bool = False,
    ) -> None:
        check_marks(patterns)
        marked = any(mark in pattern for pattern in patterns for mark in BoundaryLabel)
        alphabet = [*labels, *BoundaryLabel] if marked else list(labels)
        self.automaton = PatternAutomaton(alphabet, patterns, complete=complete)
        self.n_labels, self.marked, self.allow_repeat = len(labels), marked, allow_repeat
        self.patterns = self.automaton.patterns
        self._begin = int(self.automaton.delta[0, self.n_labels]) if marked else 0
        self._order_states()
        self._join()

    # --- layout -----------------------------------------------------------------------------

    def _order_states(self) -> None:
        """Number the states label by label so that the histories ending in one are its group."""
        automaton = self.automaton
        proper = np.flatnonzero((automaton.last >= 0) & (automaton.last < self.n_labels))
        below: dict[int, list[int]] = {}
        for state in proper.tolist():
            below.setdefault(int(automaton.fail[state]), []).append(state)
        order: list[int] = []
        stack = below.get(0, [])[::-1]
        while stack:
            order.append(stack.pop())
            stack += below.get(order[-1], [])[::-1]
        # histories by their suffixes: those that share one are neighbours
        self.states = np.array(order)
        self.place = np.full(automaton.n_states, -1)
        self.place[self.states] = np.arange(self.states.size)
        self.column: Ints = automaton.last[self.states]
        # the longest suffix: where a history has no transition of its own it takes this one's
        self.parent: Ints = self.place[automaton.fail[self.states]]
        self.span = np.ones(self.states.size, dtype=np.int64)
        for k in range(self.states.size - 1, -1, -1):
            if self.parent[k] >= 0:
                self.span[self.parent[k]] += self.span[k]

    def _join(self) -> None:
        """List the transitions: source (a state or a group), target and the pair that scores it."""
        automaton, n, K = self.automaton, self.n_labels, self.states.size
        own = np.zeros((automaton.n_states, len(automaton.labels)), dtype=bool)
        own[automaton._prefix, automaton._final] = True  # p·y is a pattern
        longer = np.flatnonzero(automaton._size > 1)
        # or a state, which later labels can tell from its suffix
        own[automaton._parent[longer], automaton.last[longer]] = True
        own = own[self.states, :n]
        marked, inner = own.copy(), np.zeros_like(own)
        for k in range(K - 1, -1, -1):
            if self.parent[k] >= 0:
                marked[self.parent[k]] |= marked[k]
                inner[self.parent[k]] |= marked[k]
        representative = np.zeros((K + 1, n), dtype=np.int64)  # row -1: the empty state
        for k in range(K):
            above = representative[self.parent[k]]
            # r: the longest suffix of p with a transition of its own
            representative[k] = np.where(own[k], self.states[k], above)
        above_inner = np.concatenate([inner, np.ones((1, n), dtype=bool)])[self.parent]
        whole = np.where(marked, ~inner, above_inner)  # as a group: nothing in it differs
        alone = marked & inner
        if not self.allow_repeat:
            # Section 2.1 allows a label to follow itself; runs do not
            repeats = self.column[:, None] == np.arange(n)
            whole, alone = whole & ~repeats, alone & ~repeats
        parts = []
        for chosen, shift in ((whole, np.where(self.span > 1, K, 0)), (alone, np.zeros(K, int))):
            own_state, y = np.nonzero(chosen)
            parts.append((own_state + shift[own_state], y, representative[own_state, y]))
        source, label, state = (np.concatenate(column) for column in zip(*parts))
        target = self.place[automaton.delta[state, label]]  # δ(p, y)
        order = np.lexsort((source, target))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=K))])
        self._edges = GroupedEdges(indptr, source[order], np.zeros(source.size), self.span)
        self._edges = self._edges._replace(parents=self._edges.parent)
        self._edge_pair = (state * len(automaton.labels) + label)[order]
        labels = np.arange(n)
        self.first: Ints = self.place[automaton.delta[self._begin, labels]]
        self._first_pair = self._begin * len(automaton.labels) + labels
        self._last_pair = self.states * len(automaton.labels) + n + 1

    @property
    def n_states(self) -> int:
        """Number of states of the chain; the empty history is not one of them."""
        return self.states.size

    # --- weights to scores, and marginals back to patterns ----------------------------------

    def potentials(self, weights: Floats) -> Potentials:
        """Return the scores that weights of the patterns give to states and transitions."""
        # log Ψ_x of history p and label y: Σ λ_i over patterns that end p·y (Section 2.3.1).
        pairs = self.automaton.suffix_matrix.T @ weights
        start = np.full(self.n_states, -np.inf)
        start[self.first] = pairs[self._first_pair]
        end = pairs[self._last_pair] if self.marked else np.zeros(self.n_states)
        return Potentials(start, self._edges._replace(score=pairs[self._edge_pair]), end)

    def single(self, edges: GroupedEdges) -> Edges:
        """Return the transitions of `potentials` from single states, for decoding."""
        plain, origin = self._single
        return plain._replace(score=edges.score[origin])

    @cached_property
    def _single(self) -> tuple[Edges, Ints]:
        return self._edges.expanded()

    def expected(self, pairs: Floats, starts: Floats, ends: Floats) -> Floats:
        """Return the expected number of each pattern from the marginals of an engine."""
        n_pairs = self.automaton.suffix_matrix.shape[1]
        counts = np.bincount(self._edge_pair, pairs, minlength=n_pairs).astype(np.float64)
        counts[self._first_pair] += starts[self.first]
        if self.marked:
            counts[self._last_pair] += ends
        return self.automaton.suffix_matrix @ counts  # Σ P(z | x), Section 2.3.2

    def walk(self, codes: Ints, lengths: Ints) -> Ints:
        """Return the chain's state at each label of stacked sequences."""
        before = self.automaton.walk(codes, lengths, self._begin)
        return self.place[self.automaton.delta[before, codes]]

    def scored(self, weights: Floats, codes: Ints, lengths: Ints) -> Floats:
        """Return the weights of all patterns that end at each label; END belongs to the last."""
        automaton = self.automaton
        width = len(automaton.labels)
        pairs = automaton.suffix_matrix.T @ weights  # Σ λ_i over patterns that end p·y
        before = automaton.walk(codes, lengths, self._begin)
        scores = pairs[before * width + codes]
        if self.marked:
            last = np.cumsum(lengths) - 1
            scores[last] += pairs[automaton.delta[before[last], codes[last]] * width + width - 1]
        return scores

    def counted(self, codes: Ints, lengths: Ints, weight: Floats) -> Floats:
        """Return how often each pattern occurs, each sequence counting by its weight."""
        automaton = self.automaton
        width = len(automaton.labels)
        before = automaton.walk(codes, lengths, self._begin)
        counts = np.bincount(
            before * width + codes, np.repeat(weight, lengths), automaton.suffix_matrix.shape[1]
        )
        if self.marked:
            last = np.cumsum(lengths) - 1
            state = automaton.delta[before[last], codes[last]]
            # END scores the patterns that close the sequence
            counts += np.bincount(state * width + self.n_labels + 1, weight, counts.size)
        return automaton.suffix_matrix @ counts

    def refuse_repeats(self, codes: Ints, lengths: Ints, name: str) -> None:
        """Raise where a label follows itself though it may not."""
        if self.allow_repeat:
            return
        again = codes[1:] == codes[:-1]
        again[np.cumsum(lengths)[:-1] - 1] = False
        if again.any():
            row = int(np.argmax(again)) + 1
            raise ValueError(
                f"{name}: {locate(row, lengths).replace('position', 'segment')} has the label "
                f"{self.automaton.labels[codes[row]]!r} of the segment before it; join them, or "
                "set allow_repeat=True."
            )


def check_marks(patterns: Sequence[Pattern]) -> None:
    """Raise unless boundary marks stand only where a sequence begins or ends."""
    for i, pattern in enumerate(patterns):
        if not isinstance(pattern, tuple):
            continue
        begins = [k for k, label in enumerate(pattern) if label is BoundaryLabel.BEGIN]
        ends = [k for k, label in enumerate(pattern) if label is BoundaryLabel.END]
        if begins not in ([], [0]) or ends not in ([], [len(pattern) - 1]):
            raise ValueError(f"Pattern {i} has a boundary in its middle: {pattern!r}.")
        if pattern and all(label in (BoundaryLabel.BEGIN, BoundaryLabel.END) for label in pattern):
            raise ValueError(f"Pattern {i} has no label: {pattern!r}.")
