"""AEOneClassSVM against OneClassSVM."""

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from octavo.data import make_redundant_classes
from octavo.svm import AEOneClassSVM


def data(n):
    return make_redundant_classes(n, kind="rings", random_state=0).X


def test_small_eps_is_the_exact_machine():
    X = data(150)
    model = AEOneClassSVM(0.2, gamma=60.0, eps=1e-12, tol=1e-9).fit(X)
    exact = OneClassSVM(nu=0.2, gamma=60.0, tol=1e-9).fit(X)
    assert model.reduction_ == 1.0
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-5)
    assert model.offset_ == pytest.approx(exact.offset_.item(), abs=1e-5)


def test_nu_is_the_share_outside_and_scores_agree():
    X = data(3000)
    model = AEOneClassSVM(0.1, gamma=16.0, eps=1e-4).fit(X)
    exact = OneClassSVM(nu=0.1, gamma=16.0).fit(X)
    assert model.reduction_ < 0.9
    assert model.representative_weights_.sum() == pytest.approx(3000)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.97
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.1, abs=0.03)
    np.testing.assert_allclose(
        model.decision_function(X), model.score_samples(X) - model.offset_, rtol=1e-9
    )
    assert set(model.support_) <= set(model.representative_indices_)


def test_bad_parameters_are_refused():
    for params, words in (({"nu": 0.0}, "'nu'"), ({"eps": 0.0}, "'eps'"), ({"nu": 1.5}, "'nu'")):
        with pytest.raises(ValueError, match=words):
            AEOneClassSVM(**params).fit(data(20))
