"""The pairwise dual solver against LIBSVM, a general convex solver and its own certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, OneClassSVM

from octavo.engine.duals.smo import best_offset, kernel_product, pair_dual, solve_sum_constrained


def problem(seed, n=50, gamma=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rbf_kernel(X, gamma=gamma)


def convex_optimum(K, linear, lower, upper, total):
    """The same problem by a conic solver, to its own tolerance of 1e-9."""
    cp = pytest.importorskip("cvxpy")
    beta = cp.Variable(linear.size)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(K)))
    copies = linear.size // len(K)
    folded = sum(beta[c * len(K) : (c + 1) * len(K)] for c in range(copies))
    objective = linear @ beta - 0.5 * cp.sum_squares(root.T @ folded)
    constraints = [beta >= lower, beta <= upper, cp.sum(beta) == total]
    solved = cp.Problem(cp.Maximize(objective), constraints)
    solved.solve(solver="CLARABEL")
    return solved.value


def libsvm_rounding(result):
    """LIBSVM keeps kernel values in single precision: each is off by 2**-24 of its size."""
    return 2.0**-24 * np.abs(result.alpha).sum() + 1e-7


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_hinge_matches_a_conic_solver(C):
    _, y, K = problem(0)
    result = pair_dual(K, y, C, tol=1e-10)
    lower, upper = np.minimum(y * C, 0), np.maximum(y * C, 0)
    assert result.dual_objective == pytest.approx(convex_optimum(K, y, lower, upper, 0.0), rel=1e-7)
    assert result.converged
    assert 0 <= result.duality_gap <= 1e-8 * max(1.0, result.dual_objective)


def test_weights_and_linear_term_match_a_conic_solver():
    _, y, K = problem(1)
    rng = np.random.default_rng(5)
    C, linear = rng.uniform(0.1, 2.0, y.size), rng.normal(size=y.size)
    result = pair_dual(K, y, C, linear=linear, tol=1e-10)
    lower, upper = np.minimum(y * C, 0), np.maximum(y * C, 0)
    expected = convex_optimum(K, y * linear, lower, upper, 0.0)
    assert result.dual_objective == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_decision_function_is_libsvms(C):
    X, y, K = problem(2, n=120)
    svc = SVC(C=C, gamma=0.5, tol=1e-8).fit(X, y)
    result = pair_dual(K, y, C, tol=1e-8)
    ours = K @ (y * result.alpha) + result.bias
    assert np.abs(ours - svc.decision_function(X)).max() < libsvm_rounding(result)


def test_regression_shares_one_matrix_between_both_sides_of_the_tube():
    X, _, K = problem(3, n=80)
    target = np.sin(X[:, 0]) + X[:, 1]
    svr = SVR(C=2.0, gamma=0.5, epsilon=0.1, tol=1e-8).fit(X, target)
    sides = np.repeat([1.0, -1.0], 80)
    linear = np.concatenate([target - 0.1, -target - 0.1])
    result = pair_dual(K, sides, 2.0, linear=linear, tol=1e-8)
    ours = K @ (result.alpha[:80] - result.alpha[80:]) + result.bias
    assert np.abs(ours - svr.predict(X)).max() < libsvm_rounding(result)
    lower, upper = np.minimum(2 * sides, 0), np.maximum(2 * sides, 0)
    expected = convex_optimum(K, sides * linear, lower, upper, 0.0)
    assert result.dual_objective == pytest.approx(expected, rel=1e-7)


def test_one_class_keeps_the_sum_of_its_start():
    X, _, K = problem(4, n=80)
    machine = OneClassSVM(nu=0.3, gamma=0.5, tol=1e-8).fit(X)
    result = pair_dual(K, np.ones(80), 1.0, linear=np.zeros(80), alpha=np.full(80, 0.3), tol=1e-8)
    assert result.alpha.sum() == pytest.approx(0.3 * 80)
    ours = K @ result.alpha + result.bias
    assert np.abs(ours - machine.decision_function(X)).max() < libsvm_rounding(result)


def test_columns_on_request_give_the_same_iterations():
    _, y, K = problem(5)
    asked = []

    def column(i):
        asked.append(i)
        return K[i]

    dense = pair_dual(K, y, 3.0, tol=1e-6)
    lazy = pair_dual(column, y, 3.0, tol=1e-6, diagonal=np.ones(y.size))
    assert lazy.n_iter == dense.n_iter
    assert np.array_equal(lazy.alpha, dense.alpha)
    assert len(asked) == 2 * lazy.n_iter


def test_warm_start_from_the_solution_needs_nothing():
    _, y, K = problem(6)
    cold = pair_dual(K, y, 3.0, tol=1e-6)
    warm = pair_dual(K, y, 3.0, alpha=cold.alpha, gradient=cold.gradient, tol=1e-6)
    assert warm.n_iter == 0
    assert warm.duality_gap == cold.duality_gap
    nearby = pair_dual(K * 1.01, y, 3.0, alpha=cold.alpha, tol=1e-6)
    assert nearby.n_iter < pair_dual(K * 1.01, y, 3.0, tol=1e-6).n_iter


def test_stopping_on_the_gap():
    _, y, K = problem(7)
    result = pair_dual(K, y, 3.0, tol=1e-5, stopping="gap")
    assert result.converged
    assert 0 <= result.duality_gap <= 1e-5
    best = pair_dual(K, y, 3.0, tol=1e-11).dual_objective
    assert best - result.dual_objective <= result.duality_gap + 1e-12


def test_iteration_limit_is_told():
    _, y, K = problem(8)
    result = pair_dual(K, y, 100.0, tol=1e-9, max_iter=5)
    assert not result.converged
    assert result.n_iter == 5
    assert result.duality_gap > 0


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 12),
    C=st.floats(0.01, 50),
    max_iter=st.integers(0, 40),
)
@settings(max_examples=60, deadline=None)
def test_invariants_after_any_number_of_exchanges(seed, n, C, max_iter):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(0)  # with duplicates
    K, y = rbf_kernel(X), rng.choice([-1.0, 1.0], n)
    result = pair_dual(K, y, C, max_iter=max_iter, tol=1e-9)
    Q = K * np.outer(y, y)
    assert np.all((result.alpha >= 0) & (result.alpha <= C))
    assert abs(y @ result.alpha) < 1e-10 * C * n
    assert np.abs(result.gradient - (1 - Q @ result.alpha)).max() < 1e-10 * (1 + C * n)
    value = result.alpha.sum() - 0.5 * result.alpha @ Q @ result.alpha
    assert result.dual_objective == pytest.approx(value, rel=1e-9, abs=1e-9)
    f = K @ (y * result.alpha) + result.bias
    primal = 0.5 * result.alpha @ Q @ result.alpha + C * np.maximum(0, 1 - y * f).sum()
    assert result.primal_objective == pytest.approx(primal, rel=1e-9, abs=1e-9)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 15))
@settings(max_examples=60, deadline=None)
def test_no_offset_has_a_smaller_gap(seed, n):
    rng = np.random.default_rng(seed)
    lower, upper = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    beta, h = rng.uniform(lower, upper), rng.normal(size=n).round(1)
    _, gap = best_offset(beta, h, lower, upper)

    def gap_at(b):
        return np.where(h > b, upper - beta, lower - beta) @ (h - b)

    everywhere = [gap_at(b) for b in [*h, *np.linspace(h.min() - 1, h.max() + 1, 50)]]
    assert gap <= min(everywhere) + 1e-10


def test_bad_starts_are_refused():
    _, y, K = problem(9)
    with pytest.raises(ValueError, match="outside by 1"):
        pair_dual(K, y, 1.0, alpha=np.full(y.size, 2.0))
    with pytest.raises(ValueError, match="multiple of 50"):
        solve_sum_constrained(K, np.ones(51), np.zeros(51), np.ones(51))
    with pytest.raises(ValueError, match="diagonal must be given"):
        pair_dual(lambda i: K[i], y, 1.0)


def test_product_with_few_and_with_many_columns():
    _, _, K = problem(10)
    rng = np.random.default_rng(0)
    for used in (0, 5, 45):
        beta = np.zeros(100)
        beta[:used] = rng.normal(size=used)
        expected = np.tile(K @ (beta[:50] + beta[50:]), 2)
        assert np.allclose(kernel_product(K, beta, 50), expected, atol=1e-12)
        assert np.allclose(kernel_product(lambda i: K[i], beta, 50), expected, atol=1e-12)
