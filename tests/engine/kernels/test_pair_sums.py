"""Blocked sums equal those of whole kernel matrices."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.engine.kernels.pair_sums import (
    KERNELS,
    PairKernel,
    centred_inner,
    centred_product_sum,
    cross_row_sums,
    cross_sum,
    kernel_block,
    kernel_diagonal,
    kernel_rows,
    median_distance,
    off_diagonal,
    pair_moments,
    self_sum,
    unbiased_inner,
)


def one_pair(kernel, x, y):
    """The definition, for two points."""
    r = float(np.linalg.norm(x - y))
    s = kernel.scale
    return {
        "gaussian": np.exp(-(r**2) / (2 * s**2)),
        "laplacian": np.exp(-r / s),
        "inverse_multiquadric": 1 / np.sqrt(1 + (r / s) ** 2),
        "linear": float(x @ y),
        "distance": -(r**s),
    }[kernel.name]


def whole(kernel, X, Y):
    return np.array([[one_pair(kernel, x, y) for y in Y] for x in X])


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + 3.0


@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize("name", KERNELS)
def test_blocks_are_the_definition(name, d):
    kernel = PairKernel(name, 1.3)
    X, Y = points(9, d), points(7, d, 1)
    K = whole(kernel, X, Y)
    np.testing.assert_allclose(kernel_block(kernel, X, Y), K, rtol=1e-10)
    np.testing.assert_allclose(kernel_diagonal(kernel, X), np.diag(whole(kernel, X, X)))
    np.testing.assert_allclose(kernel_rows(kernel, X[:7], Y), np.diag(K[:7]), rtol=1e-10)


@pytest.mark.parametrize("n", [5, 512, 700])  # within a block, one block, with a remainder
def test_sums_do_not_see_the_blocks(n):
    kernel = PairKernel("gaussian", 0.8)
    X, Y = points(n, 2), points(n + 30, 2, 1)
    K, L = kernel_block(kernel, X, Y), kernel_block(kernel, X, X)
    np.testing.assert_allclose(cross_sum(kernel, X, Y), K.sum())
    np.testing.assert_allclose(cross_row_sums(kernel, X, Y), K.sum(axis=1))
    np.testing.assert_allclose(self_sum(kernel, X), L.sum())


@pytest.mark.parametrize("size", [3, 8, 100])
def test_moments_and_inner_products_against_dense_algebra(size):
    rng = np.random.default_rng(2)
    n = 20
    samples = [rng.standard_normal((n, d)) for d in (1, 2, 3)]
    kernels = [PairKernel("gaussian"), PairKernel("laplacian", 2.0), PairKernel("distance")]
    Ks = [kernel_block(k, X, X) for k, X in zip(kernels, samples)]
    moments = pair_moments(kernels, samples, size=size)
    np.testing.assert_allclose(moments.product, (Ks[0] * Ks[1] * Ks[2]).sum())
    np.testing.assert_allclose(moments.rows, [K.sum(axis=1) for K in Ks])
    np.testing.assert_allclose(moments.squares, [(K**2).sum() for K in Ks])
    H = np.eye(n) - 1 / n
    centred = [H @ K @ H for K in Ks]
    np.testing.assert_allclose(
        centred_product_sum(kernels, samples, moments.rows, size=size),
        (centred[0] * centred[1] * centred[2]).sum(),
        rtol=1e-9,
    )
    two = pair_moments(kernels[:2], samples[:2], size=size)
    np.testing.assert_allclose(
        centred_inner(two), np.trace(Ks[0] @ H @ Ks[1] @ H) / n**2, rtol=1e-9
    )
    hollow = [K - np.diag(np.diag(K)) for K in Ks]
    bare = off_diagonal(moments)
    np.testing.assert_allclose(bare.product, (hollow[0] * hollow[1] * hollow[2]).sum(), atol=1e-12)
    np.testing.assert_allclose(bare.squares, [(K**2).sum() for K in hollow], rtol=1e-12)


def test_unbiased_inner_product_is_the_u_statistic_over_four_different_points():
    rng = np.random.default_rng(3)
    n = 8
    X, Y = rng.standard_normal((n, 1)), rng.standard_normal((n, 2))
    kernels = [PairKernel("gaussian"), PairKernel("gaussian")]
    K, L = kernel_block(kernels[0], X, X), kernel_block(kernels[1], Y, Y)
    # E k(x,x')l(y,y') + E k(x,x')l(y'',y''') − 2 E k(x,x')l(y,y''), all points different.
    terms = [
        K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q]) for i, j, q, r in permutations(range(n), 4)
    ]
    found = unbiased_inner(pair_moments(kernels, [X, Y]))
    np.testing.assert_allclose(found, np.mean(terms), rtol=1e-10)


def test_far_from_the_origin_distances_keep_their_digits():
    X = points(40, 30) + 1e6
    near = kernel_block(PairKernel("distance"), X, X[:5])
    np.testing.assert_allclose(near[10:], whole(PairKernel("distance"), X[10:], X[:5]), rtol=1e-6)


@given(st.integers(2, 40), st.integers(0, 10))
def test_median_distance_is_that_of_all_pairs(n, seed):
    X = points(n, 2, seed)
    all_pairs = [np.linalg.norm(X[i] - X[j]) for i in range(n) for j in range(i)]
    # The root of the median square: for an even number of pairs not quite the median root.
    ordered = np.sort(all_pairs)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    assert low - 1e-12 <= median_distance(X) <= high + 1e-12


def test_median_distance_of_coinciding_points():
    assert median_distance(np.zeros((10, 2))) == 1.0
    mostly = np.zeros((10, 1))
    mostly[0] = 4.0
    assert median_distance(mostly) == 4.0


def test_bad_kernels_are_named():
    X = points(4, 2)
    with pytest.raises(ValueError, match="kernel must be one of"):
        kernel_block(PairKernel("sigmoid"), X, X)
    with pytest.raises(ValueError, match=r"shape \(4, 4\).*returned shape \(4,\)"):
        kernel_block(PairKernel("own", function=lambda A, B: A[:, 0]), X, X)
