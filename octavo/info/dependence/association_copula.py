"""Association by ranks for any number of variables: Spearman's ρ, its tails, Blomqvist's β.

Positive when the variables are large together or small together. All are functions of the
empirical copula: no monotone transform of a variable changes them.

References: Schmid and Schmidt (2007), "Multivariate extensions of Spearman's rho and related
statistics", Statistics and Probability Letters 77:407-416; Schmid and Schmidt (2007),
"Multivariate conditional versions of Spearman's rho and related measures of tail dependence",
Journal of Multivariate Analysis 98:1123-1140; Schmid and Schmidt (2007), "Nonparametric
inference on multivariate versions of Blomqvist's beta and related measures of tail
dependence", Metrika 66:323-354.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.probability.copula import pseudo_observations
from octavo.info.estimators import AssociationEstimator
from octavo.info.point_kernels import not_constant

__all__ = [
    "BlomqvistBeta",
    "ConditionalSpearman",
    "LowerTailSpearman",
    "SpearmanRho1",
    "SpearmanRho2",
    "SpearmanRho3",
    "SpearmanRho4",
    "UpperTailSpearman",
]


def product_excess(*margins: np.ndarray) -> float:
    """Return how far E∏fⱼ(uⱼ) lies from independent towards comonotone variables: 0 to 1.

    The means of ∏fⱼ over the sample, over independent variables and over comonotone ones with
    the very same columns, so that the ends are exact for any sample size: for two columns
    it is their correlation. The published constants are the limits of large samples.

    Parameters
    ----------
    *margins : ndarray of shape (n_samples, n_features)
        Functions of the pseudo-observations, monotone in each; those of several arrays are added.

    Returns
    -------
    float
        The share of the excess of comonotone variables.
    """
    independent = sum(F.mean(axis=0).prod() for F in margins)
    found = sum(F.prod(axis=1).mean() for F in margins)
    most = sum(np.sort(F, axis=0).prod(axis=1).mean() for F in margins)
    # h_d(2^d E∏ - 1) with the sample's own extremes in place of those of uniform margins.
    return float((found - independent) / (most - independent))


def mean_pair_correlation(U: np.ndarray) -> float:
    """Return the mean correlation of two different columns."""
    d = U.shape[1]
    return float((np.corrcoef(U.T).sum() - d) / (d * (d - 1)))


def spearman_rho(U: np.ndarray, version: int = 3) -> float:
    """Return Spearman's ρ of pseudo-observations in one of its four multivariate versions.

    Parameters
    ----------
    U : ndarray of shape (n_samples, n_features)
        Pseudo-observations.
    version : {1, 2, 3, 4}, default=3
        ρ1 weighs joint small values, from ∫C dΠ; ρ2 joint large values, from ∫Π dC; ρ3 is
        their mean and ρ4 the mean of the pairs. One and the same for two variables.

    Returns
    -------
    float
        The association.
    """
    if version == 4:
        return mean_pair_correlation(U)
    wanted: Sequence[np.ndarray] = {1: [1.0 - U], 2: [U], 3: [1.0 - U, U]}[version]
    return float(np.mean([product_excess(F) for F in wanted]))


def conditional_spearman(U: np.ndarray, p: float, tail: str = "lower") -> float:
    """Return Spearman's ρ of the corner of the unit cube where all variables are small or large.

    The integrals of C − Π over [0, p]^d, or over [1 − p, 1]^d, over those of M − Π, where
    M(u) = min u is the copula of comonotone variables.

    Parameters
    ----------
    U : ndarray of shape (n_samples, n_features)
        Pseudo-observations.
    p : float
        Edge of the corner, 0 < p ≤ 1; at 1 both tails are ρ1.
    tail : {"lower", "upper"}, default="lower"
        The corner.

    Returns
    -------
    float
        The association in that corner, 1 for comonotone variables.
    """
    if tail == "lower":
        return product_excess(np.maximum(p - U, 0.0))  # ∫ 1[u ≥ U] over [0, p]
    return product_excess(np.minimum(1.0 - U, p))  # ∫ 1[u ≥ U] over [1 − p, 1]


def blomqvist_beta(U: np.ndarray) -> float:
    """Return Blomqvist's β: how much oftener than by chance all lie on one side of the median.

    Parameters
    ----------
    U : ndarray of shape (n_samples, n_features)
        Pseudo-observations.

    Returns
    -------
    float
        The association, 1 for comonotone variables.
    """
    low = (U <= 0.5).astype(float)
    return product_excess(low, 1.0 - low)  # P(all ≤ median) + P(all > median)


def column_ranks(X: np.ndarray, name: str) -> np.ndarray:
    """Return the pseudo-observations of columns none of which is constant."""
    return pseudo_observations(not_constant(X, name))


def corner_ranks(X: np.ndarray, share: float) -> np.ndarray:
    """Return the pseudo-observations, if a corner of that edge holds enough of each column."""
    n = len(X)
    if share * (n + 1) <= 2.0:
        raise ValueError(
            f"share={share:g} leaves fewer than two of {n} samples in the tail of a variable; the "
            f"least is {2 / (n + 1):.3g}."
        )
    return column_ranks(X, "Spearman's rho")


class SpearmanRho1(AssociationEstimator):
    """Spearman's ρ of any number of variables, from the volume under their copula.

    Positive where the variables are small together oftener than independent ones; 1 for
    comonotone variables, at every sample size. Unchanged by monotone transforms. For two
    variables all four versions are `scipy.stats.spearmanr`.

    References
    ----------
    .. [1] Schmid and Schmidt (2007). Multivariate extensions of Spearman's rho and related
       statistics. Statistics and Probability Letters 77:407-416.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import SpearmanRho1
    >>> cov = [[1, 0.5], [0.5, 1]]  # (6/π) asin(1/4) = 0.483
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{SpearmanRho1().estimate(X):.2f}")
    0.49
    """

    measure, method = "spearman1", "copula"
    estimates = "h(d) (2^d ∫ C dΠ - 1)"
    cost = "O(N d log N)"
    assumptions = "i.i.d.; continuous variables"

    def _estimate(self, X):
        return spearman_rho(column_ranks(X, "Spearman's rho"), 1)


class SpearmanRho2(AssociationEstimator):
    """Spearman's ρ of any number of variables, from the mean product of their ranks.

    Positive where the variables are large together oftener than independent ones; 1 for
    comonotone variables, at every sample size. Unchanged by monotone transforms.

    References
    ----------
    .. [1] Schmid and Schmidt (2007). Multivariate extensions of Spearman's rho and related
       statistics. Statistics and Probability Letters 77:407-416.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import SpearmanRho2
    >>> cov = [[1, 0.5], [0.5, 1]]  # (6/π) asin(1/4) = 0.483
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{SpearmanRho2().estimate(X):.2f}")
    0.49
    """

    measure, method = "spearman2", "copula"
    estimates = "h(d) (2^d ∫ Π dC - 1)"
    cost = "O(N d log N)"
    assumptions = "i.i.d.; continuous variables"

    def _estimate(self, X):
        return spearman_rho(column_ranks(X, "Spearman's rho"), 2)


class SpearmanRho3(AssociationEstimator):
    """Spearman's ρ of any number of variables: the mean of ρ1 and ρ2.

    ρ1 weighs what is small together, ρ2 what is large together; their mean is unchanged when
    all variables are reflected, and by monotone transforms; 1 for comonotone
    variables, at every sample size.

    References
    ----------
    .. [1] Schmid and Schmidt (2007). Multivariate extensions of Spearman's rho and related
       statistics. Statistics and Probability Letters 77:407-416.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import SpearmanRho3
    >>> cov = [[1, 0.5], [0.5, 1]]  # (6/π) asin(1/4) = 0.483
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{SpearmanRho3().estimate(X):.2f}")
    0.49
    """

    measure, method = "spearman3", "copula"
    estimates = "(ρ1 + ρ2) / 2"
    cost = "O(N d log N)"
    assumptions = "i.i.d.; continuous variables"

    def _estimate(self, X):
        return spearman_rho(column_ranks(X, "Spearman's rho"), 3)


class SpearmanRho4(AssociationEstimator):
    """Spearman's ρ of any number of variables: the mean over all pairs.

    It sees no dependence that the pairs do not show. Unchanged by monotone transforms; for two
    variables the classical coefficient.

    References
    ----------
    .. [1] Schmid and Schmidt (2007). Multivariate extensions of Spearman's rho and related
       statistics. Statistics and Probability Letters 77:407-416.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import SpearmanRho4
    >>> cov = [[1, 0.5], [0.5, 1]]  # (6/π) asin(1/4) = 0.483
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{SpearmanRho4().estimate(X):.2f}")
    0.49
    """

    measure, method = "spearman4", "copula"
    estimates = "mean over pairs of 12 ∫ C_kl - 3"
    cost = "O(N d log N)"
    assumptions = "i.i.d.; continuous variables"

    def _estimate(self, X):
        return spearman_rho(column_ranks(X, "Spearman's rho"), 4)


class ConditionalSpearman(AssociationEstimator):
    """Spearman's ρ of the corner where all variables are small, or all large.

    A share of 1 gives ρ1; smaller ones look at extremes only. Gaussian variables keep little of
    their association there, while markets in a crash gain.

    Parameters
    ----------
    share : float, default=0.5
        Edge of the corner: the share of each variable's smallest or largest values.
    tail : {"lower", "upper"}, default="lower"
        The corner.

    References
    ----------
    .. [1] Schmid and Schmidt (2007). Multivariate conditional versions of Spearman's rho and
       related measures of tail dependence. Journal of Multivariate Analysis 98:1123-1140.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import ConditionalSpearman
    >>> rng = np.random.default_rng(0)
    >>> X = rng.exponential(size=(5000, 2)) / rng.gamma(0.5, size=(5000, 1))  # large together
    >>> for tail in ("lower", "upper"):
    ...     print(f"{ConditionalSpearman(share=0.3, tail=tail).estimate(X):.1f}")
    0.4
    0.8
    """

    measure, method = "conditional_spearman", "copula"
    estimates = "∫ (C - Π) / ∫ (M - Π) over a corner"
    cost = "O(N d log N)"
    assumptions = "i.i.d.; continuous variables; many samples in the corner"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "share": [Interval(Real, 0, 1, closed="right")],
        "tail": [StrOptions({"lower", "upper"})],
    }

    def __init__(self, share=0.5, tail="lower"):
        self.share = share
        self.tail = tail

    def _estimate(self, X):
        return conditional_spearman(corner_ranks(X, self.share), self.share, self.tail)


class LowerTailSpearman(AssociationEstimator):
    """Lower tail dependence: Spearman's ρ of the lower corner as the corner shrinks.

    The conditional ρ of a share of each variable's smallest values as it shrinks: 0 where
    extremes come apart (Gaussian variables), positive where they come together. Few points
    lie in the corner, so thousands of samples are needed.

    Parameters
    ----------
    share : float, default=None
        Edge of the corner; None for N^(−1/2), which shrinks while the points in it grow.

    References
    ----------
    .. [1] Schmid and Schmidt (2007). Multivariate conditional versions of Spearman's rho and
       related measures of tail dependence. Journal of Multivariate Analysis 98:1123-1140.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import LowerTailSpearman
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.pareto(2, size=(5000, 1))
    >>> X = -(shared + rng.exponential(size=(5000, 2)))
    >>> print(f"{LowerTailSpearman().estimate(X):.1f}")
    1.0
    """

    measure, method = "spearman_lower_tail", "copula"
    estimates = "limit of the lower conditional ρ as its share → 0"
    cost = "O(N d log N)"
    assumptions = "i.i.d.; continuous variables; thousands of samples"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "share": [Interval(Real, 0, 1, closed="right"), None]
    }

    def __init__(self, share=None):
        self.share = share

    def _estimate(self, X):
        share = self.share or len(X) ** -0.5
        return conditional_spearman(corner_ranks(X, share), share, "lower")


class UpperTailSpearman(AssociationEstimator):
    """Upper tail dependence: Spearman's ρ of the upper corner as the corner shrinks.

    The conditional ρ of a share of each variable's largest values as it shrinks: 0 where
    extremes come apart (Gaussian variables), positive where they come together. Few points
    lie in the corner, so thousands of samples are needed.

    Parameters
    ----------
    share : float, default=None
        Edge of the corner; None for N^(−1/2), which shrinks while the points in it grow.

    References
    ----------
    .. [1] Schmid and Schmidt (2007). Multivariate conditional versions of Spearman's rho and
       related measures of tail dependence. Journal of Multivariate Analysis 98:1123-1140.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import UpperTailSpearman
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.pareto(2, size=(5000, 1))
    >>> X = (shared + rng.exponential(size=(5000, 2)))
    >>> print(f"{UpperTailSpearman().estimate(X):.1f}")
    1.0
    """

    measure, method = "spearman_upper_tail", "copula"
    estimates = "limit of the upper conditional ρ as its share → 0"
    cost = "O(N d log N)"
    assumptions = "i.i.d.; continuous variables; thousands of samples"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "share": [Interval(Real, 0, 1, closed="right"), None]
    }

    def __init__(self, share=None):
        self.share = share

    def _estimate(self, X):
        share = self.share or len(X) ** -0.5
        return conditional_spearman(corner_ranks(X, share), share, "upper")


class BlomqvistBeta(AssociationEstimator):
    """Blomqvist's β of any number of variables: how often all lie on one side of the medians.

    Rescaled from chance (0) to comonotone variables (1). The most robust of the measures and the
    least precise: only the sides of the medians count.

    References
    ----------
    .. [1] Schmid and Schmidt (2007). Nonparametric inference on multivariate versions of
       Blomqvist's beta and related measures of tail dependence. Metrika 66:323-354.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import BlomqvistBeta
    >>> cov = [[1, 0.5], [0.5, 1]]  # (2/π) asin(1/2) = 0.333
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{BlomqvistBeta().estimate(X):.2f}")
    0.36
    """

    measure, method = "blomqvist", "copula"
    estimates = "h(d) (C(½, …) + survival(½, …) - 2^(1 - d))"
    cost = "O(N d log N)"
    assumptions = "i.i.d.; continuous variables"

    def _estimate(self, X):
        return blomqvist_beta(column_ranks(X, "Blomqvist's beta"))
