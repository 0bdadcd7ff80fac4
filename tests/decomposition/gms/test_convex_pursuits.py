"""Pursuits against cvxpy and against exact recovery."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from octavo.decomposition import (
    make_outlier_subspace,
    outlier_pursuit,
    principal_component_pursuit,
)

NORMS = {
    principal_component_pursuit: lambda S: cp.sum(cp.abs(S)),
    outlier_pursuit: lambda S: cp.sum(cp.norm(S, axis=1)),
}
each = pytest.mark.parametrize("pursuit", NORMS, ids=lambda f: f.__name__)


@each
@pytest.mark.parametrize("shape", [(12, 6), (6, 12)])
@pytest.mark.parametrize("alpha", [0.2, 0.5])
def test_objective_is_that_of_cvxpy(pursuit, shape, alpha):
    X = np.random.default_rng(0).standard_normal(shape)
    L = cp.Variable(shape)
    problem = cp.Problem(cp.Minimize(cp.normNuc(L) + alpha * NORMS[pursuit](X - L)))
    problem.solve(solver="CLARABEL")
    found = pursuit(X, alpha, tol=1e-8, max_iter=20000)
    assert found.converged
    assert found.objective == pytest.approx(problem.value, rel=1e-7)
    assert found.objective - found.duality_gap <= problem.value * (1 + 1e-7)


@each
def test_parts_add_up_and_objective_is_theirs(pursuit):
    X = np.random.default_rng(1).standard_normal((20, 8))
    found = pursuit(X, 0.4)
    np.testing.assert_array_equal(
        found.low_rank + found.sparse, found.low_rank + (X - found.low_rank)
    )
    np.testing.assert_allclose(found.low_rank + found.sparse, X, atol=1e-14)
    nuclear = np.linalg.norm(found.low_rank, "nuc")
    rows = np.linalg.norm(found.sparse, axis=1).sum()
    rest = np.abs(found.sparse).sum() if pursuit is principal_component_pursuit else rows
    assert found.objective == pytest.approx(nuclear + 0.4 * rest, rel=1e-8)
    assert found.rank == np.linalg.matrix_rank(found.low_rank, tol=1e-7)


def test_sparse_errors_are_removed_exactly():
    rng = np.random.default_rng(0)
    true = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 50))
    wrong = np.where(rng.uniform(size=true.shape) < 0.05, rng.choice([-8.0, 8.0], true.shape), 0.0)
    found = principal_component_pursuit(true + wrong, tol=1e-8)
    assert found.rank == 2
    np.testing.assert_allclose(found.low_rank, true, atol=1e-4)


def test_outlying_rows_are_found_exactly():
    sample = make_outlier_subspace(95, 5, 30, 2, inlier_scale=5.0, random_state=0)
    found = outlier_pursuit(sample.X, tol=1e-9)
    rows = np.linalg.norm(found.sparse, axis=1)
    assert rows[sample.is_inlier].max() < 1e-3 < rows[~sample.is_inlier].min()


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31), st.floats(1e-3, 1e3))
def test_scale(seed, scale):
    X = np.random.default_rng(seed).standard_normal((10, 5))
    one = principal_component_pursuit(X, 0.5, tol=1e-7, max_iter=20000)
    other = principal_component_pursuit(scale * X, 0.5, tol=1e-7, max_iter=20000)
    assert other.objective == pytest.approx(scale * one.objective, rel=1e-6)


@each
def test_large_lam_keeps_the_matrix(pursuit):
    X = np.random.default_rng(0).standard_normal((8, 4))
    np.testing.assert_allclose(pursuit(X, 50.0).low_rank, X, atol=1e-4)


@each
def test_zero_matrix(pursuit):
    found = pursuit(np.zeros((4, 3)))
    assert (found.rank, found.objective, found.converged) == (0, 0.0, True)


@each
def test_bad_input(pursuit):
    with pytest.raises(ValueError, match="'alpha'"):
        pursuit(np.ones((3, 3)), 0.0)
    with pytest.raises(ValueError, match="NaN"):
        pursuit([[np.nan, 1.0]])
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        found = pursuit(np.random.default_rng(0).standard_normal((20, 9)), max_iter=3)
    assert found.n_iter == 3
    assert np.isfinite(found.duality_gap)


@pytest.mark.parametrize("pursuit", [principal_component_pursuit, outlier_pursuit])
@pytest.mark.parametrize("scale", [1e-150, 1e5, 1e150])
def test_units_do_not_matter(pursuit, scale):
    X = np.random.default_rng(0).normal(size=(50, 30))
    plain, scaled = pursuit(X), pursuit(scale * X)
    assert scaled.converged
    assert scaled.duality_gap <= 1e-6 * scaled.objective
    assert scaled.objective / scale == pytest.approx(plain.objective, rel=2e-6)
    np.testing.assert_array_equal(pursuit(2.0**20 * X).low_rank, 2.0**20 * plain.low_rank)
