"""The coming graph of a series: sparse, of low rank, with features that follow their past."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.proximal.nuclear_l1 import SingularShrinker
from octavo.network.autoregressive.base import CellScorer
from octavo.network.autoregressive.features import read_feature_map
from octavo.network.autoregressive.joint import SOLVERS, JointProblem, Penalties
from octavo.network.autoregressive.regression import STRUCTURES, FeatureRegression, coefficients
from octavo.network.autoregressive.snapshots import Snapshot, read_snapshot, read_snapshots

__all__ = ["AutoregressiveLinkPredictor"]

FEATURE_MAPS = [str, np.ndarray, LinearOperator, list, tuple]
STRENGTH = [Interval(Real, 0, None, closed="left")]
COUNT = [Interval(Integral, 1, None, closed="left")]


def scale_of(matrices: list[Snapshot]) -> float:
    """Return the largest absolute weight of a series, 1 where all are zero."""
    largest = max(float(abs(matrix).max()) for matrix in matrices)
    return largest if largest > 0.0 else 1.0


def latest(matrices: list[Snapshot], history: int | None, order: int) -> list[Snapshot]:
    """Return the last `history` snapshots, or say that they are too few for `order`."""
    kept = matrices if history is None else matrices[-history:]
    if len(kept) <= order:
        raise ValueError(
            f"order={order} needs at least {order + 1} snapshots; got {len(kept)}."
            + ("" if len(kept) == len(matrices) else " Raise history.")
        )
    return kept


def warn_of_degrees(feature_map: Any) -> None:
    """Warn that degrees alone do not say who links to whom."""
    if isinstance(feature_map, str) and feature_map in ("out_degree", "in_degree"):
        side = "columns" if feature_map == "out_degree" else "rows"
        warnings.warn(
            f"feature_map={feature_map!r} predicts volumes, not who links to whom: the objective "
            f"is the same when {side} trade places, so that all of them are foreseen alike. Use "
            "predict_features, or feature_map='svd'.",
            UserWarning,
            stacklevel=3,
        )


class AutoregressiveLinkPredictor(CallbackSupportMixin, CellScorer):
    """Predict the next graph of a series, with an autoregression of its features.

    The coming matrix is sparse and of low rank, and its linear features continue those of the
    past: one convex problem in the matrix and in the coefficients, Eq. (3).

    Parameters
    ----------
    tau : float, default=0.1
        Penalty on the nuclear norm of the coming matrix, the paper's τ.
    gamma : float, default=0.1
        Penalty on its absolute entries, γ. The penalties are not free of scale: `tau_max_` and
        `gamma_max_` say above which all is zero.
    kappa : float, default=0.1
        Penalty on the absolute coefficients of the autoregression, κ; those of all d x d, also
        where many are equal (``"kron"``).
    order : int, default=1
        Lags of the autoregression.
    feature_map : str, ndarray, LinearOperator or list of matrices, default="svd"
        ``"svd"`` projects each row's links on the leading right singular vectors of the sum of
        all snapshots; ``"out_degree"`` and ``"in_degree"`` are sums of rows and of columns. An
        array of shape (m, r) holds other directions, a list of d matrices the Ω_j themselves, and
        a LinearOperator of shape (d, n * m) takes the entries of a snapshot row by row.
    rank : int, default=5
        Directions of ``"svd"``.
    var_structure : {"kron", "full", "diag"}, default="kron"
        Coefficients that all nodes share (directions by directions), any, or one a feature.
        Features that are no projection have no nodes to share: ``"kron"`` is ``"full"`` then.
    nonneg : bool, default=True
        Whether weights are never negative.
    solver : {"fista", "admm", "incremental"}, default="fista"
        Accelerated proximal gradient with the exact map of both penalties; a splitting with
        one decomposition a step; or Algorithm 1 with shrinking steps, which is only near the
        optimum.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-6
        Relative change of the matrix at which to end.
    history : int, default=None
        Use the latest snapshots only; all by default.
    rescale : bool, default=False
        Whether snapshots are divided by their largest weight before, and the answer multiplied
        after.
    svd : {"auto", "full", "randomized"}, default="auto"
        All singular values, or those that matter from a block Krylov space; by size.
    random_state : int, RandomState instance or None, default=None
        Start of ``"randomized"``.

    Attributes
    ----------
    A_next_ : ndarray of shape (n, m)
        The coming matrix, exactly of low rank; up to the tolerance it equals `A_sparse_`. Where
        that is zero, order and sign of what is left here mean little: score such pairs by
        `A_sparse_`, where they tie.
    A_sparse_ : ndarray of shape (n, m)
        The same with exact zeros, and no negative entry where `nonneg`.
    var_coef_ : ndarray
        (order * r, r) for ``"kron"``, (order * d, d) for ``"full"``, (order, d) for ``"diag"``.
    features_ : ndarray of shape (n_snapshots, d)
        Of the snapshots used.
    predicted_features_ : ndarray of shape (d,)
        What the autoregression foresees; ω(A) is drawn towards it.
    objective_ : float
        At `A_sparse_`; above 1,000 nodes with the nuclear norm of `A_next_`.
    objectives_ : list of float
        After each iteration.
    kkt_residual_ : float
        Length of the proximal gradient at the answer, or the largest violation in the
        coefficients: zero at the optimum.
    singular_values_ : ndarray
        Of `A_next_`, those that are not zero, from the largest on.
    tau_max_, gamma_max_, kappa_max_ : float
        Penalties at or above which the answer is zero, each on its own; the last for the past
        alone.
    n_iter_ : int
        Iterations that were made.

    See Also
    --------
    AutoregressiveLinkPredictorCV : Chooses the penalties over time.
    SparseLowRankDenoiser : Without time.
    FactorizedLinkPredictor : For large graphs.

    References
    ----------
    Richard, Gaïffas and Vayatis (2014), "Link Prediction in Graphs with Autoregressive Features",
    Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_autoregressive_graphs
    >>> from octavo.network import AutoregressiveLinkPredictor, link_auc
    >>> series = make_autoregressive_graphs(n=30, rank=3, T=8, random_state=0)
    >>> model = AutoregressiveLinkPredictor(1e-3, 1e-4, 1e-3, rank=3).fit(series.snapshots)
    >>> round(link_auc(series.A_next, model.predict_scores()), 2) > 0.8
    True
    """

    _parameter_constraints = {
        "tau": STRENGTH,
        "gamma": STRENGTH,
        "kappa": STRENGTH,
        "order": COUNT,
        "feature_map": FEATURE_MAPS,
        "rank": COUNT,
        "var_structure": [StrOptions(set(STRUCTURES))],
        "nonneg": ["boolean"],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": COUNT,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "history": [None, Interval(Integral, 1, None, closed="left")],
        "rescale": ["boolean"],
        "svd": [StrOptions({"auto", "full", "randomized"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        tau=0.1,
        gamma=0.1,
        kappa=0.1,
        *,
        order=1,
        feature_map="svd",
        rank=5,
        var_structure="kron",
        nonneg=True,
        solver="fista",
        max_iter=500,
        tol=1e-6,
        history=None,
        rescale=False,
        svd="auto",
        random_state=None,
    ):
        self.tau = tau
        self.gamma = gamma
        self.kappa = kappa
        self.order = order
        self.feature_map = feature_map
        self.rank = rank
        self.var_structure = var_structure
        self.nonneg = nonneg
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.history = history
        self.rescale = rescale
        self.svd = svd
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, snapshots: Any, y: Any = None) -> Self:
        """Predict the graph that follows a series.

        Parameters
        ----------
        snapshots : array of shape (T, n, m), or list of matrices or networkx graphs
            Oldest first; dense or sparse, also rectangular (users by products).
        y : ignored
            Present for the convention.

        Returns
        -------
        self : AutoregressiveLinkPredictor
            The fitted estimator.
        """
        matrices = latest(read_snapshots(snapshots, self.nonneg), self.history, self.order)
        warn_of_degrees(self.feature_map)
        rng = check_random_state(self.random_state)
        unit = scale_of(matrices) if self.rescale else 1.0
        if unit != 1.0:
            matrices = [matrix / unit for matrix in matrices]
        omega = read_feature_map(self.feature_map, matrices, self.rank, rng)
        features = np.array([omega(matrix) for matrix in matrices])
        n_times, d = features.shape
        if self.var_structure == "full" and d > 10 * n_times and self.kappa < 0.1:
            warnings.warn(
                f"var_structure='full' has {d} coefficients a feature and {n_times} snapshots: "
                "raise kappa, or use 'kron'.",
                UserWarning,
                stacklevel=2,
            )
        regression = FeatureRegression(
            features.reshape(n_times, omega.units, omega.width),
            self.order,
            self.kappa,
            self.var_structure,
        )
        penalties = Penalties(float(self.tau), float(self.gamma), self.nonneg)
        shape = matrices[0].shape
        problem = JointProblem(omega, regression, penalties, shape, SingularShrinker(self.svd, rng))
        self._report_largest(problem)
        with FitProgress(self, self.max_iter, snapshots) as progress:
            found = SOLVERS[self.solver](problem, self.max_iter, self.tol, progress.step)
        self._omega, self._unit = omega, unit
        self.A_next_, self.A_sparse_ = unit * found.low_rank, unit * found.sparse
        self.var_coef_ = coefficients(found.regression.W, self.var_structure)
        self.features_ = unit * features
        self.predicted_features_ = unit * found.regression.predicted
        self.objectives_, self.objective_ = found.objectives, found.objectives[-1]
        self.kkt_residual_ = found.residual
        self.n_iter_ = len(found.objectives)
        self._say_what_is_odd(found.converged)
        return self

    def _report_largest(self, problem: JointProblem) -> None:
        slope = problem.at(problem.start())[1]
        if self.nonneg:
            slope = np.minimum(slope, 0.0)
        self.gamma_max_ = float(np.abs(slope).max())  # the least γ at which A = 0 is best
        _, values = problem.shrink(slope, 0.0) if min(slope.shape) <= 400 else (None, None)
        if values is None:  # of a large matrix, by the power method's bound
            values = np.array([_spectral_norm(slope)])
        self.tau_max_ = float(values.max(initial=0.0))
        self.kappa_max_ = problem.regression.largest_kappa()

    def _say_what_is_odd(self, converged: bool) -> None:
        if not converged and self.solver != "incremental":
            warnings.warn(
                f"{self.solver} has not settled in {self.n_iter_} iterations; the residual of "
                f"optimality is {self.kkt_residual_:.1e}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not self.A_sparse_.any() and self.features_.any():
            warnings.warn(
                f"No link is foreseen: the penalties are too large for these weights. tau is "
                f"{self.tau:g} and {self.tau_max_:.3g} alone leaves nothing, gamma is "
                f"{self.gamma:g} and {self.gamma_max_:.3g} alone leaves nothing. "
                "AutoregressiveLinkPredictorCV chooses both.",
                UserWarning,
                stacklevel=3,
            )

    @property
    def singular_values_(self) -> Floats:
        """Singular values of `A_next_` that are not zero."""
        check_is_fitted(self)
        values = np.linalg.svd(self.A_next_, compute_uv=False)
        return values[values > 1e-12 * max(values[0], 1e-300)]

    def predict_features(self) -> Floats:
        """Return the features ω(A) of the matrix that is foreseen.

        Returns
        -------
        features : ndarray of shape (d,)
            Sums of rows for ``"out_degree"``, say.
        """
        check_is_fitted(self)
        return self._omega(self.A_next_)

    def features_of(self, A: Any) -> Floats:
        """Return the features ω(A) of another graph, to compare with what was foreseen.

        Parameters
        ----------
        A : matrix of shape (n, m)
            Dense or sparse.

        Returns
        -------
        features : ndarray of shape (d,)
            In the order of `features_`.
        """
        check_is_fitted(self)
        matrix = read_snapshot(A, "A")
        if matrix.shape != self.A_next_.shape:
            raise ValueError(
                f"A must have the snapshots' shape {self.A_next_.shape}; got {matrix.shape}."
            )
        return self._omega(matrix)


def _spectral_norm(matrix: Floats) -> float:
    """Return the largest singular value, by powers from a fixed start."""
    x: Any = np.random.RandomState(0).standard_normal(matrix.shape[1])
    value: float = 0.0
    for _ in range(60):
        x = matrix.T @ (matrix @ (x / max(float(np.linalg.norm(x)), 1e-300)))
        before, value = value, float(np.sqrt(np.linalg.norm(x)))
        if value - before <= 1e-9 * value:
            break
    return value
