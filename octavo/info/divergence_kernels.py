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

import numpy as np

from octavo.engine.incomplete_cholesky import incomplete_cholesky
from octavo.engine.pair_sums import (
    PairKernel,
    cross_sum,
    kernel_diagonal,
    kernel_rows,
    self_sum,
)


def mmd_v_statistic(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return MMD² with every pair counted, a point with itself too; never negative (Eq. 5)."""
    n, m = len(X), len(Y)
    same = self_sum(kernel, X) / n**2 + self_sum(kernel, Y) / m**2
    return same - 2.0 * cross_sum(kernel, X, Y) / (n * m)


def mmd_u_statistic(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return the unbiased MMD² (Eq. 3), which may be negative."""
    n, m = len(X), len(Y)
    within_x = (self_sum(kernel, X) - kernel_diagonal(kernel, X).sum()) / (n * (n - 1))
    within_y = (self_sum(kernel, Y) - kernel_diagonal(kernel, Y).sum()) / (m * (m - 1))
    return float(within_x + within_y - 2.0 * cross_sum(kernel, X, Y) / (n * m))


def mmd_online(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return the unbiased MMD² of consecutive pairs (Lemma 14): one pass, no memory."""
    pairs = min(len(X), len(Y)) // 2
    x1, x2 = X[: 2 * pairs : 2], X[1 : 2 * pairs : 2]
    y1, y2 = Y[: 2 * pairs : 2], Y[1 : 2 * pairs : 2]
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
    difference = factor[: len(X)].mean(axis=0) - factor[len(X) :].mean(axis=0)
    return float(difference @ difference)


def absolute_self_sum(x: np.ndarray) -> float:
    """Return Σᵢⱼ |xᵢ − xⱼ| by one sort."""
    n = len(x)
    return float(2.0 * ((2 * np.arange(n) - n + 1) @ np.sort(x)))


def absolute_cross_sum(x: np.ndarray, y: np.ndarray) -> float:
    """Return Σᵢⱼ |xᵢ − yⱼ| by one sort."""
    y = np.sort(y)
    below = np.concatenate([[0.0], np.cumsum(y)])
    rank = np.searchsorted(y, x)
    return float(((2 * rank - len(y)) * x - 2 * below[rank] + below[-1]).sum())


def energy_sums(
    X: np.ndarray, Y: np.ndarray, exponent: float = 1.0
) -> tuple[float, float, float]:
    """Return the sums of ‖·‖^exponent over the pairs within X, within Y and between them."""
    if X.shape[1] == 1 and exponent == 1.0:
        centre = X.mean()
        x, y = X[:, 0] - centre, Y[:, 0] - centre
        return absolute_self_sum(x), absolute_self_sum(y), absolute_cross_sum(x, y)
    minus = PairKernel("distance", exponent)
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
    return 2.0 * between / (n * m) - within_x / pairs_x - within_y / pairs_y


def expected_kernel(kernel: PairKernel, X: np.ndarray, Y: np.ndarray) -> float:
    """Return the mean of k(xᵢ, yⱼ): the inner product of the mean embeddings."""
    return cross_sum(kernel, X, Y) / (len(X) * len(Y))
