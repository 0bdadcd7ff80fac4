"""Ellipsoids with and without a free centre, beside cvxpy and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from octavo.decomposition import min_volume_ellipsoid

each_fast = pytest.mark.parametrize("method", ["fw", "cutting-plane"])


def log_det(matrix):
    return np.linalg.slogdet(matrix)[1]


def inside(points, found):
    z = points - found.center
    return np.einsum("ij,jk,ik->i", z, found.L, z)


@each_fast
@pytest.mark.parametrize("d", [2, 3, 4])
def test_free_centre_equals_cvxpy(method, d):
    """||B p - c|| ≤ 1 with B positive definite is the program of the textbooks."""
    cp = pytest.importorskip("cvxpy")
    points = np.random.default_rng(d).standard_normal((40, d)) + np.arange(d) * 10
    root, shift = cp.Variable((d, d), PSD=True), cp.Variable((1, d))
    outside = cp.norm(points @ root - np.ones((40, 1)) @ shift, axis=1)
    problem = cp.Problem(cp.Maximize(cp.log_det(root)), [outside <= 1])
    problem.solve(solver=cp.CLARABEL)
    found = min_volume_ellipsoid(points, centered=False, method=method)
    # 1e-8 is Clarabel's own relative gap, in an objective of order ten; found.gap is ours.
    assert abs(log_det(found.L) - 2 * problem.value) < 1e-5
    centre = np.linalg.solve(root.value, shift.value.ravel())
    assert np.sqrt((found.center - centre) @ found.L @ (found.center - centre)) < np.sqrt(1e-5)


@each_fast
@pytest.mark.parametrize("centered", [True, False])
def test_gap_bounds_the_distance_to_the_optimum(method, centered):
    points = np.random.default_rng(0).standard_normal((200, 4)) + 1.0
    rough = min_volume_ellipsoid(points, centered=centered, method=method, tol=1e-2)
    fine = min_volume_ellipsoid(points, centered=centered, method=method, tol=1e-10)
    excess = log_det(fine.L) - log_det(rough.L)
    assert -1e-10 <= excess <= rough.gap
    assert fine.gap <= 1e-10
    for found in (rough, fine):
        assert inside(points, found).max() <= 1 + 1e-12
        np.testing.assert_allclose(inside(points, found), found.contact, atol=1e-9)


def test_one_dimension_is_half_the_range():
    found = min_volume_ellipsoid([[1.0], [7.0], [3.0]], centered=False)
    assert found.center.item() == pytest.approx(4.0)
    assert found.L.item() == pytest.approx(1 / 9)
    centred = min_volume_ellipsoid([[1.0], [-7.0], [3.0]])
    assert centred.L.item() == pytest.approx(1 / 49)
    assert centred.active.tolist() == [1]


def test_simplex_has_its_centroid():
    """Around a simplex with vertices v the centre is their mean, and each weighs the same."""
    vertices = np.random.default_rng(1).standard_normal((5, 4)) * 3 + 50
    found = min_volume_ellipsoid(vertices, centered=False, tol=1e-10)
    np.testing.assert_allclose(found.center, vertices.mean(axis=0), atol=1e-4)
    np.testing.assert_allclose(found.weights, 0.2, atol=1e-4)
    assert found.active.tolist() == [0, 1, 2, 3, 4]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 4))
def test_translation_and_permutation(seed, d):
    rng = np.random.default_rng(seed)
    points, shift, order = rng.standard_normal((25, d)), rng.normal(0, 100, d), rng.permutation(25)
    plain = min_volume_ellipsoid(points, centered=False, tol=1e-9)
    moved = min_volume_ellipsoid((points + shift)[order], centered=False, tol=1e-9)
    assert log_det(moved.L) == pytest.approx(log_det(plain.L), abs=1e-8)
    # 1e-9 in log det is 3e-5 in the centre, in the norm of the ellipsoid.
    off = moved.center - shift - plain.center
    assert off @ plain.L @ off < 1e-8
    np.testing.assert_allclose(moved.contact, plain.contact[order], atol=1e-3)


def test_active_points_carry_the_weight():
    points = np.random.default_rng(2).standard_normal((1_000, 5))
    found = min_volume_ellipsoid(points)
    assert 5 <= len(found.active) <= 15  # Lemma 11, and Carathéodory: d(d + 1)/2
    assert found.weights[found.active].sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_a_hundred_thousand_points_in_twenty_dimensions():
    points = np.random.default_rng(0).standard_normal((100_000, 20))
    found = min_volume_ellipsoid(points)
    assert found.gap <= 1e-7
    assert inside(points, found).max() <= 1 + 1e-12


def test_too_few_steps_warn_with_the_gap():
    points = np.random.default_rng(3).standard_normal((500, 5))
    with pytest.warns(ConvergenceWarning, match=r"duality gap of the ellipsoid is [\d.e+-]+"):
        found = min_volume_ellipsoid(points, max_iter=2)
    assert inside(points, found).max() <= 1 + 1e-12


@pytest.mark.parametrize(
    ("points", "options", "words"),
    [
        ([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], {}, "span 1 of 2 dimensions"),
        ([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]], {"centered": False}, "hyperplane"),
        ([[2.0, 2.0]] * 4, {"centered": False}, "hyperplane"),
        ([[0.0, 0.0]] * 4, {}, "span 0 of 2"),
        ([[1.0, np.nan], [0.0, 1.0]], {}, "NaN"),
        (np.ones((2, 2, 2)), {}, "dim 3"),
        (np.empty((0, 2)), {}, "0 sample"),
        (np.eye(2), {"method": "newton"}, "method must be one of"),
        (np.eye(2), {"tol": 0.0}, "tol must be greater than 0"),
        (np.eye(2), {"tol": np.nan}, "tol must be greater than 0"),
        (np.eye(2), {"max_iter": 0}, "max_iter must be greater than 0"),
    ],
    ids=range(11),
)
def test_bad_input(points, options, words):
    with pytest.raises(ValueError, match=words):
        min_volume_ellipsoid(points, **options)
