"""`PairwisePreferences`: who prefers what to what, and how strongly, from any kind of evidence.

Reference: Volkovs and Zemel (2014), New learning methods for supervised and unsupervised
preference aggregation, Sections 2.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.doubles import real_array
from octavo.ranking.aggregation.strengths import (
    checked_ranks,
    rank_values,
    sums_at,
    wins_and_losses,
)

__all__ = ["PairwisePreferences"]


class PairList(NamedTuple):
    """All expressed preferences: expert, preferred item, other item, strength."""

    experts: Indices
    preferred: Indices
    other: Indices
    strengths: Floats


class PairwisePreferences:
    """Preferences of several experts between pairs of items.

    Made by `from_ranks`, `from_ratings`, `from_lists` or `from_pairs`; every aggregator of
    `octavo.ranking` takes one. Ranks and ratings are kept as they are, one number a rating, and
    pairs are enumerated only where a method needs them.

    Parameters
    ----------
    n_items, n_experts : int
        How many there are; nothing is preferred to anything yet.

    Attributes
    ----------
    wins, losses : scipy sparse array of shape (n_items, n_experts)
        Total strength with which each expert prefers an item, and others to it; an entry is
        stored, zero or not, where the expert has seen the item.
    totals : ndarray of shape (n_experts,)
        Each expert's total strength.
    binary : bool
        Whether an ordered pair counts 1, whatever the difference.

    Examples
    --------
    >>> from octavo.ranking import PairwisePreferences
    >>> PairwisePreferences.from_ranks([[1], [2], [3]]).to_array()
    array([[0., 1., 2.],
           [0., 0., 1.],
           [0., 0., 0.]])
    """

    def __init__(self, n_items: int, n_experts: int) -> None:
        self.n_items, self.n_experts = n_items, n_experts
        self.binary = False
        empty = np.zeros(0, dtype=np.intp)
        self._items, self._experts, self._values = empty, empty, np.zeros(0)
        self._pairs: PairList | None = None

    @classmethod
    def from_ranks(cls, R: Any, transform: str = "rank_difference") -> PairwisePreferences:
        """Read ranks: items x experts, 1 is best, NaN is missing.

        Parameters
        ----------
        R : array-like of shape (n_items, n_experts)
            The ranks.
        transform : {"binary", "rank_difference", "normalized", "log"}, default="rank_difference"
            The strength of a preference: 1, the difference of ranks, the same divided by the
            expert's largest rank, or the difference of logarithms divided by its logarithm.

        Returns
        -------
        preferences : PairwisePreferences
            The preferences.
        """
        ranks = checked_ranks(R)
        return cls._of_table(rank_values(ranks, transform), binary=transform == "binary")

    @classmethod
    def from_ratings(cls, L: Any) -> PairwisePreferences:
        """Read ratings: items x experts, larger is better.

        Parameters
        ----------
        L : array-like or sparse array of shape (n_items, n_experts)
            The ratings; NaN, or nothing stored where the table is sparse, is missing.

        Returns
        -------
        preferences : PairwisePreferences
            A preference's strength is the difference of ratings.
        """
        if not sp.issparse(L):
            name = "Ratings, items x experts with NaN where missing,"
            return cls._of_table(real_array(L, name, finite=False))
        stored = L.tocoo()
        if stored.ndim != 2:
            raise ValueError(f"Ratings must be items x experts; got shape {stored.shape}.")
        if stored.dtype.kind == "c":
            raise ValueError("Ratings must hold real numbers, got complex ones.")
        keep = ~np.isnan(stored.data.astype(np.float64))
        return cls._of_entries(
            stored.shape,
            np.asarray(stored.row)[keep],
            np.asarray(stored.col)[keep],
            stored.data[keep].astype(np.float64),
            binary=False,
        )

    @classmethod
    def from_lists(
        cls, lists: Sequence[Sequence[int]], n_items: int, transform: str = "rank_difference"
    ) -> PairwisePreferences:
        """Read lists of items, best first, one an expert.

        Parameters
        ----------
        lists : sequence of sequences of int
            The items that each expert has listed; the others are missing.
        n_items : int
            How many items there are.
        transform : {"binary", "rank_difference", "normalized", "log"}, default="rank_difference"
            As in `from_ranks`, for ranks 1, 2, ... along a list.

        Returns
        -------
        preferences : PairwisePreferences
            The preferences.
        """
        _refuse_count(n_items)
        if not hasattr(lists, "__len__") or isinstance(lists, (str, dict)) or len(lists) == 0:
            raise ValueError(f"At least one list of items is needed; got {lists!r}.")
        sizes = np.array([_length_of(entry, number) for number, entry in enumerate(lists)])
        items = _flat_items(lists, int(sizes.sum()))
        experts = np.repeat(np.arange(len(lists)), sizes)
        _refuse_outside(items, n_items, [f"List {e}" for e in range(len(lists))], experts)
        twice = _first_repeat(items, experts, n_items)
        if twice is not None:
            raise ValueError(f"List {experts[twice]} names item {items[twice]} twice.")
        ranks = np.arange(items.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1.0
        # One column a call would be a table of mostly NaN; a list's largest rank is its length.
        largest = np.repeat(sizes, sizes).astype(float)
        values = -ranks
        if transform == "normalized":
            values = -ranks / largest  # item 3 of Section 3.2
        elif transform == "log":
            values = -np.log(ranks) / np.where(largest > 1, np.log(largest), 1.0)  # item 4
        else:
            rank_values(np.ones((1, 1)), transform)  # refuses a word that is no transform
        shape = (n_items, len(lists))
        return cls._of_entries(shape, items, experts, values, binary=transform == "binary")

    @classmethod
    def from_pairs(
        cls, pairs: Any, n_items: int, *, experts: Any = None, weights: Any = None
    ) -> PairwisePreferences:
        """Read votes between two items.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2)
            Rows (preferred, other).
        n_items : int
            How many items there are.
        experts : array-like of int of shape (n_pairs,), optional
            Whose votes they are; one expert by default.
        weights : array-like of shape (n_pairs,), optional
            How strong each is; 1 by default.

        Returns
        -------
        preferences : PairwisePreferences
            The preferences.
        """
        _refuse_count(n_items)
        rows = _integers(pairs, "pairs", ndim=2)
        if rows.shape[1:] != (2,) or rows.shape[0] == 0:
            raise ValueError(
                f"pairs must have rows (preferred, other), at least one; got shape {rows.shape}."
            )
        _refuse_outside(rows.ravel(), n_items, ["Row"], np.zeros(rows.size, dtype=int), rows)
        same = np.flatnonzero(rows[:, 0] == rows[:, 1])
        if same.size:
            raise ValueError(
                f"Row {same[0]} of pairs compares item {rows[same[0], 0]} with itself."
            )
        who = np.zeros(len(rows), dtype=np.intp)
        if experts is not None:
            who = _integers(experts, "experts")
            if who.shape != (len(rows),) or who.min() < 0:
                raise ValueError("experts must hold one number from 0 for each row of pairs.")
        strength = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        if strength.shape != (len(rows),) or not (np.isfinite(strength) & (strength >= 0)).all():
            raise ValueError("weights must be one finite number >= 0 for each row of pairs.")
        made = cls(int(n_items), int(who.max()) + 1)
        made._pairs = _merged(PairList(who, rows[:, 0], rows[:, 1], strength), n_items)
        return made

    @classmethod
    def _of_table(cls, table: Floats, binary: bool = False) -> PairwisePreferences:
        if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 1:
            raise ValueError(
                f"A table of at least two items by one expert is needed; got shape {table.shape}."
            )
        experts, items = np.nonzero(~np.isnan(table.T))
        return cls._of_entries(table.shape, items, experts, table[items, experts], binary=binary)

    @classmethod
    def _of_entries(
        cls,
        shape: tuple[int, int],
        items: Indices,
        experts: Indices,
        values: Floats,
        *,
        binary: bool,
    ) -> PairwisePreferences:
        if shape[0] < 2 or shape[1] < 1:
            raise ValueError(f"At least two items and one expert are needed; got shape {shape}.")
        if not np.isfinite(values).all():
            wrong = np.flatnonzero(~np.isfinite(values))[0]
            raise ValueError(
                f"Item {items[wrong]} has {values[wrong]:g} by expert {experts[wrong]}; a finite "
                "number was expected."
            )
        twice = _first_repeat(items, experts, shape[0])
        if twice is not None:
            raise ValueError(f"Expert {experts[twice]} rates item {items[twice]} twice.")
        made = cls(int(shape[0]), int(shape[1]))
        made.binary = binary
        made._items, made._experts = items.astype(np.intp), experts.astype(np.intp)
        made._values = values.astype(np.float64)
        return made

    @cached_property
    def _sums(self) -> tuple[sp.csc_array, sp.csc_array]:
        """Wins and losses, items x experts, with one pattern."""
        items, experts = self._items, self._experts
        won, lost = wins_and_losses(self._values, experts, binary=self.binary)
        if self._pairs is not None:
            p = self._pairs
            nothing = np.zeros(p.strengths.size)
            items = np.concatenate([p.preferred, p.other])
            experts = np.concatenate([p.experts, p.experts])
            won = np.concatenate([p.strengths, nothing])
            lost = np.concatenate([nothing, p.strengths])
        shape = (self.n_items, self.n_experts)
        # Building from triples adds repeats up and keeps stored zeros: they say "seen".
        wins = sp.coo_array((won, (items, experts)), shape=shape).tocsc()
        losses = sp.coo_array((lost, (items, experts)), shape=shape).tocsc()
        return wins, losses

    @property
    def pairs_only(self) -> bool:
        """Whether the evidence is votes between pairs, without ranks or ratings."""
        return self._pairs is not None

    @property
    def wins(self) -> sp.csc_array:
        """Total strength with which each expert prefers each item to others."""
        return self._sums[0]

    @property
    def losses(self) -> sp.csc_array:
        """Total strength with which each expert prefers others to each item."""
        return self._sums[1]

    @cached_property
    def totals(self) -> Floats:
        """Total strength of each expert's preferences."""
        return np.asarray(self.wins.sum(axis=0)).ravel()

    @cached_property
    def pairs(self) -> PairList:
        """Every expressed preference, enumerated."""
        if self._pairs is not None:
            return self._pairs
        found = [self._pairs_of(e, items, values) for e, items, values in self.columns()]
        stacked = [np.concatenate(part) for part in zip(*found)] if found else []
        if not stacked:
            none = np.zeros(0, dtype=np.intp)
            return PairList(none, none, none, np.zeros(0))
        return PairList(*stacked)

    def entries(self) -> tuple[Indices, Indices, Floats]:
        """Return (experts, items, values) of all that was ranked or rated."""
        return self._experts, self._items, self._values

    def columns(self) -> Iterator[tuple[int, Indices, Floats]]:
        """Yield (expert, items, values) of experts who gave ranks or ratings."""
        order = np.argsort(self._experts, kind="stable")
        who, starts = np.unique(self._experts[order], return_index=True)
        for e, rows in zip(who, np.split(order, starts[1:])):
            yield int(e), self._items[rows], self._values[rows]

    def _pairs_of(self, expert: int, items: Indices, values: Floats) -> PairList:
        gap = values[:, None] - values[None, :]
        i, j = np.nonzero(gap > 0)
        strengths = np.ones(i.size) if self.binary else gap[i, j]
        # Section 2.1, in either form
        return PairList(np.full(i.size, expert), items[i], items[j], strengths)

    def to_array(self, expert: int | None = None) -> Floats:
        """Return the items x items strengths.

        Parameters
        ----------
        expert : int, optional
            Of one expert; of all together by default.

        Returns
        -------
        Y : ndarray of shape (n_items, n_items)
            How strongly each row is preferred to each column.
        """
        Y = np.zeros((self.n_items, self.n_items))
        if expert is None:
            for e in range(self.n_experts) if self._pairs is None else ():
                self._add_expert(Y, e)
            if self._pairs is not None:
                np.add.at(Y, (self._pairs.preferred, self._pairs.other), self._pairs.strengths)
            return Y
        if not isinstance(expert, Integral) or not 0 <= expert < self.n_experts:
            raise ValueError(f"expert must be between 0 and {self.n_experts - 1}; got {expert!r}.")
        self._add_expert(Y, int(expert))
        return Y

    def _add_expert(self, Y: Floats, expert: int) -> None:
        if self._pairs is not None:
            own = self._pairs.experts == expert
            where = (self._pairs.preferred[own], self._pairs.other[own])
            np.add.at(Y, where, self._pairs.strengths[own])
            return
        own = self._experts == expert
        items, values = self._items[own], self._values[own]
        gap = values[:, None] - values[None, :]
        Y[np.ix_(items, items)] += gap > 0 if self.binary else np.maximum(gap, 0.0)  # Section 2.1

    def compared(self) -> Floats:
        """Return how many experts have seen both items, or (of votes) how often they met.

        Returns
        -------
        counts : ndarray of shape (n_items, n_items)
            Symmetric, with a zero diagonal.
        """
        if self._pairs is not None:
            Y = self.to_array()
            return Y + Y.T
        seen = sp.csr_array(
            (np.ones(self._items.size), (self._items, self._experts)),
            shape=(self.n_items, self.n_experts),
        )
        counts = (seen @ seen.T).toarray()
        np.fill_diagonal(counts, 0.0)
        return counts

    def without(self, experts: Sequence[int]) -> PairwisePreferences:
        """Return the preferences of the other experts, renumbered.

        Parameters
        ----------
        experts : sequence of int
            Who is left out.

        Returns
        -------
        preferences : PairwisePreferences
            Of the others, in their order.
        """
        kept = np.setdiff1d(np.arange(self.n_experts), np.asarray(experts, dtype=np.intp))
        if kept.size == 0:
            raise ValueError("No expert is left; at least one must stay.")
        place = np.full(self.n_experts, -1, dtype=np.intp)
        place[kept] = np.arange(kept.size)
        made = PairwisePreferences(self.n_items, int(kept.size))
        made.binary = self.binary
        own = place[self._experts] >= 0
        made._items, made._values = self._items[own], self._values[own]
        made._experts = place[self._experts[own]]
        if self._pairs is not None:
            own = place[self._pairs.experts] >= 0
            made._pairs = PairList(
                place[self._pairs.experts[own]],
                self._pairs.preferred[own],
                self._pairs.other[own],
                self._pairs.strengths[own],
            )
        return made

    def __repr__(self) -> str:
        return f"PairwisePreferences(n_items={self.n_items}, n_experts={self.n_experts})"


def as_preferences(prefs: Any, transform: str = "rank_difference") -> PairwisePreferences:
    """Return preferences, made of ranks where they are not yet.

    Parameters
    ----------
    prefs : PairwisePreferences or array-like of shape (n_items, n_experts)
        Preferences or ranks.
    transform : str
        How ranks become strengths.

    Returns
    -------
    preferences : PairwisePreferences
        The preferences.
    """
    if isinstance(prefs, PairwisePreferences):
        return prefs
    return PairwisePreferences.from_ranks(prefs, transform)


def _merged(pairs: PairList, n_items: int) -> PairList:
    """Return each (expert, preferred, other) once, with its strengths added up."""
    key = (pairs.experts.astype(np.int64) * n_items + pairs.preferred) * n_items + pairs.other
    once, inverse = np.unique(key, return_inverse=True)
    strengths = sums_at(inverse, pairs.strengths, once.size)
    other, rest = once % n_items, once // n_items
    return PairList(rest // n_items, rest % n_items, other, strengths)


def _refuse_count(n_items: Any) -> None:
    if not isinstance(n_items, Integral) or isinstance(n_items, bool) or n_items < 2:
        raise ValueError(f"n_items must be an integer of at least 2; got {n_items!r}.")


def _length_of(entry: Any, number: int) -> int:
    if not hasattr(entry, "__len__") or isinstance(entry, (str, dict)):
        raise ValueError(f"List {number} must hold numbers of items; got {entry!r}.")
    return len(entry)


def _flat_items(lists: Sequence[Sequence[int]], total: int) -> Indices:
    """Return the items of all lists in one array; the slow way names the list that is wrong."""
    flat = list(chain.from_iterable(lists))
    if len(flat) == total and all(type(item) is int for item in flat):
        return np.array(flat, dtype=np.intp)
    return np.concatenate([_integers(entry, f"list {n}") for n, entry in enumerate(lists)])


def _integers(entries: Any, name: str, ndim: int = 1) -> Indices:
    try:
        array = np.asarray(entries)
        whole = array.astype(np.intp) if array.size else np.zeros(array.shape, dtype=np.intp)
        if array.ndim == ndim and array.dtype.kind in "iuf" and (whole == array).all():
            return whole
        if array.size == 0 and array.ndim == ndim:
            return whole
    except (TypeError, ValueError, OverflowError):
        pass
    shape = "rows of two" if ndim == 2 else "a sequence of"
    raise ValueError(f"{name} must be {shape} integers from 0; got {entries!r:.60}.")


def _refuse_outside(
    items: Indices, n_items: int, names: list[str], owner: Indices, rows: Any = None
) -> None:
    wrong = np.flatnonzero((items < 0) | (items >= n_items))
    if wrong.size:
        first = int(wrong[0])
        where = names[owner[first]] if rows is None else f"Row {first // 2} of pairs"
        raise ValueError(
            f"{where} names item {items[first]}; items are numbered from 0 to {n_items - 1}."
        )


def _first_repeat(items: Indices, experts: Indices, n_items: int) -> int | None:
    """Return a place at which an expert names an item for the second time."""
    key = experts.astype(np.int64) * n_items + items
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    return int(order[again[0] + 1]) if again.size else None
