"""Average precision with a policy for ties, and its bootstrap interval.

Reference: R. Oentaryo et al. (2014), Detecting click fraud in online advertising: a data mining
approach, Section 2.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["PrecisionInterval", "average_precision", "average_precision_interval"]


class PrecisionInterval(NamedTuple):
    """An average precision with the ends of its bootstrap interval: value, low, high."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def _binary(y: Any, score: Any) -> tuple[Floats, Floats]:
    labels, scores = np.asarray(y), np.asarray(score, dtype=np.float64)
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise ValueError(
            f"y and score must be lists of one length; got shapes {labels.shape} and "
            f"{scores.shape}."
        )
    if labels.dtype.kind not in "biuf" or not (
        np.isin(labels, (0, 1)).all() or np.isin(labels, (-1, 1)).all()
    ):
        raise ValueError("y must be 0 and 1, or -1 and 1.")
    if not np.isfinite(scores).all():
        raise ValueError("score must be finite.")
    hits = (labels == 1).astype(np.float64)
    if not hits.any():
        raise ValueError("y holds no positive: average precision is not defined.")
    return hits, scores


def _ends(ordered: Floats) -> Any:
    """Return the last position of each group of equal scores."""
    return np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)


def _grouped(hits: Floats, weight: Floats, ends: Any) -> float:
    """Return Σ p(tᵢ) (r(tᵢ) - r(tᵢ₋₁)) over thresholds tᵢ (Section 2.3)."""
    # Hits and rows at each threshold
    found, seen = np.cumsum(hits * weight)[ends], np.cumsum(weight)[ends]
    gain = np.diff(found, prepend=0.0)  # r(t_i) - r(t_i-1), times the hits in all
    some = gain > 0
    return float(np.sum(found[some] / seen[some] * gain[some]) / found[-1])


def _expected(hits: Floats, ends: Any) -> float:
    """Return the mean over all orders of the tied rows.

    In a group of m rows with k hits after N rows with H hits, row j is a hit with probability
    k / m, and then (j - 1)(k - 1) / (m - 1) of the rows before it in the group are, on average.
    """
    total, before, above = 0.0, 0, 0.0
    for end in ends:
        m = end + 1 - before
        k = float(hits[before : end + 1].sum())
        if k:
            j = np.arange(1, m + 1)
            inside = (j - 1) * (k - 1) / max(m - 1, 1)
            total += float(np.sum(k / m * (above + 1 + inside) / (before + j)))
        above += k
        before = end + 1
    return total / above


@checked
def average_precision(y: Any, score: Any, ties: str = "group") -> float:
    """Return the average precision of a ranking.

    The mean over positives of the precision at their place.

    Parameters
    ----------
    y : array-like of shape (n,)
        1 for what should come first; 0 or -1 otherwise.
    score : array-like of shape (n,)
        The higher, the earlier.
    ties : {"group", "random", "pessimistic"}, default="group"
        Rows of equal score are retrieved together (as in scikit-learn), in a random order (the
        mean over all orders, exactly), or negatives first.

    Returns
    -------
    precision : float
        Between 0 and 1.

    Examples
    --------
    >>> from octavo.linear import average_precision
    >>> [round(average_precision([1, 0, 1], [2, 1, 1], ties=t), 3)
    ...  for t in ("group", "random", "pessimistic")]
    [0.833, 0.917, 0.833]
    """
    if not isinstance(ties, str) or ties not in ("group", "random", "pessimistic"):
        raise ValueError(f'ties must be "group", "random" or "pessimistic"; got {ties!r}.')
    hits, scores = _binary(y, score)
    order = np.lexsort((hits, -scores))  # negatives first where scores are equal
    hits = hits[order]
    if ties == "pessimistic":
        return _grouped(hits, np.ones(len(hits)), np.arange(len(hits)))
    ends = _ends(scores[order])
    if ties == "random":
        return _expected(hits, ends)
    return _grouped(hits, np.ones(len(hits)), ends)


@checked
def average_precision_interval(
    y: Any,
    score: Any,
    n_bootstrap: int = 1000,
    level: float = 0.95,
    random_state: Any = None,
) -> PrecisionInterval:
    """Return the average precision with a bootstrap interval.

    Positives and negatives are drawn each for themselves. With 70 to 90 positives, as in the
    paper's competition, the interval is several points wide on either side.

    Parameters
    ----------
    y : array-like of shape (n,)
        1 for what should come first; 0 or -1 otherwise.
    score : array-like of shape (n,)
        The higher, the earlier; ties are grouped.
    n_bootstrap : int, default=1000
        Number of resamples, at most 100,000.
    level : float, default=0.95
        How often such an interval holds the truth, about.
    random_state : int, RandomState instance or None, default=None
        Seeds the resampling.

    Returns
    -------
    interval : PrecisionInterval
        Value, low and high.

    Examples
    --------
    >>> from octavo.linear import average_precision_interval
    >>> average_precision_interval([1, 0, 1, 0], [4, 3, 2, 1], random_state=0).value
    0.8333333333333333
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    if isinstance(n_bootstrap, bool) or not 1 <= n_bootstrap <= 100_000 or n_bootstrap % 1:
        raise ValueError(f"n_bootstrap must be a number from 1 to 100000; got {n_bootstrap!r}.")
    hits, scores = _binary(y, score)
    order = np.argsort(-scores, kind="stable")
    hits, ends = hits[order], _ends(scores[order])
    rng = check_random_state(random_state)
    classes = [np.flatnonzero(hits == value) for value in (0.0, 1.0)]
    found = np.empty(int(n_bootstrap))
    for b in range(len(found)):
        weight = np.zeros(len(hits))
        for rows in classes:
            if len(rows):
                drawn = rng.randint(len(rows), size=len(rows))
                weight[rows] = np.bincount(drawn, minlength=len(rows))
        found[b] = _grouped(hits, weight, ends)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return PrecisionInterval(_grouped(hits, np.ones(len(hits)), ends), float(low), float(high))
