"""Questions reach the inner model after the checks that the outer one owes."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.utils.validation import validate_data

from octavo.engine.estimators.delegation import DelegatesToFitted

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.1 * X[:, 1] > 0, "yes", "no")


class Choice(DelegatesToFitted, ClassifierMixin, BaseEstimator):
    """Fit the last of several models."""

    _inner = "model_"

    def __init__(self, models=()):
        self.models = models

    def _inner_candidates(self):
        return self.models

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.model_ = clone(self.models[-1]).fit(X, y)
        self.classes_ = self.model_.classes_
        return self


def test_answers_are_those_of_the_inner_model():
    outer = Choice([RidgeClassifier(), LogisticRegression()]).fit(X, Y)
    peer = LogisticRegression().fit(X, Y)
    for method in ("predict", "decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(outer, method)(X), getattr(peer, method)(X))
    np.testing.assert_array_equal(outer.predict(csr_array(X)), peer.predict(X))
    assert outer.score(X, Y) == peer.score(X, Y)


def test_a_method_is_offered_before_fit_where_every_candidate_has_it():
    outer = Choice([RidgeClassifier(), LogisticRegression()])
    assert hasattr(outer, "decision_function")
    assert not hasattr(outer, "predict_proba")
    assert hasattr(Choice([LogisticRegression()]), "predict_proba")


def test_after_fit_only_the_model_that_was_chosen_counts():
    assert hasattr(Choice([RidgeClassifier(), LogisticRegression()]).fit(X, Y), "predict_proba")
    ridge = Choice([LogisticRegression(), RidgeClassifier()]).fit(X, Y)
    with pytest.raises(AttributeError, match="predict_proba"):
        ridge.predict_proba(X)


def test_the_outer_model_checks_in_its_own_name():
    with pytest.raises(NotFittedError, match="Choice"):
        Choice([RidgeClassifier()]).predict(X)
    with pytest.raises(ValueError, match="Choice is expecting 3 features"):
        Choice([RidgeClassifier()]).fit(X, Y).predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        Choice([RidgeClassifier()]).fit(X, Y).predict(np.full((1, 3), np.nan))
