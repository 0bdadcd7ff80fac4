"""Blocks and subsets against their definitions; distinct rows against numpy.unique."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from octavo.engine.kernels.gram import Kernel
from octavo.svm.representatives.partition import (
    contiguous_blocks,
    distinct_rows,
    median_split_blocks,
    neighbour_subsets,
    row_keys,
)

SMALL = arrays(float, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=st.integers(-1, 1))


@given(SMALL, st.randoms(use_true_random=False), st.booleans())
def test_distinct_rows_against_numpy(X, random, keep_order):
    labels = np.array([random.randint(0, 1) for _ in X])
    for rows in (X, sp.csr_array(X)):
        found = distinct_rows(rows, labels, keep_order=keep_order)
        both = np.column_stack([X, labels])
        assert len(found.first) == len(np.unique(both, axis=0))
        np.testing.assert_array_equal(both[found.first][found.inverse], both)
        np.testing.assert_array_equal(found.inverse[found.first], np.arange(len(found.first)))
        for place, first in enumerate(found.first):
            assert first == np.flatnonzero(found.inverse == place)[0]
        if keep_order:
            assert np.all(np.diff(found.first) > 0)


def test_keys_are_the_same_dense_and_sparse_and_ignore_the_sign_of_zero():
    X = np.array([[0.0, 1.5, 0.0], [-0.0, 1.5, 0.0], [1.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    stored_zero = sp.csr_array((np.array([0.0, 1.5]), np.array([0, 1]), np.array([0, 2])), (1, 3))
    keys = row_keys(X)
    np.testing.assert_array_equal(keys, row_keys(sp.csr_array(X)))
    assert keys[0] == keys[1] == row_keys(stored_zero)[0]
    assert len(set(keys.tolist())) == 3


def test_order_follows_from_the_values_alone():
    X = np.random.default_rng(0).normal(size=(50, 2))
    order = np.random.default_rng(1).permutation(50)
    one = distinct_rows(X, np.zeros(50, int), keep_order=False)
    other = distinct_rows(X[order], np.zeros(50, int), keep_order=False)
    np.testing.assert_array_equal(X[one.first], X[order][other.first])


@pytest.mark.parametrize(("n", "size"), [(10, 3), (9, 3), (2, 5), (1, 1)])
def test_contiguous_blocks_are_runs(n, size):
    blocks = contiguous_blocks(np.arange(n), size)
    np.testing.assert_array_equal(np.concatenate(blocks), np.arange(n))
    assert [len(b) for b in blocks[:-1]] == [size] * (len(blocks) - 1)
    assert 0 < len(blocks[-1]) <= size


@pytest.mark.parametrize("kernel", [Kernel("rbf", 1.0), Kernel("poly", 1.0, 2, 1.0)])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_median_split_separates_near_from_far(kernel, sparse):
    X = np.random.default_rng(0).normal(size=(100, 2))
    rows = np.random.default_rng(1).permutation(100)
    far = kernel.squared_distances(X, X[rows[:1]])[:, 0]
    data = sp.csr_array(X) if sparse else X
    blocks = median_split_blocks(kernel, data, rows, np.asarray(kernel.diagonal(data)), 50)
    near, away = blocks
    assert len(near) == len(away) == 50
    assert far[near].max() <= far[away].min() + 1e-12
    assert set(near) | set(away) == set(range(100))


@given(st.integers(0, 1000), st.integers(1, 200), st.integers(2, 30))
def test_splits_end_and_keep_every_row_even_with_ties(seed, n, size):
    X = np.random.default_rng(seed).integers(0, 2, (n, 1)).astype(float)
    kernel, ones = Kernel("rbf", 1.0), np.ones(n)
    for cut in (median_split_blocks, neighbour_subsets):
        parts = cut(kernel, X, np.arange(n), ones, size)
        assert max(map(len, parts)) <= size
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))


def test_subsets_are_nearest_neighbours_of_their_centres():
    X = np.random.default_rng(0).normal(size=(70, 3))
    kernel, size = Kernel("rbf", 0.5), 20
    subsets = neighbour_subsets(kernel, X, np.arange(70), np.ones(70), size)
    assert [len(s) for s in subsets] == [20, 20, 20, 10]
    # Plain form of the second level: sort by distance, cut off V, go on from the next.
    left, centre = np.arange(70), int(np.argmax(np.sum(X**2, axis=1)))
    for subset in subsets[:-1]:
        ranked = left[np.argsort(np.sum((X[left] - X[centre]) ** 2, axis=1))]
        assert set(subset) == set(ranked[:size])
        left, centre = ranked[size:], ranked[size]
    assert set(subsets[-1]) == set(left)
