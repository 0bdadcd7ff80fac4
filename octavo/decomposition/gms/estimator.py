"""Subspaces that whole rows of garbage cannot move: the geometric median subspace.

A convex problem with no parameter replaces PCA's least squares: rows that lie on a subspace are
recovered exactly when the other rows do not conspire, at a cost of the order of PCA.

Reference: Zhang and Lerman (2014), "A novel M-estimator for robust PCA", JMLR 15:749-808.
Implemented: Algorithms 1 to 3, GMS2 and the penalised problem (Section 5), REAPER (Section 1.4),
dimension by eigengap (Section 6.3), the affine version (footnote 1).
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.sparse import diags_array, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.data.decomposition.outlier_subspaces import make_outlier_subspace
from octavo.decomposition.gms.robust_centre import geometric_median
from octavo.decomposition.gms.robust_precision import RobustPrecision
from octavo.decomposition.gms.solver import (
    drop_zero_rows,
    expand_rows,
    resolve_delta,
    warn_unless_converged,
)
from octavo.decomposition.gms.variants import (
    by_deflation,
    dimension_by_gap,
    make_solver,
    penalty_for_dimension,
    plain_gms,
    reaper,
    with_artificial_outliers,
)
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.linalg.weighted_scatter import row_norms, span

__all__ = ["GeometricMedianSubspace", "make_outlier_subspace"]

NEEDS_DIMENSION = {"egms", "reaper"}
# Sine of the angle to the subspace above which a row counts as an outlier.
OUTLYING = 1e-3


def unit_rows(X, norms):
    """Return the rows scaled to norm one."""
    if issparse(X):
        return (diags_array(1.0 / norms) @ X).tocsr()
    return X / norms[:, None]


def with_signs(vectors):
    """Return columns whose largest entry, by absolute value, is positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)


class GeometricMedianSubspace(
    ClassNamePrefixFeaturesOutMixin, CallbackSupportMixin, TransformerMixin, SoundEstimator
):
    """Robust PCA for rows that are outliers altogether.

    Finds the symmetric matrix Q of trace one with the smallest Σ‖Q(xᵢ − location)‖. Q is a robust
    inverse covariance, up to scale; its bottom eigenvectors span the subspace.

    Parameters
    ----------
    n_components : int, default=None
        Dimension d of the subspace, below the number of features. None takes it from the
        largest gap between logarithms of eigenvalues of Q.
    variant : {"gms", "gms2", "egms", "reaper"}, default="gms"
        "gms": the convex problem as it is. It wants outliers to fill the space: about 1.5 times
        as many as there are dimensions beyond the subspace. "gms2": artificial outliers are
        added and all rows scaled to norm one, for data of few outliers. "egms": the top
        eigenvector of Q is removed again and again, for few outliers and known `n_components`.
        "reaper": eigenvalues of Q are bounded by 1 / (n_features - n_components), for known
        `n_components`; with `spherize=True` this is S-REAPER.
    alpha : float or "bisect", default=0.0
        Weight λ of the penalty λ‖Q‖², for variant "gms". "bisect" looks for the λ at which the
        kernel of Q has dimension `n_components`, which must be given.
    center : {None, "mean", "geometric_median"}, default=None
        What to subtract. None takes subspaces through zero, as the paper does; the geometric
        median is the robust choice for data with an offset.
    spherize : bool, default=False
        Scale every row to norm one, so that no single one dominates. "gms2" always does.
    delta : float or "auto", default="auto"
        Residuals below δ are smoothed. "auto" takes 1e-11 of the median norm, and then puts the
        rows that reach it into the kernel exactly; a number gives the smoothed solution.
    tol : float, default=1e-10
        Stop when the stationarity equation holds to this, relatively, or to rounding.
    max_iter : int, default=500
        The largest number of iterations of a convex problem.
    drop_per_round : int or "nonzero", default=1
        How many eigenvectors a round of "egms" removes at most; one whose eigenvalue is zero is
        never removed. "nonzero" removes all above the largest gap.
    random_state : int, RandomState instance or None, default=None
        Of the artificial outliers of "gms2".

    Attributes
    ----------
    components_ : ndarray of shape (`n_components_`, `n_features_in_`)
        Orthonormal basis of the subspace, by decreasing robust variance.
    n_components_ : int
        Dimension of the subspace.
    location_ : ndarray of shape (`n_features_in_`,)
        The centre that is subtracted; zeros for `center=None`.
    eigenvalues_ : ndarray of shape (rank,)
        Eigenvalues of Q on the span of the data, increasing. For "egms", those of the first
        round.
    eigenvectors_ : ndarray of shape (rank, `n_features_in_`)
        Robust principal directions, by decreasing variance; the first are `components_`.
    precision_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        The matrix Q.
    robust_precision_ : RobustPrecision
        Q by its eigenvectors, with principal axes, covariance and distances.
    weights_ : ndarray of shape (n_samples,)
        What each row counts, 1 / max(‖Qx‖, δ): large for inliers, zero for zero rows.
    objective_ : float
        The smallest value found.
    objectives_ : ndarray of shape (n_steps,)
        The objective before each iteration, of the first round for "egms".
    duality_gap_ : float
        `objective_` less a lower bound that holds for every Q; the largest of all rounds for
        "egms".
    kkt_residual_ : float
        ‖G − cI‖ / c with G the derivative of the objective and c its value: zero at a
        solution. For "reaper" the relative duality gap.
    alpha_ : float
        The λ that was used.
    delta_ : float
        The δ that was used.
    n_iter_ : int
        Number of iterations, of all rounds for "egms".
    converged_ : bool
        Whether `tol` or rounding ended the iterations.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where X has them.

    See Also
    --------
    sklearn.decomposition.PCA : Least squares, for data without outliers.
    principal_component_pursuit : For single entries, not whole rows, that are wrong.

    Notes
    -----
    Use `sklearn.decomposition.PCA` where there are no outliers: it is the efficient choice.
    Where entries are corrupted here and there in all rows, no row is an inlier, and
    `principal_component_pursuit` is the method. One row of enormous norm can still draw the
    subspace towards it; `spherize=True` prevents that.

    When fewer outliers than 1.5 times the dimensions beyond the subspace are seen, a warning
    says so: Q then has too large a kernel, and "gms2", "egms" or `alpha="bisect"` are better.

    References
    ----------
    .. [1] Zhang and Lerman (2014). A novel M-estimator for robust PCA. JMLR 15:749-808.
    .. [2] Lerman, McCoy, Tropp and Zhang (2015). Robust computation of linear models by convex
       relaxation. Foundations of Computational Mathematics 15:363-410.

    Examples
    --------
    Half of the rows are outliers, on one side of the subspace:

    >>> import numpy as np
    >>> from octavo.decomposition import GeometricMedianSubspace, make_outlier_subspace
    >>> sample = make_outlier_subspace(125, 125, 10, 5, random_state=0)
    >>> model = GeometricMedianSubspace().fit(sample.X)
    >>> model.n_components_
    5
    >>> found, true = model.components_.T, sample.basis
    >>> bool(np.linalg.norm(found @ found.T - true @ true.T) < 1e-10)
    True
    """

    _parameter_constraints = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "variant": [StrOptions({"gms", "gms2", "egms", "reaper"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"bisect"})],
        "center": [None, StrOptions({"mean", "geometric_median"})],
        "spherize": ["boolean"],
        "delta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "drop_per_round": [Interval(Integral, 1, None, closed="left"), StrOptions({"nonzero"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        variant="gms",
        alpha=0.0,
        center=None,
        spherize=False,
        delta="auto",
        tol=1e-10,
        max_iter=500,
        drop_per_round=1,
        random_state=None,
    ):
        self.n_components = n_components
        self.variant = variant
        self.alpha = alpha
        self.center = center
        self.spherize = spherize
        self.delta = delta
        self.tol = tol
        self.max_iter = max_iter
        self.drop_per_round = drop_per_round
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; sparse ones only with `center=None`.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_rows(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
            ensure_min_features=2,
        )
        self._check_settings(X)
        rows, kept = self._centred_rows(X)
        basis = span(rows)
        reduced = rows if basis is None else np.asarray(rows @ basis, dtype=np.float64)
        self._check_rank(reduced.shape[1])
        with FitProgress(self, None, X) as progress:
            result = self._solve(reduced, progress.step)
        warn_unless_converged(result.found)
        vectors = result.vectors if basis is None else basis @ result.vectors
        self._store(result, with_signs(vectors).T, expand_rows(result.found, kept, X.shape[0]))
        self._warn_if_few_outliers(rows)
        return self

    def _check_settings(self, X):
        n_features = X.shape[1]
        if self.n_components is not None and self.n_components >= n_features:
            raise ValueError(
                f"n_components={self.n_components} must be below the number of features, "
                f"{n_features}: a subspace of all dimensions says nothing."
            )
        if self.n_components is None and (
            self.variant in NEEDS_DIMENSION or self.alpha == "bisect"
        ):
            asked = f"variant={self.variant!r}" if self.alpha != "bisect" else "alpha='bisect'"
            raise ValueError(
                f"{asked} needs n_components, the dimension of the subspace; got None. "
                "variant='gms' and variant='gms2' can tell it from the data."
            )
        if self.variant != "gms" and self.alpha != 0.0:
            raise ValueError(
                f"alpha={self.alpha!r} is a penalty of variant='gms'; got variant={self.variant!r}."
            )
        if self.center is not None and issparse(X):
            raise ValueError(
                f"center={self.center!r} would make sparse X dense; pass center=None, or a dense "
                "array."
            )

    def _centred_rows(self, X):
        """Return the rows that are used, centred and scaled, and which they are."""
        self.location_ = np.zeros(X.shape[1])
        if self.center is not None:
            dense = np.asarray(X, dtype=np.float64)
            robust = self.center == "geometric_median"
            self.location_ = geometric_median(dense) if robust else dense.mean(axis=0)
            X = dense - self.location_
        norms = row_norms(X)
        if self.center is None:
            rows, kept = drop_zero_rows(X, norms)
        else:  # rows at the centre are no mistake
            kept = np.flatnonzero(norms > 1e-14 * norms.max())
            rows = X[kept]
            if len(kept) == 0:
                raise ValueError(
                    f"All {len(norms)} rows are equal: nothing is left after centring."
                )
        return (unit_rows(rows, norms[kept]) if self.spherize else rows), kept

    def _check_rank(self, rank):
        if self.n_components is not None and self.n_components > rank:
            raise ValueError(
                f"n_components={self.n_components} exceeds {rank}, the dimension of what the rows "
                "span."
            )

    def _solve(self, X, step):
        """Return the directions for rows that span their space."""
        delta = resolve_delta(self.delta, row_norms(X))
        solve = make_solver(self.max_iter, self.tol, self.delta == "auto", step)
        d, rank = self.n_components, X.shape[1]
        if self.variant == "gms2":
            rng = check_random_state(self.random_state)
            return with_artificial_outliers(X, self.delta, rng, solve)
        if self.variant == "egms":
            return by_deflation(X, d, self.delta, self.drop_per_round, solve)
        if self.variant == "reaper" and d < rank:
            return reaper(X, d, delta, max_iter=self.max_iter, tol=self.tol, step=step)
        if self.alpha == "bisect" and d < rank:
            return penalty_for_dimension(X, d, delta, solve)
        return plain_gms(X, delta, 0.0 if self.alpha == "bisect" else self.alpha, solve)

    def _store(self, result, directions, found):
        self.eigenvalues_, self.eigenvectors_ = result.values, directions
        self.n_components_ = self.n_components or min(
            dimension_by_gap(result.values), self.n_features_in_ - 1
        )
        self.components_ = directions[: self.n_components_]
        self.weights_ = found.weights
        self.objective_, self.objectives_ = found.objective, found.objectives
        self.duality_gap_, self.kkt_residual_ = found.duality_gap, found.kkt_residual
        self.alpha_, self.delta_ = result.alpha, found.delta
        self.n_iter_, self.converged_ = found.n_iter, found.converged

    def _warn_if_few_outliers(self, rows):
        """Say where condition (9) cannot hold, as the kernel of Q is then too large."""
        if self.variant != "gms" or self.alpha_ > 0.0 or rows.shape[0] < 2:
            return
        norms = row_norms(rows)
        inside = np.linalg.norm(rows @ self.components_.T, axis=1)
        # Few outliers tilt the subspace a little, so that no row lies in it exactly.
        sines = np.sqrt(np.maximum(1.0 - (inside / norms) ** 2, 0.0))
        off = int((sines > OUTLYING).sum())
        n_outliers = min(off, rows.shape[0] - self.n_components_)
        wanted = 1.5 * (self.n_features_in_ - self.n_components_)
        if n_outliers < wanted:
            warnings.warn(
                f"At most {n_outliers} rows are outliers of a subspace of dimension "
                f"{self.n_components_} in {self.n_features_in_}; exact recovery wants about "
                f"{wanted:.0f}. variant='gms2', or variant='egms' where n_components is known, "
                "do with fewer.",
                UserWarning,
                stacklevel=4,
            )

    @property
    def precision_(self):
        """The matrix Q of shape (`n_features_in_`, `n_features_in_`)."""
        check_is_fitted(self)
        return self.robust_precision_.matrix

    @property
    def robust_precision_(self):
        """Q by its eigenvectors."""
        check_is_fitted(self)
        return RobustPrecision(self.eigenvalues_, self.eigenvectors_, self.location_)

    def _validated(self, X):
        check_is_fitted(self)
        return validate_rows(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def transform(self, X):
        """Return coordinates on the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Coordinates on `components_`, of the type of X.
        """
        X = self._validated(X)
        basis = self.components_.T.astype(X.dtype, copy=False)
        return np.asarray(X @ basis) - (self.location_ @ self.components_.T).astype(X.dtype)

    def inverse_transform(self, X):
        """Return the points of the subspace that have given coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Points in the space of the data.
        """
        check_is_fitted(self)
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_components_:
            raise ValueError(
                f"X must have {self.n_components_} columns, one per component; got shape {X.shape}."
            )
        return X @ self.components_ + self.location_

    def score_samples(self, X):
        """Return the negative distance of each row to the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger (the nearer to zero), the less outlying.
        """
        X = self._validated(X)
        X = (X.toarray() if issparse(X) else X) - self.location_
        off = X - (X @ self.components_.T) @ self.components_
        return -np.sqrt(np.einsum("ij,ij->i", off, off))

    def outlier_scores(self, X):
        """Return ‖Q(x − location)‖, which needs no dimension of a subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger, the more outlying; inliers without noise have zero.
        """
        return self.robust_precision_.residuals(self._validated(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
