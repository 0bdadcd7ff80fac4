"""Properties of small graphs that are easy to test and hard to construct: test beds of searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked

__all__ = ["is_connected_planar", "is_hamiltonian"]

MOST_VERTICES = 22


def _check_graph(graph: Any) -> None:
    import networkx as nx

    if not isinstance(graph, nx.Graph) or graph.is_directed():
        raise ValueError(f"An undirected networkx graph is needed; got {type(graph).__name__}.")


@checked
def is_hamiltonian(graph: Any) -> bool:
    """Tell whether a cycle passes through every vertex once.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected, with at most 22 vertices.

    Returns
    -------
    answer : bool
        False for fewer than three vertices.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.data import is_hamiltonian
    >>> is_hamiltonian(nx.cubical_graph()), is_hamiltonian(nx.petersen_graph())
    (True, False)
    """
    _check_graph(graph)
    n = graph.number_of_nodes()
    if n > MOST_VERTICES:
        raise ValueError(f"Graphs of at most {MOST_VERTICES} vertices are tested; got {n}.")
    place = {vertex: i for i, vertex in enumerate(graph)}
    near = [0] * n
    for u, v in graph.edges():
        if u != v:
            near[place[u]] |= 1 << place[v]
            near[place[v]] |= 1 << place[u]
    degrees = [bin(mask).count("1") for mask in near]
    if n < 3 or min(degrees) < 2:
        return False
    if 2 * min(degrees) >= n:  # Dirac's theorem
        return True
    # ends[S]: last vertices of paths that start in 0 and visit just S (Held and Karp).
    full = (1 << n) - 1
    ends = np.zeros(1 << n, dtype=np.int64).tolist()
    ends[1] = 1
    for visited in range(1, full, 2):
        last, reach = ends[visited], 0
        while last:
            bit = last & -last
            reach |= near[bit.bit_length() - 1]
            last ^= bit
        reach &= ~visited
        while reach:
            bit = reach & -reach
            # bit is an end of visited + bit: some end of visited is its neighbour
            ends[visited | bit] |= bit
            reach ^= bit
    return bool(ends[full] & near[0])


@checked
def is_connected_planar(graph: Any) -> bool:
    """Tell whether a graph is in one piece and can be drawn without crossings.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected.

    Returns
    -------
    answer : bool
        False for the graph without vertices.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.data import is_connected_planar
    >>> is_connected_planar(nx.cubical_graph()), is_connected_planar(nx.petersen_graph())
    (True, False)
    """
    import networkx as nx

    _check_graph(graph)
    n, m = graph.number_of_nodes(), graph.number_of_edges()
    if n == 0 or m < n - 1 or (n > 2 and m > 3 * n - 6 and not nx.number_of_selfloops(graph)):
        return False
    return bool(nx.is_connected(graph) and nx.is_planar(graph))
