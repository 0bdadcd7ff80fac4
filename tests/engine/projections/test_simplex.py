"""Projections by rows against the variational inequality and a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from octavo.engine.projections.simplex import (
    project_balls,
    project_capped_simplex,
    project_l1_balls,
    project_simplex,
)


def _by_solver(row, bounds, total):
    result = minimize(
        lambda p: 0.5 * np.sum((p - row) ** 2),
        np.full(len(row), total / len(row)),
        jac=lambda p: p - row,
        bounds=bounds,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - total, "jac": lambda p: np.ones(len(p))}
        ],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return result.x


@pytest.mark.parametrize("seed", range(8))
def test_simplex_equals_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    rows, totals = rng.normal(size=(5, 6)) * 2.0, rng.uniform(0.1, 3.0, 5)
    ours = project_simplex(rows, totals)
    for row, total, answer in zip(rows, totals, ours, strict=True):
        # SLSQP stops at about the square root of its ftol.
        np.testing.assert_allclose(answer, _by_solver(row, [(0, None)] * 6, total), atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_capped_simplex_equals_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    row, cap = rng.normal(size=6), 0.4
    total = rng.uniform(0.2, 2.2)
    answer = project_capped_simplex(row, cap, total)
    assert answer.sum() == pytest.approx(total, abs=1e-12)
    np.testing.assert_allclose(answer, _by_solver(row, [(0, cap)] * 6, total), atol=1e-6)


@pytest.mark.parametrize(
    ("project", "inside"),
    [
        (project_l1_balls, lambda rows: rows / np.abs(rows).sum(axis=1, keepdims=True)),
        (project_balls, lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)),
        (project_simplex, lambda rows: np.abs(rows) / np.abs(rows).sum(axis=1, keepdims=True)),
    ],
)
def test_variational_inequality(project, inside):
    # p is the projection of x onto C exactly where <x - p, c - p> <= 0 for all c in C.
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 5)) * 3.0
    members = inside(rng.normal(size=(200, 5)))
    projected = project(points)
    for x, p in zip(points, projected, strict=True):
        assert np.max((members - p) @ (x - p)) < 1e-12
    np.testing.assert_allclose(project(projected), projected, atol=1e-15)


def test_ends_of_the_capped_simplex():
    np.testing.assert_allclose(project_capped_simplex([5.0, 1.0], cap=0.5, total=1.0), [0.5, 0.5])
    np.testing.assert_allclose(project_capped_simplex([5.0, 1.0], cap=1.0, total=0.0), [0.0, 0.0])
    with pytest.raises(ValueError, match="times the cap"):
        project_capped_simplex([1.0, 2.0], cap=0.1, total=1.0)


def test_equal_entries_and_large_numbers():
    np.testing.assert_allclose(project_simplex([1.0, 1.0, 1.0]), [1 / 3] * 3)
    np.testing.assert_allclose(project_simplex([1e8, 1e8 - 1.0]), [1.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(project_capped_simplex([1.0, 1.0], cap=0.7), [0.5, 0.5])


def test_large_entries_leave_the_sum_of_a_simplex():
    rows = np.array([[9e299, 0.0, 1.0], [1e17, 1e17, 0.0], [-1e300, -1e300, -3e300]])
    expected = [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]
    np.testing.assert_array_equal(project_simplex(rows), expected)
