"""Kernel logistic regression in one pass, as a mean of iterates that are sums over the rows.

Reference: F. Bach (2014), "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
Convexity for Logistic Regression", Journal of Machine Learning Research 15: Section 2.2.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import check_finite_result, check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import KERNELS, check_gram, resolve_kernel, row_chunks
from octavo.engine.smooth.losses import make_loss
from octavo.engine.streams import averaged_descent as descents
from octavo.engine.streams.dual_descent import dual_descent
from octavo.linear.averaged_sgd.base import STEP_CONSTRAINTS, step_rule
from octavo.linear.averaged_sgd.classifier import class_probabilities

__all__ = ["KernelAveragedSGD"]


class KernelAveragedSGD(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Kernel logistic regression in one pass: the mean of SGD's iterates in a kernel's space.

    Each row adds one term to the function; its weight never changes afterwards, and in the mean
    of the iterates row i of N counts (N - i)/N of it. There is nothing to tune but the kernel.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"} or \
            callable, default="rbf"
        The kernel.
    gamma : {"scale", "auto"} or float or None, default=None
        γ of "rbf", "laplacian", "poly" and "sigmoid"; None and "auto" are 1 / n_features,
        "scale" is 1 / (n_features · variance of X).
    degree : float, default=3
        Exponent of "poly".
    coef0 : float, default=0.0
        Offset of "poly" and "sigmoid".
    loss : {"log", "sqrt"}, default="log"
        As in `AveragedSGDClassifier`.
    schedule : {"decay", "constant", "doubling", "distance"}, default="decay"
        Steps, as in `AveragedSGDClassifier`.
    c : float, default=2.0
        Length of steps.
    R : float or None, default=None
        What bounds √k(x, x), the 1 of the intercept included, times 1 ("log"), √2 (softmax) or 2
        ("sqrt"); None is found on the way.
    horizon : int or None, default=None
        N of the schedules "constant" and "distance"; the number of rows by default.
    fit_intercept : bool, default=True
        Whether 1 is added to the kernel, which is an intercept.
    shuffle : bool, default=True
        Whether rows are visited in random order.
    random_state : int, RandomState instance or None, default=None
        The random order.
    budget : int or None, default=None
        Rows to keep: after each block of up to 512 rows, those whose terms are longest stay
        and the others are forgotten. None keeps all.
    dist : float or None, default=None
        For "distance": an upper bound on the norm of the optimum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    support_ : ndarray of shape (n_support,)
        Rows of the training data that the function is a sum over, in rising order.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Their weights in the mean of the iterates.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_support, n_features)
        Those rows; empty for a precomputed kernel.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        What the constant 1 of the kernel adds.
    n_seen_ : int
        Rows learnt from.
    n_dropped_ : int
        Rows that the budget forgot.
    R_ : float
        The R that was used.
    step_ : float
        Length of the last step.
    bounds_valid_ : bool
        Whether one R served all rows and none was forgotten, as `asgd_bounds` assumes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    AveragedSGDClassifier : The same without a kernel, in constant memory.
    sklearn.svm.SVC : The usual kernel classifier, with a penalty and many passes.

    Notes
    -----
    The cost is n²/2 kernel values without a budget. In an infinite-dimensional space the Hessian
    has no lowest eigenvalue above 0, so that the rate is 1/√n. Do not use it on rows that `SVC`
    can take in good time and where its penalty can be tuned.

    References
    ----------
    .. [1] F. Bach (2014). "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
       Convexity for Logistic Regression". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from octavo.linear import KernelAveragedSGD
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> model = KernelAveragedSGD(gamma=4.0, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.support_.size
    (0.99, 499)
    """

    _parameter_constraints: dict[str, Any] = {
        **STEP_CONSTRAINTS,
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0.0, None, closed="neither"),
            None,
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "loss": [StrOptions({"log", "sqrt"})],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 0.0,
        loss: str = "log",
        schedule: str = "decay",
        c: float = 2.0,
        R: float | None = None,
        horizon: int | None = None,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = None,
        *,
        budget: int | None = None,
        dist: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.schedule = schedule
        self.c = c
        self.R = R
        self.horizon = horizon
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.budget = budget
        self.dist = dist

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _table(self, X: Any, *y: Any, reset: bool) -> Any:
        checked = validate_rows(
            self, X, *y, accept_sparse="csr", dtype=np.float64, reset=reset, narrow=True
        )
        check_squares(checked[0] if y else checked)
        return checked

    def _diagonal(self, X: Any) -> np.ndarray:
        diagonal = np.asarray(self._kernel.diagonal(X), dtype=np.float64)
        if diagonal.size and diagonal.min() < 0.0:
            raise ValueError(
                f"The kernel is not positive: k(x, x) = {diagonal.min():.3g} for a row."
            )
        # ‖φ(x)‖, with the intercept's 1 in the kernel
        return np.sqrt(diagonal + float(self.fit_intercept))

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, once each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or k(X, X) for a precomputed kernel.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        self : KernelAveragedSGD
            The fitted classifier.
        """
        X, y = self._table(X, y, reset=True)
        self.classes_, codes = encode_classes(y, owner=self)
        n, n_classes = X.shape[0], len(self.classes_)
        if self.kernel == "precomputed":
            check_gram(X, definite=False)
        self._kernel = resolve_kernel(
            self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        loss, n_vectors = make_loss(self.loss), n_classes if n_classes > 2 else 1
        softmaxed = self.loss == "log" and n_classes > 2
        factor = math.sqrt(2.0) if softmaxed else loss.radius
        rule = step_rule(self.schedule, self.c, self.horizon or n, self.dist, factor)
        order = np.arange(n)
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(n)
        targets = codes[order] if n_vectors > 1 else 2.0 * codes[order] - 1.0
        add = float(self.fit_intercept)

        def gram(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            rows, columns = order[rows], order[columns]
            if self._kernel.name == "precomputed":
                return np.asarray(X[np.ix_(rows, columns)]) + add
            return np.asarray(self._kernel.block(X[rows], X[columns])) + add

        with FitProgress(self, None, X, y, step_name="block") as progress:
            found = dual_descent(
                gram, self._diagonal(X)[order], targets, n_vectors, loss.code, softmaxed, rule,
                0.0 if self.R is None else float(self.R), budget=self.budget, watch=progress.step,
            )  # fmt: skip
        self._store(X, order, found, rule)
        return self

    def _store(self, X: Any, order: np.ndarray, found: Any, rule: Any) -> None:
        clock = found.clock
        if clock[descents.BROKEN] or not np.isfinite(found.averaged).all():
            raise ValueError(
                "The scores that were met while learning are not finite: the kernel's values are "
                "too large or too small for doubles. Scale X, or choose another c or R."
            )
        used = np.flatnonzero(np.any(found.averaged != 0.0, axis=1))
        rows = order[found.positions[used]]
        sort = np.argsort(rows)
        self.support_ = rows[sort]
        self.dual_coef_ = np.ascontiguousarray(found.averaged[used[sort]].T)
        is_gram = self._kernel.name == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if is_gram else X[self.support_]
        # The constant 1 of the kernel adds Σ α
        self.intercept_ = float(self.fit_intercept) * self.dual_coef_.sum(axis=1)
        self.n_seen_, self.n_dropped_ = int(clock[descents.SEEN]), found.n_dropped
        self.R_ = float(clock[descents.RADIUS])
        self.step_ = float(clock[descents.NUMERATOR] / (clock[descents.SCALE] or 1.0))
        longer = clock[descents.LONGER] > (1.0 if self.R is None else 0.0)
        # a dropped term is no longer the recursion (A7)
        self.bounds_valid_ = not longer and found.n_dropped == 0
        if longer and self.R is not None:
            warnings.warn(
                f"A row has √k(x, x) beyond R={self.R!r}: R must be {self.R_:.6g} or more for "
                f"these rows (the intercept's 1 and the loss's factor {rule.factor:g} included). "
                "Steps follow the longest row from there on, and the bounds for the R given do "
                "not hold (bounds_valid_ is False).",
                UserWarning,
                stacklevel=4,
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or k(X, X_train) for a precomputed kernel.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Score of the second class if there are two, else one score per class.
        """
        check_is_fitted(self, "dual_coef_")
        X = self._table(X, reset=False)
        scores = np.tile(self.intercept_, (X.shape[0], 1))
        for rows in row_chunks(X.shape[0], max(1, self.support_.size)):
            if self.support_.size:
                block = self._kernel.against(X[rows], self.support_vectors_, self.support_)
                scores[rows] += np.asarray(block @ self.dual_coef_.T)
        check_finite_result(scores, "The scores")
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or k(X, X_train) for a precomputed kernel.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        return class_probabilities(scores.reshape(len(scores), -1), self.loss)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels predicted for rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or k(X, X_train) for a precomputed kernel.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The class with the largest score.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0.0).astype(np.intp)]
        return self.classes_[np.argmax(scores, axis=1)]
