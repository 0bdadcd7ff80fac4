"""Decisions against all rules by enumeration; beliefs against arithmetic."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from octavo.bayes import BayesRiskClassifier, SequentialBayes

X, Y = load_iris(return_X_y=True)


def test_zero_one_loss_is_the_most_probable_class():
    model = BayesRiskClassifier(GaussianNB(), 1.0 - np.eye(3)).fit(X, Y)
    plain = GaussianNB().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X))


def test_actions_that_cost_the_same_leave_the_choice_to_the_posterior():
    plain = GaussianNB().fit(X, Y)
    for loss in (np.zeros((3, 3)), np.ones((4, 3))):
        model = BayesRiskClassifier(GaussianNB(), loss).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_no_action_costs_less(seed):
    rng = np.random.default_rng(seed)
    loss = rng.normal(size=(4, 3))  # the last row rejects
    model = BayesRiskClassifier(GaussianNB(), loss).fit(X[::3], Y[::3])
    posterior, chosen = model.predict_proba(X[:20]), model.predict(X[:20])
    for p, label in zip(posterior, chosen, strict=True):
        row = 3 if label == -1 else label
        costs = [sum(loss[i, j] * p[j] for j in range(3)) for i in range(4)]
        assert costs[row] <= min(costs) + 1e-12


def test_expected_loss_is_least_of_all_rules():
    posterior = np.array([[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]])
    loss = np.array([[0.0, 5.0], [1.0, 0.0]])

    class Table(LogisticRegression):
        def predict_proba(self, X):
            return posterior[X[:, 0].astype(int)]

    points = np.arange(3.0)[:, None]
    model = BayesRiskClassifier(Table(), loss).fit(points, [0, 1, 1])
    found = sum(posterior[i] @ loss[a] for i, a in enumerate(model.predict(points)))
    every = [
        sum(posterior[i] @ loss[a] for i, a in enumerate(rule))
        for rule in product((0, 1), repeat=3)
    ]
    assert found == pytest.approx(min(every))
    np.testing.assert_allclose(model.conditional_risk(points), posterior @ loss.T)


def test_rejection_by_cost():
    model = BayesRiskClassifier(GaussianNB(), None, 0.1).fit(X, Y)
    sure = model.predict_proba(X).max(axis=1) > 0.9
    np.testing.assert_array_equal(model.predict(X) != -1, sure)
    assert model.mean_loss(X, Y) <= 0.1
    named = BayesRiskClassifier(GaussianNB(), reject_cost=0.1).fit(X, np.array(list("abc"))[Y])
    assert set(named.predict(X)) == {"a", "b", "c", "reject"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": np.ones((2, 2))}, "one column for each of the 3 classes"),
        ({"loss": np.ones((5, 3))}, "got shape"),
        ({"loss": np.ones((4, 3)), "reject_cost": 1.0}, "row to reject already"),
        ({"loss": [[np.nan] * 3] * 3}, "NaN"),
        ({"reject_cost": 1.0, "reject_label": 2}, "is a class as well"),
    ],
)
def test_bad_losses(options, words):
    with pytest.raises(ValueError, match=words):
        BayesRiskClassifier(GaussianNB(), **options).fit(X, Y)


def test_coin_of_the_notes():
    belief = SequentialBayes([lambda x: np.log(0.5), lambda x: np.log(0.6)], [0.75, 0.25])
    np.testing.assert_allclose(belief.posterior_, [0.75, 0.25])
    assert belief.update(0).posterior_[0] == pytest.approx(0.375 / 0.525)  # 0.7143
    assert belief.update(0).posterior_[0] == pytest.approx(0.1875 / 0.2775)  # 0.6757
    assert belief.log_evidence_ == pytest.approx(np.log(0.2775))
    assert (belief.n_updates_, belief.posteriors_.shape) == (2, (3, 2))
    np.testing.assert_allclose(belief.reset().posterior_, [0.75, 0.25])


def test_base_rate_is_0_2481_and_not_0_266():
    kit = SequentialBayes([lambda x: np.log(0.98), lambda x: np.log(0.03)], [0.01, 0.99])
    assert round(float(kit.update("+").posterior_[0]), 4) == 0.2481


def test_order_does_not_matter_and_nothing_underflows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000)
    laws = [lambda v, m=m: -0.5 * (v - m) ** 2 * 100 for m in (-1.0, 0.0, 1.0)]
    forth = SequentialBayes(laws).update_all(x)
    back = SequentialBayes(laws).update_all(x[::-1])
    np.testing.assert_allclose(forth.posterior_, back.posterior_, atol=1e-12)
    np.testing.assert_allclose(forth.posterior_, [0.0, 1.0, 0.0], atol=1e-12)


def test_bad_beliefs():
    fair = lambda x: np.log(0.5)  # noqa: E731
    with pytest.raises(ValueError, match="impossible under every"):
        SequentialBayes([lambda x: -np.inf] * 2).update(1)
    with pytest.raises(ValueError, match="one entry for each"):
        SequentialBayes([fair], [0.5, 0.5]).update(1)
    with pytest.raises(ValueError, match="sequence of functions"):
        SequentialBayes(3).update(1)
    with pytest.raises(ValueError, match="below infinity"):
        SequentialBayes([lambda x: np.nan, fair]).update(1)
    with pytest.raises(ValueError, match="negative"):
        SequentialBayes([fair, fair], [1.0, -1.0]).update(1)
