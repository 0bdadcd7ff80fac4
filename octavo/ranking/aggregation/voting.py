"""Rules that need no model: Borda, Condorcet, Copeland, medians, reciprocal ranks, least squares.

Every function returns scores, larger is better, so that `np.argsort(-scores)` is the ranking.

Reference: Volkovs and Zemel (2014), New learning methods for supervised and unsupervised
preference aggregation, Sections 2.2 and 3.3, and the papers named there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.ranking.aggregation.instances import split_queries
from octavo.ranking.aggregation.metrics import ndcg_at
from octavo.ranking.aggregation.preferences import PairwisePreferences, as_preferences
from octavo.ranking.aggregation.strengths import checked_ranks

__all__ = [
    "best_fusion_k",
    "borda",
    "condorcet",
    "copeland",
    "median_rank",
    "reciprocal_rank_fusion",
    "svp",
]


def _majorities(prefs: Any) -> Floats:
    """Return how many experts prefer each row to each column."""
    if not isinstance(prefs, PairwisePreferences):
        return as_preferences(prefs, "binary").to_array()
    votes = np.zeros((prefs.n_items, prefs.n_items))
    np.add.at(votes, (prefs.pairs.preferred, prefs.pairs.other), 1.0)
    return votes


@checked
def borda(R: Any) -> Floats:
    """Score items by how many others they beat, averaged over the experts.

    An expert who has seen m items gives m - 1 to the first, 0 to the last and the mean of their
    places to ties; what he has not seen gets 0 from him, as if it stood last.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        Larger is better.

    Examples
    --------
    >>> from octavo.ranking import borda
    >>> borda([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
    array([1.5, 1.5, 0. ])
    """
    prefs = as_preferences(R, "binary")
    if prefs.pairs_only:  # votes: a win is a win
        return np.asarray(prefs.wins.sum(axis=1)).ravel() / prefs.n_experts
    wins = np.zeros(prefs.n_items)
    for _, items, values in prefs.columns():
        ordered = np.sort(values)
        low, high = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        wins[items] += 0.5 * (low + high - 1)  # a tie is half a win
    return wins / prefs.n_experts


@checked
def condorcet(R: Any) -> Floats:
    """Score items by the experts' pairwise wins, over all opponents.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences, of which the direction is used.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        How often an item was preferred.

    Examples
    --------
    >>> from octavo.ranking import condorcet
    >>> condorcet([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
    array([3., 3., 0.])
    """
    return _majorities(R).sum(axis=1)


@checked
def copeland(R: Any) -> Floats:
    """Score items by the opponents that a majority ranks below them, less those above.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences, of which the direction is used.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        Between 1 - n_items and n_items - 1.

    Examples
    --------
    >>> from octavo.ranking import copeland
    >>> copeland([[1.0, 1.0, 3.0], [2.0, 3.0, 1.0], [3.0, 2.0, 2.0]])
    array([ 2.,  0., -2.])
    """
    votes = _majorities(R)
    return np.sign(votes - votes.T).sum(axis=1)  # wins less losses


@checked
def median_rank(R: Any) -> Floats:
    """Score items by their median rank over the experts who have seen them.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts)
        Ranks, 1 is best, NaN is missing.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        Minus the median; an item that nobody has seen comes behind all others.

    Examples
    --------
    >>> from octavo.ranking import median_rank
    >>> median_rank([[1.0, 2.0, 1.0], [2.0, 1.0, 3.0], [3.0, 3.0, 2.0]])
    array([-1., -2., -3.])
    """
    ranks = checked_ranks(R)
    seen = ~np.isnan(ranks).all(axis=1)
    median = np.full(len(ranks), 1.0 + (np.nanmax(ranks) if seen.any() else 0.0))
    median[seen] = np.nanmedian(ranks[seen], axis=1)
    return -median


@checked
def reciprocal_rank_fusion(R: Any, k: float = 60) -> Floats:
    """Score items by the sum of 1 / (k + rank) over the experts who have seen them.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts)
        Ranks, 1 is best, NaN is missing.
    k : float, default=60
        How much the first places count: the smaller, the more.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        Larger is better.

    Examples
    --------
    >>> from octavo.ranking import reciprocal_rank_fusion
    >>> reciprocal_rank_fusion([[1.0, 2.0], [2.0, float("nan")]], k=1).round(4)
    array([0.8333, 0.3333])
    """
    ranks = checked_ranks(R)
    if isinstance(k, bool) or not isinstance(k, (int, float, np.number)) or not 0 <= k < np.inf:
        raise ValueError(f"k must be a finite number >= 0; got {k!r}.")
    return np.nansum(1.0 / (float(k) + ranks), axis=1)


@checked
def best_fusion_k(
    R: Any,
    relevance: Any,
    ks: Any = (60, 0, 1, 2, 5, 10, 20, 100, 200, 500),
    *,
    at: int | None = 10,
) -> float:
    """Return the k of `reciprocal_rank_fusion` that serves labelled queries best.

    The paper tunes it so (its α) before it compares. With many labelled queries
    `CRFRankAggregator` learns more from them.

    Parameters
    ----------
    R : list of array-like of shape (n_items, n_experts)
        Ranks of each query, 1 is best, NaN is missing; one table is one query.
    relevance : list of array-like of shape (n_items,)
        Relevance of each query's items.
    ks : array-like, default=(60, 0, 1, 2, 5, 10, 20, 100, 200, 500)
        Values to try; among equals the first is returned.
    at : int or None, default=10
        Where lists are cut for the mean NDCG by which values are judged.

    Returns
    -------
    k : float
        One of `ks`.

    Examples
    --------
    >>> from octavo.ranking import best_fusion_k
    >>> R = [[1.0, 30.0], [3.0, 3.0]]  # one first place, or two third ones
    >>> best_fusion_k(R, [1, 0], ks=[0, 60]), best_fusion_k(R, [0, 1], ks=[0, 60])
    (0.0, 60.0)
    """
    tables, grades = split_queries(R, relevance, None)
    values = real_array(ks, "ks")
    if values.ndim != 1 or not values.size:
        raise ValueError(f"ks must hold at least one number; got {ks!r:.60}.")
    found = [
        ndcg_at(grades, [reciprocal_rank_fusion(one, k) for one in tables], at) for k in values
    ]
    return float(values[int(np.argmax(found))])


@checked
def svp(R: Any, transform: str = "rank_difference") -> Floats:
    """Score items by least squares on the differences of all pairs that somebody has compared.

    The total preferences Y - Yᵀ are approximated by s_i - s_j. Where all pairs are compared the
    scores are the row means of Y - Yᵀ, its best factors of rank two of the form s eᵀ - e sᵀ.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences.
    transform : {"binary", "rank_difference", "normalized", "log"}, default="rank_difference"
        How ranks become strengths.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        With mean zero among items that comparisons connect.

    Examples
    --------
    >>> from octavo.ranking import svp
    >>> svp([[1.0], [2.0], [3.0]])
    array([ 1.,  0., -1.])
    """
    prefs = as_preferences(R, transform)
    seen = prefs.compared() > 0
    n_items = prefs.n_items
    net = np.asarray((prefs.wins - prefs.losses).sum(axis=1)).ravel()
    if seen.sum() == n_items * (n_items - 1):
        return net / n_items  # the row means of Y - Yᵀ
    laplacian = np.diag(seen.sum(axis=1)) - seen.astype(float)
    count, label = sp.csgraph.connected_components(sp.csr_array(seen), directed=False)
    # One constraint a component (mean zero) makes the normal equations regular.
    same = label[:, None] == label[None, :]
    # Σ over compared pairs of (Y_ij - Y_ji - s_i + s_j)², at its minimum
    return np.linalg.solve(laplacian + same, net)
