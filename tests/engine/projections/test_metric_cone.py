import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.projections.metric_cone import (
    project_metric_cone,
    shortest_paths,
    triangle_excess,
)


def symmetric(d, seed, shift=0.3):
    H = np.random.default_rng(seed).standard_normal((d, d)) + shift
    return 0.5 * (H + H.T) * (1 - np.eye(d))


def quadratic_program(H, total=None, weights=None):
    cvxpy = pytest.importorskip("cvxpy")
    d = len(H)
    W = np.ones((d, d)) if weights is None else weights
    M = cvxpy.Variable((d, d), symmetric=True)
    rules = [cvxpy.diag(M) == 0, M >= 0]
    rules += [M[i, j] <= M[i, k] + M[k, j] for i, j, k in itertools.permutations(range(d), 3)]
    if total is not None:
        rules.append(cvxpy.sum(M) == total)
    cost = cvxpy.sum(cvxpy.multiply(W, cvxpy.square(M - H)))
    cvxpy.Problem(cvxpy.Minimize(cost), rules).solve(
        solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    return M.value


@pytest.mark.parametrize("d", [3, 5, 8])
@pytest.mark.parametrize("total", [None, 1.0, 40.0])
def test_equals_the_quadratic_program(d, total):
    H = symmetric(d, d)
    found = project_metric_cone(H, total, tol=1e-12)
    np.testing.assert_allclose(found.M, quadratic_program(H, total), atol=1e-6)
    assert found.converged
    assert 0 <= found.duality_gap <= 1e-8 * max(found.objective, 1.0)


@pytest.mark.parametrize("total", [None, 3.0])
def test_equals_the_weighted_quadratic_program(total):
    H, W = symmetric(6, 0), np.random.default_rng(1).uniform(0.2, 3.0, (6, 6))
    W = W + W.T
    found = project_metric_cone(H, total, weights=W, tol=1e-12)
    np.testing.assert_allclose(found.M, quadratic_program(H, total, W), atol=1e-6)
    assert found.duality_gap <= 1e-8 * found.objective


def test_three_points_have_a_closed_form():
    # one side too long by s: a third of it is taken off, and added to each of the others
    H = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])
    M = project_metric_cone(H).M
    np.testing.assert_allclose(M[np.triu_indices(3, 1)], [1 + 2 / 3, 5 - 2 / 3, 2 + 2 / 3])


def test_two_points_and_one():
    assert project_metric_cone(np.array([[0.0, -3.0], [-3.0, 0.0]])).M.tolist() == [[0, 0], [0, 0]]
    np.testing.assert_allclose(project_metric_cone(np.zeros((2, 2)), 1.0).M, [[0, 0.5], [0.5, 0]])
    assert project_metric_cone(np.ones((1, 1))).M.tolist() == [[0.0]]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 7), st.sampled_from([1e-150, 1e-5, 1.0, 1e5, 1e150]))
def test_idempotent_and_scales(seed, d, scale):
    H = symmetric(d, seed)
    M = project_metric_cone(H).M
    assert triangle_excess(M) <= 1e-14 * max(M.max(), 1.0)
    np.testing.assert_allclose(project_metric_cone(M).M, M, atol=1e-14)
    scaled = project_metric_cone(scale * H).M  # entries that are zero but for rounding differ
    np.testing.assert_allclose(scaled / scale, M, atol=1e-9 * np.abs(H).max())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_moves_no_two_matrices_apart(seed):
    H, K = symmetric(6, seed), symmetric(6, seed + 1)
    for total in (None, 2.0):
        gap = np.linalg.norm(project_metric_cone(H, total).M - project_metric_cone(K, total).M)
        assert gap <= np.linalg.norm(H - K) + 1e-7


def test_multipliers_of_a_neighbour_save_sweeps():
    H = symmetric(30, 0, shift=1.0)
    cold = project_metric_cone(H, 1.0, tol=1e-8)
    near = H + 1e-4 * symmetric(30, 1)
    warm = project_metric_cone(near, 1.0, duals=cold.duals.copy(), tol=1e-8)
    again = project_metric_cone(near, 1.0, tol=1e-8)
    np.testing.assert_allclose(warm.M, again.M, atol=1e-6)
    assert warm.n_sweeps < again.n_sweeps


def test_the_gap_bounds_an_early_stop():
    H = symmetric(10, 3)
    best = project_metric_cone(H, 5.0, tol=1e-12).objective
    early = project_metric_cone(H, 5.0, max_sweeps=1)
    assert not early.converged
    assert 0 < early.objective - best <= early.duality_gap


def test_shortest_paths_never_exceed():
    H = np.abs(symmetric(9, 5))
    M = shortest_paths(H)
    assert (M <= H).all()
    assert triangle_excess(M) <= 1e-15
