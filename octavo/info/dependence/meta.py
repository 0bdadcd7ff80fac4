"""Mutual informations built from entropies, and from divergences of a sample from its shuffle.

A sample of the product of the marginals is made by shuffling each group of variables on its own.
Half of the sample stays as it is, the other half is shuffled: both are independent draws. What
shuffles takes ``random_state``.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287, section 2.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval
from octavo.info.divergences.alpha import Chi2Divergence, KnnRenyiDivergence, KnnTsallisDivergence
from octavo.info.divergences.knn import KnnKLDivergence, KnnL2Divergence
from octavo.info.entropies.knn import KnnShannonEntropy, check_order
from octavo.info.estimators import (
    DivergenceEstimator,
    EntropyEstimator,
    MutualInformationEstimator,
)

__all__ = [
    "Chi2MutualInformation",
    "L2MutualInformation",
    "MIFromDivergence",
    "MIFromEntropy",
    "RenyiMutualInformation",
    "TsallisMutualInformation",
]


class MIFromEntropy(MutualInformationEstimator):
    """Shannon mutual information as the sum of the entropies of the groups less that of all.

    Any entropy of several variables can be put in; expansions are fast, and good for nearly normal
    data. With nearest neighbours `KSGMutualInformation` is more accurate: its errors cancel.

    Parameters
    ----------
    entropy : EntropyEstimator, default=None
        What estimates Shannon's entropy; None for ``KnnShannonEntropy()``.

    References
    ----------
    .. [1] Cover and Thomas (1991). Elements of information theory. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import MIFromEntropy
    >>> cov = [[1, 0.9], [0.9, 1]]  # mutual information 0.830
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{MIFromEntropy().estimate(X):.1f}")
    0.8
    """

    measure, method = "shannon", "entropies"
    estimates = "I = Σ H(x_m) - H(x)"
    cost = "that of its entropy, once a group and once more"
    assumptions = "those of its entropy"
    meta = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {"entropy": [EntropyEstimator, None]}

    def __init__(self, entropy=None):
        self.entropy = entropy

    def _estimate(self, blocks):
        entropy = KnnShannonEntropy() if self.entropy is None else self.entropy
        parts = sum(entropy.estimate(block) for block in blocks)
        return parts - entropy.estimate(np.hstack(blocks))


def joint_and_product(
    blocks: list[Floats], rng: np.random.RandomState, n_shuffles: int = 1
) -> tuple[Floats, Floats]:
    """Return half of the joint sample, and the other half with each group shuffled on its own."""
    n = blocks[0].shape[0]
    if n < 4:
        raise ValueError(f"The sample is split in two and needs at least 4 rows, got {n}.")
    order = rng.permutation(n)
    kept, other = order[: n // 2], order[n // 2 :]
    joint = np.hstack([block[kept] for block in blocks])
    shuffles = [
        np.hstack([block[rng.permutation(other)] for block in blocks]) for _ in range(n_shuffles)
    ]
    # Two shuffles may by chance make the same pair; a point twice has no nearest neighbour.
    product = shuffles[0] if n_shuffles == 1 else np.unique(np.vstack(shuffles), axis=0)
    return joint, product


class _DivergenceFromProduct(MutualInformationEstimator):
    """The divergence of a sample from the product of its marginals."""

    cost = "that of its divergence"
    assumptions = "those of its divergence, on half of the sample"
    meta = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "divergence": [DivergenceEstimator, None],
        "n_shuffles": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    divergence: Any
    n_shuffles: int
    random_state: Any

    def _from_product(self, blocks, divergence):
        rng = check_random_state(self.random_state)
        return divergence.estimate(*joint_and_product(blocks, rng, self.n_shuffles))


class MIFromDivergence(_DivergenceFromProduct):
    """Shannon mutual information as the divergence of the sample from the product of its parts.

    It uses half of the sample for each side: more variance than `KSGMutualInformation`. What it is
    for are divergences that nearest neighbours of the sample alone do not give.

    Parameters
    ----------
    divergence : DivergenceEstimator, default=None
        What estimates the Kullback-Leibler divergence; None for ``KnnKLDivergence()``.
    n_shuffles : int, default=1
        How often the half that stands for the product is shuffled. More shuffles fill the places
        where the product is thin, and cost accordingly.
    random_state : int, RandomState instance or None, default=None
        The generator that splits and shuffles; give one for the same answer twice.

    References
    ----------
    .. [1] Cover and Thomas (1991). Elements of information theory. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import MIFromDivergence
    >>> cov = [[1, 0.9], [0.9, 1]]  # mutual information 0.830
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{MIFromDivergence(random_state=0).estimate(X):.1f}")
    0.9
    """

    measure, method = "shannon", "divergence"
    estimates = "I = KL(p, ∏ p_m)"

    def __init__(self, divergence=None, n_shuffles=1, random_state=None):
        self.divergence = divergence
        self.n_shuffles = n_shuffles
        self.random_state = random_state

    def _estimate(self, blocks):
        return self._from_product(blocks, self.divergence or KnnKLDivergence())


class L2MutualInformation(_DivergenceFromProduct):
    """L2 distance of the joint density from the product of its marginals.

    Depends on the units of the data: scale them first.

    Parameters
    ----------
    divergence : DivergenceEstimator, default=None
        What estimates the L2 distance; None for ``KnnL2Divergence()``.
    n_shuffles : int, default=1
        How often the half that stands for the product is shuffled. More shuffles fill the places
        where the product is thin, and cost accordingly.
    random_state : int, RandomState instance or None, default=None
        The generator that splits and shuffles; give one for the same answer twice.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import L2MutualInformation
    >>> cov = [[1, 0.9], [0.9, 1]]  # 0.261
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{L2MutualInformation(random_state=0).estimate(X):.2f}")
    0.28
    """

    measure, method = "l2", "divergence"
    estimates = "√∫(p - ∏ p_m)²"

    def __init__(self, divergence=None, n_shuffles=1, random_state=None):
        self.divergence = divergence
        self.n_shuffles = n_shuffles
        self.random_state = random_state

    def _estimate(self, blocks):
        return self._from_product(blocks, self.divergence or KnnL2Divergence())


class Chi2MutualInformation(_DivergenceFromProduct):
    """Pearson χ² divergence of the joint density from the product of its marginals.

    Also called the mean square contingency. Hangs on few points where dependence is strong.

    Parameters
    ----------
    divergence : DivergenceEstimator, default=None
        What estimates the χ² divergence; None for ``Chi2Divergence()``.
    n_shuffles : int, default=10
        How often the half that stands for the product is shuffled. χ² hangs on the places where
        the product is thin; with one shuffle it comes out too small by more than its deviation.
    random_state : int, RandomState instance or None, default=None
        The generator that splits and shuffles; give one for the same answer twice.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import Chi2MutualInformation
    >>> cov = [[1, 0.5], [0.5, 1]]  # 1/(1 - 0.25) - 1 = 0.333
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=10000)
    >>> print(f"{Chi2MutualInformation(random_state=0).estimate(X):.1f}")
    0.3
    """

    measure, method = "chi2", "divergence"
    estimates = "∫p²/∏p_m - 1"

    def __init__(self, divergence=None, n_shuffles=10, random_state=None):
        self.divergence = divergence
        self.n_shuffles = n_shuffles
        self.random_state = random_state

    def _estimate(self, blocks):
        return self._from_product(blocks, self.divergence or Chi2Divergence())


class _OrderedFromProduct(_DivergenceFromProduct):
    """Divergences with an order α."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_DivergenceFromProduct._parameter_constraints,
        "alpha": KnnRenyiDivergence._parameter_constraints["alpha"],
    }
    alpha: float

    def _of_order(self, default):
        check_order(self.alpha, "alpha", "Shannon's mutual information")
        if self.divergence is None:
            return default(alpha=self.alpha)
        return clone(self.divergence).set_params(alpha=self.alpha)


class RenyiMutualInformation(_OrderedFromProduct):
    """Rényi divergence of the joint density from the product of its marginals.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, not 1.
    divergence : DivergenceEstimator, default=None
        What estimates the Rényi divergence, with a parameter ``alpha``; None for
        `KnnRenyiDivergence`.
    n_shuffles : int, default=1
        How often the half that stands for the product is shuffled. More shuffles fill the places
        where the product is thin, and cost accordingly.
    random_state : int, RandomState instance or None, default=None
        The generator that splits and shuffles; give one for the same answer twice.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import RenyiMutualInformation
    >>> cov = [[1, 0.9], [0.9, 1]]  # 0.737
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{RenyiMutualInformation(random_state=0).estimate(X):.1f}")
    0.8
    """

    measure, method = "renyi", "divergence"
    estimates = "log ∫p^α (∏p_m)^(1-α) / (α - 1)"

    def __init__(self, alpha=0.8, divergence=None, n_shuffles=1, random_state=None):
        self.alpha = alpha
        self.divergence = divergence
        self.n_shuffles = n_shuffles
        self.random_state = random_state

    def _estimate(self, blocks):
        return self._from_product(blocks, self._of_order(KnnRenyiDivergence))


class TsallisMutualInformation(_OrderedFromProduct):
    """Tsallis divergence of the joint density from the product of its marginals.

    Parameters
    ----------
    alpha : float, default=0.8
        The order, not 1.
    divergence : DivergenceEstimator, default=None
        What estimates the Tsallis divergence, with a parameter ``alpha``; None for
        `KnnTsallisDivergence`.
    n_shuffles : int, default=1
        How often the half that stands for the product is shuffled. More shuffles fill the places
        where the product is thin, and cost accordingly.
    random_state : int, RandomState instance or None, default=None
        The generator that splits and shuffles; give one for the same answer twice.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import TsallisMutualInformation
    >>> cov = [[1, 0.9], [0.9, 1]]  # 0.685
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{TsallisMutualInformation(random_state=0).estimate(X):.1f}")
    0.8
    """

    measure, method = "tsallis", "divergence"
    estimates = "(∫p^α (∏p_m)^(1-α) - 1) / (α - 1)"

    def __init__(self, alpha=0.8, divergence=None, n_shuffles=1, random_state=None):
        self.alpha = alpha
        self.divergence = divergence
        self.n_shuffles = n_shuffles
        self.random_state = random_state

    def _estimate(self, blocks):
        return self._from_product(blocks, self._of_order(KnnTsallisDivergence))
