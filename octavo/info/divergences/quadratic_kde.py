"""Quadratic divergences and mutual informations of Parzen densities, in closed form.

Products of Gaussian kernels integrate to Gaussian kernels, so ∫p̂², ∫q̂² and ∫p̂q̂ of two kernel
density estimates are double sums over the samples. From these come the Euclidean
distance ∫(p̂ − q̂)² and the Cauchy-Schwarz divergence log(∫p̂² ∫q̂² / (∫p̂q̂)²), and, with the joint
density for p and the product of its margins for q, two mutual informations.

Reference: Principe (2010), "Information Theoretic Learning", Springer, sections 2.5-2.6;
Xu and Principe's quadratic mutual informations are given there as equations (2.90)-(2.98).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.kernels.pair_sums import (
    PairKernel,
    PairMoments,
    cross_sum,
    off_diagonal,
    pair_moments,
    self_sum,
)
from octavo.info.estimators import DivergenceEstimator, MutualInformationEstimator

__all__ = [
    "CauchySchwarzDivergence",
    "CauchySchwarzInformation",
    "EuclideanDivergence",
    "EuclideanInformation",
]


def parzen_width(X: np.ndarray, d: int | None = None) -> float:
    """Return the bandwidth that suits an integral of the square of a density.

    Such an integral wants less smoothing than the density itself. With points paired with
    themselves it errs by +1/(n hᵈ) from these pairs and by −d/2 · h² from smoothing, in units of
    a normal density of variance 1; at h = (2 / (d n))^(1/(d+2)) the two are equal. `d` is the
    number of columns of the density, if X is only a group of them.

    Reference: Jones and Sheather (1991), "Using non-stochastic terms to advantage in kernel-based
    estimation of integrated squared density derivatives", Statistics and Probability Letters 11.
    """
    n, d = X.shape[0], d or X.shape[1]
    spread = np.sqrt(X.var(axis=0, ddof=1).mean())
    # least error of ∫p̂² for a normal p
    return float(spread * (2.0 / (d * n)) ** (1.0 / (d + 2.0)))


class ParzenIntegrals(NamedTuple):
    """∫p̂² (``first``), ∫q̂² (``second``) and ∫p̂q̂ (``cross``), all over ``scale``.

    The scale is the height of the Gaussian that they share; kept apart since it may
    under- or overflow in many dimensions, and cancels in the Cauchy-Schwarz divergence.
    """

    first: float
    second: float
    cross: float
    log_scale: float


def gaussian_log_height(d: int, bandwidth: float) -> float:
    """Return the logarithm of the density at 0 of a Gaussian of variance 2·bandwidth²."""
    return -0.5 * d * float(np.log(4.0 * np.pi * bandwidth**2))  # (2π · 2h²)^(-d/2)


def parzen_integrals(
    X: np.ndarray, Y: np.ndarray, bandwidth: float, *, unbiased: bool = False
) -> ParzenIntegrals:
    """Return the integrals of the Parzen densities of two samples.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        First sample.
    Y : ndarray of shape (m_samples, n_features)
        Second sample.
    bandwidth : float
        Standard deviation of the Gaussian kernel.
    unbiased : bool, default=False
        Leave points with themselves out, which makes the sums unbiased for the smoothed
        densities and no longer integrals of one estimate.

    Returns
    -------
    ParzenIntegrals
        The three integrals.
    """
    n, m = len(X), len(Y)
    kernel = PairKernel("gaussian", bandwidth * np.sqrt(2.0))  # N(0, h²) * N(0, h²) = N(0, 2h²)
    first, second = self_sum(kernel, X), self_sum(kernel, Y)
    if unbiased:  # the kernel is 1 at 0
        first, second = (first - n) / (n * (n - 1)), (second - m) / (m * (m - 1))
    else:
        first, second = first / n**2, second / m**2
    cross = cross_sum(kernel, X, Y) / (n * m)
    return ParzenIntegrals(first, second, cross, gaussian_log_height(X.shape[1], bandwidth))


def joint_integrals(
    samples: Sequence[np.ndarray], bandwidths: Sequence[float], *, unbiased: bool = False
) -> ParzenIntegrals:
    """Return the integrals of the joint Parzen density and of the product of its margins.

    Parameters
    ----------
    samples : sequence of ndarray of shape (n_samples, n_features)
        The groups of variables.
    bandwidths : sequence of float
        Standard deviation of the Gaussian kernel of each group.
    unbiased : bool, default=False
        Leave points with themselves out of the sums.

    Returns
    -------
    ParzenIntegrals
        ∫p̂² of the joint density, ∫q̂² of the product of the margins, and ∫p̂q̂.
    """
    kernels = [PairKernel("gaussian", h * np.sqrt(2.0)) for h in bandwidths]
    moments: PairMoments = pair_moments(kernels, samples)
    others = moments.n
    if unbiased:
        moments, others = off_diagonal(moments), moments.n - 1
    means = moments.rows / others
    return ParzenIntegrals(
        moments.product / (moments.n * others),  # V_J = ∫p_xy²
        float(means.mean(axis=1).prod()),  # V_M = ∫(p_x p_y)²
        float(means.prod(axis=0).mean()),  # V_C = ∫p_xy p_x p_y
        sum(gaussian_log_height(X.shape[1], h) for X, h in zip(samples, bandwidths)),
    )


def euclidean_gap(integrals: ParzenIntegrals) -> float:
    """Return ∫(p̂ − q̂)²."""
    gap = integrals.first + integrals.second - 2.0 * integrals.cross  # V_J + V_M - 2V_C
    return float(np.exp(integrals.log_scale) * gap)


def cauchy_schwarz_gap(integrals: ParzenIntegrals) -> float:
    """Return log(∫p̂² ∫q̂² / (∫p̂q̂)²)."""
    smallest = min(integrals[:3])
    if smallest <= 0.0:
        raise ValueError(
            "An integral of the Parzen densities is zero: at this bandwidth the kernels of "
            "different points do not overlap. Use a wider bandwidth."
        )
    first, second, cross, _ = integrals
    return float(np.log(first) + np.log(second) - 2.0 * np.log(cross))  # log V_J V_M / V_C²


PARZEN_CONSTRAINTS: dict[str, Any] = {
    "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
    "unbiased": ["boolean"],
}


class CauchySchwarzDivergence(DivergenceEstimator):
    """Cauchy-Schwarz divergence log(∫p² ∫q² / (∫pq)²) of Parzen densities, in closed form.

    Zero for equal densities, symmetric, finite where the densities overlap. Parzen densities
    are smoothed ones: in more than a few dimensions, or with a wide bandwidth, the value is far
    too small, and `KnnKLDivergence` the better choice.

    Parameters
    ----------
    bandwidth : float, default=None
        Standard deviation of the Gaussian kernel; None for Jones and Sheather's normal rule [2]_,
        averaged over both samples.
    unbiased : bool, default=True
        Leave points with themselves out of the double sums: unbiased integrals of the smoothed
        densities, but the value may be negative. False gives the integrals of one Parzen density,
        never negative, and too large by what the pairs of points with themselves add.

    References
    ----------
    .. [1] Principe (2010). Information theoretic learning. Springer, section 2.5.
    .. [2] Jones and Sheather (1991). Using non-stochastic terms to advantage in kernel-based
       estimation of integrated squared density derivatives. Statistics and Probability Letters 11.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CauchySchwarzDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(1000, 1)), rng.normal(1, 1, size=(1000, 1))  # 1/2
    >>> print(f"{CauchySchwarzDivergence().estimate(X, Y):.2f}")
    0.54
    """

    measure, method = "cauchy_schwarz", "parzen"
    estimates = "log(∫p² ∫q² / (∫pq)²)"
    cost = "O((N + M)² d)"
    assumptions = "square-integrable densities; few columns; columns of similar spread"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = PARZEN_CONSTRAINTS

    def __init__(self, bandwidth=None, unbiased=True):
        self.bandwidth = bandwidth
        self.unbiased = unbiased

    def _estimate(self, X, Y):
        width = self.bandwidth or 0.5 * (parzen_width(X) + parzen_width(Y))
        return cauchy_schwarz_gap(parzen_integrals(X, Y, width, unbiased=self.unbiased))


class EuclideanDivergence(DivergenceEstimator):
    """Euclidean distance ∫(p − q)² of Parzen densities, in closed form.

    In units of one over volume, so that it depends on the scale of the data. Smoothing makes it
    too small in more than a few dimensions; `KnnL2Divergence` estimates its root from
    neighbours.

    Parameters
    ----------
    bandwidth : float, default=None
        Standard deviation of the Gaussian kernel; None for Jones and Sheather's normal rule [2]_,
        averaged over both samples.
    unbiased : bool, default=True
        Leave points with themselves out of the double sums: unbiased integrals of the smoothed
        densities, but the value may be negative. False gives the integrals of one Parzen density,
        never negative, and too large by what the pairs of points with themselves add.

    References
    ----------
    .. [1] Principe (2010). Information theoretic learning. Springer, section 2.5.
    .. [2] Jones and Sheather (1991). Using non-stochastic terms to advantage in kernel-based
       estimation of integrated squared density derivatives. Statistics and Probability Letters 11.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import EuclideanDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(1000, 1)), rng.normal(1, 1, size=(1000, 1))  # 0.125
    >>> print(f"{EuclideanDivergence().estimate(X, Y):.2f}")
    0.13
    """

    measure, method = "euclidean", "parzen"
    estimates = "∫ (p - q)²"
    cost = "O((N + M)² d)"
    assumptions = "square-integrable densities; few columns; columns of similar spread"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = PARZEN_CONSTRAINTS

    def __init__(self, bandwidth=None, unbiased=True):
        self.bandwidth = bandwidth
        self.unbiased = unbiased

    def _estimate(self, X, Y):
        width = self.bandwidth or 0.5 * (parzen_width(X) + parzen_width(Y))
        return euclidean_gap(parzen_integrals(X, Y, width, unbiased=self.unbiased))


class CauchySchwarzInformation(MutualInformationEstimator):
    """Cauchy-Schwarz quadratic mutual information of Parzen densities, in closed form.

    The Cauchy-Schwarz divergence of the joint density from the product of its margins: zero
    for independent groups. Not Shannon's information; smoothing makes it too small for strong
    dependence and many columns.

    Parameters
    ----------
    bandwidth : float, default=None
        Standard deviation of the Gaussian kernel of every group; None for Jones and Sheather's
        normal rule [2]_ with the spread of each.
    unbiased : bool, default=True
        Leave points with themselves out of the double sums: unbiased integrals of the smoothed
        densities, but the value may be negative. False gives the integrals of one Parzen density,
        never negative, and too large by what the pairs of points with themselves add.

    References
    ----------
    .. [1] Principe (2010). Information theoretic learning. Springer, section 2.6.
    .. [2] Jones and Sheather (1991). Using non-stochastic terms to advantage in kernel-based
       estimation of integrated squared density derivatives. Statistics and Probability Letters 11.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CauchySchwarzInformation
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 1000))
    >>> estimate = CauchySchwarzInformation().estimate
    >>> print(f"{estimate(x, x + noise):.3f} {estimate(x, noise):.3f}")
    0.188 -0.005
    """

    measure, method = "cauchy_schwarz", "parzen"
    estimates = "log(∫p² ∫(∏p_m)² / (∫p ∏p_m)²)"
    cost = "O(N² d)"
    assumptions = "a joint square-integrable density; few columns; columns of similar spread"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = PARZEN_CONSTRAINTS

    def __init__(self, bandwidth=None, unbiased=True):
        self.bandwidth = bandwidth
        self.unbiased = unbiased

    def _estimate(self, blocks):
        d = sum(block.shape[1] for block in blocks)
        widths = [self.bandwidth or parzen_width(block, d) for block in blocks]
        return cauchy_schwarz_gap(joint_integrals(blocks, widths, unbiased=self.unbiased))


class EuclideanInformation(MutualInformationEstimator):
    """Euclidean quadratic mutual information ∫(p − ∏p_m)² of Parzen densities, in closed form.

    HSIC with Gaussian kernels of √2 times the bandwidth, times their heights. It depends on
    the units of the data; standardise columns first. Smoothing makes it too small in more than
    a few dimensions.

    Parameters
    ----------
    bandwidth : float, default=None
        Standard deviation of the Gaussian kernel of every group; None for Jones and Sheather's
        normal rule [2]_ with the spread of each.
    unbiased : bool, default=True
        Leave points with themselves out of the double sums: unbiased integrals of the smoothed
        densities, but the value may be negative. False gives the integrals of one Parzen density,
        never negative, and too large by what the pairs of points with themselves add.

    References
    ----------
    .. [1] Principe (2010). Information theoretic learning. Springer, section 2.6.
    .. [2] Jones and Sheather (1991). Using non-stochastic terms to advantage in kernel-based
       estimation of integrated squared density derivatives. Statistics and Probability Letters 11.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import EuclideanInformation
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 1000))
    >>> estimate = EuclideanInformation().estimate
    >>> print(f"{estimate(x, x + noise):.3f} {estimate(x, noise):.3f}")
    0.013 -0.000
    """

    measure, method = "euclidean", "parzen"
    estimates = "∫ (p - ∏p_m)²"
    cost = "O(N² d)"
    assumptions = "a joint square-integrable density; few columns; columns of similar spread"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = PARZEN_CONSTRAINTS

    def __init__(self, bandwidth=None, unbiased=True):
        self.bandwidth = bandwidth
        self.unbiased = unbiased

    def _estimate(self, blocks):
        d = sum(block.shape[1] for block in blocks)
        widths = [self.bandwidth or parzen_width(block, d) for block in blocks]
        return euclidean_gap(joint_integrals(blocks, widths, unbiased=self.unbiased))
