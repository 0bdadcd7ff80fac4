"""Proximal maps against their definition, solved by a general method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from octavo.engine.proximal.groups import (
    column_norms,
    dual_exponent,
    fuse,
    project_columns,
    scale_into_balls,
    shrink_columns,
    shrink_scaled_columns,
    shrink_together,
    soft_threshold,
    soft_threshold_tied,
)

QS = (1, 2, np.inf)
seeds = st.integers(0, 2**32 - 1)


def smallest(objective, x, n_starts=40):
    """Return the least value that a derivative-free search finds around x."""
    rng = np.random.default_rng(0)
    best = objective(x)
    for scale in (1.0, 0.1, 0.01, 1e-3):
        for _ in range(n_starts):
            best = min(best, objective(x + scale * rng.standard_normal(x.shape)))
    return best


@pytest.mark.parametrize("q", QS)
def test_column_shrinkage_minimises_its_definition(q):
    """A strictly convex function: no nearby point may be lower than its minimiser."""
    A = np.random.default_rng(1).standard_normal((2, 5, 4))
    X = shrink_columns(A, 0.7, q)

    def objective(X):
        return 0.5 * ((X - A) ** 2).sum() + 0.7 * column_norms(X, q).sum()

    assert smallest(objective, X) >= objective(X) - 1e-14


@pytest.mark.parametrize("q", QS)
def test_column_shrinkage_equals_powell(q):
    a = np.array([1.5, -0.4, 0.9])
    found = minimize(
        lambda x: 0.5 * ((x - a) ** 2).sum() + 0.6 * np.linalg.norm(x, q),
        np.zeros(3),
        method="Powell",
        options={"xtol": 1e-10, "ftol": 1e-14, "maxiter": 10_000},
    )
    # Powell's search gives half the digits of its value.
    np.testing.assert_allclose(shrink_columns(a[:, None], 0.6, q)[:, 0], found.x, atol=1e-4)


@settings(deadline=None)
@given(seeds, st.sampled_from(QS), st.floats(0.0, 3.0))
def test_moreau(seed, q, t):
    """A point is its proximal map plus its projection on the ball of the dual norm."""
    A = np.random.default_rng(seed).standard_normal((6, 3)) * 2
    total = shrink_columns(A, t, q) + project_columns(A, t, dual_exponent(q))
    np.testing.assert_allclose(total, A, atol=1e-12)


@settings(deadline=None)
@given(seeds, st.sampled_from(QS), st.floats(0.01, 3.0))
def test_projection_is_inside_and_no_farther_than_any_point_inside(seed, s, radius):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, 5, 3))
    P, Q = project_columns(A, radius, s), project_columns(B, radius, s)
    assert (column_norms(P, s) <= radius * (1 + 1e-12)).all()
    # The variational inequality of a projection: <A - P, Q - P> <= 0 for all Q inside.
    assert (((A - P) * (Q - P)).sum(axis=0) <= 1e-12).all()


@pytest.mark.parametrize("q", QS)
def test_zero_columns_and_zero_thresholds(q):
    A = np.zeros((3, 2))
    A[:, 0] = [1.0, -2.0, 0.5]
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(shrink_columns(A, 0.0, q), A)
        np.testing.assert_array_equal(shrink_columns(A, 1e3, q), 0.0)
        np.testing.assert_array_equal(project_columns(A, 0.0, q), 0.0)


def test_infinite_thresholds_forbid():
    np.testing.assert_array_equal(
        soft_threshold(np.array([3.0, -2.0]), np.array([np.inf, 1])), [0, -1]
    )


@settings(deadline=None)
@given(seeds, st.sampled_from(QS))
def test_scaled_matrices_are_symmetric_and_inside(seed, s):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((2, 4, 4))
    G = G + G.swapaxes(1, 2)
    inside = scale_into_balls(G, 1.0, s)
    np.testing.assert_array_equal(inside, inside.swapaxes(1, 2))
    assert (column_norms(inside.reshape(8, 4), s) <= 1 + 1e-12).all()
    tiny = 1e-3 * G
    np.testing.assert_array_equal(scale_into_balls(tiny, 1.0, s), tiny)


def fused_value(X, A, weights, fusion):
    K = len(A)
    pairs = sum(np.abs(X[k] - X[l]) for k in range(K) for l in range(k + 1, K))
    return (0.5 * ((X - A) ** 2).sum(0) + (weights * np.abs(X)).sum(0) + fusion * pairs).sum()


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 6))
def test_fusing_minimises_its_definition(seed, K):
    rng = np.random.default_rng(seed)
    A, fusion = 2 * rng.standard_normal((K, 4)), rng.uniform(0, 1, 4)
    weights = np.repeat(rng.uniform(0, 1, (1, 4)), K, axis=0)
    X = fuse(A, weights, fusion)

    def objective(X):
        return fused_value(X, A, weights, fusion)

    assert smallest(objective, X, 20) >= objective(X) - 1e-13


def test_fusing_many_agrees_with_cvxpy():
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(3)
    A, fusion = 2 * rng.standard_normal((5, 3)), np.array([0.1, 0.4, 2.0])
    weights = np.full((5, 3), 0.3)
    X = cp.Variable((5, 3))
    pairs = sum(cp.abs(X[k] - X[l]) @ fusion for k in range(5) for l in range(k + 1, 5))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(X - A) + 0.3 * cp.sum(cp.abs(X)) + pairs))
    problem.solve(solver="CLARABEL")
    np.testing.assert_allclose(fuse(A, weights, fusion), X.value, atol=1e-6)


@settings(deadline=None)
@given(seeds)
def test_shrinking_together_minimises_its_definition(seed):
    rng = np.random.default_rng(seed)
    A, weights, group = rng.standard_normal((3, 4)), rng.uniform(0, 1, (3, 4)), rng.uniform(0, 1, 4)
    X = shrink_together(A, weights, group)

    def objective(X):
        joint = (group * np.sqrt((X**2).sum(0))).sum()
        return 0.5 * ((X - A) ** 2).sum() + (weights * np.abs(X)).sum() + joint

    assert smallest(objective, X, 20) >= objective(X) - 1e-13


@settings(deadline=None)
@given(seeds, st.integers(1, 8))
def test_tied_thresholds_satisfy_their_optimality_conditions(seed, K):
    """αt − β Σt − r is minus a subgradient of Σ w |t|."""
    rng = np.random.default_rng(seed)
    R, weights = 2 * rng.standard_normal((K, 30)), rng.uniform(0, 2, (K, 30))
    weights[0, :5] = np.inf
    alpha, beta = 1.0 + K / 4.0, 0.25
    T = soft_threshold_tied(R, weights, alpha, beta)
    slope = R + beta * T.sum(axis=0) - alpha * T
    assert (np.abs(slope) <= weights + 1e-12).all()
    free = T != 0
    np.testing.assert_allclose(slope[free], np.sign(T[free]) * weights[free], atol=1e-12)
    assert not T[0, :5].any()


@pytest.mark.parametrize("q", QS)
def test_scaled_columns_satisfy_their_optimality_condition(q):
    """A − X is t times a subgradient: ‖d g‖_s ≤ t, with equality of ⟨g, X⟩ and the penalty."""
    rng = np.random.default_rng(3)
    for spread in (0.0, 1.0, 5.0):
        A = rng.standard_normal((3, 7, 4))
        d = 10.0 ** rng.uniform(-spread, spread, 7)
        t = np.array([0.0, 0.3, 2.0, 1e3]) * np.median(d)
        X = shrink_scaled_columns(A, t, d, q)
        dual = column_norms((A - X) * d[:, None], dual_exponent(q))
        assert (dual <= t * (1 + 1e-10) + 1e-12 * d.max()).all()
        penalty = t * column_norms(X / d[:, None], q)
        inner = ((A - X) * X).sum(axis=-2)
        np.testing.assert_allclose(inner, penalty, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        shrink_scaled_columns(A, np.full(4, 0.7), np.ones(7), q), shrink_columns(A, 0.7, q)
    )
