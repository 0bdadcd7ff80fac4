"""Divergences and cross-entropy of two distributions, from nearest neighbours in both samples.

Each point of X is asked for its k-th neighbour in its own sample and in the other one. The ratio of
the two distances tells the ratio of the densities there. Means of its logarithm give the divergence
of Kullback and Leibler, means of powers of both densities the L2 and Bregman divergences; those of
order α are in `alpha`.

References: Wang, Kulkarni and Verdú (2009), "Divergence estimation for multidimensional densities
via k-nearest-neighbor distances", IEEE Transactions on Information Theory 55; Póczos and Schneider
(2011), "On the estimation of α-divergences", AISTATS; Leonenko, Pronzato and Savani (2008), "A
class of Rényi information estimators for multidimensional densities", Annals of Statistics 36.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.probability.knn_information import (
    log_ball_volume,
    log_enclosed,
    log_power_mean,
    n_workers,
)
from octavo.engine.probability.neighbours import count_within
from octavo.info.entropies.knn import KNN_CONSTRAINTS, check_order
from octavo.info.estimators import CrossEntropyEstimator, DivergenceEstimator

__all__ = [
    "AdaptiveKLDivergence",
    "BregmanDivergence",
    "GrowingKnnKLDivergence",
    "KnnCrossEntropy",
    "KnnKLDivergence",
    "KnnL2Divergence",
    "SymmetricBregmanDivergence",
]

CLIPPED: dict[str, Any] = {**KNN_CONSTRAINTS, "clip": ["boolean"]}


def kl_from_enclosed(log_u: Floats, log_v: Floats, k: int, t: int) -> float:
    """Return mean log ν_t^d m / (ρ_k^d n) + ψ(k) - ψ(t), from `log_enclosed` of X in X and in Y."""
    return float((log_v - log_u).mean() + digamma(k) - digamma(t))


def cross_entropy_from_enclosed(log_v: Floats, k: int) -> float:
    """Return log V + log M - ψ(k) + (d/N) Σ log ν_k."""
    return float(log_v.mean() - digamma(k))


def l2_squared(log_u: Floats, log_v: Floats, k: int) -> float:
    """Return ∫(p - q)² as ∫p dp - 2 ∫q dp + ∫(q²/p) dp."""
    own = log_power_mean(log_u, k, 1.0, name="the L2 distance")
    mixed = log_power_mean(log_u, k, 0.0, log_v=log_v, b=1.0, name="the L2 distance")
    other = log_power_mean(log_u, k, -1.0, log_v=log_v, b=2.0, name="the L2 distance")
    return math.exp(own) - 2.0 * math.exp(mixed) + math.exp(other)


class KnnDivergence(DivergenceEstimator):
    """Both searches of a pair, and clipping at zero."""

    cost = "O((N + M) log(N + M))"
    assumptions = "densities, q > 0 wherever p is; no ties within X or between X and Y"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = CLIPPED
    n_neighbors: int
    jitter: float
    n_jobs: int | None
    clip: bool

    def _enclosed(self, X, Y, k=None, t=None):
        k = self.n_neighbors if k is None else k
        search: dict[str, Any] = {"jitter": self.jitter, "n_jobs": self.n_jobs}
        return log_enclosed(X, k, **search), log_enclosed(X, t or k, Y=Y, **search)

    def _clipped(self, value):
        return max(0.0, value) if self.clip else value


class KnnKLDivergence(KnnDivergence):
    """Kullback-Leibler divergence from the k-th neighbours in both samples.

    Raw estimates can be negative where the divergence is small. For densities that differ much in
    scale, or share little support, the bias is large: more samples are needed where p lives and q
    is thin. `AdaptiveKLDivergence` has less bias there.

    Parameters
    ----------
    n_neighbors : int, default=3
        The neighbour, in both samples.
    clip : bool, default=False
        Whether negative estimates become 0.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Wang, Kulkarni and Verdú (2009). Divergence estimation for multidimensional densities
       via k-nearest-neighbor distances. IEEE Transactions on Information Theory 55.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KnnKLDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 1/2
    >>> print(f"{KnnKLDivergence(n_neighbors=5).estimate(X, Y):.2f}")
    0.51
    """

    measure, method = "kl", "knn"
    estimates = "KL = ∫ p log(p/q)"
    preferred = True

    def __init__(self, n_neighbors=3, clip=False, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        log_u, log_v = self._enclosed(X, Y)
        return self._clipped(kl_from_enclosed(log_u, log_v, self.n_neighbors, self.n_neighbors))


class GrowingKnnKLDivergence(KnnDivergence):
    """Kullback-Leibler divergence with neighbours √N in X and √M in Y.

    The neighbour grows with the sample, as the proof of strong consistency asks: less variance and
    more bias than a fixed k. For samples of very different sizes the two neighbours differ, which
    balances their radii.

    Parameters
    ----------
    clip : bool, default=False
        Whether negative estimates become 0.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Wang, Kulkarni and Verdú (2009). Divergence estimation for multidimensional densities
       via k-nearest-neighbor distances. IEEE Transactions on Information Theory 55.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import GrowingKnnKLDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 1/2
    >>> print(f"{GrowingKnnKLDivergence().estimate(X, Y):.2f}")
    0.49
    """

    measure, method = "kl", "knn_growing"
    estimates = "KL = ∫ p log(p/q)"
    cost = "O(√N (N + M) log(N + M))"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: CLIPPED[name] for name in ("clip", "jitter", "n_jobs")
    }

    def __init__(self, clip=False, jitter=0.0, n_jobs=None):
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        k, t = math.isqrt(X.shape[0]), math.isqrt(Y.shape[0])
        log_u, log_v = self._enclosed(X, Y, k, t)
        return self._clipped(kl_from_enclosed(log_u, log_v, k, t))


def adaptive_kl(
    X: Floats, Y: Floats, log_u: Floats, log_v: Floats, k: int, n_jobs: int | None
) -> float:
    """Return the divergence from the numbers of neighbours within one radius for both samples.

    Parameters
    ----------
    X, Y : ndarray of shape (N, d) and (M, d)
        The samples.
    log_u, log_v : ndarray of shape (N,)
        `log_enclosed` of X in itself and in Y.
    n_neighbors : int
        The neighbour that these were taken with.
    n_jobs : int or None
        Threads.

    Returns
    -------
    value : float
        mean ψ(k_i) - ψ(t_i) + log M/(N-1). The larger of the two distances is the radius. The
        sample that it comes from counts k; the other counts its points within it, and one more:
        ψ(c + 1) of a Poisson number c has nearly the mean log E c.
    """
    n, m, d = X.shape[0] - 1, Y.shape[0], X.shape[1]
    own_volume, other_volume = log_u - math.log(n), log_v - math.log(m)
    from_own = own_volume >= other_volume
    radii = np.exp((np.maximum(own_volume, other_volume) - log_ball_volume(d)) / d)
    workers = n_workers(n_jobs)
    own, other = np.full(X.shape[0], k), np.full(X.shape[0], k)
    for counts, points, rows, one_more in ((own, X, ~from_own, 0), (other, Y, from_own, 1)):
        within = count_within(X[rows], radii[rows], Y=points, workers=workers)
        counts[rows] = within + one_more  # in its own sample x itself is the one more
    return float((digamma(own) - digamma(other)).mean() + math.log(m / n))


class AdaptiveKLDivergence(KnnDivergence):
    """Kullback-Leibler divergence with the same radius in both samples, point by point.

    Around each x the larger of the two distances to the k-th neighbours is used for both
    densities, with as many neighbours as lie within it: their biases cancel where p and q have
    similar slopes. Wang et al. take the distance to the last of these neighbours; the ball itself
    with one neighbour more, as here, has the same mean. Takes more time than `KnnKLDivergence`,
    most where p and q lie far apart.

    Parameters
    ----------
    n_neighbors : int, default=3
        The neighbour that both balls hold at least.
    clip : bool, default=False
        Whether negative estimates become 0.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Wang, Kulkarni and Verdú (2009). Divergence estimation for multidimensional densities
       via k-nearest-neighbor distances. IEEE Transactions on Information Theory 55.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import AdaptiveKLDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 1/2
    >>> print(f"{AdaptiveKLDivergence(n_neighbors=5).estimate(X, Y):.2f}")
    0.51
    """

    measure, method = "kl", "knn_adaptive"
    estimates = "KL = ∫ p log(p/q)"
    cost = "O((N + M) log(N + M) + points within)"

    def __init__(self, n_neighbors=3, clip=False, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        log_u, log_v = self._enclosed(X, Y)
        return self._clipped(adaptive_kl(X, Y, log_u, log_v, self.n_neighbors, self.n_jobs))


class KnnL2Divergence(KnnDivergence):
    """L2 distance of two densities, or its square, from the k-th neighbours.

    Depends on the units of the data, unlike the other divergences here: scale them first.

    Parameters
    ----------
    n_neighbors : int, default=5
        The neighbour; 3 or more, 5 or more for a finite variance.
    squared : bool, default=False
        Whether to return ∫(p-q)² instead of its root.
    clip : bool, default=True
        Whether a negative square becomes 0; it must be for a root. With squared=True and
        clip=False the raw estimate is returned.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Póczos and Schneider (2011). On the estimation of α-divergences. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KnnL2Divergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(2, 1, size=(5000, 1))  # 0.597
    >>> print(f"{KnnL2Divergence().estimate(X, Y):.1f}")
    0.6
    """

    measure, method = "l2", "knn"
    estimates = "L2 = √∫(p - q)²"
    assumptions = "square integrable densities, q²/p integrable; k >= 3; no ties"
    _parameter_constraints: ClassVar[dict[str, Any]] = {**CLIPPED, "squared": ["boolean"]}

    def __init__(self, n_neighbors=5, squared=False, clip=True, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.squared = squared
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        if not (self.squared or self.clip):
            raise ValueError("clip=False needs squared=True: a negative square has no root.")
        log_u, log_v = self._enclosed(X, Y)
        square = self._clipped(l2_squared(log_u, log_v, self.n_neighbors))
        return square if self.squared else math.sqrt(square)


def bregman(X: Floats, Y: Floats, k: int, alpha: float, **search: Any) -> float:
    """Return the estimate of ∫ q^α + p^α/(α-1) - α/(α-1) p q^(α-1)."""
    check_order(alpha, "alpha", "the Kullback-Leibler divergence")
    a, name = alpha - 1.0, f"alpha={alpha:g}"
    log_u = log_enclosed(X, k, **search)
    own = math.exp(log_power_mean(log_u, k, a, name=name))
    other = math.exp(log_power_mean(log_enclosed(Y, k, **search), k, a, name=name))
    log_v = log_enclosed(X, k, Y=Y, **search)
    mixed = math.exp(log_power_mean(log_u, k, 0.0, log_v=log_v, b=a, name=name))
    return other + own / a - alpha / a * mixed


class BregmanDivergence(KnnDivergence):
    """Bregman divergence of order α from the k-th neighbours; not symmetric.

    With α = 2 it is ∫(p-q)². It depends on the units of the data: scale them first.

    Parameters
    ----------
    alpha : float, default=2.0
        The order, positive and not 1.
    n_neighbors : int, default=5
        The neighbour; above α - 1.
    clip : bool, default=False
        Whether negative estimates become 0.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Leonenko, Pronzato and Savani (2008). A class of Rényi information estimators for
       multidimensional densities. Annals of Statistics 36.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import BregmanDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(2, 1, size=(5000, 1))  # 0.357
    >>> print(f"{BregmanDivergence().estimate(X, Y):.2f}")
    0.36
    """

    measure, method = "bregman", "knn"
    estimates = "∫ q^α + p^α/(α-1) - α/(α-1) p q^(α-1)"
    assumptions = "densities with these integrals finite, k > α - 1; no ties"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CLIPPED,
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, alpha=2.0, n_neighbors=5, clip=False, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        search = {"jitter": self.jitter, "n_jobs": self.n_jobs}
        return self._clipped(bregman(X, Y, self.n_neighbors, self.alpha, **search))


class SymmetricBregmanDivergence(BregmanDivergence):
    """Symmetric Bregman divergence of order α: the sum of both directions.

    With α = 2 it is 2∫(p-q)².

    Parameters
    ----------
    alpha : float, default=2.0
        The order, positive and not 1.
    n_neighbors : int, default=5
        The neighbour; above α - 1.
    clip : bool, default=False
        Whether negative estimates become 0.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Leonenko, Pronzato and Savani (2008). A class of Rényi information estimators for
       multidimensional densities. Annals of Statistics 36.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import SymmetricBregmanDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(2, 1, size=(5000, 1))  # 0.713
    >>> print(f"{SymmetricBregmanDivergence().estimate(X, Y):.1f}")
    0.7
    """

    measure, method = "bregman_symmetric", "knn"
    estimates = "α/(α-1) ∫ (p - q)(p^(α-1) - q^(α-1))"

    def _estimate(self, X, Y):
        search = {"jitter": self.jitter, "n_jobs": self.n_jobs}
        forth = bregman(X, Y, self.n_neighbors, self.alpha, **search)
        return self._clipped(forth + bregman(Y, X, self.n_neighbors, self.alpha, **search))


class KnnCrossEntropy(CrossEntropyEstimator):
    """Cross-entropy -∫ p log q from the distances of X to the k-th neighbours in Y.

    Equals Shannon's entropy of p plus the Kullback-Leibler divergence. Where q is thin under p,
    few points of Y carry the estimate.

    Parameters
    ----------
    n_neighbors : int, default=3
        The neighbour.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Leonenko, Pronzato and Savani (2008). A class of Rényi information estimators for
       multidimensional densities. Annals of Statistics 36.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KnnCrossEntropy
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 1.919
    >>> print(f"{KnnCrossEntropy(n_neighbors=5).estimate(X, Y):.2f}")
    1.92
    """

    measure, method = "shannon", "knn"
    estimates = "-∫ p log q"
    cost = "O((N + M) log M)"
    assumptions = "a density q > 0 wherever p is; no point of X in Y"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = KNN_CONSTRAINTS

    def __init__(self, n_neighbors=3, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        log_v = log_enclosed(X, self.n_neighbors, Y=Y, jitter=self.jitter, n_jobs=self.n_jobs)
        return cross_entropy_from_enclosed(log_v, self.n_neighbors)
