"""Lloyd's iteration in the feature space of a kernel, and moves of single rows after it.

§6.1.1: k-means maximises Σ_j (1/l_j) 1ᵀK_jj 1, the sum over clusters j with l_j rows of the entries
of the Gram matrix between their rows. With a one-hot matrix H of memberships, K H holds all sums
that an iteration needs; rows that change clusters change only their part of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from octavo.engine.estimators.arrays import Floats, Indices

WHOLE = 400  # rows up to which all eigenvalues are the fastest way to a few


class Partition(NamedTuple):
    """Labels, Σ_j (1/l_j) 1ᵀK_jj 1, iterations, and whether no row wanted to move any more."""

    labels: Indices
    cohesion: float
    n_iter: int
    converged: bool


def seed_rows(K: Floats, n_clusters: int, rng: np.random.RandomState) -> Indices:
    """Return rows far from each other by greedy k-means++ in feature space."""
    n, diagonal = len(K), np.diagonal(K)
    n_trials = 2 + int(np.log(n_clusters))
    first = int(rng.randint(n))
    chosen = [first]
    nearest = np.maximum(diagonal + diagonal[first] - 2.0 * K[first], 0.0)
    for _ in range(1, n_clusters):
        total = float(nearest.sum())
        chance = nearest / total if total > 0.0 else np.full(n, 1.0 / n)
        trials = rng.choice(n, size=n_trials, p=chance)
        far = np.maximum(diagonal + diagonal[trials][:, None] - 2.0 * K[trials], 0.0)
        left = np.minimum(far, nearest)
        best = int(left.sum(axis=1).argmin())
        chosen.append(int(trials[best]))
        nearest = left[best]
    return np.array(chosen)


def cluster_distances(sums: Floats, within: Floats, sizes: Floats) -> Floats:
    """Return squared distances to the means less K_ii, a column a cluster."""
    # K_ii − (2/l_j) Σ_{r∈j} K_ir + (1/l_j²) Σ_{r,s∈j} K_rs
    return within / sizes**2 - (2.0 / sizes) * sums


def _onehot(labels: Indices, n_clusters: int) -> Floats:
    H = np.zeros((len(labels), n_clusters))
    H[np.arange(len(labels)), labels] = 1.0
    return H


def _refill(labels: Indices, lacking: Floats, n_clusters: int) -> Indices:
    """Give every empty cluster the row that is farthest from its mean, one row each."""
    for j in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        held = np.bincount(labels, minlength=n_clusters)[labels] > 1
        far = int(np.argmax(np.where(held, lacking, -np.inf)))
        labels[far], lacking[far] = j, -np.inf
    return labels


def lloyd(K: Floats, labels: Indices, n_clusters: int, *, max_iter: int, tol: float) -> Partition:
    """Iterate from given labels until no row moves, or the objective hardly rises.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix.
    labels : ndarray of shape (n,)
        First clusters, none empty.
    n_clusters : int
        Number of clusters.
    max_iter, tol : int, float
        Most iterations; the relative rise below which to stop, 0 for a fixed point.
    """
    diagonal, rows = np.diagonal(K), np.arange(len(K))
    sums = K @ _onehot(labels, n_clusters)
    cohesion, n_iter, converged = -np.inf, 0, False
    while True:
        sizes = np.bincount(labels, minlength=n_clusters).astype(np.float64)
        within: Floats = np.bincount(labels, sums[rows, labels], minlength=n_clusters).astype(
            np.float64
        )
        found = float((within / sizes).sum())  # Eq. (6.3)
        rise, cohesion = found - cohesion, found
        if n_iter == max_iter or (n_iter and rise <= tol * abs(found) and tol > 0.0):
            return Partition(labels, cohesion, n_iter, n_iter < max_iter)
        apart = cluster_distances(sums, within, sizes)
        better = apart.argmin(axis=1)
        # rounding must not make rows go to and fro
        gain = apart[rows, labels] - apart[rows, better]
        size = 1e-13 * (np.abs(diagonal) + np.abs(apart).max(axis=1))
        better = np.where(gain > size, better, labels)
        better = _refill(better, diagonal + apart[rows, better], n_clusters)
        moved = np.flatnonzero(better != labels)
        converged = moved.size == 0
        if converged:
            return Partition(labels, cohesion, n_iter, True)
        if 3 * moved.size < len(K):
            change = _onehot(better[moved], n_clusters) - _onehot(labels[moved], n_clusters)
            sums += K[moved].T @ change  # K is symmetric, and its rows lie together
        else:
            sums = K @ _onehot(better, n_clusters)
        labels, n_iter = better, n_iter + 1


def single_moves(K: Floats, start: Partition, n_clusters: int, max_moves: int) -> Partition:
    """Move one row at a time, the one that gains most, until no such move raises the objective.

    Lloyd's iteration compares a row with means that the row itself is part of, so with clusters of
    few rows it stops early; here every gain is exact (Hartigan 1975).

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix.
    start : Partition
        Where Lloyd's iteration ended.
    n_clusters : int
        Number of clusters; none becomes empty.
    max_moves : int
        Most moves.

    Returns
    -------
    Partition
        With a cohesion that is no smaller.
    """
    labels, rows, diagonal = start.labels.copy(), np.arange(len(K)), np.diagonal(K)
    sums = K @ _onehot(labels, n_clusters)
    sizes = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    within = np.bincount(labels, sums[rows, labels], minlength=n_clusters).astype(np.float64)
    cohesion = float((within / sizes).sum())
    for _ in range(max_moves):
        own, size = sums[rows, labels], sizes[labels]
        # a cluster's term of Eq. (6.3) without the row
        left = (within[labels] - 2.0 * own + diagonal) / np.maximum(size - 1.0, 1.0)
        loss = within[labels] / size - left
        # and of each other cluster with it
        joined = (within + 2.0 * sums + diagonal[:, None]) / (sizes + 1.0) - within / sizes
        gain = joined - loss[:, None]
        gain[rows, labels] = -np.inf
        gain[size < 2.0] = -np.inf
        i, b = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if not gain[i, b] > 1e-12 * abs(cohesion):
            break
        a = labels[i]
        within[a] -= 2.0 * sums[i, a] - diagonal[i]
        within[b] += 2.0 * sums[i, b] + diagonal[i]
        sums[:, a] -= K[i]
        sums[:, b] += K[i]
        sizes[a], sizes[b], labels[i] = sizes[a] - 1.0, sizes[b] + 1.0, b
        cohesion = float((within / sizes).sum())
    return start._replace(labels=labels, cohesion=max(cohesion, start.cohesion))


def best_partition(K: Floats, n_clusters: int, rng, *, max_iter: int, tol: float) -> Partition:
    """Return where Lloyd's iteration and single moves end from one k-means++ start."""
    seeds = seed_rows(K, n_clusters, rng)
    diagonal = np.diagonal(K)
    apart = diagonal[seeds] - 2.0 * K[:, seeds]
    labels = apart.argmin(axis=1)
    labels[seeds] = np.arange(n_clusters)  # equal rows may share a nearest seed
    labels = _refill(labels, diagonal + apart.min(axis=1), n_clusters)
    settled = lloyd(K, labels, n_clusters, max_iter=max_iter, tol=tol)
    return single_moves(K, settled, n_clusters, max_iter) if settled.converged else settled


def top_eigenvalues(K: Floats, n_values: int) -> Floats:
    """Return the largest eigenvalues, in falling order."""
    n = len(K)
    if n <= WHOLE or 5 * n_values > n:
        found = eigh(K, eigvals_only=True, subset_by_index=(n - n_values, n - 1))
    else:
        start = np.random.default_rng(0).standard_normal(n)
        try:
            found = eigsh(K, k=n_values, which="LA", v0=start, return_eigenvectors=False)
        except ArpackNoConvergence:
            found = eigh(K, eigvals_only=True, subset_by_index=(n - n_values, n - 1))
    return np.sort(found)[::-1]
