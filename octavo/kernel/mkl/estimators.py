"""Kernel machines that learn the weights of many kernels under an lp norm.

Given kernels that see the same samples differently (sequences, texts, measurements, many widths of
one kernel), learns a machine on their weighted sum together with the weights. The norm p says how
sparse the weights are: p = 1 picks a few kernels, p = ∞ takes the plain sum, between lies what
mostly is best. Every fit carries its duality gap.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12. The weights are in
`octavo.kernel.mkl.weight_norms`, the solvers in `octavo.kernel.mkl.wrapper`, `cutting_planes` and
`interleaved`.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.class_weight import compute_class_weight

from octavo.data.kernel.mkl_toy import make_mkl_toy
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.kernel.mkl.base import SHARED_CONSTRAINTS, LpMKLBase
from octavo.kernel.mkl.machines import (
    LogisticMachine,
    Machine,
    SquaredMachine,
    hinge_machine,
    one_class_machine,
    tube_machine,
)

__all__ = ["LpMKLClassifier", "LpMKLOneClass", "LpMKLRegressor", "make_mkl_toy"]

_LOSSES: dict[str, Any] = {
    "hinge": hinge_machine,
    "logistic": LogisticMachine,
    "squared": SquaredMachine,
}


class LpMKLClassifier(ClassifierMixin, LpMKLBase):
    """Classification with several kernels whose weights are learnt under an lp norm.

    Minimises C Σ V(f(x_i), y_i) + ½ Σ ||w_m||²/θ_m over the machine and the weights θ ≥ 0 with
    ||θ||_p ≤ 1. Several classes are told apart one against the rest.

    Parameters
    ----------
    kernels : str or list, default="rbf_ladder"
        The kernels, as in `KernelStack`: a list of ``(name, kernel, params)``, a preset, or
        ``"precomputed"``, where X is an array of shape (n_kernels, n_samples, n_samples).
    C : float, default=1.0
        Weight of the loss. With normalised kernels good values are not far from 1.
    solver : {"auto", "wrapper", "interleaved", "silp"}, default="auto"
        ``"wrapper"`` alternates a machine with the closed form of the weights; ``"silp"`` finds the
        weights by cutting planes, with fewer machines when p is near 1; ``"interleaved"`` changes
        the weights while the machine is being solved and never forms a kernel matrix. ``"auto"``
        takes the last for the hinge loss where the matrices would need more than a gigabyte, else
        ``"silp"`` for p < 1.5 and ``"wrapper"`` above.
    loss : {"hinge", "logistic", "squared"}, default="hinge"
        The loss V: max(0, 1 - yf), log(1 + exp(-yf)) or ½ (y - f)².
    regularizer : {"lp", "block", "mahalanobis"}, default="lp"
        ``"lp"``: ||θ||_p ≤ 1. ``"block"``: ½ (Σ ||w_m||^q)^(2/q) takes the place of the penalty;
        for q ≤ 2 it is the lp norm with p = q/(2-q), above 2 it is more uniform than the sum of
        kernels.
        ``"mahalanobis"``: θ'E⁻¹θ ≤ 1.
    q : float, default=None
        Of ``regularizer="block"``, at least 1.
    E : array-like of shape (n_kernels, n_kernels), default=None
        Of ``regularizer="mahalanobis"``: positive definite, large where two kernels should share
        their weight. The alignment of the kernels by default.
    normalize : {"multiplicative", "spherical", "trace"} or None, default="multiplicative"
        How kernels are made comparable, as in `KernelStack`.
    center : bool, default=False
        Whether to centre the kernels.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the penalty at the solution (half the dual norm of the
        a'K_m a), not to the objective, most of which is loss when C is small; at least 1e-10.
    svm_tol : float, default=1e-4
        Gap that the inner machine may leave on the same scale; at most ``tol / 10`` is used.
    max_iter : int, default=200
        Most changes of the weights.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.
    shared_weights : bool, default=False
        Whether all classes share one vector of weights instead of one each.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights θ of the kernels; one row a class with more than two classes, unless they are
        shared.
    kernel_norms_ : ndarray, same shape as `weights_`
        Norms ||w_m|| of the blocks.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Coefficients a of the support vectors, signed.
    intercept_ : ndarray of shape (n_machines,)
        Offsets.
    objective_ : float or ndarray
        Primal objective; one value a class with more than two.
    duality_gap_ : float or ndarray
        How far the objective may be above the optimum.
    n_iter_ : int
        Changes of the weights, at most.
    history_ : ndarray of shape (n_steps, 3), or list of them
        Primal objective, dual objective and gap after every machine.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    LpMKLClassifierCV : Chooses p and C.
    sklearn.svm.SVC : One kernel.

    Notes
    -----
    Not for a single kernel, nor where all kernels are known to be equally good: `sklearn.svm.SVC`
    on their sum is as accurate and faster. Weights at p = 1 are not unique where kernels are copies
    of each other. p below 1 would not be convex.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12.

    Examples
    --------
    One kernel a feature, four of fifty features informative:

    >>> from octavo.kernel import LpMKLClassifier, make_mkl_toy
    >>> X, y, _ = make_mkl_toy(200, nu=0.92, random_state=0)
    >>> model = LpMKLClassifier("linear_per_feature", p=1.1, C=0.01).fit(X, y)
    >>> sorted(model.weights_.argsort()[-4:].tolist())
    [0, 1, 2, 3]
    """

    _parameter_constraints = {
        **SHARED_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions(set(_LOSSES))],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "shared_weights": ["boolean"],
    }

    def __init__(
        self,
        kernels="rbf_ladder",
        p=2.0,
        C=1.0,
        *,
        solver="auto",
        loss="hinge",
        regularizer="lp",
        q=None,
        E=None,
        importance=None,
        normalize="multiplicative",
        center=False,
        tol=1e-3,
        svm_tol=1e-4,
        max_iter=200,
        cache_size=500,
        class_weight=None,
        shared_weights=False,
        warm_start=False,
    ):
        self.kernels = kernels
        self.p = p
        self.C = C
        self.solver = solver
        self.loss = loss
        self.regularizer = regularizer
        self.q = q
        self.E = E
        self.importance = importance
        self.normalize = normalize
        self.center = center
        self.tol = tol
        self.svm_tol = svm_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.shared_weights = shared_weights
        self.warm_start = warm_start

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
        machines = self._machines(y, codes)
        groups = [machines] if self.shared_weights else [[machine] for machine in machines]
        self._solve_groups(X, y, groups)
        return self

    def _machines(self, y: Any, codes: Any) -> list[Machine]:
        """Return one machine for two classes, else one a class against the rest."""
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        cost = self.C * weights[codes]
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        make = _LOSSES[self.loss]
        return [make(np.where(codes == k, 1.0, -1.0), cost) for k in positives]

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


class LpMKLRegressor(RegressorMixin, LpMKLBase):
    """Regression with several kernels whose weights are learnt under an lp norm.

    Support vector regression or kernel ridge regression on Σ θ_m K_m with ||θ||_p ≤ 1, as in
    `LpMKLClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    epsilon : float, default=0.1
        Half-width of the tube in which errors cost nothing, for ``loss="epsilon_insensitive"``.
    solver : {"auto", "wrapper", "interleaved", "silp", "lbfgs"}, default="auto"
        As in `LpMKLClassifier`; ``"lbfgs"`` maximises the smooth dual of the squared loss.
    loss : {"epsilon_insensitive", "squared"}, default="epsilon_insensitive"
        max(0, ``|y - f|`` - ε), or ½ (y - f)².
    regularizer : {"lp", "block", "mahalanobis"}, default="lp"
        As in `LpMKLClassifier`.
    q : float, default=None
        Of ``regularizer="block"``.
    E : array-like of shape (n_kernels, n_kernels), default=None
        Of ``regularizer="mahalanobis"``.
    normalize : {"multiplicative", "spherical", "trace"} or None, default="multiplicative"
        How kernels are made comparable, as in `KernelStack`.
    center : bool, default=False
        Whether to centre the kernels.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the penalty at the solution; at least 1e-10.
    svm_tol : float, default=1e-4
        Gap that the inner machine may leave on the same scale; at most ``tol / 10`` is used.
    max_iter : int, default=200
        Most changes of the weights.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,)
        Weights θ of the kernels.
    kernel_norms_ : ndarray of shape (n_kernels,)
        Norms ||w_m|| of the blocks.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients.
    support_ : ndarray of shape (n_support,)
        Indices of samples with a coefficient.
    intercept_ : ndarray of shape (1,)
        Offset.
    objective_ : float
        Primal objective.
    duality_gap_ : float
        How far the objective may be above the optimum.
    n_iter_ : int
        Changes of the weights.
    history_ : ndarray of shape (n_steps, 3)
        Primal objective, dual objective and gap after every machine.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    smooth_group_lasso : The squared loss by its smooth dual, as a function.
    sklearn.svm.SVR : One kernel.

    Notes
    -----
    Not for a single kernel, which `sklearn.svm.SVR` and `sklearn.kernel_ridge.KernelRidge` are for.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12,
       Sections 3.3 and 4.4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import LpMKLRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 5))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1]
    >>> model = LpMKLRegressor("rbf_per_feature", p=1, C=10.0).fit(X, y)
    >>> round(model.score(X, y), 2), model.weights_.round(2).tolist()
    (1.0, [0.37, 0.63, 0.0, 0.0, 0.0])
    """

    _parameter_constraints = {
        **SHARED_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"auto", "wrapper", "interleaved", "silp", "lbfgs"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions({"epsilon_insensitive", "squared"})],
    }

    def __init__(
        self,
        kernels="rbf_ladder",
        p=2.0,
        C=1.0,
        *,
        epsilon=0.1,
        solver="auto",
        loss="epsilon_insensitive",
        regularizer="lp",
        q=None,
        E=None,
        importance=None,
        normalize="multiplicative",
        center=False,
        tol=1e-3,
        svm_tol=1e-4,
        max_iter=200,
        cache_size=500,
        warm_start=False,
    ):
        self.kernels = kernels
        self.p = p
        self.C = C
        self.epsilon = epsilon
        self.solver = solver
        self.loss = loss
        self.regularizer = regularizer
        self.q = q
        self.E = E
        self.importance = importance
        self.normalize = normalize
        self.center = center
        self.tol = tol
        self.svm_tol = svm_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start

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
        cost = np.full(len(y), float(self.C))
        machine: Machine
        if self.loss == "squared":
            machine = SquaredMachine(y, cost)
        else:
            machine = tube_machine(y, cost, self.epsilon)
        self._solve_groups(X, y, [[machine]])
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


class LpMKLOneClass(OutlierMixin, LpMKLBase):
    """Find outliers with several kernels whose weights are learnt under an lp norm.

    The one-class machine (a level set of the density) on Σ θ_m K_m with ||θ||_p ≤ 1: at most a
    fraction `nu` of the training samples lies outside.

    Parameters
    ----------
    nu : float, default=0.1
        Largest fraction of training samples outside, least fraction of support vectors.
    solver : {"auto", "wrapper", "interleaved", "silp"}, default="auto"
        As in `LpMKLClassifier`.
    regularizer : {"lp", "block", "mahalanobis"}, default="lp"
        As in `LpMKLClassifier`.
    q : float, default=None
        Of ``regularizer="block"``.
    E : array-like of shape (n_kernels, n_kernels), default=None
        Of ``regularizer="mahalanobis"``.
    normalize : {"multiplicative", "spherical", "trace"} or None, default="multiplicative"
        How kernels are made comparable, as in `KernelStack`.
    center : bool, default=False
        Whether to centre the kernels.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the penalty at the solution; at least 1e-10.
    svm_tol : float, default=1e-4
        Gap that the inner machine may leave on the same scale; at most ``tol / 10`` is used.
    max_iter : int, default=200
        Most changes of the weights.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,)
        Weights θ of the kernels.
    kernel_norms_ : ndarray of shape (n_kernels,)
        Norms ||w_m|| of the blocks.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients, which sum to one.
    intercept_ : ndarray of shape (1,)
        Offset, -ρ.
    offset_ : float
        ρ: ``decision_function = score_samples - offset_``.
    objective_ : float
        Primal objective.
    duality_gap_ : float
        How far the objective may be above the optimum.
    n_iter_ : int
        Changes of the weights.
    history_ : ndarray of shape (n_steps, 3)
        Primal objective, dual objective and gap after every machine.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    sklearn.svm.OneClassSVM : One kernel.

    Notes
    -----
    Nothing but the spread of the samples tells kernels apart here: the largest weight goes to the
    kernel in which they are farthest from the origin's side, and that need not be the kernel that
    shows the outliers. Where labels exist, use a classifier.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12,
       Section 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import LpMKLOneClass
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:3] += 8
    >>> model = LpMKLOneClass(p=2, nu=0.05).fit(X)
    >>> model.predict(X[:3]).tolist()
    [-1, -1, -1]
    """

    _parameter_constraints = {
        **SHARED_CONSTRAINTS,
        "nu": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        kernels="rbf_ladder",
        p=2.0,
        *,
        nu=0.1,
        solver="auto",
        regularizer="lp",
        q=None,
        E=None,
        importance=None,
        normalize="multiplicative",
        center=False,
        tol=1e-3,
        svm_tol=1e-4,
        max_iter=200,
        cache_size=500,
        warm_start=False,
    ):
        self.kernels = kernels
        self.p = p
        self.nu = nu
        self.solver = solver
        self.regularizer = regularizer
        self.q = q
        self.E = E
        self.importance = importance
        self.normalize = normalize
        self.center = center
        self.tol = tol
        self.svm_tol = svm_tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None) -> Self:
        """Learn the weights and the machine.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernels of shape (n_kernels, n_samples, n_samples).
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted detector.
        """
        X, _ = self._checked(X, "no_validation")
        n_samples = X.shape[1] if self._is_precomputed() else X.shape[0]
        self._solve_groups(X, None, [[one_class_machine(n_samples, self.nu)]])
        self.offset_ = -float(self.intercept_[0])
        return self

    def decision_function(self, X):
        """Return how far inside samples are.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernel values of shape (n_kernels, n_queries, n_samples).

        Returns
        -------
        ndarray of shape (n_samples,)
            Negative for outliers.
        """
        return self._decide(X)[:, 0]

    def score_samples(self, X):
        """Return the decision values before the offset.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernel values.

        Returns
        -------
        ndarray of shape (n_samples,)
            Larger for samples that are more like the training samples.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X):
        """Return 1 for samples inside, -1 for outliers.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernel values.

        Returns
        -------
        ndarray of shape (n_samples,)
            1 or -1.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
