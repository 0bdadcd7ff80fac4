"""Lasso-TD: homotopy and complementarity against each other, scikit-learn and fixed points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, lars_path

from octavo.rl import lasso_td, lasso_td_path, lasso_td_violation, solve_lcp, td_statistics


def log(seed, n=400, p=12, sparse=3):
    """Transitions of a stable linear chain: on-policy, so that A is positive definite."""
    rng = np.random.default_rng(seed)
    states = np.zeros((n + 1, p))
    for t in range(n):
        states[t + 1] = 0.6 * states[t] + rng.normal(size=p)
    weights = np.zeros(p)
    weights[:sparse] = rng.normal(size=sparse) * 3
    return states[:-1], states[1:], states[:-1] @ weights + rng.normal(size=n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fraction", [0.5, 0.1, 0.01])
def test_homotopy_equals_complementarity(seed, fraction):
    A, b = td_statistics(*log(seed), 0.9)
    alpha = fraction * np.abs(b).max()
    by_path, by_lcp = lasso_td(A, b, alpha), lasso_td(A, b, alpha, solver="lcp")
    np.testing.assert_allclose(by_path, by_lcp, atol=1e-10)
    assert lasso_td_violation(A, b, by_path, alpha) < 1e-11


@pytest.mark.parametrize("solver", ["lars", "lcp"])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 2.0])
def test_it_is_the_fixed_point_of_a_lasso(solver, alpha):
    X, X_next, r = log(7)
    theta = lasso_td(*td_statistics(X, X_next, r, 0.9), alpha, solver=solver)
    backed_up = r + 0.9 * X_next @ theta
    again = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, backed_up)
    np.testing.assert_allclose(again.coef_, theta, atol=1e-6)


def test_without_discount_the_path_is_that_of_the_lasso():
    X, X_next, r = log(3)
    path = lasso_td_path(*td_statistics(X, X_next, r, 0.0))
    alphas, _, coefs = lars_path(X, r, method="lasso")
    assert path.status == "complete"
    np.testing.assert_allclose(path.alphas, alphas, atol=1e-10)
    np.testing.assert_allclose(path.coefs, coefs.T, atol=1e-9)


def test_every_point_of_the_path_is_a_solution():
    A, b = td_statistics(*log(4), 0.95)
    path = lasso_td_path(A, b)
    np.testing.assert_allclose(path.coefs[-1], np.linalg.solve(A, b), atol=1e-10)
    assert (np.diff(path.alphas) < 0).all()
    for alpha in np.random.default_rng(0).uniform(0, path.alphas[0], 40):
        assert lasso_td_violation(A, b, path.at(alpha), alpha) < 1e-10
    assert not path.at(2 * path.alphas[0]).any()


def test_variables_leave_and_come_back():
    # Found by search: a positive definite A whose path drops a variable on the way.
    for seed in range(200):
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(4, 4))
        A, b = root @ root.T + 0.05 * np.eye(4) + 0.3 * (root - root.T), rng.normal(size=4)
        path = lasso_td_path(A, b)
        support = (np.abs(path.coefs[1:-1]) > 1e-12).sum(axis=1)
        for alpha in np.linspace(0.01, 0.99, 9) * path.alphas[0]:
            assert lasso_td_violation(A, b, path.at(alpha), alpha) < 1e-9
        if (np.diff(support) < 0).any():
            break
    else:
        pytest.fail("no path dropped a variable")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    p=st.integers(1, 8),
    fraction=st.floats(0.01, 1.2),
    decimals=st.sampled_from([0, 1, 15]),
)
def test_positive_definite_systems_are_always_solved(seed, p, fraction, decimals):
    rng = np.random.default_rng(seed)
    root, skew = rng.normal(size=(p, p)), rng.normal(size=(p, p))
    A = root @ root.T + 0.1 * np.eye(p) + (skew - skew.T)
    b = np.round(rng.normal(size=p), decimals)  # few decimals make ties
    alpha = fraction * np.abs(b).max()
    theta = lasso_td(A, b, alpha)
    assert lasso_td_violation(A, b, theta, alpha) < 1e-8
    np.testing.assert_allclose(lasso_td(A, b, alpha, solver="lcp"), theta, atol=1e-8)
    order = rng.permutation(p)
    np.testing.assert_allclose(
        lasso_td(A[np.ix_(order, order)], b[order], alpha), theta[order], atol=1e-8
    )
    np.testing.assert_allclose(lasso_td(A, 3 * b, 3 * alpha), 3 * theta, atol=1e-7)


def test_importance_weights_are_repetitions():
    X, X_next, r = log(5, n=60)
    counts = np.random.default_rng(0).integers(0, 4, 60)
    A, b = td_statistics(X, X_next, r, 0.9, weights=counts)
    rows = np.repeat(np.arange(60), counts)
    A2, b2 = td_statistics(X[rows], X_next[rows], r[rows], 0.9)
    np.testing.assert_allclose(A * 60, A2 * len(rows))
    np.testing.assert_allclose(b * 60, b2 * len(rows))


@pytest.mark.parametrize("solver", ["lars", "lcp"])
def test_a_matrix_that_is_no_p_matrix_warns_with_the_violation(solver):
    A, b = np.array([[-1.0, 0.2], [0.1, 1.0]]), np.array([2.0, 0.5])
    with pytest.warns(ConvergenceWarning, match="conditions are violated by"):
        lasso_td(A, b, 0.3, solver=solver)


def test_a_path_that_ends_early_says_why():
    assert lasso_td_path(np.diag([0.0, 1.0]), np.array([2.0, 1.0])).status == "singular"
    assert lasso_td_path(np.array([[-1.0]]), np.array([1.0])).status == "not a P-matrix"
    short = lasso_td_path(np.eye(5), np.arange(1.0, 6.0), max_iter=2)
    assert (short.status, len(short.alphas)) == ("step limit", 3)
    with pytest.raises(ValueError, match="The path ends at"):
        lasso_td_path(np.eye(2), np.ones(2), 0.5).at(0.1)


def test_ties_are_taken_one_after_the_other():
    for A, b in (
        (np.eye(3), np.ones(3)),
        (np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])),
        (np.eye(4) + 0.2, np.array([1.0, 1.0, -1.0, 0.5])),
    ):
        path = lasso_td_path(A, b)
        assert path.status == "complete"
        for alpha in (0.0, 0.3, 0.9):
            # On the path, ties are told apart by noise of 1e-9 of b; a single solution is exact.
            assert lasso_td_violation(A, b, path.at(alpha), alpha) < 1e-8
            assert lasso_td_violation(A, b, lasso_td(A, b, alpha), alpha) < 1e-13


def test_no_reward_no_path():
    path = lasso_td_path(np.eye(3), np.zeros(3))
    assert (path.status, len(path.alphas)) == ("complete", 1)
    assert not lasso_td(np.eye(3), np.zeros(3), 0.1).any()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8))
def test_lemke_solves_positive_definite_problems(seed, n):
    rng = np.random.default_rng(seed)
    root, skew = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    M, q = root @ root.T + 0.1 * np.eye(n) + skew - skew.T, rng.normal(size=n)
    found = solve_lcp(M, q)
    assert found.status == "solved"
    assert found.residual < 1e-8
    # Brute force over which variables are positive: the solution is unique.
    for pattern in range(2**n):
        inside = np.array([(pattern >> k) & 1 for k in range(n)], dtype=bool)
        z = np.zeros(n)
        z[inside] = np.linalg.solve(M[np.ix_(inside, inside)], -q[inside]) if inside.any() else 0
        if z.min() >= -1e-10 and (q + M @ z).min() >= -1e-10:
            np.testing.assert_allclose(found.z, z, atol=1e-8)
            return
    pytest.fail("brute force found no solution")


def test_lemke_survives_ties_and_reports_rays():
    tied = solve_lcp(np.eye(4), -np.ones(4))
    np.testing.assert_allclose(tied.z, 1.0)
    assert solve_lcp(-np.eye(2), [-1.0, -1.0]).status == "ray"
    assert solve_lcp(np.eye(3), [-1.0, -2.0, -3.0], max_iter=1).status == "pivot limit"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lasso_td(np.ones((2, 3)), [1, 1], 0.1), "A must be square"),
        (lambda: lasso_td([[np.nan]], [1.0], 0.1), "finite"),
        (lambda: lasso_td([[1.0]], [1.0], -1.0), "alpha must be a finite number >= 0, got -1.0"),
        (lambda: lasso_td([[1.0]], [1.0], 0.1, solver="newton"), "'lars' or 'lcp', got 'newton'"),
        (lambda: solve_lcp(np.eye(2), [1.0]), "M must be square"),
        (lambda: solve_lcp([[np.inf]], [1.0]), "finite"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
