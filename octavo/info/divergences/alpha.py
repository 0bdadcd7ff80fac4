"""Divergences that are functions of ∫ p^α q^(1-α), from nearest neighbours in both samples.

Rényi, Tsallis and Sharma-Mittal divergences, Bhattacharyya and Hellinger distances (α = 1/2),
Pearson's χ² (α = 2), and any f-divergence of close distributions through χ².

References: Póczos and Schneider (2011), "On the estimation of α-divergences", AISTATS; Nielsen and
Nock (2014), "On the chi square and higher-order chi distances for approximating f-divergences",
IEEE Signal Processing Letters 21.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.probability.knn_information import log_power_mean
from octavo.info.divergences.knn import CLIPPED, KnnDivergence
from octavo.info.entropies.knn import KNN_CONSTRAINTS, check_order
from octavo.info.estimators import DivergenceEstimator

__all__ = [
    "Chi2Divergence",
    "FDivergence",
    "KnnBhattacharyyaDistance",
    "KnnHellingerDistance",
    "KnnRenyiDivergence",
    "KnnSharmaMittalDivergence",
    "KnnTsallisDivergence",
]

ORDER = [Interval(Real, None, None, closed="neither")]


class _AlphaDivergence(KnnDivergence):
    """Functions of ∫ p^α q^(1-α)."""

    assumptions = "densities with ∫p^α q^(1-α) finite, k > |α - 1|; no ties"
    _parameter_constraints: ClassVar[dict[str, Any]] = {**CLIPPED, "alpha": ORDER}
    alpha: float

    def _log_integral(self, X, Y, alpha):
        check_order(alpha, "alpha", "the Kullback-Leibler divergence")
        log_u, log_v = self._enclosed(X, Y)
        a = alpha - 1.0  # ∫ p^a q^-a dp
        return log_power_mean(
            log_u, self.n_neighbors, a, log_v=log_v, b=-a, name=f"alpha={alpha:g}"
        )


class KnnRenyiDivergence(_AlphaDivergence):
    """Rényi divergence of order α from the k-th neighbours in both samples.

    For α well above 1 it hangs on where q is thin, and may be infinite: two normals need
    αΣ_q + (1-α)Σ_p positive definite.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, not 1.
    n_neighbors : int, default=5
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

    def __init__(self, alpha=0.8, n_neighbors=5, clip=False, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.n_neighbors = n_neighbors
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
    n_neighbors : int, default=5
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

    def __init__(self, alpha=0.8, n_neighbors=5, clip=False, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.n_neighbors = n_neighbors
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
    n_neighbors : int, default=5
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

    def __init__(self, alpha=0.8, beta=0.6, n_neighbors=5, clip=False, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.beta = beta
        self.n_neighbors = n_neighbors
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        check_order(self.beta, "beta", "the Rényi divergence")
        log_integral = self._log_integral(X, Y, self.alpha)
        # [(∫p^α q^(1-α))^((1-β)/(1-α)) - 1] / (β - 1)
        power = log_integral * (1.0 - self.beta) / (1.0 - self.alpha)
        return self._clipped(math.expm1(power) / (self.beta - 1.0))


class KnnBhattacharyyaDistance(_AlphaDivergence):
    """Bhattacharyya distance from the k-th neighbours in both samples.

    Symmetric in truth, not in the estimate: X is where the mean is taken.

    Parameters
    ----------
    n_neighbors : int, default=5
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

    def __init__(self, n_neighbors=5, clip=False, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return self._clipped(-self._log_integral(X, Y, 0.5))  # -log ∫√(pq)


class KnnHellingerDistance(_AlphaDivergence):
    """Hellinger distance from the k-th neighbours in both samples.

    The root of 1 - ∫√(pq), where estimates of the integral above 1 count as 1: distances near
    zero come out as zero about half of the time.

    Parameters
    ----------
    n_neighbors : int, default=5
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

    def __init__(self, n_neighbors=5, squared=False, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.squared = squared
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        square = -math.expm1(self._log_integral(X, Y, 0.5))  # 1 - ∫√(pq)
        return square if self.squared else math.sqrt(max(0.0, square))


class Chi2Divergence(_AlphaDivergence):
    """Pearson χ² divergence from the k-th neighbours in both samples.

    Finite only where q has tails as heavy as those of p: two normals need 2Σ_p⁻¹ - Σ_q⁻¹ positive
    definite. It hangs on the few points where q is thin; prefer Kullback-Leibler or Hellinger
    where any divergence will do.

    Parameters
    ----------
    n_neighbors : int, default=5
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

    def __init__(self, n_neighbors=5, clip=False, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.clip = clip
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X, Y):
        return self._clipped(math.expm1(self._log_integral(X, Y, 2.0)))  # ∫p²/q - 1


class FDivergence(DivergenceEstimator):
    """Any f-divergence of distributions that lie close, by its second-order expansion.

    D_f = ∫ q f(p/q) is f''(1)/2 times the χ² divergence, up to terms of third order in p/q - 1:
    good where the distributions are near each other, and no further. For distributions that are
    known see `CsiszarDivergence`; for samples that lie apart, `CostCurveDivergence`.

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
        return 0.5 * self.curvature * chi2.estimate(X, Y)  # f(1 + ε) ≈ ½ f''(1) ε²
