"""The same regression from a stream of rows.

Reference: Meyer, Bonnabel and Sepulchre (2011), Sections 7.3, 7.4.2 and Appendix A.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.linalg.pair_differences import TableRows
from octavo.engine.manifolds.fixed_rank import polar_point
from octavo.metric.fixed_rank.losses import check_relation
from octavo.metric.fixed_rank.starts import (
    check_magnitude,
    check_rank,
    check_targets,
    start_factor,
)
from octavo.metric.fixed_rank.streams import PolarStream, choose_schedule, start_stream, steady_pass

__all__ = ["OnlineFixedRankPSD"]


class OnlineFixedRankPSD(RegressorMixin, CallbackSupportMixin, SoundEstimator):
    """Fit a positive semidefinite W of a given rank to targets aᵀWa, batch by batch.

    The first call chooses the length of steps by trial passes over its first rows; its blocks
    should therefore be typical, and not tiny. Where all rows fit into memory and there are fewer
    than some ten thousand, `FixedRankPSDRegressor` is faster and more exact.

    Parameters
    ----------
    rank : int or None, default=2
        Rank of W; None stands for n_features.
    geometry : {"polar", "flat"}, default="polar"
        As for `FixedRankPSDRegressor`, Eqs. (20) and (9).
    lam : float, default=0.5
        The paper's λ for "polar": weight of the subspace.
    batch_size : int, default=32
        Rows a step.
    step : {"auto"} or float, default="auto"
        The paper's s, in units of one over the mean norm of the gradient at the start; "auto" tries
        powers of two from 1/8 to 8.
    t0 : {"auto"} or float, default="auto"
        Passes over the first call's rows after which steps have halved; "auto" tries as for `step`.
    schedule : {"annealed", "safe"}, default="annealed"
        "annealed" is Eq. (23); "safe" divides its steps by max(‖G‖², 1) in the flat geometry,
        with which convergence is almost sure (Appendix A).
    n_epochs : int, default=5
        Passes of `fit`; `partial_fit` takes one.
    init : {"pca", "identity", "random"} or array-like of shape (n_features, rank), default="pca"
        As for `FixedRankPSDRegressor`, from the first call's rows.
    shuffle : bool, default=True
        Whether `fit` draws a new order for every pass.
    random_state : int, RandomState instance or None, default=None
        For shuffling and random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, rank)
        G, with W = GGᵀ.
    basis_ : ndarray of shape (n_features, rank)
        U, an orthonormal basis of the range of W.
    R_ : ndarray of shape (rank, rank)
        The form within it: W = U RRᵀ Uᵀ.
    step_, t0_ : float
        The schedule that was chosen; a pass that runs away is taken again with a quarter of
        `step_`, which stays.
    n_seen_ : int
        Rows seen, over all passes.
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
    >>> import numpy as np
    >>> from octavo.metric import OnlineFixedRankPSD
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((4000, 6))
    >>> y = (A[:, 0] + A[:, 1]) ** 2
    >>> model = OnlineFixedRankPSD(rank=1, random_state=0)
    >>> for block in np.split(np.arange(4000), 4):
    ...     _ = model.partial_fit(A[block], y[block])
    >>> (model.components_ @ model.components_.T)[:2, :2].round(1).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    _parameter_constraints: dict[str, Any] = {
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "geometry": [StrOptions({"polar", "flat"})],
        "lam": [Interval(Real, 0, 1, closed="both")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "step": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "t0": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "schedule": [StrOptions({"annealed", "safe"})],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"pca", "identity", "random"}), "array-like"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        rank=2,
        geometry="polar",
        lam=0.5,
        *,
        batch_size=32,
        step="auto",
        t0="auto",
        schedule="annealed",
        n_epochs=5,
        init="pca",
        shuffle=True,
        random_state=None,
    ):
        self.rank = rank
        self.geometry = geometry
        self.lam = lam
        self.batch_size = batch_size
        self.step = step
        self.t0 = t0
        self.schedule = schedule
        self.n_epochs = n_epochs
        self.init = init
        self.shuffle = shuffle
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # a quadratic form fits no line
        return tags

    def _read(self, A, y, relation, reset):
        A, y = validate_rows(
            self, A, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, reset=reset
        )
        y = y.astype(np.float64)
        relation = check_relation(relation, len(y))
        check_magnitude(A, "A")
        check_targets(y, relation)
        return TableRows(A), y, relation

    def _start(self, rows, y, relation, rng):
        r = check_rank(self.rank, rows.shape[1], self.geometry)
        if r > rows.shape[0] and isinstance(self.init, str) and self.init == "pca":
            raise ValueError(
                f"rank={r} is larger than n_samples={rows.shape[0]} of the first block, from which "
                "init='pca' takes the start."
            )
        G = start_factor(rows, r, self.init, y, relation, rng)
        self._stream = start_stream(G, self.geometry, self.lam)
        self._schedule = choose_schedule(
            self._stream,
            rows,
            y,
            relation,
            self.batch_size,
            s=None if self.step == "auto" else float(self.step),
            t0=None if self.t0 == "auto" else float(self.t0),
            safe=self.schedule == "safe" and self.geometry == "flat",
        )
        # s and t₀ of Eq. (23)
        self.step_, self.t0_, self.n_seen_ = self._schedule.s, self._schedule.t0, 0

    def _pass(self, rows, y, relation, order=None):
        before = self.n_seen_
        self._stream, self._schedule, self.n_seen_, n_skipped = steady_pass(
            self._stream, rows, y, relation, self._schedule, before, self.batch_size, order
        )
        self.step_ = self._schedule.s
        if self.n_seen_ == before:
            warnings.warn(
                f"A pass over {len(y)} rows was left out: with every step down to "
                f"{self.step_:.3g} it ran away. Scale the data, or look for rows that are unlike "
                "those of the first call.",
                UserWarning,
                stacklevel=3,
            )
        if n_skipped:
            warnings.warn(
                f"{n_skipped} batches were left out: their steps are not finite. Choose a smaller "
                "step, or scale the data.",
                UserWarning,
                stacklevel=3,
            )

    def _keep(self):
        self.components_ = self._stream.factor()
        if isinstance(self._stream, PolarStream):
            self.basis_, self.R_ = self._stream.U, self._stream.R
        else:
            self.basis_, self.R_ = polar_point(self.components_)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, A, y, relation=None):
        """Fit W by several passes.

        Parameters
        ----------
        A : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows a.
        y : array-like of shape (n_samples,)
            Targets for aᵀWa.
        relation : array-like of shape (n_samples,), default=None
            0 where aᵀWa = y is wanted, 1 for aᵀWa ≤ y, -1 for aᵀWa ≥ y. None stands for zeros.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        rows, y, relation = self._read(A, y, relation, reset=True)
        rng = check_random_state(self.random_state)
        self._start(rows, y, relation, rng)
        with FitProgress(self, self.n_epochs, A, y, step_name="epoch") as progress:
            for _ in range(self.n_epochs):
                self._pass(rows, y, relation, rng.permutation(len(y)) if self.shuffle else None)
                if progress.step():
                    break
        self._keep()
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, A, y, relation=None):
        """Take one pass over these rows, in their order.

        Parameters
        ----------
        A : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows a.
        y : array-like of shape (n_samples,)
            Targets for aᵀWa.
        relation : array-like of shape (n_samples,), default=None
            As for `fit`.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        first = not hasattr(self, "components_")
        rows, y, relation = self._read(A, y, relation, reset=first)
        if first:
            self._start(rows, y, relation, check_random_state(self.random_state))
        self._pass(rows, y, relation)
        self._keep()
        return self

    def predict(self, A):
        """Return aᵀWa.

        Parameters
        ----------
        A : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows a.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Never negative.
        """
        check_is_fitted(self)
        A = validate_rows(self, A, accept_sparse="csr", dtype=np.float64, reset=False)
        P = TableRows(A).dot(self.components_)
        return np.einsum("ij,ij->i", P, P)
