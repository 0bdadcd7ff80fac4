"""`ExactCCA`: canonical correlations by QR and SVD, and prediction of one set from the other.

Reference: A. Shashua (2008), "Introduction to Machine Learning", section 5.9; A. Björck and G.
Golub (1973), "Numerical methods for computing angles between linear subspaces".
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import qr, solve_triangular
from sklearn.base import TransformerMixin
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["ExactCCA"]


class Basis(NamedTuple):
    """An orthonormal basis Q of centred columns, and the coefficients that give it: X C = Q."""

    Q: Floats
    coefficients: Floats
    scale: Floats


def column_basis(X: Floats, reg: float) -> Basis:
    """Return a basis of the columns of centred rows; with a ridge, its rows among those of √reg I.

    Columns are scaled to length one first where there is no ridge; those that depend on others are
    left out, by a QR with pivots.
    """
    n, d = X.shape
    lengths = np.linalg.norm(X, axis=0)
    if reg > 0.0:
        # XᵀX + reg I = RᵀR, without the product
        _, R = qr(np.vstack([X, np.sqrt(reg) * np.eye(d)]), mode="economic")
        inverse = solve_triangular(R, np.eye(d))
        return Basis(X @ inverse, inverse, np.ones(d))
    scale = np.where(lengths > 0.0, lengths, 1.0)
    # A = QR of Section 5.9, with pivots for dependent columns
    Q, R, order = qr(X / scale, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    rank = int((sizes > max(n, d) * np.finfo(float).eps * max(sizes[0], 1e-300)).sum())
    coefficients = np.zeros((d, rank))
    coefficients[order[:rank]] = solve_triangular(R[:rank, :rank], np.eye(rank))
    return Basis(Q[:, :rank], coefficients / scale[:, None], scale)


def canonical_pairs(x: Basis, y: Basis) -> tuple[Floats, Floats, Floats]:
    """Return the singular vectors and values of Q_xᵀ Q_y: U, D and V (§5.9)."""
    U, D, Vt = np.linalg.svd(x.Q.T @ y.Q, full_matrices=False)  # cos θ_j of Eq. (5.4)
    U, Vt = svd_flip(U, Vt)
    return U, np.clip(D, 0.0, 1.0), Vt.T


class ExactCCA(TransformerMixin, SoundEstimator):
    """Find the directions in two sets of variables that are most correlated, exactly.

    Both sets are centred and given orthonormal bases by QR; the singular values of the product of
    the bases are the correlations, the cosines of the angles between the two column spaces. All
    components come at once.

    Parameters
    ----------
    n_components : int, default=None
        How many pairs of directions are kept; None for all there are.
    reg : float, default=0.0
        Ridge: added to the diagonals of XᵀX and YᵀY of the centred sets. Needed where there are as
        many columns as rows.
    prediction : {"regression", "matched"}, default="regression"
        How `predict` finds y from x: Vᵀy = diag(D) Uᵀx in least squares, which shrinks what is
        poorly correlated; or Vᵀy = Uᵀx as in the notes.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Canonical correlations, in falling order. With a ridge, of the regularised problem.
    x_rotations_ : ndarray of shape (n_x_features, n_components)
        Directions; the variates of the training rows have variance one where there is no ridge.
    y_rotations_ : ndarray of shape (n_y_features, n_components)
        Directions of the other set.
    coef_ : ndarray of shape (n_y_features, n_x_features)
        What `predict` multiplies by.
    x_mean_ : ndarray of shape (n_x_features,)
        Mean.
    y_mean_ : ndarray of shape (n_y_features,)
        Mean.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    KernelCCA : For dependence that is not linear.

    Notes
    -----
    With as many columns in both sets together as rows, correlations of one come from nothing: fit
    warns then, and refuses where one set alone has as many columns as rows and there is no ridge.
    `sklearn.cross_decomposition.CCA` finds the same directions one by one, by iteration.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 5.9.
    .. [2] Björck and Golub (1973). Numerical methods for computing angles between linear subspaces.
       Mathematics of Computation 27.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from octavo.decomposition import ExactCCA
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> ExactCCA().fit(X, Y).correlations_.round(4)
    array([0.7956, 0.2006, 0.0726])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "reg": [Interval(Real, 0, None, closed="left")],
        "prediction": [StrOptions({"regression", "matched"})],
    }

    def __init__(self, n_components=None, reg=0.0, *, prediction="regression"):
        self.n_components = n_components
        self.reg = reg
        self.prediction = prediction

    def _read_y(self, Y: Any) -> Floats:
        if np.ndim(Y) == 1:
            Y = np.asarray(Y).reshape(-1, 1)
        Y = check_array(Y, dtype=np.float64, input_name="Y")
        check_squares(Y, "Y")
        return Y

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_x_features)
            One set of variables.
        y : array-like of shape (n_samples, n_y_features) or (n_samples,)
            The other.

        Returns
        -------
        self : ExactCCA
            Fitted.
        """
        X, Y = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        check_squares(X)
        self._one_y = np.ndim(Y) == 1
        Y = self._read_y(Y)
        n, dx, dy = len(X), X.shape[1], Y.shape[1]
        if self.reg == 0.0 and max(dx, dy) >= n:
            raise ValueError(
                f"With {dx} and {dy} columns and only {n} rows (n_samples={n}) every correlation "
                "is one by construction; set reg to a positive number."
            )
        self.x_mean_, self.y_mean_ = X.mean(axis=0), Y.mean(axis=0)
        x = column_basis(X - self.x_mean_, float(self.reg))
        other = column_basis(Y - self.y_mean_, float(self.reg))
        rx, ry = x.Q.shape[1], other.Q.shape[1]
        if min(rx, ry) == 0:
            raise ValueError("X and Y must each hold at least two different rows.")
        if self.reg == 0.0 and rx + ry > n - 1:
            warnings.warn(
                f"{rx} and {ry} independent columns share {n - 1} dimensions: at least "
                f"{rx + ry - n + 1} correlations are one by construction. Use more rows, or a "
                "positive reg.",
                UserWarning,
                stacklevel=2,
            )
        most = min(rx, ry)
        k = most if self.n_components is None else self.n_components
        if k > most:
            raise ValueError(
                f"n_components={k} must be at most {most}, the smaller rank of X and Y."
            )
        U, D, V = canonical_pairs(x, other)
        spread = np.sqrt(n - 1.0)
        self.correlations_ = D[:k]
        # R⁻¹Ũ, Section 5.9, to variates of variance one
        self.x_rotations_ = x.coefficients @ U[:, :k] * spread
        self.y_rotations_ = other.coefficients @ V[:, :k] * spread
        # Vᵀy = DUᵀx (or Uᵀx) has the solution y = (YᵀY + reg I) V s, as Vᵀ(YᵀY + reg I) V = I: with
        # D it is the regression of Y on the variates of X
        shrink = self.correlations_ if self.prediction == "regression" else np.ones(k)
        centred = Y - self.y_mean_
        spanned = centred.T @ (centred @ self.y_rotations_) + self.reg * self.y_rotations_
        self.coef_ = spanned @ (shrink[:, None] * self.x_rotations_.T) / (n - 1.0)
        return self

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Return the canonical variates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_x_features)
            Rows of the first set.
        Y : array-like of shape (n_samples, n_y_features), default=None
            Rows of the other.

        Returns
        -------
        x_variates : ndarray of shape (n_samples, n_components)
            Of X; where Y is given, a pair with those of Y.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        x_variates = (X - self.x_mean_) @ self.x_rotations_
        if Y is None:
            return x_variates
        Y = self._read_y(Y)
        if Y.shape[1] != len(self.y_mean_):
            raise ValueError(
                f"Y must have {len(self.y_mean_)} columns as in fit; got {Y.shape[1]}."
            )
        return x_variates, (Y - self.y_mean_) @ self.y_rotations_

    def predict(self, X: Any) -> Floats:
        """Return the other set of variables, as far as the kept components tell it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_x_features)
            Rows of the first set.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_y_features) or (n_samples,)
            By ``prediction``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        found = (X - self.x_mean_) @ self.coef_.T + self.y_mean_
        return found[:, 0] if self._one_y else found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
