"""From ranks and ratings to strengths of preference, without enumerating pairs.

Every expert gives the items that he has seen a value, larger is better, such that his preference
for i over j is either v_i - v_j or 1 where it is positive. What most models need of an expert are
an item's total wins and losses, and these follow from sorting.

Reference: Volkovs and Zemel (2014), New learning methods for supervised and unsupervised
preference aggregation, Sections 2.1 and 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.doubles import real_array

TRANSFORMS = ("binary", "rank_difference", "normalized", "log")


def sums_at(places: Indices, values: Floats, n: int) -> Floats:
    """Return the sum of the values at each place.

    Parameters
    ----------
    places : ndarray of int
        Where each value belongs.
    values : ndarray
        The values.
    n : int
        How many places there are.

    Returns
    -------
    sums : ndarray of shape (n,)
        Zero where nothing belongs.
    """
    return np.asarray(np.bincount(places, values, n), dtype=np.float64)


def checked_ranks(R: Any) -> Floats:
    """Return ranks as a float array of items x experts: at least 1, NaN where missing.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts)
        The ranks; a vector is one expert.

    Returns
    -------
    R : ndarray of shape (n_items, n_experts)
        Checked.
    """
    if sp.issparse(R):
        raise TypeError(
            "Ranks must be a dense array with NaN where missing; got a sparse one. Sparse tables "
            "are read by PairwisePreferences.from_ratings."
        )
    ranks = real_array(R, "Ranks, items x experts with NaN where missing,", finite=False)
    if ranks.ndim == 1:
        ranks = ranks[:, None]
    if ranks.ndim != 2:
        raise ValueError(f"Ranks must be items x experts; got an array of shape {ranks.shape}.")
    if ranks.shape[0] < 2 or ranks.shape[1] < 1:
        raise ValueError(
            "At least two items and one expert are needed; got ranks of "
            f"{ranks.shape[0]} items by {ranks.shape[1]} experts."
        )
    wrong = np.isinf(ranks) | (ranks < 1)
    if wrong.any():
        item, expert = np.argwhere(wrong)[0]
        seen = ranks[item, expert]
        zero = " Ranks begin at 1; add 1 to 0-based ranks, and write NaN where one is missing."
        raise ValueError(
            f"Ranks must be finite and at least 1; item {item} has {seen:g} by expert {expert}."
            + (zero if seen == 0 else "")
        )
    return ranks


def rank_values(ranks: Floats, transform: str) -> Floats:
    """Return values whose positive differences are the strengths of Sections 2.1 and 3.2.

    Parameters
    ----------
    ranks : ndarray of shape (n_items, n_experts)
        Checked ranks.
    transform : {"binary", "rank_difference", "normalized", "log"}
        The transform.

    Returns
    -------
    values : ndarray of shape (n_items, n_experts)
        Larger is better, NaN is missing.
    """
    if transform not in TRANSFORMS:
        raise ValueError(f"transform must be one of {', '.join(TRANSFORMS)}; got {transform!r}.")
    if transform in ("binary", "rank_difference"):
        return -ranks  # items 1 and 2 of Section 2.1
    largest = np.max(np.where(np.isnan(ranks), 1.0, ranks), axis=0)
    if transform == "normalized":
        return -ranks / largest  # item 3 of Section 3.2
    # A list whose only rank is 1 has no difference to divide.
    scale = np.where(largest > 1.0, np.log(largest), 1.0)
    return -np.log(ranks) / scale  # item 4


def wins_and_losses(values: Floats, experts: Indices, *, binary: bool) -> tuple[Floats, Floats]:
    """Return Σ_j Y_ij and Σ_j Y_ji of every stored value, by sorting.

    Parameters
    ----------
    values : ndarray of shape (n_stored,)
        Larger is better.
    experts : ndarray of shape (n_stored,)
        Whose value it is.
    binary : bool
        Whether a preference counts 1, or the difference of values.

    Returns
    -------
    wins, losses : ndarray of shape (n_stored,)
        In the order of `values`.
    """
    if values.size == 0:
        return np.zeros(0), np.zeros(0)
    order = np.lexsort((values, experts))
    v, who = values[order], experts[order]
    starts = np.flatnonzero(np.r_[True, who[1:] != who[:-1]])
    sizes = np.diff(np.r_[starts, v.size])
    place = np.arange(v.size) - np.repeat(starts, sizes)  # how many stand before, ties included
    size = np.repeat(sizes, sizes)
    wins, losses = np.empty(v.size), np.empty(v.size)
    if binary:
        fresh = np.r_[True, (v[1:] != v[:-1]) | (who[1:] != who[:-1])]
        first = np.flatnonzero(fresh)
        runs = np.diff(np.r_[first, v.size])
        below = np.repeat(place[first], runs)
        # Ties below neither win nor lose
        wins[order], losses[order] = below, size - below - np.repeat(runs, runs)
        return wins, losses
    # Centred by expert, so that the running sum returns to zero and keeps its digits.
    v = v - np.repeat(np.add.reduceat(v, starts) / sizes, sizes)
    total = np.repeat(np.add.reduceat(v, starts), sizes)
    running = np.cumsum(v)
    before = running - v
    before -= np.repeat(before[starts], sizes)
    won = np.maximum(place * v - before, 0.0)  # Σ (v_i - v_j) over the items below
    # Σ (v_j - v_i) over those above
    lost = np.maximum((total - before - v) - (size - place - 1) * v, 0.0)
    wins[order], losses[order] = won, lost
    return wins, losses
