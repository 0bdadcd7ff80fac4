"""Regression that finds which groups of columns, or which kernels, matter: ARD, PARD, group lasso.

`GroupARDRegression` gives each group a variance, maximises the marginal likelihood over all of them
and leaves out the groups whose variance is zero; `GroupLassoEB` is the convex counterpart over the
same variances.

Reference: A. Aravkin, J. Burke, A. Chiuso and G. Pillonetto (2014), "Convex vs Non-Convex
Estimators for Regression and Sparse Estimation: the Mean Squared Error Properties of ARD and
GLasso", Journal of Machine Learning Research 15, 217-252.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.data.kernel.group_sparse import make_group_sparse
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import row_chunks
from octavo.engine.smooth.nonnegative_newton import kkt_violations
from octavo.kernel.group_ard.designs import KernelDesign, LinearDesign, warn_of_duplicates
from octavo.kernel.group_ard.evidence import Factored
from octavo.kernel.group_ard.grouping import as_groups
from octavo.kernel.group_ard.objectives import Point, VarianceObjective, duality_gap
from octavo.kernel.group_ard.selection import choose_gamma, gamma_grid
from octavo.kernel.group_ard.solvers import (
    Solution,
    Step,
    equal_variance,
    minimize_variances,
    starts,
)
from octavo.kernel.mkl.kernel_normalize import as_stack
from octavo.kernel.mkl.kernel_stack import KernelStack

__all__ = ["GroupARDRegression", "GroupLassoEB", "make_group_sparse"]

_LEAST_NOISE = 1e-10  # of the variance of y: with less, an exact fit would divide by zero
_ROUNDING = 1e-5  # a violation below this that no step improves is what rounding leaves


class GroupVarianceRegressor(CallbackSupportMixin, RegressorMixin, SoundEstimator):
    """What ARD and the group lasso share: data, noise, the rate, the posterior."""

    _logdet: ClassVar[bool]
    n_starts = 1

    _parameter_constraints: dict[str, Any] = {
        "groups": [None, "array-like"],
        "noise": [StrOptions({"ls", "ml"}), Interval(Real, 0, None, closed="neither")],
        "kernels": [None, str, list, tuple, KernelStack],
        "fit_intercept": ["boolean"],
        "n_gammas": [Interval(Integral, 1, None, closed="left")],
        "cv": [StrOptions({"half"}), "cv_object"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        precomputed = self._is_precomputed()
        tags.input_tags.two_d_array = not precomputed
        tags.input_tags.three_d_array = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    def _is_precomputed(self) -> bool:
        kernels = getattr(self, "kernels", None)
        if isinstance(kernels, KernelStack):
            kernels = kernels.kernels
        return isinstance(kernels, str) and kernels == "precomputed"

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Estimate the variances of the groups, then the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; with ``kernels="precomputed"`` the kernels, of shape (n_kernels,
            n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        design = self._design(X, y)
        warn_of_duplicates(design.evidence)
        with FitProgress(self, None, X, y) as progress:
            solution, objective = self._solve(design, progress.step)
            progress.step()
        self._store(design, solution, objective)
        return self

    def _design(self, X: Any, y: Any) -> LinearDesign | KernelDesign:
        """Validate, and return the training data in the form that was asked for."""
        if self.kernels is not None and self.groups is not None:
            raise ValueError(
                "groups and kernels exclude each other: give the columns of a kernel with it, as "
                '("name", "linear", {"columns": [0, 1]}).'
            )
        if self._is_precomputed():
            X = as_stack(X)
            self.n_features_in_ = X.shape[1]
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
            if y.shape != (X.shape[1],):
                raise ValueError(
                    f"y must have one entry per sample: the kernels have {X.shape[1]}, y has "
                    f"shape {y.shape}."
                )
        else:
            X, y = validate_rows(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=np.float64,
                y_numeric=True,
                ensure_min_samples=2,
            )
        y = np.asarray(y, dtype=np.float64)
        if self.kernels is None:
            self.groups_ = as_groups(self.groups, X.shape[1])
            return LinearDesign(X, y, self.groups_, self.fit_intercept)
        stack = self.kernels
        if not isinstance(stack, KernelStack):
            stack = KernelStack(self.kernels, normalize=None, center=self.fit_intercept)
        return KernelDesign(stack, X, y, self.fit_intercept)

    def _noise(self, design: LinearDesign | KernelDesign) -> tuple[float, float]:
        """Return the variance to start from, and the least that is allowed."""
        floor = _LEAST_NOISE * design.evidence.energy / design.n
        if self.noise == "ls":
            return max(design.residual_variance(), floor), floor
        if self.noise == "ml":
            return 0.5 * design.evidence.energy / design.n, floor
        return float(self.noise), floor

    def _solve(
        self, design: LinearDesign | KernelDesign, step: Step
    ) -> tuple[Solution, VarianceObjective]:
        """Choose noise and rate, and minimise from every start; keep the best."""
        evidence = design.evidence
        sigma2, floor = self._noise(design)
        if evidence.energy == 0.0 and sigma2 == 0.0:
            return self._nothing(evidence.n_groups), VarianceObjective(evidence, 0.0, 1.0)
        kappa = equal_variance(evidence, sigma2)
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "on_step": step}
        free = isinstance(self.noise, str) and self.noise == "ml"
        if free and (isinstance(self.gamma, str) or not self._logdet):
            # The marginal likelihood's own noise, for what needs a number.
            joint = VarianceObjective(evidence, 0.0, floor, free_noise=True)
            found = minimize_variances(joint, np.full(evidence.n_groups, kappa), sigma2, **options)
            sigma2 = found.sigma2
            free = self._logdet
            kappa = equal_variance(evidence, sigma2)
        self.gamma_ = self._chosen_gamma(design, sigma2, kappa, step)
        objective = VarianceObjective(
            evidence, self.gamma_, floor if free else sigma2, logdet=self._logdet, free_noise=free
        )
        solutions = [
            minimize_variances(objective, start, sigma2, solver=self.solver, **options)
            for start in starts(objective, kappa, sigma2, self.n_starts)
        ]
        return min(solutions, key=lambda found: found.value), objective

    def _chosen_gamma(self, design: Any, sigma2: float, kappa: float, step: Step) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        gammas = gamma_grid(kappa, self.n_gammas)
        choice = choose_gamma(
            design, gammas, sigma2, kappa, self.cv, logdet=self._logdet, on_step=step
        )
        self.gammas_, self.cv_scores_ = choice.gammas, -choice.errors
        return choice.gamma

    def _nothing(self, n_groups: int) -> Solution:
        """Return the answer where y is constant and the noise unknown: there is no noise."""
        warnings.warn(
            "y is constant: the estimated noise is zero, and the marginal likelihood is infinite. "
            "Give the noise a value.",
            UserWarning,
            stacklevel=5,
        )
        self.gamma_ = 0.0 if isinstance(self.gamma, str) else float(self.gamma)
        lam, empty = np.zeros(n_groups), np.zeros(0)
        at = Factored(lam, 0.0, -np.inf, 0.0, np.zeros((0, 0)), empty, empty.astype(int), empty)
        return Solution(lam, 0.0, -np.inf, Point(at), 0.0, 1, [-np.inf], True)

    def _store(
        self,
        design: LinearDesign | KernelDesign,
        solution: Solution,
        objective: VarianceObjective,
    ) -> None:
        """Turn a solution into fitted attributes."""
        at = solution.point.factored
        self.lambda_, self.sigma2_ = solution.lam, solution.sigma2
        self.active_groups_ = np.flatnonzero(self.lambda_ > 0.0)
        self.n_iter_ = max(solution.n_iter, 1)
        self.objective_, self.objectives_ = solution.value, [float(v) for v in solution.values]
        if self.sigma2_ > 0.0:
            gradient, _ = objective.slopes(solution.point)
            own = gradient[: len(self.lambda_)]
            self.kkt_violation_ = float(kkt_violations(self.lambda_, own).max())
            constant = 0.5 * design.n * np.log(2.0 * np.pi)
            # Eq. (4) without its penalty is minus this, up to the constant
            self.log_marginal_likelihood_ = float(-at.half_logdet - 0.5 * at.fit - constant)
        else:
            self.kkt_violation_, self.log_marginal_likelihood_ = 0.0, np.inf
        if isinstance(design, LinearDesign):
            constant_fit = self.sigma2_ == 0.0
            m = len(design.x_mean)
            self.coef_ = np.zeros(m) if constant_fit else design.coef(solution)
            self.intercept_ = design.y_mean - float(design.x_mean @ self.coef_)
            self._x_mean = design.x_mean
            self._posterior = None if constant_fit else design.posterior(solution)
        else:
            self.stack_, self.kernel_names_ = design.stack, design.stack.kernel_names_
            self.intercept_ = design.y_mean
            n = design.n
            self.dual_coef_ = np.zeros(n) if self.sigma2_ == 0.0 else design.weights(solution)
            self._factor = np.eye(n) if self.sigma2_ == 0.0 else at.factor
        if not solution.converged and (
            solution.n_iter >= self.max_iter or solution.violation > _ROUNDING
        ):
            warnings.warn(
                f"{type(self).__name__} stopped after {solution.n_iter} steps "
                f"(max_iter={self.max_iter}) with a condition of optimality violated by "
                f"{solution.violation:.3g} of its terms, where tol={self.tol:.3g} was asked for.",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def coef_cov_(self) -> Floats:
        """Posterior covariance of the coefficients, computed when it is asked for."""
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise AttributeError("A model of kernels has no coefficients, hence no coef_cov_.")
        m = len(self.coef_)
        covariance = np.zeros((m, m))
        if self._posterior is not None and len(self._posterior.columns):
            columns = self._posterior.columns
            covariance[np.ix_(columns, columns)] = self._posterior.covariance()
        return covariance

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; with ``kernels="precomputed"`` their kernels with the training samples, of
            shape (n_kernels, n_samples, n_training_samples).
        return_std : bool, default=False
            Whether to return the standard deviation of new observations too: noise and
            uncertain coefficients together, given the estimated variances.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        std : ndarray of shape (n_samples,)
            Standard deviations, if asked for.
        """
        check_is_fitted(self)
        if not self._is_precomputed():
            X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if not hasattr(self, "coef_"):
            return self._predict_kernels(X, return_std)
        mean = np.asarray(X @ self.coef_).ravel() + self.intercept_
        return (mean, np.sqrt(self._spread(X) + self.sigma2_)) if return_std else mean

    def _spread(self, X: Any) -> Floats:
        """Return the posterior variance of rows, a piece at a time."""
        spread = np.zeros(X.shape[0])
        if self._posterior is None:
            return spread
        columns = self._posterior.columns
        for rows in row_chunks(X.shape[0], max(1, len(columns))):
            part = X[rows][:, columns]
            part = part.toarray() if sp.issparse(part) else part
            spread[rows] = self._posterior.spread(part - self._x_mean[columns])
        return spread

    def _predict_kernels(self, X: Any, return_std: bool) -> Any:
        cross = np.tensordot(self.lambda_, self.stack_.transform(X), axes=1)
        mean = cross @ self.dual_coef_ + self.intercept_
        if not return_std:
            return mean
        # the posterior variance of f: prior less what the samples explain
        prior = self.lambda_ @ self.stack_.diagonals(X)
        half = solve_triangular(self._factor, cross.T, lower=True)
        spread = np.maximum(prior - np.einsum("ij,ij->j", half, half), 0.0)
        return mean, np.sqrt(spread + self.sigma2_)


class GroupARDRegression(GroupVarianceRegressor):
    """Regression that leaves out groups of columns by marginal likelihood (group ARD, PARD).

    The coefficients of group i have the prior N(0, λ_i I). The variances λ_i maximise the marginal
    likelihood of the data, times exp(-γ Σ λ_i) if γ > 0 (penalised ARD); groups whose variance is
    zero are out, exactly. The others are shrunk far less than by a group lasso that leaves out as
    many.

    Parameters
    ----------
    groups : array-like of int of shape (n_features,) or list of array-like of int, default=None
        The group of each column, or the columns of each group, which must be a partition. By
        default every column is a group of its own, which is classical ARD.
    gamma : float or "cv", default=0.0
        Rate γ of the exponential prior of variances: 0 is ARD, more leaves out more. ``"cv"``
        chooses it on a grid.
    noise : {"ls", "ml"} or float, default="ls"
        Variance of the noise: that of the least squares residual, which needs more samples than
        columns; the one that maximises the marginal likelihood along with the λ_i; or itself.
    kernels : KernelStack, list or str, default=None
        Kernels in place of groups: Σ = σ²I + Σ λ_i K_i. What `KernelStack` takes as kernels, as
        they are, and centred where an intercept is fitted; or a `KernelStack`, which may normalise
        them. ``"precomputed"`` takes kernel matrices in place of X.
    solver : {"lbfgs", "fixed_point", "reweighted", "newton"}, default="lbfgs"
        How to get near a stationary point: projected quasi-Newton steps, multiplicative
        updates, a sequence of weighted group lassos, or Newton's method, which is the fastest
        for many groups. Newton's method takes the last steps of all of them.
    fit_intercept : bool, default=True
        Whether to centre y and the columns (or kernels).
    n_gammas : int, default=30
        Size of the grid of ``gamma="cv"``, from 10⁻² to 10⁴ over the best common variance.
    cv : "half", int, splitter or iterable, default="half"
        How ``gamma="cv"`` leaves out rows: one random half, or as elsewhere in scikit-learn.
    tol : float, default=1e-8
        Largest violation of a condition of optimality, relative to its terms.
    max_iter : int, default=500
        Most steps of a solver.
    n_starts : int, default=1
        Starts: equal variances, the group lasso's, then random ones. The best likelihood is
        kept; the problem is not convex.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Posterior mean of the coefficients; exactly zero in groups that are out. Not for kernels.
    intercept_ : float
        Intercept.
    coef_cov_ : ndarray of shape (n_features, n_features)
        Posterior covariance of the coefficients given the variances, computed on demand. Not for
        kernels.
    lambda_ : ndarray of shape (n_groups,)
        Variance of each group. (scikit-learn's `ARDRegression` calls its inverse so.)
    sigma2_ : float
        Variance of the noise.
    active_groups_ : ndarray of int
        Indices of the groups whose variance is positive.
    groups_ : list of ndarray
        The columns of each group. Not for kernels.
    gamma_ : float
        The rate used.
    gammas_, cv_scores_ : ndarray of shape (n_gammas,)
        The grid and the negative mean squared errors on it, for ``gamma="cv"``.
    log_marginal_likelihood_ : float
        log N(y; 0, Σ) of the (centred) data, without the prior of variances.
    objective_ : float
        What is minimised: ½ log det Σ + ½ yᵀΣ⁻¹y + γ Σ λ_i.
    objectives_ : list of float
        The objective at every step; it never rises.
    kkt_violation_ : float
        Largest violation of the conditions of optimality; see `pard_kkt`.
    n_iter_ : int
        Steps of the solver.
    dual_coef_ : ndarray of shape (n_samples,)
        Σ⁻¹y, for kernels.
    stack_ : KernelStack
        The fitted stack, for kernels.
    kernel_names_ : list of str
        Names of the kernels, for kernels.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    GroupLassoEB : The convex counterpart.
    ImpulseResponseSelector : Groups of lags of several inputs.
    LpMKLRegressor : Kernel weights under a norm, for any number of kernels.

    Notes
    -----
    Groups are shrunk in the units of their columns: standardise them, or pass a `KernelStack` with
    ``normalize="multiplicative"``. The stationary point that is found depends on the start;
    compare `log_marginal_likelihood_` where several are tried. ARD leaves in about a third of the
    columns without effect if groups have one column (`zero_probability`); γ > 0 leaves out more.
    Do not use it where coefficients are dense and small: `sklearn.linear_model.BayesianRidge` has
    one variance for all. With an intercept the least squares noise divides by one less.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation: the Mean Squared Error Properties of ARD and GLasso.
       JMLR 15, 217-252.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import GroupARDRegression, make_group_sparse
    >>> X, y, theta, groups, _ = make_group_sparse(n=200, random_state=0)
    >>> np.unique(groups[theta != 0])
    array([0, 4, 5, 7])
    >>> model = GroupARDRegression(groups).fit(X, y)
    >>> model.active_groups_
    array([0, 2, 4, 5, 7])
    >>> round(float(np.linalg.norm(model.coef_ - theta) / np.linalg.norm(theta)), 3)
    0.06
    """

    _logdet = True
    _parameter_constraints: dict[str, Any] = {
        **GroupVarianceRegressor._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"cv"})],
        "solver": [StrOptions({"lbfgs", "fixed_point", "reweighted", "newton"})],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        groups=None,
        gamma=0.0,
        noise="ls",
        kernels=None,
        solver="lbfgs",
        fit_intercept=True,
        n_gammas=30,
        cv="half",
        tol=1e-8,
        max_iter=500,
        n_starts=1,
    ):
        self.groups = groups
        self.gamma = gamma
        self.noise = noise
        self.kernels = kernels
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.n_gammas = n_gammas
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts


class GroupLassoEB(GroupVarianceRegressor):
    """Group lasso in the form of variances: empirical Bayes without the log determinant.

    Minimises ½ yᵀΣ(λ)⁻¹y + γ Σ λ_i over λ ≥ 0, which is convex and the same as the group lasso
    ‖y - Gθ‖²/(2σ²) + √(2γ) Σ ‖θ_i‖, or multiple kernel learning with a squared loss.

    Parameters
    ----------
    groups : array-like of int of shape (n_features,) or list of array-like of int, default=None
        The group of each column, or the columns of each group, which must be a partition. By
        default every column is a group of its own: the lasso.
    gamma : float or "cv", default="cv"
        The rate γ > 0: the group lasso's penalty is √(2γ). ``"cv"`` chooses it on a grid.
    noise : {"ls", "ml"} or float, default="ls"
        Variance of the noise: that of the least squares residual, which needs more samples than
        columns; that of the marginal likelihood (of ARD); or itself.
    kernels : KernelStack, list or str, default=None
        Kernels in place of groups, as in `GroupARDRegression`.
    solver : {"lbfgs", "fixed_point", "fista", "newton"}, default="lbfgs"
        How to get near the solution: over variances, or over coefficients by accelerated
        proximal gradients ("fista", not for kernels). Newton's method over variances takes the
        last steps of all of them.
    fit_intercept : bool, default=True
        Whether to centre y and the columns (or kernels).
    n_gammas : int, default=30
        Size of the grid of ``gamma="cv"``, from 10⁻² to 10⁴ over the best common variance.
    cv : "half", int, splitter or iterable, default="half"
        How ``gamma="cv"`` leaves out rows: one random half, or as elsewhere in scikit-learn.
    tol : float, default=1e-8
        Largest violation of a condition of optimality, relative to its terms.
    max_iter : int, default=500
        Most steps of a solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients; exactly zero in groups that are out. Not for kernels.
    intercept_ : float
        Intercept.
    coef_cov_ : ndarray of shape (n_features, n_features)
        Covariance of the coefficients given the variances, computed on demand. Not for kernels.
    lambda_ : ndarray of shape (n_groups,)
        Variance of each group: ‖θ_i‖ / √(2γ).
    sigma2_ : float
        Variance of the noise.
    active_groups_ : ndarray of int
        Indices of the groups whose variance is positive.
    groups_ : list of ndarray
        The columns of each group. Not for kernels.
    gamma_ : float
        The rate used.
    gammas_, cv_scores_ : ndarray of shape (n_gammas,)
        The grid and the negative mean squared errors on it, for ``gamma="cv"``.
    log_marginal_likelihood_ : float
        log N(y; 0, Σ) of the (centred) data at these variances, which do not maximise it.
    objective_ : float
        What is minimised, the same over variances and over coefficients.
    objectives_ : list of float
        The objective at every step.
    duality_gap_ : float
        Upper bound on the distance of `objective_` from its minimum.
    kkt_violation_ : float
        Largest violation of the conditions of optimality; see `group_lasso_kkt`.
    n_iter_ : int
        Steps of the solver.
    dual_coef_ : ndarray of shape (n_samples,)
        Σ⁻¹y, for kernels.
    stack_ : KernelStack
        The fitted stack, for kernels.
    kernel_names_ : list of str
        Names of the kernels, for kernels.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    GroupARDRegression : Leaves out more groups and shrinks the others less.

    Notes
    -----
    Do not use it where groups matter or not and nothing in between: it has to shrink what matters
    to leave out what does not. For groups of one, `sklearn.linear_model.Lasso` is the same model
    with ``alpha`` = √(2γ) σ²/n.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation: the Mean Squared Error Properties of ARD and GLasso.
       JMLR 15, Section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import GroupLassoEB, make_group_sparse
    >>> X, y, theta, groups, _ = make_group_sparse(n=200, random_state=0)
    >>> model = GroupLassoEB(groups).fit(X, y)
    >>> len(model.active_groups_), model.duality_gap_ < 1e-6
    (10, True)
    >>> round(float(np.linalg.norm(model.coef_ - theta) / np.linalg.norm(theta)), 3)
    0.079
    """

    _logdet = False
    _parameter_constraints: dict[str, Any] = {
        **GroupVarianceRegressor._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "solver": [StrOptions({"lbfgs", "fixed_point", "fista", "newton"})],
    }

    def __init__(
        self,
        groups=None,
        gamma="cv",
        noise="ls",
        kernels=None,
        solver="lbfgs",
        fit_intercept=True,
        n_gammas=30,
        cv="half",
        tol=1e-8,
        max_iter=500,
    ):
        self.groups = groups
        self.gamma = gamma
        self.noise = noise
        self.kernels = kernels
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.n_gammas = n_gammas
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter

    def _design(self, X: Any, y: Any) -> LinearDesign | KernelDesign:
        if self.kernels is not None and self.solver == "fista":
            raise ValueError('solver="fista" works on coefficients, which kernels do not have.')
        return super()._design(X, y)

    def _store(
        self,
        design: LinearDesign | KernelDesign,
        solution: Solution,
        objective: VarianceObjective,
    ) -> None:
        super()._store(design, solution, objective)
        self.duality_gap_ = 0.0
        if self.sigma2_ > 0.0:
            self.duality_gap_ = duality_gap(objective, solution.point, solution.value)
