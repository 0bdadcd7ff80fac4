"""From a graph to its junction tree, and from a graph to the graph of some of its variables.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, sections 2 and 8, Appendix A.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from octavo.engine.discrete.graph_blocks import connected_blocks
from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.junction_trees import HEURISTICS, JunctionTree, junction_forest
from octavo.engine.graphs.links import read_links

__all__ = ["JunctionTree", "junction_tree", "marginal_graph", "merge_clusters"]

Bools = NDArray[np.bool_]


def as_adjacency(graph: Any) -> tuple[Bools, list[Any]]:
    """Return the matrix of an undirected graph, without loops, and what its nodes are called."""
    links = read_links(graph, self_loops="drop")
    return links.matrix.toarray() != 0, list(links.nodes)


def as_mask(mask: Any, d: int, name: str) -> Bools:
    """Return a symmetric boolean matrix without diagonal; None is all pairs."""
    if mask is None:
        return ~np.eye(d, dtype=bool)
    try:
        given = np.asarray(mask, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a matrix of zeros and ones.") from None
    if given.shape != (d, d):
        raise ValueError(f"{name} must have shape ({d}, {d}), got {given.shape}.")
    if np.isnan(given).any():
        raise ValueError(f"{name} must be a matrix of zeros and ones; it contains NaN.")
    found = given != 0
    apart = np.argwhere(found != found.T)
    if len(apart):
        i, j = apart[0]
        raise ValueError(
            f"{name} must be symmetric: entry ({i}, {j}) is {bool(found[i, j])}, entry ({j}, {i}) "
            f"is {bool(found[j, i])}."
        )
    return found & ~np.eye(d, dtype=bool)


def as_graph(adjacency: Bools, nodes: Sequence[Any] | None = None) -> nx.Graph:
    """Return a networkx graph with all nodes and the edges of a matrix."""
    names = range(len(adjacency)) if nodes is None else nodes
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[i], names[j]) for i, j in np.argwhere(np.triu(adjacency, 1)))
    return graph


def _named(tree: JunctionTree, nodes: list[Any]) -> JunctionTree:
    if nodes == list(range(len(nodes))):
        return tree
    return JunctionTree(
        tuple(frozenset(nodes[v] for v in cluster) for cluster in tree.clusters),
        tuple(frozenset(nodes[v] for v in separator) for separator in tree.separators),
        tree.edges,
    )


@checked
def junction_tree(graph, heuristic="min_fill"):
    """Cluster the nodes of a graph into a junction tree.

    Parameters
    ----------
    graph : networkx graph or array of shape (n_nodes, n_nodes)
        Undirected; a matrix is symmetric, with an edge where it is not zero.
    heuristic : {"min_fill", "min_degree"}, default="min_fill"
        Which node is eliminated next: the one whose elimination adds the fewest edges, or the one
        with the fewest neighbours.

    Returns
    -------
    JunctionTree
        `clusters` and `separators` are frozensets of nodes; `edges` are pairs of positions of
        clusters, one for each separator. A graph in several pieces has a tree for each.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, section 2.2.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.graphical import junction_tree
    >>> tree = junction_tree(nx.cycle_graph(4))
    >>> sorted(sorted(cluster) for cluster in tree.clusters), len(tree.separators)
    ([[0, 1, 3], [1, 2, 3]], 1)
    """
    if heuristic not in HEURISTICS:
        raise ValueError(f"heuristic must be one of {HEURISTICS}, got {heuristic!r}.")
    adjacency, nodes = as_adjacency(graph)
    return _named(junction_forest(adjacency, heuristic), nodes)


@checked
def merge_clusters(tree, max_separator):
    """Merge clusters of a junction tree until no separator has more nodes than allowed.

    Parameters
    ----------
    tree : JunctionTree
        As `junction_tree` returns it.
    max_separator : int
        Most nodes of a separator that stays, at least 0.

    Returns
    -------
    JunctionTree
        Clusters that shared a larger separator are one; the other separators are as before.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, section 8.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.graphical import junction_tree, merge_clusters
    >>> tree = junction_tree(nx.cycle_graph(6))
    >>> len(tree.clusters), len(merge_clusters(tree, 1).clusters)
    (4, 1)
    """
    if isinstance(max_separator, bool) or not max_separator >= 0:
        raise ValueError(f"max_separator must be an integer of at least 0, got {max_separator!r}.")
    part = list(range(len(tree.clusters)))

    def root(a: int) -> int:
        while part[a] != a:
            part[a] = part[part[a]]
            a = part[a]
        return a

    # What two merged clusters share with a third is what one of them did: separators do not grow.
    kept = []
    for (a, b), separator in zip(tree.edges, tree.separators, strict=True):
        if len(separator) > max_separator:  # Section 8: separators of more than κ + 1 nodes
            part[root(max(a, b))] = root(min(a, b))
        else:
            kept.append((a, b, separator))
    roots = [root(a) for a in range(len(part))]
    place = {r: position for position, r in enumerate(dict.fromkeys(roots))}
    merged: list[set[Any]] = [set() for _ in place]
    for cluster, r in zip(tree.clusters, roots, strict=True):
        merged[place[r]] |= cluster
    return JunctionTree(
        tuple(frozenset(cluster) for cluster in merged),
        tuple(separator for *_, separator in kept),
        tuple((place[roots[a]], place[roots[b]]) for a, b, _ in kept),
    )


def marginal_adjacency(adjacency: Bools, nodes: NDArray[np.intp]) -> Bools:
    """Return the marginal graph (Definition 23) over some nodes, in their order."""
    inside = np.zeros(len(adjacency), dtype=bool)
    inside[nodes] = True
    found = adjacency[np.ix_(nodes, nodes)].copy()
    outside = np.flatnonzero(~inside & adjacency.any(axis=0))
    if outside.size:
        between = adjacency[np.ix_(outside, nodes)]
        for block in connected_blocks(adjacency[np.ix_(outside, outside)]):
            # A path through one piece of the outside joins all whom that piece touches.
            touched = np.flatnonzero(between[block].any(axis=0))
            found[np.ix_(touched, touched)] = True
    found[np.arange(len(nodes)), np.arange(len(nodes))] = False
    return found


@checked
def marginal_graph(graph, nodes):
    """Return the graph of the marginal distribution of some variables.

    Two of them are joined if they are in `graph`, or if a path of it leads from one to the other
    through variables that are left out.

    Parameters
    ----------
    graph : networkx graph or array of shape (n_nodes, n_nodes)
        Undirected.
    nodes : sequence of nodes
        The variables that are kept.

    Returns
    -------
    networkx.Graph
        Over `nodes`.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Definition 23.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.graphical import marginal_graph
    >>> sorted(marginal_graph(nx.path_graph(5), [0, 2, 4]).edges)
    [(0, 2), (2, 4)]
    """
    adjacency, names = as_adjacency(graph)
    place = {name: position for position, name in enumerate(names)}
    chosen = list(dict.fromkeys(nodes))
    unknown = [node for node in chosen if node not in place]
    if unknown:
        raise ValueError(f"nodes holds {unknown[0]!r}, which is no node of the graph.")
    at = np.array([place[node] for node in chosen], dtype=np.intp)
    return as_graph(marginal_adjacency(adjacency, at), chosen)
