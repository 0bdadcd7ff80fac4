"""How far moments may be from those of a sample, and what that means for the error of a machine.

`moment_deviation` bounds the distance of a mean or covariance from its estimate by the size of
the sample, for any distribution on a ball. `moment_uncertainty` turns that into the two terms
that the high-probability machine adds to each class, `largest_uncertainty` says how much of
them a problem can bear, and `worst_case_error` what a machine with a given κ guarantees.

References: S. Cousins, thesis on moments and multi-label learning (University College London),
Eq. (3.5)-(3.14) and Section 3.5; J. Shawe-Taylor and N. Cristianini (2003), "Estimating the
moments of a random vector with applications"; A. W. Marshall and I. Olkin (1960),
"Multivariate Chebyshev inequalities".
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = [
    "MomentUncertainty",
    "accuracy_to_kappa",
    "bootstrap_deviation",
    "largest_uncertainty",
    "moment_deviation",
    "moment_uncertainty",
    "worst_case_error",
]


class MomentUncertainty(NamedTuple):
    """What a class's moments may miss: ``offset`` and ``inflation``, class 0 before class 1.

    A class of which the mean may be wrong by ε and the covariance by η asks of a hyperplane
    that its mean lies (offset + κ²(wᵀΣw + inflation))^½ behind it, with offset = 4Rε and
    inflation = η.
    """

    offset: Floats
    inflation: Floats

    def times(self, share: float) -> MomentUncertainty:
        """Return a share of it."""
        return MomentUncertainty(share * self.offset, share * self.inflation)


@checked
def worst_case_error(kappa: ArrayLike) -> Any:
    """Return the largest error of any distribution whose mean lies κ deviations behind the plane.

    Parameters
    ----------
    kappa : float or array-like
        Distance of the class's mean from the hyperplane in standard deviations of its
        projection; at or below 0 the mean is on the wrong side.

    Returns
    -------
    error : float or ndarray
        1 / (1 + κ²), one for κ ≤ 0. It is attained by a distribution on two points.

    Examples
    --------
    >>> from octavo.svm import worst_case_error
    >>> float(worst_case_error(2.0))
    0.2
    """
    kappa = np.maximum(np.asarray(kappa, dtype=np.float64), 0.0)
    return 1.0 / (1.0 + kappa**2)  # Eq. (3.5) and (3.6)


@checked
def accuracy_to_kappa(accuracy: ArrayLike) -> Any:
    """Return the κ that guarantees an accuracy: the inverse of 1 - `worst_case_error`.

    Parameters
    ----------
    accuracy : float or array-like
        Share of a class that must be right whatever its distribution, in [0, 1).

    Returns
    -------
    kappa : float or ndarray
        (ω / (1 - ω))^½.

    Examples
    --------
    >>> from octavo.svm import accuracy_to_kappa
    >>> float(accuracy_to_kappa(0.8))
    2.0
    """
    accuracy = np.asarray(accuracy, dtype=np.float64)
    if not np.all((accuracy >= 0.0) & (accuracy < 1.0)):
        raise ValueError(f"accuracy must lie in [0, 1), got {accuracy}.")
    return np.sqrt(accuracy / (1.0 - accuracy))


@checked
def moment_deviation(m: float, radius: float = 1.0, delta: float = 0.05, kind: str = "mean") -> Any:
    """Return how far a sample's mean or covariance is from the truth, with probability 1 - δ.

    Parameters
    ----------
    m : float
        Size of the sample.
    radius : float, default=1.0
        No point of the distribution is farther from the origin.
    delta : float, default=0.05
        Probability that the bound fails.
    kind : {"mean", "cov"}, default="mean"
        Euclidean distance of the means, or Frobenius distance of the covariances.

    Returns
    -------
    deviation : float
        R/√m (2 + √(2 ln 1/δ)) for the mean, 2R²/√m (2 + √(2 ln 2/δ)) for the covariance.

    Examples
    --------
    >>> from octavo.svm import moment_deviation
    >>> round(moment_deviation(100, radius=2.0, delta=0.05), 3)
    0.89
    """
    if not m > 0:
        raise ValueError(f"The sample must have at least one row, got m={m!r}.")
    if not radius >= 0:
        raise ValueError(f"radius must be >= 0, got {radius!r}.")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta!r}.")
    if kind == "mean":  # Eq. (3.12)
        return radius / math.sqrt(m) * (2.0 + math.sqrt(2.0 * math.log(1.0 / delta)))
    if kind == "cov":
        # as Eq. (3.12) for xxᵀ, whose norm is at most R²
        return 2.0 * radius**2 / math.sqrt(m) * (2.0 + math.sqrt(2.0 * math.log(2.0 / delta)))
    raise ValueError(f"kind must be 'mean' or 'cov', got {kind!r}.")


@checked
def bootstrap_deviation(
    X: ArrayLike, delta: float = 0.05, n_bootstrap: int = 200, random_state: Any = None
) -> tuple[float, float]:
    """Return how far means and covariances of resamples are from those of the sample.

    A much smaller, but only asymptotic, alternative to `moment_deviation`; Section 3.5 of the
    thesis suggests it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of one class.
    delta : float, default=0.05
        Share of the resamples that may be farther.
    n_bootstrap : int, default=200
        Number of resamples.
    random_state : None, int or RandomState, default=None
        Draws the resamples.

    Returns
    -------
    mean, cov : tuple of float
        The 1 - δ quantiles of the Euclidean distance of the means and of the Frobenius distance
        of the covariances.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import bootstrap_deviation
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> mean, cov = bootstrap_deviation(X, random_state=0)
    >>> round(mean, 2), round(cov, 2)
    (0.13, 0.24)
    """
    X = np.asarray(X, dtype=np.float64)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta!r}.")
    if n_bootstrap < 1:
        raise ValueError(f"n_bootstrap must be at least 1, got {n_bootstrap!r}.")
    rng = check_random_state(random_state)
    m = len(X)
    centred = X - X.mean(axis=0)
    cov = centred.T @ centred / m
    far = np.empty((n_bootstrap, 2))
    for b in range(n_bootstrap):
        drawn = centred[rng.randint(m, size=m)]
        mean = drawn.mean(axis=0)
        other = drawn.T @ drawn / m - np.outer(mean, mean)
        far[b] = np.linalg.norm(mean), np.linalg.norm(other - cov)
    mean_far, cov_far = np.quantile(far, 1.0 - delta, axis=0)
    return float(mean_far), float(cov_far)


@checked
def moment_uncertainty(
    n: ArrayLike, radius: float = 1.0, delta: float = 0.05, bound: str = "thesis"
) -> MomentUncertainty:
    """Return what the machine must allow for in classes of these sizes.

    Parameters
    ----------
    n : array-like of shape (2,)
        Sizes of class 0 and class 1.
    radius : float, default=1.0
        No point is farther from the origin.
    delta : float, default=0.05
        Probability that the guarantee fails.
    bound : {"thesis", "union"}, default="thesis"
        As printed, with ln(2/δ) for every moment; or with the logarithms that make all four
        bounds (two moments, two classes) hold together: ln(4/δ) for means and ln(8/δ) for
        covariances.

    Returns
    -------
    uncertainty : MomentUncertainty
        The thesis's 2A_j and A_j, or their counterparts.

    Examples
    --------
    >>> from octavo.svm import moment_uncertainty
    >>> moment_uncertainty([100, 25]).inflation.round(3).tolist()
    [0.943, 1.886]
    """
    if bound not in ("thesis", "union"):
        raise ValueError(f"bound must be 'thesis' or 'union', got {bound!r}.")
    for_mean, for_cov = (delta / 2, delta) if bound == "thesis" else (delta / 4, delta / 4)
    n = np.asarray(n, dtype=np.float64)
    offset = [4.0 * radius * moment_deviation(m, radius, for_mean, "mean") for m in n]
    inflation = [moment_deviation(m, radius, for_cov, "cov") for m in n]
    return MomentUncertainty(np.array(offset), np.array(inflation))  # Eq. (3.13) and (3.14)


@checked
def largest_uncertainty(distance: float, uncertainty: MomentUncertainty) -> float:
    """Return the share of the uncertainty at which a problem stops having a solution.

    Parameters
    ----------
    distance : float
        Distance of the class means (in the norm dual to that of the weights).
    uncertainty : MomentUncertainty
        At full size.

    Returns
    -------
    nu_max : float
        Below this share some hyperplane guarantees something; from it on, none does.

    Examples
    --------
    >>> from octavo.svm import largest_uncertainty, moment_uncertainty
    >>> round(largest_uncertainty(1.2, moment_uncertainty([10_000, 10_000], radius=1.0)), 3)
    1.908
    """
    return float((distance / np.sqrt(uncertainty.offset).sum()) ** 2)  # Corollary 8
