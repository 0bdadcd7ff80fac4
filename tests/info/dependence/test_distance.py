"""Distance covariance and correlation: definition, dcor, the Gaussian value, HSIC."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from octavo.engine.kernels.pair_sums import PairKernel
from octavo.info.dependence.distance import (
    absolute_row_sums,
    distance_moments,
    squared_distance_correlation,
    squared_distance_covariance,
)
from octavo.info.dependence.kernels import hilbert_schmidt
from tests.info import gaussian_values


def pair(n, d=1, e=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, :1] ** 2 + rng.standard_normal((n, e))


def by_loops(X, Y, exponent=1.0):
    """The definition: the mean product of doubly centred distance matrices."""
    n = len(X)
    matrices = []
    for Z in (X, Y):
        a = np.array([[np.linalg.norm(p - q) ** exponent for q in Z] for p in Z])
        centred = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                centred[i, j] = a[i, j] - a[i].mean() - a[:, j].mean() + a.mean()
        matrices.append(centred)
    return (matrices[0] * matrices[1]).mean()


@pytest.mark.parametrize(
    ("d", "e", "exponent"), [(1, 1, 1.0), (2, 3, 1.0), (1, 1, 0.5), (1, 2, 1.7)]
)
def test_covariance_is_the_definition(d, e, exponent):
    X, Y = pair(30, d, e)
    found = squared_distance_covariance(X, Y, exponent)
    np.testing.assert_allclose(found, by_loops(X, Y, exponent), rtol=1e-10)


def u_centred(X, exponent):
    """Székely and Rizzo (2014), Equation (2.2): no mean of the centred distances is left."""
    A = cdist(X, X) ** exponent
    n = len(A)
    rows, total = A.sum(axis=0), A.sum()
    centred = A - (rows[:, None] + rows[None]) / (n - 2) + total / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0.0)
    return centred


@pytest.mark.parametrize("n", [4, 5, 31, 64])
@pytest.mark.parametrize(("d", "e", "exponent"), [(1, 1, 1.0), (2, 3, 1.0), (1, 2, 1.5)])
def test_unbiased_forms_are_the_definition(n, d, e, exponent):
    X, Y = pair(n, d, e, seed=n)
    A, B = u_centred(X, exponent), u_centred(Y, exponent)
    covariance = squared_distance_covariance(X, Y, exponent, unbiased=True)
    np.testing.assert_allclose(covariance, (A * B).sum() / (n * (n - 3)), rtol=1e-9, atol=1e-12)
    correlation = squared_distance_correlation(X, Y, exponent, unbiased=True)
    expected = (A * B).sum() / np.sqrt((A**2).sum() * (B**2).sum())
    np.testing.assert_allclose(correlation, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow  # dcor compiles for most of a minute where it is imported for the first time
@pytest.mark.parametrize("n", [4, 5, 31, 64, 600])
@pytest.mark.parametrize(("d", "e"), [(1, 1), (2, 3)])
def test_dcor_agrees(n, d, e):
    dcor = pytest.importorskip("dcor")
    X, Y = pair(n, d, e, seed=n)
    for exponent in (1.0, 1.5):
        for ours, theirs in (
            (squared_distance_covariance(X, Y, exponent), dcor.distance_covariance_sqr),
            (squared_distance_correlation(X, Y, exponent), dcor.distance_correlation_sqr),
            (
                squared_distance_covariance(X, Y, exponent, unbiased=True),
                dcor.u_distance_covariance_sqr,
            ),
            (
                squared_distance_correlation(X, Y, exponent, unbiased=True),
                dcor.u_distance_correlation_sqr,
            ),
        ):
            expected = theirs(X, Y, exponent=exponent)
            np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-13)


@given(st.integers(2, 60), st.integers(1, 6), st.integers(0, 1000))
def test_the_sort_survives_ties(n, levels, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, levels, (2, n)).astype(float)
    a, b = np.abs(np.subtract.outer(x, x)), np.abs(np.subtract.outer(y, y))
    moments = distance_moments(x[:, None], y[:, None])
    assert moments.product == pytest.approx((a * b).sum(), abs=1e-9)
    np.testing.assert_allclose(moments.rows, [a.sum(axis=1), b.sum(axis=1)], atol=1e-9)
    np.testing.assert_allclose(moments.squares, [(a**2).sum(), (b**2).sum()], atol=1e-9)
    np.testing.assert_allclose(absolute_row_sums(x), a.sum(axis=1), atol=1e-9)


def test_squared_covariance_is_hsic_with_the_distance_kernel():
    X, Y = pair(40, 2, 2)
    minus = PairKernel("distance")
    for unbiased in (False, True):
        hsic = hilbert_schmidt([minus, minus], [X, Y], unbiased=unbiased)
        np.testing.assert_allclose(
            squared_distance_covariance(X, Y, unbiased=unbiased), hsic, rtol=1e-10
        )


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.8])
def test_unbiased_covariance_has_the_gaussian_mean(rho):
    rng = np.random.default_rng(1)
    runs = []
    for _ in range(200):
        Z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 200)
        runs.append(squared_distance_covariance(Z[:, :1], Z[:, 1:], unbiased=True))
    error = np.std(runs, ddof=1) / np.sqrt(len(runs))
    assert abs(np.mean(runs) - gaussian_values.squared_distance_covariance(rho)) < 4 * error


@given(st.integers(0, 200))
def test_invariances(seed):
    X, Y = pair(25, 2, 2, seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(25)
    rotation = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    found = squared_distance_correlation(X, Y)
    assert 0.0 <= found <= 1.0 + 1e-12
    for other in (
        squared_distance_correlation(X[order], Y[order]),
        squared_distance_correlation(3 * X @ rotation + 7, Y),
        squared_distance_correlation(Y, X),
    ):
        assert other == pytest.approx(found, rel=1e-8, abs=1e-12)
    assert squared_distance_correlation(X, 2 * X @ rotation) == pytest.approx(1.0)


def test_a_constant_has_no_correlation():
    X, Y = pair(20)
    assert squared_distance_correlation(X, np.full_like(Y, 3.7)) == 0.0
    assert squared_distance_correlation(np.full((20, 2), 0.1), Y) == 0.0
