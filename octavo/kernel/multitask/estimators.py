"""Support vector machines of several tasks that agree on features or kernels.

`MEDMultitaskSVC` and `MEDMultitaskSVR` give each task a machine of its own and all of them one set
of soft switches: how much of each feature, or of each kernel, is let through.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Sections 6, 7 and 9.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import TransformerTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from octavo.data.kernel.shared_tasks import make_ising, make_shared_sparse_tasks
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.kernel.multitask.base import SWITCHING, Problem, SwitchedMachines
from octavo.kernel.multitask.losses import Loss, hinge_loss, tube_loss
from octavo.kernel.multitask.metric import SwitchedMetric
from octavo.kernel.multitask.task_tables import (
    TaskRows,
    join_tasks,
    rows_of_tasks,
    signs_by_task,
)

__all__ = ["MEDMultitaskSVC", "MEDMultitaskSVR", "make_ising", "make_shared_sparse_tasks"]


def _selects_features(estimator: Any) -> bool:
    if estimator.select != "features":
        raise AttributeError("transform scales features; this model selects kernels.")
    return True


class _Metric:
    """Methods that switches give both estimators."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.transformer_tags = TransformerTags()
        return tags

    @available_if(_selects_features)
    def fit_transform(self, X: Any, y: Any, task: Any = None) -> Any:
        """Fit, and return the training rows with features times their switches.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of all tasks.
        y : array-like of shape (n_samples,)
            Targets.
        task : array-like of shape (n_samples,), default=None
            Task of each row.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_features)
            Scaled rows.
        """
        return self.fit(X, y, task).transform(X, task)  # type: ignore[attr-defined]

    @available_if(_selects_features)
    def transform(self, X: Any, task: Any = None) -> Any:
        """Return features times their switches.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.
        task : array-like of shape (n_samples,), default=None
            Task of each row; needed only with ``shared=False``.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_features)
            Scaled rows.
        """
        return self._scaled(X, task)  # type: ignore[attr-defined]

    def learned_metric(self) -> SwitchedMetric:
        """Return the distance that the switches make (Section 7.2), as a function of two tables.

        Returns
        -------
        callable
            ``metric(X, Y=None)`` gives the distances between rows; Δ² = Σ ŝ(d) Δ_d².
        """
        check_is_fitted(self)
        if self.switches_.ndim > 1:  # type: ignore[attr-defined]
            raise ValueError("There is one metric a task with shared=False; see switches_.")
        if self._is_precomputed():  # type: ignore[attr-defined]
            raise ValueError("Precomputed kernels cannot be evaluated on new rows.")
        stack = self.stack_ if self.select == "kernels" else None  # type: ignore[attr-defined]
        return SwitchedMetric(self.switches_, stack)  # type: ignore[attr-defined]


class MEDMultitaskSVC(_Metric, ClassifierMixin, SwitchedMachines):
    """Support vector classifiers of several tasks that share which features or kernels they use.

    Each task has its own machine. A switch for each feature (or kernel), the same in all tasks,
    says how much of it is let through: it stays near 1/(1 + alpha) where no task has use for the
    feature and goes to 1 where some do. The problem is convex, and the fit carries its duality gap.

    Parameters
    ----------
    select : {"features", "kernels"}, default="features"
        What is switched.
    kernels : str or list, default="rbf_ladder"
        The kernels, as in `KernelStack`, for ``select="kernels"``; with ``"precomputed"`` X is an
        array (n_kernels, n_samples, n_samples).
    normalize : str or None, default=None
        How the kernels are made comparable, as in `KernelStack`; None leaves them alone.
    alpha : float, default=1.0
        (1 − ρ)/ρ for a prior probability ρ of keeping a feature: 0 selects nothing and makes the
        tasks independent, large values select sparsely.
    C : float, default=1.0
        Weight of the hinge loss.
    margin : float, default=1.0
        The margin, the paper's γ.
    shared : bool, default=True
        Whether all tasks share their switches; False gives each task its own (Section 7.1).
    bias : "free" or float, default="free"
        ``"free"`` leaves each task's intercept unpenalised; a number is the variance of its normal
        prior, and removes the equality constraints of the dual.
    solver : {"newton", "bound"}, default="newton"
        ``"bound"`` is Algorithm 1, with Theorem 1's quadratic bound; ``"newton"`` uses the dual's
        own curvature and a search along the line, which takes fewer sweeps for large `alpha`.

    Attributes
    ----------
    switches_ : ndarray of shape (n_switches,) or (n_tasks, n_switches)
        Expected switches, in [1/(1 + alpha), 1]; a row a task with ``shared=False``.
    selected_ : ndarray of bool like `switches_`
        Whether a switch is in the upper half of its range.
    coef_ : ndarray of shape (n_tasks, n_features)
        Coefficients; only for features.
    weights_ : ndarray like `switches_`
        The switches as weights of the kernels; only for kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Signed dual variables yλ, row by row; one row a class where classes are the tasks.
    support_ : ndarray of shape (n_support,)
        Rows with a nonzero dual variable.
    tasks_ : ndarray of shape (n_tasks,) or None
        Names of the tasks; None where none were given.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    objective_ : float
        Primal objective: penalties and hinge losses.
    duality_gap_ : float
        How far the objective may be above the optimum.
    stack_ : KernelStack
        The kernels; only for kernels.
    kernel_names_ : list of str
        Their names; only for kernels.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    MEDAdaptivePoolingSVC : Tasks that choose between a common model and their own.
    MEDMultitaskPath : Chooses `alpha` and `C`.
    sklearn.svm.LinearSVC : One task without selection.

    Notes
    -----
    Without `task` this is one task; with three classes or more each class against the rest is a
    task, all on the same rows. Nothing is scaled inside, and unscaled features or kernels decide
    the switches: standardise features over all tasks, normalise kernels. A switch is never zero;
    `selected_` has a threshold of (1 + 1/(1 + alpha))/2. Where every task has plenty of rows,
    independent machines do as well and are faster.

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12.

    Examples
    --------
    >>> from octavo.data import make_shared_sparse_tasks
    >>> from octavo.kernel import MEDMultitaskSVC
    >>> tasks = make_shared_sparse_tasks(n_tasks=8, n_samples=40, n_features=30, random_state=0)
    >>> model = MEDMultitaskSVC(alpha=100.0, C=1.0).fit(tasks.X, tasks.y, tasks.task)
    >>> model.selected_.nonzero()[0].tolist(), tasks.informative.tolist()
    ([10, 13, 28], [2, 10, 13, 26, 28])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **SWITCHING,
        "margin": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        select="features",
        kernels="rbf_ladder",
        normalize=None,
        alpha=1.0,
        C=1.0,
        margin=1.0,
        shared=True,
        bias="free",
        tol=1e-4,
        max_sweeps=200,
        *,
        solver="newton",
        warm_start=False,
    ):
        self.select = select
        self.kernels = kernels
        self.normalize = normalize
        self.alpha = alpha
        self.C = C
        self.margin = margin
        self.shared = shared
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.warm_start = warm_start

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, task: Any = None) -> Self:
        """Learn the machines of all tasks and the switches that they share.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of all tasks; with precomputed kernels an array (n_kernels, n_samples, n_samples).
            Or a list of tables, one a task, with a list of targets as `y`; or a list of pairs.
        y : array-like of shape (n_samples,), default=None
            Labels; two classes where there are tasks, both of them in every task.
        task : array-like of shape (n_samples,), default=None
            Task of each row, integers or strings.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y, task = join_tasks(X, y, task)
        problem, X, y = self._begin(X, y, task)
        start = getattr(self, "_betas", None) if self.warm_start else None
        self._fit_problem(problem, start, X, y)
        return self

    def _begin(self, X: Any, y: Any, task: Any) -> tuple[Problem, Any, Any]:
        """Return the checked problem, rows and labels."""
        X, y = self._read(X, y)
        self.classes_, codes = encode_classes(y, owner=self)
        tasks = rows_of_tasks(task, len(codes))
        if len(self.classes_) == 2:
            signs = signs_by_task(codes, tasks, self.classes_)
        elif task is not None:
            raise ValueError(
                f"Tasks have two classes, got {len(self.classes_)}; without task each class "
                "against the rest is one."
            )
        else:
            rows = tasks.rows[0]
            signs = [np.where(codes == k, 1.0, -1.0) for k in range(len(self.classes_))]
            tasks = TaskRows([rows] * len(signs), None)
        return self._problem(X, signs, tasks), X, y

    def _losses(self, targets: list[Floats]) -> list[Loss]:
        offset = self._has_offset()
        return [hinge_loss(y, np.full(y.size, float(self.C)), self.margin, offset) for y in targets]

    def decision_function(self, X: Any, task: Any = None) -> Floats:
        """Return the decision values of rows, each under its own task.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows; for precomputed kernels their values with the training samples, of shape
            (n_kernels, n_queries, n_samples).
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks; one that it has not seen is an error.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive on the side of ``classes_[1]``; one column a class for three or more.
        """
        return self._values(X, task)

    def predict(self, X: Any, task: Any = None) -> Any:
        """Return the classes of rows, each under its own task.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or precomputed kernel values.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        values = self.decision_function(X, task)
        if values.ndim == 1:
            return self.classes_[(values > 0.0).astype(int)]
        return self.classes_[values.argmax(axis=1)]

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy over all rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or precomputed kernel values.
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


class MEDMultitaskSVR(_Metric, RegressorMixin, SwitchedMachines):
    """Support vector regression of several tasks that share which features or kernels they use.

    `MEDMultitaskSVC` with the ε-insensitive loss.

    Parameters
    ----------
    select : {"features", "kernels"}, default="features"
        What is switched.
    kernels : str or list, default="rbf_ladder"
        The kernels, as in `KernelStack`, for ``select="kernels"``; with ``"precomputed"`` X is an
        array (n_kernels, n_samples, n_samples).
    normalize : str or None, default=None
        How the kernels are made comparable, as in `KernelStack`; None leaves them alone.
    alpha : float, default=1.0
        (1 − ρ)/ρ for a prior probability ρ of keeping a feature.
    C : float, default=1.0
        Weight of the loss.
    epsilon : float, default=0.1
        Half-width of the tube, in units of y.
    shared : bool, default=True
        Whether all tasks share their switches.
    bias : "free" or float, default="free"
        ``"free"``, or the variance of the normal prior of each task's intercept.
    solver : {"newton", "bound"}, default="newton"
        As in `MEDMultitaskSVC`.

    Attributes
    ----------
    switches_ : ndarray of shape (n_switches,) or (n_tasks, n_switches)
        Expected switches, in [1/(1 + alpha), 1]; a row a task with ``shared=False``.
    selected_ : ndarray of bool like `switches_`
        Whether a switch is in the upper half of its range.
    coef_ : ndarray of shape (n_tasks, n_features)
        Coefficients; only for features.
    weights_ : ndarray like `switches_`
        The switches as weights of the kernels; only for kernels.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual variables λ − λ', row by row.
    support_ : ndarray of shape (n_support,)
        Rows with a nonzero dual variable.
    tasks_ : ndarray of shape (n_tasks,) or None
        Names of the tasks; None where none were given.
    objective_ : float
        Primal objective: penalties and losses.
    duality_gap_ : float
        How far the objective may be above the optimum.
    stack_ : KernelStack
        The kernels; only for kernels.
    kernel_names_ : list of str
        Their names; only for kernels.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    MEDSparseRegressor : The same switches with a squared loss.
    sklearn.svm.SVR : One task without selection.

    Notes
    -----
    Neither X nor y is scaled: C and alpha are in the units of the data.

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12,
       Section 9.

    Examples
    --------
    >>> from octavo.data import make_shared_sparse_tasks
    >>> from octavo.kernel import MEDMultitaskSVR
    >>> tasks = make_shared_sparse_tasks(n_tasks=8, n_samples=40, n_features=30, random_state=0)
    >>> model = MEDMultitaskSVR(alpha=100.0).fit(tasks.X, tasks.scores, tasks.task)
    >>> round(model.score(tasks.X, tasks.scores, tasks.task), 2)
    1.0
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **SWITCHING,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        select="features",
        kernels="rbf_ladder",
        normalize=None,
        alpha=1.0,
        C=1.0,
        epsilon=0.1,
        shared=True,
        bias="free",
        tol=1e-4,
        max_sweeps=200,
        *,
        solver="newton",
        warm_start=False,
    ):
        self.select = select
        self.kernels = kernels
        self.normalize = normalize
        self.alpha = alpha
        self.C = C
        self.epsilon = epsilon
        self.shared = shared
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.warm_start = warm_start

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, task: Any = None) -> Self:
        """Learn the machines of all tasks and the switches that they share.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of all tasks; with precomputed kernels an array (n_kernels, n_samples, n_samples).
            Or a list of tables, one a task, with a list of targets as `y`; or a list of pairs.
        y : array-like of shape (n_samples,), default=None
            Targets.
        task : array-like of shape (n_samples,), default=None
            Task of each row, integers or strings.

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
        return self

    def _losses(self, targets: list[Floats]) -> list[Loss]:
        offset = self._has_offset()
        return [tube_loss(y, np.full(y.size, float(self.C)), self.epsilon, offset) for y in targets]

    def predict(self, X: Any, task: Any = None) -> Floats:
        """Return the predictions of rows, each under its own task.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows; for precomputed kernels their values with the training samples.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks; one that it has not seen is an error.

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
            Rows, or precomputed kernel values.
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
