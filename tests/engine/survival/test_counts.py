"""Curves, concordance, Cox's likelihood and the log-rank test: closed forms, brute force, peers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from octavo.engine.survival.concordance import concordance, concordance_ipcw, interval_pairs
from octavo.engine.survival.cox import breslow_hazard, efron_terms, efron_ties, newton_cox
from octavo.engine.survival.curves import greenwood, kaplan_meier, nelson_aalen
from octavo.engine.survival.targets import as_intervals, event_and_time, survival_record

SURVIVAL = [("event", bool), ("time", float)]


def sample(n=80, d=3, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    time = rng.exponential(np.exp(-X @ np.array([0.8, -0.5, 0.0])[:d]))
    censored = rng.exponential(1.5, n)
    y = np.empty(n, SURVIVAL)
    y["event"] = time <= censored
    y["time"] = np.minimum(time, censored)
    if ties:
        y["time"] = np.ceil(8 * y["time"])
    return X, y


def efron_by_definition(X, y, beta):
    """The negative log-likelihood as Efron's paper writes it, term by term."""
    total = 0.0
    for t in np.unique(y["time"][y["event"]]):
        dead = y["event"] & (y["time"] == t)
        risk = np.exp(X[y["time"] >= t] @ beta).sum()
        tied = np.exp(X[dead] @ beta).sum()
        total -= (X[dead] @ beta).sum()
        total += sum(np.log(risk - k / dead.sum() * tied) for k in range(dead.sum()))
    return total


def test_efron_terms_equal_the_definition_and_finite_differences():
    X, y = sample()
    order, ties = efron_ties(y["event"], y["time"])
    deaths = np.flatnonzero(y["event"][order])
    beta = np.array([0.3, -0.2, 0.5])
    value, gradient, H = efron_terms(X[order], deaths, ties, beta)
    assert value == pytest.approx(efron_by_definition(X, y, beta), rel=1e-12)
    slope = approx_fprime(beta, lambda b: efron_by_definition(X, y, b), 1e-7)
    np.testing.assert_allclose(gradient, slope, atol=1e-4)
    bend = approx_fprime(beta, lambda b: efron_terms(X[order], deaths, ties, b)[1], 1e-6)
    np.testing.assert_allclose(H, bend, atol=1e-3)


def test_curves_equal_lifelines_and_the_empirical_distribution():
    lifelines = pytest.importorskip("lifelines")
    _, y = sample(seed=3)
    at = np.array([0.0, 0.5, 1.0, 3.3, 8.0, 20.0])
    theirs = lifelines.KaplanMeierFitter().fit(y["time"], y["event"])
    np.testing.assert_allclose(
        kaplan_meier(y["event"], y["time"])(at), theirs.predict(at), atol=1e-12
    )
    # lifelines splits ties in this estimate; without ties both are the definition.
    _, y = sample(seed=3, ties=False)
    hazard = lifelines.NelsonAalenFitter().fit(y["time"], y["event"])
    np.testing.assert_allclose(
        nelson_aalen(y["event"], y["time"])(at), hazard.predict(at), atol=1e-12
    )
    time = y["time"]
    whole = kaplan_meier(np.ones(len(time), bool), time)
    np.testing.assert_allclose(whole(at), [(time > t).mean() for t in at], atol=1e-12)
    assert whole(time.min(), left=True) == 1


def concordance_by_pairs(y, risk):
    good = total = 0.0
    for a in y[y["event"]].tolist() and np.flatnonzero(y["event"]):
        for b in range(len(y)):
            if y["time"][b] > y["time"][a] or (y["time"][b] == y["time"][a] and not y["event"][b]):
                total += 1
                good += 1.0 if risk[b] < risk[a] else 0.5 if risk[b] == risk[a] else 0.0
    return good / total


@given(st.integers(0, 200))
@settings(max_examples=30, deadline=None)
def test_concordance_equals_all_pairs(seed):
    rng = np.random.default_rng(seed)
    _, y = sample(n=25, seed=seed)
    risk = rng.integers(0, 6, 25).astype(float)
    assert concordance(y["event"], y["time"], risk) == pytest.approx(
        concordance_by_pairs(y, risk), abs=1e-12
    )
    assert concordance(y["event"], y["time"], -risk) == pytest.approx(
        1 - concordance(y["event"], y["time"], risk), abs=1e-12
    )


def test_concordance_limits():
    _, y = sample(n=60, seed=4, ties=False)
    assert concordance(y["event"], y["time"], -y["time"]) == 1
    assert concordance(y["event"], y["time"], np.zeros(60)) == 0.5
    assert concordance(np.zeros(60, bool), y["time"], y["time"]) == 0.5


def test_uno_equals_harrell_without_censoring_and_weighs_late_pairs_with_it():
    _, y = sample(n=60, seed=5, ties=False)
    y["event"] = True
    risk = np.random.default_rng(1).normal(size=60)
    assert concordance_ipcw(y, y, risk) == pytest.approx(concordance(y["event"], y["time"], risk))
    lifelines_weights = sample(n=60, seed=6, ties=False)[1]
    weight = (
        1
        / kaplan_meier(~lifelines_weights["event"], lifelines_weights["time"])(
            lifelines_weights["time"], left=True
        )
        ** 2
    )
    expected = concordance(lifelines_weights["event"], lifelines_weights["time"], risk, weight)
    assert concordance_ipcw(lifelines_weights, lifelines_weights, risk) == pytest.approx(expected)


@given(st.integers(0, 500))
@settings(max_examples=40, deadline=None)
def test_interval_pairs_equal_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = 20
    lower = rng.integers(0, 8, n).astype(float)
    upper = np.where(rng.random(n) < 0.3, np.inf, lower + rng.integers(0, 3, n))
    u, weight = rng.integers(0, 5, n).astype(float), rng.uniform(size=n)
    good = tied = total = 0.0
    for i in range(n):
        for j in range(n):
            if upper[j] < lower[i]:
                total += weight[j]
                good += weight[j] * (u[i] > u[j])
                tied += weight[j] * (u[i] == u[j])
    found = interval_pairs(lower, upper, u, weight)
    assert found == pytest.approx((good, tied, total), abs=1e-10)


def test_newton_ends_at_the_minimum_and_breslow_is_its_definition():
    X, y = sample(n=120, seed=11)
    fit = newton_cox(X, y["event"], y["time"], alpha=0.3)
    assert fit.converged
    order, ties = efron_ties(y["event"], y["time"])
    deaths = np.flatnonzero(y["event"][order])
    _, gradient, H = efron_terms(X[order], deaths, ties, fit.coef)
    np.testing.assert_allclose(gradient + 0.3 * fit.coef, 0, atol=1e-5)
    np.testing.assert_allclose(fit.covariance @ (H + 0.3 * np.eye(3)), np.eye(3), atol=1e-6)
    risk = X @ fit.coef
    hazard = breslow_hazard(y["event"], y["time"], risk)
    for t in (1.0, 3.0, 9.0):
        expected = sum(
            (y["event"] & (y["time"] == s)).sum() / np.exp(risk[y["time"] >= s]).sum()
            for s in np.unique(y["time"])
            if s <= t
        )
        assert hazard(t) == pytest.approx(expected, rel=1e-12)


def test_greenwood_equals_lifelines():
    lifelines = pytest.importorskip("lifelines")
    _, y = sample(n=100, seed=12)
    theirs = lifelines.KaplanMeierFitter().fit(y["time"], y["event"])
    error, curve = greenwood(y["event"], y["time"]), kaplan_meier(y["event"], y["time"])
    times = np.array([1.0, 2.0, 5.0])
    S = curve(times)
    low = S ** np.exp(1.959963984540054 * error(times))
    found = theirs.confidence_interval_.loc[times].to_numpy()[:, 0]
    np.testing.assert_allclose(low, found, atol=1e-8)


def test_targets_of_every_form_and_their_errors():
    y = survival_record([True, False], [1.0, 2.0])
    ends = as_intervals(y)
    assert ends.lower.tolist() == [1, 2]
    assert ends.upper.tolist() == [1, np.inf]
    np.testing.assert_array_equal(event_and_time(np.column_stack(ends))[0], [True, False])
    numbers = np.array([(1, 2.5), (0, 3.5)], [("status", int), ("days", float)])
    assert as_intervals(numbers).upper.tolist() == [2.5, np.inf]
    with pytest.raises(ValueError, match="row 0 is known to lie"):
        event_and_time([[1.0, 2.0]])
    for bad, words in [
        ([[1.0, np.nan]], "NaN: row 0"),
        ([[2.0, 1.0]], "above its upper end: row 0"),
        ([[-1.0, 1.0]], "negative time: row 0"),
        ([[np.inf, np.inf]], "infinite: row 0"),
        (np.empty((0, 2)), "at least one row"),
        ([1.0, 2.0], "shape"),
        ("ab", "shape|str"),
        (np.array([(1.5, 2.5)], [("a", float), ("b", float)]), "boolean"),
        (np.array([(True, np.nan)], SURVIVAL), "finite; row 0"),
    ]:
        with pytest.raises(ValueError, match=words):
            as_intervals(bad)
    with pytest.raises(ValueError, match="3 and 2"):
        as_intervals(y, 3)
