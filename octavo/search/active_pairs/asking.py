"""`PairwiseOracle`: who answers questions about pairs, what it has answered, and what is left."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Ints

__all__ = ["PairwiseOracle"]

MOST_ITEMS = 2**31 - 1
_SHIFT = 32


def pair_keys(pairs: Ints) -> Ints:
    """Return one number for each unordered pair."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    return (low << _SHIFT) | high


def pairs_of(keys: Ints) -> Ints:
    """Return the pairs (u, v), u < v, of their numbers."""
    return np.column_stack([keys >> _SHIFT, keys & (2**_SHIFT - 1)])


def distinct_keys(keys: Ints) -> Ints:
    """Return keys in order, once each; `np.unique` hashes, which regular numbers make slow."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def places_of(keys: Ints, known: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return where keys stand among known ones, which are in order, and whether they do."""
    if not len(known):
        return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return place, known[place] == keys


def as_count(value: Any, name: str, least: int = 1, most: float = np.inf) -> int:
    """Return a whole number within its ends, or say what was seen."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be a whole number; got {value!r}.")
    count = int(value)
    if not least <= count <= most:
        ends = f"at least {least}" if most == np.inf else f"between {least} and {most:g}"
        raise ValueError(f"{name} must be {ends}; got {value}.")
    return count


def is_real(value: Any) -> bool:
    """Whether a value is one real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def as_pairs(pairs: Any, n_items: int | None = None) -> Ints:
    """Return pairs as two columns of distinct item numbers."""
    found = np.asarray(pairs)
    if found.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iuf":
        raise ValueError(f"Pairs must be rows (u, v) of item numbers; got shape {found.shape}.")
    if found.dtype.kind == "f" and not (np.isfinite(found).all() and (found % 1 == 0).all()):
        raise ValueError("Pairs must hold whole numbers; got fractions, NaN or infinity.")
    most = MOST_ITEMS if n_items is None else n_items - 1
    if found.min() < 0 or found.max() > most:
        raise ValueError(
            f"Items are numbered from 0 to {most}; got {found.min():g} to {found.max():g}."
        )
    found = found.astype(np.int64)
    if (found[:, 0] == found[:, 1]).any():
        raise ValueError("A pair needs two different items; got one with itself.")
    return found


def _as_table(answers: Any) -> Floats:
    if sp.issparse(answers):
        answers = answers.toarray()
    try:
        table = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError):
        table = None
    if table is None or table.ndim != 2 or table.shape[0] != table.shape[1]:
        seen = "something else" if table is None else f"shape {table.shape}"
        raise ValueError(
            "answers must be a function of two items or a square matrix of 0, 0.5 and 1; got "
            f"{seen}."
        )
    upper = table[np.triu_indices(len(table), 1)]
    if not np.isin(upper, (0.0, 0.5, 1.0)).all():
        wrong = upper[~np.isin(upper, (0.0, 0.5, 1.0))][0]
        raise ValueError(f"An answer is 1, 0 or 0.5 for a tie; the matrix holds {wrong:g}.")
    return table


class PairwiseOracle:
    """Answer questions about pairs of items, and count them.

    Parameters
    ----------
    answers : callable or array-like of shape (n_items, n_items)
        ``answers(u, v)`` or ``answers[u, v]``: 1 if u comes before v (or both are of one cluster),
        0 if not, 0.5 for a tie. It is asked with u < v only, so that contradictions between (u, v)
        and (v, u) cannot arise. A function with a true attribute ``vectorized`` is handed arrays.
    budget : int or None, default=None
        Most questions that may be asked; None for no limit.
    cache : bool, default=True
        Whether a pair that was asked before is answered from memory, which costs nothing. Without
        it every question is a new one; answers of a pair are then averaged.

    Attributes
    ----------
    n_queries_ : int
        Questions asked so far.
    n_items_ : int or None
        Items of the matrix; None where a function answers.

    Examples
    --------
    >>> from octavo.search import PairwiseOracle
    >>> oracle = PairwiseOracle(lambda u, v: u < v, budget=2)
    >>> oracle.ask([[0, 1], [2, 1], [1, 0], [0, 2]]).tolist(), oracle.n_queries_
    ([1.0, 0.0, 0.0, nan], 2)
    """

    def __init__(self, answers: Any, budget: int | None = None, cache: bool = True) -> None:
        if budget is not None:
            as_count(budget, "budget", least=0)
        if not isinstance(cache, (bool, np.bool_)):
            raise ValueError(f"cache must be True or False; got {cache!r}.")
        self.answers, self.budget, self.cache = answers, budget, cache
        self._table = None if callable(answers) else _as_table(answers)
        self.n_items_ = None if self._table is None else len(self._table)
        self.n_queries_ = 0
        self._keys = np.zeros(0, dtype=np.int64)  # sorted
        self._known = np.zeros(0)
        self._times = np.zeros(0, dtype=np.int64)

    def _look_up(self, pairs: Ints) -> Floats:
        """Return what answers say of pairs (u, v), u < v."""
        if self._table is not None:
            return self._table[pairs[:, 0], pairs[:, 1]]
        if getattr(self.answers, "vectorized", False):
            said = np.asarray(self.answers(pairs[:, 0], pairs[:, 1]), dtype=np.float64)
        else:
            told = [self.answers(int(u), int(v)) for u, v in pairs]
            try:
                said = np.array([float(one) for one in told])
            except (TypeError, ValueError):
                said = np.full(len(told), np.nan)
        good = np.isin(said, (0.0, 0.5, 1.0))
        if not good.all():
            u, v = pairs[int(np.argmin(good))]
            raise ValueError(
                f"An answer must be 1, 0 or 0.5 for a tie; about items {u} and {v} it was "
                f"{said[int(np.argmin(good))]:g}."
            )
        return said

    def _remember(self, keys: Ints, said: Floats) -> None:
        if self.cache:  # all of them are new: two lists are merged
            order = np.argsort(keys)
            place = np.searchsorted(self._keys, keys[order])
            self._keys = np.insert(self._keys, place, keys[order])
            self._known = np.insert(self._known, place, said[order])
            self._times = np.ones(len(self._keys), dtype=np.int64)
            return
        both = np.concatenate([self._keys, keys])
        total = np.concatenate([self._known * self._times, said])
        times = np.concatenate([self._times, np.ones(len(keys), dtype=np.int64)])
        self._keys, group = np.unique(both, return_inverse=True)
        self._times = np.bincount(group, weights=times, minlength=len(self._keys)).astype(np.int64)
        self._known = np.bincount(group, weights=total, minlength=len(self._keys)) / self._times

    def known(self, pairs: Any) -> NDArray[np.bool_]:
        """Return which pairs were asked before.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            Pairs of items.

        Returns
        -------
        ndarray of bool of shape (m,)
            True where an answer is in memory.
        """
        return places_of(pair_keys(as_pairs(pairs)), self._keys)[1]

    def ask(self, pairs: Any, *, symmetric: bool = False) -> Floats:
        """Answer questions in their order, as far as the budget goes.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            Pairs of items (u, v).
        symmetric : bool, default=False
            Whether the answer about (v, u) is that about (u, v), as for "of one cluster?"; else it
            is one minus it.

        Returns
        -------
        answers : ndarray of shape (m,)
            Of each pair as it stands; NaN once the budget is spent.
        """
        asked = as_pairs(pairs, self.n_items_)
        keys = pair_keys(asked)
        new = ~places_of(keys, self._keys)[1] if self.cache else np.ones(len(keys), dtype=bool)
        fresh = keys[new]
        distinct, first = np.unique(fresh, return_index=True)
        # in the order of the questions
        distinct = fresh if len(distinct) == len(fresh) else distinct[np.argsort(first)]
        if self.budget is not None:
            distinct = distinct[: max(self.budget - self.n_queries_, 0)]
        if len(distinct):
            said = self._look_up(pairs_of(distinct))
            self.n_queries_ += len(distinct)
            self._remember(distinct, said)
        found = np.full(len(keys), np.nan)
        place, hit = places_of(keys, self._keys)
        found[hit] = self._known[place[hit]]
        return found if symmetric else np.where(asked[:, 0] < asked[:, 1], found, 1.0 - found)

    def peek(self, pairs: Any, *, symmetric: bool = False) -> Floats:
        """Answer questions without counting or remembering them, to judge a simulation.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            Pairs of items (u, v).
        symmetric : bool, default=False
            As for `ask`.

        Returns
        -------
        answers : ndarray of shape (m,)
            Of each pair as it stands.
        """
        asked = as_pairs(pairs, self.n_items_)
        said = self._look_up(np.sort(asked, axis=1)) if len(asked) else np.zeros(0)
        return said if symmetric else np.where(asked[:, 0] < asked[:, 1], said, 1.0 - said)


def as_oracle(answers: Any, n_items: int | None = None) -> PairwiseOracle:
    """Return an oracle as it is, and a function or a matrix as an oracle without a limit."""
    oracle = answers if isinstance(answers, PairwiseOracle) else PairwiseOracle(answers)
    if n_items is not None and oracle.n_items_ not in (None, n_items):
        raise ValueError(
            f"The oracle answers about {oracle.n_items_} items; {n_items} are to be looked at."
        )
    return oracle
