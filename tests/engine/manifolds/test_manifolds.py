"""Retractions are of first order, gradients are those of finite differences, points stay points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from octavo.engine.manifolds.fixed_rank import PSDFlat, PSDPolar, polar_point
from octavo.engine.manifolds.grassmann import GrassmannQF, orthonormal_factor


def quadratic(seed, d=6, n=30):
    """Return f(W) = ½ mean (aᵀWa - y)² and its gradient M."""
    rng = np.random.default_rng(seed)
    A, y = rng.standard_normal((n, d)), rng.random(n)

    def value(W):
        return 0.5 * np.mean((np.einsum("ni,ij,nj->n", A, W, A) - y) ** 2)

    def gradient(W):
        e = np.einsum("ni,ij,nj->n", A, W, A) - y
        return (A.T * e) @ A / n

    return value, gradient


def test_the_slope_along_the_flat_retraction_is_minus_the_squared_norm():
    value, gradient = quadratic(0)
    G = np.random.default_rng(1).standard_normal((6, 2)) / 3
    xi = PSDFlat().gradient(G, gradient(G @ G.T) @ G)

    def f(s):
        moved = PSDFlat().retract(G, -xi, s)
        return value(moved @ moved.T)

    assert (f(1e-6) - f(-1e-6)) / 2e-6 == pytest.approx(-(PSDFlat().norm(G, xi) ** 2), rel=1e-6)
    np.testing.assert_allclose(PSDFlat().proj(G, xi), xi, atol=1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_the_slope_along_the_polar_retraction_is_minus_the_squared_norm(lam):
    value, gradient = quadratic(2)
    rng = np.random.default_rng(3)
    U, R = polar_point(rng.standard_normal((6, 3)) / 3)
    R = R @ np.linalg.qr(rng.standard_normal((3, 3)))[0]  # any square root serves
    manifold = PSDPolar(lam)
    M = gradient(U @ R @ R.T @ U.T)
    first, second = manifold.gradient((U, R), M @ U)

    def f(s):
        V, T = manifold.retract((U, R), (-first, -second), s)
        return value(V @ T @ T.T @ V.T)

    expected = -(manifold.norm((U, R), (first, second)) ** 2)
    assert (f(1e-6) - f(-1e-6)) / 2e-6 == pytest.approx(expected, rel=1e-6)


def test_the_root_matters_in_second_order_only():
    # qf(YO) is not qf(Y)O, so that Eqs. (18) and (19) are a retraction, but none of the quotient.
    _, gradient = quadratic(4)
    rng = np.random.default_rng(5)
    U, R = polar_point(rng.standard_normal((6, 3)))
    O = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    M = gradient(U @ R @ R.T @ U.T)
    turned = (U @ O, O.T @ R)

    def gap(step):
        one = PSDPolar().retract((U, R), PSDPolar().gradient((U, R), M @ U), -step)
        two = PSDPolar().retract(turned, PSDPolar().gradient(turned, M @ U @ O), -step)
        G, H = one.U @ one.R, two.U @ two.R
        return np.linalg.norm(G @ G.T - H @ H.T)

    assert gap(0.0) < 1e-12
    assert gap(1e-4) / gap(1e-5) == pytest.approx(100.0, rel=0.05)


def test_horizontal_directions_have_a_symmetric_product_with_the_point():
    rng = np.random.default_rng(6)
    G, D = rng.standard_normal((5, 3)), rng.standard_normal((5, 3))
    xi = PSDFlat().proj(G, D)
    np.testing.assert_allclose(G.T @ xi, xi.T @ G, atol=1e-12)
    vertical = D - xi
    skew = np.linalg.lstsq(G, vertical, rcond=None)[0]
    np.testing.assert_allclose(G @ skew, vertical, atol=1e-12)
    np.testing.assert_allclose(skew, -skew.T, atol=1e-12)


def test_the_exponential_moves_by_its_principal_angles():
    rng = np.random.default_rng(7)
    U = np.linalg.qr(rng.standard_normal((7, 2)))[0]
    xi = 0.3 * GrassmannQF().proj(U, rng.standard_normal((7, 2)))
    moved = GrassmannQF().exp(U, xi)
    np.testing.assert_allclose(moved.T @ moved, np.eye(2), atol=1e-12)
    angles = np.sort(np.linalg.svd(xi, compute_uv=False))
    np.testing.assert_allclose(np.sort(subspace_angles(U, moved)), angles, atol=1e-7)
    # QR agrees with the geodesic to the first order: a thousandth of a step, a millionth of error.
    near, exact = (
        GrassmannQF().retract(U, xi, 1e-3),
        GrassmannQF().exp(U, xi, 1e-3),
    )
    assert np.linalg.norm(near @ near.T - exact @ exact.T) < 1e-6


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(-3.0, 3.0))
def test_polar_points_keep_their_rank_and_their_basis_orthonormal(seed, step):
    rng = np.random.default_rng(seed)
    point = polar_point(rng.standard_normal((5, 2)))
    S = rng.standard_normal((2, 2))
    tangent = PSDPolar().proj(point, (rng.standard_normal((5, 2)), S))
    U, R = PSDPolar().retract(point, tangent, step)
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-12)
    assert np.linalg.matrix_rank(U @ R) == 2


def test_the_orthonormal_factor_has_a_positive_diagonal():
    Y = np.random.default_rng(8).standard_normal((6, 3))
    Q, T = orthonormal_factor(Y)
    np.testing.assert_allclose(Q @ T, Y, atol=1e-12)
    assert (np.diagonal(T) > 0).all()


def test_weights_at_the_ends_freeze_one_part():
    rng = np.random.default_rng(9)
    point = polar_point(rng.standard_normal((5, 2)))
    MU = rng.standard_normal((5, 2))
    assert not PSDPolar(0.0).gradient(point, MU)[0].any()
    assert not PSDPolar(1.0).gradient(point, MU)[1].any()
    assert PSDPolar(0.0).norm(point, (np.ones((5, 2)), np.eye(2))) == np.inf
