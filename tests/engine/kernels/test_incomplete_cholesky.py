"""The factor, its exact columns, its residual and its rank."""

import numpy as np
import pytest

from octavo.engine.kernels.incomplete_cholesky import incomplete_cholesky
from octavo.engine.kernels.pair_sums import PairKernel, kernel_block


def sample(n=60, d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "inverse_multiquadric"])
def test_full_rank_factor_is_the_matrix(name):
    X, kernel = sample(), PairKernel(name, 0.7)
    found = incomplete_cholesky(kernel, X, tol=0.0)
    K = kernel_block(kernel, X, X)
    # What the pivots leave is below 1e-14 of the trace, n, in every diagonal entry.
    np.testing.assert_allclose(found.factor @ found.factor.T, K, atol=1e-12)


def test_residual_is_the_trace_that_is_missing_and_bounds_the_error():
    X, kernel = sample(200), PairKernel("gaussian", 1.0)
    K = kernel_block(kernel, X, X)
    for tol in (1e-1, 1e-3, 1e-6):
        found = incomplete_cholesky(kernel, X, tol=tol)
        left = K - found.factor @ found.factor.T
        assert found.residual <= tol * found.trace
        np.testing.assert_allclose(found.residual, np.trace(left), atol=1e-10)
        assert np.abs(left).max() <= found.residual + 1e-10
        np.testing.assert_allclose(left[:, found.pivots], 0.0, atol=1e-10)
        assert np.linalg.eigvalsh(left)[0] > -1e-10
        assert found.factor.shape[1] == len(set(found.pivots)) < 200


def test_rank_is_that_of_the_features_for_a_linear_kernel():
    found = incomplete_cholesky(PairKernel("linear"), sample(50, 3), tol=1e-12)
    assert found.factor.shape == (50, 3)


def test_max_rank_stops_first_and_grows_past_the_first_allocation():
    X, kernel = sample(200, 5), PairKernel("gaussian", 0.3)
    assert incomplete_cholesky(kernel, X, tol=0.0, max_rank=7).factor.shape == (200, 7)
    assert incomplete_cholesky(kernel, X, tol=1e-8).factor.shape[1] > 64


def test_duplicates_do_not_add_rank():
    X = np.repeat(sample(10), 5, axis=0)
    assert incomplete_cholesky(PairKernel("gaussian", 0.5), X, tol=0.0).factor.shape[1] <= 10


def test_kernels_that_are_not_positive_are_refused():
    with pytest.raises(ValueError, match="positive semidefinite"):
        incomplete_cholesky(PairKernel("distance"), sample())
