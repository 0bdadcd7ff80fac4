"""`APBlender`: a weighted sum of models' scores with the highest average precision out of fold.

Reference: R. Oentaryo et al. (2014), Detecting click fraud in online advertising: a data mining
approach, Section 5.2.2.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.linear.event_features.precision import average_precision

__all__ = ["APBlender"]

STEPS = (0.5, 0.25, 0.1, 0.05, 0.02)


def blend_weights(scores: Floats, hits: NDArray[Any]) -> tuple[Floats, float]:
    """Return weights, not negative and of sum one, with a high average precision.

    Starts: each model alone, all alike, and nonnegative least squares of the labels. From the best
    one, weight is moved to one model after the other in shrinking steps while it helps.
    """
    d = scores.shape[1]
    squares, _ = nnls(scores, hits.astype(float))
    starts = [*np.eye(d), np.full(d, 1 / d)]
    if squares.sum() > 0:
        starts.append(squares / squares.sum())
    value, weights = -1.0, starts[0]
    for start in starts:
        if (own := average_precision(hits, scores @ start)) > value:
            value, weights = own, start
    for step in STEPS:
        improved = True
        while improved:
            improved = False
            for k in range(d):
                for sign in (1.0, -1.0):
                    tried = weights.copy()
                    tried[k] = max(tried[k] + sign * step, 0.0)
                    if tried.sum() <= 0:
                        continue
                    tried /= tried.sum()
                    if (own := average_precision(hits, scores @ tried)) > value + 1e-12:
                        value, weights, improved = own, tried, True
    return weights, value


def _decision(model: Any, X: Floats) -> Floats:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, 1]
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X)).ravel()
    return np.asarray(model.predict(X), dtype=float)


class APBlender(ClassifierMixin, SoundEstimator):
    """Blend classifiers linearly, with weights chosen for average precision.

    Scores of each model out of fold are scaled to [0, 1]; weights, not negative and of sum one, are
    searched for the highest average precision of the weighted sum over all folds.

    Parameters
    ----------
    estimators : list of (str, estimator), optional
        Classifiers of two classes; extremely randomised trees, a random forest and logistic
        regression by default.
    cv : int, default=5
        Folds (the paper: 10).
    random_state : int, RandomState instance or None, default=None
        Seeds folds, and those models of the default that draw.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Classes; the second is what should come first.
    estimators_ : list
        Models fitted on all rows.
    weights_ : ndarray of shape (n_estimators,)
        Weights.
    low_, high_ : ndarray of shape (n_estimators,)
        Range of each model's scores out of fold.
    average_precision_ : float
        Of the blend out of fold; at least that of each model and of their mean, for these are
        tried, and therefore too high for a report.
    average_precisions_ : ndarray of shape (n_estimators,)
        Of each model out of fold.
    threshold_ : float
        The blend from which on the second class is predicted: as many rows out of fold lie there
        as the class has.

    See Also
    --------
    sklearn.ensemble.StackingClassifier : Fits the weights to the likelihood of labels instead.

    Notes
    -----
    Not for more than two classes, nor where calibrated probabilities are wanted.

    References
    ----------
    R. Oentaryo, E.-P. Lim, M. Finegold et al. (2014). Detecting click fraud in online advertising:
    a data mining approach. Journal of Machine Learning Research 15, Section 5.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from octavo.linear import APBlender
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = (X[:, 0] + rng.normal(size=300) > 1.5).astype(int)
    >>> models = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
    >>> blend = APBlender(models, random_state=0).fit(X, y)
    >>> bool(blend.average_precision_ >= blend.average_precisions_.max())
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimators": [None, list, tuple],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, estimators: Any = None, *, cv: int = 5, random_state: Any = None) -> None:
        self.estimators = estimators
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> APBlender:
        """Fit the models in folds and on all rows, and choose weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Two classes.

        Returns
        -------
        self : APBlender
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"got {len(self.classes_)} classes."
            )
        rarest = int(np.bincount(codes).min())
        if rarest < 2:
            raise ValueError("APBlender needs at least two rows of each class; one has 1 sample.")
        rng = check_random_state(self.random_state)
        models = self._models(rng)
        folds = StratifiedKFold(
            min(self.cv, rarest), shuffle=True, random_state=rng.randint(2**31 - 1)
        )
        out = np.empty((len(X), len(models)))
        for train, test in folds.split(X, codes):
            for k, model in enumerate(models):
                out[test, k] = _decision(clone(model).fit(X[train], codes[train]), X[test])
        # Section 5.2.2: every model on one scale
        self.low_, self.high_ = out.min(axis=0), out.max(axis=0)
        scaled = self._scaled(out)
        self.average_precisions_ = np.array([average_precision(codes, s) for s in scaled.T])
        self.weights_, self.average_precision_ = blend_weights(scaled, codes)
        blend = scaled @ self.weights_
        # As many rows are called frauds as the training rows have.
        self.threshold_ = float(np.sort(blend)[::-1][int(codes.sum()) - 1])
        self.estimators_ = [clone(model).fit(X, codes) for model in models]
        return self

    def _models(self, rng: np.random.RandomState) -> list[Any]:
        if self.estimators is None:
            seeds = rng.randint(2**31 - 1, size=2)
            return [
                ExtraTreesClassifier(50, random_state=seeds[0]),
                RandomForestClassifier(50, random_state=seeds[1]),
                make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            ]
        if not len(self.estimators):
            raise ValueError("estimators must hold at least one (name, classifier); got none.")
        for pair in self.estimators:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not hasattr(pair[1], "fit"):
                raise ValueError(f"estimators must be a list of (name, classifier); got {pair!r}.")
        return [model for _, model in self.estimators]

    def _scaled(self, scores: Floats) -> Floats:
        span = self.high_ - self.low_
        return np.clip((scores - self.low_) / np.where(span > 0, span, 1.0), 0.0, 1.0)

    def decision_function(self, X: Any) -> Floats:
        """Return how far the blend lies above the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            The higher, the earlier.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = np.stack([_decision(model, X) for model in self.estimators_], axis=1)
        return self._scaled(scores) @ self.weights_ - self.threshold_

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the second class from the threshold on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        decision = self.decision_function(X)
        return self.classes_[(decision >= 0).astype(np.intp)]
