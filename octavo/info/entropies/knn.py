"""Entropies from distances to nearest neighbours, in any dimension.

One search for neighbours gives Shannon's entropy (Kozachenko and Leonenko 1987) and, through
∫ p^α, the entropies of Rényi, Tsallis and Sharma-Mittal (Leonenko, Pronzato and Savani 2008).
Estimates move with the data as the entropies do: translations and rotations leave them alone, and
H(aX) = H(X) + d log a holds exactly for Shannon and Rényi.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, logsumexp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.probability.knn_information import (
    check_power,
    log_ball_volume,
    log_enclosed,
    log_power_mean,
    n_workers,
    shannon_from_enclosed,
)
from octavo.engine.probability.neighbours import positive_distances
from octavo.info.estimators import EntropyEstimator

__all__ = [
    "KnnGraphRenyiEntropy",
    "KnnRenyiEntropy",
    "KnnShannonEntropy",
    "KnnSharmaMittalEntropy",
    "KnnTsallisEntropy",
]

KNN_CONSTRAINTS: dict[str, Any] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "jitter": [Interval(Real, 0, None, closed="left")],
    "n_jobs": [Integral, None],
}
ORDER = [Interval(Real, 0, None, closed="neither")]


def check_order(alpha: float, name: str = "alpha", instead: str = "Shannon's entropy") -> None:
    """Raise where an order is 1, the limit that has an estimator of its own."""
    if alpha == 1:
        raise ValueError(f"{name}=1 is the limit that is {instead}; use its estimator.")


def renyi_from_power(log_power: float, alpha: float) -> float:
    """Return Rényi's entropy log ∫p^α / (1 - α)."""
    return log_power / (1.0 - alpha)


def tsallis_from_power(log_power: float, alpha: float) -> float:
    """Return Tsallis' entropy (1 - ∫p^α) / (α - 1)."""
    return -math.expm1(log_power) / (alpha - 1.0)


def sharma_mittal_from_power(log_power: float, alpha: float, beta: float) -> float:
    """Return [(∫p^α)^((1-β)/(1-α)) - 1] / (1 - β)."""
    return math.expm1(log_power * (1.0 - beta) / (1.0 - alpha)) / (1.0 - beta)


class KnnShannonEntropy(EntropyEstimator):
    """Shannon entropy from the distances to the k-th neighbours (Kozachenko and Leonenko).

    The estimator to start with. Its standard error is near sqrt((var log p + ψ'(k)) / N); its bias
    falls like (k/N)^(2/d) for smooth densities, slowly in many dimensions. In one dimension
    spacings (`VasicekEntropy` and kin) are faster. Not for discrete or rounded data: ties have no
    density, and are refused.

    Parameters
    ----------
    n_neighbors : int, default=3
        The neighbour: small for low bias, large for low variance.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column, such as 1e-10. By default
        ties that spoil the estimate raise an error that counts them.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Kozachenko and Leonenko (1987). Sample estimate of the entropy of a random vector.
       Problems of Information Transmission 23.
    .. [2] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KnnShannonEntropy
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))  # entropy log 2πe = 2.838
    >>> print(f"{KnnShannonEntropy(n_neighbors=3).estimate(X):.2f}")
    2.83
    """

    measure, method = "shannon", "knn"
    estimates = "H = -∫ p log p"
    cost = "O(N log N)"
    assumptions = "a density, smooth on the scale of the k-th neighbour; no ties"
    preferred = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = KNN_CONSTRAINTS

    def __init__(self, n_neighbors=3, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X):
        log_u = log_enclosed(X, self.n_neighbors, jitter=self.jitter, n_jobs=self.n_jobs)
        return shannon_from_enclosed(log_u, X.shape[0], self.n_neighbors)


class _KnnPowerEntropy(EntropyEstimator):
    """Entropies that are functions of ∫ p^α."""

    cost = "O(N log N)"
    assumptions = "a density, ∫p^α finite, k > α - 1 (k > 2α - 2 for a finite variance); no ties"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {**KNN_CONSTRAINTS, "alpha": ORDER}
    alpha: float
    n_neighbors: int
    jitter: float
    n_jobs: int | None

    def _log_power(self, X):
        check_order(self.alpha)
        log_u = log_enclosed(X, self.n_neighbors, jitter=self.jitter, n_jobs=self.n_jobs)
        return log_power_mean(
            log_u, self.n_neighbors, self.alpha - 1.0, name=f"alpha={self.alpha:g}"
        )


class KnnRenyiEntropy(_KnnPowerEntropy):
    """Rényi entropy of order α from the distances to the k-th neighbours.

    For α above 1 it looks at where the density is high and is easy to estimate; for small α it
    hangs on the tails, and heavy tails make it useless. Order 1 is Shannon's entropy.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive and not 1.
    n_neighbors : int, default=3
        The neighbour; above α - 1.
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
    >>> from octavo.info import KnnRenyiEntropy
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))  # entropy 0 at every order
    >>> print(f"{KnnRenyiEntropy(alpha=2, n_neighbors=5).estimate(X):.2f}")
    0.02
    """

    measure, method = "renyi", "knn"
    estimates = "R_α = log ∫p^α / (1 - α)"
    preferred = True

    def __init__(self, alpha=0.8, n_neighbors=3, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X):
        return renyi_from_power(self._log_power(X), self.alpha)


class KnnTsallisEntropy(_KnnPowerEntropy):
    """Tsallis entropy of order α from the distances to the k-th neighbours.

    Not extensive: entropies of independent parts do not add up. Where that matters, use
    `KnnRenyiEntropy`, a monotone function of the same integral.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive and not 1.
    n_neighbors : int, default=3
        The neighbour; above α - 1.
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
    >>> from octavo.info import KnnTsallisEntropy
    >>> X = np.random.default_rng(0).uniform(0, 2, size=(2000, 1))  # 1 - ∫p² = 1/2
    >>> print(f"{KnnTsallisEntropy(alpha=2, n_neighbors=5).estimate(X):.2f}")
    0.49
    """

    measure, method = "tsallis", "knn"
    estimates = "T_α = (1 - ∫p^α) / (α - 1)"

    def __init__(self, alpha=0.8, n_neighbors=3, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X):
        return tsallis_from_power(self._log_power(X), self.alpha)


class KnnSharmaMittalEntropy(_KnnPowerEntropy):
    """Sharma-Mittal entropy from the distances to the k-th neighbours.

    The family of two orders that holds Rényi's (β to 1), Tsallis' (β = α) and Shannon's entropy
    (both to 1). Use those directly where one of them is meant.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive and not 1.
    beta : float, default=0.6
        The degree, not 1.
    n_neighbors : int, default=3
        The neighbour; above α - 1.
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
    >>> from octavo.info import KnnSharmaMittalEntropy
    >>> X = np.random.default_rng(0).uniform(0, 2, size=(2000, 1))  # (2^0.4 - 1) / 0.4 = 0.799
    >>> print(f"{KnnSharmaMittalEntropy().estimate(X):.1f}")
    0.8
    """

    measure, method = "sharma_mittal", "knn"
    estimates = "[(∫p^α)^((1-β)/(1-α)) - 1] / (1 - β)"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_KnnPowerEntropy._parameter_constraints,
        "beta": [Interval(Real, None, None, closed="neither")],
    }

    def __init__(self, alpha=0.8, beta=0.6, n_neighbors=3, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.beta = beta
        self.n_neighbors = n_neighbors
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X):
        check_order(self.beta, "beta", "Rényi's entropy")
        return sharma_mittal_from_power(self._log_power(X), self.alpha, self.beta)


def log_graph_power(distances: Floats, d: int, alpha: float, *, constant: bool = True) -> float:
    """Return log ∫p^α from the lengths of the graph of 1 to k nearest neighbours.

    Parameters
    ----------
    distances : ndarray of shape (N, k)
        Distances of each point to its neighbours.
    d : int
        The dimension.
    alpha : float
        The order.
    constant : bool, default=True
        Whether to divide by the limit for the uniform distribution; False leaves out the
        factor V^(α-1) Σ_j Γ(j+1-α)/Γ(j).

    Returns
    -------
    log_power : float
        log of Σ_ij ρ_j(i)^(d(1-α)) / N^α, over its limit for uniform points.
    """
    n, k = distances.shape
    with np.errstate(divide="ignore"):  # duplicates have length zero; that is no error for α < 1
        log_length = logsumexp(d * (1.0 - alpha) * np.log(distances))
    value = log_length - math.log(n) - (1.0 - alpha) * -math.log(n - 1)
    if constant:
        j = np.arange(1, k + 1)
        value -= logsumexp(gammaln(j + 1.0 - alpha) - gammaln(j))
        value += (1.0 - alpha) * log_ball_volume(d)
    return float(value)


class KnnGraphRenyiEntropy(EntropyEstimator):
    """Rényi entropy from the total length of the graph of 1 to k nearest neighbours.

    Uses all of the k distances that the search finds, where `KnnRenyiEntropy` uses the last: a
    lower variance for the same bias when α is below 1.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive and not 1; below 2, because first neighbours are used.
    n_neighbors : int, default=3
        How many neighbours make the graph.
    mult : bool, default=True
        Whether to remove the constant that depends on d, α and k alone.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Pál, Póczos and Szepesvári (2010). Estimation of Rényi entropy and mutual information
       based on generalized nearest-neighbor graphs. NIPS 23.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KnnGraphRenyiEntropy
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))  # entropy 0 at every order
    >>> print(f"{KnnGraphRenyiEntropy(n_neighbors=5).estimate(X):.2f}")
    0.01
    """

    measure, method = "renyi", "knn_graph"
    estimates = "R_α = log ∫p^α / (1 - α)"
    cost = "O(N log N)"
    assumptions = "a density with ∫p^α finite, α < 2 (α < 1.5 for a finite variance); no ties"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KNN_CONSTRAINTS,
        "alpha": ORDER,
        "mult": ["boolean"],
    }

    def __init__(self, alpha=0.8, n_neighbors=3, mult=True, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.mult = mult
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, X):
        check_order(self.alpha)
        check_power(1, self.alpha - 1.0, f"alpha={self.alpha:g} with first neighbours")
        distances = positive_distances(
            X, self.n_neighbors, jitter=self.jitter, workers=n_workers(self.n_jobs)
        )
        log_power = log_graph_power(distances, X.shape[1], self.alpha, constant=self.mult)
        return renyi_from_power(log_power, self.alpha)
