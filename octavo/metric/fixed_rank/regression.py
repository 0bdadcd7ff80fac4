"""Regression on positive semidefinite matrices of fixed rank, from rows a with targets aᵀWa.

Targets may be equalities or bounds. The search never leaves the matrices of the rank asked for,
and costs O(n d r) a step, whatever the length of its line searches.

Reference: Meyer, Bonnabel and Sepulchre (2011), Regression on fixed-rank positive semidefinite
matrices: a Riemannian approach, Sections 5 to 8.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.linalg.pair_differences import TableRows
from octavo.engine.manifolds.fixed_rank import polar_point
from octavo.metric.fixed_rank.descent import GEOMETRIES, Descent, descend, start_walk
from octavo.metric.fixed_rank.losses import check_relation
from octavo.metric.fixed_rank.starts import (
    check_magnitude,
    check_rank,
    check_targets,
    start_factor,
    warn_of_collapse,
)
from octavo.metric.fixed_rank.walks import PolarWalk

__all__ = ["FixedRankPSDRegressor"]


class Fit(NamedTuple):
    """W = GGᵀ = U RRᵀ Uᵀ, and how the descent went."""

    G: Floats
    U: Floats
    R: Floats
    descent: Descent


def fit_from(
    rows: Any,
    y: Floats,
    relation: Ints | None,
    G: Floats,
    geometry: str,
    lam: float = 0.5,
    precondition: Callable[[Floats], Floats] | None = None,
    **options: Any,
) -> Fit:
    """Return where descent from GGᵀ ends.

    Parameters
    ----------
    rows : TableRows or PairDifferences
        The data.
    y, relation : ndarray of shape (n,)
        Targets.
    G : ndarray of shape (d, r)
        The start.
    geometry : str
        One of `GEOMETRIES`.
    lam : float, default=0.5
        Weight of the subspace.
    precondition : callable, default=None
        For steps of "conjugate".
    **options : dict
        Those of `descend`.

    Returns
    -------
    Fit
        Factors, and the descent.
    """
    walk = start_walk(rows, G, geometry, lam, precondition)
    descent = descend(walk, y, relation, **options)
    factor = walk.factor()
    if isinstance(walk, PolarWalk):
        return Fit(factor, walk.U, walk.R, descent)
    return Fit(factor, *polar_point(factor), descent)  # G = UR, Section 6.2


def warn_unless_converged(owner: Any, descent: Descent, max_iter: int) -> None:
    """Warn with the last costs where a descent ended too soon."""
    if descent.converged:
        return
    fall = (descent.costs[-2] - descent.costs[-1]) / descent.costs[-2] if descent.n_iter else 1.0
    warnings.warn(
        f"{type(owner).__name__} stopped after {descent.n_iter} steps of at most {max_iter}: "
        f"{descent.reason}. The cost is {descent.costs[-1]:.6g} and fell by {fall:.2g} of itself "
        "in the last step.",
        ConvergenceWarning,
        stacklevel=4,
    )


class FixedRankPSDRegressor(RegressorMixin, CallbackSupportMixin, SoundEstimator):
    """Fit a positive semidefinite W of a given rank to targets aᵀWa.

    Minimises half the mean square of aᵀWa - y over W = GGᵀ with G of shape (n_features, rank);
    a bound counts only where it does not hold.

    Do not use it for an ordinary regression: predictions are quadratic forms without sign,
    offset or linear part (`sklearn.linear_model.Ridge` on polynomial features has those). With
    a rank below n_features there are local minima; `n_init` tries several starts.

    Parameters
    ----------
    rank : int or None, default=2
        Rank of W; None stands for n_features.
    geometry : {"polar", "flat", "affine", "affine_first_order", "log_euclidean", \
            "log_euclidean_gradient"}, default="polar"
        How steps are measured. "polar": a subspace and a form within it, Eq. (21), which does not
        mind the units of y. "flat": plain gradients of the factor, Eq. (10), the fastest. The
        others need full rank: "affine" and its first-order (LogDet) step; "log_euclidean", the
        von Neumann step, which is mirror descent, or descent by the gradient of f(exp S) itself.
    lam : float, default=0.5
        The paper's λ for "polar": 0 keeps the subspace of the start, 1 moves nothing but it.
    tol : float, default=1e-5
        Ends when the cost is below `tol` times that of W = 0, or when the relative change of
        the cost or of the factor is below `tol`. What is left is some hundred times that, which is
        enough for prediction. Below 1e-8, but above 0, the last steps are Newton's ("flat", and
        "polar" with 0 < `lam` < 1), and what is left is `tol`: 1e-12 gives twelve digits.
    max_iter : int, default=1000
        Most steps.
    init : {"pca", "identity", "random"} or array-like of shape (n_features, rank), default="pca"
        What G starts from: principal directions of the rows, unit vectors or Gaussian numbers, each
        scaled to fit the equalities, or an array. With full rank "pca" is the identity.
    n_init : int, default=1
        How many starts; those after the first are random, and the lowest cost wins.
    armijo_c : float, default=0.5
        Share of the slope that a step must gain, Eq. (22).
    s0 : float, default=100.0
        Longest step tried, in units of one over the norm of the gradient.
    random_state : int, RandomState instance or None, default=None
        For random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, rank)
        G, with W = GGᵀ. Compare W, never G: its columns may be rotated.
    basis_ : ndarray of shape (n_features, rank)
        U, an orthonormal basis of the range of W.
    R_ : ndarray of shape (rank, rank)
        The form within it: W = U RRᵀ Uᵀ.
    cost_history_ : ndarray of shape (n_iter_ + 1,)
        The cost at every iterate, the start first.
    objective_ : float
        The cost at the end.
    n_iter_ : int
        Steps taken.
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
    >>> from octavo.metric import FixedRankPSDRegressor
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((200, 6))
    >>> y = (A[:, 0] + A[:, 1]) ** 2
    >>> model = FixedRankPSDRegressor(rank=1, tol=1e-10).fit(A, y)
    >>> (model.components_ @ model.components_.T)[:2, :2].round(3).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    _parameter_constraints: dict[str, Any] = {
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "geometry": [StrOptions(set(GEOMETRIES))],
        "lam": [Interval(Real, 0, 1, closed="both")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"pca", "identity", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "armijo_c": [Interval(Real, 0, 1, closed="neither")],
        "s0": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        rank=2,
        geometry="polar",
        lam=0.5,
        tol=1e-5,
        max_iter=1000,
        init="pca",
        *,
        n_init=1,
        armijo_c=0.5,
        s0=100.0,
        random_state=None,
    ):
        self.rank = rank
        self.geometry = geometry
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.init = init
        self.n_init = n_init
        self.armijo_c = armijo_c
        self.s0 = s0
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
        r = check_rank(self.rank, A.shape[1], self.geometry)
        if r > A.shape[0]:
            raise ValueError(f"rank={r} is larger than n_samples={A.shape[0]}.")
        return TableRows(A), y, relation, r

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, A, y, relation=None):
        """Fit W.

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
        rows, y, relation, r = self._read(A, y, relation, reset=True)
        rng = check_random_state(self.random_state)
        fits = []
        with FitProgress(self, self.max_iter * self.n_init, A, y) as progress:
            for start in range(self.n_init):
                init = self.init if start == 0 else "random"
                G = start_factor(rows, r, init, y, relation, rng)
                fits.append(self._descend(rows, y, relation, G, progress))
        # Section 7.6: below full rank, descents end in local minima.
        best = min(fits, key=lambda fit: fit.descent.costs[-1])
        self._keep(best)
        warn_unless_converged(self, best.descent, self.max_iter)
        warn_of_collapse(best.G)
        return self

    def _descend(self, rows, y, relation, G, progress, max_iter=None):
        return fit_from(
            rows,
            y,
            relation,
            G,
            self.geometry,
            self.lam,
            tol=self.tol,
            max_iter=self.max_iter if max_iter is None else max_iter,
            c=self.armijo_c,
            s0=self.s0,
            on_step=lambda cost: bool(progress is not None and progress.step()),
        )

    def _keep(self, fit):
        self.components_, self.basis_, self.R_ = fit.G, fit.U, fit.R
        self.cost_history_ = np.array(fit.descent.costs)
        self.objective_ = fit.descent.costs[-1]
        self.n_iter_ = fit.descent.n_iter

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, A, y, relation=None):
        """Take one step of descent on these rows, from where the model stands.

        `OnlineFixedRankPSD` has the schedule of steps for long streams.

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
            Fitted estimator; `cost_history_` is that of the step, on these rows.
        """
        first = not hasattr(self, "components_")
        rows, y, relation, r = self._read(A, y, relation, reset=first)
        rng = check_random_state(self.random_state)
        G = start_factor(rows, r, self.init, y, relation, rng) if first else self.components_
        self._keep(self._descend(rows, y, relation, G, None, max_iter=1))
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
