"""Penalised maximum likelihood against closed forms and cvxpy."""

import numpy as np
import pytest

from octavo.engine.smooth.penalized_likelihood import maximize_penalized, smallest_supergradient


def quadratic(rng, d=6):
    """Return a concave quadratic L(x) = b·x - ½ x·A·x, with A and b."""
    root = rng.normal(size=(d, d))
    A, b = root @ root.T, rng.normal(size=d)
    return A, b, lambda x: (b @ x - 0.5 * x @ A @ x, b - A @ x)


def test_gaussian_prior_has_a_closed_form():
    rng = np.random.default_rng(0)
    A, b, likelihood = quadratic(rng)
    sigma = rng.uniform(0.5, 2, 6)
    # A line search sees differences of F down to its rounding, 1e-16: gradients of about 1e-8.
    fit = maximize_penalized(likelihood, np.zeros(6), sigma, tol=1e-7)
    exact = np.linalg.solve(A + np.diag(1 / sigma**2), b)
    assert fit.converged
    np.testing.assert_allclose(fit.x, exact, atol=1e-6)
    assert np.all(np.diff(fit.trace) >= -1e-12)


def test_gap_bound_holds_far_from_the_optimum():
    rng = np.random.default_rng(1)
    _, _, likelihood = quadratic(rng)
    sigma = np.full(6, 2.0)
    best = maximize_penalized(likelihood, np.zeros(6), sigma, tol=1e-7).objective
    for n in (1, 2, 3):
        early = maximize_penalized(likelihood, np.ones(6), sigma, max_iter=n)
        assert early.n_iter <= n
        assert best - early.objective <= early.gap_bound + 1e-9
        assert early.gap_bound > 0


@pytest.mark.parametrize("sigma", [1.0, np.inf])
def test_laplace_prior_against_cvxpy(sigma):
    import cvxpy as cp

    rng = np.random.default_rng(2)
    A, b, likelihood = quadratic(rng)
    x = cp.Variable(6)
    ridge = 0.0 if np.isinf(sigma) else cp.sum_squares(x) / (2 * sigma**2)
    goal = b @ x - 0.5 * cp.quad_form(x, cp.psd_wrap(A)) - ridge - 0.7 * cp.norm1(x)
    best = cp.Problem(cp.Maximize(goal)).solve()
    fit = maximize_penalized(
        likelihood, rng.normal(size=6), np.full(6, sigma), l1=0.7, tol=1e-6, max_iter=500
    )
    assert fit.converged
    assert fit.objective == pytest.approx(best, abs=1e-6)
    assert np.sum(fit.x == 0) > 0


def test_smallest_supergradient_at_and_off_zero():
    found = smallest_supergradient(
        np.array([0.0, 0.0, 1.0, -1.0]), np.array([0.5, -3.0, 0.5, 0.5]), 1.0
    )
    np.testing.assert_allclose(found, [0.0, -2.0, -0.5, 1.5])


def test_a_step_can_stop_the_fit():
    _, _, likelihood = quadratic(np.random.default_rng(3))
    calls = []

    def step():
        calls.append(1)
        return len(calls) == 2

    fit = maximize_penalized(likelihood, np.zeros(6), np.ones(6), tol=1e-12, step=step)
    assert fit.n_iter == len(fit.trace) == 2
