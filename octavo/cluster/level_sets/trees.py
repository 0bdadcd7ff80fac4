"""Components of level sets at many levels: the cluster tree, and the neighbourhood-graph baseline.

A component of {density >= t} at a high level lies inside one component at every lower level:
the components form a tree (Hartigan 1975). Here the components are those of the neighbourhood
graph on the rows at or above the level (Biau, Cadre and Pelletier 2007), with one radius for all
levels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from octavo.cluster.level_sets.assignment import in_order_of_appearance
from octavo.cluster.level_sets.extraction import check_points, densities_of, extract
from octavo.cluster.level_sets.scales import check_fraction, default_scale
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.samples import as_sample
from octavo.engine.graphs.radius import radius_graph

__all__ = ["LevelTree", "level_set_components", "level_tree"]


class LevelTree(NamedTuple):
    """Components at every level.

    Attributes
    ----------
    levels : ndarray of shape (m,)
        The levels, increasing.
    n_components : ndarray of int of shape (m,)
        Components of at least `min_size` points.
    labels : ndarray of int of shape (m, n_samples)
        The component of each row; -1 below the level and in smaller components.
    parents : list of ndarray
        For every level but the lowest, the component one level below that holds each component, or
        -1 where that one was too small.
    excess_masses : ndarray of shape (m,)
        Share of the rows, each counted by how far its density is above the level, that lies
        outside the heaviest component.
    density : ndarray of shape (n_samples,)
        Of the rows.
    h : float
        The radius.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.cluster import level_tree
    >>> X = np.random.default_rng(0).normal([0, 4], 1.0, size=(500, 2)).reshape(-1, 1)
    >>> print(level_tree(X, [0.02, 0.12], h=0.5).n_components.tolist())
    [1, 2]
    """

    levels: Floats
    n_components: Ints
    labels: Ints
    parents: list[Ints]
    excess_masses: Floats
    density: Floats
    h: float


def check_scale(h: Any) -> float | None:
    """Return h as a number, or None for "auto"."""
    if isinstance(h, str) and h == "auto":
        return None
    if isinstance(h, str) or not np.isfinite(h) or h <= 0:
        raise ValueError(f"h must be 'auto' or a positive number; got {h!r}.")
    return float(h)


def sweep(graph: Any, density: Floats, levels: Floats, min_size: int) -> tuple[Any, ...]:
    """Return counts, labels, parents and excess masses of the components at each level."""
    n = len(density)
    labels = np.full((len(levels), n), -1, dtype=np.int64)
    excess = np.zeros(len(levels))
    for i, t in enumerate(levels):
        kept = np.flatnonzero(density >= t)
        if not len(kept):
            continue
        found = connected_components(graph[kept][:, kept], directed=False)[1]
        found = np.where(np.bincount(found)[found] >= min_size, found, -1)
        labels[i, kept] = in_order_of_appearance(found)
        # excess mass of a component: the part of its points' density above the level
        inside = labels[i] >= 0
        # 1 − t/f: of excess mass, its points' share
        share = 1.0 - t / np.maximum(density[inside], np.finfo(float).tiny)
        masses = np.bincount(labels[i, inside], share) / n
        excess[i] = masses.sum() - masses.max(initial=0.0)
    counts = labels.max(axis=1) + 1
    parents = [
        np.array([labels[i - 1, np.argmax(labels[i] == c)] for c in range(counts[i])], dtype=int)
        for i in range(1, len(levels))
    ]
    return counts, labels, parents, excess


@checked
def level_tree(
    X: ArrayLike,
    levels: ArrayLike | None = None,
    *,
    density: Any = "kde",
    bandwidth: Any = "scott",
    h: Any = "auto",
    min_size: int = 1,
) -> LevelTree:
    """Return the components of the points above each level of their density.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    levels : array-like of shape (m,), optional
        Levels of the density, increasing; by default its quantiles from 0 to 95 % in twenty steps.
    density, bandwidth : default="kde", "scott"
        As in `LevelSetSpectralClustering`.
    h : float or "auto", default="auto"
        Radius of the neighbourhood graph, one for all levels.
    min_size : int, default=1
        Points below which a component does not count.

    Returns
    -------
    tree : LevelTree
        Components, and which lies in which.

    References
    ----------
    .. [1] Hartigan (1975). Clustering Algorithms. Wiley.
    .. [2] Biau, Cadre and Pelletier (2007). A graph-based estimator of the number of clusters.
       ESAIM: Probability and Statistics 11.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from octavo.cluster import level_tree
    >>> X, _ = make_blobs([300, 300], centers=[[0, 0], [3.5, 0]], random_state=0)
    >>> tree = level_tree(X, [0.001, 0.04, 0.06], h=0.6, min_size=5)
    >>> print(tree.n_components.tolist())
    [1, 2, 2]
    """
    points = as_sample(X, allow_complex=False)
    check_points(points)
    radius = check_scale(h)
    if min_size < 1:
        raise ValueError(f"min_size must be at least 1; got {min_size}.")
    values = densities_of(points, density, bandwidth, 0, 1)[0]
    if levels is None:
        chosen = np.unique(np.quantile(values, np.linspace(0.0, 0.95, 20)))
    else:
        chosen = real_array(levels, "levels")
    if chosen.ndim != 1 or not chosen.size or (np.diff(chosen) <= 0).any() or chosen[0] < 0:
        raise ValueError("levels must be a list of increasing densities that are not negative.")
    radius = default_scale(points) if radius is None else radius
    graph = radius_graph(points, radius)
    graph.data = np.ones_like(graph.data)
    counts, labels, parents, excess = sweep(graph, values, chosen, int(min_size))
    return LevelTree(chosen, counts, labels, parents, excess, values, radius)


@checked
def level_set_components(
    X: ArrayLike,
    h: float,
    *,
    level: float | None = None,
    drop_fraction: float = 0.1,
    density: Any = "kde",
    bandwidth: Any = "scott",
) -> Ints:
    """Return the components of the neighbourhood graph on the points of high density.

    The baseline of Biau, Cadre and Pelletier (2007): what spectral clustering of the level set
    equals while h is less than the gap between clusters, and what merges them beyond.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    h : float
        Points nearer than h are joined.
    level : float, optional
        The level of the density.
    drop_fraction : float, default=0.1
        Without `level`, the fraction of points of lowest density that are left out.
    density, bandwidth : default="kde", "scott"
        As in `LevelSetSpectralClustering`.

    Returns
    -------
    labels : ndarray of int of shape (n_samples,)
        Components in the order in which rows show them; -1 below the level.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.cluster import level_set_components
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> print(level_set_components(X, 2.0, drop_fraction=0.0))
    [0 0 1 1]
    """
    points = as_sample(X, allow_complex=False, min_samples=1)
    radius = check_scale(h)
    if radius is None:
        raise ValueError("h must be a positive number; got 'auto'.")
    check_fraction(drop_fraction)
    found = extract(
        points, level=level, drop_fraction=drop_fraction, density=density, bandwidth=bandwidth
    )
    graph = radius_graph(points[found.kept], radius)
    graph.data = (graph.data < radius).astype(np.float64)
    graph.eliminate_zeros()
    labels = np.full(len(points), -1, dtype=np.int64)
    labels[found.kept] = connected_components(graph, directed=False)[1]
    return in_order_of_appearance(labels)
