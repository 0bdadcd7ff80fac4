"""Every solver against cvxpy and HiGHS, gradients against differences, bounds against optima."""

import numpy as np
import pytest
from scipy.optimize import linprog

from octavo.metric.partial_order.comparisons import distinct_pairs
from octavo.metric.partial_order.descents import solve_fista, solve_subgradient, subgradient
from octavo.metric.partial_order.landmark_weights import solve_landmark_lp
from octavo.metric.partial_order.programs import DiagonalProgram, FullProgram
from octavo.metric.partial_order.semidefinite import solve_sdp
from octavo.metric.partial_order.splitting import (
    comparison_products,
    mean_square,
    solve_admm,
)
from tests.metric.partial_order.test_graph import random_comparisons


def views(n, m, seed):
    rng = np.random.default_rng(seed)
    kernels = []
    for _ in range(m):
        X = rng.standard_normal((n, 3))
        kernels.append(np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 3.0))
    return kernels


def root(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def full(n=9, m=3, n_comparisons=50, beta=100.0, seed=0):
    compared = distinct_pairs(random_comparisons(n, n_comparisons, seed))
    return FullProgram([root(K) for K in views(n, m, seed)], compared, beta)


def diagonal(n=9, m=3, n_comparisons=50, beta=100.0, seed=0):
    compared = distinct_pairs(random_comparisons(n, n_comparisons, seed))
    table = np.hstack([K / np.sqrt(np.diag(K)) for K in views(n, m, seed)])
    return DiagonalProgram(table, compared, beta)


def dense_map(program):
    """Return A as a matrix, from its adjoint's definition alone."""
    rows = []
    for c in range(program.n_comparisons):
        (i, j), (k, l) = (program.compared.pairs[p[c]] for p in program.compared[1:])
        E = np.zeros((program.n_items,) * 2)
        for a, b, sign in ((i, j, 1.0), (k, l, -1.0)):
            e = np.eye(program.n_items)[a] - np.eye(program.n_items)[b]
            E += sign * np.outer(e, e)
        if isinstance(program, FullProgram):
            rows.append(np.concatenate([(F.T @ E @ F).ravel() for F in program.factors]))
        else:
            rows.append(np.diag(program.table.T @ E @ program.table))
    return np.array(rows)


@pytest.mark.parametrize("program", [full(), diagonal()], ids=["full", "diagonal"])
def test_the_maps_are_adjoint_and_their_products_right(program):
    A = dense_map(program)
    rng = np.random.default_rng(1)
    eta = rng.uniform(size=program.n_comparisons)
    np.testing.assert_allclose(program.adjoint(eta), A.T @ eta, atol=1e-12)
    W = program.shrink(program.adjoint(eta) + 1.0, 0.0)  # any feasible point
    np.testing.assert_allclose(program.differences(W), A @ W, atol=1e-12)
    if isinstance(program, FullProgram):
        np.testing.assert_allclose(
            np.tril(comparison_products(program)), np.tril(A @ A.T), atol=1e-12
        )
        assert mean_square(program) == pytest.approx((A**2).sum(axis=1).mean(), rel=1e-12)
    else:
        np.testing.assert_allclose(program.columns(np.arange(program.size)), A, atol=1e-12)


@pytest.mark.parametrize("program", [full(), diagonal()], ids=["full", "diagonal"])
def test_the_subgradient_is_the_derivative_away_from_kinks(program):
    """The factor β/|C|, which Appendix B leaves out, is in it."""
    rng = np.random.default_rng(2)
    W = program.shrink(program.adjoint(rng.uniform(size=program.n_comparisons)), 0.0)
    pull, _ = subgradient(program, program.differences(W))
    direction = program.shrink(program.adjoint(rng.standard_normal(program.n_comparisons)), 0.0)
    h = 1e-7
    change = (program.value(W + h * direction) - program.value(W - h * direction)) / (2 * h)
    assert change == pytest.approx(program.trace(direction) + pull @ direction, rel=1e-5)


@pytest.mark.parametrize("beta", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("seed", [0, 1])
def test_splitting_and_descent_reach_the_semidefinite_program(beta, seed):
    program = full(beta=beta, seed=seed)
    reference = solve_sdp(program, tol=1e-4)
    assert reference.converged
    for solve in (solve_admm, solve_fista):
        found = solve(program, tol=1e-6, max_iter=4000)
        assert found.converged
        assert found.duality_gap <= 1e-6 * found.objective
        # Both lie within their own certified gaps of the optimum.
        assert abs(found.objective - reference.objective) <= (
            found.duality_gap + reference.duality_gap + 1e-9 * beta
        )
        assert found.objective == pytest.approx(reference.objective, rel=1e-4)
        assert min(np.linalg.eigvalsh(M).min() for M in program.split(found.weights)) > -1e-9


def test_conjugate_gradients_take_the_place_of_the_factorisation(monkeypatch):
    program = full()
    one = solve_admm(program, tol=1e-6, max_iter=3000)
    monkeypatch.setattr("octavo.metric.partial_order.splitting.FACTORED", 0)
    two = solve_admm(program, tol=1e-6, max_iter=3000)
    assert two.converged
    assert two.objective == pytest.approx(one.objective, rel=3e-6)


@pytest.mark.parametrize("beta", [1.0, 30.0, 1e3, 1e7])
@pytest.mark.parametrize("seed", [0, 1])
def test_landmarks_that_join_give_the_whole_linear_program(beta, seed):
    program = diagonal(beta=beta, seed=seed, n=12, n_comparisons=80)
    A = dense_map(program)
    n = program.n_comparisons
    whole = linprog(
        np.concatenate([np.ones(program.size), np.full(n, program.slope)]),
        A_ub=np.hstack([A, -np.eye(n)]),
        b_ub=-np.ones(n),
    )
    found = solve_landmark_lp(program, tol=1e-4, max_iter=100)
    assert found.objective == pytest.approx(whole.fun, rel=1e-8)
    assert abs(found.duality_gap) <= 1e-8 * found.objective
    descended = solve_fista(program, tol=1e-6, max_iter=2000)
    assert descended.converged
    assert descended.objective == pytest.approx(whole.fun, rel=1e-6)
    assert solve_sdp(program, tol=1e-4).objective == pytest.approx(whole.fun, rel=1e-4)


@pytest.mark.parametrize("make", [full, diagonal])
def test_the_papers_descent_comes_near_and_its_bound_is_below(make):
    program = make(beta=30.0)
    best = solve_sdp(program, tol=1e-4)
    found = solve_subgradient(program, tol=1e-3, max_iter=3000)
    lower = found.objective - found.duality_gap
    assert lower <= best.objective * (1 + 1e-6) <= found.objective * (1 + 2e-6)
    assert found.objective <= 1.05 * best.objective


@pytest.mark.parametrize("make", [full, diagonal])
def test_any_multipliers_bound_the_optimum_from_below(make):
    program = make()
    best = solve_sdp(program, tol=1e-4).objective
    rng = np.random.default_rng(0)
    for _ in range(20):
        eta, bound = program.bound(rng.uniform(0, 2 * program.slope, program.n_comparisons))
        assert bound <= best * (1 + 1e-7)
        assert program.lowest(program.adjoint(eta)) >= -1.0 - 1e-9
        W, value = program.stretched(program.shrink(-program.adjoint(eta), 0.0))
        assert value >= best * (1 - 1e-7)
        grid = [program.value(a * W) for a in np.linspace(0.0, 3.0, 301)]
        assert value <= min(grid) + 1e-9


def test_a_diagonal_never_beats_the_full_matrix():
    both = [make(beta=200.0, seed=4) for make in (full, diagonal)]
    matrix, weights = (
        solve_admm(both[0], tol=1e-6, max_iter=4000),
        solve_landmark_lp(both[1], tol=1e-6, max_iter=50),
    )
    assert matrix.objective <= weights.objective * (1 + 1e-6)
