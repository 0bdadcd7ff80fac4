"""Groups of coordinates by spectral clustering of their dependence.

Reference: Ng, Jordan and Weiss (2002), "On spectral clustering", NIPS.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from octavo.decomposition.subspaces.objectives import Partition
from octavo.engine.estimators.arrays import Floats
from octavo.engine.spectral.normalized_affinity import spectral_embedding


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
        # k-means with as many seats a centre as asked for
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
