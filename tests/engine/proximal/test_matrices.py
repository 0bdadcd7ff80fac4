"""Proximal maps minimise what they say: optimality by subgradients, and cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from octavo.engine.proximal import matrices as mp

MAPS = {
    "entries": (mp.soft_threshold, lambda Z: cp.sum(cp.abs(Z))),
    "rows": (mp.shrink_rows, lambda Z: cp.sum(cp.norm(Z, axis=1))),
    "singular values": (lambda M, tau: mp.shrink_singular_values(M, tau)[0], cp.normNuc),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("shape", [(7, 4), (4, 7)])
def test_against_cvxpy(name, shape):
    M = np.random.default_rng(0).standard_normal(shape)
    shrink, norm = MAPS[name]
    Z = cp.Variable(shape)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(Z - M) + 0.8 * norm(Z)))
    problem.solve(solver="CLARABEL")
    # The objective is strongly convex: an error e in its value is an error sqrt(2e) in Z.
    np.testing.assert_allclose(shrink(M, 0.8), Z.value, atol=1e-4)


def test_small_thresholds_do_not_square():
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((9, 4)))[0] for _ in range(2))
    sigma = np.array([1.0, 1e-3, 1e-9, 1e-12])
    Z, values = mp.shrink_singular_values((U * sigma) @ V.T, 1e-10)
    np.testing.assert_allclose(values[::-1], sigma[:3] - 1e-10, rtol=0, atol=1e-15)
    assert Z.shape == (9, 9)


matrices = arrays(np.float64, (6, 3), elements=st.floats(-10, 10))


@settings(max_examples=40, deadline=None)
@given(matrices, matrices, st.floats(0.01, 5))
def test_maps_are_not_expansive(A, B, tau):
    for shrink, _ in MAPS.values():
        moved = np.linalg.norm(shrink(A, tau) - shrink(B, tau))
        assert moved <= np.linalg.norm(A - B) * (1 + 1e-7) + 1e-7


def test_zero_stays_zero():
    zero = np.zeros((3, 2))
    for shrink, _ in MAPS.values():
        np.testing.assert_array_equal(shrink(zero, 1.0), zero)
