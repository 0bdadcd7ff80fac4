"""Theorems 1 and 2 and Lemma 1, against definitions, derivatives and draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.bayes import (
    commutation_matrix,
    duplication_matrix,
    moment_parameters,
    natural_parameters,
    row_kronecker,
    vech,
)

orders = st.integers(1, 5)
seeds = st.integers(0, 2**32 - 1)


def normal(d, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    return rng.normal(size=d), root @ root.T + np.eye(d), rng


def vec(A):
    return A.ravel("F")


def parts(d, mu, Sigma):
    """M and S of Theorem 1."""
    plus = np.linalg.pinv(duplication_matrix(d))
    M = 2 * plus @ np.kron(mu[:, None], np.eye(d))
    return M, 2 * plus @ np.kron(Sigma, Sigma) @ plus.T


@settings(max_examples=30, deadline=None)
@given(orders, seeds)
def test_duplication_and_commutation_by_definition(d, seed):
    _, A, rng = normal(d, seed)
    D, K = duplication_matrix(d), commutation_matrix(d)
    np.testing.assert_array_equal(D @ vech(A), vec(A))
    np.testing.assert_allclose(np.linalg.pinv(D) @ vec(A), vech(A), atol=1e-12)
    # Lemma 1.
    np.testing.assert_allclose(np.linalg.pinv(D).T @ D.T @ vec(A), vec(A), atol=1e-10)
    B = rng.normal(size=(d, d))
    np.testing.assert_array_equal(K @ vec(B), vec(B.T))
    np.testing.assert_allclose(K @ np.kron(A, B), np.kron(B, A) @ K)
    wide = rng.normal(size=(d, d + 2))
    np.testing.assert_array_equal(commutation_matrix(d, d + 2) @ vec(wide), vec(wide.T))


@settings(max_examples=30, deadline=None)
@given(orders, seeds)
def test_theorem_2(d, seed):
    _, B, rng = normal(d, seed)
    A, b = rng.normal(size=(7, d)), rng.normal(size=7)
    Q = row_kronecker(A)
    np.testing.assert_allclose(np.diag(A @ B @ A.T), Q @ vec(B))
    np.testing.assert_allclose(vec(A.T @ np.diag(b) @ A), Q.T @ b)


@settings(max_examples=30, deadline=None)
@given(orders, seeds)
def test_natural_parameters_go_there_and_back(d, seed):
    mu, Sigma, rng = normal(d, seed)
    eta = natural_parameters(mu, Sigma)
    back = moment_parameters(eta)
    np.testing.assert_allclose(back[0], mu, atol=1e-9)
    np.testing.assert_allclose(back[1], Sigma, rtol=1e-8)
    P = np.linalg.inv(Sigma)
    np.testing.assert_allclose(eta[d:], -0.5 * duplication_matrix(d).T @ vec(P), atol=1e-12)
    # T(x)'eta is the log density but for a constant.
    x, z = rng.normal(size=(2, d))

    def log_density(x):
        return -0.5 * (x - mu) @ P @ (x - mu)

    T = np.r_[x - z, vech(np.outer(x, x) - np.outer(z, z))]
    np.testing.assert_allclose(T @ eta, log_density(x) - log_density(z), atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3), seeds)
def test_theorem_1(d, seed):
    mu, Sigma, rng = normal(d, seed)
    eta = natural_parameters(mu, Sigma)
    M, S = parts(d, mu, Sigma)
    D = duplication_matrix(d)
    U = np.block([[Sigma, np.zeros((d, d * d))], [M @ Sigma, S @ D.T]])
    V = np.block([[Sigma, Sigma @ M.T], [M @ Sigma, S + M @ Sigma @ M.T]])

    def moments(eta):
        m, C = moment_parameters(eta)
        return np.r_[m, vec(C)]

    # (a): U is the transposed derivative of (mu, vec Sigma) by eta.
    h = 1e-5
    steps = np.eye(len(eta)) * h
    U_numeric = np.array([(moments(eta + s) - moments(eta - s)) / (2 * h) for s in steps])
    np.testing.assert_allclose(U, U_numeric, rtol=1e-4, atol=1e-4 * np.abs(U).max())

    # (c): V is the derivative of E T(x) by eta.
    def expected(eta):
        m, C = moment_parameters(eta)
        return np.r_[m, vech(C + np.outer(m, m))]

    V_numeric = np.array([(expected(eta + s) - expected(eta - s)) / (2 * h) for s in steps])
    np.testing.assert_allclose(V, V_numeric, rtol=1e-4, atol=1e-4 * np.abs(V).max())
    # (b), (d), (e), (f).
    P = np.linalg.inv(Sigma)
    np.testing.assert_allclose(np.linalg.inv(S), 0.5 * D.T @ np.kron(P, P) @ D, rtol=1e-7)
    S_inv = np.linalg.inv(S)
    V_inv = np.block([[P + M.T @ S_inv @ M, -M.T @ S_inv], [-S_inv @ M, S_inv]])
    np.testing.assert_allclose(V_inv @ V, np.eye(len(V)), atol=1e-7)
    E = np.block([[np.eye(d), -M.T @ D.T], [np.zeros((len(S), d)), D.T]])
    np.testing.assert_allclose(V_inv @ U, E, atol=1e-7)
    g, G = rng.normal(size=d), rng.normal(size=(d, d))
    G = G + G.T
    np.testing.assert_allclose(
        V_inv @ U @ np.r_[g, vec(G)], np.r_[g - 2 * G @ mu, D.T @ vec(G)], atol=1e-7
    )


@pytest.mark.parametrize("d", [0, -1, 2.5, "2", True, 101, None])
def test_orders_that_are_none(d):
    for function in (duplication_matrix, commutation_matrix):
        with pytest.raises(ValueError, match="d must be"):
            function(d)


def test_matrices_that_are_none():
    with pytest.raises(ValueError, match="must be square"):
        vech(np.ones((2, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        natural_parameters([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ValueError, match="positive definite"):
        natural_parameters([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="shape"):
        natural_parameters([0.0], np.eye(2))
    with pytest.raises(ValueError, match="whole d"):
        moment_parameters(np.ones(4))
    with pytest.raises(ValueError, match="positive definite"):
        moment_parameters([0.0, 1.0])
