"""Forests of largest weight: spanning, and with trees of at most t edges.

A forest whose trees have at most t edges is NP-hard to find for t of 7 and more. Adding edges
greedily with degrees of at most t and cutting the trees optimally gives at least a quarter of the
best weight (Theorem 16); integer programs find the best in small graphs.

Reference: Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011), "Forest density estimation",
JMLR 12:907-951, Algorithms 1, 2, 4 and 5; J. A. Lukes (1974), "Efficient algorithm for the
partitioning of trees", IBM Journal of Research and Development 18:217-224.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.spanning import maximum_forest, rooted_forest

__all__ = ["chow_liu_tree", "t_restricted_forest", "tree_partition"]

CHUNK = 8192  # sorted pairs looked at together
LARGEST_MATCHING = 200  # vertices up to which one edge a tree is solved exactly
TIME_LIMIT = 20.0  # seconds of the integer program


def check_weights(W: Any) -> Floats:
    """Return a symmetric matrix of weights, checked."""
    W = check_array(W, dtype=np.float64, ensure_all_finite=False, input_name="W")
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"W must be a square matrix of weights, got the shape {W.shape}.")
    off = W[~np.eye(len(W), dtype=bool)]
    if np.isnan(off).any() or np.isposinf(off).any():
        raise ValueError("W contains NaN or infinity off its diagonal; -inf forbids a pair.")
    finite = np.where(np.isneginf(W), 0.0, W)
    np.fill_diagonal(finite, 0.0)
    size = np.abs(finite).max(initial=0.0)
    if np.any(np.isneginf(W) != np.isneginf(W.T)) or np.any(
        np.abs(finite / 2 - finite.T / 2) > 1e-10 * size
    ):
        raise ValueError("W must be symmetric: W[i, j] is the weight of the pair i, j.")
    return np.maximum(W, W.T)


def as_graph(d: int, edges: Indices, W: Floats) -> Any:
    """Return a networkx graph on 0, ..., d - 1 with weights."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(d))
    graph.add_weighted_edges_from((int(i), int(j), float(W[i, j])) for i, j in edges)
    return graph


@checked
def chow_liu_tree(W):
    """Find the spanning tree of largest weight (Kruskal; Chow and Liu for mutual informations).

    Parameters
    ----------
    W : array-like of shape (n_features, n_features)
        Symmetric weights, such as those of `mutual_information_matrix`; -inf forbids a pair.

    Returns
    -------
    networkx.Graph
        The tree on 0, ..., n_features - 1 with ``weight``; its edges stand in Kruskal's order,
        heaviest first, so that the first k are the best forest of k edges. Pairs of -inf leave
        a forest.

    Examples
    --------
    >>> from octavo.graphical import chow_liu_tree
    >>> list(chow_liu_tree([[0, 3, 2], [3, 0, 1], [2, 1, 0]]).edges)
    [(0, 1), (0, 2)]
    """
    W = check_weights(W)
    return as_graph(len(W), maximum_forest(W), W)


def heaviest_first(W: Floats) -> Indices:
    """Return the pairs of positive weight, heaviest first, equal ones by their numbers."""
    i, j = np.triu_indices(len(W), 1)
    weights = W[i, j]
    order = np.argsort(-weights, kind="stable")
    order = order[weights[order] > 0]
    return np.column_stack([i[order], j[order]])


def greedy_forest(d: int, pairs: Indices, t: int) -> Indices:
    """Add pairs in their order while no degree exceeds t and no cycle is closed (Algorithm 2).

    The box of the algorithm allows t + 1; the text and the proof of its bound have t.
    """
    label, degree = np.arange(d), np.zeros(d, dtype=int)
    kept: list[tuple[int, int]] = []
    for at in range(0, len(pairs), CHUNK):
        some = pairs[at : at + CHUNK]
        u, v = some[:, 0], some[:, 1]
        open_ = (label[u] != label[v]) & (degree[u] < t) & (degree[v] < t)
        for i, j in some[open_].tolist():
            # degrees of at most t, as text and proof say; Algorithm 2's box has t + 1
            if label[i] != label[j] and degree[i] < t and degree[j] < t:
                label[label == label[j]] = label[i]
                degree[i] += 1
                degree[j] += 1
                kept.append((i, j))
        if len(kept) == d - 1:
            break
    return np.array(kept, dtype=np.intp).reshape(-1, 2)


def partition_forest(d: int, edges: Indices, weights: Floats, t: int) -> Indices:
    """Return which edges of a forest to keep, by number: the most weight in trees of ≤ t edges.

    Of every vertex, in the subtree that has been merged into it so far, best[s] is the largest
    weight when its own tree has s + 1 vertices (Algorithms 4 and 5).
    """
    parent, order = rooted_forest(d, edges)
    number = {}
    for e, (i, j) in enumerate(np.asarray(edges).tolist()):
        number[(i, j) if parent[j] == i else (j, i)] = e
    best = [np.zeros(1) for _ in range(d)]  # v.P_1 of Algorithm 4: the vertex alone
    merges: list[list[tuple[int, Indices]]] = [[] for _ in range(d)]  # (child, its tree or -1)
    for u in order[::-1].tolist():
        v = int(parent[u])
        if v < 0:
            continue
        mine, child = best[v], best[u]
        size = min(len(mine) + len(child), t + 1)
        merged = np.full(size, -np.inf)
        taken = np.full(size, -1, dtype=np.intp)
        merged[: len(mine)] = mine + child.max()  # u.P_0: the edge is cut
        weight = weights[number[v, u]]
        for s in range(min(len(child), size - 1)):  # the tree of u, of s + 1 vertices, is joined
            joined = mine[: size - s - 1] + child[s] + weight  # Concat of Algorithm 5
            at = slice(s + 1, s + 1 + len(joined))
            better = joined > merged[at]
            merged[at][better], taken[at][better] = joined[better], s
        best[v] = merged
        merges[v].append((u, taken))
    kept = []
    wanted = np.full(d, -1, dtype=np.intp)  # vertices of the own tree, less one
    for v in order.tolist():
        s = int(best[v].argmax()) if wanted[v] < 0 else int(wanted[v])  # v.P_0
        for u, taken in reversed(merges[v]):
            if taken[s] >= 0:
                kept.append(number[v, u])
                wanted[u] = taken[s]
                s -= int(taken[s]) + 1
    return np.sort(np.array(kept, dtype=np.intp))


@checked
def tree_partition(tree, t):
    """Choose the edges of a tree to keep: the most weight in pieces of at most t edges (Lukes).

    Parameters
    ----------
    tree : networkx.Graph
        A tree or forest; edges carry ``weight`` (1 where it is absent).
    t : int
        Most edges of a piece.

    Returns
    -------
    list of tuple
        The edges that are kept, in the order of ``tree.edges``.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.graphical import tree_partition
    >>> path = nx.Graph()
    >>> path.add_weighted_edges_from([("a", "b", 2), ("b", "c", 3), ("c", "d", 2)])
    >>> tree_partition(path, 1)
    [('a', 'b'), ('c', 'd')]
    """
    import networkx as nx

    t = _check_t(t)
    if not isinstance(tree, nx.Graph) or tree.is_directed() or tree.is_multigraph():
        raise TypeError(f"tree must be an undirected networkx.Graph, got {type(tree).__name__}.")
    if tree.number_of_nodes() and not nx.is_forest(tree):
        raise ValueError("tree must have no cycle.")
    at = {node: k for k, node in enumerate(tree)}
    listed = list(tree.edges(data="weight", default=1.0))
    weights = np.array([w for _, _, w in listed], dtype=float)
    if not np.isfinite(weights).all():
        raise ValueError("The weights of the tree must be finite.")
    edges = np.array([(at[u], at[v]) for u, v, _ in listed], dtype=np.intp).reshape(-1, 2)
    return [listed[e][:2] for e in partition_forest(len(at), edges, weights, t)]


def _check_t(t: Any) -> int:
    if isinstance(t, (bool, np.bool_)) or not isinstance(t, (int, np.integer)) or t < 0:
        raise ValueError(f"t must be an integer of at least 0, the edges of a tree; got {t!r}.")
    return int(t)


def restricted_edges(W: Floats, t: int, pairs: Indices | None = None) -> Indices:
    """Return the edges of a forest with trees of at most t edges (Algorithm 2), heaviest first.

    One edge a tree is a matching of largest weight, found exactly in graphs that are not large.
    """
    d = len(W)
    if t < 1 or d < 2:
        return np.empty((0, 2), dtype=np.intp)
    # no edge of weight 0 or less adds to the sum
    pairs = heaviest_first(W) if pairs is None else pairs
    if t == 1 and d <= LARGEST_MATCHING:
        import networkx as nx

        # with one edge for each tree the best forest is a matching
        matched = nx.max_weight_matching(as_graph(d, pairs, W))
        edges = np.sort(np.array(list(matched), dtype=np.intp).reshape(-1, 2), axis=1)
        order = np.lexsort((edges[:, 1], edges[:, 0], -W[edges[:, 0], edges[:, 1]]))
        return edges[order]
    edges = greedy_forest(d, pairs, t)
    return edges[partition_forest(d, edges, W[edges[:, 0], edges[:, 1]], t)]


def forest_rank(n_vertices: int, t: int) -> int:
    """Return the most edges that a forest with trees of at most t edges has on some vertices."""
    return n_vertices - -(-n_vertices // (t + 1))  # pieces of t + 1 vertices lose one edge each


def violated_sets(d: int, edges: Indices, t: int) -> list[Indices]:
    """Return the connected sets of vertices with more edges among them than any such forest has."""
    links = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(d, d))
    label = connected_components(links, directed=False)[1]
    n_vertices = np.bincount(label)
    n_edges = np.bincount(label[edges[:, 0]], minlength=len(n_vertices))
    return [
        np.flatnonzero(label == c)
        for c in range(len(n_vertices))
        if n_edges[c] > forest_rank(int(n_vertices[c]), t)  # more edges than any such forest has
    ]


def best_restricted_edges(W: Floats, t: int) -> Indices:
    """Return the best forest with trees of at most t edges, by integer programs with growing rows.

    Edges are such a forest if and only if every set of vertices has at most as many of them as a
    forest on it can have. These rows are added where a solution breaks them, until none is broken.
    """
    d = len(W)
    pairs = heaviest_first(W)
    if t < 1 or not len(pairs):
        return np.empty((0, 2), dtype=np.intp)
    end, at = pairs.T.ravel(), np.tile(np.arange(len(pairs)), 2)
    degrees = sp.csr_array((np.ones(len(end)), (end, at)), shape=(d, len(pairs))).toarray()
    rows = [*degrees, np.ones(len(pairs))]
    limits = [float(t)] * d + [float(forest_rank(d, t))]
    weights = W[pairs[:, 0], pairs[:, 1]] / W[pairs[0, 0], pairs[0, 1]]  # of order one
    started = time.monotonic()
    while (left := TIME_LIMIT - (time.monotonic() - started)) > 0:
        found = milp(
            -weights,
            integrality=np.ones(len(pairs)),
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(sp.csr_array(np.array(rows)), -np.inf, limits),
            options={"time_limit": left, "mip_rel_gap": 1e-9},
        )
        if found.status != 0 or found.x is None:
            break
        chosen = pairs[found.x > 0.5]
        broken = violated_sets(d, chosen, t)
        if not broken:
            return chosen
        for vertices in broken:
            rows.append(np.isin(pairs, vertices).all(axis=1).astype(float))
            limits.append(float(forest_rank(len(vertices), t)))
    raise ValueError(
        f"The best forest of {d} vertices and trees of at most {t} edges was not proven within "
        f"{TIME_LIMIT:g} seconds; exact=False approximates it."
    )


@checked
def t_restricted_forest(W, t, exact=False):
    """Find a forest of large weight whose trees have at most t edges.

    Parameters
    ----------
    W : array-like of shape (n_features, n_features)
        Symmetric weights. Pairs of weight zero or less are not used.
    t : int
        Most edges of a tree.
    exact : bool, default=False
        Whether to find the best one by integer programs: for up to some twenty
        vertices. Otherwise edges are added greedily with degrees of at most t and the trees are
        cut optimally, which has at least a quarter of the best weight and most often nearly
        all; t=1 is exact for up to 200 vertices.

    Returns
    -------
    networkx.Graph
        The forest on 0, ..., n_features - 1 with ``weight``, heaviest edges first.

    Examples
    --------
    >>> from octavo.graphical import t_restricted_forest
    >>> W = [[0, 5, 4, 0], [5, 0, 3, 4], [4, 3, 0, 0], [0, 4, 0, 0]]
    >>> sorted(t_restricted_forest(W, 1).edges), sorted(t_restricted_forest(W, 3).edges)
    ([(0, 2), (1, 3)], [(0, 1), (0, 2), (1, 3)])
    """
    t = _check_t(t)
    W = check_weights(W)
    t = min(t, max(len(W) - 1, 0))
    edges = best_restricted_edges(W, t) if exact else restricted_edges(W, t)
    return as_graph(len(W), edges, W)
