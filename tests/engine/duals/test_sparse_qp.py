"""Sparse programs against cvxpy and their own certificates."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.duals.sparse_qp import certificate, solve_lp, solve_qp

inf = np.inf


def program(n, m, seed, definite=True):
    rng = np.random.default_rng(seed)
    M = sp.random(n, n, 0.4, random_state=rng, format="csc")
    P = M @ M.T + (0.01 * sp.eye(n) if definite else 0 * sp.eye(n))
    A = sp.random(m, n, 0.4, random_state=rng, format="csc")
    x = rng.normal(size=n)
    lower, upper = A @ x - rng.uniform(0, 1, m), A @ x + rng.uniform(0, 1, m)
    lower[rng.random(m) < 0.2], upper[rng.random(m) < 0.2] = -inf, inf
    equal = rng.random(m) < 0.1
    lower[equal] = upper[equal] = (A @ x)[equal]
    return P, rng.normal(size=n), A, lower, upper


@given(st.integers(0, 400))
@settings(max_examples=25, deadline=None)
def test_solution_is_certified(seed):
    data = program(12, 18, seed)
    found = solve_qp(*data)
    assert found.converged
    # A pair of points that satisfies both sets of conditions without a gap is optimal.
    objective, gap, primal, dual = certificate(data, found.x, found.y)
    assert max(abs(gap), primal, dual) < 1e-6
    assert objective == found.objective
    assert found.n_factorizations <= 8


def test_solution_equals_cvxpy():
    cp = pytest.importorskip("cvxpy")
    P, q, A, lower, upper = program(15, 25, 3)
    x = cp.Variable(15)
    rows = [A[i] @ x >= lower[i] for i in range(25) if np.isfinite(lower[i])]
    rows += [A[i] @ x <= upper[i] for i in range(25) if np.isfinite(upper[i])]
    theirs = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(P)) + q @ x), rows)
    theirs.solve(solver="CLARABEL")
    found = solve_qp(P, q, A, lower, upper)
    assert found.objective == pytest.approx(theirs.value, abs=1e-6)
    np.testing.assert_allclose(found.x, x.value, atol=1e-4)


def test_a_dual_that_is_known():
    """Projection onto the simplex: x = max(v - t, 0) with sum one."""
    v = np.array([0.9, 0.6, -0.2, 0.1])
    A = sp.vstack([np.ones((1, 4)), sp.eye(4)])
    found = solve_qp(sp.eye(4), -v, A, np.r_[1.0, np.zeros(4)], np.r_[1.0, np.full(4, inf)])
    np.testing.assert_allclose(found.x, [0.65, 0.35, 0.0, 0.0], atol=1e-8)


def test_starts_and_infeasibility():
    data = program(12, 18, 5)
    cold = solve_qp(*data)
    warm = solve_qp(*data, start=(cold.x, cold.y))
    assert warm.n_iter <= cold.n_iter
    A = sp.csc_matrix([[1.0], [1.0]])
    found = solve_qp(sp.eye(1), [0.0], A, [1.0, -inf], [inf, 0.0])
    assert found.status == "infeasible"
    with pytest.raises(ValueError, match="Row 0"):
        solve_qp(sp.eye(1), [0.0], sp.eye(1), [1.0], [0.0])


def test_linear_programs_by_two_algorithms():
    rng = np.random.default_rng(0)
    A, c = sp.csr_matrix(rng.normal(size=(20, 8))), rng.uniform(0.5, 1, 8)
    b = A @ rng.uniform(size=8) - rng.uniform(size=20)
    one, other = (solve_lp(c, A, b, method=m) for m in ("highs-ds", "highs-ipm"))
    assert one.objective == pytest.approx(other.objective, abs=1e-8)
    for found in (one, other):
        assert abs(found.duality_gap) < 1e-8
        assert (found.y >= -1e-9).all()
        assert (A.T @ found.y <= c + 1e-8).all()
    with pytest.raises(ValueError, match="no solution"):
        solve_lp([1.0], sp.csr_matrix([[1.0], [-1.0]]), [1.0, 0.0])
