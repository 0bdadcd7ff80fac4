"""One-pass logistic regression without a step size to tune: the mean of the iterates of SGD.

Steps of order 1/(R²√n), R the length of the longest row, make the mean of the iterates converge
like 1/√n on any problem and like 1/(μn) where the optimum is locally well conditioned, without
knowing μ.

Reference: F. Bach (2014), "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
Convexity for Logistic Regression", Journal of Machine Learning Research 15: Section 2 (losses and
recursion), Section 3.1 (doubling), Section 4.1 (steps), Section 6 (decaying steps).
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import check_finite_result
from octavo.engine.estimators.sklearn_door import StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.losses import make_loss
from octavo.engine.streams import averaged_descent as descents
from octavo.engine.streams.chunks import is_chunk_stream
from octavo.linear.averaged_sgd.base import AveragedDescentMixin, row_count

__all__ = ["AveragedSGDClassifier"]


def class_probabilities(scores: np.ndarray, loss: str) -> np.ndarray:
    """Return the probabilities that a loss is minimised by, from scores a column a vector.

    The logistic loss has the logistic function (softmax for several classes); the derivative of
    -yu + √(1 + u²) is 0 in the mean at P(y = 1) = (1 + u/√(1 + u²))/2.
    """
    if loss == "log":
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        second = expit(scores[:, 0])
        return np.column_stack([expit(-scores[:, 0]), second])
    root = np.hypot(1.0, scores)  # √(1 + u²)
    with np.errstate(over="ignore"):  # far below 0, 1 + u/√(1 + u²) is 1/(√(1 + u²)(√(1 + u²) - u))
        chances = np.where(scores < 0, 0.5 / (root * (root - scores)), 0.5 * (1.0 + scores / root))
    if scores.shape[1] == 1:
        return np.column_stack([1.0 - chances[:, 0], chances[:, 0]])
    total = chances.sum(axis=1, keepdims=True)
    even = np.full_like(chances, 1.0 / chances.shape[1])
    return np.where(total > 0.0, chances / np.where(total > 0.0, total, 1.0), even)


class AveragedSGDClassifier(
    AveragedDescentMixin, CallbackSupportMixin, ClassifierMixin, SoundEstimator
):
    """Logistic regression in one pass: the mean of SGD's iterates, without a step to tune.

    Row n moves the weights by γ_n = c / (R² √n) times its gradient, where R is the length of the
    longest row; the model is the mean of the weights *before* each row. No penalty, no second
    pass, memory for two vectors.

    Parameters
    ----------
    loss : {"log", "sqrt"}, default="log"
        The logistic loss, softmax for more than two classes; or -yu + √(1 + u²), one class against
        the rest for more than two.
    schedule : {"decay", "constant", "doubling", "distance"}, default="decay"
        c / (R² √n); c / (R² √N), the step of the paper's theorems, N the horizon; constant on
        blocks of rows [2^p, 2^(p+1)) with N = 2^p and a mean of its own, of which the last whole
        one is the model; dist / (R √N).
    c : float, default=2.0
        Length of steps. The theorems are for 1/2 and "constant", an order of magnitude less
        than what is best in practice.
    R : float or None, default=None
        The paper's R: what bounds every row's length, the constant 1 of the intercept included,
        times 1 ("log"), √2 (softmax) or 2 ("sqrt"). None is the longest row so far: when it
        grows, past steps are rescaled to it, and once it has doubled the mean begins anew.
    horizon : int or None, default=None
        N of the schedules "constant" and "distance"; the number of rows when a table is fitted.
    fit_intercept : bool, default=True
        Whether a constant feature of 1 is appended to every row.
    shuffle : bool, default=True
        Whether `fit` visits the rows in random order (within a chunk, if given chunks).
        `partial_fit` takes rows as they come.
    random_state : int, RandomState instance or None, default=None
        The random order.
    normalize : bool or "clip", default=False
        Scale rows to length one, or only those that are longer than R allows; the same is done
        to rows that are predicted.
    dist : float or None, default=None
        For "distance": an upper bound on the norm of the optimum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Mean of the weights, (θ_0 + ... + θ_{N-1}) / N.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Mean of the intercepts.
    last_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights after the last row, θ_N.
    last_intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts after the last row.
    n_seen_ : int
        Rows learnt from.
    R_ : float
        The R that was used.
    step_ : float
        Length of the last step.
    bounds_valid_ : bool
        Whether one R served all rows, as `asgd_bounds` assumes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    asgd_bounds : What the theorems promise.
    local_conditioning : How far this model is from the optimum, and which rate it is in.
    sklearn.linear_model.SGDClassifier : Averages too, with a step to tune and no certificate.

    Notes
    -----
    Steps shrink with R²: scale the features alike, or normalise rows; one outlying row slows
    everything. Do not use it when the data fit in memory and a few thousand rows are all there is:
    `sklearn.linear_model.LogisticRegression` is then exact. On separable classes there is no
    optimum and the bounds mean nothing.

    References
    ----------
    .. [1] F. Bach (2014). "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
       Convexity for Logistic Regression". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.linear import AveragedSGDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AveragedSGDClassifier(c=100.0, random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    """

    _parameter_constraints: dict[str, Any] = {
        **AveragedDescentMixin._parameter_constraints,
        "loss": [StrOptions({"log", "sqrt"})],
    }

    def __init__(
        self,
        loss: str = "log",
        schedule: str = "decay",
        c: float = 2.0,
        R: float | None = None,
        horizon: int | None = None,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = None,
        *,
        normalize: bool | str = False,
        dist: float | None = None,
    ) -> None:
        self.loss = loss
        self.schedule = schedule
        self.c = c
        self.R = R
        self.horizon = horizon
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.normalize = normalize
        self.dist = dist

    def _factor(self) -> float:
        if self.loss == "log" and len(self.classes_) > 2:
            # Softmax: gradients are at most √2 ‖x‖ long, and so is the constant of (A2).
            return math.sqrt(2.0)
        return make_loss(self.loss).radius

    def _n_vectors(self) -> int:
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def _prepare(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, y = self._table(X, y)
        return X, self._targets(encode_classes(y, classes=self.classes_, owner=self)[1])

    def _targets(self, codes: np.ndarray) -> np.ndarray:
        return 2.0 * codes - 1.0 if len(self.classes_) == 2 else codes.astype(np.int64)

    def _first_rows(
        self, X: Any, y: Any, first: Any, horizon: int | None = None
    ) -> tuple[Any, np.ndarray]:
        X, y = self._table(X, y, reset=True)
        self.classes_, codes = encode_classes(y, classes=first, owner=self)
        self._begin(horizon)
        return X, self._targets(codes)

    def _learn_block(self, rows: Any, local: np.ndarray, targets: np.ndarray) -> None:
        code, n_vectors = make_loss(self.loss).code, self._n_vectors()
        if n_vectors == 1:
            descents.descend(rows, local, targets, code, self._rule, self._descent)
        else:
            softmaxed = self.loss == "log"
            descents.descend_classes(
                rows, local, targets, n_vectors, code, softmaxed, self._rule, self._descent
            )

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Forget everything, then learn from all rows, once each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable
            The rows, float64 or float32 (used as they are, not copied), dense or CSR. With
            ``y`` left out, an iterable of chunks ``(X, y)``, of which one is held at a time.
        y : array-like of shape (n_samples,), optional
            The labels.
        classes : array-like of shape (n_classes,), optional
            All labels that may come; by default those of y, or for an iterable its attribute
            ``classes`` or the labels of its first chunk.

        Returns
        -------
        self : AveragedSGDClassifier
            The fitted classifier.
        """
        if y is None and is_chunk_stream(X):
            self._learn_chunks(X, getattr(X, "classes", None) if classes is None else classes)
            return self
        rows, targets = self._first_rows(X, y, classes, horizon=row_count(X))
        self._learn_table(rows, y, targets)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from more rows, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), optional
            All labels that may ever come; needed at the first call.

        Returns
        -------
        self : AveragedSGDClassifier
            The classifier.
        """
        if not hasattr(self, "_descent"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._learn(*self._first_rows(X, y, classes))
            return self
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{self.classes_!r}."
            )
        self._learn(*self._prepare(X, y))
        return self

    @property
    def coef_(self):
        """Mean of the weights over the rows, of shape (1 or n_classes, n_features)."""
        return self._split(self._weights())[0]

    @property
    def intercept_(self):
        """Mean of the intercepts, of shape (1,) or (n_classes,)."""
        return self._split(self._weights())[1]

    @property
    def last_coef_(self):
        """Weights after the last row."""
        return self._split(self._weights(newest=True))[0]

    @property
    def last_intercept_(self):
        """Intercepts after the last row."""
        return self._split(self._weights(newest=True))[1]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Score of the second class if there are two, else one score per class.
        """
        scores = self._scores(X)
        check_finite_result(scores, "The scores")
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

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
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The class with the largest score.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0.0).astype(np.intp)]
        return self.classes_[np.argmax(scores, axis=1)]
