"""Dependence by distances: distance covariance and distance correlation.

dCov²(X, Y) is zero exactly when X and Y are independent (for finite first moments). Two
columns take O(n log n) by a merge sort; vectors take blocks of the distance matrices, which
are never stored.

References: Szekely, Rizzo and Bakirov (2007), "Measuring and testing dependence by
correlation of distances", Annals of Statistics 35:2769-2794, equations (2.8)-(2.10); Szekely
and Rizzo (2014), "Partial distance correlation with methods for dissimilarities", Annals of
Statistics 42:2382-2412, for the unbiased statistic; Huo and Szekely (2016), "Fast computing
for distance covariance", Technometrics 58:435-447, for the sort.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.kernels.pair_sums import (
    PairKernel,
    PairMoments,
    centred_inner,
    pair_moments,
    unbiased_inner,
)
from octavo.info.estimators import MutualInformationEstimator
from octavo.info.point_kernels import exactly_two

__all__ = [
    "DistanceCorrelation",
    "DistanceCovariance",
]


@njit(cache=True)
def _absolute_products(x, y):
    """Return Σᵢⱼ |xᵢ − xⱼ| |yᵢ − yⱼ| for x in ascending order.

    For j before i the product is ±(xᵢ − xⱼ)(yᵢ − yⱼ), plus where yⱼ < yᵢ. Its sum with the minus
    sign everywhere needs running sums; twice the part with yⱼ < yᵢ is added while merge
    sorting by y, with prefix sums of 1, x, y and xy over the left run.
    """
    n = len(x)
    total, sum_x, sum_y, sum_xy = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        # Σ_(j<i) (x_i - x_j)(y_i - y_j), which is |·||·| up to the sign of y_i - y_j.
        total -= i * x[i] * y[i] - x[i] * sum_y - y[i] * sum_x + sum_xy
        sum_x += x[i]
        sum_y += y[i]
        sum_xy += x[i] * y[i]
    old_x, old_y, new_x, new_y = x.copy(), y.copy(), np.empty(n), np.empty(n)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            sum_x, sum_y, sum_xy = 0.0, 0.0, 0.0
            for place in range(start, end):
                if right >= end or (left < middle and old_y[left] < old_y[right]):
                    new_x[place], new_y[place] = old_x[left], old_y[left]
                    sum_x += old_x[left]
                    sum_y += old_y[left]
                    sum_xy += old_x[left] * old_y[left]
                    left += 1
                else:
                    a, b = old_x[right], old_y[right]
                    # pairs in order in y too, found while merging
                    total += 2.0 * ((left - start) * a * b - a * sum_y - b * sum_x + sum_xy)
                    new_x[place], new_y[place] = a, b
                    right += 1
        old_x, new_x = new_x, old_x
        old_y, new_y = new_y, old_y
        width *= 2
    return 2.0 * total


def _warmup() -> None:
    _absolute_products(np.arange(3.0), np.arange(3.0))


def absolute_row_sums(x: np.ndarray) -> np.ndarray:
    """Return Σⱼ |xᵢ − xⱼ| for every i, by one sort."""
    order = np.argsort(x, kind="stable")
    ascending = x[order]
    n = len(x)
    below = np.concatenate([[0.0], np.cumsum(ascending)])
    rank = np.arange(n)
    sums = np.empty(n)
    sums[order] = (2 * rank - n) * ascending - 2 * below[:-1] + below[-1]
    return sums


def column_distance_moments(x: np.ndarray, y: np.ndarray) -> PairMoments:
    """Return the pair moments of |xᵢ − xⱼ| and |yᵢ − yⱼ| in O(n log n)."""
    x, y = x - x.mean(), y - y.mean()  # less to cancel
    order = np.argsort(x, kind="stable")
    product = _absolute_products(x[order], y[order])
    n = len(x)
    rows = np.array([absolute_row_sums(x), absolute_row_sums(y)])
    # Σ (x_i - x_j)² = 2n Σ x² where Σ x = 0
    squares = np.array([2.0 * n * (x @ x), 2.0 * n * (y @ y)])
    return PairMoments(product, rows, np.zeros((2, n)), squares)


def distance_moments(X: np.ndarray, Y: np.ndarray, exponent: float = 1.0) -> PairMoments:
    """Return the pair moments of ‖xᵢ − xⱼ‖^exponent and ‖yᵢ − yⱼ‖^exponent."""
    if exponent == 1.0 and X.shape[1] == Y.shape[1] == 1:
        return column_distance_moments(X[:, 0], Y[:, 0])
    minus = PairKernel("distance", exponent)
    moments = pair_moments([minus, minus], [X, Y])
    return moments._replace(rows=-moments.rows)  # the two signs cancel in the product


def squared_distance_covariance(
    X: np.ndarray, Y: np.ndarray, exponent: float = 1.0, *, unbiased: bool = False
) -> float:
    """Return dCov², the mean product of the doubly centred distance matrices.

    Parameters
    ----------
    X, Y : ndarray of shape (n_samples, n_features)
        Samples drawn together.
    exponent : float, default=1.0
        Exponent of the distances, 0 < exponent ≤ 2.
    unbiased : bool, default=False
        Return the U-statistic, which may be negative.

    Returns
    -------
    float
        dCov².
    """
    inner = unbiased_inner if unbiased else centred_inner
    return inner(distance_moments(X, Y, exponent))


def squared_distance_correlation(
    X: np.ndarray, Y: np.ndarray, exponent: float = 1.0, *, unbiased: bool = False
) -> float:
    """Return dCor² = dCov²(X, Y) / √(dCov²(X, X) dCov²(Y, Y)); zero where either is constant.

    Parameters
    ----------
    X, Y : ndarray of shape (n_samples, n_features)
        Samples drawn together.
    exponent : float, default=1.0
        Exponent of the distances, 0 < exponent ≤ 2.
    unbiased : bool, default=False
        Use the U-statistics (the bias-corrected distance correlation).

    Returns
    -------
    float
        dCor².
    """
    inner = unbiased_inner if unbiased else centred_inner
    joint = distance_moments(X, Y, exponent)
    covariance = inner(joint)
    variances = []
    for m in range(2):
        rows, product = joint.rows[[m, m]], float(joint.squares[m])
        own = PairMoments(product, rows, joint.diagonal, joint.squares[[m, m]])
        variances.append(inner(own))
        if variances[-1] <= 1e-14 * product / len(X) ** 2:  # a constant, or its rounding
            return 0.0
    # Székely, Rizzo and Bakirov (2007)
    return float(covariance / np.sqrt(variances[0] * variances[1]))


DISTANCE_CONSTRAINTS: dict[str, Any] = {
    "exponent": [Interval(Real, 0, 2, closed="neither")],
    "squared": ["boolean"],
    "unbiased": ["boolean"],
}


def check_statistic(blocks: list[np.ndarray], squared: bool, unbiased: bool) -> None:
    """Raise where the statistic that is asked for does not exist."""
    exactly_two(blocks, "Distance covariance")
    if unbiased and not squared:
        raise ValueError("unbiased=True may give a negative square: set squared=True as well.")
    if unbiased and len(blocks[0]) < 4:
        raise ValueError(f"The unbiased statistic needs at least 4 samples, got {len(blocks[0])}.")


class DistanceCovariance(MutualInformationEstimator):
    """Distance covariance of two groups: zero exactly when they are independent.

    Its square is HSIC with the kernel −‖x − y‖; no bandwidth to choose. It scales with the
    units of both groups (`DistanceCorrelation` does not) and is not in nats. Two columns of a
    hundred thousand samples take a fraction of a second.

    Parameters
    ----------
    exponent : float, default=1.0
        The power of the distances, above 0 and below 2.
    squared : bool, default=False
        Return dCov² instead of dCov.
    unbiased : bool, default=False
        Use the unbiased statistic; it may be negative, so `squared` must be True.

    References
    ----------
    .. [1] Székely, Rizzo and Bakirov (2007). Measuring and testing dependence by correlation of
       distances. Annals of Statistics 35:2769-2794.
    .. [2] Székely and Rizzo (2014). Partial distance correlation with methods for dissimilarities.
       Annals of Statistics 42:2382-2412, for the unbiased statistic.
    .. [3] Huo and Székely (2016). Fast computing for distance covariance. Technometrics
       58:435-447.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import DistanceCovariance
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 1000))
    >>> estimate = DistanceCovariance().estimate
    >>> print(f"{estimate(x, x**2):.2f} {estimate(x, noise):.2f}")
    0.35 0.04
    """

    measure, method = "distance_covariance", "distances"
    estimates = "√(mean product of doubly centred distances)"
    cost = "O(N log N) for two columns and exponent 1, else O(N²)"
    assumptions = "i.i.d.; two groups; finite moments of the order of the exponent"
    _parameter_constraints: ClassVar[dict[str, Any]] = DISTANCE_CONSTRAINTS

    def __init__(self, exponent=1.0, squared=False, unbiased=False):
        self.exponent = exponent
        self.squared = squared
        self.unbiased = unbiased

    def _estimate(self, blocks):
        check_statistic(blocks, self.squared, self.unbiased)
        square = squared_distance_covariance(
            blocks[0], blocks[1], self.exponent, unbiased=self.unbiased
        )
        return square if self.squared else np.sqrt(max(square, 0.0))


class DistanceCorrelation(MutualInformationEstimator):
    """Distance correlation of two groups: from 0 (independent) to 1 (linear isometry).

    Free of units and of a bandwidth. Zero where a group is constant. Biased up for small
    samples of many columns; then use the unbiased statistic.

    Parameters
    ----------
    exponent : float, default=1.0
        The power of the distances, above 0 and below 2.
    squared : bool, default=False
        Return dCor² instead of dCor.
    unbiased : bool, default=False
        Use the unbiased statistic; it may be negative, so `squared` must be True.

    References
    ----------
    .. [1] Székely, Rizzo and Bakirov (2007). Measuring and testing dependence by correlation of
       distances. Annals of Statistics 35:2769-2794.
    .. [2] Székely and Rizzo (2014). Partial distance correlation with methods for dissimilarities.
       Annals of Statistics 42:2382-2412, for the unbiased statistic.
    .. [3] Huo and Székely (2016). Fast computing for distance covariance. Technometrics
       58:435-447.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import DistanceCorrelation
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 1000))
    >>> estimate = DistanceCorrelation().estimate
    >>> print(f"{estimate(x, x**2):.2f} {estimate(x, noise):.2f}")
    0.54 0.07
    """

    measure, method = "distance_correlation", "distances"
    estimates = "dCov(x, y) / √(dCov(x, x) dCov(y, y))"
    cost = "O(N log N) for two columns and exponent 1, else O(N²)"
    assumptions = "i.i.d.; two groups; finite moments of the order of the exponent"
    _parameter_constraints: ClassVar[dict[str, Any]] = DISTANCE_CONSTRAINTS

    def __init__(self, exponent=1.0, squared=False, unbiased=False):
        self.exponent = exponent
        self.squared = squared
        self.unbiased = unbiased

    def _estimate(self, blocks):
        check_statistic(blocks, self.squared, self.unbiased)
        square = squared_distance_correlation(
            blocks[0], blocks[1], self.exponent, unbiased=self.unbiased
        )
        return square if self.squared else np.sqrt(max(square, 0.0))
