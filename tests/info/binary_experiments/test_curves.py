"""Risk curves: brute force over thresholds, ROC duals, weighted areas as expected losses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score, roc_curve

from octavo.info import (
    ProperLoss,
    RiskCurve,
    f_divergence,
    risk_curve,
    risk_to_roc,
    roc_to_risk,
    threshold_risk,
    weighted_risk,
)

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
COSTS = np.array([0.0, 0.05, 0.3, 0.5, 0.77, 1.0])


def scores(seed, n=120, decimals=1):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.integers(0, 2, n))
    return y, (rng.normal(size=n + 2) + y).round(decimals)


def brute(y, score, pi, c):
    thresholds = np.append(np.unique(score), np.inf)
    return min(
        (1 - pi) * c * np.mean(score[y == 0] >= t) + pi * (1 - c) * np.mean(score[y == 1] < t)
        for t in thresholds
    )


@given(st.integers(0, 10_000), st.floats(0.05, 0.95))
@settings(max_examples=25, deadline=None)
def test_the_curve_is_the_least_over_all_thresholds(seed, pi):
    y, score = scores(seed)
    curve = risk_curve(y, score, pi)
    for c in COSTS:
        assert curve(c) == pytest.approx(brute(y, score, pi, c), abs=1e-13)
    share = risk_curve(y, score).pi
    assert share == pytest.approx(y.mean())


def test_weights_of_samples_are_repetitions():
    y, score = scores(3, n=40)
    counts = np.random.default_rng(0).integers(0, 4, y.size)
    counts[:2] = 1
    weighted = risk_curve(y, score, sample_weight=counts)
    repeated = risk_curve(np.repeat(y, counts), np.repeat(score, counts))
    np.testing.assert_allclose(weighted(COSTS), repeated(COSTS), atol=1e-13)


def test_roc_and_risk_are_dual():
    y, score = scores(1, decimals=3)
    curve = risk_curve(y, score, 0.3)
    fpr, tpr, _ = roc_curve(y, score)
    np.testing.assert_allclose(roc_to_risk(fpr, tpr, 0.3)(COSTS), curve(COSTS), atol=1e-13)
    back = roc_to_risk(*risk_to_roc(curve), 0.3)
    np.testing.assert_allclose(back(COSTS), curve(COSTS), atol=1e-13)
    # Eq. (43): no line below the hull of the risk curve cuts it
    alpha = np.array([0.0, 0.1, 0.4, 1.0])
    grid = np.linspace(1e-4, 1, 20_001)
    lines = ((1 - grid) * alpha[:, None] + grid - curve.prior_risk(grid)) / grid
    np.testing.assert_allclose(curve.power(alpha), lines.min(axis=1), atol=2e-4)
    assert np.all(lines.min(axis=1) >= curve.power(alpha) - 1e-12)
    assert np.all(curve.power(fpr) >= tpr - 1e-12)


def test_the_example_of_theorem_22_with_its_formula_corrected():
    alpha = np.array([0.01, 0.1, 0.3, 0.5, 0.9])
    for g in (0.25, 0.5, 1.0):
        found = risk_to_roc(lambda pi, g=g: g * pi * (1 - pi), alpha)[1]
        expected = np.where(alpha <= g, 1 - (np.sqrt(g) - np.sqrt(alpha)) ** 2, 1.0)
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_the_tent_is_the_roc_of_chance():
    alpha = np.array([0.0, 0.2, 1.0])
    np.testing.assert_allclose(risk_to_roc(lambda pi: min(pi, 1 - pi), alpha)[1], alpha, atol=1e-7)


@pytest.mark.parametrize(
    "risk", [lambda pi: pi + 5.0, lambda pi: -0.01 * pi, lambda pi: 1.01 * min(pi, 1 - pi)]
)
def test_what_is_no_risk_has_no_roc(risk):
    with pytest.raises(ValueError, match=r"curve must lie between 0 and min\(pi, 1 - pi\)"):
        risk_to_roc(risk, [0.1])


@pytest.mark.parametrize("name", ["log", "square", "boosting", "zero_one"])
def test_weighted_risk_is_the_expected_loss_of_calibrated_scores(name):
    y, score = scores(2, n=300, decimals=2)
    loss = ProperLoss.from_name(name)
    calibrated = IsotonicRegression().fit(score, y).predict(score)
    curve = risk_curve(y, score)
    assert weighted_risk(curve, loss) == pytest.approx(loss.score(y, calibrated), abs=1e-10)
    grid = np.linspace(0, 1, 400_001)
    if name == "square":
        area = np.trapezoid(curve(grid), grid)
        assert weighted_risk(curve, lambda c: 1.0) == pytest.approx(area, abs=1e-9)


def test_a_forecast_as_it_stands_has_its_own_curve():
    y, score = scores(5, n=200, decimals=4)
    proba = norm.cdf(score - 0.5)
    loss = ProperLoss.from_name("square")
    kinks = np.unique(np.concatenate([[0.0, 1.0], proba]))
    middles = 0.5 * (kinks[1:] + kinks[:-1])  # linear between probabilities: exact
    area = float(threshold_risk(y, proba, middles) @ np.diff(kinks))
    assert area == pytest.approx(loss.score(y, proba), rel=1e-12)
    assert np.all(threshold_risk(y, proba, COSTS) >= risk_curve(y, proba)(COSTS) - 1e-13)


def test_bayes_curves_of_distributions():
    for pi in (0.5, 0.2):
        curve = RiskCurve.from_distributions(P, Q, pi)
        expected = [np.minimum((1 - c) * pi * P, c * (1 - pi) * Q).sum() for c in COSTS]
        np.testing.assert_allclose(curve(COSTS), expected, atol=1e-15)
        priors = np.array([0.1, 0.5, 0.8])
        risks = [np.minimum(x * P, (1 - x) * Q).sum() for x in priors]
        np.testing.assert_allclose(curve.prior_risk(priors), risks, atol=1e-15)
        assert np.all(curve(COSTS) <= curve.majority_risk(COSTS) + 1e-15)


def test_area_under_the_maximal_roc_curve_is_a_variational_divergence_of_products():
    curve = RiskCurve.from_distributions(P, Q)
    product = f_divergence(np.outer(P, Q), np.outer(Q, P), "variational")
    assert curve.auc == pytest.approx(0.5 + product / 4, rel=1e-13)
    x = np.linspace(-9, 10, 4001)
    p, q = norm.pdf(x, 1), norm.pdf(x)
    smooth = RiskCurve.from_distributions(p / p.sum(), q / q.sum())
    assert smooth.auc == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=1e-5)
    y, score = scores(4)
    assert risk_curve(y, score).auc >= roc_auc_score(y, score)


def test_indefinite_weights_give_infinity():
    curve = RiskCurve.from_distributions(P, Q)
    assert weighted_risk(curve, ProperLoss.from_divergence("kl", 0.5)) == np.inf
    perfect = risk_curve([0, 1], [0.0, 1.0])
    assert weighted_risk(perfect, ProperLoss.from_divergence("kl", 0.5)) == 0.0
    area = quad(lambda c: float(curve(c)), 0, 1, points=curve.costs)[0]
    assert weighted_risk(lambda c: curve(c), lambda c: 1.0) == pytest.approx(area, abs=1e-7)


def test_a_million_scores():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1_000_000)
    score = rng.normal(size=y.size) + y
    curve = risk_curve(y, score)
    weighted_risk(curve, ProperLoss.from_name("log"))
    assert curve(0.5) == pytest.approx(norm.cdf(-0.5) / 2, abs=2e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: risk_curve([1, 1], [0.1, 0.2]), "Both classes"),
        (lambda: risk_curve([0, 1, 2], [0.1, 0.2, 0.3]), "two classes"),
        (lambda: risk_curve([0, 1], [0.1]), "one entry a sample"),
        (lambda: risk_curve([0, 1], [0.1, np.nan]), "NaN"),
        (lambda: risk_curve([0, 1], [0.1, 0.2], 1.0), "between 0 and 1"),
        (lambda: roc_to_risk([0.5, 0.2], [0.1, 0.9]), "rise together"),
        (lambda: roc_to_risk([0.5, 1.2], [0.1, 0.9]), "between 0 and 1"),
        (lambda: risk_curve([0, 1], [0.1, 0.2])(1.5), "between 0 and 1"),
        (lambda: threshold_risk([0, 1], [0.1, 1.2], 0.5), "between 0 and 1"),
        (lambda: weighted_risk(3.0, lambda c: 1.0), "risk curve"),
    ],
)
def test_bad_input_is_met_by_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
