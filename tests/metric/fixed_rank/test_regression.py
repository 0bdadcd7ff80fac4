"""Fixed-rank regression against least squares, an SDP, autograd-free derivatives and symmetries."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.linalg.pair_differences import TableRows
from octavo.metric import FixedRankPSDRegressor
from octavo.metric.fixed_rank.descent import FULL_RANK, GEOMETRIES, descend, start_walk
from octavo.metric.fixed_rank.last_steps import hessian_product
from octavo.metric.fixed_rank.losses import half_mean_square, residuals

TIGHT = {"tol": 1e-13, "max_iter": 50_000}


def toy(seed=0, n=200, d=8, r=3, noise=0.1):
    """Return rows, targets of Eq. (28) and the matrix behind them."""
    rng = np.random.default_rng(seed)
    A, G = rng.standard_normal((n, d)), rng.standard_normal((d, r))
    return A, ((A @ G) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(n)), G @ G.T


def matrix(model):
    return model.components_ @ model.components_.T


def least_squares(A, y):
    """Return the unconstrained minimiser over symmetric matrices, and its cost."""
    F = np.einsum("ni,nj->nij", A, A).reshape(len(A), -1)
    w = np.linalg.lstsq(F, y, rcond=None)[0]
    return w.reshape(A.shape[1], -1), 0.5 * np.mean((F @ w - y) ** 2)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_full_rank_equals_least_squares_where_that_is_positive(geometry):
    A, y, _ = toy(seed=1, d=4, r=4)
    W, cost = least_squares(A, y)
    assert np.linalg.eigvalsh(W)[0] > 0.01
    model = FixedRankPSDRegressor(None, geometry, **TIGHT).fit(A, y)
    assert model.objective_ == pytest.approx(cost, rel=1e-6)
    np.testing.assert_allclose(matrix(model), W, atol=1e-3)


def test_full_rank_equals_the_semidefinite_program_where_least_squares_is_not_positive():
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(2)
    A, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
    W = cvxpy.Variable((5, 5), PSD=True)
    predicted = cvxpy.hstack([cvxpy.trace(W @ np.outer(a, a)) for a in A])
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(predicted - y) / 120))
    problem.solve(solver="CLARABEL")
    assert np.linalg.eigvalsh(least_squares(A, y)[0])[0] < -0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # negative targets, and a rank that they do not need
        model = FixedRankPSDRegressor(None, "flat", **TIGHT).fit(A, y)
    assert model.objective_ == pytest.approx(problem.value, abs=1e-6)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))]
)
def test_flat_and_polar_reach_the_same_cost(seed):
    A, y, W = toy(seed)
    flat, polar = (
        FixedRankPSDRegressor(3, geometry, **TIGHT).fit(A, y) for geometry in ("flat", "polar")
    )
    assert flat.objective_ == pytest.approx(polar.objective_, rel=1e-6)
    at_truth = 0.5 * np.mean((np.einsum("ni,ij,nj->n", A, W, A) - y) ** 2)
    assert least_squares(A, y)[1] <= flat.objective_ <= at_truth


def test_a_quasi_newton_method_finds_nothing_lower():
    A, y, _ = toy(7)
    model = FixedRankPSDRegressor(3, "flat", **TIGHT).fit(A, y)

    def cost(g):
        G = g.reshape(8, 3)
        P = A @ G
        e = (P**2).sum(axis=1) - y
        return 0.5 * np.mean(e**2), (2 * A.T @ (e[:, None] * P) / len(y)).ravel()

    found = minimize(cost, model.components_.ravel(), jac=True, options={"gtol": 1e-12})
    assert model.objective_ - found.fun < 1e-9 * model.objective_
    assert np.abs(cost(model.components_.ravel())[1]).max() < 1e-3  # a stationary point


@pytest.mark.parametrize(("n", "d", "r"), [(200, 6, 2), (2000, 100, 5), (800, 50, 5)])
def test_pymanopt_finds_nothing_lower(n, d, r):
    pymanopt = pytest.importorskip("pymanopt")
    A, y, _ = toy(3, n=n, d=d, r=r)
    manifold = pymanopt.manifolds.PSDFixedRank(d, r)

    @pymanopt.function.numpy(manifold)
    def cost(Y):
        return 0.5 * np.mean((((A @ Y) ** 2).sum(axis=1) - y) ** 2)

    @pymanopt.function.numpy(manifold)
    def gradient(Y):
        P = A @ Y
        return 2 * A.T @ (((P**2).sum(axis=1) - y)[:, None] * P) / len(y)

    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    solver = pymanopt.optimizers.ConjugateGradient(
        verbosity=0, min_gradient_norm=1e-9, max_iterations=5000
    )
    start = FixedRankPSDRegressor(r, max_iter=1, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start.fit(A, y)
    theirs = solver.run(problem, initial_point=start.components_).cost
    for geometry in ("flat", "polar"):
        model = FixedRankPSDRegressor(r, geometry, tol=1e-12, max_iter=5000)
        assert model.fit(A, y).objective_ <= theirs + 1e-6


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("relation", [None, "mixed"])
def test_slopes_and_predictions_along_the_curve_are_those_of_differences(geometry, relation):
    d, r = (5, 5) if geometry in FULL_RANK else (5, 2)
    rng = np.random.default_rng(4)
    A, y = rng.standard_normal((30, d)), rng.random(30) * 3
    relation = None if relation is None else rng.integers(-1, 2, 30)
    walk = start_walk(TableRows(A), rng.standard_normal((d, r)), geometry, 0.3)

    def f(step):
        return half_mean_square(residuals(walk.predictions_at(step), y, relation))

    e = residuals(walk.predictions(), y, relation)
    slope = walk.aim(e / len(y))
    assert f(0.0) == pytest.approx(half_mean_square(e), rel=1e-12)
    h = 1e-6 / np.sqrt(slope)
    assert (f(h) - f(-h)) / (2 * h) == pytest.approx(-slope, rel=1e-5)
    step = 0.1 / np.sqrt(slope)
    expected = walk.predictions_at(step)
    walk.move(step)
    np.testing.assert_allclose(walk.predictions(), expected, rtol=1e-9)
    G = walk.factor()
    np.testing.assert_allclose(((A @ G) ** 2).sum(axis=1), expected, rtol=1e-9)


def test_conjugate_directions_have_the_slopes_of_differences_and_get_lower():
    A, y, _ = toy(3, n=60, d=12, r=2)
    relation = np.random.default_rng(4).integers(-1, 2, 60)
    G = np.random.default_rng(5).standard_normal((12, 2))
    walk, turned = start_walk(TableRows(A), G, "conjugate"), False

    def f(step):
        return half_mean_square(residuals(walk.predictions_at(step), y, relation))

    for _ in range(30):  # beyond the steps after which products are computed anew
        slope = walk.aim(residuals(walk.predictions(), y, relation) / len(y))
        turned |= slope != pytest.approx(float(np.sum(walk._xi**2)), rel=1e-6)
        h = 1e-6 / np.sqrt(slope)
        # A difference of costs keeps fewer digits the smaller the slope is beside the cost.
        assert (f(h) - f(-h)) / (2 * h) == pytest.approx(-slope, rel=1e-4)
        step = min(np.geomspace(1e-6, 1e2, 81), key=f)
        expected = walk.predictions_at(step)
        walk.move(step)
        np.testing.assert_allclose(((A @ walk.factor()) ** 2).sum(axis=1), expected, rtol=1e-9)
    assert turned  # not the gradient alone
    ends = {
        name: descend(start_walk(TableRows(A), G, name), y, relation, tol=0.0, max_iter=60).costs
        for name in ("flat", "conjugate")
    }
    assert ends["conjugate"][-1] < ends["flat"][-1]
    assert (np.diff(ends["conjugate"]) <= 0).all()


def test_the_von_neumann_direction_is_not_the_gradient_of_its_cost():
    # Section 5.3 prints it as such; along the true gradient the slope is its squared length.
    rng = np.random.default_rng(5)
    A, y, G = rng.standard_normal((30, 4)), rng.random(30), rng.standard_normal((4, 4))
    slopes = {}
    for name in ("log_euclidean", "log_euclidean_gradient"):
        walk = start_walk(TableRows(A), G, name)
        slopes[name] = walk.aim(residuals(walk.predictions(), y, None) / 30)
        length = float(np.sum(walk._direction**2))
        if name == "log_euclidean":
            assert abs(slopes[name] - length) > 0.1 * length
        else:
            assert slopes[name] == pytest.approx(length, rel=1e-9)


@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_iterates_turn_with_the_data(geometry):
    A, y, _ = toy(6)
    O = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    options = {"tol": 0.0, "max_iter": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        G0 = np.random.default_rng(1).standard_normal((8, 3))
        plain = FixedRankPSDRegressor(3, geometry, init=G0, **options).fit(A, y)
        turned = FixedRankPSDRegressor(3, geometry, init=O @ G0, **options).fit(A @ O.T, y)
    np.testing.assert_allclose(matrix(turned), O @ matrix(plain) @ O.T, atol=1e-8)


def test_polar_iterates_scale_with_the_targets():
    A, y, _ = toy(8)
    G0 = np.random.default_rng(1).standard_normal((8, 3))
    options = {"tol": 0.0, "max_iter": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = FixedRankPSDRegressor(3, init=G0, **options).fit(A, y)
        other = FixedRankPSDRegressor(3, init=np.sqrt(1024.0) * G0, **options).fit(A, 1024.0 * y)
    np.testing.assert_allclose(matrix(other), 1024.0 * matrix(one), rtol=1e-8)


def test_the_ends_of_lam_freeze_a_part():
    A, y, _ = toy(9)
    G0 = np.linalg.qr(np.random.default_rng(2).standard_normal((8, 3)))[0]
    inner = FixedRankPSDRegressor(3, lam=0.0, init=G0).fit(A, y)
    assert np.max(subspace_angles(inner.basis_, G0)) < 1e-7
    outer = FixedRankPSDRegressor(3, lam=1.0, init=G0).fit(A, y)
    np.testing.assert_allclose(outer.R_ @ outer.R_.T, np.eye(3), atol=1e-10)
    assert np.max(subspace_angles(outer.basis_, G0)) > 0.1


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["flat", "polar"]), st.floats(0.05, 0.95))
def test_costs_fall_and_ranks_stay(seed, geometry, lam):
    A, y, _ = toy(seed, n=40, d=5, r=2)
    model = FixedRankPSDRegressor(2, geometry, lam, tol=1e-3).fit(A, y)
    assert np.all(np.diff(model.cost_history_) <= 0)
    assert np.linalg.matrix_rank(model.components_) == 2
    np.testing.assert_allclose(model.basis_.T @ model.basis_, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(
        model.basis_ @ model.R_ @ model.R_.T @ model.basis_.T, matrix(model), atol=1e-8
    )


def test_bounds_that_hold_already_cost_nothing_and_change_nothing():
    A, y, _ = toy(10)
    G0 = np.random.default_rng(3).standard_normal((8, 2))
    predicted = ((A @ G0) ** 2).sum(axis=1)
    relation = np.where(np.arange(len(y)) % 2, 1, -1)
    model = FixedRankPSDRegressor(2, init=G0).fit(A, predicted + relation, relation)
    assert model.objective_ == 0.0
    assert model.n_iter_ == 0
    np.testing.assert_allclose(matrix(model), G0 @ G0.T, atol=1e-12)


def test_bounds_are_met_where_they_can_be():
    A, _, W = toy(11, n=150, d=6, r=2)
    exact = np.einsum("ni,ij,nj->n", A, W, A)
    relation = np.where(np.arange(150) % 2, 1, -1)
    model = FixedRankPSDRegressor(2, tol=1e-9, max_iter=5000).fit(
        A, exact + 0.1 * exact * relation, relation
    )
    violated = np.maximum(relation * (model.predict(A) - exact * (1 + 0.1 * relation)), 0.0)
    assert violated.max() < 1e-2 * exact.max()


def test_sparse_rows_give_the_same_model():
    A, y, _ = toy(12)
    A[np.abs(A) < 0.7] = 0.0
    dense = FixedRankPSDRegressor(3).fit(A, y)
    sparse = FixedRankPSDRegressor(3).fit(sp.csr_array(A), y)
    np.testing.assert_allclose(matrix(sparse), matrix(dense), rtol=1e-6)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(A)), dense.predict(A), rtol=1e-6)


def test_more_starts_are_never_worse():
    A, y, _ = toy(13, n=60, d=10, r=5)
    one = FixedRankPSDRegressor(2, random_state=0).fit(A, y)
    many = FixedRankPSDRegressor(2, n_init=5, random_state=0).fit(A, y)
    assert many.objective_ <= one.objective_


def test_one_step_at_a_time_goes_down():
    A, y, _ = toy(14)
    model = FixedRankPSDRegressor(3)
    costs = [model.partial_fit(A, y).objective_ for _ in range(30)]
    assert np.all(np.diff(costs) <= 0)
    assert costs[-1] < 0.5 * costs[0]


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("rank=9 is larger than n_features=8", {"rank": 9}),
        ("full rank: rank must be None or 8", {"geometry": "affine", "rank": 2}),
        ("init must have shape", {"init": np.ones((3, 3))}),
    ],
)
def test_parameters_that_do_not_fit(words, change):
    A, y, _ = toy()
    with pytest.raises(ValueError, match=words):
        FixedRankPSDRegressor(**{"rank": 3, **change}).fit(A, y)


def test_bad_targets_and_rows():
    A, y, _ = toy()
    with pytest.raises(ValueError, match="entry 0 is 3"):
        FixedRankPSDRegressor(3).fit(A, y, relation=np.full(200, 3))
    with pytest.raises(ValueError, match="one entry for each"):
        FixedRankPSDRegressor(3).fit(A, y, relation=[1, 1])
    with pytest.raises(ValueError, match="too large"):
        FixedRankPSDRegressor(3).fit(1e80 * A, y)
    with pytest.warns(UserWarning, match="negative"):
        FixedRankPSDRegressor(3).fit(A, y - 3 * y.mean())
    with pytest.raises(ValueError, match="rank=3 is larger than n_samples=2"):
        FixedRankPSDRegressor(3).fit(A[:2], y[:2])


def test_a_start_without_the_rank_is_reseeded_and_a_lost_rank_reported():
    A, y, _ = toy(15, r=1, noise=0.0)
    G0 = np.zeros((8, 2))
    G0[:, 0] = 1.0
    with pytest.warns(UserWarning, match="noise was added"):
        FixedRankPSDRegressor(2, init=G0).fit(A, y)
    rng = np.random.default_rng(2)  # the program above, whose optimum lies on the boundary
    A, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
    with pytest.warns(UserWarning, match="Fit with a lower rank"):
        FixedRankPSDRegressor(None, "flat", **TIGHT).fit(A, y)


def test_running_out_of_steps_is_said():
    A, y, _ = toy()
    with pytest.warns(ConvergenceWarning, match="after 2 steps of at most 2"):
        FixedRankPSDRegressor(3, max_iter=2, tol=0.0).fit(A, y)


def exactly_lowest(A, y, G):
    """Return the cost where scipy's Newton steps end, from G."""

    def parts(g):
        P = A @ g.reshape(G.shape)
        return P, (P**2).sum(axis=1) - y

    def cost(g):
        P, e = parts(g)
        return 0.5 * np.mean(e**2), (2 * A.T @ (e[:, None] * P) / len(y)).ravel()

    def product(g, v):
        P, e = parts(g)
        D = A @ v.reshape(G.shape)
        return (2 * A.T @ (e[:, None] * D + 2 * (P * D).sum(1)[:, None] * P) / len(y)).ravel()

    options = {"gtol": 1e-9}
    return minimize(cost, G.ravel(), jac=True, hessp=product, method="trust-ncg", options=options)


@pytest.mark.parametrize("geometry", ["flat", "polar"])
@pytest.mark.parametrize(("n", "d", "r"), [(200, 6, 2), (500, 40, 10), (2000, 100, 5)])
def test_the_last_steps_leave_nothing_of_the_cost(geometry, n, d, r):
    for seed in (21, 22):
        A, y, _ = toy(seed, n=n, d=d, r=r, noise=0.2)
        model = FixedRankPSDRegressor(r, geometry, tol=1e-12, max_iter=5000).fit(A, y)
        lowest = exactly_lowest(A, y, model.components_).fun
        assert model.objective_ - lowest <= 1e-12 * lowest
        assert (np.diff(model.cost_history_) <= 0).all()
        P = A @ model.components_
        assert model.objective_ == pytest.approx(0.5 * np.mean(((P**2).sum(axis=1) - y) ** 2))
        np.testing.assert_allclose(model.basis_ @ model.R_, model.components_, atol=1e-9)


@pytest.mark.parametrize("relation", [None, "mixed"])
def test_newton_steps_have_the_hessian_of_differences(relation):
    A, y, _ = toy(4, n=60, d=5, r=2)
    rng = np.random.default_rng(6)
    relation = None if relation is None else rng.integers(-1, 2, 60)
    G, V = rng.standard_normal((2, 5, 2))

    def gradient(G):
        P = A @ G
        e = residuals((P**2).sum(axis=1), y, relation)
        return 2 * A.T @ (e[:, None] * P) / len(y)

    P = A @ G
    e = residuals((P**2).sum(axis=1), y, relation)
    apply = hessian_product(TableRows(A), P, e, relation)
    h = 1e-6
    expected = (gradient(G + h * V) - gradient(G - h * V)) / (2 * h)
    np.testing.assert_allclose(apply(V)[0], expected, rtol=1e-6, atol=1e-6)


def test_last_steps_end_where_bounds_hold_and_where_targets_are_reached():
    A, _, W = toy(5, n=300, d=6, r=2)
    exact = np.einsum("ni,ij,nj->n", A, W, A)
    relation = np.random.default_rng(1).integers(-1, 2, 300)
    loose = exact + 0.1 * relation  # bounds with room beside equalities
    for geometry in ("flat", "polar"):
        model = FixedRankPSDRegressor(2, geometry, tol=1e-12, max_iter=5000)
        assert model.fit(A, loose, relation).objective_ <= 1e-12 * np.mean(loose**2)
        np.testing.assert_allclose(matrix(model), W, atol=1e-4)


def test_conjugate_steps_by_the_covariance_do_not_see_a_linear_change_of_features():
    A, y, _ = toy(6, n=120, d=6, r=2)
    rng = np.random.default_rng(2)
    T = rng.standard_normal((6, 6)) * np.geomspace(1e-2, 1e2, 6)
    G = rng.standard_normal((6, 2))
    costs = []
    for rows, start in ((A, G), (A @ T, np.linalg.solve(T, G))):
        inverse = np.linalg.inv(rows.T @ rows)
        walk = start_walk(
            TableRows(rows), start, "conjugate", precondition=lambda g, W=inverse: W @ g
        )
        costs.append(descend(walk, y, tol=0.0, max_iter=30).costs)
    np.testing.assert_allclose(costs[1], costs[0], rtol=1e-6)
    ends = descend(start_walk(TableRows(A @ T), start, "conjugate"), y, tol=0.0, max_iter=30).costs
    assert costs[0][-1] < 0.9 * ends[-1]  # gradients as they are do see it
