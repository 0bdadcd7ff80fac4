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

import numpy as np


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
    return product_excess(low, 1.0 - low)
