"""Elimination orders and junction trees.

Vertices are eliminated one by one; the neighbours of the eliminated one become a clique. The
cliques that no other contains are the clusters of a junction tree, and a tree of largest total
separator size over them has the running intersection property. Neighbourhoods are Python integers
used as bit sets.

References: S. L. Lauritzen and D. J. Spiegelhalter (1988), "Local computations with probabilities
on graphical structures and their application to expert systems"; D. Koller and N. Friedman (2009),
"Probabilistic Graphical Models", Chapters 9 and 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.graphs.spanning import maximum_forest

__all__ = ["JunctionTree", "elimination_cliques", "junction_forest"]

Bools = NDArray[np.bool_]
HEURISTICS = ("min_fill", "min_degree")


@dataclass(frozen=True)
class JunctionTree:
    """Clusters of vertices that hang together in a tree (a forest where the graph falls apart).

    Parameters
    ----------
    clusters : tuple of frozenset
        Maximal cliques of a chordal graph that contains the graph.
    separators : tuple of frozenset
        What two joined clusters share; never empty.
    edges : tuple of (int, int)
        Positions of the two clusters of each separator.

    Examples
    --------
    >>> from octavo.graphical import JunctionTree
    >>> JunctionTree((frozenset([0, 1]), frozenset([1, 2])), (frozenset([1]),), ((0, 1),)).width
    1
    """

    clusters: tuple[frozenset[Any], ...]
    separators: tuple[frozenset[Any], ...]
    edges: tuple[tuple[int, int], ...]

    @property
    def width(self) -> int:
        """Vertices of the largest cluster, less one."""
        return max((len(cluster) for cluster in self.clusters), default=0) - 1


def members(bits: int) -> Iterator[int]:
    """Yield the positions of the ones of a number."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def _missing(neighbors: list[int], v: int) -> int:
    """Return how many pairs of neighbours of v are not linked (twice that number)."""
    around = neighbors[v]
    degree = around.bit_count()
    # every ordered pair of neighbours, less those that are linked
    return degree * (degree - 1) - sum((neighbors[u] & around).bit_count() for u in members(around))


def elimination_cliques(
    adjacency: Bools, heuristic: str = "min_fill"
) -> tuple[list[int], list[int]]:
    """Eliminate all vertices, greedily, and return the order and the cliques that arise.

    Parameters
    ----------
    adjacency : ndarray of shape (n, n) of bool
        Symmetric; the diagonal is not read.
    heuristic : {"min_fill", "min_degree"}, default="min_fill"
        Take next the vertex whose elimination adds the fewest links, or the one with the fewest
        neighbours; ties by number.

    Returns
    -------
    order : list of int
        The vertices as they went.
    cliques : list of int
        Of each, itself and its neighbours at that time, as bits.
    """
    n = len(adjacency)
    neighbors = [
        int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") & ~(1 << v)
        for v, row in enumerate(adjacency)
    ]
    by_degree = heuristic == "min_degree"
    cost = [neighbors[v].bit_count() if by_degree else _missing(neighbors, v) for v in range(n)]
    left = set(range(n))
    order, cliques = [], []
    while left:
        v = min(left, key=lambda u: (cost[u], u))
        around = neighbors[v]
        order.append(v)
        cliques.append(around | 1 << v)
        left.remove(v)
        touched = around
        for u in members(around):
            new = (neighbors[u] | around) & ~(1 << u | 1 << v)
            if new != neighbors[u] & ~(1 << v):
                touched |= new  # a new link changes the fill of everything beside both its ends
            neighbors[u] = new
        for u in members(touched & ~(1 << v)):
            cost[u] = neighbors[u].bit_count() if by_degree else _missing(neighbors, u)
    return order, cliques


def junction_forest(adjacency: Bools, heuristic: str = "min_fill") -> JunctionTree:
    """Return a junction tree of a graph over the numbers of its vertices.

    Parameters
    ----------
    adjacency : ndarray of shape (n, n) of bool
        Symmetric; the diagonal is not read.
    heuristic : {"min_fill", "min_degree"}, default="min_fill"
        How the elimination goes on.

    Returns
    -------
    JunctionTree
        A forest with one tree for each connected part of the graph.
    """
    _, cliques = elimination_cliques(adjacency, heuristic)
    kept: list[int] = []
    for clique in cliques:  # a later clique never holds an earlier one: that one's vertex is gone
        if not any(clique & ~other == 0 for other in kept):
            kept.append(clique)
    sizes = np.zeros((len(kept), len(kept)))
    for a, first in enumerate(kept):
        for b in range(a):
            sizes[a, b] = sizes[b, a] = (first & kept[b]).bit_count()
    edges = [(int(a), int(b)) for a, b in maximum_forest(sizes, floor=0.0)]
    return JunctionTree(
        tuple(frozenset(members(bits)) for bits in kept),
        tuple(frozenset(members(kept[a] & kept[b])) for a, b in edges),
        tuple(edges),
    )
