"""Distances between distributions by kernels: maximum mean discrepancy, energy distance.

MMD² is the squared distance between the mean embeddings of two distributions, and the
expected kernel their inner product. Five statistics trade accuracy for time. The energy
distance is the MMD² of the kernel −‖x − y‖.

References: Gretton, Borgwardt, Rasch, Schoelkopf and Smola (2012), "A kernel two-sample
test", JMLR 13:723-773, equations (3), (5) and Lemma 14; Zaremba, Gretton and Blaschko (2013),
"B-test: a non-parametric, low variance kernel two-sample test", NeurIPS; Szekely and Rizzo
(2013), "Energy statistics: a class of statistics based on distances", Journal of Statistical
Planning and Inference 143:1249-1272; Sejdinovic, Sriperumbudur, Gretton and Fukumizu (2013),
"Equivalence of distance-based and RKHS-based statistics", Annals of Statistics 41:2263-2291.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.kernels.incomplete_cholesky import incomplete_cholesky
from octavo.engine.kernels.pair_sums import (
    MEDIAN_POINTS,
    PairKernel,
    cross_sum,
    kernel_diagonal,
    kernel_rows,
    self_sum,
)
from octavo.info.estimators import DistributionKernel, DivergenceEstimator
from octavo.info.point_kernels import KERNEL_CONSTRAINTS, LOW_RANK_CONSTRAINTS, make_kernel

__all__ = [
    "MMD",
    "BiasedMMD",
    "BlockMMD",
    "EnergyDistance",
    "ExpectedKernel",
    "LowRankMMD",
    "OnlineMMD",
]


def mmd_v_statistic(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return MMD² with every pair counted, a point with itself too; never negative (Eq. 5)."""
    n, m = len(X), len(Y)
    # Gretton et al. (2012), Eq. (5)
    same = self_sum(kernel, X) / n**2 + self_sum(kernel, Y) / m**2
    return same - 2.0 * cross_sum(kernel, X, Y) / (n * m)


def mmd_u_statistic(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return the unbiased MMD² (Eq. 3), which may be negative."""
    n, m = len(X), len(Y)
    # Eq. (3): i ≠ j
    within_x = (self_sum(kernel, X) - kernel_diagonal(kernel, X).sum()) / (n * (n - 1))
    within_y = (self_sum(kernel, Y) - kernel_diagonal(kernel, Y).sum()) / (m * (m - 1))
    return float(within_x + within_y - 2.0 * cross_sum(kernel, X, Y) / (n * m))


def mmd_online(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return the unbiased MMD² of consecutive pairs (Lemma 14): one pass, no memory."""
    pairs = min(len(X), len(Y)) // 2
    x1, x2 = X[: 2 * pairs : 2], X[1 : 2 * pairs : 2]  # h takes each point once
    y1, y2 = Y[: 2 * pairs : 2], Y[1 : 2 * pairs : 2]
    # h((x, y), (x', y')) of Lemma 14
    within = kernel_rows(kernel, x1, x2) + kernel_rows(kernel, y1, y2)
    return float(np.mean(within - kernel_rows(kernel, x1, y2) - kernel_rows(kernel, x2, y1)))


def mmd_block(kernel: PairKernel, X: np.ndarray, Y: np.ndarray, block_size: int) -> float:
    """Return the mean of the unbiased MMD² of consecutive blocks; left-over points are unused."""
    n_blocks = min(len(X), len(Y)) // block_size
    cuts = [slice(b * block_size, (b + 1) * block_size) for b in range(n_blocks)]
    return float(np.mean([mmd_u_statistic(kernel, X[cut], Y[cut]) for cut in cuts]))


def mmd_low_rank(
    kernel: PairKernel, X: np.ndarray, Y: np.ndarray, tol: float, max_rank: int | None = None
) -> float:
    """Return the V-statistic of the pooled kernel matrix's incomplete Cholesky factor."""
    factor = incomplete_cholesky(kernel, np.vstack([X, Y]), tol=tol, max_rank=max_rank).factor
    # mean embeddings, K ≈ GG'
    difference = factor[: len(X)].mean(axis=0) - factor[len(X) :].mean(axis=0)
    return float(difference @ difference)


def absolute_self_sum(x: np.ndarray) -> float:
    """Return Σᵢⱼ |xᵢ − xⱼ| by one sort."""
    n = len(x)
    # x_(i) is the larger i times, the smaller n-1-i times
    return float(2.0 * ((2 * np.arange(n) - n + 1) @ np.sort(x)))


def absolute_cross_sum(x: np.ndarray, y: np.ndarray) -> float:
    """Return Σᵢⱼ |xᵢ − yⱼ| by one sort."""
    y = np.sort(y)
    below = np.concatenate([[0.0], np.cumsum(y)])
    rank = np.searchsorted(y, x)
    return float(((2 * rank - len(y)) * x - 2 * below[rank] + below[-1]).sum())


def energy_sums(X: np.ndarray, Y: np.ndarray, exponent: float = 1.0) -> tuple[float, float, float]:
    """Return the sums of ‖·‖^exponent over the pairs within X, within Y and between them."""
    if X.shape[1] == 1 and exponent == 1.0:
        centre = X.mean()
        x, y = X[:, 0] - centre, Y[:, 0] - centre
        return absolute_self_sum(x), absolute_self_sum(y), absolute_cross_sum(x, y)
    minus = PairKernel("distance", exponent)  # k = -|x - y|^e: energy is MMD² of this kernel
    # the kernel is minus a distance
    return -self_sum(minus, X), -self_sum(minus, Y), -cross_sum(minus, X, Y)


def energy_statistic(
    X: np.ndarray, Y: np.ndarray, exponent: float = 1.0, *, unbiased: bool = False
) -> float:
    """Return 2E‖x − y‖ᵉ − E‖x − x'‖ᵉ − E‖y − y'‖ᵉ over the sample; O(n log n) for a column.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        First sample.
    Y : ndarray of shape (m_samples, n_features)
        Second sample.
    exponent : float, default=1.0
        Exponent e of the distances, 0 < e ≤ 2.
    unbiased : bool, default=False
        Leave the distances of points from themselves out of the means.

    Returns
    -------
    float
        The energy distance.
    """
    n, m = len(X), len(Y)
    within_x, within_y, between = energy_sums(X, Y, exponent)
    pairs_x, pairs_y = (n * (n - 1), m * (m - 1)) if unbiased else (n * n, m * m)
    # 2E|x-y| - E|x-x'| - E|y-y'|
    return 2.0 * between / (n * m) - within_x / pairs_x - within_y / pairs_y


def expected_kernel(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return the mean of k(xᵢ, yⱼ): the inner product of the mean embeddings."""
    return cross_sum(kernel, X, Y) / (len(X) * len(Y))


def pooled_kernel(kernel: Any, bandwidth: float | str, X: np.ndarray, Y: np.ndarray) -> PairKernel:
    """Return the kernel, with the median distance of both samples together where asked for."""
    if not isinstance(bandwidth, str) or kernel in ("linear", "distance") or callable(kernel):
        return make_kernel(kernel, bandwidth, X)
    half = MEDIAN_POINTS // 2  # as many of either, however unequal the samples are
    return make_kernel(kernel, bandwidth, np.vstack([thinned(X, half), thinned(Y, half)]))


def thinned(X: np.ndarray, n: int) -> np.ndarray:
    """Return at most n rows, evenly spread."""
    return X if len(X) <= n else X[np.linspace(0, len(X) - 1, n).astype(int)]


class MMD(DivergenceEstimator):
    """Squared maximum mean discrepancy of two samples, unbiased.

    Zero for equal distributions and, with a characteristic kernel (all but the linear),
    only for these. All pairs are used, in blocks, without the kernel matrix in memory; the
    estimate of smallest variance. May be negative near zero. `EnergyDistance` needs no
    bandwidth.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of both samples.

    References
    ----------
    .. [1] Gretton, Borgwardt, Rasch, Schölkopf and Smola (2012). A kernel two-sample test. JMLR
       13:723-773, equation (3).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import MMD
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(1000, 1)), rng.normal(1, 1, size=(1000, 1))  # 0.177
    >>> print(f"{MMD(bandwidth=1.0).estimate(X, Y):.3f}")
    0.193
    """

    measure, method = "mmd", "u"
    estimates = "‖μ(p) - μ(q)‖², mean embeddings of a kernel"
    cost = "O((N + M)²)"
    assumptions = "i.i.d.; a characteristic kernel for zero to mean equality"
    preferred = True
    _parameter_constraints: ClassVar[dict[str, Any]] = KERNEL_CONSTRAINTS

    def __init__(self, kernel="gaussian", bandwidth="median"):
        self.kernel = kernel
        self.bandwidth = bandwidth

    def _estimate(self, X, Y):
        kernel = pooled_kernel(self.kernel, self.bandwidth, X, Y)
        return mmd_u_statistic(kernel, X, Y)


class BiasedMMD(DivergenceEstimator):
    """Squared maximum mean discrepancy of two samples as a V-statistic: never negative.

    The distance between the two empirical embeddings itself, and so a metric between samples;
    biased up by O(1/N). For a test or an average over blocks use `MMD`.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of both samples.

    References
    ----------
    .. [1] Gretton, Borgwardt, Rasch, Schölkopf and Smola (2012). A kernel two-sample test. JMLR
       13:723-773, equation (5).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import BiasedMMD
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(1000, 1)), rng.normal(1, 1, size=(1000, 1))  # 0.177
    >>> print(f"{BiasedMMD(bandwidth=1.0).estimate(X, Y):.3f}")
    0.194
    """

    measure, method = "mmd", "v"
    estimates = "‖μ(p) - μ(q)‖², mean embeddings of a kernel"
    cost = "O((N + M)²)"
    assumptions = "i.i.d.; a characteristic kernel for zero to mean equality"
    _parameter_constraints: ClassVar[dict[str, Any]] = KERNEL_CONSTRAINTS

    def __init__(self, kernel="gaussian", bandwidth="median"):
        self.kernel = kernel
        self.bandwidth = bandwidth

    def _estimate(self, X, Y):
        kernel = pooled_kernel(self.kernel, self.bandwidth, X, Y)
        return mmd_v_statistic(kernel, X, Y)


class OnlineMMD(DivergenceEstimator):
    """Squared maximum mean discrepancy from consecutive pairs: linear time, unbiased.

    Every point is used once, so it suits streams; its variance is that of N/2 terms, far above
    that of `MMD` on the same sample. The order of the rows matters: shuffle sorted samples.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of both samples.

    References
    ----------
    .. [1] Gretton, Borgwardt, Rasch, Schölkopf and Smola (2012). A kernel two-sample test. JMLR
       13:723-773, Lemma 14.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import OnlineMMD
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(1000, 1)), rng.normal(1, 1, size=(1000, 1))  # 0.177
    >>> print(f"{OnlineMMD(bandwidth=1.0).estimate(X, Y):.3f}")
    0.191
    """

    measure, method = "mmd", "online"
    estimates = "‖μ(p) - μ(q)‖², mean embeddings of a kernel"
    cost = "O(N + M)"
    assumptions = "i.i.d., rows in random order; what the longer sample has more is unused"
    _parameter_constraints: ClassVar[dict[str, Any]] = KERNEL_CONSTRAINTS

    def __init__(self, kernel="gaussian", bandwidth="median"):
        self.kernel = kernel
        self.bandwidth = bandwidth

    def _estimate(self, X, Y):
        kernel = pooled_kernel(self.kernel, self.bandwidth, X, Y)
        return mmd_online(kernel, X, Y)


class BlockMMD(DivergenceEstimator):
    """Squared maximum mean discrepancy averaged over blocks: between `OnlineMMD` and `MMD`.

    Unbiased, and asymptotically normal also for equal distributions. The order of the rows
    matters: shuffle sorted samples.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of both samples.
    block_size : int, default=None
        Points of each sample in a block; None for √min(N, M).

    References
    ----------
    .. [1] Zaremba, Gretton and Blaschko (2013). B-test: a non-parametric, low variance kernel
       two-sample test. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import BlockMMD
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(1000, 1)), rng.normal(1, 1, size=(1000, 1))  # 0.177
    >>> print(f"{BlockMMD(bandwidth=1.0).estimate(X, Y):.3f}")
    0.190
    """

    measure, method = "mmd", "block"
    estimates = "‖μ(p) - μ(q)‖², mean embeddings of a kernel"
    cost = "O(N B), B the block size"
    assumptions = "i.i.d., rows in random order; what the longer sample has more is unused"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "block_size": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(self, kernel="gaussian", bandwidth="median", block_size=None):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.block_size = block_size

    def _estimate(self, X, Y):
        kernel = pooled_kernel(self.kernel, self.bandwidth, X, Y)
        size = self.block_size or max(2, int(np.sqrt(min(len(X), len(Y)))))
        if size > min(len(X), len(Y)):
            raise ValueError(
                f"block_size={size} is more than the smaller sample has: {min(len(X), len(Y))}."
            )
        return mmd_block(kernel, X, Y, size)


class LowRankMMD(DivergenceEstimator):
    """Squared maximum mean discrepancy by an incomplete Cholesky factor.

    The V-statistic (`BiasedMMD`) up to the tolerance, in linear time for smooth kernels. Ranks
    grow with the dimension and 1/bandwidth; then the exact statistics are faster.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix. It
        must be positive definite.
    bandwidth : float or "median", default="median"
        The s of the kernel: a number, or the median distance of two points of both samples.
    tol : float, default=1e-6
        The share of the trace of a kernel matrix that its low-rank factor may miss.
    max_rank : int, default=None
        The largest rank of a factor; None for no limit.

    References
    ----------
    .. [1] Gretton, Borgwardt, Rasch, Schölkopf and Smola (2012). A kernel two-sample test. JMLR
       13:723-773, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import LowRankMMD
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(1000, 1)), rng.normal(1, 1, size=(1000, 1))  # 0.177
    >>> print(f"{LowRankMMD(bandwidth=1.0).estimate(X, Y):.3f}")
    0.194
    """

    measure, method = "mmd", "cholesky"
    estimates = "‖μ(p) - μ(q)‖², mean embeddings of a kernel"
    cost = "O((N + M) r²), r the rank of the factor"
    assumptions = "i.i.d.; a smooth positive definite kernel"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        **LOW_RANK_CONSTRAINTS,
    }

    def __init__(self, kernel="gaussian", bandwidth="median", tol=1e-6, max_rank=None):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.tol = tol
        self.max_rank = max_rank

    def _estimate(self, X, Y):
        kernel = pooled_kernel(self.kernel, self.bandwidth, X, Y)
        return mmd_low_rank(kernel, X, Y, self.tol, self.max_rank)


class EnergyDistance(DivergenceEstimator):
    """Energy distance 2E‖x − y‖ − E‖x − x'‖ − E‖y − y'‖ of two samples.

    Zero exactly for equal distributions (with finite means), and no bandwidth to choose: the
    squared MMD of the kernel −‖x − y‖. A column takes O(N log N). It is dominated by large
    scales; MMD with a small bandwidth sees fine differences better.

    Parameters
    ----------
    exponent : float, default=1.0
        The power of the distances, above 0 and below 2.
    unbiased : bool, default=False
        Leave the distances of points from themselves out; it may then be negative.

    References
    ----------
    .. [1] Székely and Rizzo (2013). Energy statistics: a class of statistics based on distances.
       Journal of Statistical Planning and Inference 143:1249-1272.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import EnergyDistance
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2000, 1)), rng.normal(1, 1, size=(2000, 1))  # 0.542
    >>> print(f"{EnergyDistance().estimate(X, Y):.2f}")
    0.56
    """

    measure, method = "energy", "distances"
    estimates = "2E‖x - y‖ - E‖x - x'‖ - E‖y - y'‖"
    cost = "O((N + M) log(N + M)) for a column and exponent 1, else O((N + M)²)"
    assumptions = "i.i.d.; finite moments of the order of the exponent"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "exponent": [Interval(Real, 0, 2, closed="neither")],
        "unbiased": ["boolean"],
    }

    def __init__(self, exponent=1.0, unbiased=False):
        self.exponent = exponent
        self.unbiased = unbiased

    def _estimate(self, X, Y):
        return energy_statistic(X, Y, self.exponent, unbiased=self.unbiased)


class ExpectedKernel(DistributionKernel):
    """Expected kernel E k(x, y) of two samples: the inner product of their mean embeddings.

    Gram matrices of it are positive semidefinite exactly, for any samples. The bandwidth is
    one number for all samples; choose it once, for instance as the median distance of all points.

    Parameters
    ----------
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "linear", "distance"} or \
            callable, default="gaussian"
        exp(−r²/2s²), exp(−r/s), (1 + r²/s²)^(−1/2), x'y or −r for points at distance r; or a
        function from arrays of shapes (n, d) and (m, d) to their kernel matrix. The distance
        is not positive definite.
    bandwidth : float, default=1.0
        The s of the kernel.

    References
    ----------
    .. [1] Gärtner, Flach, Kowalczyk and Smola (2002). Multi-instance kernels. ICML.
    .. [2] Muandet, Fukumizu, Dinuzzo and Schölkopf (2012). Learning from distributions via
       support measure machines. NIPS 25.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import ExpectedKernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(1000, 1)), rng.normal(1, 1, size=(1000, 1))  # 0.489
    >>> print(f"{ExpectedKernel().estimate(X, Y):.2f}")
    0.48
    """

    measure, method = "expected", "pairs"
    estimates = "E k(x, y)"
    cost = "O(N M)"
    assumptions = "i.i.d."
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": KERNEL_CONSTRAINTS["kernel"],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, kernel="gaussian", bandwidth=1.0):
        self.kernel = kernel
        self.bandwidth = bandwidth

    def _estimate(self, X, Y):
        return expected_kernel(make_kernel(self.kernel, self.bandwidth, X), X, Y)
