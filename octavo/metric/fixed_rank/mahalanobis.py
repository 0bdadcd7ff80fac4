"""Low-rank Mahalanobis distances, learned in the original space from labels or pairs.

Reference: Meyer, Bonnabel and Sepulchre (2011), Sections 9.2 and 10.3.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.linalg.pair_differences import PairDifferences
from octavo.metric.fixed_rank.constraints import (
    check_pair_targets,
    check_pairs,
    default_pairs,
    label_pairs,
    percentile_bounds,
)
from octavo.metric.fixed_rank.item_streams import fits_items, item_pairs, start_item_stream
from octavo.metric.fixed_rank.losses import check_relation, half_mean_square, residuals
from octavo.metric.fixed_rank.regression import fit_from, warn_unless_converged
from octavo.metric.fixed_rank.starts import (
    check_magnitude,
    check_rank,
    check_targets,
    start_factor,
)
from octavo.metric.fixed_rank.steps_by_covariance import feature_metric
from octavo.metric.fixed_rank.streams import choose_schedule, start_stream, steady_pass

__all__ = ["LowRankMahalanobis"]


def column_scales(X: Any) -> tuple[Floats, Floats]:
    """Return means and standard deviations of columns, 1 for those that are constant."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    if sp.issparse(X):
        n_zero = X.shape[0] - np.diff(X.tocsc().indptr)
        left = X.copy()
        left.data = (X.data - mean[X.indices]) ** 2  # stored entries; the others are mean²
        variance = (np.asarray(left.sum(axis=0)).ravel() + n_zero * mean**2) / X.shape[0]
    else:
        variance = X.var(axis=0)
    scale = np.sqrt(variance)
    scale[~(scale > 1e-12 * np.maximum(np.abs(mean), 1e-300))] = 1.0
    return mean, scale


class LowRankMahalanobis(
    ClassNamePrefixFeaturesOutMixin, CallbackSupportMixin, TransformerMixin, SoundEstimator
):
    """Learn a distance ‖Gᵀ(x - x')‖ of low rank from labels, or from pairs with bounds.

    Pairs of one class are asked to lie within the 5th percentile of the squared distances at the
    start, pairs of two classes beyond the 95th. The subspace is learned in the original features,
    not fixed by a PCA; a step costs O(n_samples · n_features · rank + n_pairs · rank), since
    differences are never formed.

    With few features, many rows and labels, `sklearn.neighbors.NeighborhoodComponentsAnalysis` and
    `sklearn.discriminant_analysis.LinearDiscriminantAnalysis` are worth a look first.

    Parameters
    ----------
    rank : int or None, default=2
        Columns of G; None stands for n_features.
    geometry : {"flat", "polar"}, default="flat"
        As for `FixedRankPSDRegressor`, but steps of "flat" are conjugate gradients, measured by the
        covariance of at most 2,000 features where there are two rows a feature and two pairs an
        entry of G: they get far lower in as many steps.
    lam : float, default=0.5
        The paper's λ for "polar": weight of the subspace.
    n_pairs : {"auto"} or int, default="auto"
        Pairs drawn from labels, half of one class and half of two. "auto": 40c(c - 1) with c
        classes as in the paper, or ten a row (at most 100,000) where that is more.
    bounds : tuple of two floats, default=(5, 95)
        Percentiles of the squared distances under the start.
    online : bool, default=False
        Whether to go through the pairs in mini-batches, Eqs. (9) and (20), and not all at once.
    standardize : bool, default=True
        Whether columns are divided by their standard deviations first; `components_` is for X as it
        is given.
    tol : float, default=1e-5
        As for `FixedRankPSDRegressor`.
    max_iter : int, default=1000
        Most steps of the batch form.
    n_epochs : int, default=5
        Passes of the online form.
    batch_size : int, default=32
        Pairs a step of the online form.
    random_state : int, RandomState instance or None, default=None
        For the pairs and their order.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, rank)
        G: the squared distance is ‖Gᵀ(x - x')‖².
    objective_ : float
        Half the mean square of what the bounds are broken by.
    n_iter_ : int
        Steps, or passes of the online form.
    classes_ : ndarray
        Labels seen by `fit`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    References
    ----------
    .. [1] Meyer, Bonnabel and Sepulchre (2011). Regression on fixed-rank positive semidefinite
       matrices: a Riemannian approach. JMLR 12:593-625.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from octavo.metric import LowRankMahalanobis
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(LowRankMahalanobis(2, random_state=0), KNeighborsClassifier(5))
    >>> round(model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 2)
    0.98
    """

    _parameter_constraints: dict[str, Any] = {
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "geometry": [StrOptions({"polar", "flat"})],
        "lam": [Interval(Real, 0, 1, closed="both")],
        "n_pairs": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "bounds": [tuple, list],
        "online": ["boolean"],
        "standardize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        rank=2,
        geometry="flat",
        lam=0.5,
        *,
        n_pairs="auto",
        bounds=(5, 95),
        online=False,
        standardize=True,
        tol=1e-5,
        max_iter=1000,
        n_epochs=5,
        batch_size=32,
        random_state=None,
    ):
        self.rank = rank
        self.geometry = geometry
        self.lam = lam
        self.n_pairs = n_pairs
        self.bounds = bounds
        self.online = online
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self):
        return self.components_.shape[1]

    def _check_bounds(self):
        bounds = tuple(self.bounds)
        numbers = len(bounds) == 2 and all(isinstance(b, Real) for b in bounds)
        if not numbers or not 0 <= bounds[0] < bounds[1] <= 100:
            raise ValueError(
                f"bounds must be two percentiles, 0 ≤ low < high ≤ 100; got {self.bounds!r}."
            )
        return bounds

    def _scaled(self, X):
        if not self.standardize:
            return X, np.ones(X.shape[1])
        mean, scale = column_scales(X)
        if sp.issparse(X):
            return sp.csr_array(X @ sp.diags_array(1.0 / scale)), scale
        return (X - mean) / scale, scale

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn the distance from labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = validate_rows(self, X, y, accept_sparse="csr", dtype=np.float64)
        bounds = self._check_bounds()
        self.classes_, codes = encode_classes(y, owner=self)
        check_magnitude(X, "X")
        r = check_rank(self.rank, X.shape[1], self.geometry)
        rng = check_random_state(self.random_state)
        wanted = (
            default_pairs(len(codes), len(self.classes_))
            if self.n_pairs == "auto"
            else int(self.n_pairs)
        )
        pairs, relation = label_pairs(codes, wanted, rng)
        Z, scale = self._scaled(X)
        rows = PairDifferences(Z, pairs)
        G = start_factor(rows, r, "pca", np.zeros(len(pairs)), relation, rng)
        P = rows.dot(G)
        # l and u of Section 10.3.1, under W_0
        low, high = percentile_bounds(np.einsum("ij,ij->i", P, P), bounds)
        target = np.where(relation == 1, low, high)  # d <= l within a class, d >= u across
        return self._learn(rows, target, relation, G, scale, rng)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit_pairs(self, X, pairs, relation, target):
        """Learn the distance from pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        pairs : array-like of shape (n_pairs, 2)
            Positions of rows.
        relation : array-like of shape (n_pairs,) or int
            1 where the squared distance shall be at most the target, -1 where at least, 0 where
            equal.
        target : array-like of shape (n_pairs,) or float
            Squared distances; in units of standardised columns where `standardize` is True.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64)
        check_magnitude(X, "X")
        pairs = check_pairs(pairs, X.shape[0])
        relation = check_relation(relation, len(pairs))
        target = check_pair_targets(target, len(pairs))
        check_targets(target, relation, "target")
        r = check_rank(self.rank, X.shape[1], self.geometry)
        rng = check_random_state(self.random_state)
        Z, scale = self._scaled(X)
        rows = PairDifferences(Z, pairs)
        G = start_factor(rows, r, "pca", target, relation, rng)
        return self._learn(rows, target, relation, G, scale, rng)

    def _learn(self, rows, target, relation, G, scale, rng):
        total = self.n_epochs if self.online else self.max_iter
        name = "epoch" if self.online else "iteration"
        with FitProgress(self, total, None, target, step_name=name) as progress:
            if self.online:
                G = self._stream(rows, target, relation, G, rng, progress)
            else:
                flat = self.geometry == "flat"
                fit = fit_from(
                    rows,
                    target,
                    relation,
                    G,
                    "conjugate" if flat else self.geometry,
                    self.lam,
                    feature_metric(rows, G.shape[1]) if flat else None,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    on_step=lambda cost: progress.step(),
                )
                G, self.n_iter_ = fit.G, fit.descent.n_iter
                self.objective_ = fit.descent.costs[-1]
        self.components_ = G / scale[:, None]  # G of the scaled features, for the given ones
        if not self.online:
            warn_unless_converged(self, fit.descent, self.max_iter)
        return self

    def _stream(self, rows, target, relation, G, rng, progress):
        order = rng.permutation(len(target))  # pairs of one class come first
        mixed = rows.take(order) if len(order) > 256 else PairDifferences(rows.X, rows.pairs[order])
        y, bound = target[order], None if relation is None else relation[order]
        if fits_items(mixed):
            stream = start_item_stream(G, mixed.X, self.geometry, self.lam)
            mixed = item_pairs(mixed)
        else:
            stream = start_stream(G, self.geometry, self.lam)
        schedule = choose_schedule(stream, mixed, y, bound, self.batch_size)
        t = 0
        for n_iter in range(1, self.n_epochs + 1):
            turn = rng.permutation(len(y))
            stream, schedule, t, _ = steady_pass(
                stream, mixed, y, bound, schedule, t, self.batch_size, turn
            )
            self.n_iter_ = n_iter
            if progress.step():
                break
        self.objective_ = half_mean_square(residuals(stream.squared(mixed), y, bound))
        return stream.factor()

    def transform(self, X):
        """Map rows to where the learned distance is Euclidean.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, rank)
            XG.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.components_)

    def pair_distance(self, X, pairs):
        """Return the learned distances of pairs of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        pairs : array-like of shape (n_pairs, 2)
            Positions of rows.

        Returns
        -------
        distances : ndarray of shape (n_pairs,)
            ‖Gᵀ(x_i - x_j)‖, not squared.
        """
        P = self.transform(X)
        pairs = check_pairs(pairs, len(P))
        return np.linalg.norm(P[pairs[:, 0]] - P[pairs[:, 1]], axis=1)

    def get_mahalanobis_matrix(self):
        """Return W = GGᵀ.

        Returns
        -------
        W : ndarray of shape (n_features, n_features)
            Dense: mind its size.
        """
        check_is_fitted(self)
        return self.components_ @ self.components_.T
