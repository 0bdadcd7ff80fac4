"""The second step: spectral clustering of the extracted points (section 2.2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.cluster.level_sets.assignment import (
    Anchors,
    in_order_of_appearance,
    kmeans_anchors,
    linkage_anchors,
    merged_components,
)
from octavo.cluster.level_sets.counting import (
    count_by_concentration,
    count_by_eigengap,
    count_near_one,
    sizeable,
)
from octavo.cluster.level_sets.scales import LOOK_TOL, neighbours_for
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.spectral.embedding import Embedding, NormalizedGraph, embed_graph, unit_rows

LOOK = 10  # eigenvalues beyond the components that are looked at for more clusters
MOST_MERGED = 300  # components whose distances are compared pair by pair


class SpectralPartition(NamedTuple):
    """Clusters of points, and what is needed to place others.

    `vectors` (n, l) are eigenvectors of Q = D^(-1) K, orthonormal with respect to D; `values` has
    at least one eigenvalue beyond those clusters where there is one.
    """

    labels: Ints
    values: Floats
    vectors: Floats
    features: Floats
    anchors: Anchors
    n_clusters: int


def features_of(vectors: Floats, embed: str) -> Floats:
    """Return the points of feature space ρ(x): rows of length one, or as they are."""
    return unit_rows(vectors) if embed == "row_normalized" else vectors


def rough_look(graph: NormalizedGraph, k: int) -> Embedding:
    """Return leading eigenpairs whose values are good enough to be counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the vectors that count come later
        return embed_graph(graph, k, tol=LOOK_TOL)


def number_of_clusters(graph: NormalizedGraph, rule: str, eig_tol: float) -> tuple[int, Floats]:
    """Return how many clusters a graph has, by a rule's name, and the eigenvalues it looked at."""
    n_components = graph.n_components
    look = min(len(graph.degrees), n_components + LOOK)
    if rule == "concentration":
        seen = embed_graph(graph, look)
        return count_by_concentration(seen.vectors, n_components), seen.values
    seen = rough_look(graph, look)
    if rule == "eigengap":
        return count_by_eigengap(seen.values, n_components), seen.values
    return count_near_one(seen.values, n_components, eig_tol), seen.values


def stray_points(components: Ints, *, always: bool, n_clusters: Any) -> np.ndarray:
    """Return which points lie in components of fewer than ⌈log n⌉ points, where that matters.

    It does where h was chosen for the user, and where there are more components than clusters.
    """
    n, n_components = len(components), int(components.max()) + 1
    too_many = not isinstance(n_clusters, str) and n_components > n_clusters
    large = sizeable(components, neighbours_for(n) + 1)
    if n_components == 1 or not len(large) or not (always or too_many):
        return np.zeros(n, dtype=bool)
    return ~np.isin(components, large)


def partition(
    rows: Ints,
    graph: NormalizedGraph,
    n_clusters: int | str,
    *,
    h: float,
    gaps: Callable[[Ints, int], Floats],
    usual: Callable[[], float],
    embed: str,
    assign_labels: str,
    eig_tol: float,
    rng: np.random.RandomState,
) -> SpectralPartition:
    """Return clusters of points from the graph of their affinity.

    As many clusters as components: they are the components. Fewer: the nearest components are
    joined, as a larger h would join them, and a warning tells which. More: k-means or single
    linkage of the leading eigenvectors. `gaps` returns the least distances between components, and
    `usual` the h that would be chosen.
    """
    n = len(rows)
    n_components, components = graph.n_components, graph.components
    values = np.zeros(0)
    if isinstance(n_clusters, str):
        n_clusters, values = number_of_clusters(graph, n_clusters, eig_tol)
    count = int(n_clusters)
    labels = None
    if count <= n_components:  # the vectors are known
        groups = np.arange(n_components)
        if count < n_components:
            groups = _joined(components, n_components, count, h, gaps, usual)
        labels = groups[components]
        volume = np.bincount(labels, graph.degrees)
        vectors = np.zeros((n, count))
        # D-orthonormal indicators: eigenvectors of Q for the eigenvalue 1
        vectors[np.arange(n), labels] = 1.0 / np.sqrt(volume[labels])
        if not len(values):
            values = rough_look(graph, min(n, n_components + 1)).values
    else:
        found = embed_graph(graph, min(n, count + 1))
        values = np.concatenate([found.values, values[count + 1 :]])
        vectors = found.vectors[:, :count] / np.sqrt(graph.degrees)[:, None]  # V = D^(-1/2) U
    features = features_of(vectors, embed)
    if labels is not None:
        first = np.unique(labels, return_index=True)[1]
        anchors = Anchors(features[first], np.arange(count))
    elif assign_labels == "linkage":
        anchors = linkage_anchors(features, count)
    else:
        anchors = kmeans_anchors(features, count, rng)
    raw = anchors.labels_of(features) if labels is None else labels
    labels = in_order_of_appearance(raw, rows)
    names = np.full(int(anchors.labels.max()) + 1, -1)
    names[raw] = labels
    taken = names[anchors.labels] >= 0
    anchors = Anchors(anchors.points[taken], names[anchors.labels[taken]])
    return SpectralPartition(labels, values, vectors, features, anchors, len(np.unique(labels)))


def _joined(
    components: Ints,
    n: int,
    count: int,
    h: float,
    gaps: Callable[[Ints, int], Floats],
    usual: Callable[[], float],
) -> Ints:
    """Return a group for every component, the nearest joined."""
    if n > MOST_MERGED:
        raise ValueError(
            f"h={h:.4g} leaves {n} components for n_clusters={count}: it is too small. An h of "
            f"about {usual():.4g} joins most points to their neighbours."
        )
    groups, radius = merged_components(gaps(components, n), count)
    if groups.max() >= count:
        raise ValueError(
            f"h={h:.4g} leaves {n} components for n_clusters={count}, and X holds no distances "
            "between them: give more pairs, or ask for more clusters."
        )
    warnings.warn(
        f"h={h:.4g} leaves {n} components for n_clusters={count}: the nearest were joined, as an "
        f"h just above {radius:.4g} joins them. Choose such an h, or n_clusters={n}.",
        UserWarning,
        stacklevel=2,
    )
    return groups


def extension(
    near: Any, vectors: Floats, values: Floats, h: float, kernel: Any
) -> tuple[Floats, np.ndarray]:
    """Return the eigenfunctions at new points, and which of them have a point within h.

    `near` (m, n) holds the distances of new points to clustered ones that are within h.

    Proposition 1: g(x) = (1/λ) Σ_j q_h(x, X_j) V_j, with q_h(x, X_j) = k_h(X_j - x) / Σ_j k_h. At a
    point that was clustered this is its own row of V.
    """
    near.data = kernel.of_distances(near.data / h)
    total = np.asarray(near.sum(axis=1)).ravel()
    reached = total > 0.0
    weights = near @ vectors
    scale = np.where(np.abs(values) > 1e-12, values, np.inf)
    # the eigenfunction g = Q_h g/λ
    return weights / np.where(reached, total, 1.0)[:, None] / scale, reached
