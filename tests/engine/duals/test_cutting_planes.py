"""Cutting planes against a closed form and cvxpy."""

import numpy as np
import pytest

from octavo.engine.duals.cutting_planes import minimize_by_cuts


def test_one_hinge_has_a_closed_form():
    # min x²/2 + 3 max(0, 1 - x): x = 1 at the kink.
    def risk(x):
        return (3 * (1 - x[0]), np.array([-3.0])) if x[0] < 1 else (0.0, np.zeros(1))

    fit = minimize_by_cuts(risk, np.ones(1), tol=1e-9, max_iter=500)
    assert fit.objective == pytest.approx(0.5, abs=1e-8)
    assert fit.gap <= 1e-9


def test_support_vector_machine_against_cvxpy():
    import cvxpy as cp

    rng = np.random.default_rng(0)
    X, sigma = rng.normal(size=(40, 3)), np.array([0.5, 1.0, 2.0])
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=40))

    def risk(w):
        margin = y * (X @ w)
        wrong = margin < 1
        return float(np.sum(1 - margin[wrong])), -(y[wrong] @ X[wrong])

    w = cp.Variable(3)
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w)))
    best = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(cp.multiply(1 / sigma, w)) + loss)).solve()
    fit = minimize_by_cuts(risk, sigma, tol=1e-5, max_iter=1000)
    assert fit.gap <= 1e-5
    assert 0 <= fit.objective - best + 1e-7 <= fit.gap + 2e-7
    assert np.all(np.diff(fit.trace) <= 0)
    early = minimize_by_cuts(risk, sigma, tol=1e-5, max_iter=5)
    assert early.objective - best <= early.gap
