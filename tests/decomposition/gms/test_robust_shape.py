"""Tyler's and Maronna's scatter against pyriemann, likelihoods and their equations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyriemann.geometry.covariance import covariance_mest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.stats import multivariate_t
from sklearn.exceptions import ConvergenceWarning

from octavo.decomposition import make_outlier_subspace, maronna_scatter, tyler_shape


def heavy_tailed(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_t(2.0, (n, d)) @ rng.standard_normal((d, d))


def test_tyler_is_that_of_pyriemann():
    X = heavy_tailed()
    theirs = covariance_mest(X.T, "tyl", tol=1e-12, n_iter_max=1000, assume_centered=True)
    found = tyler_shape(X)
    assert found.converged
    np.testing.assert_allclose(found.scatter, theirs / np.trace(theirs), atol=1e-9)


def test_tyler_solves_its_equation():
    X = heavy_tailed()
    found = tyler_shape(X, tol=1e-12)
    t = np.einsum("ij,ij->i", X @ np.linalg.inv(found.scatter), X)
    np.testing.assert_allclose(found.distances, t, rtol=1e-8)
    right = (X.T / t) @ X * X.shape[1] / len(X)  # Eq. (29)
    np.testing.assert_allclose(right, found.scatter, atol=1e-9)
    assert np.trace(found.scatter) == pytest.approx(1.0)


def test_tyler_recovers_a_subspace():
    """More than a share d / D of the rows on a subspace: the solution is singular there."""
    sample = make_outlier_subspace(125, 125, 10, 3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="singular"):
        found = tyler_shape(sample.X)
    assert found.singular
    assert not found.converged
    top = np.linalg.eigh(found.scatter)[1][:, -3:]
    np.testing.assert_allclose(top @ top.T, sample.basis @ sample.basis.T, atol=1e-6)


def test_student_weights_maximise_the_likelihood():
    X = heavy_tailed(150, 2)
    df = 3.0

    def loss(theta):
        root = np.array([[np.exp(theta[0]), 0.0], [theta[1], np.exp(theta[2])]])
        return -multivariate_t.logpdf(X, shape=root @ root.T, df=df).sum()

    best = minimize(
        loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12}
    )
    root = np.array([[np.exp(best.x[0]), 0.0], [best.x[1], np.exp(best.x[2])]])
    found = maronna_scatter(X, weight="student", df=df)
    # A simplex search in double precision resolves the minimiser to the root of its value's digits.
    np.testing.assert_allclose(found.scatter, root @ root.T, rtol=1e-5)


WEIGHTS = {
    "log": lambda t: 2 * np.log1p(t) / t,
    "power": lambda t: t**-0.9,
    "student": lambda t: (3 + 5) / (3 + t),
}


@pytest.mark.parametrize("weight", WEIGHTS)
def test_maronna_solves_its_equation(weight):
    X = heavy_tailed()
    found = maronna_scatter(X, weight=weight)
    assert found.converged
    t = np.einsum("ij,ij->i", X @ np.linalg.inv(found.scatter), X)
    right = (X.T * WEIGHTS[weight](t)) @ X / len(X)
    np.testing.assert_allclose(right, found.scatter, atol=1e-8 * np.abs(found.scatter).max())
    own = maronna_scatter(X, weight=WEIGHTS[weight])
    np.testing.assert_allclose(own.scatter, found.scatter, rtol=1e-7)


def test_constant_weights_give_the_covariance():
    X = heavy_tailed()
    found = maronna_scatter(X, weight=np.ones_like)
    np.testing.assert_allclose(found.scatter, X.T @ X / len(X), rtol=1e-10)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31))
def test_affine_equivariance(seed):
    rng = np.random.default_rng(seed)
    X = heavy_tailed(80, 3, seed)
    T = rng.standard_normal((3, 3)) + 3 * np.eye(3)
    moved = tyler_shape(X @ T).scatter
    expected = T.T @ tyler_shape(X).scatter @ T
    np.testing.assert_allclose(moved, expected / np.trace(expected), atol=1e-7)
    scales = np.exp(rng.normal(size=(80, 1)))
    np.testing.assert_allclose(tyler_shape(X * scales).scatter, tyler_shape(X).scatter, atol=1e-8)
    student = maronna_scatter(X, weight="student").scatter
    moved = maronna_scatter(X @ T, weight="student").scatter
    np.testing.assert_allclose(moved, T.T @ student @ T, rtol=1e-6, atol=1e-8)


def test_sparse_rows():
    X = heavy_tailed()
    X[np.abs(X) < 0.3] = 0.0
    np.testing.assert_allclose(
        tyler_shape(csr_array(X)).scatter, tyler_shape(X).scatter, atol=1e-10
    )


def test_not_converged_is_told_with_the_number():
    with pytest.warns(ConvergenceWarning, match="off by"):
        found = tyler_shape(heavy_tailed(), max_iter=2)
    assert found.residual > 1e-10


@pytest.mark.parametrize("function", [tyler_shape, maronna_scatter])
def test_bad_input(function):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="got 5 rows that are not zero and 5 features"):
        function(rng.standard_normal((5, 5)))
    flat = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 4))
    with pytest.raises(ValueError, match="dimension 2"):
        function(flat)
    with pytest.raises(ValueError, match="NaN"):
        function([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="'tol'"):
        function(rng.standard_normal((50, 2)), tol=-1.0)


def test_zero_rows_are_left_out():
    X = heavy_tailed()
    with pytest.warns(UserWarning, match="3 of 303 rows are zero"):
        found = tyler_shape(np.vstack([X, np.zeros((3, 5))]))
    np.testing.assert_allclose(found.scatter, tyler_shape(X).scatter, atol=1e-12)
