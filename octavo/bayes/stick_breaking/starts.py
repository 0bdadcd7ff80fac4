"""Where a climb begins: k-means on the data (Section 5), fewer clusters in later starts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats, Indices

SURE = 0.9  # of a membership at the beginning; the rest is spread


def start_sizes(n_components: int, n_init: int) -> list[int]:
    """Return numbers of clusters to start from: K first, then fewer, down to two."""
    if n_init == 1 or n_components < 3:
        return [n_components] * n_init
    return np.rint(np.geomspace(n_components, 2, n_init)).astype(int).tolist()


def clusters(features: Floats, n_clusters: int, rng: Any) -> Indices:
    """Return k-means labels, the largest cluster first."""
    distinct = len(np.unique(features, axis=0)) if len(features) < 10_000 else len(features)
    n_clusters = min(n_clusters, distinct)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        found = KMeans(n_clusters, n_init=1, random_state=rng).fit_predict(features)
    return by_size(found)


def by_size(labels: Indices) -> Indices:
    """Return labels numbered from the most frequent one."""
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(counts.size, dtype=np.intp)
    rank[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    return np.asarray(rank[inverse])


def smoothed(labels: Indices, n_components: int) -> Floats:
    """Return memberships (n, K) that are nearly those of the labels."""
    resp = np.full((labels.size, n_components), (1.0 - SURE) / n_components)
    resp[np.arange(labels.size), labels] += SURE
    return resp


def check_labels(labels: Any, n: int, n_components: int) -> Indices:
    """Return the labels that a user starts from, or a sentence on what is wrong with them."""
    found = np.asarray(labels)
    if found.shape != (n,):
        raise ValueError(
            f"Initial labels must be one per row, shape ({n},); got shape {found.shape}."
        )
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise ValueError("Initial labels must not be NaN or infinite.")
    n_found = np.unique(found).size
    if n_found > n_components:
        raise ValueError(
            f"Initial labels must name at most n_components={n_components} groups; got {n_found}."
        )
    return by_size(found)
