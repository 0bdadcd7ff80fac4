"""Factored covariances against plain matrices, and where plain matrices fail."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.streams import packed_covariance as rank_one
from octavo.engine.streams import passes as streams


def absorb(covariance, x, noise):
    v = rank_one.variance(x, covariance)
    rank_one.absorb_full(covariance, noise)
    return v, covariance.gain[: covariance.n_coordinates].copy()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(0, 1000), st.floats(1e-4, 1e4), st.floats(0.1, 10))
def test_absorbing_rows_is_the_inverse_of_adding_precision(d, seed, noise, start):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, d)) * (rng.random((12, d)) > 0.3)
    covariance = rank_one.new_covariance(rank_one.FULL, d, start)
    plain = start * np.eye(d)
    rows = streams.as_rows(X)
    for i, x in enumerate(X):
        v, gain = absorb(covariance, streams.row_of(rows, i), noise)
        np.testing.assert_allclose(v, x @ plain @ x, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(gain, plain @ x, rtol=1e-7, atol=1e-9)
        plain = plain - np.outer(plain @ x, plain @ x) / (x @ plain @ x + noise)
    precision = np.eye(d) / start + X.T @ X / noise
    np.testing.assert_allclose(rank_one.as_matrix(covariance) @ precision, np.eye(d), atol=1e-7)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_sparse_rows_give_the_same_factor_as_dense_ones(bias):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40)) * (rng.random((30, 40)) > 0.9)  # few enough for the short sum
    d = 40 + int(bias)
    one = rank_one.new_covariance(rank_one.FULL, d, 1.0)
    other = rank_one.new_covariance(rank_one.FULL, d, 1.0)
    dense, sparse = streams.as_rows(X, bias), streams.as_rows(sp.csr_matrix(X), bias)
    for i in range(30):
        absorb(one, streams.row_of(dense, i), 0.5)
        absorb(other, streams.row_of(sparse, i), 0.5)
    np.testing.assert_allclose(one.values, other.values, atol=1e-12)


def test_infinite_noise_gives_the_gain_and_leaves_the_covariance():
    X = np.random.default_rng(0).normal(size=(3, 4))
    covariance = rank_one.new_covariance(rank_one.FULL, 4, 1.0)
    rows = streams.as_rows(X)
    absorb(covariance, streams.row_of(rows, 0), 0.1)
    before, plain = covariance.values.copy(), rank_one.as_matrix(covariance)
    _, gain = absorb(covariance, streams.row_of(rows, 1), np.inf)
    np.testing.assert_array_equal(covariance.values, before)
    np.testing.assert_allclose(gain, plain @ X[1], atol=1e-12)


def test_factors_stay_positive_where_a_plain_matrix_does_not():
    """Almost exact measurements along nearly parallel rows: the truth is 1e-30 and below."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=6)
    X = base + 1e-9 * rng.normal(size=(200, 6))
    covariance = rank_one.new_covariance(rank_one.FULL, 6, 1.0)
    plain = np.eye(6)
    rows = streams.as_rows(X)
    for i, x in enumerate(X):
        v, _ = absorb(covariance, streams.row_of(rows, i), 1e-25)
        assert v > 0
        plain = plain - np.outer(plain @ x, plain @ x) / (x @ plain @ x + 1e-25)
    assert np.all(covariance.values[:6] > 0)  # D
    assert np.linalg.eigvalsh(plain).min() < -1e-3


@pytest.mark.parametrize("kind", [rank_one.DIAGONAL, rank_one.FULL])
def test_inflating_multiplies_the_covariance(kind):
    covariance = rank_one.new_covariance(kind, 3, 2.0)
    rows = streams.as_rows(np.array([[1.0, 2.0, -1.0]]))
    if kind == rank_one.FULL:
        absorb(covariance, streams.row_of(rows, 0), 1.0)
    before = rank_one.as_matrix(covariance)
    rank_one.inflate(covariance, 1.5)
    np.testing.assert_allclose(rank_one.as_matrix(covariance), 1.5 * before, rtol=1e-12)


def test_diagonal_keeps_the_diagonal_of_each_update():
    x, sigma, noise = np.array([0.5, -2.0, 0.0]), np.array([1.0, 0.3, 2.0]), 0.7
    v = np.sum(sigma * x**2)
    expected = sigma - (sigma * x) ** 2 / (v + noise)
    for j in range(3):
        gain = rank_one.absorb_coordinate(sigma, j, x[j], v, noise, 1 / (v + noise))
        assert gain == pytest.approx(x[j] * (1.0, 0.3, 2.0)[j])
    np.testing.assert_allclose(sigma, expected, rtol=1e-12)
