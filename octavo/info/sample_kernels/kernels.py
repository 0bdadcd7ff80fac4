"""Kernels between distributions from nearest neighbours: products of powers of densities.

A Gram matrix of them (`distribution_gram`) lets support vector machines, ridge regression or kernel
PCA work on distributions, each known by a sample.

References: Jebara, Kondor and Howard (2004), "Probability product kernels", JMLR 5; Póczos, Xiong,
Sutherland and Schneider (2012), "Nonparametric kernel estimators for image classification", CVPR.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.samples import same_sample
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.probability.knn_information import log_enclosed, log_power_mean
from octavo.info.entropies.knn import KNN_CONSTRAINTS
from octavo.info.estimators import DistributionKernel

__all__ = ["BhattacharyyaKernel", "ProbabilityProductKernel"]


def probability_product(
    X: Floats, Y: Floats, k: int, rho: float, jitter: float, n_jobs: int | None
) -> float:
    """Return the mean of the estimates of ∫(pq)^ρ that start from X and from Y."""
    search: dict[str, Any] = {"jitter": jitter, "n_jobs": n_jobs}
    name = f"rho={rho:g}"
    log_u = log_enclosed(X, k, **search)
    if same_sample(X, Y):
        return math.exp(log_power_mean(log_u, k, 2.0 * rho - 1.0, name=name))
    total = 0.0
    for one, other, own in ((X, Y, log_u), (Y, X, log_enclosed(Y, k, **search))):
        log_v = log_enclosed(one, k, Y=other, **search)
        total += math.exp(log_power_mean(own, k, rho - 1.0, log_v=log_v, b=rho, name=name))
    return 0.5 * total


class ProbabilityProductKernel(DistributionKernel):
    """Probability product kernel ∫ (p q)^ρ from the k-th neighbours.

    The mean of the estimates from both sides. The kernel is positive semi-definite; Gram matrices
    of its estimates need not be quite. For ρ other than 1/2 it depends on the units of the data.

    Parameters
    ----------
    rho : float, default=1.0
        The power; 1 gives ∫pq, 1/2 the Bhattacharyya kernel.
    n_neighbors : int, default=5
        The neighbour; above ρ, and above 2ρ - 1 on the diagonal.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Jebara, Kondor and Howard (2004). Probability product kernels. JMLR 5.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import ProbabilityProductKernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 0.220
    >>> print(f"{ProbabilityProductKernel().estimate(X, Y):.2f}")
    0.21
    """

    measure, method = "probability_product", "knn"
    estimates = "∫ (p q)^ρ"
    cost = "O((N + M) log(N + M))"
    assumptions = "densities with this integral finite, k > ρ; no ties"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KNN_CONSTRAINTS,
        "rho": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, rho=1.0, n_neighbors=5, jitter=0.0, n_jobs=None):
        self.rho = rho
        self.n_neighbors = n_neighbors
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return probability_product(X, Y, self.n_neighbors, self.rho, self.jitter, self.n_jobs)


class BhattacharyyaKernel(DistributionKernel):
    """Bhattacharyya kernel ∫ √(p q) from the k-th neighbours.

    1 for equal distributions, 0 for those that do not overlap, whatever the units. The mean of the
    estimates from both sides, and exactly 1 for a sample and itself.

    Parameters
    ----------
    n_neighbors : int, default=5
        The neighbour.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Jebara, Kondor and Howard (2004). Probability product kernels. JMLR 5.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import BhattacharyyaKernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(2, 1, size=(5000, 1))  # exp(-1/2) = 0.607
    >>> print(f"{BhattacharyyaKernel().estimate(X, Y):.2f}")
    0.60
    """

    measure, method = "bhattacharyya", "knn"
    estimates = "∫ √(p q)"
    cost = "O((N + M) log(N + M))"
    assumptions = "densities; no ties"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = KNN_CONSTRAINTS

    def __init__(self, n_neighbors=5, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return probability_product(X, Y, self.n_neighbors, 0.5, self.jitter, self.n_jobs)
