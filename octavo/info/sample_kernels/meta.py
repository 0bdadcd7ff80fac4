"""Kernels between distributions from divergences of Jensen's kind.

References: Martins, Smith, Xing, Aguiar and Figueiredo (2009), "Nonextensive information theoretic
kernels on measures", JMLR 10; Bai and Hancock (2012), "Graph kernels from the Jensen-Shannon
divergence", Journal of Mathematical Imaging and Vision 47.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

from octavo.engine.estimators.sklearn_door import Interval
from octavo.info.divergences.meta import (
    JensenRenyiDivergence,
    JensenShannonDivergence,
    JensenTsallisDivergence,
)
from octavo.info.estimators import DistributionKernel, EntropyEstimator

__all__ = [
    "ExpJensenRenyiKernel",
    "ExpJensenShannonKernel",
    "ExpJensenTsallisKernel",
    "JensenShannonKernel",
    "JensenTsallisKernel",
]

SETTINGS: dict[str, Any] = {
    "entropy": [EntropyEstimator, None],
    "random_state": ["random_state"],
}
SCALE = [Interval(Real, 0, None, closed="neither")]
CONCAVE = [Interval(Real, 0, 1, closed="neither")]
UP_TO_TWO = [Interval(Real, 0, 2, closed="right")]


class _JensenKernel(DistributionKernel):
    cost = "three times that of its entropy"
    assumptions = "those of its entropy; X and Y the same or without shared points"
    meta = True
    density = True


class JensenShannonKernel(_JensenKernel):
    """Jensen-Shannon kernel: log 2 less the Jensen-Shannon divergence.

    Positive definite between distributions; Gram matrices of estimates are so up to their errors.

    Parameters
    ----------
    entropy : EntropyEstimator, default=None
        What estimates Shannon's entropy; None for ``KnnShannonEntropy()``.
    random_state : int, RandomState instance or None, default=None
        The generator that draws mixtures; give one for the same answer twice.

    References
    ----------
    .. [1] Martins et al. (2009). Nonextensive information theoretic kernels on measures. JMLR 10.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import JensenShannonKernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # 0
    >>> print(f"{abs(JensenShannonKernel(random_state=0).estimate(X, Y)):.2f}")
    0.00
    """

    measure, method = "jensen_shannon", "entropies"
    estimates = "log 2 - JS(p, q)"
    _parameter_constraints: ClassVar[dict[str, Any]] = SETTINGS

    def __init__(self, entropy=None, random_state=None):
        self.entropy = entropy
        self.random_state = random_state

    def _estimate(self, X, Y):
        divergence = JensenShannonDivergence(self.entropy, random_state=self.random_state)
        return math.log(2.0) - divergence.estimate(X, Y)  # its largest value less it


class ExpJensenShannonKernel(_JensenKernel):
    """Exponentiated Jensen-Shannon kernel.

    Parameters
    ----------
    scale : float, default=1.0
        The factor of the divergence.
    entropy : EntropyEstimator, default=None
        What estimates Shannon's entropy; None for ``KnnShannonEntropy()``.
    random_state : int, RandomState instance or None, default=None
        The generator that draws mixtures; give one for the same answer twice.

    References
    ----------
    .. [1] Martins et al. (2009). Nonextensive information theoretic kernels on measures. JMLR 10.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import ExpJensenShannonKernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # 1/2
    >>> print(f"{ExpJensenShannonKernel(random_state=0).estimate(X, Y):.2f}")
    0.50
    """

    measure, method = "exp_jensen_shannon", "entropies"
    estimates = "exp(-scale JS(p, q))"
    _parameter_constraints: ClassVar[dict[str, Any]] = {**SETTINGS, "scale": SCALE}

    def __init__(self, scale=1.0, entropy=None, random_state=None):
        self.scale = scale
        self.entropy = entropy
        self.random_state = random_state

    def _estimate(self, X, Y):
        divergence = JensenShannonDivergence(self.entropy, random_state=self.random_state)
        return math.exp(-self.scale * divergence.estimate(X, Y))


class JensenTsallisKernel(_JensenKernel):
    """Jensen-Tsallis kernel: log_α 2 less the Jensen-Tsallis difference.

    log_α x = (x^(1-α) - 1) / (1 - α). Positive definite for α up to 2.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive, at most 2 and not 1.
    entropy : EntropyEstimator, default=None
        What estimates Tsallis' entropy; None for `KnnTsallisEntropy`.
    random_state : int, RandomState instance or None, default=None
        The generator that draws mixtures; give one for the same answer twice.

    References
    ----------
    .. [1] Martins et al. (2009). Nonextensive information theoretic kernels on measures. JMLR 10.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import JensenTsallisKernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # 0
    >>> print(f"{abs(JensenTsallisKernel(random_state=0).estimate(X, Y)):.2f}")
    0.00
    """

    measure, method = "jensen_tsallis", "entropies"
    estimates = "log_α 2 - JT_α(p, q)"
    _parameter_constraints: ClassVar[dict[str, Any]] = {**SETTINGS, "alpha": UP_TO_TWO}

    def __init__(self, alpha=0.8, entropy=None, random_state=None):
        self.alpha = alpha
        self.entropy = entropy
        self.random_state = random_state

    def _estimate(self, X, Y):
        divergence = JensenTsallisDivergence(
            self.alpha, self.entropy, random_state=self.random_state
        )
        value = divergence.estimate(X, Y)
        # log_α 2 - T_α
        return math.expm1((1.0 - self.alpha) * math.log(2.0)) / (1.0 - self.alpha) - value


class ExpJensenTsallisKernel(_JensenKernel):
    """Exponentiated Jensen-Tsallis kernel.

    Positive definite for α up to 2. Not 1 for equal distributions: the difference is not zero
    there.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, positive, at most 2 and not 1.
    scale : float, default=1.0
        The factor of the difference.
    entropy : EntropyEstimator, default=None
        What estimates Tsallis' entropy; None for `KnnTsallisEntropy`.
    random_state : int, RandomState instance or None, default=None
        The generator that draws mixtures; give one for the same answer twice.

    References
    ----------
    .. [1] Martins et al. (2009). Nonextensive information theoretic kernels on measures. JMLR 10.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import ExpJensenTsallisKernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # exp(-0.743) = 0.476
    >>> print(f"{ExpJensenTsallisKernel(random_state=0).estimate(X, Y):.2f}")
    0.48
    """

    measure, method = "exp_jensen_tsallis", "entropies"
    estimates = "exp(-scale JT_α(p, q))"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SETTINGS,
        "alpha": UP_TO_TWO,
        "scale": SCALE,
    }

    def __init__(self, alpha=0.8, scale=1.0, entropy=None, random_state=None):
        self.alpha = alpha
        self.scale = scale
        self.entropy = entropy
        self.random_state = random_state

    def _estimate(self, X, Y):
        divergence = JensenTsallisDivergence(
            self.alpha, self.entropy, random_state=self.random_state
        )
        return math.exp(-self.scale * divergence.estimate(X, Y))


class ExpJensenRenyiKernel(_JensenKernel):
    """Exponentiated Jensen-Rényi kernel.

    Positive definite for α below 1.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, between 0 and 1.
    scale : float, default=1.0
        The factor of the divergence.
    entropy : EntropyEstimator, default=None
        What estimates Rényi's entropy; None for `KnnRenyiEntropy`.
    random_state : int, RandomState instance or None, default=None
        The generator that draws mixtures; give one for the same answer twice.

    References
    ----------
    .. [1] Martins et al. (2009). Nonextensive information theoretic kernels on measures. JMLR 10.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import ExpJensenRenyiKernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(0, 1, (5000, 1)), rng.uniform(5, 6, (5000, 1))  # 1/2
    >>> print(f"{ExpJensenRenyiKernel(random_state=0).estimate(X, Y):.2f}")
    0.50
    """

    measure, method = "exp_jensen_renyi", "entropies"
    estimates = "exp(-scale JR_α(p, q))"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SETTINGS,
        "alpha": CONCAVE,
        "scale": SCALE,
    }

    def __init__(self, alpha=0.8, scale=1.0, entropy=None, random_state=None):
        self.alpha = alpha
        self.scale = scale
        self.entropy = entropy
        self.random_state = random_state

    def _estimate(self, X, Y):
        divergence = JensenRenyiDivergence(self.alpha, self.entropy, random_state=self.random_state)
        return math.exp(-self.scale * divergence.estimate(X, Y))
