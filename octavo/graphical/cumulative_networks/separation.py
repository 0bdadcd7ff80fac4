"""Independence that the graph of a cumulative distribution network implies.

Two variables are neighbours if a factor holds both. The graph speaks as a bi-directed one does:
what is *not* looked at separates, and observing a variable joins what it lies between.

Reference: J. C. Huang and B. J. Frey (2011), Section 2.1 (Theorems 8, 10, 11 and 15) and 2.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import networkx as nx
import numpy as np

from octavo.engine.estimators.checked import checked

__all__ = ["bidirected_graph", "factor_scopes"]


@checked
def bidirected_graph(scopes: Sequence[Sequence[int]]) -> nx.Graph:
    """Return the bi-directed graph with the same independences, as an undirected networkx graph.

    Parameters
    ----------
    scopes : sequence of sequences of int
        Variables of each factor.

    Returns
    -------
    networkx.Graph
        An edge stands for α ↔ β: the two variables share a factor.

    Examples
    --------
    >>> from octavo.graphical import bidirected_graph
    >>> sorted(bidirected_graph([(0, 1), (1, 2)]).edges)
    [(0, 1), (1, 2)]
    """
    graph = nx.Graph()
    for scope in scopes:
        members = [int(v) for v in scope]
        graph.add_nodes_from(members)
        graph.add_edges_from((a, b) for i, a in enumerate(members) for b in members[:i])
    return graph


@checked
def factor_scopes(graph: Any) -> list[tuple[int, ...]]:
    """Return the variables of the factors of a network for a bi-directed graph.

    Parameters
    ----------
    graph : networkx.Graph or array-like of shape (d, d)
        Bi-directed edges, over the numbers 0, 1, ...; a matrix is symmetric and boolean.

    Returns
    -------
    list of tuple of int
        One factor for each edge, and one for each variable without any.

    Examples
    --------
    >>> from octavo.graphical import factor_scopes
    >>> factor_scopes([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    [(0, 1), (2,)]
    """
    if isinstance(graph, nx.Graph):
        if graph.is_directed():
            raise ValueError("graph must be undirected: an edge stands for both directions.")
        nodes, edges = list(graph.nodes), [(u, v) for u, v in graph.edges if u != v]
        if not nodes or set(nodes) != set(range(len(nodes))):
            raise ValueError("graph must have the nodes 0, 1, ..., d - 1.")
    else:
        matrix = np.asarray(graph)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.size
        if not square or not np.isin(matrix, (0, 1)).all() or (matrix != matrix.T).any():
            raise ValueError("graph must be a networkx graph or a symmetric boolean matrix.")
        nodes = list(range(len(matrix)))
        edges = [(i, j) for i, j in np.argwhere(np.triu(matrix, 1)).tolist()]
    scopes = sorted((min(e), max(e)) for e in edges)
    alone = set(nodes) - {v for scope in scopes for v in scope}
    return [*scopes, *((v,) for v in sorted(alone))]


def meets(scopes: Sequence[Sequence[int]], A: Iterable[int], B: Iterable[int]) -> bool:
    """Tell whether some factor holds a variable of each set."""
    first, second = set(A), set(B)
    return any(first & set(scope) and second & set(scope) for scope in scopes)


def joined(
    scopes: Sequence[Sequence[int]], A: Iterable[int], B: Iterable[int], within: Iterable[int]
) -> bool:
    """Tell whether a path leads from A to B through variables of a set."""
    allowed = set(within) | set(A) | set(B)
    reached, ends = set(A), set(B)
    grows = True
    while grows and not reached & ends:
        grows = False
        for scope in scopes:
            found = (set(scope) & allowed) - reached
            if found and reached & set(scope):
                reached |= found
                grows = True
    return bool(reached & ends)
