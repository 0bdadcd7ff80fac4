"""Spanning trees and forests: the heaviest, a random one, and how one hangs from its roots.

`maximum_forest` is Kruskal's answer in Kruskal's order, found in Prim's way: with a strict order of
all pairs (heavier first, then the smaller pair of numbers) the forest is unique, so that growing it
vertex by vertex on a dense matrix, n steps over n entries, gives the same edges as sorting all of
them.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices

__all__ = ["maximum_forest", "random_tree", "rooted_forest"]


def maximum_forest(weights: Floats, floor: float = -np.inf) -> Indices:
    """Return the forest of largest total weight whose edges all weigh more than a floor.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        Symmetric; the diagonal is not read. -inf forbids a pair.
    floor : float, default=-inf
        Edges at or below it are left out.

    Returns
    -------
    ndarray of shape (n_edges, 2)
        Pairs i < j, the heaviest first, equal ones by their numbers: every beginning of the list
        is the best forest with that many edges.
    """
    n = len(weights)
    vertices = np.arange(n)
    outside = np.ones(n, dtype=bool)
    best = np.full(n, -np.inf)  # of each vertex outside, its heaviest edge into the tree
    rank = np.full(n, n * n)  # and the number n i + j of that edge
    mate = np.zeros(n, dtype=np.intp)
    edges = []
    u = 0
    for _ in range(n - 1):
        outside[u] = False
        row = weights[u]
        number = np.where(vertices < u, n * vertices + u, n * u + vertices)
        nearer = outside & ((row > best) | ((row == best) & (number < rank)))
        best[nearer], rank[nearer], mate[nearer] = row[nearer], number[nearer], u
        heaviest = np.where(outside, best, -np.inf).max()
        tied = np.flatnonzero(outside & (best == heaviest))
        u = tied[rank[tied].argmin()]
        if heaviest > floor:
            edges.append((heaviest, min(u, mate[u]), max(u, mate[u])))
    edges.sort(key=lambda edge: (-edge[0], edge[1], edge[2]))
    return np.array([edge[1:] for edge in edges], dtype=np.intp).reshape(-1, 2)


def random_tree(n: int, random: np.random.RandomState) -> Indices:
    """Return a tree drawn uniformly from all n^(n - 2) labelled trees, by its Pruefer sequence.

    Parameters
    ----------
    n : int
        Vertices, at least one.
    random : numpy.random.RandomState
        Draws the sequence.

    Returns
    -------
    ndarray of shape (n - 1, 2)
        Pairs i < j.
    """
    if n < 2:
        return np.empty((0, 2), dtype=np.intp)
    sequence = random.randint(0, n, n - 2)
    # each vertex stands degree - 1 times in the sequence
    degree = 1 + np.bincount(sequence, minlength=n)
    edges = []
    for inner in sequence:
        leaf = int(np.flatnonzero(degree == 1)[0])
        edges.append((leaf, int(inner)))
        degree[leaf] -= 1
        degree[inner] -= 1
    last = np.flatnonzero(degree == 1)
    edges.append((int(last[0]), int(last[1])))
    return np.sort(np.array(edges, dtype=np.intp), axis=1)


def rooted_forest(n: int, edges: Indices) -> tuple[Indices, Indices]:
    """Hang a forest from the smallest vertex of each of its trees.

    Parameters
    ----------
    n : int
        Vertices.
    edges : ndarray of shape (n_edges, 2)
        Of a forest.

    Returns
    -------
    parent : ndarray of shape (n,)
        -1 at a root.
    order : ndarray of shape (n,)
        Parents before children.
    """
    neighbors: list[list[int]] = [[] for _ in range(n)]
    for i, j in np.asarray(edges, dtype=np.intp).tolist():
        neighbors[i].append(j)
        neighbors[j].append(i)
    parent = np.full(n, -1, dtype=np.intp)
    seen = np.zeros(n, dtype=bool)
    order: list[int] = []
    for root in range(n):
        if seen[root]:
            continue
        seen[root] = True
        waiting = [root]
        for u in waiting:  # grows while it is read: breadth first
            for v in neighbors[u]:
                if not seen[v]:
                    seen[v] = True
                    parent[v] = u
                    waiting.append(v)
        order += waiting
    return parent, np.array(order, dtype=np.intp)
