"""Generalised variance, KCCA, KGV, HSIC and the three-way interaction against dense algebra."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import block_diag, eigh
from sklearn.cross_decomposition import CCA

from octavo.engine.kernels.pair_sums import PairKernel, kernel_block
from octavo.info.dependence.kernels import (
    cosine_features,
    gaussian_information,
    hilbert_schmidt,
    hilbert_schmidt_low_rank,
    kernel_canonical_information,
    kernel_correlations,
    kernel_generalised_information,
    lancaster_interaction,
)
from tests.info import gaussian_values


def groups(n, dims=(1, 2), seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 1))
    return [np.sin(2 * shared) + 0.5 * rng.standard_normal((n, d)) for d in dims]


def centring(n):
    return np.eye(n) - 1 / n


def bach_jordan(kernels, samples, kappa):
    """The generalised eigenproblem of KCCA and KGV with whole matrices; (C₁..C_M), section 3."""
    n = len(samples[0])
    H = centring(n)
    Ks = [H @ kernel_block(k, X, X) @ H for k, X in zip(kernels, samples)]
    diagonal = [(K + 0.5 * n * kappa * np.eye(n)) @ (K + 0.5 * n * kappa * np.eye(n)) for K in Ks]
    left = np.block(
        [[diagonal[i] if i == j else Ks[i] @ Ks[j] for j in range(len(Ks))] for i in range(len(Ks))]
    )
    values = eigh(left, block_diag(*diagonal), eigvals_only=True)
    return -0.5 * np.log(values[0]), -0.5 * np.log(values).sum()


@pytest.mark.parametrize("dims", [(1, 1), (1, 2, 1)])
@pytest.mark.parametrize("kappa", [2e-2, 2e-1])
def test_kcca_and_kgv_are_the_generalised_eigenproblem(dims, kappa):
    samples = groups(30, dims)
    kernels = [PairKernel("gaussian", 0.8 + 0.1 * m) for m in range(len(dims))]
    matrix = kernel_correlations(kernels, samples, kappa, tol=1e-13)
    kcca, kgv = bach_jordan(kernels, samples, kappa)
    # Eigenvalues of K below 1e-13 of the trace are shrunk by (1e-13/κ)² and cannot show.
    assert kernel_canonical_information(matrix) == pytest.approx(kcca, rel=1e-7)
    assert kernel_generalised_information(matrix) == pytest.approx(kgv, rel=1e-7)


def test_linear_kernels_without_regularisation_give_classical_correlations():
    samples = groups(60, (2, 3))
    linear = [PairKernel("linear"), PairKernel("linear")]
    matrix = kernel_correlations(linear, samples, kappa=1e-12, tol=1e-14)
    scores = CCA(n_components=1, scale=False, max_iter=10_000, tol=1e-12).fit_transform(*samples)
    first = np.corrcoef(scores[0][:, 0], scores[1][:, 0])[0, 1]
    assert kernel_canonical_information(matrix) == pytest.approx(-0.5 * np.log(1 - first), rel=1e-5)
    assert kernel_generalised_information(matrix) == pytest.approx(
        gaussian_information(samples), rel=1e-6
    )


@pytest.mark.parametrize("rho", [0.0, 0.6, -0.9])
def test_generalised_variance_is_the_gaussian_mutual_information(rho):
    rng = np.random.default_rng(0)
    Z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 500)
    r = np.corrcoef(Z.T)[0, 1]
    found = gaussian_information([Z[:, :1], Z[:, 1:]])
    assert found == pytest.approx(-0.5 * np.log(1 - r**2))
    # Delta method: the standard error of −½ log(1 − r²) is |ρ| / √n to first order.
    assert abs(found + 0.5 * np.log(1 - rho**2)) < 4 * abs(rho) / np.sqrt(500) + 4 / 500


def test_cosine_features_see_what_correlation_cannot():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2000, 1))
    y = x**2 + 0.1 * rng.standard_normal((2000, 1))
    linear = gaussian_information([x, y])
    scaled = [(z - z.mean()) / z.std() for z in (x, y)]
    cosine = gaussian_information([cosine_features(z) for z in scaled])
    assert linear < 0.01 < 0.5 < cosine


def test_singular_correlations_are_refused():
    x = np.random.default_rng(0).standard_normal((50, 1))
    with pytest.raises(ValueError, match="of group 0 is singular"):
        gaussian_information([np.hstack([x, 2 * x]), x**2])
    with pytest.raises(ValueError, match="of all is singular"):
        gaussian_information([x, -3 * x])


def test_hsic_is_the_trace():
    samples = groups(30, (2, 1))
    kernels = [PairKernel("gaussian", 0.7), PairKernel("laplacian", 1.5)]
    K, L = (kernel_block(k, X, X) for k, X in zip(kernels, samples))
    H = centring(30)
    assert hilbert_schmidt(kernels, samples) == pytest.approx(np.trace(K @ H @ L @ H) / 30**2)


def test_joint_hsic_of_three_by_loops():
    n = 8
    samples = groups(n, (1, 2, 1))
    kernels = [PairKernel("gaussian", s) for s in (0.7, 1.0, 1.3)]
    Ks = [kernel_block(k, X, X) for k, X in zip(kernels, samples)]
    pairs = list(product(range(n), repeat=2))
    joint = np.mean([Ks[0][i, j] * Ks[1][i, j] * Ks[2][i, j] for i, j in pairs])
    apart = np.prod([K.mean() for K in Ks])
    cross = np.mean(
        [Ks[0][i, a] * Ks[1][i, b] * Ks[2][i, c] for i, a, b, c in product(range(n), repeat=4)]
    )
    assert hilbert_schmidt(kernels, samples) == pytest.approx(joint + apart - 2 * cross)


def test_low_rank_hsic_converges_to_the_whole():
    samples = groups(150)
    kernels = [PairKernel("gaussian", 1.0), PairKernel("gaussian", 1.0)]
    exact = hilbert_schmidt(kernels, samples)
    errors = [
        abs(hilbert_schmidt_low_rank(kernels, samples, tol) - exact) for tol in (1e-2, 1e-6, 1e-10)
    ]
    # ‖K − GG'‖ ≤ tol·n, and the other matrix, over n², has a trace of at most 1/n.
    for tol, error in zip((1e-2, 1e-6, 1e-10), errors):
        assert error <= 2 * tol + 1e-13


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_unbiased_hsic_has_the_gaussian_mean(rho):
    rng = np.random.default_rng(3)
    kernels = [PairKernel("gaussian", 0.9), PairKernel("gaussian", 1.4)]
    runs = []
    for _ in range(200):
        Z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 100)
        runs.append(hilbert_schmidt(kernels, [Z[:, :1], Z[:, 1:]], unbiased=True))
    error = np.std(runs, ddof=1) / np.sqrt(len(runs))
    assert abs(np.mean(runs) - gaussian_values.hsic(rho, 0.9, 1.4)) < 4 * error


def test_lancaster_is_the_product_of_centred_matrices():
    samples = groups(20, (1, 1, 2))
    kernels = [PairKernel("gaussian", s) for s in (0.7, 1.0, 1.3)]
    H = centring(20)
    centred = [H @ kernel_block(k, X, X) @ H for k, X in zip(kernels, samples)]
    assert lancaster_interaction(kernels, samples) == pytest.approx(
        (centred[0] * centred[1] * centred[2]).mean()
    )


def test_lancaster_sees_a_three_way_interaction_without_pairwise_dependence():
    rng = np.random.default_rng(4)
    n = 300
    x, y = rng.choice([-1.0, 1.0], (2, n, 1))
    z = x * y + 0.1 * rng.standard_normal((n, 1))
    kernels = [PairKernel("gaussian")] * 3
    found = lancaster_interaction(kernels, [x, y, z])
    shuffled = [lancaster_interaction(kernels, [x, y, rng.permutation(z)]) for _ in range(20)]
    assert found > 5 * max(shuffled)


@given(st.integers(0, 200))
def test_invariances(seed):
    samples = groups(25, (1, 2), seed)
    order = np.random.default_rng(seed).permutation(25)
    kernels = [PairKernel("gaussian", 0.9), PairKernel("gaussian", 1.1)]
    found = hilbert_schmidt(kernels, samples)
    assert found >= -1e-13
    shuffled = [X[order] for X in samples]
    assert hilbert_schmidt(kernels, shuffled) == pytest.approx(found, rel=1e-9)
    swapped = hilbert_schmidt(kernels[::-1], [samples[1] + 4, samples[0]])
    assert swapped == pytest.approx(found, rel=1e-9)
    matrix = kernel_correlations(kernels, samples, 2e-2, 1e-10)
    again = kernel_correlations(kernels, shuffled, 2e-2, 1e-10)
    kcca, kgv = kernel_canonical_information(matrix), kernel_generalised_information(matrix)
    least = np.exp(-2 * kcca)  # the eigenvalues of two groups come in pairs λ, 2 − λ
    assert 0.0 <= -0.5 * np.log(least * (2 - least)) <= kgv + 1e-12
    assert kernel_generalised_information(again) == pytest.approx(kgv, rel=1e-5)
