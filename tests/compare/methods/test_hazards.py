"""Survival baselines against closed forms, brute force and lifelines."""

import numpy as np
import pytest
from scipy.optimize import minimize

from octavo.compare.methods.hazards import (
    KaplanMeierBaseline,
    PoissonHazard,
    RidgeCox,
    nelson_aalen,
)
from octavo.compare.table.tasks import SURVIVAL


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
