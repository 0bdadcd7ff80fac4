"""Quadratic programs with fixed sums of groups, against a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from octavo.engine.duals.group_sums import solve_group_sums


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_equals_a_general_solver(n_groups):
    rng = np.random.default_rng(n_groups)
    A = rng.normal(size=(18, 6))
    K = A @ A.T
    group = np.arange(18) % n_groups
    start = rng.uniform(0.1, 0.5, 18)
    lower, upper = np.zeros(18), np.full(18, 0.7)
    found = solve_group_sums(K, lower, upper, group, start, tol=1e-12)
    constraints = [
        {"type": "eq", "fun": lambda b, g=g: b[group == g].sum() - start[group == g].sum()}
        for g in range(n_groups)
    ]
    general = minimize(
        lambda b: 0.5 * b @ K @ b, start, jac=lambda b: K @ b, bounds=[(0, 0.7)] * 18,
        constraints=constraints, method="SLSQP", options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip
    assert found.converged
    assert found.objective == pytest.approx(general.fun, rel=1e-7, abs=1e-10)
    assert -1e-12 <= found.duality_gap <= 1e-8
    for g in range(n_groups):
        assert found.beta[group == g].sum() == pytest.approx(start[group == g].sum())
    np.testing.assert_allclose(found.product, K @ found.beta, atol=1e-12)


def test_unbounded_boxes_have_a_gap_and_limits_are_kept():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(2, 1, size=(20, 2)), rng.normal(-2, 1, size=(20, 2))])
    signs = np.repeat([1.0, -1.0], 20)
    K = X @ X.T
    lower, upper = np.where(signs > 0, 0, -np.inf), np.where(signs > 0, np.inf, 0)
    group = (signs > 0).astype(np.int64)
    full = solve_group_sums(K, lower, upper, group, signs / 20, tol=1e-10)
    assert full.duality_gap < 1e-6 * max(full.objective, 1e-3)
    short = solve_group_sums(K, lower, upper, group, signs / 20, tol=1e-10, max_iter=3)
    assert not short.converged
    assert short.duality_gap >= short.objective - full.objective - 1e-9
    stopped = solve_group_sums(K, lower, upper, group, signs / 20, tol=1e-10, report=lambda: True)
    assert stopped.n_iter <= 20_000
    with pytest.raises(ValueError, match="between the bounds"):
        solve_group_sums(K, lower, upper, group, -signs)
