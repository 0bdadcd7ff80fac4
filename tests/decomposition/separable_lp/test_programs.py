"""The programs against HiGHS and cvxpy on formulations written here, and against the theorems."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from octavo.data import make_near_separable
from octavo.decomposition import solve_separable_lp, trace_path
from octavo.decomposition.separable_lp import programs, working_set
from octavo.decomposition.separable_lp.first_order import _project_columns, _project_rows


def unscaled(seed, n=16, m=7, r=3, epsilon=0.2):
    """Rows of differing norms, one of zeros, one negative entry."""
    rng = np.random.default_rng(seed)
    X = make_near_separable(n, m, n_components=r, epsilon=epsilon, random_state=seed).X
    X = X * rng.uniform(0.5, 2.0, (n, 1))
    X[n // 2] = 0.0
    X[1, 0] = -0.01
    return X, 1.0 + rng.uniform(-0.05, 0.05, n)


def paper_program(X, right, costs, trace=None):
    """(2), (7) and (8) as the paper writes them, in Y and in the units of X, to linprog."""
    n, m = X.shape
    M, c = X.T, np.abs(X).sum(axis=1)
    y = lambda i, j: i * n + j  # noqa: E731
    u = lambda k, j: n * n + k * n + j  # noqa: E731
    size, rows, limits = n * n + m * n, [], []

    def add(entries, limit):
        row = np.zeros(size)
        for place, value in entries:
            row[place] += value
        rows.append(row)
        limits.append(limit)

    for j in range(n):
        for k in range(m):
            product = [(y(i, j), M[k, i]) for i in range(n)]
            add([(p, -v) for p, v in product] + [(u(k, j), -1.0)], -M[k, j])
            add([*product, (u(k, j), -1.0)], M[k, j])
        add([(u(k, j), 1.0) for k in range(m)], right[j])
        for i in range(n):
            if i != j:
                add([(y(i, j), c[i]), (y(i, i), -c[j])], 0.0)
    cost, bounds = np.zeros(size), [(0.0, None)] * size
    for i in range(n):
        cost[y(i, i)] = costs[i]
        bounds[y(i, i)] = (0.0, 1.0)
    equal = {}
    if trace is not None:
        row = np.zeros((1, size))
        row[0, [y(i, i) for i in range(n)]] = 1.0
        equal = {"A_eq": row, "b_eq": [trace]}
    return linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=bounds, **equal)


def check_feasible(X, Y, right):
    """All constraints of the paper, in the units of X; 1e-7 is what solvers allow."""
    c = np.abs(X).sum(axis=1)
    assert Y.min() >= 0.0
    assert np.diagonal(Y).max() <= 1.0
    assert (np.abs(X - Y.T @ X).sum(axis=1) <= right + 1e-7 * c).all()
    assert (c[:, None] * Y <= np.diagonal(Y)[:, None] * c + 1e-12).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", ["absolute", "relative"])
@pytest.mark.parametrize("solver", ["cutting", "highs", "highs-ipm"])
def test_programs_7_and_8_equal_the_papers(seed, noise, solver):
    X, costs = unscaled(seed)
    right = 0.15 * (np.abs(X).sum(axis=1) if noise == "relative" else np.ones(len(X)))
    exact = paper_program(X, right, costs)
    found = solve_separable_lp(X, 0.1, rho=1.5, noise=noise, costs=costs, solver=solver)
    assert found.objective == pytest.approx(exact.fun, abs=1e-6)
    assert found.lower_bound == pytest.approx(exact.fun, abs=1e-6)
    assert found.diagonal @ costs == pytest.approx(found.objective, abs=1e-9)
    np.testing.assert_array_equal(found.diagonal, np.diagonal(found.coupling))
    check_feasible(X, found.coupling, right)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", ["cutting", "highs"])
def test_programs_2_and_3_equal_the_papers(seed, solver):
    X, _ = unscaled(seed)
    X = X[np.abs(X).sum(axis=1) > 0]
    X /= np.abs(X).sum(axis=1)[:, None]
    n, costs = len(X), np.random.default_rng(seed).standard_normal(len(X))
    right = np.full(n, 2 * 0.1)
    exact = paper_program(X, right, costs, trace=4)
    found = solve_separable_lp(
        X, 0.1, rho=2.0, noise="relative", costs=costs, trace=4, solver=solver
    )
    assert found.objective == pytest.approx(exact.fun, abs=1e-6)
    assert found.diagonal.sum() == pytest.approx(4, abs=1e-8)
    check_feasible(X, found.coupling, right)
    third = solve_separable_lp(X, 0.1, rho=2.0, noise="relative", solver=solver)
    assert third.objective == pytest.approx(paper_program(X, right, np.ones(n)).fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_the_first_order_gap_holds_the_optimum(seed):
    X, costs = unscaled(seed)
    exact = paper_program(X, np.full(len(X), 0.1), costs).fun
    found = solve_separable_lp(X, 0.1, costs=costs, solver="first-order")
    assert found.lower_bound - 1e-9 <= exact <= found.objective + 1e-6
    assert found.objective - found.lower_bound <= 1.001e-4 * found.objective
    check_feasible(X, found.coupling, np.full(len(X), 0.1))


@pytest.mark.parametrize(("noise", "epsilon"), [("l2", 0.05), ("linf", 0.04), ("frobenius", 0.3)])
def test_other_noise_models_equal_cvxpy(noise, epsilon):
    """Remark 12, written here in Y and in the units of X."""
    cp = pytest.importorskip("cvxpy")
    X, costs = unscaled(0)
    n, c = len(X), np.abs(X).sum(axis=1)
    Y = cp.Variable((n, n), nonneg=True)
    residual = X.T - X.T @ Y
    size = {
        "l2": lambda: cp.max(cp.norm(residual, 2, axis=0)),
        "linf": lambda: cp.max(cp.abs(residual)),
        "frobenius": lambda: cp.norm(residual, "fro"),
    }[noise]()
    ones = np.ones((1, n))
    rules = [
        size <= epsilon,
        cp.diag(Y) <= 1,
        cp.multiply(np.outer(c, np.ones(n)), Y)
        <= cp.multiply(cp.reshape(cp.diag(Y), (n, 1), order="C") @ ones, np.outer(np.ones(n), c)),
    ]
    exact = cp.Problem(cp.Minimize(costs @ cp.diag(Y)), rules)
    exact.solve(solver="CLARABEL")
    for solver in ("auto", "first-order", "cvxpy"):
        found = solve_separable_lp(X, epsilon, noise=noise, costs=costs, solver=solver)
        assert found.objective == pytest.approx(exact.value, rel=2e-4)
        assert found.lower_bound <= exact.value + 1e-5
        left = X - found.coupling.T @ X
        sizes = {
            "l2": np.linalg.norm(left, axis=1).max(),
            "linf": np.abs(left).max(),
            "frobenius": np.linalg.norm(left),
        }
        assert sizes[noise] <= epsilon + 1e-6


def test_projection_of_rows_is_the_nearest_point():
    """Against cvxpy's quadratic program, with and without the bound of one."""
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    for scale in (0.3, 3.0):
        Z, shift, out = scale * rng.standard_normal((5, 5)), rng.random(5), np.empty((5, 5))
        _project_rows(Z, shift, out)
        X = cp.Variable((5, 5), nonneg=True)
        target = Z - np.diag(shift)
        rules = [X[i, j] <= X[i, i] for i in range(5) for j in range(5)] + [cp.diag(X) <= 1]
        cp.Problem(cp.Minimize(cp.sum_squares(X - target)), rules).solve(solver="CLARABEL")
        np.testing.assert_allclose(out, X.value, atol=1e-5)


@pytest.mark.parametrize(("code", "order"), [(0, 1), (1, np.inf), (2, 2)])
def test_projection_of_columns(code, order):
    """Inside the ball nothing moves; outside, the residual is normal to the ball at the answer."""
    rng = np.random.default_rng(1)
    V, out = rng.standard_normal((6, 8)), np.empty((6, 8))
    radii = np.array([0.5, 1.0, 100.0, 0.1, 2.0, 0.7, 0.0, 1.5])
    _project_columns(V, radii, code, out)
    np.testing.assert_array_equal(out[:, 2], V[:, 2])
    assert (np.linalg.norm(out, ord=order, axis=0) <= radii + 1e-12).all()
    for j in range(8):  # (v - x)'(z - x) ≤ 0 for all z in the ball: the support function at v - x
        dual = {1: np.inf, np.inf: 1, 2: 2}[order]
        gap = V[:, j] - out[:, j]
        assert radii[j] * np.linalg.norm(gap, ord=dual) <= gap @ out[:, j] + 1e-10


# --- what the paper says ------------------------------------------------------------------------


@pytest.mark.parametrize("r", [3, 6])
def test_example_1_both_ways(r):
    """New: I_r up to ε < 1/ρ. Hottopixx: the last row once ε > 1 / (2 (r + 1))."""
    X = np.vstack([np.eye(r), np.full((1, r), 1 / r)])
    for rho, epsilon in ((1.0, 0.9), (2.0, 0.4), (2.0, 0.01)):
        weights = solve_separable_lp(X, epsilon, rho=rho, noise="relative").diagonal
        np.testing.assert_allclose(weights, [*np.full(r, 1 - rho * epsilon), 0.0], atol=1e-8)
    costs, limit = np.r_[1.0 : r + 1, -1.0], 1 / (2 * (r + 1))
    for epsilon, last in ((0.9 * limit, False), (1.1 * limit, True)):
        weights = solve_separable_lp(
            X, epsilon, rho=2.0, noise="relative", costs=costs, trace=r
        ).diagonal
        assert (r in np.argsort(-weights)[:r]) == last
        assert weights[r] == pytest.approx(2 * r * epsilon, abs=1e-7)


def test_theorem_6_construction():
    """Appendix B: the matrix given is feasible, so that the optimum is no larger."""
    r, kappa, beta, rho, epsilon, K = 4, 0.5, 0.4, 1.0, 0.05, 50.0
    W = np.hstack([kappa / 2 * np.eye(r), np.full((r, 1), 1 - kappa / 2)])
    H = np.vstack([np.eye(r), beta * np.eye(r) + (1 - beta) / (r - 1) * (1 - np.eye(r))])
    costs = np.r_[np.full(r, K), np.ones(r)]
    share = rho * epsilon / (kappa * (1 - beta))
    claimed = r * K * (1 - share) + r
    found = solve_separable_lp(H @ W, epsilon, rho=rho, noise="relative", costs=costs)
    assert found.lower_bound <= found.objective <= claimed + 1e-8
    assert found.objective > 0.5 * claimed
    Y = np.block([[(1 - share) * np.eye(r), np.zeros((r, r))], [share * np.eye(r), np.eye(r)]])
    left = np.abs(H @ W - Y.T @ (H @ W)).sum(axis=1)
    assert left.max() <= rho * epsilon + 1e-12


def test_without_noise_the_cheapest_of_equal_rows_is_chosen():
    """Proof of Theorem 2, ε = 0: weights of zero and one."""
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.ones(6), 3)
    X = np.vstack([W, W, rng.dirichlet(np.ones(3), 10) @ W])
    costs = 1 + rng.uniform(-0.01, 0.01, len(X))
    found = solve_separable_lp(X, 0.0, costs=costs)
    cheapest = [k if costs[k] < costs[k + 3] else k + 3 for k in range(3)]
    np.testing.assert_allclose(found.diagonal, np.isin(np.arange(len(X)), cheapest), atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-5, 1e5, 3.0]))
def test_program_8_is_equivariant(seed, scale):
    """Y(αX, αε) has the objective of Y(X, ε); the order of rows does not matter."""
    X, costs = unscaled(seed, n=10, m=5)
    order = np.random.default_rng(seed).permutation(len(X))
    first = solve_separable_lp(X, 0.1, costs=costs)
    second = solve_separable_lp(scale * X[order], scale * 0.1, costs=costs[order])
    assert second.objective == pytest.approx(first.objective, abs=1e-6)


def test_program_7_is_program_3_on_scaled_rows():
    X, costs = unscaled(1)
    c = np.abs(X).sum(axis=1)
    keep = c > 0
    found = solve_separable_lp(X, 0.1, noise="relative", costs=costs)
    scaled = solve_separable_lp(X[keep] / c[keep, None], 0.1, costs=costs[keep])
    assert found.objective == pytest.approx(scaled.objective, abs=1e-7)


def test_the_trace_falls_with_the_noise_level():
    X, _ = unscaled(2)
    path = trace_path(X, [0.0, 0.05, 0.1, 0.3, 10.0])
    assert (np.diff(path) <= 1e-9).all()
    assert path[0] > 3 - 1e-6
    assert path[-1] == pytest.approx(0.0, abs=1e-9)


def test_without_highs_as_a_library(monkeypatch):
    """The fallback reaches the same optimum."""
    X, costs = unscaled(0, n=8, m=4)
    expected = solve_separable_lp(X, 0.1, costs=costs).objective
    monkeypatch.setattr("octavo.engine.linear_programs.lazy_rows.highs", None)
    assert solve_separable_lp(X, 0.1, costs=costs).objective == pytest.approx(expected, abs=1e-7)


# --- bad input ------------------------------------------------------------------------------------

SOME = np.eye(3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: solve_separable_lp(SOME, -1.0), "epsilon must be a finite number"),
        (lambda: solve_separable_lp(SOME, np.inf), "epsilon must be a finite number"),
        (lambda: solve_separable_lp(SOME, 0.1, rho=0.0), "rho must be a finite positive"),
        (lambda: solve_separable_lp(SOME, 0.1, noise="l3"), "noise must be one of"),
        (lambda: solve_separable_lp(SOME, 0.1, solver="gurobi"), "solver must be one of"),
        (lambda: solve_separable_lp(SOME, 0.1, costs=[1, 0, 1]), "costs must be positive, got 0"),
        (lambda: solve_separable_lp(SOME, 0.1, costs=[1, 1]), "costs must be 3 finite numbers"),
        (lambda: solve_separable_lp(SOME, 0.1, trace=4), "trace must be between 1 and"),
        (lambda: solve_separable_lp(0 * SOME, 0.1), "All rows of X are zero"),
        (
            lambda: solve_separable_lp(SOME, 0.1, noise="l2", solver="cutting"),
            "use 'first-order' or 'cvxpy'",
        ),
        (
            lambda: solve_separable_lp(np.eye(4), 0.01, rho=2.0, trace=2),
            "the smallest trace there is 3.92",
        ),
        (lambda: trace_path(SOME, 0.1), "one dimension"),
    ],
)
def test_bad_input_is_met_by_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_solver_that_is_stopped_says_how_far_it_is():
    X = make_near_separable(40, 20, n_components=4, epsilon=0.2, random_state=0).X
    with pytest.warns(ConvergenceWarning, match="duality gap of"):
        found = solve_separable_lp(X, 0.2, solver="first-order", step=lambda: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = solve_separable_lp(X, 0.2).objective
    assert found.lower_bound <= exact <= found.objective


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("solver", "gap"), [("cutting", 1e-7), ("first-order", 1.001e-4)])
def test_a_working_set_of_few_points_solves_the_program_of_all(seed, solver, gap, monkeypatch):
    monkeypatch.setattr(programs, "_FEW", 3)
    monkeypatch.setattr(working_set, "_FIRST", 3)
    monkeypatch.setattr(working_set, "_MORE", 1)
    sizes, at_once = [], programs._solve_at_once
    monkeypatch.setattr(
        programs,
        "_solve_at_once",
        lambda part, *rest: sizes.append(len(part.kept)) or at_once(part, *rest),
    )
    X, costs = unscaled(seed)
    right = np.full(len(X), 0.15)
    exact = paper_program(X, right, costs).fun
    found = solve_separable_lp(X, 0.15, costs=costs, solver=solver)
    assert len(sizes) > 1
    assert sizes == sorted(sizes)
    assert found.lower_bound - 1e-9 <= exact <= found.objective + 1e-6
    assert found.objective - found.lower_bound <= gap * max(1.0, found.objective)
    check_feasible(X, found.coupling, right)
