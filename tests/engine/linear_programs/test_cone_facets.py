"""Facets are those that linear programs find irredundant."""

import numpy as np
import pytest
from scipy.optimize import linprog

from octavo.engine.linear_programs.cone_facets import cone_facets


def by_programs(A):
    found = []
    for j in range(len(A)):
        others = np.delete(A, j, axis=0)
        limits = np.vstack([-others, -A[j]])
        least = linprog(A[j], limits, np.append(np.zeros(len(others)), 1.0), bounds=(None, None))
        found.append(least.fun < -1e-7)
    return np.array(found)


@pytest.mark.parametrize(("m", "d", "seed"), [(8, 2, 0), (15, 3, 1), (25, 4, 2), (12, 12, 3)])
def test_equal_linear_programs(m, d, seed):
    rng = np.random.RandomState(seed)
    inner = rng.standard_normal(d)
    A = rng.standard_normal((m, d))
    A *= np.sign(A @ inner)[:, None]
    assert np.array_equal(cone_facets(A, inner), by_programs(A))


def test_parallel_ones_count_together():
    A = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert cone_facets(A, np.array([1.0, 1.0])).tolist() == [True, True, True, False]
    assert cone_facets(np.zeros((0, 2)), np.ones(2)).size == 0
