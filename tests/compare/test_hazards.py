"""Survival baselines against closed forms, brute force and lifelines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from octavo.compare.hazards import (
    KaplanMeierBaseline,
    PoissonHazard,
    RidgeCox,
    _cox_terms,
    _ties,
    concordance,
    concordance_ipcw,
    kaplan_meier,
    nelson_aalen,
)
from octavo.compare.tasks import SURVIVAL


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
    order, ties = _ties(y["event"], y["time"])
    deaths = np.flatnonzero(y["event"][order])
    beta = np.array([0.3, -0.2, 0.5])
    value, gradient, H = _cox_terms(X[order], deaths, ties, beta)
    assert value == pytest.approx(efron_by_definition(X, y, beta), rel=1e-12)
    slope = approx_fprime(beta, lambda b: efron_by_definition(X, y, b), 1e-7)
    np.testing.assert_allclose(gradient, slope, atol=1e-4)
    bend = approx_fprime(beta, lambda b: _cox_terms(X[order], deaths, ties, b)[1], 1e-6)
    np.testing.assert_allclose(H, bend, atol=1e-3)


@pytest.mark.parametrize("alpha", [0.5, 20.0])
def test_ridge_cox_minimises_its_objective(alpha):
    X, y = sample(seed=1)
    model = RidgeCox(alpha=alpha).fit(X, y)

    def objective(b):
        return efron_by_definition(X, y, b) + alpha / 2 * b @ b

    found = minimize(
        objective,
        np.zeros(3),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
    )
    np.testing.assert_allclose(model.coef_, found.x, atol=1e-6)
    assert model.gradient_norm_ <= 1e-8 * y["event"].sum()


def test_unpenalised_cox_equals_lifelines():
    lifelines = pytest.importorskip("lifelines")
    import pandas as pd

    X, y = sample(n=150, seed=2)
    frame = pd.DataFrame(X, columns=list("abc")).assign(t=y["time"], e=y["event"])
    theirs = lifelines.CoxPHFitter().fit(frame, "t", "e", fit_options={"precision": 1e-12})
    np.testing.assert_allclose(
        RidgeCox(alpha=0.0).fit(X, y).coef_, theirs.params_.to_numpy(), atol=1e-6
    )


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


def test_concordance_limits_and_blocks(monkeypatch):
    _, y = sample(n=60, seed=4, ties=False)
    assert concordance(y["event"], y["time"], -y["time"]) == 1
    assert concordance(y["event"], y["time"], np.zeros(60)) == 0.5
    assert concordance(np.zeros(60, bool), y["time"], y["time"]) == 0.5
    risk = np.random.default_rng(0).normal(size=60)
    whole = concordance(y["event"], y["time"], risk)
    monkeypatch.setattr("octavo.compare.hazards.BLOCK", 7 * 60)
    assert concordance(y["event"], y["time"], risk) == pytest.approx(whole, abs=1e-14)


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


def test_poisson_hazard_of_groups_is_events_over_exposure():
    """With one leaf a group, a Poisson tree's rate is the group's events over its exposure."""
    from sklearn.tree import DecisionTreeRegressor

    _, y = sample(n=200, seed=7)
    group = np.repeat([0.0, 1.0], 100)
    y["time"][100:] *= 2
    model = PoissonHazard(DecisionTreeRegressor(criterion="poisson", max_depth=1))
    rate = model.fit(group[:, None], y).predict([[0.0], [1.0]])
    clock = np.maximum(nelson_aalen(y["event"], y["time"])(y["time"]), 0)
    clock = np.maximum(clock, 1e-3 * clock.mean())
    expected = [y["event"][group == g].sum() / clock[group == g].sum() for g in (0, 1)]
    np.testing.assert_allclose(rate, expected, rtol=1e-10)
    assert rate[0] > rate[1]


def test_kaplan_meier_baseline_and_bad_input():
    X, y = sample()
    assert KaplanMeierBaseline().fit(X, y).predict(X).tolist() == [0.0] * 80
    y["event"] = False
    with pytest.raises(ValueError, match="no event happened"):
        RidgeCox().fit(X, y)
