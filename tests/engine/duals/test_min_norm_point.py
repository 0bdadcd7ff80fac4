"""The nearest point of a polytope against cvxpy and closed forms."""

import numpy as np
import pytest

from octavo.engine.duals.min_norm_point import min_norm_point


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_cvxpy_finds(seed):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.RandomState(seed)
    P = rng.normal(size=(12, 5)) + rng.normal(size=5)
    w = cp.Variable(12, nonneg=True)
    cp.Problem(cp.Minimize(cp.sum_squares(P.T @ w)), [cp.sum(w) == 1]).solve(solver="CLARABEL")
    found = min_norm_point(P)
    np.testing.assert_allclose(found.point, P.T @ w.value, atol=1e-5)  # of its interior points
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1)
    assert found.gap <= 1e-10


def test_origin_inside():
    corners = np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    np.testing.assert_allclose(min_norm_point(corners).point, 0, atol=1e-12)


def test_a_segment_and_equal_points():
    P = np.array([[1.0, 1.0], [1.0, -3.0], [1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(min_norm_point(P).point, [1, 0], atol=1e-12)
    np.testing.assert_allclose(min_norm_point(P[:1]).point, [1, 1])


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_scale(scale):
    P = np.random.RandomState(0).normal(size=(9, 4)) + 1
    one, two = min_norm_point(P).point, min_norm_point(scale * P).point
    np.testing.assert_allclose(two, scale * one, rtol=1e-7, atol=1e-9 * scale)
