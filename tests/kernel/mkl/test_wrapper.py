"""The pieces of the wrapper against plain numpy."""

import numpy as np
import pytest

from octavo.kernel.mkl.wrapper import weighted_sum


@pytest.mark.parametrize("n_kernels", [1, 4, 7])
@pytest.mark.parametrize("n", [1, 5, 33, 70])
def test_a_sum_of_triangles_is_the_sum_of_symmetric_matrices(n_kernels, n):
    rng = np.random.default_rng(n)
    K = rng.normal(size=(n_kernels, n, n))
    K = K + K.transpose(0, 2, 1)
    theta = rng.uniform(0.1, 1.0, size=n_kernels)
    theta[n_kernels // 2 :: 3] = 0.0
    theta[0] = 0.5
    total = weighted_sum(K, theta)
    # Sums of at most seven products, each rounded once.
    np.testing.assert_allclose(total, np.einsum("m,mij->ij", theta, K), atol=16 * 1e-16 * 7 * 10)
    assert np.array_equal(total, total.T)
