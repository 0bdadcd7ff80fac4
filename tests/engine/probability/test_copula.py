"""Pseudo-observations and the empirical copula against their definitions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.engine.probability.copula import copula_at, grid_copula, pseudo_observations


def test_pseudo_observations_are_ranks_inside_the_cube():
    X = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 2.0]])
    np.testing.assert_allclose(pseudo_observations(X) * 4, [[3, 1], [1, 2.5], [2, 2.5]])


@given(st.integers(0, 100))
def test_monotone_transforms_change_nothing(seed):
    X = np.random.default_rng(seed).standard_normal((20, 3))
    moved = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, 5 * X[:, 2] - 2])
    np.testing.assert_array_equal(pseudo_observations(X), pseudo_observations(moved))


@pytest.mark.parametrize(("d", "n_grid"), [(2, 30), (2, 7), (3, 30), (3, 11)])
def test_grid_is_counting(d, n_grid):
    n = 30
    X = np.random.default_rng(0).standard_normal((n, d))
    ranks = np.array([[(X[:, j] <= x[j]).sum() for j in range(d)] for x in X])
    grid = grid_copula(pseudo_observations(X), n_grid)
    for cell in product(range(0, n_grid, 3), repeat=d):
        level = np.array(cell) + 1  # rank / n ≤ level / n_grid, in whole numbers
        below = (ranks * n_grid <= level * n).all(axis=1)
        assert grid[cell] == pytest.approx(below.mean(), abs=1e-12)
    assert grid[(-1,) * d] == pytest.approx(1.0)


def test_arbitrary_points_agree_with_the_grid():
    X = np.random.default_rng(1).standard_normal((40, 2))
    U = pseudo_observations(X)
    grid = grid_copula(U, 8)
    points = np.array(list(product(np.arange(1, 9) / 8, repeat=2)))
    np.testing.assert_allclose(copula_at(U, points + 1e-12, block=10), grid.ravel())
