"""Learning the ground metric of transport distances from labelled histograms.

Reference: Cuturi and Avis (2014), "Ground metric learning", Sections 3, 4 and 6.2.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.namespaces import namespace_of, to_numpy
from octavo.engine.projections.metric_cone import shortest_paths
from octavo.metric.ground.criterion import Side, compare_labels, compare_weights
from octavo.metric.ground.descent import Schedule, descend
from octavo.metric.ground.histograms import as_histograms
from octavo.metric.ground.starts import start_metric
from octavo.metric.ground.transports import distance_table, make_transports

__all__ = ["GroundMetricLearner"]

LEAST = 1e-6  # of the mean distance, added everywhere when two bins have none (Section 3.2)


def host_rows(X: Any) -> tuple[Any, Any]:
    """Return a table on the host, and the array on a device that it came from or None."""
    if type(X).__module__.split(".")[0] in ("numpy", "scipy", "pandas", "polars", "builtins"):
        return X, None
    return (X, None) if namespace_of(X).is_numpy else (to_numpy(X), X)


def positive_metric(M: Floats) -> Floats:
    """Return a metric with sum one: distances of zero become small, by one constant for all."""
    d = len(M)
    off = ~np.eye(d, dtype=bool)
    if d < 2:
        return M
    least = LEAST * float(M[off].mean())
    if M[off].min() < least:
        M = M + least * off
    return M / M.sum()


def fill_unseen(M: Floats, seen: Indices, d: int) -> Floats:
    """Return a metric on all bins: those never seen lie equally far from all others.

    Half the largest distance is the least that keeps triangles; the mean is taken where it is more.
    """
    if len(seen) == d:
        return M
    m = len(seen)
    mean = M.sum() / (m * (m - 1)) if m > 1 else 1.0
    full = np.full((d, d), max(mean, 0.5 * M.max(initial=0.0)))
    full[np.ix_(seen, seen)] = M
    np.fill_diagonal(full, 0.0)
    return full


class GroundMetricLearner(
    ClassNamePrefixFeaturesOutMixin, CallbackSupportMixin, TransformerMixin, SoundEstimator
):
    """Learn distances between bins, so that transport brings alike histograms close.

    Histograms of words, topics, colours, codons or cell types are compared by what it costs to turn
    one into the other (optimal transport, the earth mover's distance). What it costs to go from bin
    to bin is learned here from labels: a metric between bins, to be looked at or to be used with
    any code for transport.

    Where bins are unrelated, `simplex_distance` is as good and costs nothing. For vectors that are
    no histograms, see `LowRankMahalanobis` or
    `sklearn.neighbors.NeighborhoodComponentsAnalysis`. The criterion falls on training data; that
    neighbours err less on new data is not promised.

    Parameters
    ----------
    k : int, default=3
        Nearest histograms of the same and of other classes that count, for each.
    init : {"independence", "uniform"} or array-like of shape (n_features, n_features), \
default="independence"
        Where to start: the best metric for plans r_i r_jᵀ (Algorithm 3), all bins equally far
        apart, or a metric, which is projected if it is none.
    step : float, default=0.1
        The paper's t₀.
    max_outer : int, default=20
        Most convex problems.
    max_inner : int, default=80
        Most steps for each.
    min_inner : int, default=24
        Least steps for each.
    inner_tol : float, default=0.0075
        A convex problem ends when its best value gains less than this share in eight steps.
    outer_tol : float, default=0.001
        The fit ends when the criterion gains less than this share by a convex problem.
    blend : float, default=1.0
        The start is λM₀ + (1 - λ)M₁ with this λ: below 1 it is drawn to the uniform metric.
    ot : {"emd", "pot", "sinkhorn"}, default="emd"
        How transport is computed: exactly, by octavo's network simplex that restarts; exactly by
        POT (the extra ``ot``), one pair at a time; or smoothed, all pairs at once. With "sinkhorn"
        an X of another namespace (a torch tensor on an accelerator, under scikit-learn's
        ``array_api_dispatch``) is where transport is computed.
    reg : float, default=0.05
        Smoothing of "sinkhorn", in units of the mean of all entries of the metric.
    candidates : int or None, default=None
        Nearest histograms of each kind that are looked at for each, but for every tenth step, which
        looks at all; None always looks at all. Three to ten times `k` makes many rows affordable.
    normalize : bool, default=False
        Whether rows are divided by their sums, or refused unless they sum to one.
    n_jobs : int or None, default=None
        Threads of "emd".
    random_state : int, RandomState instance or None, default=None
        Orders neighbours that are equally far.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        Distances between bins: a metric whose entries sum to one.
    objective_ : float
        The criterion C_k at `metric_`, smoothed for "sinkhorn".
    objectives_ : ndarray
        The criterion at the start and after each convex problem; it never rises, but by what
        "sinkhorn" leaves over.
    history_ : ndarray of shape (n_iter_, 3)
        For each step the number of the convex problem, of the step in it, and the value.
    n_iter_ : int
        Steps in all.
    n_ot_ : int
        Transport problems solved.
    classes_ : ndarray
        Labels seen by `fit`; not there with `omega`.
    n_features_in_ : int
        Number of bins seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of bins seen during fit.

    References
    ----------
    .. [1] Cuturi and Avis (2014). Ground metric learning. JMLR 15:533-564.

    Examples
    --------
    >>> from octavo.data import make_grouped_histograms
    >>> from octavo.metric import GroundMetricLearner
    >>> X, y, groups = make_grouped_histograms(60, random_state=0)
    >>> M = GroundMetricLearner(random_state=0).fit(X, y).metric_
    >>> same = (groups[:, None] == groups) & (M > 0)
    >>> bool(M[same].mean() < 0.25 * M[groups[:, None] != groups].mean())
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "k": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"independence", "uniform"}), "array-like"],
        "step": [Interval(Real, 0, None, closed="neither")],
        "max_outer": [Interval(Integral, 1, None, closed="left")],
        "max_inner": [Interval(Integral, 1, None, closed="left")],
        "min_inner": [Interval(Integral, 0, None, closed="left")],
        "inner_tol": [Interval(Real, 0, None, closed="left")],
        "outer_tol": [Interval(Real, 0, None, closed="left")],
        "blend": [Interval(Real, 0, 1, closed="both")],
        "ot": [StrOptions({"emd", "pot", "sinkhorn"})],
        "reg": [Interval(Real, 0, None, closed="neither")],
        "candidates": [Interval(Integral, 1, None, closed="left"), None],
        "normalize": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        k=3,
        init="independence",
        step=0.1,
        max_outer=20,
        max_inner=80,
        min_inner=24,
        inner_tol=0.0075,
        outer_tol=0.001,
        blend=1.0,
        ot="emd",
        reg=0.05,
        candidates=None,
        normalize=False,
        n_jobs=None,
        random_state=None,
    ):
        self.k = k
        self.init = init
        self.step = step
        self.max_outer = max_outer
        self.max_inner = max_inner
        self.min_inner = min_inner
        self.inner_tol = inner_tol
        self.outer_tol = outer_tol
        self.blend = blend
        self.ot = ot
        self.reg = reg
        self.candidates = candidates
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self):
        return len(self._rows)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, omega=None):
        """Learn the metric from labels, or from weights of pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.
        y : array-like of shape (n_samples,)
            Classes.
        omega : array-like of shape (n_samples, n_samples), default=None
            In place of `y`: how much a pair should be close (positive) or far (negative); zero
            where nothing is known. Symmetric.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, like = host_rows(X)
        options: dict[str, Any] = {
            "accept_sparse": "csr",
            "dtype": np.float64,
            "ensure_min_features": 2,
        }
        if omega is None:
            X, y = validate_rows(self, X, y, **options)
        else:
            if y is not None:
                raise ValueError("Give y or omega, not both.")
            X = validate_rows(self, X, **options)
        R = as_histograms(X, "X", normalize=self.normalize)
        if omega is None:
            self.classes_, codes = encode_classes(y, owner=self)
            told = compare_labels(codes, self.k)
            lonely = self.classes_[np.bincount(codes) == 1].tolist()
            if lonely:
                warnings.warn(
                    f"Class {lonely[0]!r} has one histogram, which has none alike: it only pushes "
                    f"others away ({len(lonely)} such classes).",
                    UserWarning,
                    stacklevel=2,
                )
        else:
            if hasattr(self, "classes_"):
                del self.classes_
            told = compare_weights(omega, len(R))
        seen = np.flatnonzero(R.any(axis=0))
        if len(seen) < R.shape[1]:
            warnings.warn(
                f"{R.shape[1] - len(seen)} bins are empty in all histograms, the first is "
                f"{np.setdiff1d(np.arange(R.shape[1]), seen)[0]}: their distances are not learned, "
                "and set equal.",
                UserWarning,
                stacklevel=2,
            )
        self._rows = R
        self._learn(np.ascontiguousarray(R[:, seen]), told, seen, like)
        return self

    def _learn(self, R, told, seen, like):
        ties = check_random_state(self.random_state).permutation(2 * len(told.pairs)).astype(float)
        init = self.init
        if not isinstance(init, str) and len(seen) < len(self._rows[0]):
            init = np.asarray(init, dtype=np.float64)
            if init.shape == (self._rows.shape[1],) * 2:
                init = init[np.ix_(seen, seen)]
        M = start_metric(init, R, told, self.k, ties, self.blend)
        layer = make_transports(
            R, R, told.pairs, self.ot, shared=True, reg=self.reg, n_jobs=self.n_jobs, like=like
        )
        alike, unlike = (
            Side(layer, rows, told.omega, self.k, ties, self.candidates)
            for rows in (told.alike, told.unlike)
        )
        schedule = Schedule(
            self.step,
            self.max_outer,
            self.max_inner,
            self.min_inner,
            self.inner_tol,
            self.outer_tol,
        )
        # with the paper's ω one over the largest 1-norm of γ₊ or γ₋ is 1
        unit = 1.0 / (len(R) * self.k * float(np.abs(told.omega).max()))
        total = self.max_outer * self.max_inner
        with FitProgress(self, total, self._rows, None, step_name="step") as progress:
            found = descend(M, alike, unlike, schedule, unit, progress.step)
        learned = positive_metric(shortest_paths(found.M))  # cuts off what the last projection left
        full = fill_unseen(learned, seen, self._rows.shape[1])
        scale = 1.0 / full.sum() if full.any() else 1.0
        self.metric_ = full * scale
        self.objectives_, self.history_ = found.objectives, found.history
        final = sum(side.evaluate(learned, everything=True)[0] for side in (alike, unlike))
        self.objective_ = final * scale
        self.n_iter_, self.n_ot_ = found.n_iter, layer.n_solved
        if not found.converged:
            gain = -np.diff(found.objectives)[-1] if len(found.objectives) > 1 else 0.0
            warnings.warn(
                f"The criterion still fell by {gain:.3g} to {found.objectives[-1]:.6g} in the last "
                f"of max_outer={self.max_outer} convex problems.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def pairwise(self, X, Y=None):
        """Return transport distances under the learned metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.
        Y : {array-like, sparse matrix} of shape (n_other, n_features), default=None
            Others; X itself by default.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_other)
            ⟨M, X⟩ of the plans, smoothed ones for "sinkhorn".
        """
        check_is_fitted(self)
        R, like = self._histograms(X, "X")
        S = None if Y is None else self._histograms(Y, "Y")[0]
        return distance_table(
            R, S, self.metric_, self.ot, reg=self.reg, n_jobs=self.n_jobs, like=like
        )

    def _histograms(self, X, name):
        X, like = host_rows(X)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return as_histograms(X, name, normalize=self.normalize), like

    def transform(self, X):
        """Return distances to the histograms that the metric was learned from.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_fitted)
            As `pairwise`, ready for estimators with ``metric="precomputed"``.
        """
        check_is_fitted(self)
        R, like = self._histograms(X, "X")
        return distance_table(
            R, self._rows, self.metric_, self.ot, reg=self.reg, n_jobs=self.n_jobs, like=like
        )
