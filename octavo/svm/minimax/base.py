"""What the minimax probability machines share: from a table to moments, and back to predictions."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.sklearn_door import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import KERNELS, Kernel, check_gram, resolve_kernel
from octavo.svm.minimax.curve import Hyperplane
from octavo.svm.minimax.moment_bounds import worst_case_error
from octavo.svm.minimax.moment_space import (
    ClassMoments,
    FeatureSpace,
    class_moments,
    kernel_space,
    linear_space,
)

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable, None],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
}


def two_classes(y: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the two classes and which rows are in the second."""
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            f"For several classes wrap {name} in sklearn.multiclass.OneVsRestClassifier."
        )
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"{name} needs two classes, and the data contains only one class: {classes[0]!r}."
        )
    return classes, np.asarray(y) == classes[1]


def choose_landmarks(n: int, n_components: int | None, random_state: Any) -> NDArray[np.intp]:
    """Return the rows that a kernel is spanned by: all, or some drawn at random."""
    if n_components is None or n_components >= n:
        return np.arange(n)
    return np.sort(check_random_state(random_state).choice(n, n_components, replace=False))


class TrainingRows(NamedTuple):
    """Checked input of a fit without rows of weight zero, and where its rows stood."""

    X: Any
    is_one: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    places: NDArray[np.intp]


class MomentClassifier(ClassifierMixin, SoundEstimator):
    """Two classes parted by a hyperplane that is found from their means and covariances.

    Parameters
    ----------
    degree, coef0 : float, default=3, 0.0
        Exponent and offset of ``poly``; offset of ``sigmoid``.
    gamma : {"scale", "auto"}, float or None, default=None
        Scale of the kernels ``rbf``, ``laplacian``, ``poly`` and ``sigmoid``; None is one over
        the number of features.
    n_components : int, default=None
        Span the kernel by so many random training rows (Nyström); None takes all of them.
    """

    # Set by the subclasses, all of which take these parameters.
    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    n_components: int | None
    random_state: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the hyperplane from the moments of two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; their Gram matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes, of which there must be two.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self : estimator
            Fitted.
        """
        train = self._checked(X, y, sample_weight)
        space, self._kernel = self._feature_space(train.X)
        zero, one = class_moments(space.rows, train.is_one, train.weight)
        plane = self._find_hyperplane(zero, one)
        self._keep(plane, space, train)
        return self

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        X, y = validate_rows(
            self, X, y, dtype=np.float64, accept_sparse=False if self._pairwise else "csr"
        )
        weight, places = None, np.arange(X.shape[0])
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
            counted = weight > 0.0
            if not counted.all():  # a row of weight zero is a row that is not there
                X = X[np.ix_(counted, counted)] if self._pairwise else X[counted]
                y, weight, places = y[counted], weight[counted], places[counted]
        self.classes_, is_one = two_classes(y, type(self).__name__)
        if self._pairwise:
            check_gram(X)
        return TrainingRows(X, is_one, weight, places)

    @property
    def _pairwise(self) -> bool:
        return self.kernel == "precomputed"

    def _feature_space(self, X: Any) -> tuple[FeatureSpace, Kernel | None]:
        if self.kernel is None:
            return linear_space(X), None
        kernel = self._resolved(X)
        landmarks = choose_landmarks(X.shape[0], self.n_components, self.random_state)
        return kernel_space(kernel, X, landmarks), kernel

    def _resolved(self, X: Any) -> Kernel:
        return resolve_kernel(
            self.kernel,
            X,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    def _find_hyperplane(self, zero: ClassMoments, one: ClassMoments) -> Hyperplane:
        raise NotImplementedError

    def _keep(self, plane: Hyperplane, space: FeatureSpace, train: TrainingRows) -> None:
        """Store the hyperplane as weights of features, or of the rows that span the kernel."""
        for name in ("coef_", "dual_coef_", "landmark_indices_", "landmarks_"):
            if hasattr(self, name):  # of an earlier fit with another kernel
                delattr(self, name)
        weights = np.atleast_2d(space.weights_of(plane.coef))
        if space.landmarks is None:
            self.coef_ = weights
        else:
            self.dual_coef_ = weights
            self.landmark_indices_ = train.places[space.landmarks]
            if not self._pairwise:
                self.landmarks_ = train.X[space.landmarks]
        self.intercept_ = np.array([-plane.threshold])
        self.duality_gap_ = plane.gap
        self.n_iter_ = plane.n_iter

    def _warn_gap(self, plane: Hyperplane, tol: float) -> None:
        kappa = min(plane.kappas)
        if plane.gap > tol * max(kappa, 1.0):
            warnings.warn(
                f"{type(self).__name__} is not solved to {tol:g}: kappa is {kappa:.6g} and might "
                f"be {plane.gap:.3g} larger. Stronger regularisation makes the problem better "
                "conditioned.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return how far each row lies on the side of the second class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Positive or zero where `predict` gives ``classes_[1]``.
        """
        check_is_fitted(self)
        X = validate_rows(
            self,
            X,
            reset=False,
            dtype=np.float64,
            accept_sparse=False if self._pairwise else "csr",
        )
        if self._kernel is None:
            products = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        else:
            vectors = None if self._pairwise else self.landmarks_
            products = self._kernel.against(X, vectors, self.landmark_indices_) @ self.dual_coef_.T
        return products.ravel() + self.intercept_[0]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        side = self.decision_function(X) >= 0.0
        return self.classes_[side.astype(int)]


class GuaranteedClassifier(MomentClassifier):
    """A moment classifier whose covariances are regularised by a share of their variance."""

    alpha: float

    def _ridge(self, average: float) -> float:
        if not average > 0.0 and self.alpha > 0.0:
            raise ValueError(
                "Neither class has any spread (every covariance is zero), so that kappa is "
                "unbounded; give each class at least two different rows."
            )
        self.alpha_ = self.alpha * average
        return self.alpha_

    def _store_kappas(self, plane: Hyperplane, less: float = 0.0) -> None:
        errors = worst_case_error(np.array(plane.kappas) - less)
        self.worst_case_accuracy_ = 1.0 - errors
        self.worst_case_error_ = float(errors.max())
