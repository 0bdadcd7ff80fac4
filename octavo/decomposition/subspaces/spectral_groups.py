"""Spectral clustering of coordinates by their dependence, and of very many rows.

References: Ng, Jordan and Weiss (2002), "On spectral clustering", NIPS; Yan, Huang and Jordan
(2009), "Fast approximate spectral clustering", KDD, for `fast_spectral_clusters`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.utils import check_random_state

from octavo.decomposition.subspaces.objectives import Partition
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.samples import as_sample

__all__ = ["fast_spectral_clusters"]


def normalised_affinity(affinity: Floats) -> Floats:
    """Return D^(-1/2) A D^(-1/2); nodes without an edge keep one to themselves."""
    A = np.array(affinity, dtype=np.float64)
    alone = A.sum(axis=1) <= 0.0
    A[alone, alone] = 1.0
    root = np.sqrt(A.sum(axis=1))
    return A / np.outer(root, root)


def count_clusters(affinity: Floats) -> int:
    """Return the number of clusters before the largest gap of the Laplacian's eigenvalues."""
    values = np.sort(1.0 - np.linalg.eigvalsh(normalised_affinity(affinity)))
    gaps = np.diff(np.append(values, 1.0))  # as many clusters as nodes: no edge at all
    fewest = connected_components(affinity > 0.0, directed=False)[0]
    return fewest + int(np.argmax(gaps[fewest - 1 :]))


def spectral_embedding(affinity: Floats, n_clusters: int) -> Floats:
    """Return the leading eigenvectors of the normalised affinity, with rows of unit length."""
    vectors = np.linalg.eigh(normalised_affinity(affinity))[1][:, -n_clusters:]
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def spectral_labels(affinity: Floats, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Return a cluster for every node by normalised spectral clustering (Ng, Jordan and Weiss)."""
    n_parts, parts = connected_components(affinity > 0.0, directed=False)
    if n_parts == n_clusters:
        return parts
    rows = spectral_embedding(affinity, n_clusters)
    return KMeans(n_clusters, n_init=10, random_state=rng).fit_predict(rows)


def sized_groups(
    affinity: Floats, dims: Sequence[int], rng: np.random.RandomState, n_rounds: int = 20
) -> Partition:
    """Return groups of given sizes: k-means of the embedding with as many seats as asked for."""
    rows = spectral_embedding(affinity, len(dims))
    group_of_seat = np.repeat(np.arange(len(dims)), dims)
    free = KMeans(len(dims), n_init=10, random_state=rng).fit(rows)
    counts = np.bincount(free.labels_, minlength=len(dims))
    centres = np.empty_like(free.cluster_centers_)  # the large clusters for the large groups
    centres[np.argsort(dims, kind="stable")] = free.cluster_centers_[
        np.argsort(counts, kind="stable")
    ]
    seats = np.empty(0)
    for _ in range(n_rounds):
        distances = ((rows[:, None, :] - centres[group_of_seat][None]) ** 2).sum(axis=2)
        taken = group_of_seat[linear_sum_assignment(distances)[1]]
        if np.array_equal(taken, seats):
            break
        seats = taken
        centres = np.array([rows[seats == m].mean(axis=0) for m in range(len(dims))])
    return [tuple(np.flatnonzero(seats == m).tolist()) for m in range(len(dims))]


def partition_of_labels(labels: np.ndarray) -> Partition:
    """Return the groups of equal labels, large ones first, then by their first member."""
    groups = [tuple(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    return sorted(groups, key=lambda group: (-len(group), group))


def fast_spectral_clusters(
    X: ArrayLike,
    n_clusters: int,
    *,
    n_representatives: int = 500,
    bandwidth: float | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """Cluster very many rows: k-means to representatives, spectral clustering of those.

    Linear in the number of rows. To group very many coordinates of a signal, whose pairwise
    dependence cannot be computed, let row i be what tells the group of coordinate i, such as
    its squares over time.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        What is clustered.
    n_clusters : int
        The number of clusters.
    n_representatives : int, default=500
        How many means stand for the rows.
    bandwidth : float, default=None
        Of the Gaussian affinity of representatives; None for the median distance of a
        representative to its third neighbour.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
        The cluster of every row.

    References
    ----------
    .. [1] Yan, Huang and Jordan (2009). Fast approximate spectral clustering. KDD, algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import fast_spectral_clusters
    >>> t = np.random.default_rng(0).uniform(0, 6.28, size=5000)
    >>> rings = np.column_stack([np.cos(t), np.sin(t)]) * np.where(t < 3.14, 1, 5)[:, None]
    >>> labels = fast_spectral_clusters(rings, 2, n_representatives=50, random_state=0)
    >>> len(set(labels[t < 3.14].tolist()))
    1
    """
    rows = as_sample(X, allow_complex=False)
    n_means = min(n_representatives, len(rows))
    if not 1 <= n_clusters <= n_means:
        raise ValueError(
            f"n_clusters must be between 1 and the {n_means} representatives, got {n_clusters}."
        )
    rng = check_random_state(random_state)
    if n_means == len(rows):
        nearest, means = np.arange(len(rows)), rows
    else:
        model = MiniBatchKMeans(
            n_means, batch_size=max(1024, 4 * n_means), n_init=1, max_iter=20, random_state=rng
        ).fit(rows)
        nearest, means = model.labels_, model.cluster_centers_
    distances = np.sqrt(np.maximum(((means[:, None] - means[None]) ** 2).sum(axis=2), 0.0))
    if bandwidth is None:
        bandwidth = float(np.median(np.sort(distances, axis=1)[:, min(3, n_means - 1)])) or 1.0
    affinity = np.exp(-0.5 * (distances / bandwidth) ** 2)
    np.fill_diagonal(affinity, 0.0)
    return spectral_labels(affinity, n_clusters, rng)[nearest]
