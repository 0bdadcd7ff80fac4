"""Rows cut into small sets of neighbours in kernel space, and rows that occur more than once.

First level: blocks of at most P rows, contiguous (`contiguous_blocks`) or by recursive median
splits (`median_split_blocks`). Second level: subsets of at most V neighbours within a block
(`neighbour_subsets`). Distances are computed from one pivot at a time, a chunk of rows at a
time; no matrix of rows by rows is formed.

Reference: Nandan, Khargonekar and Talathi (2014), "Fast SVM training using approximate extreme
points", JMLR 15:59-98, Sections 4.1 and 4.2. Splits are by rank, not by strict comparison, so
that ties and duplicates cannot make a side empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Indices
from octavo.engine.kernels.gram import Kernel, row_chunks

_ONE = np.array([1.0]).view(np.uint64)  # tiny input for the warm-up


class DistinctRows(NamedTuple):
    """Index of the first occurrence of each distinct row, and which of them each row equals."""

    first: Indices
    inverse: Indices


@njit(cache=True, nogil=True)
def _mixed(place, bits):
    """Return 64 bits that depend on all bits of both arguments (finaliser of splitmix64)."""
    z = bits + (np.uint64(place) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def _keys_of_dense(bits, values, keys):
    """Fill the key of each row: a sum over entries that are not zero, whatever their order."""
    for i in range(values.shape[0]):
        key = np.uint64(0)
        for j in range(values.shape[1]):
            if values[i, j] != 0.0:  # so that 0.0 and -0.0 are one value
                key += _mixed(j, bits[i, j])
        keys[i] = key


@njit(cache=True, nogil=True)
def _keys_of_csr(indptr, indices, bits, values, keys):
    for i in range(indptr.shape[0] - 1):
        key = np.uint64(0)
        for place in range(indptr[i], indptr[i + 1]):
            if values[place] != 0.0:
                key += _mixed(indices[place], bits[place])
        keys[i] = key


def row_keys(X: Any) -> NDArray[np.uint64]:
    """Return a key of each row that equal rows share, the same for dense and CSR input."""
    keys = np.empty(X.shape[0], dtype=np.uint64)
    if sp.issparse(X):
        _keys_of_csr(X.indptr, X.indices, X.data.view(np.uint64), X.data, keys)
        return keys
    for rows in row_chunks(X.shape[0], X.shape[1], megabytes=16.0):
        values = np.ascontiguousarray(X[rows])
        _keys_of_dense(values.view(np.uint64), values, keys[rows])
    return keys


def _are_equal(X: Any, one: Indices, other: Indices) -> NDArray[np.bool_]:
    """Return whether the rows `one` equal the rows `other`, pair by pair."""
    equal = np.empty(len(one), dtype=bool)
    for part in row_chunks(len(one), X.shape[1], megabytes=16.0):
        if sp.issparse(X):
            apart = abs(X[one[part]] - X[other[part]]).sum(axis=1)
            equal[part] = np.asarray(apart).ravel() == 0
        else:
            equal[part] = np.all(X[one[part]] == X[other[part]], axis=1)
    return equal


def distinct_rows(X: Any, labels: NDArray[np.intp], *, keep_order: bool) -> DistinctRows:
    """Find the distinct rows of each label.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Rows, float64.
    labels : ndarray of shape (n_samples,)
        Rows with different labels are never the same.
    keep_order : bool
        Return them in the order of X. Otherwise they stand in an order that follows from their
        values alone, whatever the order of X.

    Returns
    -------
    DistinctRows
        First occurrences and the way back.
    """
    keys = row_keys(X)
    order = np.lexsort((keys, labels))
    is_new = np.ones(len(order), dtype=bool)
    before, after = order[:-1], order[1:]
    same = np.flatnonzero((keys[before] == keys[after]) & (labels[before] == labels[after]))
    is_new[1 + same] = ~_are_equal(X, before[same], after[same])
    first = order[is_new]
    inverse = np.empty(len(order), dtype=np.intp)
    inverse[order] = np.cumsum(is_new) - 1
    if keep_order:
        by_place = np.argsort(first)
        rank = np.empty(len(first), dtype=np.intp)
        rank[by_place] = np.arange(len(first))
        first, inverse = first[by_place], rank[inverse]
    return DistinctRows(first, inverse)


def contiguous_blocks(rows: Indices, size: int) -> list[Indices]:
    """Cut rows into runs of `size` (FLS1), for data whose neighbours stand side by side."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def distances_from(kernel: Kernel, X: Any, rows: Indices, diagonal: Any, pivot: int) -> Any:
    """Return ||φ(x) - φ(pivot)||² of some rows, up to the constant k(pivot, pivot)."""
    far = np.empty(len(rows))
    centre = X[pivot : pivot + 1]
    for part in row_chunks(len(rows), X.shape[1], megabytes=16.0):
        far[part] = diagonal[rows[part]] - 2.0 * kernel.block(X[rows[part]], centre)[:, 0]
    return far


def median_split_blocks(
    kernel: Kernel, X: Any, rows: Indices, diagonal: NDArray[np.float64], size: int
) -> list[Indices]:
    """Halve rows by their distance from the first of them until none exceeds `size` (FLS2)."""
    todo, done = [rows], []
    while todo:
        block = todo.pop()
        if len(block) <= size:
            done.append(block)
            continue
        far = distances_from(kernel, X, block, diagonal, block[0])
        half = len(block) // 2
        order = np.argpartition(far, half)  # by rank, not by value: ties must be split too
        todo += [block[order[half:]], block[order[:half]]]
    return done


def squared_norms(X: Any) -> NDArray[np.float64]:
    """Return ||x||² of every row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def neighbour_subsets(
    kernel: Kernel, X: Any, rows: Indices, diagonal: NDArray[np.float64], size: int
) -> list[Indices]:
    """Cut one block into subsets of `size` neighbours (SLS).

    The first centre is the row farthest from the origin (in input space: under a Gaussian
    kernel all images are equally far), the next is the nearest row that a subset left out.
    """
    if len(rows) <= size:
        return [rows]
    local = X[rows]  # a block, not the data: at most P rows
    own, left = diagonal[rows], np.arange(len(rows))
    centre = int(np.argmax(squared_norms(local)))
    subsets = []
    while len(left) > size:
        far = distances_from(kernel, local, left, own, centre)
        # place `size` holds the pivot: the nearest that is left out
        order = np.argpartition(far, size)
        subsets.append(rows[left[order[:size]]])
        left = left[order[size:]]
        centre = int(left[0])  # the pivot is the next centre
    return [*subsets, rows[left]]


def _warmup() -> None:
    bits, one = _ONE.reshape(1, 1), np.ones((1, 1))
    keys = np.empty(1, dtype=np.uint64)
    _mixed(0, np.uint64(1))
    _keys_of_dense(bits, one, keys)
    bits.flags.writeable = one.flags.writeable = False  # rows of a memory map are
    _keys_of_dense(bits, one, keys)
    one = np.ones((1, 1))
    for kind in (np.int32, np.int64):
        ends = np.array([0, 1], dtype=kind)
        _keys_of_csr(ends, ends[:1], _ONE, one[0], keys)
