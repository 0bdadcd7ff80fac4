"""`ConditionalExponentialFamily`: weighted kernel logistic regression over any objects."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.gram import resolve_kernel
from octavo.search.de_novo.surrogate import fit_family, gram_factor
from octavo.search.de_novo.vector_kernels import label_intersection_kernel

__all__ = ["ConditionalExponentialFamily"]

NAMES = {"linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "precomputed"}


def kernel_block(kernel: Callable[..., Any], X: Any, Y: Any) -> Floats:
    """Return the matrix that a user's kernel gives; refuse one of a wrong shape or not finite."""
    K = np.asarray(kernel(X, Y))
    if K.shape != (len(X), len(Y)) or K.dtype.kind not in "biuf":
        raise ValueError(
            f"The kernel must return a matrix of {len(X)} rows and {len(Y)} columns; it returned "
            f"an array of type {K.dtype} and shape {K.shape}."
        )
    K = K.astype(np.float64)
    if not np.isfinite(K).all():
        raise ValueError("The kernel must return finite numbers; some are NaN or infinite.")
    return K


def is_set(label: Any) -> bool:
    """Whether a label is a set of elementary properties."""
    return isinstance(label, (set, frozenset))


def are_sets(y: Any) -> bool:
    """Whether all labels are sets."""
    listed = isinstance(y, (list, tuple, np.ndarray)) and np.ndim(y) < 2 and len(y) > 0
    return listed and all(is_set(label) for label in y)


def encode_sets(y: Any) -> tuple[Any, Ints]:
    """Return the distinct sets among labels, and which of them each label is."""
    sets = [frozenset(label) for label in y]
    names = sorted(set(sets), key=lambda s: (len(s), sorted(map(str, s))))
    classes = np.empty(len(names), dtype=object)
    classes[:] = names
    place = {name: i for i, name in enumerate(names)}
    return classes, np.array([place[s] for s in sets], dtype=np.int64)


class ConditionalExponentialFamily(ClassifierMixin, SoundEstimator):
    """Classify by a conditional exponential family with a kernel, with weighted examples.

    p(y | x) ∝ exp(f_y(x)), where the functions f_y minimise
    (1/t) Σ w_i (-ln p(y_i | x_i)) + alpha Σ_y ‖f_y‖². There is no intercept.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A kernel by scikit-learn's name, ``"precomputed"``, or a function (list, list) -> matrix for
        objects of any kind, such as `weisfeiler_lehman_kernel`.
    gamma : float or None, default=None
        Width of ``"rbf"`` and its kin; one over the number of features by default.
    alpha : float, default=1.0
        The thesis's λ, strength of the penalty.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels. Labels that are sets are compared by how many entries they share
        (`label_intersection_kernel`), others are alike or not.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        f_y(x) = Σ_i dual_coef_[i, y] k(x_i, x).
    theta_norm_ : float
        ‖θ‖, for `coupling_burn_in`.
    objective_ : float
        What is minimised, at the solution.
    n_iter_ : int
        Newton steps.
    n_features_in_ : int
        Number of features, where rows have features.

    Notes
    -----
    Cubic in the number of examples. For many rows of plain features take
    `sklearn.linear_model.LogisticRegression`, which this equals for two labels with
    C = 1 / (t alpha), no intercept and the kernel's features.

    References
    ----------
    D. Oglic (2018). Constructive Approximation and Learning by Greedy Algorithms. PhD thesis,
    University of Bonn, Section 5.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from octavo.search import ConditionalExponentialFamily
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConditionalExponentialFamily(alpha=1e-3).fit(X, y)
    >>> print(round(model.score(X, y), 3))
    0.987
    """

    _parameter_constraints: dict = {
        "kernel": [StrOptions(NAMES), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, kernel: Any = "rbf", gamma: float | None = None, alpha: float = 1.0) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel in ("linear", "cosine", "rbf")
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _rows(self, X: Any, reset: bool) -> Any:
        """Return checked rows, or a list of objects where the kernel is a function."""
        if callable(self.kernel):
            if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__len__"):
                raise ValueError(f"A list of objects is needed as X; got {X!r}.")
            if not len(X):
                raise ValueError("At least one object is needed in X; got none.")
            return X
        sparse = "csr" if self.kernel in ("linear", "cosine", "rbf") else False
        return validate_data(self, X, accept_sparse=sparse, dtype=np.float64, reset=reset)

    def _block(self, X: Any) -> Floats:
        if callable(self.kernel):
            return kernel_block(self.kernel, X, self.X_fit_)
        if self.kernel == "precomputed":
            return np.asarray(X)
        return np.asarray(self._kernel.block(X, self.X_fit_))

    def _labels(self, y: Any, n: int) -> Ints:
        """Set the classes, and return the code of each label."""
        if y is None:
            raise ValueError(
                "This ConditionalExponentialFamily estimator requires y to be passed, but the "
                "target y is None."
            )
        sets = are_sets(y)
        if sets:
            self.classes_, codes = encode_sets(y)
        else:
            y = np.asarray(y)
            check_classification_targets(y)
            self.classes_, codes = np.unique(y.ravel(), return_inverse=True)
        if len(codes) != n:
            raise ValueError(f"One label for each example is needed; {len(codes)} for {n}.")
        self._label_gram = label_intersection_kernel(list(self.classes_)) if sets else None
        return codes

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the family.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of objects
            Examples; the Gram matrix with ``kernel="precomputed"``, and anything at all with a
            kernel that is a function.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The thesis's w; ones by default.

        Returns
        -------
        self : ConditionalExponentialFamily
            The fitted model.
        """
        if callable(self.kernel) or are_sets(y):
            X = self._rows(X, True)
        elif y is not None:
            sparse = "csr" if self.kernel in ("linear", "cosine", "rbf") else False
            X, y = validate_data(self, X, y, accept_sparse=sparse, dtype=np.float64)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        codes = self._labels(y, n)
        if self.kernel == "precomputed" and X.shape != (n, n):
            raise ValueError(f"A precomputed kernel must be a square matrix; got {X.shape}.")
        rows = np.empty((n, 1))
        weights = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.sum() > 0:
            raise ValueError("At least one example must have a positive weight.")
        if not callable(self.kernel):
            self._kernel = resolve_kernel(self.kernel, X, gamma=self.gamma)
        self.X_fit_ = X
        factor = gram_factor(self._block(X))
        found = fit_family(
            factor.features,
            codes,
            weights,
            float(self.alpha),
            n_classes=len(self.classes_),
            label_gram=self._label_gram,
        )
        if not found.converged:
            warnings.warn(
                f"Newton's method ended after {found.n_iter} steps at the objective "
                f"{found.objective:.6g}, short of its tolerance. Scale the kernel, or take a "
                "larger alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.dual_coef_ = factor.embed @ found.theta
        self.theta_norm_ = float(np.sqrt(found.squared_norm))
        self.objective_, self.n_iter_ = found.objective, found.n_iter
        return self

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._block(self._rows(X, False)) @ self.dual_coef_

    def decision_function(self, X: Any) -> Floats:
        """Return the log odds for two labels, f_y(x) for others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of objects
            As in `fit`; with ``kernel="precomputed"``, k(x, x_i) for the examples x_i.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Return p(y | x).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of objects
            As in `decision_function`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        return softmax(self._scores(X), axis=1)

    def predict(self, X: Any) -> Any:
        """Return the most probable labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of objects
            As in `decision_function`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels.
        """
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]
