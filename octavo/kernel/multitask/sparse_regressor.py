"""Sparse least squares by switches on features: between ridge regression and the lasso.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Appendix C.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.metrics import r2_score

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.kernel.multitask.base import SwitchedMachines
from octavo.kernel.multitask.losses import Loss, SquaredLoss
from octavo.kernel.multitask.task_tables import join_tasks, rows_of_tasks

__all__ = ["MEDSparseRegressor"]


class MEDSparseRegressor(RegressorMixin, SwitchedMachines):
    """Least squares with the penalty of feature switches: ridge for small alpha, near l1 for large.

    Minimises C/2 Σ (y − w'x − b)² + Σ_d φ*(w(d)), with φ* as in `med_penalty`. Several tasks may
    share the switches; the penalty is then on the norm of a feature's coefficients over tasks.

    Parameters
    ----------
    alpha : float, default=1.0
        (1 − ρ)/ρ for a prior probability ρ of keeping a feature; 0 is ridge regression with penalty
        1/C.
    C : float, default=1.0
        Weight of the squared loss.
    shared : bool, default=True
        Whether tasks share their switches.
    bias : "free" or float, default="free"
        ``"free"``, or the variance of the normal prior of the intercept.
    solver : {"newton", "bound"}, default="newton"
        As in `MEDMultitaskSVC`.
    max_sweeps : int, default=200
        Most sweeps.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_tasks, n_features)
        Coefficients; a row a task where fit was given tasks.
    intercept_ : float or ndarray of shape (n_tasks,)
        Intercept.
    switches_ : ndarray of shape (n_features,) or (n_tasks, n_features)
        Expected switches, in [1/(1 + alpha), 1].
    selected_ : ndarray of bool like `switches_`
        Whether a switch is in the upper half of its range.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual variables: C times the residuals.
    support_ : ndarray of shape (n_support,)
        Rows with a nonzero dual variable.
    tasks_ : ndarray of shape (n_tasks,) or None
        Names of the tasks; None where none were given.
    objective_ : float
        Primal objective.
    dual_objective_ : float
        Dual objective.
    duality_gap_ : float
        How far the objective may be above the optimum.
    history_ : ndarray of shape (n_iter_, 3)
        Primal objective, dual objective and gap after each sweep.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    MEDMultitaskSVR : The same switches with the ε-insensitive loss.
    sklearn.linear_model.ElasticNet : Coefficients that are exactly zero.

    Notes
    -----
    No coefficient is exactly zero: where zeros are wanted, use a lasso. Neither X nor y is scaled,
    and a switch is half open where |w| is half of √(2 log alpha): scale y so that coefficients that
    matter are larger.
    The convex problem here is the one that integrating the switches out gives; the program that
    Appendix C prints bounds the error of a prediction without switches and penalises φ(a(w)).
    A matrix of rows by rows is factorised in every step.

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12,
       Appendix C.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import MEDSparseRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 20))
    >>> model = MEDSparseRegressor(alpha=1e4, C=3.0).fit(X, 5.0 * X[:, 0] - 3.0 * X[:, 1])
    >>> model.selected_.nonzero()[0].tolist()
    [0, 1]
    """

    select = "features"
    kernels = None

    _parameter_constraints: dict[str, list[Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "shared": ["boolean"],
        "bias": [StrOptions({"free"}), Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"newton", "bound"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        alpha=1.0,
        C=1.0,
        *,
        shared=True,
        bias="free",
        solver="newton",
        tol=1e-4,
        max_sweeps=200,
        warm_start=False,
    ):
        self.alpha = alpha
        self.C = C
        self.shared = shared
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.warm_start = warm_start

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, task: Any = None) -> Self:
        """Learn coefficients and switches.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.
            Or a list of tables, one a task, with a list of targets as `y`; or a list of pairs.
        y : array-like of shape (n_samples,), default=None
            Targets.
        task : array-like of shape (n_samples,), default=None
            Task of each row; one task by default.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y, task = join_tasks(X, y, task)
        X, y = self._read(X, y, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        tasks = rows_of_tasks(task, len(y))
        problem = self._problem(X, [y[rows] for rows in tasks.rows], tasks)
        start = getattr(self, "_betas", None) if self.warm_start else None
        self._fit_problem(problem, start, X, y)
        if task is None:
            self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])
        return self

    def _losses(self, targets: list[Floats]) -> list[Loss]:
        offset = self._has_offset()
        return [SquaredLoss(y, np.full(y.size, float(self.C)), offset) for y in targets]

    def predict(self, X: Any, task: Any = None) -> Floats:
        """Return predictions.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._values(X, task)

    def _task_values(self, X: Any, m: int, which: Any = None) -> Floats:
        if self.tasks_ is None:
            return np.asarray(X @ self.coef_).ravel() + self.intercept_
        return super()._task_values(X, m, which)

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """Return R² over all rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True targets.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            R².
        """
        return float(r2_score(y, self.predict(X, task), sample_weight=sample_weight))
