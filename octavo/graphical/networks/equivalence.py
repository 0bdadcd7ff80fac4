"""The class of networks that data cannot tell from a given one.

Networks with the same arcs but for direction and the same v-structures encode the same
independences and get the same BIC, AIC and BDeu. Their class is drawn as a graph in which an arc
has a direction only if all members agree on it.

Reference: C. Meek (1995), "Causal inference and causal explanation with background knowledge", UAI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.checked import checked
from octavo.graphical.network_scores.local_scores import check_acyclic

__all__ = ["cpdag"]


def _v_structures(arcs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the arcs a → c that meet b → c with a and b not linked."""
    linked = arcs | arcs.T
    compelled = np.zeros_like(arcs)
    for child in range(len(arcs)):
        parents = np.flatnonzero(arcs[:, child])
        for a in parents:
            for b in parents:
                if a != b and not linked[a, b]:  # a collider whose parents are not linked
                    compelled[a, child] = compelled[b, child] = True
    return compelled


def _follows(a: int, b: int, directed: NDArray, loose: NDArray) -> bool:
    """Return whether the rules of Meek give the loose link a − b the direction a → b."""
    linked = directed | directed.T | loose
    into_a, from_a = directed[:, a], directed[a]
    if (into_a & ~linked[:, b]).any():  # rule 1: else a new v-structure at a
        return True
    if (from_a & directed[:, b]).any():  # rule 2: else a cycle
        return True
    between = np.flatnonzero(loose[a] & directed[:, b])  # rule 3
    return any(not linked[c, d] for c in between for d in between if c != d)


def class_of_arcs(parents: Sequence[Sequence[int]]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the directed arcs of the class and its links without direction, as matrices."""
    n = len(parents)
    arcs = np.zeros((n, n), np.bool_)
    for node, of in enumerate(parents):
        arcs[list(of), node] = True
    directed = _v_structures(arcs)
    loose = (arcs & ~directed) | (arcs & ~directed).T
    changed = True
    while changed:
        changed = False
        for a, b in zip(*np.nonzero(loose)):
            if loose[a, b] and _follows(a, b, directed, loose):
                directed[a, b], loose[a, b], loose[b, a] = True, False, False
                changed = True
    return directed, loose


@checked
def cpdag(dag: Any) -> Any:
    """Return the equivalence class of a network.

    Parameters
    ----------
    dag : networkx.DiGraph
        A network.

    Returns
    -------
    graph : networkx.DiGraph
        The same links. One whose direction all members of the class share is one arc; one that
        can be turned is a pair of arcs in both directions.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.graphical import cpdag
    >>> sorted(cpdag(nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d"), ("e", "f")])).edges)
    [('a', 'c'), ('b', 'c'), ('c', 'd'), ('e', 'f'), ('f', 'e')]
    """
    import networkx as nx

    nodes = list(dag.nodes)
    place = {node: k for k, node in enumerate(nodes)}
    parents = [sorted(place[p] for p in dag.predecessors(node)) for node in nodes]
    check_acyclic(parents, [str(node) for node in nodes])
    directed, loose = class_of_arcs(parents)
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((nodes[a], nodes[b]) for a, b in zip(*np.nonzero(directed | loose)))
    return graph
