"""Random Fourier features against the kernels they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import kstest
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from octavo.kernel import SpectralSampler, pointwise_fourier_bound

RNG = np.random.default_rng(5)
X = RNG.standard_normal((12, 3))
M = 40_000


def cauchy_kernel(A, B, length_scale):
    apart = (A[:, None] - B[None]) / length_scale
    return np.prod(1.0 / (1.0 + apart**2), axis=-1)


KERNELS = {
    "rbf": (lambda s: rbf_kernel(X, gamma=1 / (2 * s**2)), {}),
    "laplace": (lambda s: laplacian_kernel(X, gamma=1 / s), {}),
    "cauchy": (lambda s: cauchy_kernel(X, X, s), {}),
    "matern-half": (lambda s: Matern(s, nu=0.5)(X), {"nu": 0.5}),
    "matern-three-halves": (lambda s: Matern(s, nu=1.5)(X), {"nu": 1.5}),
    "matern-five-halves": (lambda s: Matern(s, nu=2.5)(X), {"nu": 2.5}),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("length_scale", [0.7, 2.0])
def test_inner_products_are_the_kernel(name, paired, length_scale):
    exact, extra = KERNELS[name]
    sampler = SpectralSampler(
        name.split("-")[0],
        length_scale,
        n_components=M,
        paired=paired,
        random_state=0,
        **extra,
    )
    Z = sampler.fit_transform(X)
    assert Z.shape == (12, M)
    # A product has a variance of at most one and a half; pairs average half as many.
    assert np.abs(Z @ Z.T - exact(length_scale)).max() < 5 * np.sqrt(1.5 * (1 + paired) / M)


def test_laplace_is_of_the_l1_distance():
    """The printed ℓ₂ form is another kernel: at (1, 1) it is exp(-√2), not exp(-2)."""
    A = np.array([[0.0, 0.0], [1.0, 1.0]])
    Z = SpectralSampler("laplace", n_components=M, random_state=1).fit_transform(A)
    assert Z[0] @ Z[1] == pytest.approx(np.exp(-2.0), abs=5 * np.sqrt(1.5 / M))


def test_spectra_are_their_laws():
    def weights(kernel, **extra):
        sampler = SpectralSampler(kernel, n_components=4000, random_state=0, **extra)
        return sampler.fit(X).random_weights_[0]

    assert kstest(weights("rbf"), "norm").pvalue > 1e-4
    assert kstest(weights("laplace"), "cauchy").pvalue > 1e-4
    assert kstest(weights("cauchy"), "laplace").pvalue > 1e-4
    assert kstest(weights("matern", nu=1.5), "t", args=(3.0,)).pvalue > 1e-4


def test_pointwise_bound_holds():
    """The share of draws that miss by ε is below the bound of Proposition 3.13."""
    A = np.array([[0.0, 0.0], [0.7, -0.2]])
    k = rbf_kernel(A, gamma=0.5)[0, 1]
    missed = []
    for seed in range(400):
        Z = SpectralSampler(n_components=200, random_state=seed).fit_transform(A)
        missed.append(abs(Z[0] @ Z[1] - k))
    for epsilon in (0.16, 0.2, 0.25):
        assert np.mean(np.array(missed) >= epsilon) <= pointwise_fourier_bound(200, epsilon)


def test_sparse_rows_and_single_precision():
    sampler = SpectralSampler("cauchy", n_components=20, random_state=0).fit(X)
    np.testing.assert_allclose(sampler.transform(sp.csr_array(X)), sampler.transform(X))
    single = SpectralSampler(n_components=20, random_state=0).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32


def test_odd_pairs_are_refused():
    with pytest.raises(ValueError, match="must be even; got 7"):
        SpectralSampler(n_components=7, paired=True).fit(X)
