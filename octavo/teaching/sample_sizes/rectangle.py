"""`TightRectangle`: the smallest box around the positive examples.

Reference: A. Shashua (2008), "Introduction to Machine Learning", section 7.
"""

from __future__ import annotations

import warnings
from math import log
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["TightRectangle"]


class TightRectangle(ClassifierMixin, SoundEstimator):
    """Learn a box along the axes: the tightest one around the positive examples.

    The first example of PAC learning. Where the truth is such a box, (4/ε) log(4/δ) examples in the
    plane make an error above ε less likely than δ, whatever the distribution of the points.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Classes; the second is inside.
    low_ : ndarray of shape (n_features,)
        Lower ends of the sides.
    high_ : ndarray of shape (n_features,)
        Upper ends.
    n_samples_ : int
        Training rows.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    pac_sample_size : How many examples it takes.

    Notes
    -----
    It trusts every positive label: one that is wrong stretches the box. For anything but a lesson,
    or a rule that is known to be a box, use `sklearn.tree.DecisionTreeClassifier`.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       chapter 7.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.teaching import TightRectangle
    >>> X = np.random.default_rng(0).uniform(size=(176, 2))
    >>> y = ((X > 0.2) & (X < 0.7)).all(axis=1)
    >>> model = TightRectangle().fit(X, y)
    >>> error = 0.25 - np.prod(model.high_ - model.low_)  # of uniform points
    >>> round(float(error), 4), round(model.error_bound(0.05), 4)
    (0.0418, 0.0996)
    """

    _parameter_constraints: dict[str, list[Any]] = {}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the box.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            Two classes.

        Returns
        -------
        self : TightRectangle
            Fitted.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: y "
                f"holds {len(self.classes_)} classes."
            )
        inside = X[codes == 1]
        # the tightest box, section 7.2
        self.low_, self.high_ = inside.min(axis=0), inside.max(axis=0)
        self.n_samples_ = len(X)
        self._strangers = int((self.predict(X) != y).sum())  # of the first class, in the box
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return how far inside the box points are, along the axis where that is least.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        depth : ndarray of shape (n_samples,)
            Positive inside and on the sides, negative outside.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore"):
            depth = np.minimum(X - self.low_, self.high_ - X).min(axis=1)
        depth = np.clip(depth, -np.finfo(np.float64).max, np.finfo(np.float64).max)
        # a point on the side is inside
        return np.where(depth >= 0.0, np.maximum(depth, np.finfo(np.float64).tiny), depth)

    def predict(self, X: Any) -> Any:
        """Return the second class inside the box, the first outside.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        inside = self.decision_function(X) > 0.0
        return self.classes_[inside.astype(np.intp)]

    def error_bound(self, delta: float = 0.05) -> float:
        """Return the error that is exceeded with a chance of delta at most, if the truth is a box.

        Parameters
        ----------
        delta : float, default=0.05
            Chance of failure that is allowed.

        Returns
        -------
        eps : float
            (2d/m) log(2d/δ) of m examples with d features, at most 1: each of the 2d sides misses a
            strip of weight ε/2d with a chance of at most (1 - ε/2d)^m. It warns where rows of the
            first class lie in the box, which rules out that the truth is one.
        """
        check_is_fitted(self)
        if isinstance(delta, bool) or not 0.0 < float(delta) < 1.0:
            raise ValueError(f"delta must be a number between 0 and 1; got {delta!r}.")
        if self._strangers:
            warnings.warn(
                f"The truth is no box, which this bound takes for granted: {self._strangers} of "
                f"{self.n_samples_} rows are of class {self.classes_[0]!r} and lie in the box.",
                UserWarning,
                stacklevel=2,
            )
        sides = 2 * self.n_features_in_
        # section 7.2 with 2d sides in place of four
        return min(1.0, sides / self.n_samples_ * log(sides / float(delta)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # classes of the checks are no boxes
        return tags
