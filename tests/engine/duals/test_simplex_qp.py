"""The simplex program against cvxpy, closed forms and its own gap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.engine.duals.simplex_qp import _simplex_slope, simplex_qp


def solve(gram, linear, weight, tol=1e-10, max_steps=100_000, accept=np.inf, reject=-np.inf):
    slope = np.empty(len(weight))
    return simplex_qp(gram, linear, weight, slope, tol, max_steps, accept, reject)


def value_of(gram, linear, weight):
    return linear @ weight - 0.5 * weight @ gram @ weight


@pytest.mark.parametrize("seed", range(3))
def test_maximum_against_cvxpy(seed):
    import cvxpy as cp

    rng = np.random.default_rng(seed)
    A, linear = rng.normal(size=(12, 6)), rng.normal(size=12)
    w = cp.Variable(12)
    goal = cp.Maximize(linear @ w - 0.5 * cp.sum_squares(A.T @ w))
    best = cp.Problem(goal, [w >= 0, cp.sum(w) == 1]).solve(solver="CLARABEL")
    weight = np.eye(12)[0]
    value, gap, _ = solve(A @ A.T, linear, weight)
    assert gap <= 1e-10
    assert value == pytest.approx(value_of(A @ A.T, linear, weight), abs=1e-12)
    assert value == pytest.approx(best, abs=1e-7)  # Clarabel's own tolerance is 1e-8


def test_identity_has_a_closed_form():
    # Projection of `linear` on the simplex: (0.6, 0.4, 0) shifted by the same threshold.
    weight = np.array([0.0, 0.0, 1.0])
    solve(np.eye(3), np.array([0.7, 0.5, -1.0]), weight)
    np.testing.assert_allclose(weight, [0.6, 0.4, 0.0], atol=1e-9)


@given(st.integers(0, 10_000), st.integers(0, 30))
def test_the_gap_bounds_what_is_missing_after_any_number_of_steps(seed, steps):
    rng = np.random.default_rng(seed)
    A, linear = rng.normal(size=(8, 4)), rng.normal(size=8)
    gram, early, late = A @ A.T, np.full(8, 0.125), np.full(8, 0.125)
    value, gap, done = solve(gram, linear, early, max_steps=steps)
    best = solve(gram, linear, late)[0]
    assert done <= steps
    assert early.min() >= 0
    assert early.sum() == pytest.approx(1.0, abs=1e-12)
    assert -1e-12 <= best - value <= gap + 1e-9


def test_stops_as_soon_as_it_knows():
    rng = np.random.default_rng(0)
    A, linear = rng.normal(size=(30, 10)), rng.normal(size=30)
    gram, start = A @ A.T, np.eye(30)[3]
    best, _, steps = solve(gram, linear, start.copy())
    low, high = best - 0.1, best + 0.1
    value, _, early = solve(gram, linear, start.copy(), accept=low)
    assert low <= value
    assert early < steps
    value, gap, early = solve(gram, linear, start.copy(), reject=high)
    assert value + gap < high
    assert early < steps


def test_a_leading_block_of_a_larger_matrix_and_equal_points():
    gram = np.full((5, 5), np.nan)
    gram[:3, :3] = np.ones((3, 3))  # one point three times: no curvature in any direction
    weight = np.array([0.2, 0.3, 0.5])
    value, gap, steps = solve(gram, np.array([0.0, 1.0, 0.0]), weight)
    np.testing.assert_allclose(weight, [0, 1, 0])
    assert (value, gap, steps) == (0.5, 0.0, 2)


def test_not_a_number_ends_at_once():
    value, gap, steps = solve(np.eye(2), np.array([np.nan, 0.0]), np.array([1.0, 0.0]))
    assert np.isnan(value)
    assert steps == 0


def test_slope_is_what_it_says():
    rng = np.random.default_rng(1)
    A, linear, weight = rng.normal(size=(5, 3)), rng.normal(size=5), rng.dirichlet(np.ones(5))
    slope = np.empty(5)
    value = _simplex_slope(A @ A.T, linear, weight, slope)
    np.testing.assert_allclose(slope, linear - A @ (A.T @ weight), atol=1e-12)
    assert value == pytest.approx(value_of(A @ A.T, linear, weight))
