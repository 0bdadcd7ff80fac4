"""Hull distances against geometry and cvxpy; extreme points against convex hulls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from octavo.svm import approximate_extreme_points, distance_to_hull


def distance2_to_polygon(x, corners):
    """Squared distance of a point outside to a convex polygon, edge by edge."""
    ends = np.roll(corners, -1, axis=0)
    along = ends - corners
    place = np.clip(np.sum((x - corners) * along, axis=1) / np.sum(along**2, axis=1), 0, 1)
    return float(np.min(np.sum((corners + place[:, None] * along - x) ** 2, axis=1)))


@pytest.mark.parametrize("seed", range(3))
def test_distance_to_a_polygon(seed):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(30, 2))
    hull = ConvexHull(R)
    points = 3.0 * rng.normal(size=(40, 2))
    dist2, mu = distance_to_hull(np.sum(points**2, axis=1), points @ R.T, R @ R.T, tol=1e-12)
    inside = np.all(hull.equations[:, :2] @ points.T + hull.equations[:, 2:] <= 0, axis=0)
    polygon = R[hull.vertices]
    expected = [0.0 if i else distance2_to_polygon(x, polygon) for x, i in zip(points, inside)]
    assert 0 < inside.sum() < 40
    np.testing.assert_allclose(dist2, expected, atol=1e-11)
    np.testing.assert_allclose(np.sum((mu @ R - points) ** 2, axis=1), dist2, atol=1e-11)


@pytest.mark.parametrize("kernel", [rbf_kernel, polynomial_kernel])
def test_distance_in_kernel_space_against_cvxpy(kernel):
    import cvxpy as cp

    rng = np.random.default_rng(0)
    x, R = rng.normal(size=(1, 3)), rng.normal(size=(10, 3))
    K_RR, K_xR, K_xx = kernel(R), kernel(x, R)[0], kernel(x)[0, 0]
    dist2, mu = distance_to_hull(K_xx, K_xR, K_RR, tol=1e-11)
    root = np.linalg.cholesky(K_RR + 1e-13 * np.eye(10))
    w = cp.Variable(10)
    goal = cp.Minimize(cp.sum_squares(root.T @ w) - 2 * K_xR @ w)
    best = cp.Problem(goal, [w >= 0, cp.sum(w) == 1]).solve(solver="CLARABEL")
    assert dist2 == pytest.approx(K_xx + best, rel=1e-6)
    assert mu.min() >= 0
    assert mu.sum() == pytest.approx(1.0)
    assert dist2 == pytest.approx(K_xx - 2 * K_xR @ mu + mu @ K_RR @ mu, abs=1e-10)


def test_one_corner_and_duplicates_are_no_trouble():
    assert distance_to_hull(4.0, [2.0], [[1.0]])[0] == pytest.approx(1.0)
    K = np.ones((4, 4))
    dist2, mu = distance_to_hull(np.ones(2), np.ones((2, 4)), K)
    np.testing.assert_allclose(dist2, 0.0, atol=1e-15)
    np.testing.assert_allclose(mu.sum(axis=1), 1.0)


def test_too_few_steps_are_told_with_the_gap():
    rng = np.random.default_rng(0)
    R = rng.normal(size=(20, 5))
    with pytest.warns(ConvergenceWarning, match="too large: max_iter=1"):
        distance_to_hull(0.0, np.zeros(20), R @ R.T, max_iter=1)


@pytest.mark.parametrize("seed", range(3))
def test_linear_kernel_finds_every_vertex_of_the_hull(seed):
    X = np.random.default_rng(seed).normal(size=(200, 2))
    found = approximate_extreme_points(X @ X.T, eps=1e-12)
    assert set(ConvexHull(X).vertices) <= set(found.indices.tolist())
    assert len(found.indices) < 60  # a few that were visited before all vertices were in


def check(found, K, eps):
    """What must hold for any Gram matrix."""
    n, m = found.weights.shape
    assert len(set(found.indices.tolist())) == m
    assert found.weights.min() >= 0
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(found.weights[found.indices], np.eye(m))
    cross, corners = K[:, found.indices], K[np.ix_(found.indices, found.indices)]
    far = (
        K.diagonal()
        - 2 * np.sum(found.weights * cross, axis=1)
        + np.sum((found.weights @ corners) * found.weights, axis=1)
    )
    np.testing.assert_allclose(found.error, np.maximum(far, 0), atol=1e-9 * K.diagonal().max())
    assert found.error.max() <= eps + 1e-12


@given(
    st.integers(0, 10_000),
    st.integers(2, 40),
    st.sampled_from([1e-3, 1e-2, 0.1, 1.0]),
    st.sampled_from([0.1, 1.0, 10.0]),
    st.booleans(),
)
def test_every_point_is_within_eps(seed, n, eps, gamma, resolve):
    X = np.random.default_rng(seed).integers(0, 5, (n, 2)) / 4.0  # with duplicates
    K = rbf_kernel(X, gamma=gamma)
    check(approximate_extreme_points(K, eps, resolve=resolve), K, eps)


def test_resolving_brings_points_closer():
    X = np.random.default_rng(0).uniform(size=(300, 2))
    K = rbf_kernel(X, gamma=4.0)
    kept = approximate_extreme_points(K, resolve=False)
    anew = approximate_extreme_points(K)
    np.testing.assert_array_equal(kept.indices, anew.indices)
    assert np.all(anew.error <= kept.error + 1e-15)
    best, _ = distance_to_hull(
        K.diagonal(), K[:, anew.indices], K[np.ix_(anew.indices, anew.indices)]
    )
    # The weights are computed to a gap of a tenth of eps.
    assert np.all(anew.error <= best + 1e-3 + 1e-9)
    check(kept, K, 1e-2)


def test_polynomial_kernel_starts_with_the_ball_not_the_shortest_vector():
    X = np.random.default_rng(1).normal(size=(80, 2))
    K = polynomial_kernel(X, degree=2, gamma=1.0, coef0=1.0)
    check(approximate_extreme_points(K, 1e-2), K, 1e-2)


def test_tiny_eps_keeps_all_distinct_points():
    X = np.random.default_rng(0).uniform(size=(25, 2))
    found = approximate_extreme_points(rbf_kernel(X, gamma=50.0), 1e-12)
    assert sorted(found.indices.tolist()) == list(range(25))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: approximate_extreme_points(np.eye(3), 0.0), "eps must be greater than 0, got 0.0"),
        (lambda: approximate_extreme_points(np.eye(3), -1.0), "eps must be greater than 0"),
        (lambda: approximate_extreme_points(np.eye(3), max_iter=0), "max_iter"),
        (lambda: approximate_extreme_points(np.ones((2, 3))), "gram must be square"),
        (lambda: approximate_extreme_points([[1, 2], [0, 1]]), "gram must be symmetric"),
        (lambda: approximate_extreme_points([[1, np.nan], [0, 1]]), "NaN"),
        (lambda: distance_to_hull(1.0, [1.0, 2.0], np.eye(3)), "3 corners of K_RR"),
        (lambda: distance_to_hull([1.0, 1.0], np.eye(3), np.eye(3)), "each of the 2 values"),
        (lambda: distance_to_hull(1.0, np.ones(3), np.eye(3), tol=0.0), "tol must be greater"),
        (lambda: distance_to_hull(np.nan, np.ones(3), np.eye(3)), "NaN"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
