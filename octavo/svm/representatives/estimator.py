"""AESVM: a kernel support vector machine trained on approximate extreme points.

Each class is replaced by a weighted representative set (`ApproximateExtremePoints`), and a
support vector machine is trained on it with those weights. Training and prediction take a
fraction of the time where many rows say the same: sensors, logs, recordings.

Reference: Nandan, Khargonekar and Talathi (2014), "Fast SVM training using approximate extreme
points", JMLR 15:59-98. Its problem (2) with C/N written C is `sklearn.svm.SVC` with the
representatives' weights as sample weights, Eq. (15).
"""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.svm import SVC
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import has_fit_parameter

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.delegation import DelegatesToFitted
from octavo.engine.estimators.doubles import LIBSVM_TOL, libsvm_steps, reachable_tolerance
from octavo.engine.estimators.sklearn_door import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import Kernel
from octavo.svm.representatives.extreme_points import ApproximateExtremePoints
from octavo.svm.representatives.representative_error import machine_objectives

__all__ = ["AESVC"]

CACHE = 500  # megabytes for LIBSVM; it takes what it needs


def kernel_of_machine(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters that give a scikit-learn machine this kernel."""
    if kernel.function is not None:
        return {"kernel": kernel.function}
    return {
        "kernel": kernel.name,
        "gamma": kernel.gamma,
        "degree": kernel.degree,
        "coef0": kernel.coef0,
    }


def weights_of_classes(class_weight: Any, classes: Any, codes: Any, weight: Any) -> np.ndarray:
    """Return the factor of each class; "balanced" counts all rows, not the representatives."""
    if isinstance(class_weight, str):  # "balanced"
        total = np.bincount(codes, weight, len(classes))
        return weight.sum() / (len(classes) * np.where(total > 0, total, 1.0))
    return compute_class_weight(class_weight, classes=classes, y=classes[codes])


class AESVC(DelegatesToFitted, CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Kernel support vector classifier trained on approximate extreme points (AESVM).

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error, as in `sklearn.svm.SVC`.
    kernel : {"rbf", "poly", "linear"} or callable, default="rbf"
        The kernel; a callable takes two matrices and returns the block of kernel values.
    gamma : float or {"scale", "auto"}, default="scale"
        Coefficient of "rbf" and "poly"; the words mean what they mean in `sklearn.svm.SVC`,
        computed on all rows.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Offset of "poly".
    eps : float, default=1e-2
        Largest squared distance in kernel space of a row to the convex hull of its
        representatives. With a wide kernel or noisy labels 1e-2 can cost some points of
        accuracy; 1e-3 and 3e-4 are closer to `sklearn.svm.SVC`, with more representatives.
    subset_size : int, default=1000
        Most rows of one set of neighbours (V in the paper).
    block_size : int, default=100_000
        Most rows of a block in which sets are cut (P in the paper).
    segregation : {"median_split", "contiguous"}, default="median_split"
        How blocks are made; "contiguous" for series in which neighbours stand side by side.
    resolve : bool, default=True
        Compute convex weights to the end. False is faster and less accurate.
    tol : float, default=1e-3
        Tolerance of the machine, as in `sklearn.svm.SVC`; at least 1e-10, LIBSVM's reach.
    estimator : classifier, default=None
        What is trained on the weighted representatives instead of `sklearn.svm.SVC`: any
        classifier whose ``fit`` takes ``sample_weight``. `C` and `tol` are not used then.
    class_weight : dict or "balanced", default=None
        Factors of the classes' costs; "balanced" is inverse to the weight of all their rows.
    n_jobs : int, default=None
        Number of threads of the selection.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    representative_indices_ : ndarray of shape (n_representatives,)
        Rows that the machine was trained on.
    representative_weights_ : ndarray of shape (n_representatives,)
        Their weights, before those of the classes.
    reduction_ : float
        Share of the rows that represent.
    hull_error_ : ndarray of shape (n_samples,)
        Squared distance of each row to its convex combination of representatives.
    estimator_ : classifier
        The machine.
    support_ : ndarray of shape (n_support_vectors,)
        Rows of the training data that are support vectors, by class. With `estimator`
        only where it has them; so for `n_support_`.
    n_support_ : ndarray of shape (n_classes,)
        Their number in each class.
    objective_ : float
        Objective (2) of the paper at the solution, summed over the pairs of classes. Not with
        `estimator`; so for `duality_gap_`.
    duality_gap_ : float
        How far that is above its minimum at most.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of each class.
    fit_times_ : dict
        Seconds of "selection" and of "training".
    kernel_ : Kernel
        The kernel with its parameters settled.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    AESVCCV : Choose C and the kernel, selecting once per kernel.
    ApproximateExtremePoints : The representatives alone.
    error_certificate : How far from the machine of all rows.

    Notes
    -----
    When not to use it: up to some ten thousand rows, or where the classes are well apart,
    `sklearn.svm.SVC` takes less time than the selection. In many dimensions nothing is saved (a
    warning says so): `sklearn.kernel_approximation.Nystroem` with a linear machine is the
    better choice there. Scale the features first.

    References
    ----------
    .. [1] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98.

    Examples
    --------
    >>> from octavo.data import make_redundant_classes
    >>> from octavo.svm import AESVC
    >>> X, y = make_redundant_classes(6000, kind="rings", random_state=0)
    >>> model = AESVC(C=4.0, gamma=4.0).fit(X[:4000], y[:4000])
    >>> len(model.representative_indices_) < 200, model.score(X[4000:], y[4000:]) > 0.99
    (True, True)
    """

    _inner = "estimator_"
    _parameter_constraints: dict = {
        **{
            name: ApproximateExtremePoints._parameter_constraints[name]
            for name in (
                "kernel",
                "gamma",
                "coef0",
                "eps",
                "subset_size",
                "block_size",
                "segregation",
                "resolve",
                "n_jobs",
            )
        },
        "degree": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "estimator": [None, HasMethods(["fit", "predict"])],
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        eps=1e-2,
        subset_size=1000,
        block_size=100_000,
        segregation="median_split",
        resolve=True,
        tol=1e-3,
        estimator=None,
        class_weight=None,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eps = eps
        self.subset_size = subset_size
        self.block_size = block_size
        self.segregation = segregation
        self.resolve = resolve
        self.tol = tol
        self.estimator = estimator
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _selection(self, **changes: Any) -> ApproximateExtremePoints:
        """Return the unfitted selection with these parameters."""
        shared = ApproximateExtremePoints._get_param_names()
        own = {name: value for name, value in vars(self).items() if name in shared}
        return ApproximateExtremePoints(**own).set_params(**changes)

    def _check(self, X, y, sample_weight):
        """Return checked rows, places of classes and weights."""
        X, y = validate_rows(self, X, y, narrow=True, accept_sparse="csr", dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        present = self.classes_[np.bincount(codes, weight, len(self.classes_)) > 0]
        if len(present) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of positive weight in at least two classes; "
                f"got 1 class: {present.tolist()}."
            )
        return X, codes, weight

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Select representatives and train the machine on them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0.

        Returns
        -------
        self : AESVC
            The fitted classifier.
        """
        X, codes, weight = self._check(X, y, sample_weight)
        start = time.perf_counter()
        points = self._selection()._fit_checked(X, codes, weight, owner=self, y=y)
        points._warn_of_extremes(X)
        return self._train(X, codes, weight, points, time.perf_counter() - start)

    def _train(self, X, codes, weight, points, selection_time):
        """Train the machine on selected points (Eq. 15)."""
        start = time.perf_counter()
        chosen = points.indices_
        self.kernel_ = points.kernel_
        self.class_weight_ = weights_of_classes(self.class_weight, self.classes_, codes, weight)
        scale = points.weights_ * self.class_weight_[codes[chosen]]  # β_t: 0 ≤ α_t ≤ C β_t
        machine = self._machine(X.shape[0])
        rows = X[chosen]
        self.estimator_ = machine.fit(rows, self.classes_[codes[chosen]], sample_weight=scale)
        self.fit_times_ = {
            "selection": selection_time,
            "training": time.perf_counter() - start,
        }
        self.representative_indices_ = chosen
        self.representative_weights_ = points.weights_
        self.reduction_, self.hull_error_ = points.reduction_, points.hull_error_
        for name in ("support_", "n_support_", "objective_", "duality_gap_"):
            if hasattr(self, name):
                delattr(self, name)  # of an earlier fit
        if hasattr(self.estimator_, "support_"):
            self.support_ = chosen[self.estimator_.support_]
            self.n_support_ = self.estimator_.n_support_
        if self.estimator is None:
            primal, dual = machine_objectives(
                self.estimator_, self.kernel_, rows, codes[chosen], self.C * scale
            )
            self.objective_, self.duality_gap_ = primal, max(primal - dual, 0.0)
        return self

    def _inner_candidates(self):
        return [SVC() if self.estimator is None else self.estimator]

    def _machine(self, n_samples):
        if self.estimator is None:
            return SVC(
                C=self.C,
                tol=reachable_tolerance(self.tol, floor=LIBSVM_TOL),
                max_iter=libsvm_steps(n_samples),
                cache_size=CACHE,
                **kernel_of_machine(self.kernel_),
            )
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                "estimator must take sample_weight in fit, or the representatives' weights "
                f"are lost; {type(self.estimator).__name__} does not."
            )
        return clone(self.estimator)
