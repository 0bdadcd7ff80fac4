"""Eigenpairs against LAPACK, with components that are known, signs, and either end."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from octavo.engine.spectral.embedding import (
    camps,
    embed_affinity,
    leading_eigenpairs,
    normalized_matrix,
    trivial_vectors,
    unit_rows,
)


def blocks(sizes, seed, signed=False):
    """Return a random affinity whose components have these sizes, nodes shuffled."""
    rng = np.random.default_rng(seed)
    parts = []
    for size in sizes:
        A = rng.uniform(0.1, 1.0, size=(size, size)) * (rng.uniform(size=(size, size)) < 0.3)
        A[np.arange(size - 1), np.arange(1, size)] = 0.5  # a path keeps it in one piece
        if signed:
            A *= rng.choice([-1.0, 1.0], size=A.shape)
        parts.append(np.triu(A, 1) + np.triu(A, 1).T)
    A = sp.block_diag(parts).toarray()
    order = rng.permutation(len(A))
    return A[np.ix_(order, order)]


def dense(A):
    degrees = np.abs(A).sum(axis=1)
    alone = degrees == 0
    A = A + np.diag(alone.astype(float))
    degrees[alone] = 1.0
    return A / np.sqrt(np.outer(degrees, degrees))


def ring_of_points(n, seed=0):
    """Return the weights of a neighbourhood graph of two noisy rings."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(np.arange(n) % 2, 1.0, 3.0)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * radius[:, None]
    X += 0.05 * rng.standard_normal(X.shape)
    graph = cKDTree(X).sparse_distance_matrix(cKDTree(X), 0.2, output_type="coo_matrix").tocsr()
    graph.data = (1 - (graph.data / 0.2) ** 2) ** 3
    return graph + sp.eye(n)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=4), st.integers(0, 10), st.booleans())
@settings(max_examples=40, deadline=None)
def test_all_eigenpairs_are_those_of_lapack(sizes, seed, signed):
    A = blocks(sizes, seed, signed)
    S = dense(A)
    for which in ("largest", "smallest", "magnitude"):
        found = embed_affinity(A, len(A), which=which)
        np.testing.assert_allclose(np.sort(found.values), np.linalg.eigvalsh(S), atol=1e-10)
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(len(A)), atol=1e-9)
        np.testing.assert_allclose(S @ found.vectors, found.vectors * found.values, atol=1e-9)
    assert found.n_components == len(sizes)


def test_the_known_vectors_are_the_roots_of_degrees_heaviest_first():
    A = blocks([3, 12, 6], 1)
    found = embed_affinity(A, 3)
    assert found.n_exact == 3
    assert found.values.tolist() == [1.0, 1.0, 1.0]
    volumes = [found.degrees[found.vectors[:, j] != 0].sum() for j in range(3)]
    assert volumes == sorted(volumes, reverse=True)
    for j in range(3):
        inside = found.vectors[:, j] != 0
        expected = np.sqrt(found.degrees[inside] / volumes[j])
        np.testing.assert_allclose(found.vectors[inside, j], expected, rtol=1e-14)
    assert len(np.unique(np.round(unit_rows(found.vectors), 12), axis=0)) == 3


@pytest.mark.parametrize("which", ["largest", "smallest", "magnitude"])
def test_lanczos_beyond_the_dense_size_agrees_with_lapack(which):
    A = blocks([500, 450, 1], 2)  # more nodes than are solved in full
    values = np.linalg.eigvalsh(dense(A))
    found = embed_affinity(sp.csr_array(A), 6, which=which)
    ends = {
        "largest": values[::-1][:6],
        "smallest": values[:6],
        "magnitude": values[np.argsort(-np.abs(values))][:6],
    }
    np.testing.assert_allclose(found.values, ends[which], atol=1e-9)
    assert found.residuals.max() < 1e-7


def test_two_levels_find_double_eigenvalues_where_they_crowd_at_one():
    """Two rings, each mode of which is double: shift-invert of scipy finds the same."""
    A = ring_of_points(5000)
    found = embed_affinity(A, 8)
    assert found.n_components == 2
    assert found.residuals.max() <= 1e-7
    S = normalized_matrix(A)[0]
    expected = sp.linalg.eigsh(S.tocsc(), 8, sigma=1.0 + 1e-6, which="LM")[0]
    np.testing.assert_allclose(found.values, np.sort(expected)[::-1], atol=1e-9)
    assert 1 - found.values[3] < 1e-2  # crowded indeed


def test_camps_of_signed_components():
    """Balanced: two camps; an odd number of negative links in a triangle is not."""
    A = np.zeros((7, 7))
    for i, j, w in [(0, 1, -1), (1, 2, -2), (0, 2, 1), (3, 4, -1), (4, 5, 1), (3, 5, 1)]:
        A[i, j] = A[j, i] = w
    components = np.array([0, 0, 0, 1, 1, 1, 2])
    signs, balanced = camps(sp.csr_array(A), components)
    assert balanced.tolist() == [True, False, True]
    assert (signs[:3] * signs[0]).tolist() == [1.0, -1.0, 1.0]
    S, degrees = normalized_matrix(A)
    known = trivial_vectors(S, degrees, components)[0].toarray()
    assert known.shape == (7, 2)
    np.testing.assert_allclose(S @ known, known, atol=1e-15)


def test_camps_of_a_long_path():
    n = 1000
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=n - 1)
    A = sp.diags_array([signs, signs], offsets=[-1, 1], shape=(n, n)).tocsr()
    found, balanced = camps(A, np.zeros(n, dtype=int))
    assert balanced.all()
    np.testing.assert_array_equal(found * found[0], np.cumprod(np.append(1.0, signs)))


def test_unnormalised_signed_laplacians_go_through_the_same_door():
    A = blocks([15], 3, signed=True)
    L = np.diag(np.abs(A).sum(axis=1)) - A
    found = leading_eigenpairs(L, 4, which="smallest")
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(L)[:4], atol=1e-12)


def test_scale_duplicates_and_wide_indices_do_not_matter():
    A = sp.coo_array(blocks([20, 9], 4))
    twice = sp.coo_array(
        (np.tile(A.data / 2, 2), (np.tile(A.coords[0], 2), np.tile(A.coords[1], 2))), A.shape
    )
    wide = sp.csr_array(A)
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    values = embed_affinity(A, 5).values
    for other in (twice, wide, A * 1e100, A * 1e-100, A.astype(np.float32)):
        np.testing.assert_allclose(embed_affinity(other, 5).values, values, atol=1e-6)


def test_bad_questions():
    A = blocks([5], 0)
    with pytest.raises(ValueError, match="k must be from 1 to 5"):
        embed_affinity(A, 6)
    with pytest.raises(ValueError, match="which must be one of"):
        leading_eigenpairs(A, 1, which="both")


def test_no_warning_on_easy_graphs():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embed_affinity(ring_of_points(5000, seed=1), 4)
