"""Kernel machines on kernels in groups: sparse within groups, any norm across them.

Kernels come in families (descriptors, sensors, modalities, with several widths each): the l1 norm
picks the kernels of each family, and a norm across families from few (q < 1) to equal shares
(q = ∞) decides how many families take part. Every fit carries its duality gap.

Reference: J. Aflalo, A. Ben-Tal, C. Bhattacharyya, J. Saketha Nath and S. Raman (2011), "Variable
Sparsity Kernel Learning", Journal of Machine Learning Research 12. The solver is in
`octavo.kernel.vskl.mirror`, its oracle in `octavo.kernel.vskl.oracle`.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.class_weight import compute_class_weight

from octavo.data.kernel.modalities import make_modalities
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.proximal.mirror_descent import mirror_descent_product_simplex
from octavo.kernel.mkl.machines import Machine, SquaredMachine, hinge_machine, tube_machine
from octavo.kernel.vskl.base import GROUP_CONSTRAINTS, SOLVER_CONSTRAINTS, VSKLBase
from octavo.kernel.vskl.kernel_groups import KernelGroups, as_kernel_groups
from octavo.kernel.vskl.reduced_gradient import solve_simple_mkl

__all__ = [
    "SimpleMKLClassifier",
    "VSKLClassifier",
    "VSKLRegressor",
    "make_modalities",
    "mirror_descent_product_simplex",
]


class GroupedClassifier(ClassifierMixin, VSKLBase):
    """A classifier with the hinge loss: one machine for two classes, else one against the rest."""

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y) -> Self:
        """Learn the weights and the machine.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples; with ``kernels="precomputed"`` an array-like of shape (n_kernels, n_samples,
            n_samples).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = self._checked(X, y)
        self.classes_, codes = encode_classes(y, owner=self)
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        cost = float(self.C) * weights[codes]
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        machines = [hinge_machine(np.where(codes == k, 1.0, -1.0), cost) for k in positives]
        self._solve_machines(X, y, machines)
        return self

    def decision_function(self, X):
        """Return the decision values.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples; for precomputed kernels their values with the training samples, of shape
            (n_kernels, n_queries, n_samples).

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second class; with more than two, the largest is predicted.
        """
        values = self._decide(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X):
        """Return the class labels.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernel values.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(1)]


class VSKLClassifier(GroupedClassifier):
    """Classification with kernels in groups: few kernels of each group, any norm across groups.

    Minimises ½ [Σ_j (Σ_k ||w_jk||)^2q]^(1/q) + C Σ max(0, 1 - y_i f(x_i)), where f is the sum of
    w_jk over the kernels k of the groups j. Several classes are told apart one against the rest.

    Parameters
    ----------
    kernels : str or list, default="rbf_ladder"
        The kernels, as in `KernelStack`: a list of ``(name, kernel, params)``, a preset, or
        ``"precomputed"``, where X is an array of shape (n_kernels, n_samples, n_samples).
    groups : None, str, array-like of shape (n_kernels,) or list of lists, default=None
        Which kernels belong together: a label for each, or the kernels of each group. ``"one"``
        group of all kernels is sparse multiple kernel learning; with ``"each"`` kernel a group of
        its own, q = 1 is the plain sum of kernels. None puts kernels together that look at the same
        features of a stack, and precomputed ones into one group.
    q : float, default=2.0
        The norm across groups, from 0.5 to infinity. 1 adds the groups up; above, the penalty
        drives them towards equal shares (infinity); below, towards few groups (composite kernel
        learning), until at 0.5 groups no longer matter.
    step : float, default=2.0
        Length of the first mirror step, in units of 1 / max ``|gradient|``; later ones adapt.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the objective; at least 1e-10.
    max_iter : int, default=500
        Most changes of the weights.
    oracle_tol : "adaptive" or float, default="adaptive"
        Gap that the machine and the weights of groups may leave at given weights within groups,
        relative to the objective; ``"adaptive"`` allows a tenth of the current duality gap.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.
    warm_start : bool, default=False
        Whether to start from the last fit where it has the same number of samples and kernels.
    random_state : int, RandomState instance or None, default=None
        Not used: nothing here is random. Present so that it can be set like that of other learners.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    lambda_ : list of ndarray, or list of such lists
        Weights within each group, which sum to one; one list a class with more than two.
    gamma_ : ndarray of shape (n_groups,) or (n_classes, n_groups)
        Weights of the groups: a kernel's weight is λ/γ for q ≥ 1 and λγ for q < 1. Zero for a
        group that was left out because none of its kernels tells the samples apart.
    weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        What each kernel is multiplied by.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Coefficients of the support vectors, signed.
    intercept_ : ndarray of shape (n_machines,)
        Offsets.
    objective_ : float or ndarray
        Primal objective; one value a class with more than two.
    duality_gap_ : float or ndarray
        How far the objective may be above the optimum.
    n_iter_ : int
        Changes of the weights, at most.
    n_svm_calls_ : int
        Machines solved, of all classes together.
    history_ : ndarray of shape (n_iterations, 4), or list of them
        Primal objective, best dual objective, gap and machines so far, after every iteration.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    VSKLClassifierCV : Chooses q and C.
    LpMKLClassifier : One lp norm over all kernels, without groups.
    sklearn.svm.SVC : One kernel.

    Notes
    -----
    Not for a single kernel per group and q = 1, which is `sklearn.svm.SVC` on the sum of kernels.
    All kernel matrices are held in memory, 8 n_kernels n_samples² bytes. Weights within a group
    are not unique where its kernels repeat each other. The problem is convex for every q here.

    References
    ----------
    .. [1] Aflalo, Ben-Tal, Bhattacharyya, Saketha Nath and Raman (2011). Variable Sparsity Kernel
       Learning. JMLR 12.

    Examples
    --------
    Two modalities with three widths each; the second is weaker, and q = ∞ keeps it all the same:

    >>> import numpy as np
    >>> from octavo.kernel import VSKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=100)
    >>> X = rng.normal(size=(100, 4)) + np.outer(y, [2.0, 2.0, 0.7, 0.7])
    >>> kernels = [
    ...     (f"{name} {gamma}", "rbf", {"gamma": gamma, "columns": columns})
    ...     for name, columns in (("a", [0, 1]), ("b", [2, 3]))
    ...     for gamma in (0.01, 0.1, 1.0)
    ... ]
    >>> model = VSKLClassifier(kernels, q=np.inf, C=100.0).fit(X, y)
    >>> len(model.lambda_), model.gamma_.round(1).tolist()
    (2, [0.8, 0.2])
    >>> bool(model.duality_gap_ <= 1e-3 * model.objective_)
    True
    """

    _parameter_constraints = {
        **GROUP_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernels="rbf_ladder",
        groups=None,
        q=2.0,
        C=1000.0,
        normalize="trace",
        step=2.0,
        tol=1e-3,
        max_iter=500,
        *,
        oracle_tol="adaptive",
        svm_tol=1e-4,
        stopping="gap",
        class_weight=None,
        warm_start=False,
        random_state=None,
    ):
        self.kernels = kernels
        self.groups = groups
        self.q = q
        self.C = C
        self.normalize = normalize
        self.step = step
        self.tol = tol
        self.oracle_tol = oracle_tol
        self.max_iter = max_iter
        self.svm_tol = svm_tol
        self.stopping = stopping
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state


class SimpleMKLClassifier(GroupedClassifier):
    """Sparse multiple kernel learning by SimpleMKL's reduced gradient.

    The reference for one group: minimises ½ (Σ_k ||w_k||)² + C Σ max(0, 1 - y_i f(x_i)) along
    reduced gradients with line searches, on the same machine as `VSKLClassifier`.

    Parameters
    ----------
    tol : float, default=1e-3
        Duality gap to stop at, relative to the objective; at least 1e-10.
    max_iter : int, default=500
        Most changes of the weights.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    lambda_ : list of ndarray, or list of such lists
        Weights within each group, which sum to one; one list a class with more than two.
    gamma_ : ndarray of shape (n_groups,) or (n_classes, n_groups)
        Weights of the groups: a kernel's weight is λ/γ for q ≥ 1 and λγ for q < 1. Zero for a
        group that was left out because none of its kernels tells the samples apart.
    weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        What each kernel is multiplied by.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Coefficients of the support vectors, signed.
    intercept_ : ndarray of shape (n_machines,)
        Offsets.
    objective_ : float or ndarray
        Primal objective; one value a class with more than two.
    duality_gap_ : float or ndarray
        How far the objective may be above the optimum.
    n_iter_ : int
        Changes of the weights, at most.
    n_svm_calls_ : int
        Machines solved, of all classes together.
    history_ : ndarray of shape (n_iterations, 4), or list of them
        Primal objective, best dual objective, gap and machines so far, after every iteration.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    VSKLClassifier : Finds the same solution several times as fast with ``groups="one"``.
    LpMKLClassifier : The same problem at p = 1, by cutting planes.

    Notes
    -----
    Not for daily use: `VSKLClassifier` with ``groups="one"`` has the same solution. This class is
    what that is compared with.

    References
    ----------
    .. [1] Rakotomamonjy, Bach, Canu and Grandvalet (2008). SimpleMKL. JMLR 9.

    Examples
    --------
    >>> from octavo.kernel import SimpleMKLClassifier, VSKLClassifier, make_mkl_toy
    >>> X, y, _ = make_mkl_toy(80, nu=0.8, d=10, random_state=0)
    >>> slow = SimpleMKLClassifier("linear_per_feature").fit(X, y)
    >>> fast = VSKLClassifier("linear_per_feature", groups="one").fit(X, y)
    >>> bool(abs(slow.objective_ - fast.objective_) < 2e-3 * fast.objective_)
    True
    """

    _parameter_constraints = {
        **SOLVER_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        kernels="rbf_ladder",
        C=1000.0,
        *,
        normalize="trace",
        tol=1e-3,
        max_iter=500,
        svm_tol=1e-4,
        stopping="gap",
        class_weight=None,
    ):
        self.kernels = kernels
        self.C = C
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.svm_tol = svm_tol
        self.stopping = stopping
        self.class_weight = class_weight

    def _solver(self) -> Any:
        return solve_simple_mkl

    def _groups_of(self, n_kernels: int) -> KernelGroups:
        return as_kernel_groups("one", n_kernels)


class VSKLRegressor(RegressorMixin, VSKLBase):
    """Regression with kernels in groups: few kernels of each group, any norm across groups.

    Kernel ridge or support vector regression in place of the hinge loss of `VSKLClassifier`, with
    the same penalty and the same solver.

    Parameters
    ----------
    groups : None, str, array-like of shape (n_kernels,) or list of lists, default=None
        Which kernels belong together: a label for each, or the kernels of each group. ``"one"``
        group of all kernels is sparse multiple kernel learning; with ``"each"`` kernel a group of
        its own, q = 1 is the plain sum of kernels. None puts kernels together that look at the same
        features of a stack, and precomputed ones into one group.
    q : float, default=2.0
        The norm across groups, from 0.5 to infinity. 1 adds the groups up; above, the penalty
        drives them towards equal shares (infinity); below, towards few groups (composite kernel
        learning), until at 0.5 groups no longer matter.
    loss : {"squared", "epsilon_insensitive"}, default="squared"
        ½ (y - f)², or max(0, ``|y - f|`` - ε).
    epsilon : float, default=0.1
        Half-width ε of the tube, in units of y.
    step : float, default=2.0
        Length of the first mirror step, in units of 1 / max ``|gradient|``; later ones adapt.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the objective; at least 1e-10.
    oracle_tol : "adaptive" or float, default="adaptive"
        Gap that the machine and the weights of groups may leave at given weights within groups,
        relative to the objective; ``"adaptive"`` allows a tenth of the current duality gap.
    max_iter : int, default=500
        Most changes of the weights.
    warm_start : bool, default=False
        Whether to start from the last fit where it has the same number of samples and kernels.
    random_state : int, RandomState instance or None, default=None
        Not used: nothing here is random. Present so that it can be set like that of other learners.

    Attributes
    ----------
    lambda_ : list of ndarray
        Weights within each group, which sum to one.
    gamma_ : ndarray of shape (n_groups,)
        Weights of the groups: a kernel's weight is λ/γ for q ≥ 1 and λγ for q < 1. Zero for a
        group that was left out because none of its kernels tells the samples apart.
    weights_ : ndarray of shape (n_kernels,)
        What each kernel is multiplied by.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of the support vectors, signed.
    intercept_ : ndarray of shape (1,)
        Offset.
    objective_ : float
        Primal objective.
    duality_gap_ : float
        How far the objective may be above the optimum.
    n_iter_ : int
        Changes of the weights.
    n_svm_calls_ : int
        Machines solved.
    history_ : ndarray of shape (n_iterations, 4)
        Primal objective, best dual objective, gap and machines so far, after every iteration.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    VSKLClassifier : The same for classes.
    LpMKLRegressor : One lp norm over all kernels, without groups.
    sklearn.kernel_ridge.KernelRidge : One kernel.

    Notes
    -----
    Not for a single kernel per group and q = 1, which is kernel ridge regression with an offset on
    the sum of kernels. All kernel matrices are held in memory.

    References
    ----------
    .. [1] Aflalo, Ben-Tal, Bhattacharyya, Saketha Nath and Raman (2011). Variable Sparsity Kernel
       Learning. JMLR 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import VSKLRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1]
    >>> model = VSKLRegressor("rbf_per_feature", q=0.75).fit(X, y)
    >>> round(model.score(X, y), 2), model.weights_.round(1).tolist()
    (1.0, [0.7, 0.8, 0.1, 0.1])
    """

    _parameter_constraints = {
        **GROUP_CONSTRAINTS,
        "loss": [StrOptions({"squared", "epsilon_insensitive"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernels="rbf_ladder",
        groups=None,
        q=2.0,
        C=1000.0,
        *,
        loss="squared",
        epsilon=0.1,
        normalize="trace",
        step=2.0,
        tol=1e-3,
        oracle_tol="adaptive",
        max_iter=500,
        svm_tol=1e-4,
        stopping="gap",
        warm_start=False,
        random_state=None,
    ):
        self.kernels = kernels
        self.groups = groups
        self.q = q
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.normalize = normalize
        self.step = step
        self.tol = tol
        self.oracle_tol = oracle_tol
        self.max_iter = max_iter
        self.svm_tol = svm_tol
        self.stopping = stopping
        self.warm_start = warm_start
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y) -> Self:
        """Learn the weights and the machine.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernels of shape (n_kernels, n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = self._checked(X, y, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity.")
        cost, center = np.full(len(y), float(self.C)), y.mean()  # which the intercept takes
        machine: Machine
        if self.loss == "squared":
            machine = SquaredMachine(y - center, cost)
        else:
            machine = tube_machine(y - center, cost, self.epsilon)
        self._solve_machines(X, y, [machine])
        self.intercept_ = self.intercept_ + center
        return self

    def predict(self, X):
        """Return predictions.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernel values of shape (n_kernels, n_queries, n_samples).

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._decide(X)[:, 0]
