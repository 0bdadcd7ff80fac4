"""From points in feature space to clusters: k-means or single linkage, and anchors for new points.

Theorem 7: the points of one component gather in one place. Either rule then finds the components
(Remark 8). Both leave anchors with labels; a new point has the label of the nearest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import cKDTree
from sklearn.cluster import KMeans

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.graphs.radius import square_blocks
from octavo.engine.probability.neighbours import TREE_DIMENSIONS

N_INIT = 20
START_ROWS = 5000  # rows on which the starts of k-means compete
LINKED_ROWS = 2000  # cells of feature space that single linkage may join
FINEST = 1e-3  # side of such a cell, in units of the largest feature
GAP_ROWS, GAP_ASKING = 20_000, 5000  # in many columns: points that all ask, else how many do


class Anchors(NamedTuple):
    """Points of feature space and their clusters."""

    points: Floats
    labels: Ints

    def labels_of(self, features: Floats) -> Ints:
        """Return the label of the nearest anchor."""
        return self.labels[cKDTree(self.points).query(features)[1]]


def kmeans_anchors(features: Floats, n_clusters: int, rng: np.random.RandomState) -> Anchors:
    """Return centres of k-means, the best of twenty starts on a part of the rows."""
    part = features
    if len(features) > START_ROWS:
        part = features[rng.permutation(len(features))[:START_ROWS]]
    model = KMeans(n_clusters, n_init=N_INIT, random_state=rng).fit(part)
    if len(part) < len(features):
        model = KMeans(n_clusters, init=model.cluster_centers_, n_init=1, random_state=rng)
        model.fit(features)
    return Anchors(model.cluster_centers_, np.arange(n_clusters))


def linkage_anchors(features: Floats, n_clusters: int) -> Anchors:
    """Return cells of feature space, joined by single linkage into so many groups.

    Rows that are equal to a thousandth are one cell; where there are still too many cells, they
    are made twice as large until there are few enough. Groups lie √2 apart in the limit.
    """
    side = FINEST * (float(np.abs(features).max()) or 1.0)
    while True:
        cells, first = np.unique(np.round(features / side), axis=0, return_index=True)
        if len(cells) <= LINKED_ROWS:
            break
        side *= 2.0
    points = features[first]
    if len(points) <= n_clusters:
        return Anchors(points, np.arange(len(points)))
    # Remark 8: any cut below the distance of the limits
    labels = fcluster(linkage(points, "single"), n_clusters, criterion="maxclust") - 1
    return Anchors(points, labels.astype(np.int64))


def nearest_gap(X: Floats, labels: Ints) -> float:
    """Return the least distance of two points of different clusters; infinite for one cluster.

    In more columns than a tree can use, and of very many points, a random part asks all others.
    """
    if X.shape[1] > TREE_DIMENSIONS:
        return _nearest_gap_by_blocks(X, labels)
    gap = np.inf
    sizes = np.bincount(labels)
    order = np.argsort(sizes, kind="stable")[::-1]
    tree_rows = labels == order[0]
    for label in order[1:]:
        asking = X[labels == label]
        if len(asking):
            found = cKDTree(X[tree_rows]).query(asking, distance_upper_bound=gap)[0]
            gap = min(gap, float(found.min()))
            tree_rows |= labels == label
    return gap


def _nearest_gap_by_blocks(X: Floats, labels: Ints) -> float:
    asking = np.arange(len(X))
    if len(X) > GAP_ROWS:
        asking = np.sort(np.random.default_rng(0).permutation(len(X))[:GAP_ASKING])
    least = gap = float(np.inf)
    for start, block in square_blocks(X[asking], X):
        rows = asking[start : start + len(block)]
        block[labels[rows][:, None] == labels] = np.inf
        i, j = np.divmod(int(np.argmin(block)), block.shape[1])
        if block[i, j] < least:
            least = float(block[i, j])
            gap = float(np.linalg.norm(X[rows[i]] - X[j]))
    return gap


def component_distances(X: Floats, components: Ints, chosen: Ints) -> Floats:
    """Return the least distances between the chosen components, a symmetric matrix."""
    trees = [cKDTree(X[components == c]) for c in chosen]
    m = len(chosen)
    gaps = np.zeros((m, m))
    for i in range(m):
        for j in range(i + 1, m):
            small, large = (i, j) if trees[i].n <= trees[j].n else (j, i)
            gaps[i, j] = gaps[j, i] = trees[large].query(trees[small].data)[0].min()
    return gaps


def merged_components(gaps: Floats, n_clusters: int) -> tuple[Ints, float]:
    """Return groups of components, nearest joined first, and the h that would join them.

    Parameters
    ----------
    gaps : ndarray of shape (m, m)
        Least distances between components.
    n_clusters : int
        How many groups, at most m.

    Returns
    -------
    groups : ndarray of int of shape (m,)
        The group of each component: the components of the graph of the radius returned.
    radius : float
        The distance at which the last two were joined.
    """
    m = len(gaps)
    # the gaps of single linkage are edges of the minimum spanning tree
    tree = minimum_spanning_tree(np.maximum(gaps, np.finfo(float).tiny)).tocoo()
    order = np.argsort(tree.data, kind="stable")[: m - n_clusters]
    groups = np.arange(m)
    for q in order:
        a, b = groups[tree.row[q]], groups[tree.col[q]]
        groups[groups == b] = a
    radius = float(tree.data[order[-1]]) if len(order) else np.inf
    return np.unique(groups, return_inverse=True)[1], radius


def in_order_of_appearance(labels: Ints, rows: Ints | None = None) -> Ints:
    """Return labels renumbered by the least row of each; negative ones stay.

    Parameters
    ----------
    labels : ndarray of int of shape (n,)
        Labels.
    rows : ndarray of int of shape (n,), optional
        Where each label stands in the table; 0, 1, ... by default.

    Returns
    -------
    ndarray of int of shape (n,)
        Labels from 0 on.
    """
    kept = labels >= 0
    names, inverse = np.unique(labels[kept], return_inverse=True)
    first = np.full(len(names), len(labels) if rows is None else int(rows.max()) + 1)
    np.minimum.at(first, inverse, (np.arange(len(labels)) if rows is None else rows)[kept])
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(names))
    renamed = np.asarray(labels, dtype=np.int64).copy()
    renamed[kept] = rank[inverse]
    return renamed
