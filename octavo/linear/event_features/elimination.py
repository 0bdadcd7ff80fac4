"""Backward elimination of features by what a model scores on held-out rows.

Reference: R. Oentaryo et al. (2014), Detecting click fraud in online advertising: a data mining
approach, Algorithm 1 (Section 7.2.2) and Section 5.3.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin, f_classif
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["BackwardElimination", "EliminationStep", "IterativeElimination"]


class EliminationStep(NamedTuple):
    """One level of an elimination: what was removed (-1 at first), how many remain, the score."""

    removed: int
    n_features: int
    score: float


def _importance(model: Any, X: Floats, y: NDArray[Any], ranking: Any) -> Floats:
    """Return the importance of each feature, from a fitted model or from classes alone."""
    if not isinstance(ranking, str):
        given = np.asarray(ranking, dtype=np.float64)
        if given.shape != (X.shape[1],) or not np.isfinite(given).all():
            raise ValueError(
                f"ranking must have one finite importance for each of {X.shape[1]} features; got "
                f"shape {given.shape}."
            )
        return given
    if ranking == "auto":
        attributes = {"importance": "feature_importances_", "coef": "coef_"}
        ranking = next((k for k, name in attributes.items() if hasattr(model, name)), "f")
    if ranking == "f":
        with np.errstate(all="ignore"):
            value = f_classif(X, y)[0]
        return np.nan_to_num(value, nan=-1.0, posinf=np.finfo(float).max)
    name = "feature_importances_" if ranking == "importance" else "coef_"
    if not hasattr(model, name):
        raise ValueError(
            f'ranking="{ranking}" needs a model with {name}; {type(model).__name__} has none. '
            'Use ranking="f".'
        )
    value = np.abs(np.asarray(getattr(model, name), dtype=np.float64))
    return value if value.ndim == 1 else value.max(axis=0)


class _Elimination(SelectorMixin, MetaEstimatorMixin, SoundEstimator):
    """What both eliminations share: data, held-out rows, the chosen features, the last fit."""

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [HasMethods(["fit"])],
        "min_features": [Interval(Integral, 1, None, closed="left")],
        "scorer": [str, callable],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def _prepare(self, X: Any, y: Any, X_val: Any, y_val: Any) -> tuple[Any, ...]:
        """Return training rows, held-out rows, and the rows of the last fit."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        if self.min_features > X.shape[1]:
            raise ValueError(
                f"min_features={self.min_features} exceeds the {X.shape[1]} features of X."
            )
        if is_classifier(self.estimator):
            self.classes_, _ = encode_classes(y, owner=self)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given both or neither.")
        if X_val is not None:
            X_held, y_held = validate_data(self, X_val, y_val, dtype=np.float64, reset=False)
            return X, y, X_held, y_held, X, y
        labels = y if is_classifier(self.estimator) else None
        parts = train_test_split(
            X,
            y,
            test_size=self.validation_fraction,
            stratify=labels,
            random_state=self.random_state,
        )
        return parts[0], parts[2], parts[1], parts[3], X, y

    def _scored(self, data: tuple[Any, ...], columns: Any) -> tuple[Any, float]:
        X, y, X_held, y_held = data[:4]
        model = clone(self.estimator).fit(X[:, columns], y)
        scorer = check_scoring(model, scoring=self.scorer)
        return model, float(scorer(model, X_held[:, columns], y_held))

    def _finish(self, data: tuple[Any, ...], path: list[EliminationStep], best: int) -> None:
        support = np.ones(self.n_features_in_, dtype=bool)
        for step in path[1 : best + 1]:
            support[step.removed] = False
        self.path_ = path
        self.support_ = support
        self.n_features_ = int(support.sum())
        self.best_score_ = path[best].score
        self.estimator_ = clone(self.estimator).fit(data[4][:, support], data[5])

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict by the model of the chosen features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.estimator_.predict(X[:, self.support_]))


class BackwardElimination(_Elimination):
    """Remove features from the least important on, and keep the best of all levels (Algorithm 1).

    Features are ranked once, with all of them. The one ranked lowest is removed, the model is
    refitted and scored on held-out rows, down to `min_features`; the level with the highest score
    is kept, the smaller one of two that are equal.

    Parameters
    ----------
    estimator : object
        The model.
    ranking : {"auto", "importance", "coef", "f"} or array-like, default="auto"
        Where importances come from: a forest's, absolute coefficients, the F-value of an analysis
        of variance, or given ones. ``"auto"`` takes what the model has.
    min_features : int, default=1
        Where to stop; the paper takes ``max_features`` for forests.
    scorer : str or callable, default="average_precision"
        What is scored, as in scikit-learn.
    step : int, default=1
        Features that are removed at once.
    validation_fraction : float, default=0.3
        Rows held out where no validation rows are given; the model is refitted on all at the end.
    random_state : int, RandomState instance or None, default=None
        Seeds that split.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Which features are kept.
    path_ : list of EliminationStep
        The level of all features first; NaN scores within a step of several.
    ranking_ : ndarray of shape (n_features,)
        Features from the least important on.
    n_features_ : int
        How many are kept.
    best_score_ : float
        The score of that level on held-out rows: chosen as the best of many, so too high for a
        report.
    estimator_ : object
        The model of the kept features.
    classes_ : ndarray
        Classes, where the model is a classifier.

    See Also
    --------
    IterativeElimination : Tries every removal at every level.

    Notes
    -----
    scikit-learn's `RFECV` ranks anew after each removal and scores by cross-validation. Use that
    where rows are few and exchangeable, and this where a later window is at hand to score on.

    References
    ----------
    R. Oentaryo, E.-P. Lim, M. Finegold et al. (2014). Detecting click fraud in online advertising:
    a data mining approach. Journal of Machine Learning Research 15, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from octavo.linear import BackwardElimination
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = (X[:, 0] + 0.1 * rng.normal(size=300) > 1).astype(int)
    >>> kept = BackwardElimination(LogisticRegression(), random_state=0).fit(X, y)
    >>> bool(kept.support_[0]), len(kept.path_)
    (True, 5)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **_Elimination._parameter_constraints,
        "ranking": [StrOptions({"auto", "importance", "coef", "f"}), "array-like"],
        "step": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any,
        ranking: Any = "auto",
        min_features: int = 1,
        *,
        scorer: Any = "average_precision",
        step: int = 1,
        validation_fraction: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.ranking = ranking
        self.min_features = min_features
        self.scorer = scorer
        self.step = step
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> BackwardElimination:
        """Eliminate features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their targets.
        X_val : array-like of shape (n_validation, n_features), optional
            Rows to score on, such as those of a later window.
        y_val : array-like of shape (n_validation,), optional
            Their targets.

        Returns
        -------
        self : BackwardElimination
            The fitted selector.
        """
        data = self._prepare(X, y, X_val, y_val)
        d = self.n_features_in_
        model, score = self._scored(data, np.arange(d))  # lines 2 to 4
        importance = _importance(model, data[0], data[1], self.ranking)
        self.ranking_ = np.argsort(importance, kind="stable")  # line 5
        path, best, best_score = [EliminationStep(-1, d, score)], 0, score
        for removed in self._levels(d):  # lines 6 to 14
            # Line 7: the lowest ranked features go first.
            for k in range(len(path) - 1, removed):
                path.append(EliminationStep(int(self.ranking_[k]), d - k - 1, np.nan))
            columns = np.sort(self.ranking_[removed:])
            score = self._scored(data, columns)[1]
            path[-1] = path[-1]._replace(score=score)
            if best_score <= score:  # line 10: of equal levels the smaller one
                best, best_score = len(path) - 1, score
        self._finish(data, path, best)
        return self

    def _levels(self, d: int) -> Iterator[int]:
        last = max(d - self.min_features, 0)
        removed = 0
        while removed < last:
            removed = min(removed + self.step, last)
            yield removed


class IterativeElimination(_Elimination):
    """Try every removal at every level, and make the one that costs least (Section 5.3.2).

    With N features there are N (N + 1) / 2 - 1 fits down to a single one; for tens of features.

    Parameters
    ----------
    estimator : object
        The model.
    min_features : int, default=1
        Where to stop.
    tol : float, default=0.0
        The level with the fewest features is kept whose score is not below the best by more.
    scorer : str or callable, default="average_precision"
        What is scored, as in scikit-learn.
    validation_fraction : float, default=0.3
        Rows held out where no validation rows are given; the model is refitted on all at the end.
    random_state : int, RandomState instance or None, default=None
        Seeds that split.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Which features are kept.
    path_ : list of EliminationStep
        The level of all features first.
    n_features_ : int
        How many are kept.
    best_score_ : float
        The score of the kept level on held-out rows.
    n_fits_ : int
        Models that were scored.
    estimator_ : object
        The model of the kept features.
    classes_ : ndarray
        Classes, where the model is a classifier.

    See Also
    --------
    BackwardElimination : Ranks once; a fit a level.

    Notes
    -----
    scikit-learn's `SequentialFeatureSelector` with ``direction="backward"`` stops at a number of
    features instead of looking at all levels.

    References
    ----------
    R. Oentaryo, E.-P. Lim, M. Finegold et al. (2014). Detecting click fraud in online advertising:
    a data mining approach. Journal of Machine Learning Research 15, Section 5.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from octavo.linear import IterativeElimination
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = (X[:, 0] + 0.1 * rng.normal(size=300) > 1).astype(int)
    >>> IterativeElimination(LogisticRegression(), random_state=0).fit(X, y).n_fits_
    15
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **_Elimination._parameter_constraints,
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        min_features: int = 1,
        tol: float = 0.0,
        scorer: Any = "average_precision",
        validation_fraction: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.min_features = min_features
        self.tol = tol
        self.scorer = scorer
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> IterativeElimination:
        """Eliminate features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their targets.
        X_val : array-like of shape (n_validation, n_features), optional
            Rows to score on, such as those of a later window.
        y_val : array-like of shape (n_validation,), optional
            Their targets.

        Returns
        -------
        self : IterativeElimination
            The fitted selector.
        """
        data = self._prepare(X, y, X_val, y_val)
        columns = np.arange(self.n_features_in_)
        path = [EliminationStep(-1, len(columns), self._scored(data, columns)[1])]
        self.n_fits_ = 1
        while len(columns) > self.min_features:
            tried = [self._scored(data, np.delete(columns, k))[1] for k in range(len(columns))]
            self.n_fits_ += len(tried)
            k = int(np.argmax(tried))
            path.append(EliminationStep(int(columns[k]), len(columns) - 1, tried[k]))
            columns = np.delete(columns, k)
        # Among levels within tol of the best, the one with the fewest features.
        top = max(step.score for step in path)
        best = max(k for k, step in enumerate(path) if step.score >= top - self.tol)
        self._finish(data, path, best)
        return self
