"""Tasks that choose between a common model and one of their own: adaptive pooling.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Sections 8 and 9.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import KERNEL_PARAMETERS, check_gram, resolve_kernel, row_chunks
from octavo.kernel.multitask.base import DENSE_CELLS, SOLVING, Problem, TaskMachines, asked_places
from octavo.kernel.multitask.losses import Loss, hinge_loss, tube_loss
from octavo.kernel.multitask.switches import warn_if_saturated
from octavo.kernel.multitask.task_blocks import KernelBlock
from octavo.kernel.multitask.task_tables import (
    TaskRows,
    join_tasks,
    places_of_queries,
    rows_of_tasks,
    signs_by_task,
)

__all__ = ["MEDAdaptivePoolingSVC", "MEDAdaptivePoolingSVR"]

_PER_TASK = 10.0  # the paper's heuristic: ω = 10 M
_POSITIVE = Interval(Real, 0, None, closed="neither")


class PooledMachines(TaskMachines):
    """A communal machine, one for each task, and a switch a task for the latter (Section 8)."""

    _parameter_constraints: dict[str, list[Any]] = {
        "kernel": [StrOptions({*KERNEL_PARAMETERS, "precomputed"}), callable],
        "task_kernel_scale": [StrOptions({"10M"}), _POSITIVE],
        "communal_scale": [_POSITIVE],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "unseen": [StrOptions({"error", "communal"})],
        **SOLVING,
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _read(self, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        self._check_numbers()
        precomputed = self.kernel == "precomputed"
        X, y = validate_rows(
            self,
            X,
            y,
            accept_sparse=False if precomputed else "csr",
            dtype=np.float64,
            order="C",
            ensure_min_samples=2,
            **options,
        )
        if sp.issparse(X) and X.shape[0] * X.shape[1] <= DENSE_CELLS:
            X = X.toarray()
        if precomputed:
            check_gram(X)
        else:
            check_squares(X)
        return X, y

    def _pool(self, X: Any, targets: list[Floats], tasks: TaskRows, y: Any) -> None:
        """Solve, and keep the model."""
        if self.kernel == "precomputed":
            self._kernel, K = None, X
        else:
            self._kernel = resolve_kernel(
                self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
            )
            K = np.asarray(self._kernel.block(X, X), dtype=np.float64)
        order = np.concatenate(tasks.rows)
        K = K[np.ix_(order, order)]
        count = len(tasks.rows)
        scale = _PER_TASK * count if self.task_kernel_scale == "10M" else self.task_kernel_scale
        self.task_kernel_scale_ = float(scale)
        ends = np.cumsum([len(rows) for rows in tasks.rows])
        blocks = [
            # k_m = ω k, among a task's own rows (Section 8)
            KernelBlock(scale * K[None, a:b, a:b], np.array([m]))
            for m, (a, b) in enumerate(zip(ends - np.diff(ends, prepend=0), ends))
        ]
        # the communal k, between all rows
        problem = Problem(blocks, targets, tasks, count, self.communal_scale * K)
        start = getattr(self, "_betas", None) if self.warm_start else None
        fit = self._solve(problem, start, X, y)
        self.switches_, self.tasks_, self._rows = fit.switches, tasks.names, tasks.rows
        self._keep_dual(problem, len(order))
        self._X: Any = None if self._kernel is None else X
        warn_if_saturated(fit.switches, self.alpha, fit.energies, "the tasks")

    def _values(self, X: Any, task: Any) -> Floats:
        """Return f_m(x) = ŝ(m) Σ_{t in m} β_t k_m(x, x_t) + Σ_t β_t k(x, x_t) + b_m."""
        check_is_fitted(self)
        X = validate_rows(
            self,
            X,
            accept_sparse=False if self._kernel is None else "csr",
            dtype=np.float64,
            reset=False,
        )
        places = self._places(task, X.shape[0])
        coef = np.zeros((len(self.dual_coef_), 1 + len(self._rows)))
        # Σ_n of Section 8, over the rows of all tasks
        coef[:, 0] = self.communal_scale * self.dual_coef_
        for m, rows in enumerate(self._rows):
            # and ŝ(m) times the task's own
            own = self.switches_[m] * self.task_kernel_scale_ * self.dual_coef_[rows]
            coef[rows, m + 1] = own
        coef = coef[self.support_]
        values = np.where(places < 0, self.intercept_.mean(), self.intercept_[places])
        train = None if self._kernel is None else self._X[self.support_]
        for chunk in row_chunks(X.shape[0], max(1, len(self.support_))):
            if self._kernel is None:
                K = X[chunk][:, self.support_]
            else:
                K = np.asarray(self._kernel.block(X[chunk], train))
            both, at = K @ coef, places[chunk]
            own = np.where(at < 0, 0.0, both[np.arange(len(at)), at + 1])
            values[chunk] += both[:, 0] + own
        return values

    def _places(self, task: Any, n_rows: int) -> Any:
        if self.tasks_ is None:
            if task is not None:
                raise ValueError("task was not given to fit, so that it cannot be given here.")
            return np.zeros(n_rows, dtype=int)
        if self.unseen == "communal" and task is not None:
            return places_of_queries(task, self.tasks_, n_rows)
        return asked_places(task, self.tasks_, n_rows)


class MEDAdaptivePoolingSVC(ClassifierMixin, PooledMachines):
    """Support vector classifiers of several tasks, each between a pooled model and its own.

    Every task's decision is a communal machine, learnt from all tasks, plus a machine of its own
    behind a switch, plus its own offset. A task with data that the communal machine does not
    explain opens its switch.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        The kernel of both machines: a name, as in `sklearn.svm.SVC`, a function of two tables, or
        ``"precomputed"``.
    task_kernel_scale : "10M" or float, default="10M"
        What the kernel is multiplied by in the tasks' own machines, the paper's ω; ``"10M"`` is ten
        times the number of tasks.
    alpha : float, default=1.0
        (1 − ρ)/ρ for a prior probability ρ of a machine of one's own: 0 opens every switch, large
        values pool all tasks.
    C : float, default=1.0
        Weight of the hinge loss.
    communal_scale : float, default=1.0
        What the kernel is multiplied by in the communal machine.
    margin : float, default=1.0
        The margin.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the kernel, as in `sklearn.svm.SVC`.
    degree : float, default=3
        Degree of ``"poly"``.
    coef0 : float, default=0.0
        Offset of ``"poly"`` and ``"sigmoid"``.
    bias : "free" or float, default="free"
        ``"free"``, or the variance of the normal prior of each task's intercept.
    unseen : {"error", "communal"}, default="error"
        What to do with a task at prediction that fit has not seen: refuse it by name, or use the
        communal machine with the mean of the offsets.
    solver : {"newton", "bound"}, default="newton"
        As in `MEDMultitaskSVC`.

    Attributes
    ----------
    switches_ : ndarray of shape (n_tasks,)
        How much each task uses a machine of its own, in [1/(1 + alpha), 1].
    dual_coef_ : ndarray of shape (n_samples,)
        Signed dual variables, row by row.
    support_ : ndarray of shape (n_support,)
        Rows with a nonzero dual variable.
    task_kernel_scale_ : float
        The scale that was used.
    tasks_ : ndarray of shape (n_tasks,) or None
        Names of the tasks; None where none were given.
    classes_ : ndarray of shape (2,)
        Classes.
    objective_ : float
        Primal objective.
    duality_gap_ : float
        How far the objective may be above the optimum.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    MEDMultitaskSVC : Tasks that share features or kernels instead of a model.

    Notes
    -----
    The kernel matrix of all rows is held in memory. Switches depend on the scale of the kernel;
    nothing is scaled inside. Where tasks are alike, one machine on all rows does as well; where
    they have nothing in common, one machine each.

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12, Section 8.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import MEDAdaptivePoolingSVC
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(120, 2)), np.repeat(["a", "b", "odd"], 40)
    >>> y = (X[:, 0] > 0) ^ (task == "odd")
    >>> model = MEDAdaptivePoolingSVC("linear", alpha=1e3, C=0.1).fit(X, y, task)
    >>> int(model.switches_.argmax())
    2
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **PooledMachines._parameter_constraints,
        "margin": [_POSITIVE],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def __init__(
        self,
        kernel="rbf",
        task_kernel_scale="10M",
        alpha=1.0,
        C=1.0,
        *,
        communal_scale=1.0,
        margin=1.0,
        gamma="scale",
        degree=3,
        coef0=0.0,
        bias="free",
        unseen="error",
        solver="newton",
        tol=1e-4,
        max_sweeps=200,
        warm_start=False,
    ):
        self.kernel = kernel
        self.task_kernel_scale = task_kernel_scale
        self.alpha = alpha
        self.C = C
        self.communal_scale = communal_scale
        self.margin = margin
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.bias = bias
        self.unseen = unseen
        self.solver = solver
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.warm_start = warm_start

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, task: Any = None) -> Self:
        """Learn the communal machine, the tasks' own, and the switches.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of all tasks, or their kernel matrix.
            Or a list of tables, one a task, with a list of targets as `y`; or a list of pairs.
        y : array-like of shape (n_samples,), default=None
            Labels of two classes, both of them in every task.
        task : array-like of shape (n_samples,), default=None
            Task of each row, integers or strings; one task by default.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y, task = join_tasks(X, y, task)
        X, y = self._read(X, y)
        self.classes_, codes = encode_classes(y, owner=self)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"tasks have two classes, got {len(self.classes_)}."
            )
        tasks = rows_of_tasks(task, len(codes))
        self._pool(X, signs_by_task(codes, tasks, self.classes_), tasks, y)
        return self

    def _losses(self, targets: list[Floats]) -> list[Loss]:
        offset = self._has_offset()
        return [hinge_loss(y, np.full(y.size, float(self.C)), self.margin, offset) for y in targets]

    def decision_function(self, X: Any, task: Any = None) -> Floats:
        """Return the decision values of rows, each under its own task.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive on the side of ``classes_[1]``.
        """
        return self._values(X, task)

    def predict(self, X: Any, task: Any = None) -> Any:
        """Return the classes of rows, each under its own task.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        values = self.decision_function(X, task)
        return self.classes_[(values > 0.0).astype(int)]

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy over all rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.
        y : array-like of shape (n_samples,)
            True classes.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Accuracy.
        """
        return float(accuracy_score(y, self.predict(X, task), sample_weight=sample_weight))


class MEDAdaptivePoolingSVR(RegressorMixin, PooledMachines):
    """Support vector regression of several tasks, each between a pooled model and its own.

    `MEDAdaptivePoolingSVC` with the ε-insensitive loss.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        The kernel of both machines: a name, as in `sklearn.svm.SVR`, a function of two tables, or
        ``"precomputed"``.
    task_kernel_scale : "10M" or float, default="10M"
        What the kernel is multiplied by in the tasks' own machines; ``"10M"`` is ten times the
        number of tasks.
    alpha : float, default=1.0
        (1 − ρ)/ρ for a prior probability ρ of a machine of one's own.
    C : float, default=1.0
        Weight of the loss.
    communal_scale : float, default=1.0
        What the kernel is multiplied by in the communal machine.
    epsilon : float, default=0.1
        Half-width of the tube, in units of y.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the kernel.
    degree : float, default=3
        Degree of ``"poly"``.
    coef0 : float, default=0.0
        Offset of ``"poly"`` and ``"sigmoid"``.
    bias : "free" or float, default="free"
        ``"free"``, or the variance of the normal prior of each task's intercept.
    unseen : {"error", "communal"}, default="error"
        What to do with a task at prediction that fit has not seen.
    solver : {"newton", "bound"}, default="newton"
        As in `MEDMultitaskSVC`.

    Attributes
    ----------
    switches_ : ndarray of shape (n_tasks,)
        How much each task uses a machine of its own, in [1/(1 + alpha), 1].
    dual_coef_ : ndarray of shape (n_samples,)
        Dual variables λ − λ', row by row.
    support_ : ndarray of shape (n_support,)
        Rows with a nonzero dual variable.
    task_kernel_scale_ : float
        The scale that was used.
    tasks_ : ndarray of shape (n_tasks,) or None
        Names of the tasks; None where none were given.
    objective_ : float
        Primal objective.
    duality_gap_ : float
        How far the objective may be above the optimum.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    MEDAdaptivePoolingSVC : The classifier, with notes that hold here too.

    Notes
    -----
    Not for a single task: use `sklearn.svm.SVR`.

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12,
       Sections 8 and 9.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import MEDAdaptivePoolingSVR
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(120, 2)), np.repeat(["a", "b", "odd"], 40)
    >>> y = np.where(task == "odd", -X[:, 0], X[:, 0])
    >>> model = MEDAdaptivePoolingSVR("linear", alpha=1e3, C=0.1).fit(X, y, task)
    >>> int(model.switches_.argmax())
    2
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **PooledMachines._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernel="rbf",
        task_kernel_scale="10M",
        alpha=1.0,
        C=1.0,
        *,
        communal_scale=1.0,
        epsilon=0.1,
        gamma="scale",
        degree=3,
        coef0=0.0,
        bias="free",
        unseen="error",
        solver="newton",
        tol=1e-4,
        max_sweeps=200,
        warm_start=False,
    ):
        self.kernel = kernel
        self.task_kernel_scale = task_kernel_scale
        self.alpha = alpha
        self.C = C
        self.communal_scale = communal_scale
        self.epsilon = epsilon
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.bias = bias
        self.unseen = unseen
        self.solver = solver
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.warm_start = warm_start

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, task: Any = None) -> Self:
        """Learn the communal machine, the tasks' own, and the switches.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of all tasks, or their kernel matrix.
            Or a list of tables, one a task, with a list of targets as `y`; or a list of pairs.
        y : array-like of shape (n_samples,), default=None
            Targets.
        task : array-like of shape (n_samples,), default=None
            Task of each row, integers or strings; one task by default.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y, task = join_tasks(X, y, task)
        X, y = self._read(X, y, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        tasks = rows_of_tasks(task, len(y))
        self._pool(X, [y[rows] for rows in tasks.rows], tasks, y)
        return self

    def _losses(self, targets: list[Floats]) -> list[Loss]:
        offset = self._has_offset()
        return [tube_loss(y, np.full(y.size, float(self.C)), self.epsilon, offset) for y in targets]

    def predict(self, X: Any, task: Any = None) -> Floats:
        """Return the predictions of rows, each under its own task.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._values(X, task)

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """Return R² over all rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.
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
