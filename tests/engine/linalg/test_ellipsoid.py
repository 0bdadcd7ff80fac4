"""The ellipsoid of least volume: cvxpy, closed forms, designs, and what may be discarded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.linalg.ellipsoid import (
    SOLVERS,
    Stop,
    cutting_plane,
    enclosing_ellipsoid,
    frank_wolfe,
    greedy_start,
    leverages,
    may_touch,
    newton_steps,
    violation,
    whiten,
)

FAST = ("fw", "cutting-plane")
each_fast = pytest.mark.parametrize("method", FAST)


def solved(points, method="fw", gap=1e-9):
    return enclosing_ellipsoid(points, Stop.at_gap(gap, points.shape[1], 100_000), method=method)


def log_det(matrix):
    return np.linalg.slogdet(matrix)[1]


def primal_by_cvxpy(points):
    """Minimise -log det L subject to ||B p|| ≤ 1 with L = BᵀB: another form than the engine's."""
    cp = pytest.importorskip("cvxpy")
    root = cp.Variable((points.shape[1],) * 2, PSD=True)
    problem = cp.Problem(cp.Maximize(cp.log_det(root)), [cp.norm(points @ root, axis=1) <= 1])
    problem.solve(solver=cp.CLARABEL)
    return root.value @ root.value


@each_fast
@pytest.mark.parametrize("d", [3, 4, 5, 6])
def test_equals_cvxpy(method, d):
    points = np.random.default_rng(d).standard_normal((50, d)) @ np.diag(np.arange(1.0, d + 1))
    found = solved(points, method)
    reference = primal_by_cvxpy(points)
    # Clarabel stops at a relative gap of 1e-8 in an objective of order ten.
    assert abs(log_det(found.shape) - log_det(reference)) < 1e-5
    # -log det L is strongly convex at its minimum: an error e in it is sqrt(e) in L.
    relative = np.linalg.norm(found.shape - reference) / np.linalg.norm(reference)
    assert relative < np.sqrt(1e-5)


def test_reference_method_agrees():
    pytest.importorskip("cvxpy")
    points = np.random.default_rng(1).standard_normal((40, 3))
    reference = enclosing_ellipsoid(points, Stop.at_gap(1e-5, 3, 100), method="cvxpy")
    # Each is within its own gap of the minimum.
    assert reference.gap < 1e-4
    assert abs(log_det(reference.shape) - log_det(solved(points).shape)) <= reference.gap + 1e-9


@each_fast
def test_basis_has_a_closed_form(method):
    """Proposition 3: around ±g_j of an invertible G, L = (G Gᵀ)⁻¹ and every weight is 1/d."""
    G = np.random.default_rng(0).standard_normal((5, 5))
    inside = np.random.default_rng(1).dirichlet(np.ones(5), 60) @ G
    found = solved(np.vstack([inside, G]), method)
    # Within a gap e, weights are off by sqrt(e) at most in order of magnitude.
    np.testing.assert_allclose(found.weights[60:], 0.2, atol=1e-4)
    exact = np.linalg.inv(G.T @ G)
    np.testing.assert_allclose(found.shape, exact, atol=1e-4 * np.abs(exact).max())


@each_fast
def test_one_dimension(method):
    points = np.array([[0.5], [-3.0], [2.0]])
    found = solved(points, method)
    assert found.shape.item() == pytest.approx(1 / 9)
    np.testing.assert_array_equal(found.weights, [0, 1, 0])
    assert found.gap == 0.0


@each_fast
@pytest.mark.parametrize("d", [2, 3, 7])
def test_cross_polytope_cube_and_simplex_give_balls(method, d):
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T
    simplex = np.vstack([np.eye(d), (1 - np.sqrt(1 + d)) / d * np.ones(d)])
    simplex -= simplex.mean(axis=0)
    for points, radius in (
        (np.eye(d), 1.0),
        (cube, np.sqrt(d)),
        (simplex, np.linalg.norm(simplex[0])),
    ):
        ball = np.eye(d) / radius**2
        np.testing.assert_allclose(solved(points, method).shape, ball, atol=1e-4 / radius**2)


@pytest.mark.parametrize("method", SOLVERS)
def test_certificate_is_recomputed_from_the_weights(method):
    if method == "cvxpy":
        pytest.importorskip("cvxpy")
    points = np.random.default_rng(2).standard_normal((300, 5)) * 100.0
    found = solved(points, method, gap=1e-6)
    moment = (points * found.weights[:, None]).T @ points
    w = np.einsum("ij,jk,ik->i", points, np.linalg.inv(moment), points)
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.weights.min() >= 0
    assert found.gap == pytest.approx(5 * np.log(w.max() / 5), abs=1e-10)
    np.testing.assert_allclose(found.contact, w / w.max(), rtol=1e-9)
    # The gap is what the two objectives differ by, and L encloses all points.
    primal, dual = -log_det(found.shape), log_det(moment) + 5 * np.log(5)
    assert primal - dual == pytest.approx(found.gap, abs=1e-10)
    assert np.einsum("ij,jk,ik->i", points, found.shape, points).max() <= 1 + 1e-12


@each_fast
def test_kiefer_wolfowitz(method):
    """At the optimum the largest variance of a D-optimal design equals the dimension."""
    points = np.random.default_rng(3).uniform(-1, 1, (400, 6))
    found = solved(points, method)
    w = leverages(points, found.weights)[0]
    assert w.max() == pytest.approx(6, rel=1e-9)
    assert w[found.weights > 0].min() == pytest.approx(6, rel=1e-8)
    assert found.weights @ w == pytest.approx(6)


def test_quadratic_regression_has_its_textbook_design():
    """D-optimal for a + bx + cx² on [-1, 1]: a third each at -1, 0 and 1."""
    x = np.linspace(-1, 1, 201)
    found = solved(np.column_stack([np.ones_like(x), x, x**2]))
    np.testing.assert_allclose(found.weights[[0, 100, 200]], 1 / 3, atol=1e-4)


@each_fast
def test_cubic_regression_on_a_fine_grid(method):
    """Neighbours differ by 1e-3: steps creep, and Newton's must follow. The design is ±1, ±1/√5."""
    x = np.linspace(-1, 1, 2_001)
    found = solved(np.vander(x, 4), method, gap=1e-10)
    assert found.gap <= 1e-10
    assert found.n_iter < 10_000
    for place in (-1, -np.sqrt(0.2), np.sqrt(0.2), 1):
        # ±1/√5 is no point of the grid: its two neighbours share the weight.
        assert found.weights[np.abs(x - place) <= 1e-3].sum() == pytest.approx(0.25, abs=1e-4)


def test_newton_steps_are_exact():
    points = np.random.default_rng(8).standard_normal((60, 4))
    start, stop = greedy_start(points), Stop.at_gap(1e-11, 4, 100_000)
    u, n_steps = newton_steps(points, start, stop, max_steps=50)
    assert n_steps < 50
    assert violation(leverages(points, u)[0], u, stop) <= 1.0
    np.testing.assert_allclose(u, solved(points, gap=1e-10).weights, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(2, 5))
def test_affine_equivariance(seed, d):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((30, d))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0] * rng.uniform(0.1, 10, d)
    plain, moved = solved(points), solved(points @ turn.T)
    back = turn.T @ moved.shape @ turn
    assert abs(log_det(back) - log_det(plain.shape)) < 2e-9
    np.testing.assert_allclose(moved.contact, plain.contact, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_point_of_contact_is_discarded(seed):
    """From any weights, the bound keeps every point that supports the optimum."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((60, 4))
    best = solved(points)
    support = best.weights > 1e-6
    for weights in (greedy_start(points), np.full(60, 1 / 60), rng.dirichlet(np.ones(60))):
        assert may_touch(leverages(points, weights)[0], 4)[support].all()


def test_discarding_changes_nothing():
    points = np.random.default_rng(4).standard_normal((5_000, 6))
    start, stop = greedy_start(points), Stop.at_gap(1e-9, 6, 100_000)
    kept = frank_wolfe(points, start, stop, eliminate=False)[0]
    dropped = frank_wolfe(points, start, stop, eliminate=True)[0]
    np.testing.assert_array_equal(kept > 0, dropped > 0)
    np.testing.assert_allclose(kept, dropped, atol=1e-4)


def test_cutting_planes_need_few_points():
    points = np.random.default_rng(5).standard_normal((5_000, 5))
    sizes = []

    def inner(subset, weights, stop):
        sizes.append(len(subset))
        return frank_wolfe(subset, weights, stop)

    stop = Stop.at_gap(1e-7, 5, 100_000)
    u = cutting_plane(points, greedy_start(points), stop, inner=inner)[0]
    assert leverages(points, u)[0].max() <= 5 * (1 + stop.excess)
    assert sizes[0] == 5
    assert max(sizes) <= 5 + len(points) / 5


def test_whitening_and_start():
    points = np.random.default_rng(6).standard_normal((50, 4)) * [1e-9, 1.0, 1e3, 1e9]
    white, r = whiten(points)
    np.testing.assert_allclose(white.T @ white / 50, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(white @ r, points, rtol=1e-9)
    start = greedy_start(white)
    assert np.linalg.matrix_rank(white[start > 0]) == 4
    assert solved(points).gap <= 1e-9  # scales that differ by 1e18


def test_steps_run_out():
    points = np.random.default_rng(7).standard_normal((500, 6))
    found = enclosing_ellipsoid(points, Stop.at_gap(1e-9, 6, 3), method="fw")
    assert found.n_iter == 3
    assert not found.converged
    assert found.gap > 1e-9
    assert np.einsum("ij,jk,ik->i", points, found.shape, points).max() <= 1 + 1e-12


def test_a_caller_can_stop():
    points = np.random.default_rng(7).standard_normal((500, 6))
    stop = Stop.at_gap(1e-12, 6, 100_000)
    assert enclosing_ellipsoid(points, stop, method="fw", step=lambda: True).n_iter == 0


@pytest.mark.parametrize(
    ("points", "rank"),
    [(np.zeros((5, 2)), 0), (np.ones((5, 3)), 1), (np.eye(4)[:3], 3)],
    ids=["zero", "line", "few"],
)
def test_flat_points_are_refused(points, rank):
    with pytest.raises(ValueError, match=f"span {rank} of {points.shape[1]} dimensions"):
        solved(points)
