"""How good a ranking is, given graded relevance: NDCG, precision, average precision, ERR.

Gains are 2^l - 1 and discounts 1 / log2(position + 1). A list of queries gives the mean over
them; a query without a relevant item counts 0.

References
----------
Volkovs and Zemel (2014), Section 2.6.
O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan. Expected reciprocal rank for graded relevance.
CIKM, 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["expected_reciprocal_rank", "mean_average_precision", "ndcg_at", "precision_at"]


def checked_relevance(relevance: Any, n_items: int | None = None, name: str = "") -> Floats:
    """Return grades as finite numbers from 0.

    Parameters
    ----------
    relevance : array-like of shape (n_items,)
        The grades.
    n_items : int, optional
        How many there must be.
    name : str
        What messages call it.

    Returns
    -------
    relevance : ndarray of shape (n_items,)
        Checked.
    """
    name = name or "relevance"
    try:
        grades = np.asarray(relevance, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers; got {relevance!r:.60}.") from None
    if grades.ndim != 1 or grades.size == 0:
        raise ValueError(f"{name} must be a vector, a grade an item; got shape {grades.shape}.")
    if n_items is not None and grades.size != n_items:
        raise ValueError(f"{name} holds {grades.size} grades for {n_items} items.")
    wrong = ~(np.isfinite(grades) & (grades >= 0) & (grades < 500))
    if wrong.any():
        item = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name} must be finite, at least 0 and below 500; item {item} has {grades[item]:g}."
        )
    return grades


def _queries(relevance: Any, scores: Any) -> list[tuple[Floats, Floats]]:
    """Return (relevance, scores) of each query; vectors are one query."""
    if not hasattr(relevance, "__len__") or not hasattr(scores, "__len__"):
        raise ValueError("relevance and scores must be vectors, or lists of a vector a query.")
    if len(relevance) == 0:
        raise ValueError("relevance is empty; at least one item is needed.")
    several = hasattr(relevance[0], "__len__") and not isinstance(relevance[0], str)
    if not several:
        relevance, scores = [relevance], [scores]
    if len(relevance) != len(scores):
        raise ValueError(f"{len(relevance)} queries have relevance and {len(scores)} scores.")
    found = []
    for n, (grades, given) in enumerate(zip(relevance, scores)):
        where = f" of query {n}" if several else ""
        s = np.asarray(given, dtype=np.float64)
        if s.ndim != 1 or np.isnan(s).any():
            raise ValueError(f"scores{where} must be a vector of numbers without NaN.")
        found.append((checked_relevance(grades, s.size, f"relevance{where}"), s))
    return found


def _mean(relevance: Any, scores: Any, one: Callable[[Floats, Floats], float]) -> float:
    return float(np.mean([one(*query) for query in _queries(relevance, scores)]))


def _refuse_k(k: Any) -> None:
    if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
        raise ValueError(f"k must be an integer of at least 1, or None; got {k!r}.")


def _refuse_threshold(threshold: Any) -> None:
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not float(threshold) > 0:
        raise ValueError(f"threshold must be a number above 0; got {threshold!r}.")


def discounts(n: int, k: int | None = None) -> Floats:
    """Return 1 / log2(position + 1), zero beyond position k.

    Parameters
    ----------
    n : int
        How many positions.
    k : int, optional
        Where the list is cut.

    Returns
    -------
    discounts : ndarray of shape (n,)
        From the first position on.
    """
    weight = 1.0 / np.log2(np.arange(2.0, n + 2.0))
    if k is not None:
        weight[k:] = 0.0  # NDCG@k
    return weight


def _in_order(gain: Floats, scores: Floats) -> Floats:
    """Return gains from the best score on; items of equal score share their mean gain."""
    order = np.argsort(-scores, kind="stable")
    ordered, s = gain[order], scores[order]
    starts = np.flatnonzero(np.r_[True, s[1:] != s[:-1]])
    sizes = np.diff(np.r_[starts, s.size])
    return np.repeat(np.add.reduceat(ordered, starts) / sizes, sizes)


def ndcg(grades: Floats, scores: Floats, k: int | None = None) -> float:
    """Return the NDCG of one query.

    Parameters
    ----------
    grades, scores : ndarray of shape (n_items,)
        Checked relevance and scores.
    k : int, optional
        Where the list is cut.

    Returns
    -------
    value : float
        Between 0 and 1.
    """
    gain, weight = np.exp2(grades) - 1.0, discounts(grades.size, k)  # 2^l - 1
    ideal = float(weight @ np.sort(gain)[::-1])
    return float(weight @ _in_order(gain, scores)) / ideal if ideal > 0 else 0.0


@checked
def ndcg_at(relevance: Any, scores: Any, k: int | None = None) -> float:
    """Return the normalised discounted cumulative gain of a ranking.

    Items of equal score share the mean of their gains, as in scikit-learn's `ndcg_score`, whose
    gains are linear unless 2^l - 1 is passed.

    Parameters
    ----------
    relevance : array-like of shape (n_items,) or list of such
        Grades, larger is better; a list holds one vector a query.
    scores : array-like of shape (n_items,) or list of such
        Larger is better.
    k : int or None, default=None
        Where the list is cut; None for the whole list.

    Returns
    -------
    value : float
        Between 0 and 1; 0 for a query without a relevant item.

    Examples
    --------
    >>> from octavo.ranking import ndcg_at
    >>> round(ndcg_at([2.0, 0.0, 1.0], [0.9, 0.8, 0.1], k=3), 4)
    0.9639
    """
    _refuse_k(k)
    return _mean(relevance, scores, lambda grades, s: ndcg(grades, s, k))


@checked
def precision_at(relevance: Any, scores: Any, k: int, *, threshold: float = 1.0) -> float:
    """Return the share of relevant items among the k best.

    Parameters
    ----------
    relevance : array-like of shape (n_items,) or list of such
        Grades, larger is better; a list holds one vector a query.
    scores : array-like of shape (n_items,) or list of such
        Larger is better; ties share their mean relevance.
    k : int
        Where the list is cut; a shorter list is padded with irrelevant items.
    threshold : float, default=1.0
        The least grade of a relevant item. The paper has 2 for grades 0, 1, 2.

    Returns
    -------
    value : float
        Between 0 and 1.

    Examples
    --------
    >>> from octavo.ranking import precision_at
    >>> precision_at([2.0, 0.0, 1.0], [0.9, 0.8, 0.1], k=2)
    0.5
    """
    if k is None:
        raise ValueError("k must be an integer of at least 1; got None.")
    _refuse_k(k)
    _refuse_threshold(threshold)

    def one(grades: Floats, s: Floats) -> float:
        return float(_in_order((grades >= threshold).astype(float), s)[:k].sum()) / k

    return _mean(relevance, scores, one)


@checked
def mean_average_precision(relevance: Any, scores: Any, *, threshold: float = 1.0) -> float:
    """Return the precision at each relevant item, averaged over these and then over queries.

    Parameters
    ----------
    relevance : array-like of shape (n_items,) or list of such
        Grades, larger is better; a list holds one vector a query.
    scores : array-like of shape (n_items,) or list of such
        Larger is better; ties keep the order of the items.
    threshold : float, default=1.0
        The least grade of a relevant item. The paper has 2 for grades 0, 1, 2.

    Returns
    -------
    value : float
        Between 0 and 1; a query without a relevant item counts 0.

    Examples
    --------
    >>> from octavo.ranking import mean_average_precision
    >>> round(mean_average_precision([2.0, 0.0, 1.0], [0.9, 0.8, 0.1]), 4)
    0.8333
    """
    _refuse_threshold(threshold)

    def one(grades: Floats, s: Floats) -> float:
        relevant = grades[np.argsort(-s, kind="stable")] >= threshold
        if not relevant.any():
            return 0.0
        precision = np.cumsum(relevant) / np.arange(1, relevant.size + 1)  # at each position
        return float(precision[relevant].mean())

    return _mean(relevance, scores, one)


@checked
def expected_reciprocal_rank(
    relevance: Any, scores: Any, k: int | None = None, *, max_relevance: float | None = None
) -> float:
    """Return the expected 1 / position at which a user, who reads from the top, is satisfied.

    An item of grade l satisfies with probability (2^l - 1) / 2^max.

    Parameters
    ----------
    relevance : array-like of shape (n_items,) or list of such
        Grades, larger is better; a list holds one vector a query.
    scores : array-like of shape (n_items,) or list of such
        Larger is better; ties keep the order of the items.
    k : int or None, default=None
        Where the list is cut; None for the whole list.
    max_relevance : float or None, default=None
        The largest grade of the scale; None for the largest that is seen in any query.

    Returns
    -------
    value : float
        Between 0 and 1.

    Examples
    --------
    >>> from octavo.ranking import expected_reciprocal_rank
    >>> expected_reciprocal_rank([2.0, 0.0, 1.0], [0.9, 0.8, 0.1])  # 3/4 + 1/4 · 1/4 · 1/3
    0.7708333333333334
    """
    _refuse_k(k)
    queries = _queries(relevance, scores)
    largest = max(float(grades.max()) for grades, _ in queries)
    if max_relevance is not None:
        if isinstance(max_relevance, bool) or not isinstance(max_relevance, Real):
            raise ValueError(f"max_relevance must be a number; got {max_relevance!r}.")
        if not largest <= float(max_relevance) < 500:
            raise ValueError(
                f"max_relevance is {max_relevance:g}, but a grade of {largest:g} was seen."
            )
        largest = float(max_relevance)
    values = []
    for grades, s in queries:
        # (2^l - 1)/2^max
        satisfied = (np.exp2(grades[np.argsort(-s, kind="stable")]) - 1.0) / 2.0**largest
        # The user has read on
        unsatisfied = np.concatenate([[1.0], np.cumprod(1.0 - satisfied)[:-1]])
        terms = unsatisfied * satisfied / np.arange(1, s.size + 1)
        values.append(terms[:k].sum())
    return float(np.mean(values))
