"""Estimators whose questions a fitted inner model answers: one way for all of them.

A search by cross-validation, a choice among candidates or a selection of rows fits an inner model
and from then on passes questions on to it. What is owed to the caller before that is the same each
time: be fitted, check X by the features of one's own fit, offer a method only where the inner model
has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.sparse_rows import validate_rows


def inner_has(method: str) -> Callable[[Any], bool]:
    """Return a check that the inner model, or before fit each that may become it, has a method."""

    def check(outer: DelegatesToFitted) -> bool:
        fitted = getattr(outer, outer._inner, None)
        models = outer._inner_candidates() if fitted is None else [fitted]
        for model in models:
            getattr(model, method)  # its AttributeError tells why
        return True

    return check


class DelegatesToFitted:
    """Mixin of classifiers that let a fitted inner model predict.

    A subclass says in ``_inner`` which attribute holds the model and in ``_inner_candidates`` what
    may become it; it overrides ``_query`` where X is no table. Methods that the three below do not
    cover are one line: ``return self._ask("transform", X)``.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator, ClassifierMixin
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.utils.validation import validate_data
    >>> class Ridge(DelegatesToFitted, ClassifierMixin, BaseEstimator):
    ...     def _inner_candidates(self):
    ...         return [RidgeClassifier()]
    ...
    ...     def fit(self, X, y):
    ...         X, y = validate_data(self, X, y)
    ...         self.best_estimator_ = RidgeClassifier().fit(X, y)
    ...         return self
    >>> model = Ridge().fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
    >>> model.predict([[5.0]]), hasattr(model, "predict_proba")
    (array(['b'], dtype='<U1'), False)
    """

    _inner: ClassVar[str] = "best_estimator_"

    def _inner_candidates(self) -> Sequence[Any]:
        """Return unfitted models, one of which fit will make the inner one."""
        raise NotImplementedError

    def _query(self, X: Any) -> Any:
        """Return X as the inner model is asked, checked by the features of one's own fit."""
        return validate_rows(
            self, X, narrow=True, accept_sparse="csr", dtype=np.float64, reset=False
        )

    def _ask(self, method: str, X: Any) -> Any:
        """Return what the inner model answers."""
        check_is_fitted(self)
        return getattr(getattr(self, self._inner), method)(self._query(X))

    def predict(self, X):
        """Return the classes that the fitted inner model predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the form of those of `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        return self._ask("predict", X)

    @available_if(inner_has("decision_function"))
    def decision_function(self, X):
        """Return the decision values of the fitted inner model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the form of those of `fit`.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive on the side of ``classes_[1]`` for two classes; one column a class for more.
        """
        return self._ask("decision_function", X)

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X):
        """Return the probabilities that the fitted inner model gives, where it gives any.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the form of those of `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        return self._ask("predict_proba", X)
