"""Adaptation sampling (Section 3.2, Algorithm 4): a search tunes its own learning rate.

The generation that was just evaluated is weighed as if it came from the distribution that a
1.5 times larger rate would have led to. If those weights favour its better points
significantly, the rate grows; otherwise it falls back towards where it began.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from octavo.engine.estimators.checked import checked

__all__ = ["MannWhitney", "weighted_mannwhitneyu"]

TRIAL = 1.5  # how much faster the imagined rate is
PACE = 0.1  # c': how fast the rate moves
FEW = 1e-3  # a share of the weights below which the imagined distribution is out of sight


class MannWhitney(NamedTuple):
    """Weighted Mann-Whitney test: the statistic, its normal score and the p-value."""

    statistic: float
    zscore: float
    pvalue: float


@checked
def weighted_mannwhitneyu(
    x: Any, y: Any, wx: Any = None, wy: Any = None, *, alternative: str = "two-sided"
) -> MannWhitney:
    """Test whether weighted samples have the same distribution by their ranks.

    The statistic adds wx wy over all pairs in which x exceeds y, and half of it over ties; the
    weights take the place of counts in its mean and variance. With unit weights and no ties it
    is the ordinary test in its normal approximation.

    Parameters
    ----------
    x, y : array-like of shape (n,), (m,)
        The samples.
    wx, wy : array-like, optional
        Their weights, not negative; one each by default.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        "less": values of x tend to be smaller than those of y.

    Returns
    -------
    result : MannWhitney
        Statistic, normal score (positive where x tends to be larger) and p-value.

    Examples
    --------
    >>> from octavo.search import weighted_mannwhitneyu
    >>> test = weighted_mannwhitneyu([1, 2, 3], [2.5, 4, 5], wx=[3, 1, 1], alternative="less")
    >>> print(test.statistic, round(test.pvalue, 3))
    1.0 0.026
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    wx = np.ones(x.shape) if wx is None else np.asarray(wx, dtype=float)
    wy = np.ones(y.shape) if wy is None else np.asarray(wy, dtype=float)
    if wx.shape != x.shape or wy.shape != y.shape:
        raise ValueError("Every value needs one weight.")
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("values must not be NaN.")
    if not (np.isfinite(wx).all() and np.isfinite(wy).all() and wx.sum() > 0 < wy.sum()):
        raise ValueError("weights must be finite and must not all be zero.")
    if wx.min() < 0 or wy.min() < 0:
        raise ValueError("weights must not be negative.")
    # U of Section 3.2 with weights, which the paper names and does not define.
    order = np.argsort(y)
    below = np.concatenate([[0.0], np.cumsum(wy[order])])
    left = below[np.searchsorted(y[order], x, "left")]
    right = below[np.searchsorted(y[order], x, "right")]
    statistic = float(wx @ (left + right)) / 2
    n, m = wx.sum(), wy.sum()
    # its mean nm/2 and variance nm(n + m + 1)/12, sizes being sums of weights
    zscore = float((statistic - n * m / 2) / np.sqrt(n * m * (n + m + 1) / 12))
    tails = {
        "greater": ndtr(-zscore),
        "less": ndtr(zscore),
        "two-sided": 2 * ndtr(-abs(zscore)),
    }
    if alternative not in tails:
        raise ValueError(f"alternative must be one of {sorted(tails)}; got {alternative!r}.")
    return MannWhitney(statistic, zscore, float(tails[alternative]))


def log_importance(S: np.ndarray, log_growth: np.ndarray | float) -> np.ndarray:
    """Return the log density ratio of points whose distribution is scaled by exp(log_growth).

    Parameters
    ----------
    S : ndarray of shape (n, d)
        Points in the coordinates in which they are standard normal.
    log_growth : float or ndarray of shape (d,)
        Logarithm of the factor on the standard deviation of each coordinate.
    """
    d = S.shape[1]
    log_growth = np.broadcast_to(log_growth, d)
    # log π(z | θ') - log π(z | θ) of normal densities with one mean
    return -log_growth.sum() - 0.5 * (S**2) @ np.expm1(-2 * log_growth)


def adapted_rate(
    rate: float, initial: float, ranks: np.ndarray, log_weights: np.ndarray, n_dims: int
) -> float:
    """Return the learning rate after the test of Algorithm 4."""
    weights = np.exp(np.minimum(log_weights, 700.0))
    level = 0.5 - 1.0 / (3 * (n_dims + 1))  # Section 3.2: ρ = 1/2 - 1/(3(d + 1))
    faster_is_better = False
    if FEW * len(ranks) <= weights.sum() < np.inf:
        # Smaller ranks are better. Print compares with ρ the other way round, and then η grows
        test = weighted_mannwhitneyu(ranks, ranks, wx=weights, alternative="less")
        # without any evidence for it.
        faster_is_better = test.pvalue <= level
    if faster_is_better:
        return min((1 + PACE) * rate, 1.0)
    return (1 - PACE) * rate + PACE * initial  # Algorithm 4, towards the initial η
