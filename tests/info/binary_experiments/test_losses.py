"""Proper losses: closed forms, mixtures of cost-weighted losses, converters, scikit-learn's."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, make_scorer
from sklearn.model_selection import cross_val_score

from octavo.info import (
    CsiszarDivergence,
    ProperLoss,
    bregman_information,
    f_divergence,
    is_proper,
    statistical_information,
)
from octavo.info.binary_experiments.generators import GENERATORS

NAMES = ("log", "square", "boosting", "zero_one")
P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
ETA = np.array([1e-6, 0.1, 0.3, 0.5, 0.77, 0.999])


def make(name):
    if name == "cost":
        return ProperLoss.from_name("cost", c=0.3)
    if name == "beta":
        return ProperLoss.from_name("beta", a=0.5, b=2.0)
    return ProperLoss.from_name(name)


@pytest.mark.parametrize("name", [*NAMES, "cost", "beta"])
def test_weights_make_the_losses(name):
    loss = make(name)
    made = ProperLoss.from_weight(loss.weight, loss.atoms)
    for mine, theirs in zip(loss.both_partials(ETA), made.both_partials(ETA), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)
    assert loss.is_fair
    assert made.is_fair


@pytest.mark.parametrize("name", ["log", "square", "boosting"])
def test_partial_losses_are_integrals_of_cost_weighted_ones(name):
    loss = make(name)
    for eta in (0.2, 0.7):  # Theorem 16
        zero = quad(lambda c: c * float(loss.weight(c)), 0, eta)[0]
        one = quad(lambda c: (1 - c) * float(loss.weight(c)), eta, 1)[0]
        assert loss.partial(0, eta) == pytest.approx(zero, abs=1e-8)
        assert loss.partial(1, eta) == pytest.approx(one, abs=1e-8)
        h = 1e-6
        numeric = (loss.partial([0, 1], eta + h) - loss.partial([0, 1], eta - h)) / (2 * h)
        np.testing.assert_allclose(loss.gradient([0, 1], eta), numeric, rtol=1e-7)


def test_scores_equal_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, proba = rng.integers(0, 2, 200), rng.uniform(0.01, 0.99, 200)
    assert make("log").score(y, proba) == pytest.approx(log_loss(y, proba), rel=1e-12)
    assert make("square").score(y, proba) == pytest.approx(brier_score_loss(y, proba) / 2)
    assert make("zero_one").score(y, proba) == pytest.approx(np.mean((proba >= 0.5) != y))
    weights = rng.uniform(size=200)
    assert make("log").score(y, proba, sample_weight=weights) == pytest.approx(
        log_loss(y, proba, sample_weight=weights), rel=1e-12
    )
    both = np.column_stack([1 - proba, proba])
    assert make("log").score(y, both) == make("log").score(y, proba)
    assert make("log").score(np.where(y, "yes", "no"), proba) == make("log").score(y, proba)


def test_a_score_is_a_scorer():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = rng.normal(size=(100, 2)) + y[:, None]
    scorer = make_scorer(
        make("log").score, response_method="predict_proba", greater_is_better=False
    )
    mine = cross_val_score(LogisticRegression(), X, y, scoring=scorer, cv=3)
    theirs = cross_val_score(LogisticRegression(), X, y, scoring="neg_log_loss", cv=3)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999), st.sampled_from(NAMES))
@settings(max_examples=200, deadline=None)
def test_the_truth_has_the_least_risk(eta, other, name):
    loss = make(name)
    assert loss.risk(eta, other) >= loss.bayes_risk(eta) - 1e-12
    assert loss.regret(eta, eta) == 0.0


def test_properness_is_told():
    for name in (*NAMES, "cost", "beta"):
        assert is_proper(make(name).partial) == (True, None)
    for name in GENERATORS:
        assert is_proper(ProperLoss.from_divergence(name, 0.3).partial)[0]
    proper, where = is_proper(lambda y, eta: np.abs(y - eta))
    assert not proper
    assert 0 < where < 1


@pytest.mark.parametrize("name", sorted(GENERATORS))
@pytest.mark.parametrize("pi", [0.5, 0.2])
def test_divergences_are_statistical_informations(name, pi):
    divergence = CsiszarDivergence.from_name(name)
    loss = ProperLoss.from_divergence(divergence, pi)
    expected = f_divergence(P, Q, name)
    assert statistical_information(loss, pi, P, Q) == pytest.approx(expected, rel=1e-10)
    back = loss.to_divergence(pi)
    assert back.value(P, Q) == pytest.approx(expected, rel=1e-10)
    assert back.gamma(0.3) == pytest.approx(divergence.gamma(0.3), rel=1e-10, abs=1e-12)
    mass = pi * P + (1 - pi) * Q  # Theorem 8
    assert bregman_information(loss, pi * P / mass, mass) == pytest.approx(expected, rel=1e-10)
    c = np.array([0.15, 0.6])
    curve = np.array([loss.bayes_risk(c - h) for h in (-1e-4, 0.0, 1e-4)])
    if not divergence.atoms:  # Theorem 18: w = -L''
        curvature = -(curve[0] - 2 * curve[1] + curve[2]) / 1e-8
        np.testing.assert_allclose(loss.weight(c), curvature, rtol=2e-5)


def test_losses_of_table_2_at_even_priors():
    eta = np.array([0.1, 0.4, 0.8])
    square = ProperLoss.from_divergence("triangular", 0.5)
    np.testing.assert_allclose(square.partial(1, eta), 8 * (1 - eta) ** 2, rtol=1e-12)
    log = ProperLoss.from_divergence("jensen_shannon", 0.5)
    np.testing.assert_allclose(log.partial(0, eta), -np.log(1 - eta), rtol=1e-12)
    boosting = ProperLoss.from_divergence("hellinger", 0.5)
    np.testing.assert_allclose(boosting.partial(0, eta), 2 * np.sqrt(eta / (1 - eta)), rtol=1e-12)
    variational = ProperLoss.from_divergence("variational", 0.5)
    assert variational.atoms == ((0.5, 8.0),)  # four times 0-1 loss; the table's 32 is wrong


def test_bayes_risks_make_losses():
    made = ProperLoss.from_bayes_risk(lambda x: 2 * np.sqrt(x * (1 - x)))
    for mine, theirs in zip(
        made.both_partials(ETA), make("boosting").both_partials(ETA), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8)
    assert made.weight(0.3) == pytest.approx(make("boosting").weight(0.3), rel=1e-8)
    exact = ProperLoss.from_bayes_risk(lambda x: x * (1 - x) / 2, lambda x: 0.5 - x)
    np.testing.assert_allclose(exact.partial(1, ETA), 0.5 * (1 - ETA) ** 2, atol=1e-14)


def test_losses_are_pickled_by_how_they_were_made():
    made = [make(name) for name in (*NAMES, "cost", "beta")]
    made += [ProperLoss.from_weight(np.ones_like), ProperLoss.from_divergence("kl", 0.3)]
    for loss in made:
        again = pickle.loads(pickle.dumps(loss))
        np.testing.assert_array_equal(again.partial(1, ETA), loss.partial(1, ETA))


def test_impossible_events_cost_infinity_and_never_nan():
    log = make("log")
    assert log.score([1], [0.0]) == np.inf
    assert log.score([0], [0.0]) == 0.0
    assert log.risk(0.5, 1.0) == np.inf
    assert log.bayes_risk([0.0, 1.0]).tolist() == [0.0, 0.0]
    for name in GENERATORS:
        loss = ProperLoss.from_divergence(name, 0.4)
        for ends in loss.both_partials([0.0, 1.0]):
            assert not np.isnan(ends).any()
        assert not np.isnan(loss.risk([0.0, 0.3, 1.0], [1.0, 1.0, 0.0])).any()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ProperLoss.from_weight(lambda c: c - 0.5), "not negative"),
        (lambda: ProperLoss.from_bayes_risk(lambda x: x**2), "concave"),
        (lambda: ProperLoss.from_name("cost"), "c "),
        (lambda: ProperLoss.from_name("beta", a=-1.0, b=0.0), "above -1"),
        (lambda: ProperLoss.from_name("logg"), "log"),
        (lambda: ProperLoss.from_divergence("kl", 1.0), "between 0 and 1"),
        (lambda: make("log").score([0, 1, 2], [0.1, 0.2, 0.3]), "two classes"),
        (lambda: make("log").score([0, 1], [0.1, 1.2]), "between 0 and 1"),
        (lambda: make("log").score([0, 1], [0.1]), "one entry a sample"),
        (lambda: make("log").partial([0.5], [0.1]), "0 \\(or -1\\)"),
        (lambda: statistical_information("log", 0.0, P, Q), "between 0 and 1"),
        (lambda: bregman_information("log", [0.2], [0.5]), "sum to one"),
    ],
)
def test_bad_input_is_met_by_a_sentence(call, words):
    with pytest.raises((ValueError, LookupError), match=words):
        call()
