"""The steps of the weights: each is the minimum that it claims to be."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from octavo.kernel import lp_kernel_weights
from octavo.kernel.mkl.cutting_planes import linear_master, smooth_master
from octavo.kernel.mkl.weight_norms import BlockNorm, LpNorm, MahalanobisNorm, power_norm

LENGTHS = arrays(np.float64, 4, elements=st.floats(0.01, 10.0))


@settings(max_examples=40, deadline=None)
@given(lengths=LENGTHS, p=st.sampled_from([1.0, 1.1, 4 / 3, 2.0, 7.0]), seed=st.integers(0, 100))
def test_closed_form_is_the_minimum(lengths, p, seed):
    """min Σ u/θ = (Σ u^(p/(p+1)))^((p+1)/p), attained, and below every other feasible θ."""
    theta = lp_kernel_weights(lengths, p)
    u = lengths**2
    assert abs(power_norm(theta, p) - 1) < 1e-12
    identity = (u ** (p / (p + 1))).sum() ** ((p + 1) / p)
    np.testing.assert_allclose((u / theta).sum(), identity, rtol=1e-10)
    other = np.random.default_rng(seed).uniform(0.01, 1.0, 4)
    other /= power_norm(other, p)
    assert (u / other).sum() >= identity * (1 - 1e-12)


def test_one_norm_and_sum():
    np.testing.assert_allclose(lp_kernel_weights([3, 1, 0], 1), [0.75, 0.25, 0])
    np.testing.assert_allclose(lp_kernel_weights([3, 1, 0], np.inf), 1)
    with pytest.raises(ValueError, match="No kernel has signal"):
        lp_kernel_weights([0, 0], 2)
    with pytest.raises(ValueError, match="at least 1"):
        lp_kernel_weights([1, 1], 0.5)
    with pytest.raises(ValueError, match="non-negative"):
        lp_kernel_weights([1, -1], 2)


@settings(max_examples=30, deadline=None)
@given(s=LENGTHS, p=st.sampled_from([1.0, 1.3, 2.0, 5.0, np.inf]), seed=st.integers(0, 100))
def test_dual_norm_is_the_largest_cost(s, p, seed):
    v = np.random.default_rng(seed).uniform(0.5, 2.0, 4)
    norm = LpNorm(p, v)
    best = norm.best_response(s)
    assert abs(norm.size(best) - 1) < 1e-12
    np.testing.assert_allclose(0.5 * best @ s, norm.dual(s), rtol=1e-12)
    other = np.random.default_rng(seed + 1).uniform(size=4)
    assert 0.5 * (other / norm.size(other)) @ s <= norm.dual(s) * (1 + 1e-12)
    # the primal penalty at the answer is what the weights cost there
    theta = norm.start(4)
    u = theta**2 * s
    np.testing.assert_allclose(
        norm.primal(theta, s), 0.5 * (u / norm.answer(theta, s)).sum(), rtol=1e-9
    )


@pytest.mark.parametrize("q", [2.5, 4.0, np.inf])
def test_block_norms_above_two(q):
    norm, s = BlockNorm(q), np.array([1.0, 4.0, 0.3])
    inverse = cp.Variable(3)
    cost = cp.sum(cp.multiply(s, cp.inv_pos(inverse)))
    size = cp.norm1(inverse) if q == np.inf else cp.pnorm(inverse, q / (q - 2), approx=False)
    problem = cp.Problem(cp.Minimize(0.5 * cost), [size <= 1])
    problem.solve(solver="CLARABEL")
    np.testing.assert_allclose(norm.dual(s), problem.value, rtol=1e-6)
    np.testing.assert_allclose(1 / norm.answer(np.ones(3), s), inverse.value, rtol=1e-4)
    u = np.array([2.0, 1.0, 0.5])
    expected = 0.5 * u.max() if q == np.inf else 0.5 * (u ** (q / 2)).sum() ** (2 / q)
    np.testing.assert_allclose(norm.primal(np.ones(3), u), expected)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_mahalanobis_step_and_dual(seed):
    rng = np.random.default_rng(seed)
    E = np.cov(rng.normal(size=(4, 9)))
    norm, s, theta = MahalanobisNorm(E), rng.uniform(0.1, 2, 4), rng.uniform(0.1, 1, 4)
    answer = norm.answer(theta, s)
    assert (answer > 0).all()
    assert abs(answer @ np.linalg.solve(E, answer) - 1) < 1e-8
    w, inverse = cp.Variable(4), cp.psd_wrap(np.linalg.inv(E))
    cost = cp.sum(cp.multiply(theta**2 * s, cp.inv_pos(w)))
    problem = cp.Problem(cp.Minimize(cost), [cp.quad_form(w, inverse) <= 1])
    problem.solve(solver="CLARABEL")
    np.testing.assert_allclose((theta**2 * s / answer).sum(), problem.value, rtol=1e-5)
    dual = cp.Problem(cp.Maximize(0.5 * s @ w), [cp.quad_form(w, inverse) <= 1, w >= 0])
    dual.solve(solver="CLARABEL")
    np.testing.assert_allclose(norm.dual(s), dual.value, rtol=1e-5)


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 6.0])
def test_masters_of_the_cutting_planes(p):
    rng = np.random.default_rng(0)
    linear, forms = rng.uniform(5, 6, 8), rng.uniform(0.1, 3, (8, 5))
    theta, zeta = cp.Variable(5, nonneg=True), cp.Variable()
    size = cp.sum(theta) if p == 1.0 else cp.pnorm(theta, p, approx=False)
    problem = cp.Problem(cp.Minimize(zeta), [zeta >= linear - 0.5 * forms @ theta, size <= 1])
    problem.solve(solver="CLARABEL")
    if p == 1.0:
        answer, value, mu = linear_master(linear, forms)
    else:
        answer, value, mu = smooth_master(linear, forms, LpNorm(p), np.full(8, 1 / 8))
    assert abs(value - problem.value) < 1e-6
    np.testing.assert_allclose(answer, theta.value, atol=2e-3)
    assert abs(mu.sum() - 1) < 1e-9
