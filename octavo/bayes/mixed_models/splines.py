"""O'Sullivan penalised splines in the form that mixed models use.

Cubic B-splines B have the roughness matrix Omega = integral of B'' B''', of nullity two (straight
lines). With Omega = U diag(d) U', the columns Z = B U_+ diag(d_+)^(-1/2) make the roughness of
f = Z u equal to |u|^2, so that u ~ N(0, sigma^2 I) is a smoothing spline with penalty 1 / sigma^2.

Reference: M. P. Wand and J. T. Ormerod (2008), "On semiparametric regression with O'Sullivan
penalised splines", Australian and New Zealand Journal of Statistics 50; in Wand (2014), Eq. (13).
"""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.interpolate import BSpline
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["OSullivanSplines"]


class SplineBasis(NamedTuple):
    """One feature's penalised columns: its range, knots on [0, 1], and U_+ diag(d_+)^(-1/2)."""

    low: float
    high: float
    knots: Floats
    turn: Floats

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.turn.shape[1]


def roughness(knots: Floats) -> Floats:
    """Return the integral of B'' B''' over the range of the knots.

    B'' is linear between knots, so that Simpson's rule is exact on each interval.
    """
    size = len(knots) - 4
    second = BSpline(knots, np.eye(size), 3).derivative(2)
    breaks = np.unique(knots)
    omega = np.zeros((size, size))
    for left, right in pairwise(breaks):
        # Simpson's rule, exact for the square of a straight line
        for point, weight in ((left, 1.0), (0.5 * (left + right), 4.0), (right, 1.0)):
            # The last interval is half open: evaluate just inside it.
            at = second(min(point, np.nextafter(1.0, 0.0)))
            omega += weight * (right - left) / 6.0 * np.outer(at, at)
    return omega


def spline_basis(x: Floats, n_basis: int) -> SplineBasis:
    """Return the basis of a feature; without columns where it is constant."""
    seen = np.unique(x)
    low, high = float(seen[0]), float(seen[-1])
    if not high > low:
        return SplineBasis(low, high, np.zeros(0), np.zeros((0, 0)))
    # knots at quantiles of distinct values
    inner = np.quantile((seen - low) / (high - low), np.linspace(0, 1, n_basis)[1:-1])
    knots = np.concatenate([np.zeros(4), inner, np.ones(4)])
    values, vectors = np.linalg.eigh(roughness(knots))
    # On [0, 1] the roughness is that on the feature's own scale times its range cubed.
    # the two flat directions, straight lines, go
    turn = vectors[:, 2:] / np.sqrt(values[2:]) * (high - low) ** 1.5
    return SplineBasis(low, high, knots, turn)


def spline_columns(basis: SplineBasis, x: Floats) -> Floats:
    """Return Z at some points; beyond the range of the data functions go on as straight lines."""
    if basis.size == 0:
        return np.zeros((len(x), 0))
    at = (x - basis.low) / (basis.high - basis.low)
    inside = np.clip(at, 0.0, 1.0)
    B = BSpline.design_matrix(inside, basis.knots, 3).toarray()
    beyond = at - inside
    if beyond.any():
        slopes = BSpline(basis.knots, np.eye(len(basis.knots) - 4), 3).derivative(1)(inside)
        B = B + beyond[:, None] * slopes  # linear beyond the ends, as natural splines are
    return B @ basis.turn


class OSullivanSplines(TransformerMixin, SoundEstimator):
    """Penalised spline columns of each feature, whose squared coefficients are its roughness.

    A curve f = Z u has the integral of f''^2 equal to the sum of u^2; straight lines are not among
    the columns, so keep the feature itself beside them.

    Parameters
    ----------
    n_basis : int, default=18
        Number of columns per feature, the paper's K: two more than there are inner knots, which
        stand at quantiles of the feature's distinct values.

    Attributes
    ----------
    bases_ : list
        One basis per feature: its range, knots and rotation. A constant feature has no columns.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Their names, where X had names.

    See Also
    --------
    HeteroscedasticAdditiveRegressor : Smooth curves for the mean and for the variance.

    Notes
    -----
    Do not use it without a penalty on the coefficients: for regression splines there is
    `sklearn.preprocessing.SplineTransformer`.

    References
    ----------
    .. [1] M. P. Wand and J. T. Ormerod (2008). "On semiparametric regression with O'Sullivan
       penalised splines". Australian and New Zealand Journal of Statistics 50.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import OSullivanSplines
    >>> X = np.linspace(0, 2, 50)[:, None]
    >>> Z = OSullivanSplines(n_basis=6).fit_transform(X)
    >>> Z.shape
    (50, 6)

    The roughness of x^3 on [0, 2] is the integral of (6x)^2, which is 96:

    >>> basis = np.column_stack([np.ones(50), X, Z])
    >>> u = np.linalg.lstsq(basis, X[:, 0] ** 3)[0][2:]
    >>> round(float(u @ u), 6)
    96.0
    """

    _parameter_constraints: dict[str, Any] = {
        "n_basis": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, n_basis: int = 18) -> None:
        self.n_basis = n_basis

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Place the knots of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The features.
        y : None
            Ignored.

        Returns
        -------
        self : OSullivanSplines
            The fitted transformer.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.bases_ = [spline_basis(column, self.n_basis) for column in X.T]
        return self

    def transform(self, X: Any) -> Floats:
        """Return the penalised columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The features; beyond the range seen in fit columns go on as straight lines.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_columns)
            ``n_basis`` columns for each feature that varies, feature by feature.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.concatenate(
            [spline_columns(basis, column) for basis, column in zip(self.bases_, X.T)], axis=1
        )

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features; those of fit, or x0, x1, ..., by default.

        Returns
        -------
        names : ndarray of str
            The feature's name, "_spline" and a number.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            if names is not None and not np.array_equal(names, given):
                raise ValueError("input_features is not equal to feature_names_in_.")
            if len(given) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}."
                )
            names = given
        if names is None:
            names = np.array([f"x{j}" for j in range(self.n_features_in_)], dtype=object)
        return np.array(
            [f"{name}_spline{k}" for name, b in zip(names, self.bases_) for k in range(b.size)],
            dtype=object,
        )
