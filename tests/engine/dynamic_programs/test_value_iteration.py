"""Policy and value iteration against linear programming and enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from octavo.engine.dynamic_programs.value_iteration import (
    evaluate_choice,
    iterate_policies,
    iterate_values,
    stack_rows,
)


def problem(seed, n=5, a=3):
    rng = np.random.RandomState(seed)
    return rng.dirichlet(np.ones(n) * 0.3, (a, n)), rng.normal(size=(n, a))


@pytest.mark.parametrize("seed", range(4))
def test_the_values_are_those_of_the_linear_program(seed):
    P, r = problem(seed)
    rows = np.concatenate([0.9 * p - np.eye(5) for p in P])
    exact = linprog(np.ones(5), rows, -r.T.ravel(), bounds=(None, None)).x
    for solve in (iterate_policies, iterate_values):
        found = solve(stack_rows(P), r, 0.9)
        np.testing.assert_allclose(found.values, exact, atol=1e-7)  # linprog's tolerance


def test_no_policy_is_better():
    P, r = problem(9, 4, 2)
    best = np.full(4, -np.inf)
    for choice in product(range(2), repeat=4):
        c = np.array(choice)
        value = np.linalg.solve(np.eye(4) - 0.8 * P[c, np.arange(4)], r[np.arange(4), c])
        best = np.maximum(best, value)
    np.testing.assert_allclose(iterate_policies(stack_rows(P), r, 0.8).values, best, atol=1e-12)


def test_many_right_sides_at_once():
    P, r = problem(2)
    values = evaluate_choice(stack_rows(P[:1]), r, 0.9)
    np.testing.assert_allclose(values, np.linalg.solve(np.eye(5) - 0.9 * P[0], r), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_scale_changes_no_action(scale):
    P, r = problem(3)
    one, two = (iterate_policies(stack_rows(P), c * r, 0.9) for c in (1.0, scale))
    np.testing.assert_array_equal(one.actions, two.actions)


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99])
def test_value_iteration_ends_within_its_tolerance(gamma):
    # one state that stays: what is left after k steps is γ^k r / (1 - γ), the bound exactly
    stay, r = stack_rows([np.eye(1)]), np.ones((1, 1))
    found = iterate_values(stay, r, gamma, tol=1e-3)
    error = 1 / (1 - gamma) - found.values[0]
    assert gamma * 1e-3 * (1 - 1e-9) < error <= 1e-3
