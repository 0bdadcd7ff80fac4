"""What every separable factorisation shares: scaling, the weights given the anchors, the bound.

X ≈ W H where either H holds chosen rows of X (prototypes, endmembers) or W holds chosen columns of
X (anchor words). The other factor is found by non-negative least squares. Sparse X is never made
dense.

Reference: Mizutani (2014), "Ellipsoidal rounding for nonnegative matrix factorization under noisy
separability", JMLR 15:1011-1039, Assumption 1-a, equation (3), Corollary 10.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import svdvals
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import canonical_csr, validate_rows
from octavo.engine.proximal.nonnegative_least_squares import (
    NonnegativeFit,
    nonnegative_least_squares,
)

__all__ = ["ScaledRows", "noise_bound", "nonnegative_weights", "scale_rows"]

SPARSE = ("csr", "csc")
_BLOCK = 1 << 22  # entries of the largest block that is made dense
_HUGE = 1e75  # fourth powers stay finite
_WEIGHTS_TOL = 1e-8  # relative violation above which weights are not called optimal


class ScaledRows(NamedTuple):
    """Rows of unit l1 norm: `rows`, where they stood in the matrix (`kept`), their old norms."""

    rows: object
    kept: np.ndarray
    norms: np.ndarray


def refuse_negative(X, whom: str) -> None:
    """Raise ValueError if X has a negative entry."""
    values = X.data if sparse.issparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(
            f"Negative values in data passed to {whom} with strict=True: the smallest is "
            f"{values.min():.6g}. Use strict=False if they are noise."
        )


def refuse_extremes(X) -> None:
    """Raise ValueError where squares of the entries of X would overflow or vanish."""
    values = X.data if sparse.issparse(X) else X
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if largest > _HUGE or 0 < largest < 1.0 / _HUGE:
        raise ValueError(
            f"The largest entry of X in magnitude is {largest:.3g}, and its square leaves the "
            f"range of floating point; rescale X to lie between {1.0 / _HUGE:.0e} and {_HUGE:.0e}."
        )


@checked
def scale_rows(X):
    """Scale every row that is not zero to unit l1 norm, and leave out those that are.

    A separable matrix whose rows are not scaled has anchors that short rows can hide
    (Assumption 1-a). Scaling changes which rows are chosen, and lifts the noise of short ones.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.

    Returns
    -------
    ScaledRows
        The scaled rows, the indices in X of those kept, and their l1 norms.

    Examples
    --------
    >>> from octavo.decomposition import scale_rows
    >>> scale_rows([[1, 3], [0, 0], [2, 2]]).kept.tolist()
    [0, 2]
    """
    X = canonical_csr(check_array(X, accept_sparse="csr", dtype=np.float64))
    norms = np.asarray(abs(X).sum(axis=1)).ravel()
    kept = np.flatnonzero(norms > 0)
    norms = norms[kept]
    if sparse.issparse(X):
        return ScaledRows(sparse.diags_array(1.0 / norms) @ X[kept], kept, norms)
    return ScaledRows(X[kept] / norms[:, None], kept, norms)


@checked
def nonnegative_weights(X, components, *, strict=False) -> np.ndarray:
    """Return the W ≥ 0 that minimises ||X - W H||, given H.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data; negative entries are taken for noise.
    components : array-like of shape (n_components, n_features)
        H.
    strict : bool, default=False
        Refuse negative entries in `X`.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        The weights, exact: block principal pivoting ends at the optimum.

    Examples
    --------
    >>> from octavo.decomposition import nonnegative_weights
    >>> nonnegative_weights([[2.0, 1.0], [-1.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]]).tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    X = canonical_csr(check_array(X, accept_sparse=SPARSE, dtype=np.float64))
    refuse_extremes(X)
    components = check_array(components, dtype=np.float64, input_name="components")
    if X.shape[1] != components.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features but components has {components.shape[1]} columns."
        )
    if strict:
        refuse_negative(X, "nonnegative_weights")
    return fit_weights(X, components).weights


def fit_weights(X, components: np.ndarray) -> NonnegativeFit:
    """Return the weights with their certificate; X may be sparse."""
    targets = np.asarray(safe_sparse_dot(X, components.T))
    found = nonnegative_least_squares(components @ components.T, targets)
    if not found.violation <= _WEIGHTS_TOL:
        warnings.warn(
            f"The conditions of optimality of the non-negative weights are violated by "
            f"{found.violation:.3g}, relative to the largest product of data and components.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found


@checked
def noise_bound(basis, weights) -> float:
    """Return how much noise the exact recovery of anchors withstands: equation (3).

    ε = σ_r(F) (1 - μ) / 4, where σ_r is the smallest singular value of the anchors F and μ the
    largest l2 norm of the weights of any other point. Noise of smaller spectral norm cannot
    change the points of contact (Theorem 9).

    Parameters
    ----------
    basis : array-like of shape (n_components, n_features)
        The anchors without noise, one a row.
    weights : array-like of shape (n_points, n_components)
        Convex weights of the other points.

    Returns
    -------
    float
        The bound; 0 where a point equals an anchor or the anchors are linearly dependent.

    Examples
    --------
    >>> from octavo.decomposition import noise_bound
    >>> noise_bound([[1, 0], [0, 1]], [[0.6, 0.4], [0.5, 0.5]])
    0.0697...
    """
    basis = check_array(basis, dtype=np.float64, input_name="basis")
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 2 or weights.shape[1] != len(basis):
        raise ValueError(
            f"weights must have one column for each of the {len(basis)} rows of basis, got shape "
            f"{weights.shape}."
        )
    if not np.isfinite(weights).all():
        raise ValueError("weights contains NaN or infinity.")
    r, p = basis.shape
    sigma = float(svdvals(basis)[-1]) if r <= p else 0.0
    # μ(K): the longest row of weights that is no anchor
    mu = float(row_norms(weights).max(initial=0.0))
    return max(sigma * (1.0 - mu) / 4.0, 0.0)


def residual_norm(X, weights: np.ndarray, components: np.ndarray) -> float:
    """Return ||X - W H||_F; row blocks of a sparse X are made dense one at a time."""
    total, size = 0.0, max(1, _BLOCK // max(X.shape[1], 1))
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        difference = block - weights[rows] @ components
        total += float(np.einsum("ij,ij->", difference, difference))
    return float(np.sqrt(total))


def dense_rows(X, indices) -> np.ndarray:
    """Return some rows of X as an array."""
    rows = X[indices]
    return rows.toarray() if sparse.issparse(rows) else np.array(rows)


class AnchorFactorization(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, SoundEstimator
):
    """A separable factorisation, but for how the anchors are found: `_find_anchors`."""

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "axis": [StrOptions({"samples", "features"})],
        "normalize": ["boolean"],
        "strict": ["boolean"],
    }

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the anchors and the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_rows(self, X, accept_sparse=SPARSE, dtype=np.float64)
        refuse_extremes(X)
        if self.strict:
            refuse_negative(X, type(self).__name__)
        points, kept = self._points(X)
        with FitProgress(self, self._n_steps(), X) as progress:
            self.anchor_indices_ = kept[self._find_anchors(points, progress.step)]
        self._place(kept, X.shape[0 if self.axis == "samples" else 1])
        self._set_factors(X)
        return self

    def _n_steps(self):
        """How many steps the search for anchors reports, if that is known."""
        return self.n_components

    def _place(self, kept, n_points):
        """Write what was found for the points kept into the order of all of them."""

    def _points(self, X):
        """Return the points among which anchors are sought, and their indices in X."""
        points = X if self.axis == "samples" else X.T
        points = points.tocsr() if sparse.issparse(points) else np.ascontiguousarray(points)
        if not self.normalize:
            return points, np.arange(points.shape[0])
        scaled = scale_rows(points)
        if len(scaled.kept) == 0:
            raise ValueError(f"All {points.shape[0]} {self.axis} of X are zero.")
        return scaled.rows, scaled.kept

    def _set_factors(self, X) -> None:
        """Find the other factor by non-negative least squares (Corollary 10)."""
        anchors = self.anchor_indices_
        if self.axis == "samples":
            self.components_ = basis = dense_rows(X, anchors)
            weights = shares = fit_weights(X, self.components_).weights
        else:
            columns = X.T.tocsr() if sparse.issparse(X) else X.T
            basis = dense_rows(columns, anchors)
            shares = fit_weights(columns, basis).weights
            self.components_, weights = np.ascontiguousarray(shares.T), basis.T
        others = np.ones(len(shares), dtype=bool)
        others[anchors] = False
        self.noise_bound_ = noise_bound(basis, shares[others])
        self.reconstruction_err_ = residual_norm(X, weights, self.components_)

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def transform(self, X):
        """Return the non-negative weights of the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            W ≥ 0 that minimises the norm of X - W C, with C the rows of `components_`.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse=SPARSE, dtype=np.float64, reset=False)
        if self.strict:
            refuse_negative(X, type(self).__name__)
        return fit_weights(X, self.components_).weights

    def inverse_transform(self, X):
        """Return the data that weights stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Weights.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            X times `components_`.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=np.float64)
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {X.shape[1]} columns of weights, but there are {len(self.components_)} "
                "components."
            )
        return X @ self.components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
