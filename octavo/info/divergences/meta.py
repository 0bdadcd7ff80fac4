"""Divergences built from entropies and from other divergences.

The Jensen divergences compare the entropy of a mixture with those of its parts; K, L and J combine
Kullback-Leibler divergences. The mixture is drawn from both samples without putting points back, so
that no ties arise. What draws at random takes ``random_state``.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287, section 2.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.samples import same_sample
from octavo.engine.estimators.sklearn_door import Interval
from octavo.info.divergences.knn import KnnKLDivergence
from octavo.info.entropies.knn import (
    ORDER,
    KnnRenyiEntropy,
    KnnShannonEntropy,
    KnnTsallisEntropy,
    check_order,
)
from octavo.info.estimators import DivergenceEstimator, EntropyEstimator

__all__ = [
    "JDivergence",
    "JensenRenyiDivergence",
    "JensenShannonDivergence",
    "JensenTsallisDivergence",
    "KDivergence",
    "LDivergence",
]

WEIGHT = [Interval(Real, 0, 1, closed="neither")]


def mixture_sample(X: Floats, Y: Floats, weight: float, rng: np.random.RandomState) -> Floats:
    """Return as large a sample of weight p + (1 - weight) q as X and Y give without repeats."""
    n = min(X.shape[0] / weight, Y.shape[0] / (1.0 - weight))
    from_x = min(X.shape[0], max(1, round(weight * n)))
    from_y = min(Y.shape[0], max(1, round((1.0 - weight) * n)))
    chosen = [X[rng.permutation(X.shape[0])[:from_x]], Y[rng.permutation(Y.shape[0])[:from_y]]]
    return np.vstack(chosen)


def jensen(
    X: Floats,
    Y: Floats,
    entropy: EntropyEstimator,
    weight: float,
    shares: tuple[float, float],
    rng: np.random.RandomState,
) -> float:
    """Return H(mixture) - share_1 H(X) - share_2 H(Y)."""
    parts = shares[0] * entropy.estimate(X) + shares[1] * entropy.estimate(Y)
    return entropy.estimate(mixture_sample(X, Y, weight, rng)) - parts


def k_from_kl(X: Floats, Y: Floats, kl: Any, rng: np.random.RandomState) -> float:
    """Return KL(p, (p+q)/2): half of X stands for p, the rest goes into the mixture."""
    if X.shape[0] < 4:
        raise ValueError(f"X is split in two and needs at least 4 rows, got {X.shape[0]}.")
    shuffled = X[rng.permutation(X.shape[0])]
    half = X.shape[0] // 2
    return kl.estimate(shuffled[:half], mixture_sample(shuffled[half:], Y, 0.5, rng))


class _Jensen(DivergenceEstimator):
    """Divergences of Jensen's kind, zero for a sample and itself."""

    cost = "three times that of its entropy"
    assumptions = "those of its entropy; X and Y share no points"
    meta = True
    density = True
    weight: float
    random_state: Any

    def _jensen(self, X, Y, entropy, shares):
        rng = check_random_state(self.random_state)
        return jensen(X, Y, entropy, self.weight, shares, rng)


class JensenShannonDivergence(_Jensen):
    """Jensen-Shannon divergence: the entropy of a mixture less those of its parts.

    Symmetric (for even weights), finite whatever the supports, at most log 2: the divergence to
    choose where samples may barely overlap. Estimates may be slightly negative. The errors of three
    entropies add up: small divergences need large samples.

    Parameters
    ----------
    entropy : EntropyEstimator, default=None
        What estimates Shannon's entropy; None for ``KnnShannonEntropy()``.
    weight : float, default=0.5
        The share of p in the mixture.
    random_state : int, RandomState instance or None, default=None
        The generator that draws the mixture; give one for the same answer twice.

    References
    ----------
    .. [1] Lin (1991). Divergence measures based on the Shannon entropy. IEEE Transactions on
       Information Theory 37.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import JensenShannonDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # log 2 = 0.693
    >>> print(f"{JensenShannonDivergence(random_state=0).estimate(X, Y):.2f}")
    0.69
    """

    measure, method = "jensen_shannon", "entropies"
    estimates = "H(wp + (1-w)q) - w H(p) - (1-w) H(q)"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "entropy": [EntropyEstimator, None],
        "weight": WEIGHT,
        "random_state": ["random_state"],
    }

    def __init__(self, entropy=None, weight=0.5, random_state=None):
        self.entropy = entropy
        self.weight = weight
        self.random_state = random_state

    def _estimate(self, X, Y):
        if same_sample(X, Y):
            return 0.0
        entropy = KnnShannonEntropy() if self.entropy is None else self.entropy
        return self._jensen(X, Y, entropy, (self.weight, 1.0 - self.weight))


def entropy_of_order(entropy: Any, default: type[Any], alpha: float) -> Any:
    """Return the estimator of that order: the default class, or a copy of the one given."""
    check_order(alpha)
    return default(alpha=alpha) if entropy is None else clone(entropy).set_params(alpha=alpha)


class JensenRenyiDivergence(_Jensen):
    """Jensen-Rényi divergence: Rényi's entropy of a mixture less those of its parts.

    Not negative for α below 1, where Rényi's entropy is concave; above, it may be.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive and not 1.
    entropy : EntropyEstimator, default=None
        What estimates Rényi's entropy, with a parameter ``alpha``; None for `KnnRenyiEntropy`.
    weight : float, default=0.5
        The share of p in the mixture.
    random_state : int, RandomState instance or None, default=None
        The generator that draws the mixture; give one for the same answer twice.

    References
    ----------
    .. [1] Hamza and Krim (2003). Jensen-Rényi divergence measure: theoretical and computational
       perspectives. IEEE International Symposium on Information Theory.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import JensenRenyiDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # log 2 = 0.693
    >>> print(f"{JensenRenyiDivergence(random_state=0).estimate(X, Y):.2f}")
    0.69
    """

    measure, method = "jensen_renyi", "entropies"
    estimates = "R(wp + (1-w)q) - w R(p) - (1-w) R(q)"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **JensenShannonDivergence._parameter_constraints,
        "alpha": ORDER,
    }

    def __init__(self, alpha=0.8, entropy=None, weight=0.5, random_state=None):
        self.alpha = alpha
        self.entropy = entropy
        self.weight = weight
        self.random_state = random_state

    def _estimate(self, X, Y):
        if same_sample(X, Y):
            return 0.0
        entropy = entropy_of_order(self.entropy, KnnRenyiEntropy, self.alpha)
        return self._jensen(X, Y, entropy, (self.weight, 1.0 - self.weight))


class JensenTsallisDivergence(_Jensen):
    """Jensen-Tsallis difference: Tsallis' entropy of a mixture less those of its parts.

    The parts count with their weights to the power α, as the composition of Tsallis' entropy asks.
    For α other than 1 it is not zero for equal distributions: T(p) (1 - 2^(1-α)) at even weights.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive and not 1.
    entropy : EntropyEstimator, default=None
        What estimates Tsallis' entropy, with a parameter ``alpha``; None for
        `KnnTsallisEntropy`.
    weight : float, default=0.5
        The share of p in the mixture.
    random_state : int, RandomState instance or None, default=None
        The generator that draws the mixture; give one for the same answer twice.

    References
    ----------
    .. [1] Martins, Smith, Xing, Aguiar and Figueiredo (2009). Nonextensive information theoretic
       kernels on measures. JMLR 10.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import JensenTsallisDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # 5 (2^0.2 - 1) = 0.743
    >>> print(f"{JensenTsallisDivergence(random_state=0).estimate(X, Y):.2f}")
    0.74
    """

    measure, method = "jensen_tsallis", "entropies"
    estimates = "T(wp + (1-w)q) - w^α T(p) - (1-w)^α T(q)"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **JensenShannonDivergence._parameter_constraints,
        "alpha": ORDER,
    }

    def __init__(self, alpha=0.8, entropy=None, weight=0.5, random_state=None):
        self.alpha = alpha
        self.entropy = entropy
        self.weight = weight
        self.random_state = random_state

    def _estimate(self, X, Y):
        entropy = entropy_of_order(self.entropy, KnnTsallisEntropy, self.alpha)
        shares = self.weight**self.alpha, (1.0 - self.weight) ** self.alpha
        if same_sample(X, Y):
            return (1.0 - sum(shares)) * entropy.estimate(X)
        return self._jensen(X, Y, entropy, shares)


class KDivergence(DivergenceEstimator):
    """K divergence: the Kullback-Leibler divergence of p from the even mixture of p and q.

    Finite whatever the supports, at most log 2. Half of X goes into the mixture, which the draw
    makes random.

    Parameters
    ----------
    kl : DivergenceEstimator, default=None
        What estimates the Kullback-Leibler divergence; None for ``KnnKLDivergence()``.
    random_state : int, RandomState instance or None, default=None
        The generator that splits X and draws the mixture; give one for the same answer twice.

    References
    ----------
    .. [1] Lin (1991). Divergence measures based on the Shannon entropy. IEEE Transactions on
       Information Theory 37.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # log 2 = 0.693
    >>> print(f"{KDivergence(random_state=0).estimate(X, Y):.1f}")
    0.7
    """

    measure, method = "k", "kl"
    estimates = "KL(p, (p + q)/2)"
    cost = "that of its divergence"
    assumptions = "those of its divergence; X and Y share no points"
    meta = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kl": [DivergenceEstimator, None],
        "random_state": ["random_state"],
    }

    def __init__(self, kl=None, random_state=None):
        self.kl = kl
        self.random_state = random_state

    def _estimate(self, X, Y):
        kl = KnnKLDivergence() if self.kl is None else self.kl
        return k_from_kl(X, Y, kl, check_random_state(self.random_state))


class LDivergence(DivergenceEstimator):
    """L divergence: the sum of both K divergences, twice Jensen-Shannon's.

    Parameters
    ----------
    kl : DivergenceEstimator, default=None
        What estimates the Kullback-Leibler divergence; None for ``KnnKLDivergence()``.
    random_state : int, RandomState instance or None, default=None
        The generator that splits and draws; give one for the same answer twice.

    References
    ----------
    .. [1] Lin (1991). Divergence measures based on the Shannon entropy. IEEE Transactions on
       Information Theory 37.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import LDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # 2 log 2 = 1.386
    >>> print(f"{LDivergence(random_state=0).estimate(X, Y):.1f}")
    1.4
    """

    measure, method = "l", "kl"
    estimates = "KL(p, (p + q)/2) + KL(q, (p + q)/2)"
    cost = "twice that of its divergence"
    assumptions = "those of its divergence; X and Y share no points"
    meta = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = KDivergence._parameter_constraints

    def __init__(self, kl=None, random_state=None):
        self.kl = kl
        self.random_state = random_state

    def _estimate(self, X, Y):
        kl = KnnKLDivergence() if self.kl is None else self.kl
        rng = check_random_state(self.random_state)
        return k_from_kl(X, Y, kl, rng) + k_from_kl(Y, X, kl, rng)


class JDivergence(DivergenceEstimator):
    """J divergence: the sum of the Kullback-Leibler divergences of both directions.

    Symmetric. Infinite where either support does not hold the other: prefer
    `JensenShannonDivergence` there.

    Parameters
    ----------
    kl : DivergenceEstimator, default=None
        What estimates the Kullback-Leibler divergence; None for ``KnnKLDivergence()``.

    References
    ----------
    .. [1] Jeffreys (1946). An invariant form for the prior probability in estimation problems.
       Proceedings of the Royal Society A 186.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import JDivergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 1
    >>> print(f"{JDivergence().estimate(X, Y):.1f}")
    1.0
    """

    measure, method = "j", "kl"
    estimates = "KL(p, q) + KL(q, p)"
    cost = "twice that of its divergence"
    assumptions = "those of its divergence, both ways"
    meta = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {"kl": [DivergenceEstimator, None]}

    def __init__(self, kl=None):
        self.kl = kl

    def _estimate(self, X, Y):
        kl = KnnKLDivergence() if self.kl is None else self.kl
        return kl.estimate(X, Y) + kl.estimate(Y, X)
