"""Squared loss: ridge at one end, the convex primal written out in between."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from octavo.kernel import MEDSparseRegressor, med_penalty
from tests.kernel.multitask.problems import small_tasks

TIGHT = {"tol": 1e-9, "max_sweeps": 1000}


def test_alpha_zero_is_ridge_regression():
    X, _, _, y = small_tasks(0, n_tasks=1, n_rows=30)
    y = y + 0.3 * np.random.default_rng(0).standard_normal(30) + 2.0
    model = MEDSparseRegressor(alpha=0.0, C=0.5, **TIGHT).fit(X, y)
    ridge = Ridge(alpha=2.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-5)
    assert model.intercept_ == pytest.approx(ridge.intercept_, abs=1e-5)


@pytest.mark.parametrize("solver", ["newton", "bound"])
def test_objective_is_the_least_of_the_primal(solver):
    X, _, _, y = small_tasks(1, n_tasks=1, n_rows=30)
    alpha, C = 20.0, 2.0
    model = MEDSparseRegressor(alpha=alpha, C=C, solver=solver, tol=1e-9, max_sweeps=3000)
    model.fit(X, y)

    def primal(p):
        left = y - X @ p[:-1] - p[-1]
        return 0.5 * C * left @ left + med_penalty(p[:-1], alpha).sum()

    at = primal(np.r_[model.coef_, model.intercept_])
    assert at == pytest.approx(model.objective_, rel=1e-7)
    rng = np.random.default_rng(0)
    for start in rng.standard_normal((3, 6)):
        found = minimize(primal, start, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-8})
        assert found.fun >= model.dual_objective_ - 1e-9
        assert found.fun == pytest.approx(at, rel=1e-5)


def test_tasks_share_their_switches():
    X, _, task, scores = small_tasks(2, n_rows=25)
    model = MEDSparseRegressor(alpha=1e3, C=5.0).fit(X, scores, task)
    assert model.coef_.shape == (3, 5)
    assert set(np.argsort(model.switches_)[-2:].tolist()) == {0, 1}
    assert model.score(X, scores, task) > 0.95
