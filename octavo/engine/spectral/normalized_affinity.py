"""Clusters of a weighted graph from the eigenvectors of its normalised affinity.

Affinities are dense, symmetric and not negative, with a zero diagonal. 1 - D^(-1/2) A D^(-1/2) is
the normalised Laplacian: as many of its eigenvalues are zero as the graph has parts. The
eigenvectors are those of `octavo.engine.spectral.embedding`, which takes sparse graphs too.

References: Ng, Jordan and Weiss (2002), "On spectral clustering: analysis and an algorithm", NIPS;
von Luxburg (2007), "A tutorial on spectral clustering", Statistics and Computing 17, section 8.3,
for the number of clusters.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from octavo.engine.estimators.arrays import Floats
from octavo.engine.spectral.embedding import embed_affinity, normalized_matrix, unit_rows


def normalized_affinity(affinity: Floats) -> Floats:
    """Return D^(-1/2) A D^(-1/2); nodes without an edge keep one to themselves."""
    return normalized_matrix(affinity)[0].toarray()


def count_clusters(affinity: Floats) -> int:
    """Return the number of clusters before the largest gap of the Laplacian's eigenvalues."""
    values = np.sort(1.0 - np.linalg.eigvalsh(normalized_affinity(affinity)))
    gaps = np.diff(np.append(values, 1.0))  # as many clusters as nodes: no edge at all
    fewest = connected_components(affinity > 0.0, directed=False)[0]
    return fewest + int(np.argmax(gaps[fewest - 1 :]))


def spectral_embedding(affinity: Floats, n_clusters: int) -> Floats:
    """Return the leading eigenvectors of the normalised affinity, with rows of unit length."""
    return unit_rows(embed_affinity(affinity, n_clusters).vectors)


def spectral_labels(affinity: Floats, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Return a cluster for every node by normalised spectral clustering (Ng, Jordan and Weiss)."""
    n_parts, parts = connected_components(affinity > 0.0, directed=False)
    if n_parts == n_clusters:
        return parts
    rows = spectral_embedding(affinity, n_clusters)
    return KMeans(n_clusters, n_init=10, random_state=rng).fit_predict(rows)
