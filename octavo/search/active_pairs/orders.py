"""Orders from answers: weighted feedback arc sets, quicksort and Borda starts, baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.feedback_arcs import (
    feedback_arcs_exact,
    feedback_arcs_local,
    majority_components,
)
from octavo.engine.graphs.orders import footrule
from octavo.engine.graphs.sparse_feedback_arcs import net_wins, sparse_feedback_arcs_local
from octavo.search.active_pairs.asking import PairwiseOracle, as_count, as_oracle
from octavo.search.active_pairs.sampling import MOST, uniform_sample

__all__ = ["footrule", "mfast_exact", "mfast_local_search", "quicksort_rank", "uniform_rank"]

BOTH_STARTS = 5000  # items beyond which Borda's order, far from settled, costs n² moves
LARGEST = 50  # items of a cycle of majorities up to which an exact answer comes in reasonable time


def as_order(order: Any, n: int, name: str = "start") -> Indices:
    """Return an order of n items, each once."""
    found = np.asarray(order)
    if (
        found.ndim != 1
        or found.dtype.kind not in "iuf"
        or not np.array_equal(np.sort(found), np.arange(n))
    ):
        raise ValueError(f"{name} must be a permutation of the items 0, ..., {n - 1}, each once.")
    return found.astype(np.int64)


def _as_weights(W: Any) -> Any:
    """Return weights, dense or sparse, that are finite and not negative."""
    if sp.issparse(W):
        table = sp.csr_array(W, dtype=np.float64)
        table.sum_duplicates()
        values = table.data
    else:
        table = np.asarray(W, dtype=np.float64)
        values = table
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.shape[0] == 0:
        raise ValueError(
            f"W must be a square matrix, a row and a column an item; got {table.shape}."
        )
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError("W must hold weights that are finite and not negative.")
    if values.size and values.max() > 1e150:
        raise ValueError("W holds weights above 1e150, whose sums would overflow.")
    return table


@checked
def mfast_local_search(W: Any, start: Any = None) -> tuple[Indices, float]:
    """Return an order that no move of a single item improves, and the weight it violates.

    Without a guarantee: the problem, a minimum feedback arc set, is NP-hard.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_items, n_items)
        ``W[u, v]`` is the weight of "u before v". Sparse weights are searched along their arcs, so
        that many items cost no n² numbers.
    start : array-like of shape (n_items,), optional
        The order to start from; by default items by what they win less what they lose.

    Returns
    -------
    order : ndarray of shape (n_items,)
        The items, first to last.
    weight : float
        Σ W[v, u] over all u before v; no larger than that of the start.

    Examples
    --------
    >>> from octavo.search import mfast_local_search
    >>> order, weight = mfast_local_search([[0, 3, 1], [0, 0, 2], [2, 0, 0]])
    >>> print(order, weight)
    [0 1 2] 2.0
    """
    table = _as_weights(W)
    if start is not None:
        start = as_order(start, table.shape[0])
    search = sparse_feedback_arcs_local if sp.issparse(table) else feedback_arcs_local
    order, weight = search(table, start)
    return np.asarray(order), weight


@checked
def mfast_exact(W: Any) -> tuple[Indices, float]:
    """Return an order that violates the least weight.

    Strong components of the majorities are solved one by one, up to 13 items by dynamic programming
    over subsets and beyond by an integer program.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_items, n_items)
        ``W[u, v]`` is the weight of "u before v". At most 50 items may form one cycle of
        majorities.

    Returns
    -------
    order : ndarray of shape (n_items,)
        The items, first to last.
    weight : float
        Σ W[v, u] over all u before v.

    Examples
    --------
    >>> from octavo.search import mfast_exact
    >>> order, weight = mfast_exact([[0, 3, 1], [0, 0, 2], [2, 0, 0]])
    >>> print(order, weight)
    [0 1 2] 2.0
    """
    table = _as_weights(W)
    table = table.toarray() if sp.issparse(table) else table
    scale = float(table.max()) or 1.0  # tolerances of the integer program are absolute
    largest = max(len(part) for part in majority_components(table))
    if largest > LARGEST:
        raise ValueError(
            f"{largest} items form one cycle of majorities; the exact search takes at most "
            f"{LARGEST}. Use mfast_local_search."
        )
    order, weight = feedback_arcs_exact(table / scale)
    return np.asarray(order), weight * scale


def answered_weights(n: int, pairs: Ints, answers: Floats, weights: Floats) -> sp.csr_array:
    """Return W with W[u, v] the weight of "u before v"; ties give half to either side."""
    u, v = pairs[:, 0], pairs[:, 1]
    rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
    values = np.concatenate([weights * answers, weights * (1.0 - answers)])
    kept = values > 0.0
    return sp.csr_array((values[kept], (rows[kept], columns[kept])), shape=(n, n))


def borda_order(n: int, pairs: Ints, answers: Floats, weights: Floats) -> Indices:
    """Return the items by what they win less what they lose."""
    return np.argsort(-net_wins(answered_weights(n, pairs, answers, weights)), kind="stable")


def best_order(W: sp.csr_array, pivot: Indices) -> Indices:
    """Return the better of the local searches from the pivot and from Borda's order."""
    found = [sparse_feedback_arcs_local(W, pivot)]
    if len(pivot) <= BOTH_STARTS:
        found.append(sparse_feedback_arcs_local(W))
    return min(found, key=lambda one: one.weight).order


def ask_by_quicksort(n: int, oracle: PairwiseOracle, rng: Any) -> tuple[Indices, Ints]:
    """Sort by answers, all parts of a level at once; return the order and the pairs asked."""
    order, part = np.arange(n), np.zeros(n, dtype=np.int64)
    asked = []
    while True:
        _, first, size = np.unique(part, return_index=True, return_counts=True)
        busy = size > 1
        if not busy.any():
            break
        pivots = first + np.floor(rng.random_sample(len(size)) * size).astype(np.int64)
        group = np.repeat(np.arange(len(size)), size)
        others = np.flatnonzero(busy[group] & (np.arange(n) != pivots[group]))
        pairs = np.column_stack([order[others], order[pivots[group[others]]]])
        answers = oracle.ask(pairs)
        got = ~np.isnan(answers)
        asked.append(pairs[got])
        if not got.all():  # no budget is left: what is not sorted stays as it stands
            break
        tie = answers == 0.5
        answers[tie] = rng.random_sample(tie.sum()) < 0.5
        side = np.ones(n, dtype=np.int64)
        side[others] = np.where(answers > 0.5, 0, 2)
        key = 3 * group + side
        sorting = np.argsort(key, kind="stable")
        order, part = order[sorting], key[sorting]
    return order, np.concatenate(asked) if asked else np.zeros((0, 2), dtype=np.int64)


def quicksort_inclusion(position: Ints, pairs: Ints) -> Floats:
    """Return how likely quicksort is to compare a pair: whoever is the first pivot between them."""
    return 2.0 / (np.abs(position[pairs[:, 0]] - position[pairs[:, 1]]) + 1.0)


@checked
def quicksort_rank(n_items: int, oracle: Any, random_state: Any = None) -> Indices:
    """Sort items by answers about pairs: about 2 n log n questions, exact without noise.

    Parameters
    ----------
    n_items : int
        Number of items.
    oracle : PairwiseOracle, callable or array-like
        Who answers, as for `PairwiseOracle`.
    random_state : int, RandomState instance or None, default=None
        Source of the pivots.

    Returns
    -------
    order : ndarray of shape (n_items,)
        The items, first to last; where the budget ends early, what is not sorted keeps its place.

    Examples
    --------
    >>> from octavo.search import quicksort_rank
    >>> print(quicksort_rank(5, lambda u, v: u > v, random_state=0))
    [4 3 2 1 0]
    """
    n = as_count(n_items, "n_items", most=MOST)
    return ask_by_quicksort(n, as_oracle(oracle, n), check_random_state(random_state))[0]


@checked
def uniform_rank(n_items: int, oracle: Any, n_pairs: int, random_state: Any = None) -> Indices:
    """Rank items from uniformly drawn pairs, by the same local search as `SRRARanker`.

    Parameters
    ----------
    n_items : int
        Number of items.
    oracle : PairwiseOracle, callable or array-like
        Who answers, as for `PairwiseOracle`.
    n_pairs : int
        Pairs to ask about.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Returns
    -------
    order : ndarray of shape (n_items,)
        The items, first to last.

    Examples
    --------
    >>> from octavo.search import uniform_rank
    >>> print(uniform_rank(5, lambda u, v: u > v, 10, random_state=0))
    [4 3 2 1 0]
    """
    n = as_count(n_items, "n_items", most=MOST)
    oracle = as_oracle(oracle, n)
    sample = uniform_sample(n, n_pairs, random_state)
    answers = oracle.ask(sample.pairs)
    got = ~np.isnan(answers)
    W = answered_weights(n, sample.pairs[got], answers[got], np.ones(int(got.sum())))
    return np.asarray(sparse_feedback_arcs_local(W).order)
