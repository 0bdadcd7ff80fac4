"""Laplace evidence of grouped multinomial logits beside independent solvers and dense algebra."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from octavo.engine.smooth.softmax_laplace import (
    contrasts,
    curvature,
    expand_column,
    fit_column,
    row_change,
    woodbury_system,
)


def table(R, seed=0, most=30):
    patterns = np.c_[np.ones(8), np.array(list(itertools.product((0, 1), repeat=3)))]
    return patterns, np.random.default_rng(seed).integers(0, most, (8, R)).astype(float)


def log_posterior(B, patterns, counts, sigma2):
    eta = patterns @ B
    norm = np.logaddexp.reduce(eta, axis=1)
    return (counts * (eta - norm[:, None])).sum() - 0.5 * (B**2).sum() / sigma2


@pytest.mark.parametrize("method", ["cholesky", "dense", "woodbury"])
def test_maximum_is_that_of_a_ridge_softmax(method):
    patterns, counts = table(3)
    rows, y = np.repeat(patterns, 3, axis=0), np.tile(np.arange(3), 8)
    peer = LogisticRegression(C=0.7, fit_intercept=False, tol=1e-10, max_iter=2000)
    peer.fit(rows, y, sample_weight=counts.ravel())
    assert_allclose(
        fit_column(patterns, counts, 0.7, method=method).weights, peer.coef_.T, atol=1e-5
    )


@pytest.mark.parametrize("R", [2, 4])
@pytest.mark.parametrize("method", ["cholesky", "dense", "woodbury"])
def test_evidence_is_equation_6(R, method):
    patterns, counts = table(R)
    found = fit_column(patterns, counts, 2.0, method=method)
    best = minimize(
        lambda b: -log_posterior(b.reshape(4, R), patterns, counts, 2.0), np.zeros(4 * R), tol=1e-10
    )
    H = curvature(patterns, counts, best.x.reshape(4, R), 2.0)
    exact = -best.fun - 0.5 * np.linalg.slogdet(2.0 * H)[1]
    assert abs(found.log_evidence - exact) < 1e-4  # both stop at 1e-4 in the weights


def test_curvature_by_differences():
    patterns, counts = table(3)
    B = np.random.default_rng(1).normal(size=(4, 3))
    f, h = lambda v: log_posterior(v.reshape(3, 4).T, patterns, counts, 1.5), 1e-4
    v, eye = B.T.ravel(), np.eye(12) * h
    found = np.array(
        [[f(v + a + b) - f(v + a - b) - f(v - a + b) + f(v - a - b) for b in eye] for a in eye]
    ) / (4 * h * h)
    assert_allclose(-found, curvature(patterns, counts, B, 1.5), atol=1e-3)


def test_woodbury_equals_dense():
    patterns, counts = table(5)
    B = np.random.default_rng(2).normal(size=(4, 5))
    step, log_det, decrement = woodbury_system(patterns, counts, B, 0.9)
    H = curvature(patterns, counts, B, 0.9)
    pi = np.exp(patterns @ B)
    pi /= pi.sum(axis=1, keepdims=True)
    g = patterns.T @ (counts - counts.sum(axis=1, keepdims=True) * pi) - B / 0.9
    exact = np.linalg.solve(H, g.T.ravel())
    assert_allclose(step.T.ravel(), exact, rtol=1e-9, atol=1e-12)
    assert_allclose(log_det, np.linalg.slogdet(H)[1], rtol=1e-12)
    assert_allclose(decrement, exact @ g.T.ravel(), rtol=1e-10)


def test_contrasts():
    U = contrasts(5)
    assert_allclose(U.T @ U, np.eye(4), atol=1e-15)
    assert_allclose(U.sum(axis=0), 0.0, atol=1e-15)
    assert_allclose(contrasts(3), U[:3, :2])


@pytest.mark.parametrize("R", [2, 3, 5])
@pytest.mark.parametrize("k", [-1, 1, 2])
def test_small_changes_are_those_of_new_fits(k, R):
    patterns, counts = table(R, most=300)
    counts += 20
    old, U, m = fit_column(patterns, counts, 1.0), contrasts(R), 4 * (R - 1)
    S, tilt, room = np.empty((m, m)), np.empty(m), np.empty((3, m))
    pi, small = np.empty(R), np.empty((4, 2 * R, 2 * R))
    expand_column(
        patterns, 8, 4, counts[:, None], 0, R, U, 1.0, old.weights, S, tilt, np.empty((m, m)),
        room[0], room[1], pi, np.empty(4, int), small,
    )  # fmt: skip
    z, x = patterns[5].copy(), 1
    new = counts.copy()
    new[5, x] -= 1
    if k >= 0:
        other = z.copy()
        other[k] = 1 - other[k]
        new[np.flatnonzero((patterns == other).all(axis=1))[0], x] += 1
    exact = fit_column(patterns, new, 1.0).log_evidence - old.log_evidence
    to = 0.0 if k < 0 else 1 - z[k]
    found, far = row_change(z, k, to, 0.0, 4, R, U, x, old.weights, S, tilt, pi, room[2], small)
    assert abs(found - exact) < 2e-4  # weights stop at a squared decrement of 1e-7
    assert 0.0 < far < 0.1


@pytest.mark.parametrize("method", ["dense", "woodbury"])
@pytest.mark.parametrize("most", [3, 30, 300])
def test_slope_is_zero_at_the_mode(method, most):
    patterns, counts = table(5, seed=most, most=most)
    B = fit_column(patterns, counts, 2.0, method=method).weights
    P = np.exp(patterns @ B)
    expected = counts.sum(axis=1, keepdims=True) * P / P.sum(axis=1, keepdims=True)
    # weights and evidence are at the same point: the last Newton step is taken, not only counted
    assert_allclose(patterns.T @ (counts - expected), B / 2.0, atol=1e-6)
