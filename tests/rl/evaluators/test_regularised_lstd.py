"""Regularised LSTD against cvxpy, scikit-learn and what each reduces to."""

import numpy as np
import pytest
from scipy.sparse.csgraph import laplacian
from sklearn.linear_model import Lasso, Ridge

from octavo.rl import (
    dantzig_td,
    l1_td,
    laplacian_td,
    make_garnet,
    nested_td,
    random_projection_td,
    ridge_td,
    td_statistics,
)

GAMMA = 0.95


def log(seed=0, n=300, p=8, off_policy=False):
    garnet = make_garnet(30, 2, 3, p, random_state=seed)
    pi = garnet.random_policy(0)
    drawn = garnet.sample(n, pi, garnet.random_policy(1) if off_policy else None, random_state=seed)
    return drawn.X, drawn.X_next, drawn.r, drawn.rho


def plain(seed=0, **settings):
    X, X_next, r, rho = log(seed, **settings)
    return td_statistics(X, X_next, r, GAMMA, rho)


def test_statistics_are_means_of_products():
    X, X_next, r, rho = log(off_policy=True)
    A, b = td_statistics(X, X_next, r, GAMMA, rho)
    expected = sum(w * np.outer(x, x - GAMMA * y) for w, x, y in zip(rho, X, X_next)) / len(r)
    np.testing.assert_allclose(A, expected)
    np.testing.assert_allclose(b, (rho * r) @ X / len(r))


@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0])
def test_ridge_without_discount_is_ridge_regression(alpha):
    X, X_next, r, _ = log()
    ours = ridge_td(*td_statistics(X, X_next, r, 0.0), alpha)
    theirs = Ridge(alpha=alpha * len(r), fit_intercept=False).fit(X, r).coef_
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_without_penalty_all_are_lstd():
    X, X_next, r, rho = log(off_policy=True)
    A, b = td_statistics(X, X_next, r, GAMMA, rho)
    lstd = np.linalg.solve(A, b)
    np.testing.assert_allclose(ridge_td(A, b, 0.0), lstd)
    np.testing.assert_allclose(l1_td(A, b, 0.0), lstd, rtol=1e-8)
    np.testing.assert_allclose(dantzig_td(A, b, 0.0), lstd, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nested_td(X, X_next, r, GAMMA, weights=rho), lstd, rtol=1e-6)
    np.testing.assert_allclose(laplacian_td(A, b, np.eye(8), np.eye(8), 0.0), lstd)
    np.testing.assert_allclose(
        random_projection_td(X, X_next, r, GAMMA, n_components=8, weights=rho, random_state=0),
        lstd,
        rtol=1e-6,
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fraction", [0.5, 0.05])
def test_dantzig_equals_cvxpy(seed, fraction):
    cvxpy = pytest.importorskip("cvxpy")
    A, b = plain(seed, off_policy=True)
    alpha = fraction * np.abs(b).max()
    theta = cvxpy.Variable(len(b))
    program = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.norm1(theta)), [cvxpy.norm_inf(A @ theta - b) <= alpha]
    )
    program.solve(solver="CLARABEL")
    ours = dantzig_td(A, b, alpha)
    assert np.abs(ours).sum() == pytest.approx(program.value, rel=1e-6)
    assert np.abs(A @ ours - b).max() <= alpha * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fraction", [0.5, 0.05])
def test_l1_equals_cvxpy(seed, fraction):
    cvxpy = pytest.importorskip("cvxpy")
    A, b = plain(seed, off_policy=True)
    alpha = fraction * np.abs(A.T @ b).max()
    theta = cvxpy.Variable(len(b))
    objective = 0.5 * cvxpy.sum_squares(A @ theta - b) + alpha * cvxpy.norm1(theta)
    best = cvxpy.Problem(cvxpy.Minimize(objective)).solve(
        solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12
    )
    ours = l1_td(A, b, alpha)
    value = 0.5 * np.sum((A @ ours - b) ** 2) + alpha * np.abs(ours).sum()
    assert value == pytest.approx(best, abs=1e-8)


def long_form(X, X_next, r, gamma, alpha, weights=None):
    """Return the design and target of the nested problem with a row for each transition."""
    n, p = X.shape
    w = np.ones(n) if weights is None else weights
    M = np.linalg.solve(X.T @ (w[:, None] * X) / n + alpha * np.eye(p), X.T * w / n)
    return X - gamma * X @ M @ X_next, X @ M @ r


@pytest.mark.parametrize(("alpha", "alpha_fixed"), [(0.0, 0.1), (0.2, 0.0), (0.3, 0.5)])
def test_nested_ridge_is_a_ridge_regression(alpha, alpha_fixed):
    X, X_next, r, _ = log(2)
    design, target = long_form(X, X_next, r, GAMMA, alpha)
    ours = nested_td(X, X_next, r, GAMMA, alpha=alpha, alpha_fixed=alpha_fixed)
    normal = design.T @ design / len(r) + alpha_fixed * np.eye(8)
    np.testing.assert_allclose(ours, np.linalg.solve(normal, design.T @ target / len(r)), rtol=1e-6)


@pytest.mark.parametrize("alpha", [1e-6, 0.3])
@pytest.mark.parametrize("alpha_fixed", [0.001, 0.05])
def test_nested_lasso_is_a_lasso(alpha, alpha_fixed):
    X, X_next, r, _ = log(3)
    design, target = long_form(X, X_next, r, GAMMA, alpha)
    ours = nested_td(X, X_next, r, GAMMA, alpha=alpha, alpha_fixed=alpha_fixed, penalty="l1")
    theirs = Lasso(alpha=alpha_fixed, fit_intercept=False, tol=1e-12, max_iter=200_000)
    theirs.fit(design, target)

    def value(theta):
        return np.mean((design @ theta - target) ** 2) / 2 + alpha_fixed * np.abs(theta).sum()

    assert value(ours) == pytest.approx(value(theirs.coef_), rel=1e-6)


def test_weights_are_repetitions_in_the_nested_problem():
    X, X_next, r, _ = log(4, n=80)
    counts = np.random.default_rng(0).integers(0, 3, 80)
    rows, share = np.repeat(np.arange(80), counts), counts.sum() / 80
    for penalty in ("l2", "l1"):
        ours = nested_td(
            X, X_next, r, GAMMA, alpha=0.1, alpha_fixed=0.01, penalty=penalty, weights=counts
        )
        theirs = nested_td(
            X[rows], X_next[rows], r[rows], GAMMA,
            alpha=0.1 / share, alpha_fixed=0.01 / share, penalty=penalty,
        )  # fmt: skip
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-7)


def test_a_strong_laplacian_smooths_the_value():
    garnet = make_garnet(30, 2, 3, 8, random_state=0)
    graph = garnet.P.sum(axis=0) > 0
    L = laplacian((graph | graph.T).astype(float))
    A, b = plain(0)
    rough = [
        np.linalg.norm(L @ garnet.features @ laplacian_td(A, b, garnet.features, L, alpha))
        for alpha in (0.0, 1e-4, 1e-2, 1.0)
    ]
    assert rough == sorted(rough, reverse=True)
    expected = np.linalg.solve(A + 0.1 * garnet.features.T @ L @ L @ garnet.features, b)
    np.testing.assert_allclose(laplacian_td(A, b, garnet.features, L, 0.1), expected)


def test_random_projection_keeps_large_problems_solvable():
    garnet = make_garnet(300, 2, 3, 600, random_state=1)
    drawn = garnet.sample(400, garnet.random_policy(0), random_state=0)
    theta = random_projection_td(
        drawn.X, drawn.X_next, drawn.r, GAMMA, n_components=20, random_state=0
    )
    again = random_projection_td(
        drawn.X, drawn.X_next, drawn.r, GAMMA, n_components=20, random_state=0
    )
    np.testing.assert_array_equal(theta, again)
    H = np.random.RandomState(0).normal(scale=1 / np.sqrt(20), size=(600, 20))
    # Its temporal differences are orthogonal to the projected features.
    delta = drawn.r + GAMMA * drawn.X_next @ theta - drawn.X @ theta
    np.testing.assert_allclose((drawn.X @ H).T @ delta / 400, 0.0, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_stronger_penalties_shrink(alpha):
    A, b = plain(5)
    for solve in (l1_td, dantzig_td, ridge_td):
        assert np.abs(solve(A, b, 2 * alpha)).sum() <= np.abs(solve(A, b, alpha)).sum() + 1e-9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: td_statistics([[1.0]], [[1.0, 2.0]], [1.0]), "one shape"),
        (lambda: td_statistics([[np.nan]], [[1.0]], [1.0]), "finite"),
        (lambda: td_statistics([[1.0]], [[1.0]], [1.0], 1.2), "gamma must lie"),
        (lambda: td_statistics([[1.0]], [[1.0]], [1.0], 0.9, [-1.0]), "weights must be finite"),
        (lambda: ridge_td([[1.0]], [1.0], np.nan), "alpha must be a finite number"),
        (lambda: nested_td([[1.0]], [[1.0]], [1.0], penalty="l0"), "'l2' or 'l1', got 'l0'"),
        (lambda: laplacian_td([[1.0]], [1.0], [[1.0, 2.0]], [[1.0]], 1.0), "1 columns"),
        (lambda: laplacian_td([[1.0]], [1.0], [[1.0]], np.eye(2), 1.0), "laplacian must have"),
        (lambda: random_projection_td([[1.0]], [[1.0]], [1.0], n_components=0), "n_components"),
        (lambda: dantzig_td(np.zeros((2, 2)), [1.0, 0.0], 0.5), "No theta meets the equations"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
