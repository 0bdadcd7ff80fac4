"""Mixing beside plain iteration of an affine map, whose fixed point is known."""

import numpy as np
import pytest

from octavo.engine.smooth.anderson import AndersonMixing


@pytest.mark.parametrize("order", ["C", "F"])
def test_affine_map_of_few_slow_directions_ends_in_as_many_steps(order):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    rates = np.r_[0.9, 0.7, 0.5, np.zeros(9)]
    A, b = turn * rates @ turn.T, rng.standard_normal(12)
    exact = np.linalg.solve(np.eye(12) - A, b)
    mixing, point = AndersonMixing(depth=4), np.zeros((3, 4), order=order)
    for _ in range(6):
        image = np.asarray((A @ point.ravel() + b).reshape(3, 4), order=order)
        point = mixing(point, image)
    np.testing.assert_allclose(point.ravel(), exact, rtol=1e-8)


def test_weights_add_up_to_one_and_leave_the_least_of_the_steps():
    """Of the last depth + 1 pairs, by Lagrange: w is G⁻¹1 over its sum, G the steps' products."""
    rng = np.random.default_rng(1)
    points, images = rng.standard_normal((2, 9, 7))
    mixing = AndersonMixing(depth=3)
    for t in range(9):
        known = slice(max(0, t - 3), t + 1)
        steps = images[known] - points[known]
        w = np.linalg.solve(steps @ steps.T, np.ones(len(steps)))
        expected = w / w.sum() @ images[known]
        np.testing.assert_allclose(mixing(points[t], images[t]), expected, rtol=1e-8)


def test_first_point_is_the_image_and_nothing_is_remembered():
    mixing = AndersonMixing(depth=2)
    for value in (1.0, 3.0, 4.0, 9.0):
        mixing(np.zeros(2), np.full(2, value))
    mixing.forget()
    image = np.array([1.0, 2.0])
    np.testing.assert_array_equal(mixing(np.zeros(2), image), image)
