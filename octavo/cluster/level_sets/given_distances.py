"""Level sets where distances are given in the place of points.

A matrix of distances, dense or sparse; a pair that a sparse matrix does not hold is farther apart
than any scale. There are no columns, so that a density has no units: it is a number of neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.cluster.level_sets.scales import ENTRIES, FACTORS, QUANTILES, neighbours_for
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.graphs.links import refuse_asymmetric


def read_distances(X: Any) -> sp.csr_array:
    """Return a symmetric matrix of distances with zeros on its diagonal, stored.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n)
        Finite and not negative; a sparse one holds the near pairs only.

    Returns
    -------
    csr_array of shape (n, n)
    """
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"With metric='precomputed' X is a square matrix of distances; got shape {X.shape}."
        )
    D = stored_distances(X)
    off = D.copy()
    off.setdiag(1.0)
    if D.diagonal().any():
        row = int(np.flatnonzero(D.diagonal())[0])
        raise ValueError(f"The distance of row {row} to itself must be 0; got {D[row, row]:g}.")
    refuse_asymmetric(off)
    return D


def stored_distances(X: Any) -> sp.csr_array:
    """Return distances as CSR: all of a dense matrix, zeros too; what a sparse one holds."""
    if sp.issparse(X):
        D = sp.csr_array(X, dtype=np.float64, copy=True)
        D.sum_duplicates()
        if D.shape[0] == D.shape[1]:
            stored = sp.csr_array((np.ones(D.nnz), D.indices, D.indptr), shape=D.shape)
            missing = np.flatnonzero(stored.diagonal() == 0)
            D = sp.coo_array(D)
            rows, columns = np.append(D.row, missing), np.append(D.col, missing)
            values = np.append(D.data, np.zeros(len(missing)))
            order = np.lexsort((columns, rows))
            indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=D.shape[0]))])
            D = sp.csr_array((values[order], columns[order], indptr), shape=D.shape)
    else:
        n, m = X.shape
        columns, indptr = np.tile(np.arange(m), n), m * np.arange(n + 1)
        D = sp.csr_array((np.array(X, dtype=np.float64).ravel(), columns, indptr), shape=(n, m))
    if (D.data < 0).any():
        at = int(np.flatnonzero(D.data < 0)[0])
        row = int(np.searchsorted(D.indptr, at, side="right")) - 1
        raise ValueError(f"Distances must not be negative; row {row} has {D.data[at]:g}.")
    return D


def reach_of(D: sp.csr_array, k: int) -> Floats:
    """Return the distance of each row to its k-th neighbour, or to the last that is stored."""
    found = np.zeros(D.shape[0])
    for i in range(D.shape[0]):
        row = np.sort(D.data[D.indptr[i] : D.indptr[i + 1]])
        found[i] = row[min(k, len(row) - 1)]  # the row itself comes first
    return found


class DistanceDensities:
    """How dense rows are, from distances: a sum of Gaussians, or 1 over the reach of ⌈√n⌉.

    Parameters
    ----------
    D : csr_array of shape (n, n)
        Distances of the rows.
    density : {"kde", "knn"}
    bandwidth : float or "scott"
        Of the Gaussians; by default the median distance to the ⌈√n⌉-th neighbour.
    """

    def __init__(self, D: sp.csr_array, density: str, bandwidth: Any) -> None:
        self.n, self.kind = D.shape[0], density
        self.k = max(1, min(self.n - 1, int(np.ceil(np.sqrt(self.n)))))
        reach = reach_of(D, self.k)
        positive = reach[reach > 0.0]
        self.least = float(positive.min()) if positive.size else 1.0
        self.bandwidth = np.nan
        if density == "kde":
            if isinstance(bandwidth, str) and bandwidth != "scott":
                raise ValueError(
                    f"bandwidth={bandwidth!r} needs columns, which distances have not: give a "
                    "number, in the units of the distances."
                )
            usual = float(np.median(positive)) if positive.size else 1.0
            self.bandwidth = usual if isinstance(bandwidth, str) else float(bandwidth)
        self.rows = self(D)

    def __call__(self, distances: sp.csr_array) -> Floats:
        """Return the density of rows of distances; a new row is counted as if it were one of D."""
        if self.kind == "knn":
            near = np.maximum(reach_of(distances, self.k), self.least)
            return 1.0 / near
        weights = distances.copy()
        weights.data = np.exp(-0.5 * (distances.data / self.bandwidth) ** 2)
        zero = sp.csr_array(
            ((distances.data == 0.0).astype(float), distances.indices, distances.indptr),
            shape=distances.shape,
        )
        is_row = np.asarray(zero.sum(axis=1)).ravel() > 0
        return (np.asarray(weights.sum(axis=1)).ravel() + ~is_row) / self.n


def scale_of_distances(D: sp.csr_array) -> float:
    """Return h by the rule of `default_scale`, from distances."""
    n = D.shape[0]
    if n < 2:
        return 1.0
    reach = reach_of(D, neighbours_for(n))
    if reach.max() == 0.0:
        return float(D.data.max()) or 1.0
    reach = reach[reach > 0.0]
    tried = [f * float(np.quantile(reach, QUANTILES[0])) for f in FACTORS]
    tried += [float(np.quantile(reach, q)) for q in QUANTILES]
    for h in tried[:-1]:
        if n * n <= ENTRIES or int((D.data <= h).sum()) <= ENTRIES:
            return h
    return tried[-1]


def within(D: sp.csr_array, h: float) -> sp.csr_array:
    """Return the pairs of a matrix of distances that are no farther than h, zeros stored."""
    rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    near = D.data <= h
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[near], minlength=D.shape[0]))])
    return sp.csr_array((D.data[near], D.indices[near], indptr), shape=D.shape)


def gaps_between(D: sp.csr_array, groups: Ints, count: int) -> Floats:
    """Return the least stored distances between groups of rows; infinite where there is none."""
    rows = np.repeat(groups, np.diff(D.indptr))
    gaps = np.full((count, count), np.inf)
    np.minimum.at(gaps, (rows, groups[D.indices]), D.data)
    np.fill_diagonal(gaps, 0.0)
    return np.minimum(gaps, gaps.T)


def nearest_of(distances: sp.csr_array) -> Ints:
    """Return the column of the least stored distance of each row; refuse a row without any."""
    counts = np.diff(distances.indptr)
    if (counts == 0).any():
        row = int(np.flatnonzero(counts == 0)[0])
        raise ValueError(
            f"X holds no distance of row {row} to a clustered one: assign_noise needs one."
        )
    parts = np.split(distances.data, distances.indptr[1:-1])
    return distances.indices[distances.indptr[:-1] + [int(np.argmin(part)) for part in parts]]
