"""Separable factorisation by linear optimisation: SeparableNMFLP, and Hottopixx before it.

References: Gillis and Luce (2014), "Robust near-separable nonnegative matrix factorization using
linear optimization", JMLR 15:1249-1280; Bittorf, Recht, Ré and Tropp (2012), "Factoring nonnegative
matrices with linear programs", NIPS.
"""

from __future__ import annotations

import time
import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from octavo.decomposition.separable.anchor_factorization import (
    SPARSE,
    AnchorFactorization,
    dense_rows,
    fit_weights,
    refuse_extremes,
    residual_norm,
)
from octavo.decomposition.separable_lp.noise_level import estimate_epsilon
from octavo.decomposition.separable_lp.normalized import NOISES
from octavo.decomposition.separable_lp.programs import SOLVERS, solve_separable_lp
from octavo.decomposition.separable_lp.selection import (
    above_threshold,
    before_gap,
    cluster_diagonal,
    count_from_weights,
    hybrid_selection,
    largest,
    split_outliers,
)
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sparse_rows import validate_rows

__all__ = ["Hottopixx", "SeparableNMFLP"]

_UNCLEAR = 0.3  # weights farther than this from both 0 and 1 are no clear answer
POSTPROCESSES = ("hybrid", "threshold", "cluster", "topk", "gap")


class _ProgramFactorization(AnchorFactorization):
    """A factorisation whose anchors come from the diagonal of a linear program's solution."""

    # Parameters of the other separable factorisations that have one value here.
    axis, strict, normalize = "samples", False, False

    def _read(self, X):
        """Return the rows of X as an array."""
        X = validate_rows(self, X, accept_sparse=SPARSE, dtype=np.float64)
        refuse_extremes(X)
        X = dense_rows(X, slice(None))
        if self.n_components is not None and self.n_components > len(X):
            raise ValueError(
                f"n_components must be between 1 and the number of rows {len(X)}, got "
                f"n_samples={len(X)} and n_components={self.n_components}."
            )
        if not np.abs(X).sum() > 0:
            raise ValueError(f"All {len(X)} samples of X are zero: there is nothing to select.")
        return X

    def _solve(self, X, epsilon, **program):
        """Solve, and keep what the program says."""
        start = time.perf_counter()
        with FitProgress(self, None, X, step_name="round") as progress:
            found = solve_separable_lp(X, epsilon, step=progress.step, **program)
        self.solve_time_ = time.perf_counter() - start
        self.diagonal_, self.coupling_ = found.diagonal, found.coupling
        self.objective_ = found.objective
        self.duality_gap_ = found.objective - found.lower_bound
        self.lp_status_, self.n_iter_ = found.status, found.n_iter

    def _keep(self, X, selected, outliers):
        """Keep the rows chosen, and what they leave of the others."""
        self.selected_indices_ = np.asarray(selected, dtype=np.intp)
        self.outlier_indices_ = np.asarray(outliers, dtype=np.intp)
        self.n_components_ = len(self.selected_indices_)
        self.components_ = X[self.selected_indices_]
        weights = fit_weights(X, self.components_).weights
        inside = np.ones(len(X), dtype=bool)
        inside[self.outlier_indices_] = False
        left = np.abs(X[inside] - weights[inside] @ self.components_).sum(axis=1)
        self.residual_l1_ = float(left.max(initial=0.0))
        self.reconstruction_err_ = residual_norm(X, weights, self.components_)


class SeparableNMFLP(_ProgramFactorization):
    """Robust separable factorisation: the few rows of X of which all are mixtures, by a program.

    A linear program looks for Y ≥ 0 with X ≈ Yᵀ X, up to the noise level, that needs as few rows as
    possible: its diagonal weighs the rows. It finds how many there are, needs no scaled rows,
    withstands sparse and pointwise noise that misleads greedy methods, and can tell outliers.

    Parameters
    ----------
    n_components : int, optional
        How many rows to choose; by default as many as the program finds.
    epsilon : float, optional
        Noise level: the largest norm of the noise of a row, in the norm of `noise`. By default it
        is guessed: half of the largest residual on as many anchors by successive projection. Give
        it where it is known; `trace_path` shows what depends on it.
    rho : float, default=1.0
        Residuals are allowed up to ρε; 1 is best in theory and experiments.
    noise : {"absolute", "relative", "l2", "linf", "frobenius"}, default="absolute"
        What ρε bounds: the l1 norm of the residual of each row (program 8); the same over the l1
        norm of the row (program 7); its l2 norm or largest entry; or the Frobenius norm of all.
    handle_outliers : bool or "refit", default=False
        True keeps rows that others need and calls the other heavy ones outliers (Algorithm 5; it is
        proved for ``rho=2``); "refit" does so by weights on the heavy rows alone, which withstands
        more noise.
    postprocess : {"hybrid", "threshold", "cluster", "topk", "gap"}, default="hybrid"
        How rows are chosen from the diagonal: the better of the largest weights and of clusters
        (Algorithm 6), weights above 1 - min(1, ρ)/2 (Algorithm 2), clusters (Algorithm 4), the
        largest weights, or those before the largest drop. "threshold" and "gap" do not look at
        `n_components`. Without it the others take as many as are above the threshold (Theorem 2),
        or the sum of the weights, rounded up, for ``rho >= 2`` (Theorem 7).
    solver : {"auto", "cutting", "first-order", "highs", "highs-ipm", "cvxpy"}, default="auto"
        "cutting" is exact, "first-order" stops at a gap of 1e-4 of the objective; "auto" takes the
        first wherever the norm is l1. The others get the program as it stands.
    p_jitter : float, default=0.01
        Costs of rows are drawn from 1 ± this much, so that one of several equal rows is chosen.
    max_columns : int, default=2000
        Most rows that are accepted: time and memory grow with their square. (They are the columns
        of the paper's matrix.)
    random_state : int, RandomState instance or None, default=None
        For the costs.

    Attributes
    ----------
    selected_indices_ : ndarray of shape (n_components_,)
        Rows chosen, heaviest first where they are chosen by weight.
    n_components_ : int
        How many.
    components_ : ndarray of shape (n_components_, n_features)
        The rows themselves.
    diagonal_ : ndarray of shape (n_samples,)
        The weight of each row, between 0 and 1.
    coupling_ : ndarray of shape (n_samples, n_samples)
        Y, with X ≈ Yᵀ X.
    objective_ : float
        The sum of costs times weights.
    duality_gap_ : float
        How much smaller the optimum can be.
    outlier_indices_ : ndarray of int
        Rows that have a large weight and that no other row needs; empty unless asked for.
    epsilon_ : float
        The noise level used.
    residual_l1_ : float
        Largest l1 norm of what the non-negative fit on `components_` leaves of a row, outliers
        apart.
    reconstruction_err_ : float
        Frobenius norm of what it leaves of X.
    lp_status_ : str
        "optimal" or "limit".
    n_iter_ : int
        Rounds of cuts, or iterations.
    solve_time_ : float
        Seconds in the solver.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    SuccessiveProjection : Takes milliseconds, and as robust where the noise is dense.
    EllipsoidalRoundingNMF : For tens of thousands of rows.
    sklearn.decomposition.NMF : For data without pure rows.

    Notes
    -----
    Do not use it on more than some thousand rows, nor where no row is pure. With much noise the sum
    of the weights is well below the number of vertices, so that the automatic count is too low: a
    warning says so, and ``postprocess="gap"`` or `n_components` help.

    References
    ----------
    .. [1] Gillis and Luce (2014). Robust near-separable nonnegative matrix factorization using
       linear optimization. JMLR 15:1249-1280.

    Examples
    --------
    >>> from octavo.data import make_near_separable
    >>> from octavo.decomposition import SeparableNMFLP
    >>> sample = make_near_separable(40, 20, n_components=4, epsilon=0.05, random_state=0)
    >>> model = SeparableNMFLP(4, epsilon=0.05, random_state=0).fit(sample.X)
    >>> sorted(model.selected_indices_.tolist()) == sorted(sample.anchors.tolist())
    True
    >>> model.transform(sample.X).shape
    (40, 4)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
        "rho": [Interval(Real, 0, None, closed="neither")],
        "noise": [StrOptions(set(NOISES))],
        "handle_outliers": ["boolean", StrOptions({"refit"})],
        "postprocess": [StrOptions(set(POSTPROCESSES))],
        "solver": [StrOptions(set(SOLVERS))],
        "p_jitter": [Interval(Real, 0, 1, closed="left")],
        "max_columns": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        epsilon=None,
        rho=1.0,
        noise="absolute",
        handle_outliers=False,
        postprocess="hybrid",
        solver="auto",
        p_jitter=0.01,
        max_columns=2000,
        random_state=None,
    ):
        self.n_components = n_components
        self.epsilon = epsilon
        self.rho = rho
        self.noise = noise
        self.handle_outliers = handle_outliers
        self.postprocess = postprocess
        self.solver = solver
        self.p_jitter = p_jitter
        self.max_columns = max_columns
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Solve the program and choose rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; negative entries are taken for noise, and rows of zeros are never chosen.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = self._read(X)
        if len(X) > self.max_columns:
            raise ValueError(
                f"X has {len(X)} rows and max_columns={self.max_columns}: the program has a "
                "variable for every pair of rows. Choose candidates first, for instance by "
                "EllipsoidalRoundingNMF(selector=None).candidate_indices_, or raise max_columns."
            )
        epsilon = self.epsilon
        if epsilon is None:
            epsilon = estimate_epsilon(X, self.n_components, self.noise)
        self.epsilon_ = float(epsilon)
        jitter = check_random_state(self.random_state).uniform(-1.0, 1.0, len(X))
        costs = 1.0 + self.p_jitter * jitter  # Remark 8: weights p distinct and near one
        self._solve(
            X, self.epsilon_, rho=self.rho, noise=self.noise, costs=costs, solver=self.solver
        )
        self._doubt(X)
        outliers = np.empty(0, dtype=np.intp)
        if self.handle_outliers is not False:
            split = split_outliers(X, self.coupling_, refit=self.handle_outliers == "refit")
            selected, outliers = split.selected, split.outliers
            if self.n_components is not None:
                selected = selected[largest(split.row_sums[selected], self.n_components)]
        else:
            selected = self._select(X)
        if len(selected) == 0:
            raise ValueError(
                f"No row was selected: the largest weight is {self.diagonal_.max():.3g} at "
                f"epsilon={self.epsilon_:.6g}. Lower epsilon, or give n_components and use "
                "postprocess='hybrid'."
            )
        self._keep(X, selected, outliers)
        return self

    def _doubt(self, X):
        """Warn where the weights say that the noise level is not the data's."""
        weights, some = self.diagonal_, int((np.abs(X).sum(axis=1) > 0).sum())
        if not weights.sum() > 0:
            raise ValueError(
                f"rho * epsilon = {self.rho * self.epsilon_:.6g} is at least the norm of every row "
                "of X, so that no row is needed; lower epsilon."
            )
        if some > 1 and weights.sum() > 0.999 * some:
            warnings.warn(
                f"All {some} rows have a weight of one at epsilon={self.epsilon_:.6g}: the noise "
                "is larger than that, and every row is needed. Raise epsilon.",
                UserWarning,
                stacklevel=3,
            )
        unclear = int(((weights > _UNCLEAR) & (weights < 1.0 - _UNCLEAR)).sum())
        if self.n_components is None and not self.handle_outliers and unclear:
            warnings.warn(
                f"The number of components is in doubt: {unclear} of the weights lie between "
                f"{_UNCLEAR} and {1.0 - _UNCLEAR}, and all add up to {weights.sum():.3g}. Give "
                "n_components, or look at the sorted diagonal_.",
                UserWarning,
                stacklevel=3,
            )

    def _count(self):
        """Return how many rows to choose: Theorem 7 counts the weight, Theorem 2 the heavy rows."""
        if self.n_components is not None:
            return self.n_components
        heavy = len(above_threshold(self.diagonal_, self.rho))
        return heavy if self.rho < 2.0 and heavy else count_from_weights(self.diagonal_)

    def _select(self, X):
        """Return the rows that `postprocess` chooses, none of zeros, which lie amid the others."""
        rows = np.flatnonzero(X.any(axis=1))
        X, weights = X[rows], self.diagonal_[rows]
        if self.postprocess == "threshold":
            chosen = above_threshold(weights, self.rho)
        elif self.postprocess == "gap":
            chosen = before_gap(weights)
        elif self.postprocess == "topk":
            chosen = largest(weights, self._count())
        elif self.postprocess == "cluster":
            count = self.n_components if self.rho >= 2.0 else self._count()
            chosen = cluster_diagonal(X, weights, self.epsilon_, count)
        else:
            chosen = hybrid_selection(X, weights, self.epsilon_, self._count())
        return rows[chosen]


class Hottopixx(_ProgramFactorization):
    """Separable factorisation by the linear program of Bittorf and others (2012).

    The forerunner of `SeparableNMFLP`: the diagonal has a sum of `n_components`, costs are random,
    and the rows of largest weights are chosen (Algorithm 1). Rows are taken as scaled to unit l1
    norm.

    Parameters
    ----------
    n_components : int
        Number of rows to choose, and the trace of the coupling.
    epsilon : float
        Noise level: the largest l1 norm of the noise of a row of unit l1 norm. Residuals are
        allowed up to 2ε.
    random_state : int, RandomState instance or None, default=None
        For the costs, which are normal.

    Attributes
    ----------
    selected_indices_ : ndarray of shape (n_components,)
        Rows chosen, heaviest first.
    n_components_ : int
        How many.
    components_ : ndarray of shape (n_components, n_features)
        The rows themselves.
    diagonal_ : ndarray of shape (n_samples,)
        The weight of each row; they add up to `n_components`.
    coupling_ : ndarray of shape (n_samples, n_samples)
        Y, with X ≈ Yᵀ X.
    objective_ : float
        The sum of costs times weights.
    duality_gap_ : float
        How much smaller the optimum can be.
    outlier_indices_ : ndarray of int
        Empty.
    residual_l1_ : float
        Largest l1 norm of what the non-negative fit on `components_` leaves of a row.
    reconstruction_err_ : float
        Frobenius norm of what it leaves of X.
    lp_status_ : str
        "optimal" or "limit".
    n_iter_ : int
        Rounds of cuts.
    solve_time_ : float
        Seconds in the solver.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    SeparableNMFLP : Withstands more noise, and finds how many rows there are.

    Notes
    -----
    Do not use it but for comparison: what the program needs less than the trace is given to the
    rows of smallest costs, which are no vertices but by chance, and a trace that is too small is
    refused.

    References
    ----------
    .. [1] Bittorf, Recht, Ré and Tropp (2012). Factoring nonnegative matrices with linear programs.
       NIPS.
    .. [2] Gillis and Luce (2014). Robust near-separable nonnegative matrix factorization using
       linear optimization. JMLR 15:1249-1280.

    Examples
    --------
    >>> from octavo.data import make_near_separable
    >>> from octavo.decomposition import Hottopixx
    >>> sample = make_near_separable(40, 20, n_components=4, epsilon=0.001, random_state=0)
    >>> model = Hottopixx(4, 0.001, random_state=0).fit(sample.X)
    >>> sorted(model.selected_indices_.tolist()) == sorted(sample.anchors.tolist())
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_components, epsilon, random_state=None):
        self.n_components = n_components
        self.epsilon = epsilon
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Solve the program and choose rows.

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
        X = self._read(X)
        costs = check_random_state(self.random_state).standard_normal(len(X))
        self._solve(
            X, self.epsilon, rho=2.0, noise="relative", costs=costs, trace=int(self.n_components)
        )
        self._keep(X, largest(self.diagonal_, self.n_components), [])
        return self
