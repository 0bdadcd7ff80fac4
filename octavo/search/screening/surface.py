"""Second-order response surfaces: stationary point, curvature and ridge analysis (step O4)."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.linalg.sphere_quadratic import minimize_quadratic_on_sphere

__all__ = ["RidgePoint", "SecondOrderModel"]

FLAT = 1e-10  # an eigenvalue below this share of the largest is none


class RidgePoint(NamedTuple):
    """The best point at a distance from the middle, and the response predicted there."""

    coded: Floats
    response: float


def second_order_columns(X: Floats) -> Floats:
    """Return 1, x_i, x_i², x_i x_j (i < j), in that order."""
    i, j = np.triu_indices(X.shape[1], 1)
    return np.hstack([np.ones((len(X), 1)), X, X**2, X[:, i] * X[:, j]])


class SecondOrderModel(RegressorMixin, SoundEstimator):
    """A quadratic y = b0 + bᵀx + xᵀBx by least squares, its stationary point and its ridges.

    Attributes
    ----------
    intercept_ : float
        b0.
    coef_ : ndarray of shape (n_features,)
        b.
    curvature_ : ndarray of shape (n_features, n_features)
        B, symmetric: half of the interactions stands on either side of the diagonal.
    stationary_point_ : ndarray of shape (n_features,)
        -B⁻¹b / 2; where B is singular, the smallest solution in the sense of least squares.
    stationary_response_ : float
        The prediction there.
    eigenvalues_ : ndarray of shape (n_features,)
        Of B, ascending.
    kind_ : {"maximum", "minimum", "saddle", "flat"}
        What the stationary point is; "flat" where an eigenvalue is zero.
    r2_ : float
        R² of the fit.
    n_features_in_ : int
        Number of factors.

    Notes
    -----
    It needs at least (d + 1)(d + 2) / 2 different runs for d factors, such as those of
    `central_composite`; with fewer, the coefficients of least norm are taken, with a warning. Do
    not trust a stationary point outside of the runs; `ridge` stays near.

    References
    ----------
    A. Srinivasan and G. Ramakrishnan (2011). Parameter Screening and Optimisation for ILP using
    Designed Experiments. Journal of Machine Learning Research 12, Section 4.2.

    Examples
    --------
    >>> from octavo.search import SecondOrderModel, central_composite
    >>> X = central_composite(2)
    >>> y = 5 - (X[:, 0] - 0.3) ** 2 - 2 * (X[:, 1] + 0.2) ** 2
    >>> model = SecondOrderModel().fit(X, y)
    >>> print(model.stationary_point_.round(3), model.kind_)
    [ 0.3 -0.2] maximum
    """

    _parameter_constraints: dict = {}

    def fit(self, X: Any, y: Any) -> SecondOrderModel:
        """Fit the quadratic.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Coded factors.
        y : array-like of shape (n_samples,)
            Responses.

        Returns
        -------
        self : SecondOrderModel
            The fitted model.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        check_squares(X)
        check_squares(y, "y")
        d = X.shape[1]
        scale = np.abs(X).max(axis=0)
        scale[scale == 0.0] = 1.0
        unit = float(np.abs(y).max()) or 1.0
        columns = second_order_columns(X / scale)
        n_terms = columns.shape[1]
        rank = int(np.linalg.matrix_rank(columns))
        if rank < n_terms:
            warnings.warn(
                f"A second-order model of {d} features has {n_terms} coefficients, and these "
                f"{len(X)} samples determine {rank}; the smallest are taken. Run a central "
                "composite design.",
                UserWarning,
                stacklevel=3,
            )
        found = np.linalg.lstsq(columns, y / unit, rcond=None)[0]
        self.intercept_ = float(found[0] * unit)
        b, B = found[1 : d + 1], np.diag(found[d + 1 : 2 * d + 1])
        B[np.triu_indices(d, 1)] = found[2 * d + 1 :] / 2.0  # x_i x_j stands twice in xᵀBx
        B = np.triu(B) + np.triu(B, 1).T
        self.coef_ = b * unit / scale
        self.curvature_ = B * unit / np.outer(scale, scale)
        total = float(np.sum((y / unit - (y / unit).mean()) ** 2))
        residual = float(np.sum((y / unit - columns @ found) ** 2))
        self.r2_ = 1.0 - residual / total if total > 0.0 else 0.0
        values = np.linalg.eigvalsh(B)
        size = float(np.abs(found).max()) or 1.0
        # -B⁻¹b / 2, the shortest where B is singular
        self.stationary_point_ = scale * np.linalg.lstsq(-2.0 * B, b, rcond=FLAT)[0]
        self.stationary_response_ = float(self._at(self.stationary_point_[None])[0])
        self.eigenvalues_ = np.linalg.eigvalsh(self.curvature_)
        signs = np.where(np.abs(values) <= FLAT * size, 0.0, np.sign(values))
        kinds = {(-1.0,): "maximum", (1.0,): "minimum", (-1.0, 1.0): "saddle"}
        self.kind_ = kinds.get(tuple(np.unique(signs)), "flat")
        return self

    def _at(self, X: Floats) -> Floats:
        return self.intercept_ + X @ self.coef_ + np.einsum("ni,ij,nj->n", X, self.curvature_, X)

    def predict(self, X: Any) -> Floats:
        """Predict responses.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Coded factors.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        return self._at(validate_data(self, X, dtype=np.float64, reset=False))

    def ridge(self, radius: float, maximize: bool = True) -> RidgePoint:
        """Return the best point at a distance from the middle (ridge analysis).

        Parameters
        ----------
        radius : float
            The distance, in coded units.
        maximize : bool, default=True
            Whether larger responses are better.

        Returns
        -------
        point : RidgePoint
            Where, and what is predicted there.
        """
        check_is_fitted(self)
        sign = 1.0 if maximize else -1.0
        # the best of x'Bx + b'x is the least of z'Sz - 2c'z with S = -B and c = b/2
        found = minimize_quadratic_on_sphere(
            -sign * self.curvature_, sign * self.coef_ / 2.0, radius
        )
        return RidgePoint(found.z, float(self._at(found.z[None])[0]))

    def best_within(self, radius: float, maximize: bool = True) -> RidgePoint:
        """Return the best point no further than a distance from the middle.

        Parameters
        ----------
        radius : float
            The distance, in coded units.
        maximize : bool, default=True
            Whether larger responses are better.

        Returns
        -------
        point : RidgePoint
            The stationary point if it is of the right kind and near enough, else that of `ridge`.
        """
        check_is_fitted(self)
        near = np.linalg.norm(self.stationary_point_) <= radius
        if near and self.kind_ == ("maximum" if maximize else "minimum"):
            return RidgePoint(self.stationary_point_, self.stationary_response_)
        return self.ridge(radius, maximize)
