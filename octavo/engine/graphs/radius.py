"""The graph of points within a radius of each other, as one sparse matrix of distances.

Up to fifteen columns a k-d tree lists the pairs; beyond, blocks of matrix products do. Every row
holds itself too, at distance zero. Entries are explicit, zeros included: duplicates are neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.probability.neighbours import TREE_DIMENSIONS

MOST_ENTRIES = 150_000_000  # of a matrix of distances: 1.8 GB
_BLOCK = 1 << 22  # distances of one block of pairs


@njit(cache=True)
def _symmetric_rows(X, pairs):
    """Return indptr, indices and distances: each row itself first, then both ends of its pairs."""
    n, d = X.shape
    indptr = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        indptr[i + 1] = 1
    for q in range(pairs.shape[0]):
        indptr[pairs[q, 0] + 1] += 1
        indptr[pairs[q, 1] + 1] += 1
    for i in range(n):
        indptr[i + 1] += indptr[i]
    indices = np.empty(indptr[n], dtype=np.int32)
    distances = np.empty(indptr[n])
    place = indptr[:n].copy()
    for i in range(n):
        indices[place[i]] = i
        distances[place[i]] = 0.0
        place[i] += 1
    for q in range(pairs.shape[0]):
        i, j = pairs[q, 0], pairs[q, 1]
        square = 0.0
        for c in range(d):
            gap = X[i, c] - X[j, c]
            square += gap * gap
        length = np.sqrt(square)
        indices[place[i]], distances[place[i]] = j, length
        indices[place[j]], distances[place[j]] = i, length
        place[i] += 1
        place[j] += 1
    return indptr, indices, distances


def mean_neighbours(X: Floats, radius: float, asking: Ints) -> float:
    """Return how many rows, themselves included, the asking rows have within a radius, on average.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        All points.
    radius : float
        The radius.
    asking : ndarray of int
        Rows that are looked at: a sample does where there are many.

    Returns
    -------
    float
        At least 1.
    """
    if X.shape[1] <= TREE_DIMENSIONS:
        return float(np.mean(cKDTree(X).query_ball_point(X[asking], radius, return_length=True)))
    total = sum(int((block <= radius**2).sum()) for _, block in square_blocks(X[asking], X))
    return total / len(asking)


def radius_graph(X: Floats, radius: float) -> sp.csr_array:
    """Return the distances of all pairs of rows no farther apart than a radius.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Points, finite.
    radius : float
        The radius, positive.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, with explicit zeros on the diagonal and between duplicates.
    """
    n = len(X)
    expected = float(n) * n
    if expected > MOST_ENTRIES:
        sample = np.random.default_rng(0).permutation(n)[:200]
        expected = n * mean_neighbours(X, radius, sample)
    if expected > MOST_ENTRIES:
        raise ValueError(
            f"h={radius:.4g} joins about {expected / n:.0f} of {n} points to each: "
            f"{expected:.1e} pairs are too many. Choose a smaller h, or fewer rows."
        )
    X = np.ascontiguousarray(X, dtype=np.float64)
    if X.shape[1] <= TREE_DIMENSIONS:
        pairs = cKDTree(X).query_pairs(radius, output_type="ndarray")
    else:
        pairs = _pairs_by_blocks(X, radius)
    indptr, indices, distances = _symmetric_rows(X, pairs.astype(np.int64, copy=False))
    if indptr[-1] < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    # transposed, a symmetric matrix is itself with its columns in order
    return sp.csr_array(sp.csr_array((distances, indices, indptr), shape=(n, n)).tocsc().T)


def nearby_order(X: Floats) -> Ints:
    """Return an order of the rows in which near ones follow each other: products are faster so."""
    if X.shape[1] > TREE_DIMENSIONS:
        return np.arange(len(X))
    return np.asarray(cKDTree(X).indices, dtype=np.int64)


def cross_distances(X: Floats, Y: Floats, radius: float) -> sp.csr_array:
    """Return the distances of rows of X to rows of Y no farther than a radius, zeros explicit."""
    shape = (len(X), len(Y))
    if X.shape[1] <= TREE_DIMENSIONS:
        found = cKDTree(X).sparse_distance_matrix(cKDTree(Y), radius, output_type="ndarray")
        row, column, length = found["i"], found["j"], found["v"]
    else:
        rows, columns, lengths = [], [], []
        for start, block in square_blocks(X, Y):
            i, j = np.nonzero(block <= radius**2)
            gaps = X[start + i] - Y[j]
            rows.append(start + i)
            columns.append(j)
            lengths.append(np.sqrt(np.einsum("nd,nd->n", gaps, gaps)))
        row, column, length = (np.concatenate(p) for p in (rows, columns, lengths))
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))])
    return sp.csr_array((length[order], column[order], indptr), shape=shape)


def square_blocks(X: Floats, Y: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield the first row of a block of X and its squared distances to Y, off by rounding.

    Parameters
    ----------
    X, Y : ndarray of shape (n, d), (m, d)

    Yields
    ------
    start : int
    block : ndarray of shape (rows, m)
    """
    center = Y.mean(axis=0)
    X, Y = X - center, Y - center
    squares = np.einsum("md,md->m", Y, Y)
    at_once = max(1, _BLOCK // len(Y))
    for start in range(0, len(X), at_once):
        rows = X[start : start + at_once]
        block = rows @ (-2.0 * Y.T)
        block += squares  # |x - y|² = |x|² - 2x'y + |y|²
        block += np.einsum("nd,nd->n", rows, rows)[:, None]
        yield start, block


def _pairs_by_blocks(X: Floats, radius: float) -> Ints:
    """Return pairs i < j within a radius; matrix products choose, differences decide."""
    # products are off by rounding of the squared lengths: a little more is looked at
    spread = float(np.abs(X - X.mean(axis=0)).max()) ** 2 * X.shape[1]
    limit = radius**2 + 1e-13 * spread
    center = X.mean(axis=0)
    squares = np.einsum("nd,nd->n", X - center, X - center)
    at_once = max(1, _BLOCK // len(X))
    found = []
    for start in range(0, len(X), at_once):  # each pair once: rows before the block are done
        rows = X[start : start + at_once] - center
        block = rows @ (-2.0 * (X[start:] - center).T)
        block += squares[start:]
        block += squares[start : start + at_once, None]
        i, j = np.nonzero(block <= limit)
        upper = i < j
        i, j = start + i[upper], start + j[upper]
        gaps = X[i] - X[j]
        near = np.einsum("nd,nd->n", gaps, gaps) <= radius**2
        found.append(np.column_stack([i[near], j[near]]))
    return np.concatenate(found)


def _warmup() -> None:
    _symmetric_rows(np.zeros((2, 1)), np.array([[0, 1]]))
