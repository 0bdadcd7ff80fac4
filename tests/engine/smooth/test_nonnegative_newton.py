"""Newton's method over x ≥ 0 against brute force and scipy."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from octavo.engine.proximal.nonnegative_least_squares import nonnegative_quadratic
from octavo.engine.smooth.nonnegative_newton import kkt_violations, nonnegative_newton


def quadratic(seed, r=7):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(r + 2, r))
    return root.T @ root, 3.0 * rng.normal(size=r)


def best_of_all_supports(H, target):
    """Solve on every subset of unknowns; keep the best feasible answer."""
    best, answer = 0.0, np.zeros(len(target))
    for size in range(1, len(target) + 1):
        for support in itertools.combinations(range(len(target)), size):
            s = list(support)
            x = np.zeros(len(target))
            x[s] = np.linalg.solve(H[np.ix_(s, s)], target[s])
            value = 0.5 * x @ H @ x - target @ x
            if (x >= 0).all() and value < best:
                best, answer = value, x
    return answer


@pytest.mark.parametrize("seed", range(10))
def test_quadratic_equals_brute_force(seed):
    H, target = quadratic(seed)
    np.testing.assert_allclose(
        nonnegative_quadratic(H, target), best_of_all_supports(H, target), atol=1e-10
    )


def test_quadratic_with_many_unknowns_meets_its_conditions():
    H, target = quadratic(0, 200)
    x = nonnegative_quadratic(H, target)
    assert (x == 0).any()
    assert kkt_violations(x, H @ x - target).max() < 1e-8 * np.abs(target).max()


class Quartic:
    """Σ (x_i² - a_i)² / 4 + ½ xᵀHx: not convex, with minima on and off the bounds."""

    def __init__(self, seed, r=6):
        rng = np.random.default_rng(seed)
        self.a = rng.normal(size=r)
        root = rng.normal(size=(r, r))
        self.H = 0.1 * root @ root.T
        self.linear = 0.3 * rng.normal(size=r)

    def value(self, x):
        v = ((x**2 - self.a) ** 2).sum() / 4 + 0.5 * x @ self.H @ x + self.linear @ x
        return v, 1e-14 * (1 + abs(v)), x

    def slopes(self, x):
        terms = (np.abs(x**3) + np.abs(x * self.a) + np.abs(self.H @ x), np.abs(self.linear))
        return (x**2 - self.a) * x + self.H @ x + self.linear, terms[0] + terms[1]

    def curvature(self, x, which):
        H = self.H + np.diag(3 * x**2 - self.a)
        metric = self.H + np.diag(3 * x**2 + np.abs(self.a))
        return H[np.ix_(which, which)], metric[np.ix_(which, which)]


@pytest.mark.parametrize("seed", range(10))
def test_stationary_and_as_low_as_scipy_from_there(seed):
    f = Quartic(seed)
    found = nonnegative_newton(f, np.ones(6), tol=1e-10)
    assert found.converged
    assert found.violation <= 1e-10
    assert np.diff(found.values).max(initial=0.0) <= 1e-13
    bounded = minimize(
        lambda x: f.value(x)[0],
        found.x,
        jac=lambda x: f.slopes(x)[0],
        bounds=[(0, None)] * 6,
        options={"ftol": 1e-15, "gtol": 1e-12},
    )
    assert found.value <= bounded.fun + 1e-10


def test_unknowns_leave_and_enter_the_bound():
    f = Quartic(3)
    inside = nonnegative_newton(f, np.ones(6))
    outside = nonnegative_newton(f, np.where(inside.x > 0, 0.0, 1.0))
    assert (outside.x > 0).any()
    assert outside.converged


def test_a_callback_ends_it():
    found = nonnegative_newton(Quartic(0), 10 * np.ones(6), on_step=lambda: True)
    assert found.n_iter == 1
    assert not found.converged
