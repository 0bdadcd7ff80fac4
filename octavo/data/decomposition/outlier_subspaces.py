"""Points on a low-dimensional subspace among outliers: the models of Zhang and Lerman (2014)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["OutlierSubspace", "make_outlier_subspace"]


class OutlierSubspace(NamedTuple):
    """Rows `X`, which of them are inliers (`is_inlier`), and an orthonormal `basis` (D, d)."""

    X: np.ndarray
    is_inlier: np.ndarray
    basis: np.ndarray


def _outliers(kind: str, n: int, D: int, scale: float, rng) -> np.ndarray:
    if kind == "cube":
        return scale * rng.uniform(size=(n, D))
    gaussian = rng.standard_normal((n, D)) * (scale / np.sqrt(D))
    if kind == "haystack":
        return gaussian
    # Section 2.6.2: N(0, Σ₀/D) with Σ₀ far from a multiple of the identity.
    axes = np.linalg.qr(rng.standard_normal((D, D)))[0]
    return gaussian * np.sqrt(np.geomspace(1.0, 0.01, D)) @ axes.T


@checked
@validate_params(
    {
        "n_inliers": [Interval(Integral, 0, None, closed="left")],
        "n_outliers": [Interval(Integral, 0, None, closed="left")],
        "D": [Interval(Integral, 2, None, closed="left")],
        "d": [Interval(Integral, 1, None, closed="left")],
        "inlier_scale": [None, Interval(Real, 0, None, closed="neither")],
        "outlier_scale": [Interval(Real, 0, None, closed="neither")],
        "outliers": [StrOptions({"haystack", "cube", "asymmetric"})],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_outlier_subspace(
    n_inliers,
    n_outliers,
    D,
    d,
    *,
    inlier_scale=None,
    outlier_scale=1.0,
    outliers="cube",
    noise=0.0,
    random_state=None,
):
    """Draw points of a random subspace and outliers around it.

    Parameters
    ----------
    n_inliers, n_outliers : int
        How many rows of each kind; inliers come first.
    D : int
        Dimension of the space.
    d : int
        Dimension of the subspace, below `D`.
    inlier_scale : float, default=None
        Inliers are Gaussian on the subspace with this root mean square norm, σ₁. None stands
        for √d, variance one in every direction, as in Section 6.1.
    outlier_scale : float, default=1.0
        Root mean square norm σ₀ of the Gaussian outliers, or the side of the cube.
    outliers : {"cube", "haystack", "asymmetric"}, default="cube"
        "cube": uniform on [0, 1]^D, far from symmetric about the subspace (Section 6.1).
        "haystack": N(0, σ₀² I / D) (Section 2.6.1). "asymmetric": Gaussian of a covariance
        whose eigenvalues span two orders of magnitude (Section 2.6.2).
    noise : float, default=0.0
        Standard deviation η of Gaussian noise that is added to every coordinate.
    random_state : int, RandomState instance or None, default=None
        Of the subspace and the rows.

    Returns
    -------
    OutlierSubspace
        A named tuple of `X` of shape (n_inliers + n_outliers, D), `is_inlier` of shape
        (n_inliers + n_outliers,) and `basis` of shape (D, d), with orthonormal columns.

    References
    ----------
    .. [1] Zhang and Lerman (2014). A novel M-estimator for robust PCA. JMLR 15:749-808.

    Examples
    --------
    >>> from octavo.data import make_outlier_subspace
    >>> sample = make_outlier_subspace(50, 30, 10, 2, random_state=0)
    >>> sample.X.shape, int(sample.is_inlier.sum())
    ((80, 10), 50)
    """
    if d >= D:
        raise ValueError(f"d must be below D={D}, got d={d}: the subspace would be everything.")
    rng = check_random_state(random_state)
    basis = np.linalg.qr(rng.standard_normal((D, d)))[0]
    spread = 1.0 if inlier_scale is None else inlier_scale / np.sqrt(d)
    inside = spread * rng.standard_normal((n_inliers, d)) @ basis.T
    X = np.vstack([inside, _outliers(outliers, n_outliers, D, outlier_scale, rng)])
    if noise:
        X += noise * rng.standard_normal(X.shape)
    return OutlierSubspace(X, np.arange(len(X)) < n_inliers, basis)
