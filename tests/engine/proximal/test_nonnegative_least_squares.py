"""Block pivoting against Lawson and Hanson's method, closed forms and degenerate columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from octavo.engine.proximal.nonnegative_least_squares import (
    _active_set_rows,
    nonnegative_least_squares,
)


def bounded(A, b):
    return lsq_linear(A, b, (0, np.inf), method="bvls", tol=1e-14)


def fit(X, H, start=None):
    return nonnegative_least_squares(H @ H.T, X @ H.T, start)


def loss(X, W, H):
    return np.linalg.norm(X - W @ H, axis=1)


@pytest.mark.parametrize(("r", "p"), [(1, 4), (5, 5), (8, 30), (30, 40)])
def test_equals_lawson_hanson(r, p):
    rng = np.random.default_rng(r)
    H, X = rng.standard_normal((r, p)), rng.standard_normal((60, p))
    found = fit(X, H)
    np.testing.assert_allclose(found.weights, [bounded(H.T, x).x for x in X], atol=1e-10)
    assert found.violation < 1e-12


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000), r=st.integers(1, 7), copies=st.integers(0, 3))
def test_dependent_columns_reach_the_same_loss(seed, r, copies):
    """Duplicates, sums and zeros among the columns: W is not unique, the fit is."""
    rng = np.random.default_rng(seed)
    H = rng.integers(-2, 3, (r, 4)).astype(float)
    H = np.vstack([H, H[rng.integers(0, r, copies)]]) if copies else H
    X = rng.integers(-3, 4, (5, 4)).astype(float)
    found = fit(X, H)
    assert found.weights.min() >= 0
    # scipy's nnls is no oracle: for integers with ties it returns weights that are not optimal.
    exact = np.array([np.sqrt(2 * bounded(H.T, x).cost) for x in X])
    np.testing.assert_allclose(loss(X, found.weights, H), exact, atol=1e-8)


def test_orthogonal_columns_clip():
    H = np.diag([1.0, 2.0, 4.0])
    X = np.array([[3.0, -2.0, 8.0], [-1.0, -1.0, -1.0]])
    np.testing.assert_allclose(fit(X, H).weights, [[3, 0, 2], [0, 0, 0]])


def test_start_changes_nothing():
    rng = np.random.default_rng(0)
    H, X = rng.random((6, 20)), rng.random((40, 20))
    cold = fit(X, H).weights
    for start in (np.zeros((40, 6)), cold, rng.random((40, 6)) - 0.5):
        np.testing.assert_allclose(fit(X, H, start).weights, cold, atol=1e-12)


def test_rows_left_over_are_solved():
    rng = np.random.default_rng(1)
    H, X = rng.random((5, 3)), rng.random((10, 3))  # singular Gram matrix
    W = _active_set_rows(H @ H.T, X @ H.T)
    # scipy's nnls is no oracle: for integers with ties it returns weights that are not optimal.
    exact = np.array([np.sqrt(2 * bounded(H.T, x).cost) for x in X])
    np.testing.assert_allclose(loss(X, W, H), exact, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1.0, 1e8, 1e150])
def test_scale_does_not_matter(scale):
    rng = np.random.default_rng(2)
    H, X = rng.random((4, 9)), rng.random((12, 9))
    np.testing.assert_allclose(fit(scale * X, scale * H).weights, fit(X, H).weights, rtol=1e-9)


def test_zero_columns_and_nothing():
    assert not fit(np.ones((3, 2)), np.zeros((2, 2))).weights.any()
    assert fit(np.ones((3, 2)), np.zeros((0, 2))).weights.shape == (3, 0)
    assert fit(np.zeros((0, 2)), np.ones((1, 2))).weights.shape == (0, 1)
