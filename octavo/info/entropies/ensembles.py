"""Entropies from many weak estimates: over subsets, over projections, over numbers of neighbours.

References: Kybic (2004), "High-dimensional mutual information estimation for image registration",
ICIP; Sricharan, Wei and Hero (2013), "Ensemble estimators for multivariate entropy estimation",
IEEE Transactions on Information Theory 59.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.probability.knn_information import check_power, log_ball_volume, n_workers
from octavo.engine.probability.neighbours import positive_distances
from octavo.info.entropies.knn import (
    KNN_CONSTRAINTS,
    ORDER,
    KnnShannonEntropy,
    check_order,
    renyi_from_power,
)
from octavo.info.estimators import EntropyEstimator

__all__ = ["EnsembleEntropy", "RandomProjectionEntropy", "WeightedKnnRenyiEntropy"]

_POSITIVE = Interval(Integral, 1, None, closed="left")


class EnsembleEntropy(EntropyEstimator):
    """Mean of an entropy over random subsets of the sample.

    Bounds the cost for very large samples, and makes estimators that are unstable smoother. With
    the default estimator and one subset of everything it is that estimator.

    Parameters
    ----------
    entropy : EntropyEstimator, default=None
        What is averaged; None for ``KnnShannonEntropy()``.
    n_subsets : int, default=10
        How many subsets.
    subset_size : float, default=0.5
        The share of the sample in each, above 0 and at most 1.
    random_state : int, RandomState instance or None, default=None
        The generator that draws subsets; give one for the same answer twice.

    References
    ----------
    .. [1] Kybic (2004). High-dimensional mutual information estimation for image registration.
       ICIP.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import EnsembleEntropy
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))  # entropy log 2πe = 2.838
    >>> print(f"{EnsembleEntropy(random_state=0).estimate(X):.2f}")
    2.81
    """

    measure, method = "shannon", "ensemble"
    estimates = "what its estimator does, -∫ p log p by default"
    cost = "n_subsets times that of its estimator"
    assumptions = "those of its estimator on a part of the sample"
    meta = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "entropy": [EntropyEstimator, None],
        "n_subsets": [_POSITIVE],
        "subset_size": [Interval(Real, 0, 1, closed="right")],
        "random_state": ["random_state"],
    }

    def __init__(self, entropy=None, n_subsets=10, subset_size=0.5, random_state=None):
        self.entropy = entropy
        self.n_subsets = n_subsets
        self.subset_size = subset_size
        self.random_state = random_state

    def _estimate(self, X):
        entropy = KnnShannonEntropy() if self.entropy is None else self.entropy
        rng = check_random_state(self.random_state)
        n = X.shape[0]
        size = max(2, round(self.subset_size * n))
        parts = [rng.permutation(n)[:size] for _ in range(self.n_subsets)]
        return float(np.mean([entropy.estimate(X[part]) for part in parts]))


def random_frame(d: int, m: int, rng: np.random.RandomState) -> Floats:
    """Return m orthonormal directions in d dimensions, uniformly random, as columns."""
    q, r = np.linalg.qr(rng.standard_normal((d, m)))
    return q * np.sign(np.diagonal(r))


class RandomProjectionEntropy(EntropyEstimator):
    """Mean entropy of random low-dimensional projections of the sample.

    Estimates the mean of H(Rᵀx) over directions R, not H(x) itself: a number by which distributions
    in the same space can be ordered, at the cost of few dimensions. It equals H(x) only when
    n_components is the dimension, where R is a rotation.

    Parameters
    ----------
    entropy : EntropyEstimator, default=None
        What is averaged; None for ``KnnShannonEntropy()``.
    n_components : int, default=2
        The dimension of the projections; at most that of the sample counts.
    n_projections : int, default=10
        How many.
    random_state : int, RandomState instance or None, default=None
        The generator that draws directions; give one for the same answer twice.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import RandomProjectionEntropy
    >>> X = np.random.default_rng(0).normal(size=(2000, 10))  # 2.838 in every plane
    >>> print(f"{RandomProjectionEntropy(random_state=0).estimate(X):.1f}")
    2.8
    """

    measure, method = "shannon", "random_projection"
    estimates = "mean of H(Rᵀx) over orthonormal R"
    cost = "n_projections times (N d n_components + that of its estimator)"
    assumptions = "those of its estimator on projections"
    meta = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "entropy": [EntropyEstimator, None],
        "n_components": [_POSITIVE],
        "n_projections": [_POSITIVE],
        "random_state": ["random_state"],
    }

    def __init__(self, entropy=None, n_components=2, n_projections=10, random_state=None):
        self.entropy = entropy
        self.n_components = n_components
        self.n_projections = n_projections
        self.random_state = random_state

    def _estimate(self, X):
        entropy = KnnShannonEntropy() if self.entropy is None else self.entropy
        rng = check_random_state(self.random_state)
        d = X.shape[1]
        m = min(self.n_components, d)
        frames = [random_frame(d, m, rng) for _ in range(self.n_projections)]
        return float(np.mean([entropy.estimate(X @ frame) for frame in frames]))


def cancelling_weights(scales: Floats, d: int) -> Floats:
    """Return the weights of least norm that sum to 1 and cancel biases like scale^(i/d), i = 1..d.

    Parameters
    ----------
    scales : ndarray of shape (L,)
        k over √N of the members.
    d : int
        The dimension; for d >= L as many powers as can be met.

    Returns
    -------
    weights : ndarray of shape (L,)
        Some are negative.
    """
    powers = np.arange(min(d, len(scales) - 1) + 1) / d
    A = scales ** powers[:, None]
    target = np.zeros(len(powers))
    target[0] = 1.0
    weights: Floats = np.asarray(np.linalg.lstsq(A, target, rcond=None)[0], dtype=np.float64)
    return weights


class WeightedKnnRenyiEntropy(EntropyEstimator):
    """Rényi entropy from a weighted ensemble over numbers of neighbours that cancels bias.

    Estimates with many k share the leading terms of the bias up to powers of k; weights are chosen
    so that these cancel, and the error falls like 1/√N for smooth densities in any dimension. It
    needs large samples: the weights that cancel bias raise the variance.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive and not 1.
    n_members : int, default=20
        How many numbers of neighbours.
    smallest : float, default=0.3
        The least k in units of √N.
    largest : float, default=3.0
        The largest k in units of √N.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Sricharan, Wei and Hero (2013). Ensemble estimators for multivariate entropy
       estimation. IEEE Transactions on Information Theory 59.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import WeightedKnnRenyiEntropy
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))  # 2.953
    >>> print(f"{WeightedKnnRenyiEntropy().estimate(X):.1f}")
    2.9
    """

    measure, method = "renyi", "knn_weighted"
    estimates = "R_α = log ∫p^α / (1 - α)"
    cost = "O(√N N log N)"
    assumptions = "a smooth density with ∫p^α finite; no ties"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": ORDER,
        "n_members": [Interval(Integral, 2, None, closed="left")],
        "smallest": [Interval(Real, 0, None, closed="neither")],
        "largest": [Interval(Real, 0, None, closed="neither")],
        "jitter": KNN_CONSTRAINTS["jitter"],
        "n_jobs": KNN_CONSTRAINTS["n_jobs"],
    }

    def __init__(self, alpha=0.8, n_members=20, smallest=0.3, largest=3.0, jitter=0.0, n_jobs=None):
        self.alpha = alpha
        self.n_members = n_members
        self.smallest = smallest
        self.largest = largest
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _members(self, n):
        if not self.smallest < self.largest:
            raise ValueError(f"smallest={self.smallest} must be below largest={self.largest}.")
        lengths = np.linspace(self.smallest, self.largest, self.n_members)
        ks = np.unique(np.clip(np.round(lengths * math.sqrt(n)), 1, n - 1).astype(int))
        check_power(int(ks[0]), self.alpha - 1.0, f"alpha={self.alpha:g} with smallest k")
        return ks

    def _estimate(self, X):
        check_order(self.alpha)
        n, d = X.shape
        ks = self._members(n)
        positive_distances(X, int(ks[0]), jitter=self.jitter, workers=n_workers(self.n_jobs))
        distances = positive_distances(
            X, int(ks[-1]), jitter=self.jitter, workers=n_workers(self.n_jobs)
        )[:, ks - 1]
        log_u = math.log(n - 1) + log_ball_volume(d) + d * np.log(distances)
        a = self.alpha - 1.0
        powers = np.exp(-a * log_u).mean(axis=0) * np.exp(gammaln(ks) - gammaln(ks - a))
        power = float(cancelling_weights(ks / math.sqrt(n), d) @ powers)
        if power <= 0:
            raise ValueError(
                f"The weighted estimate of ∫p^α is {power:.3g}, not positive: the sample of {n} "
                "rows is too small for these weights. Use KnnRenyiEntropy."
            )
        return renyi_from_power(math.log(power), self.alpha)
