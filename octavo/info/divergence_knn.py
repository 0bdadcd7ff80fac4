"""Divergences and cross-entropy of two distributions, from nearest neighbours in both samples.

Each point of X is asked for its k-th neighbour in its own sample and in the other one. The ratio of
the two distances tells the ratio of the densities there; means of powers and logarithms of it give
the divergences of Kullback and Leibler, Rényi, Tsallis, Hellinger, Bhattacharyya, Pearson,
Sharma-Mittal and Bregman, and the L2 distance.

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
from sklearn.utils._param_validation import Interval

from octavo.engine.neighbours import count_within
from octavo.info.density_powers import log_ball_volume, log_enclosed, log_power_mean, n_workers
from octavo.info.entropy_knn import KNN_CONSTRAINTS, check_order
from octavo.info.estimators import CrossEntropyEstimator, DivergenceEstimator
from octavo.info.samples import Floats

__all__ = [
    "AdaptiveKLDivergence",
    "BregmanDivergence",
    "Chi2Divergence",
    "FDivergence",
    "GrowingKnnKLDivergence",
    "KnnBhattacharyyaDistance",
    "KnnCrossEntropy",
    "KnnHellingerDistance",
    "KnnKLDivergence",
    "KnnL2Divergence",
    "KnnRenyiDivergence",
    "KnnSharmaMittalDivergence",
    "KnnTsallisDivergence",
    "SymmetricBregmanDivergence",
]

CLIPPED: dict[str, Any] = {**KNN_CONSTRAINTS, "clip": ["boolean"]}
ORDER = [Interval(Real, None, None, closed="neither")]


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


class _KnnDivergence(DivergenceEstimator):
    """Both searches of a pair, and clipping at zero."""

    cost = "O((N + M) log(N + M))"
    assumptions = "densities, q > 0 wherever p is; no ties within X or between X and Y"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = CLIPPED
    k: int
    jitter: float
    n_jobs: int | None
    clip: bool

    def _enclosed(self, X, Y, k=None, t=None):
        k = self.k if k is None else k
        settings = {"jitter": self.jitter, "n_jobs": self.n_jobs}
        return log_enclosed(X, k, **settings), log_enclosed(X, t or k, Y=Y, **settings)

    def _clipped(self, value):
        return max(0.0, value) if self.clip else value


class KnnKLDivergence(_KnnDivergence):
    """Kullback-Leibler divergence from the k-th neighbours in both samples.

    Raw estimates can be negative where the divergence is small. For densities that differ much in
    scale, or share little support, the bias is large: more samples are needed where p lives and q
    is thin. `AdaptiveKLDivergence` has less bias there.

    Parameters
    ----------
    k : int, default=3
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
    >>> print(f"{KnnKLDivergence(k=5).estimate(X, Y):.2f}")
    0.51
    """

    measure, method = "kl", "knn"
    estimates = "KL = ∫ p log(p/q)"
    preferred = True

    def __init__(self, k=3, clip=False, jitter=0.0, n_jobs=None):
        self.k = k
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return self._clipped(kl_from_enclosed(*self._enclosed(X, Y), self.k, self.k))


class GrowingKnnKLDivergence(_KnnDivergence):
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
        return self._clipped(kl_from_enclosed(*self._enclosed(X, Y, k, t), k, t))


def adaptive_kl(X: Floats, Y: Floats, log_u: Floats, log_v: Floats, n_jobs: int | None) -> float:
    """Return the divergence from the numbers of neighbours within one radius for both samples.

    Parameters
    ----------
    X, Y : ndarray of shape (N, d) and (M, d)
        The samples.
    log_u, log_v : ndarray of shape (N,)
        `log_enclosed` of X in itself and in Y.
    n_jobs : int or None
        Threads.

    Returns
    -------
    value : float
        mean ψ(k_i) - ψ(t_i) + log M/(N-1), where k_i and t_i points of X and of Y lie within
        the larger of the two distances from x_i.
    """
    n, m, d = X.shape[0] - 1, Y.shape[0], X.shape[1]
    volume = log_ball_volume(d)
    radii = np.maximum(log_u - math.log(n), log_v - math.log(m))
    # The logarithm and its inverse round: the neighbour that sets the radius must stay inside.
    radii = np.exp((radii - volume) / d) * (1.0 + 1e-12)
    own = count_within(X, radii, workers=n_workers(n_jobs))
    other = count_within(X, radii, Y=Y, workers=n_workers(n_jobs))
    return float((digamma(own) - digamma(other)).mean() + math.log(m / n))


class AdaptiveKLDivergence(_KnnDivergence):
    """Kullback-Leibler divergence with the same radius in both samples, point by point.

    Around each x the larger of the two distances to the k-th neighbours is used for both
    densities, with as many neighbours as lie within it: their biases cancel where p and q have
    similar slopes. Takes more time than `KnnKLDivergence`, most where p and q lie far apart.

    Parameters
    ----------
    k : int, default=3
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
    >>> print(f"{AdaptiveKLDivergence(k=5).estimate(X, Y):.2f}")
    0.49
    """

    measure, method = "kl", "knn_adaptive"
    estimates = "KL = ∫ p log(p/q)"
    cost = "O((N + M) log(N + M) + points within)"

    def __init__(self, k=3, clip=False, jitter=0.0, n_jobs=None):
        self.k = k
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return self._clipped(adaptive_kl(X, Y, *self._enclosed(X, Y), self.n_jobs))


class KnnL2Divergence(_KnnDivergence):
    """L2 distance of two densities, or its square, from the k-th neighbours.

    Depends on the units of the data, unlike the other divergences here: scale them first.

    Parameters
    ----------
    k : int, default=5
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

    def __init__(self, k=5, squared=False, clip=True, jitter=0.0, n_jobs=None):
        self.k = k
        self.squared = squared
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        if not (self.squared or self.clip):
            raise ValueError("clip=False needs squared=True: a negative square has no root.")
        square = self._clipped(l2_squared(*self._enclosed(X, Y), self.k))
        return square if self.squared else math.sqrt(square)


class _AlphaDivergence(_KnnDivergence):
    """Functions of ∫ p^α q^(1-α)."""

    assumptions = "densities with ∫p^α q^(1-α) finite, k > |α - 1|; no ties"
    _parameter_constraints: ClassVar[dict[str, Any]] = {**CLIPPED, "alpha": ORDER}
    alpha: float

    def _log_integral(self, X, Y, alpha):
        check_order(alpha, "alpha", "the Kullback-Leibler divergence")
        log_u, log_v = self._enclosed(X, Y)
        a = alpha - 1.0
        return log_power_mean(log_u, self.k, a, log_v=log_v, b=-a, name=f"alpha={alpha:g}")


class KnnRenyiDivergence(_AlphaDivergence):
    """Rényi divergence of order α from the k-th neighbours in both samples.

    For α well above 1 it hangs on where q is thin, and may be infinite: two normals need
    αΣ_q + (1-α)Σ_p positive definite.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, not 1.
    k : int, default=5
        The neighbour; above abs(α - 1).
    clip : bool, default=False
        Whether negative estimates become 0.
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
    >>> from octavo.info import KnnRenyiDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # α/2 = 0.4
    >>> print(f"{KnnRenyiDivergence().estimate(X, Y):.2f}")
    0.41
    """

    measure, method = "renyi", "knn"
    estimates = "log ∫p^α q^(1-α) / (α - 1)"

    def __init__(self, alpha=0.8, k=5, clip=False, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.k = k
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return self._clipped(self._log_integral(X, Y, self.alpha) / (self.alpha - 1.0))


class KnnTsallisDivergence(_AlphaDivergence):
    """Tsallis divergence of order α from the k-th neighbours in both samples.

    A monotone function of the Rényi divergence of the same order.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, not 1.
    k : int, default=5
        The neighbour; above abs(α - 1).
    clip : bool, default=False
        Whether negative estimates become 0.
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
    >>> from octavo.info import KnnTsallisDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 0.384
    >>> print(f"{KnnTsallisDivergence().estimate(X, Y):.2f}")
    0.40
    """

    measure, method = "tsallis", "knn"
    estimates = "(∫p^α q^(1-α) - 1) / (α - 1)"

    def __init__(self, alpha=0.8, k=5, clip=False, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.k = k
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        log_integral = self._log_integral(X, Y, self.alpha)
        return self._clipped(math.expm1(log_integral) / (self.alpha - 1.0))


class KnnSharmaMittalDivergence(_AlphaDivergence):
    """Sharma-Mittal divergence from the k-th neighbours in both samples.

    The family of two orders that holds the Rényi (β to 1), Tsallis (β = α) and Kullback-Leibler
    divergences.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, not 1.
    beta : float, default=0.6
        The degree, not 1.
    k : int, default=5
        The neighbour; above abs(α - 1).
    clip : bool, default=False
        Whether negative estimates become 0.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Nielsen and Nock (2012). A closed-form expression for the Sharma-Mittal entropy of
       exponential families. Journal of Physics A 45.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KnnSharmaMittalDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 0.370
    >>> print(f"{KnnSharmaMittalDivergence().estimate(X, Y):.2f}")
    0.38
    """

    measure, method = "sharma_mittal", "knn"
    estimates = "[(∫p^α q^(1-α))^((1-β)/(1-α)) - 1] / (β - 1)"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_AlphaDivergence._parameter_constraints,
        "beta": ORDER,
    }

    def __init__(self, alpha=0.8, beta=0.6, k=5, clip=False, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.beta = beta
        self.k = k
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        check_order(self.beta, "beta", "the Rényi divergence")
        log_integral = self._log_integral(X, Y, self.alpha)
        power = log_integral * (1.0 - self.beta) / (1.0 - self.alpha)
        return self._clipped(math.expm1(power) / (self.beta - 1.0))


class KnnBhattacharyyaDistance(_AlphaDivergence):
    """Bhattacharyya distance from the k-th neighbours in both samples.

    Symmetric in truth, not in the estimate: X is where the mean is taken.

    Parameters
    ----------
    k : int, default=5
        The neighbour.
    clip : bool, default=False
        Whether negative estimates become 0.
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
    >>> from octavo.info import KnnBhattacharyyaDistance
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(2, 1, size=(5000, 1))  # 1/2
    >>> print(f"{KnnBhattacharyyaDistance().estimate(X, Y):.2f}")
    0.50
    """

    measure, method = "bhattacharyya", "knn"
    estimates = "-log ∫√(p q)"
    assumptions = "densities; no ties"
    _parameter_constraints: ClassVar[dict[str, Any]] = CLIPPED

    def __init__(self, k=5, clip=False, jitter=0.0, n_jobs=None):
        self.k = k
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return self._clipped(-self._log_integral(X, Y, 0.5))


class KnnHellingerDistance(_AlphaDivergence):
    """Hellinger distance from the k-th neighbours in both samples.

    The root of 1 - ∫√(pq), where estimates of the integral above 1 count as 1: distances near
    zero come out as zero about half of the time.

    Parameters
    ----------
    k : int, default=5
        The neighbour.
    squared : bool, default=False
        Whether to return 1 - ∫√(pq), which may be negative, instead of its root.
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
    >>> from octavo.info import KnnHellingerDistance
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(2, 1, size=(5000, 1))  # 0.627
    >>> print(f"{KnnHellingerDistance().estimate(X, Y):.2f}")
    0.63
    """

    measure, method = "hellinger", "knn"
    estimates = "√(1 - ∫√(p q))"
    assumptions = "densities; no ties"
    _parameter_constraints: ClassVar[dict[str, Any]] = {**KNN_CONSTRAINTS, "squared": ["boolean"]}

    def __init__(self, k=5, squared=False, jitter=0.0, n_jobs=None):
        self.k = k
        self.squared = squared
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        square = -math.expm1(self._log_integral(X, Y, 0.5))
        return square if self.squared else math.sqrt(max(0.0, square))


class Chi2Divergence(_AlphaDivergence):
    """Pearson χ² divergence from the k-th neighbours in both samples.

    Finite only where q has tails as heavy as those of p: two normals need 2Σ_p⁻¹ - Σ_q⁻¹ positive
    definite. It hangs on the few points where q is thin; prefer Kullback-Leibler or Hellinger
    where any divergence will do.

    Parameters
    ----------
    k : int, default=5
        The neighbour; 2 or more, 3 or more for a finite variance.
    clip : bool, default=False
        Whether negative estimates become 0.
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
    >>> from octavo.info import Chi2Divergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(0.5, 1, size=(5000, 1)), rng.normal(size=(5000, 1))  # e^(1/4) - 1 = 0.284
    >>> print(f"{Chi2Divergence().estimate(X, Y):.1f}")
    0.2
    """

    measure, method = "chi2", "knn"
    estimates = "χ² = ∫p²/q - 1"
    assumptions = "densities with ∫p²/q finite, k >= 2; no ties"
    _parameter_constraints: ClassVar[dict[str, Any]] = CLIPPED

    def __init__(self, k=5, clip=False, jitter=0.0, n_jobs=None):
        self.k = k
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return self._clipped(math.expm1(self._log_integral(X, Y, 2.0)))


class FDivergence(DivergenceEstimator):
    """Any f-divergence of distributions that lie close, by its second-order expansion.

    D_f = ∫ q f(p/q) is f''(1)/2 times the χ² divergence, up to terms of third order in p/q - 1:
    good where the distributions are near each other, and no further.

    Parameters
    ----------
    curvature : float, default=1.0
        f''(1): 1 for Kullback-Leibler, 1/4 for squared Hellinger as 1 - ∫√(pq), 2 for χ².
    chi2 : DivergenceEstimator, default=None
        What estimates the χ² divergence; None for ``Chi2Divergence()``.

    References
    ----------
    .. [1] Nielsen and Nock (2014). On the chi square and higher-order chi distances for
       approximating f-divergences. IEEE Signal Processing Letters 21.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import FDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(0.5, 1, size=(5000, 1)), rng.normal(size=(5000, 1))  # KL 0.125
    >>> print(f"{FDivergence().estimate(X, Y):.1f}")
    0.1
    """

    measure, method = "f", "chi2"
    estimates = "∫ q f(p/q) ≈ f''(1)/2 χ²"
    cost = "that of χ²"
    assumptions = "p close to q; those of χ²"
    meta = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "curvature": [Interval(Real, 0, None, closed="neither")],
        "chi2": [DivergenceEstimator, None],
    }

    def __init__(self, curvature=1.0, chi2=None):
        self.curvature = curvature
        self.chi2 = chi2

    def _estimate(self, X, Y):
        chi2 = Chi2Divergence() if self.chi2 is None else self.chi2
        return 0.5 * self.curvature * chi2.estimate(X, Y)


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


class BregmanDivergence(_KnnDivergence):
    """Bregman divergence of order α from the k-th neighbours; not symmetric.

    With α = 2 it is ∫(p-q)². It depends on the units of the data: scale them first.

    Parameters
    ----------
    alpha : float, default=2.0
        The order, positive and not 1.
    k : int, default=5
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

    def __init__(self, alpha=2.0, k=5, clip=False, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.k = k
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        search = {"jitter": self.jitter, "n_jobs": self.n_jobs}
        return self._clipped(bregman(X, Y, self.k, self.alpha, **search))


class SymmetricBregmanDivergence(BregmanDivergence):
    """Symmetric Bregman divergence of order α: the sum of both directions.

    With α = 2 it is 2∫(p-q)².

    Parameters
    ----------
    alpha : float, default=2.0
        The order, positive and not 1.
    k : int, default=5
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
        forth = bregman(X, Y, self.k, self.alpha, **search)
        return self._clipped(forth + bregman(Y, X, self.k, self.alpha, **search))


class KnnCrossEntropy(CrossEntropyEstimator):
    """Cross-entropy -∫ p log q from the distances of X to the k-th neighbours in Y.

    Equals Shannon's entropy of p plus the Kullback-Leibler divergence. Where q is thin under p,
    few points of Y carry the estimate.

    Parameters
    ----------
    k : int, default=3
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
    >>> print(f"{KnnCrossEntropy(k=5).estimate(X, Y):.2f}")
    1.92
    """

    measure, method = "shannon", "knn"
    estimates = "-∫ p log q"
    cost = "O((N + M) log M)"
    assumptions = "a density q > 0 wherever p is; no point of X in Y"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = KNN_CONSTRAINTS

    def __init__(self, k=3, jitter=0.0, n_jobs=None):
        self.k = k
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        log_v = log_enclosed(X, self.k, Y=Y, jitter=self.jitter, n_jobs=self.n_jobs)
        return cross_entropy_from_enclosed(log_v, self.k)
