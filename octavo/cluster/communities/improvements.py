"""Graphs that the axioms speak of: consistent improvements, and pairs that agree on a set.

T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
Definitions 5 and 7.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from octavo.cluster.communities.qualities import read_graph, read_labels
from octavo.data.cluster.clique_graphs import make_cliques_and_random, make_ring_of_cliques
from octavo.engine.estimators.arrays import Indices
from octavo.engine.estimators.checked import checked

__all__ = [
    "AgreeingGraphs",
    "make_agreeing_graphs",
    "make_cliques_and_random",
    "make_consistent_improvement",
    "make_ring_of_cliques",
]


class AgreeingGraphs(NamedTuple):
    """Two graphs that agree on a set of nodes and its neighbourhood.

    ``first`` and ``second`` are symmetric matrices whose first ``n_common`` nodes are the same
    ones; ``shared`` holds the nodes on which, with all their links, the graphs agree.
    """

    first: sp.csr_array
    second: sp.csr_array
    shared: Indices
    n_common: int


@checked
def make_consistent_improvement(
    graph: Any, labels: Any, *, share: float = 0.5, random_state: Any = None
) -> sp.csr_array:
    """Return a graph with more weight within clusters and less between them (Definition 5).

    Parameters
    ----------
    graph : networkx graph, igraph.Graph, square matrix, list of links or pandas.DataFrame
        Undirected, with weights of at least 0.
    labels : array-like of shape (n_nodes,) or dict
        The clusters.
    share : float, default=0.5
        The part of links that change, from 0 to 1. Those within clusters gain up to their own
        weight, those between lose up to all of it; as many pairs within that have no link may get
        one.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    graph : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
        Symmetric.

    Examples
    --------
    >>> from octavo.cluster import AdaptiveScaleModularity, make_consistent_improvement
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]]
    >>> labels = [0, 0, 1, 1]
    >>> better = make_consistent_improvement(path, labels, random_state=0)
    >>> quality = AdaptiveScaleModularity(M=1.0)
    >>> quality.score(better, labels) >= quality.score(path, labels)
    True
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1; got {share!r}.")
    links = read_graph(graph)
    clusters = read_labels(labels, links)
    rng = check_random_state(random_state)
    upper = sp.coo_array(sp.triu(links.matrix))
    u, v, weights = upper.row, upper.col, upper.data.astype(np.float64)
    within = clusters[u] == clusters[v]
    # Definition 5: heavier within, lighter between
    factor = np.where(within, 1.0 + rng.rand(len(u)), 1.0 - rng.rand(len(u)))
    weights = np.where(rng.rand(len(u)) < share, weights * factor, weights)
    n = links.matrix.shape[0]
    # New links within clusters: as many tries as links change, those that hit one cluster stay.
    tries = round(share * len(u)) + 1
    a, b = rng.randint(n, size=tries), rng.randint(n, size=tries)
    new = clusters[a] == clusters[b]
    typical = float(upper.data.mean()) if len(u) else 1.0
    extra = sp.coo_array((typical * rng.rand(new.sum()), (a[new], b[new])), shape=(n, n))
    half = sp.coo_array((weights, (u, v)), shape=(n, n)) + extra
    result = sp.csr_array(half + half.T - sp.diags_array(half.diagonal()))
    result.eliminate_zeros()
    return result


@checked
def make_agreeing_graphs(
    n_shared: int = 2,
    n_border: int = 1,
    n_first: int = 1,
    n_second: int = 2,
    *,
    weights: Any = (0.0, 1.0, 2.0),
    random_state: Any = None,
) -> AgreeingGraphs:
    """Return two random graphs that agree on a set of nodes and its neighbourhood (Section 2).

    Parameters
    ----------
    n_shared : int, default=2
        Nodes on which the graphs agree: all their links are the same in both.
    n_border : int, default=1
        Further nodes of both graphs; links among them may differ.
    n_first, n_second : int, default=1, 2
        Nodes of one graph alone, without a link to the shared ones.
    weights : array-like, default=(0.0, 1.0, 2.0)
        What weights are drawn from.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    graphs : AgreeingGraphs
        Both graphs, the shared nodes and the number of common ones.

    Examples
    --------
    >>> from octavo.cluster import make_agreeing_graphs
    >>> pair = make_agreeing_graphs(random_state=0)
    >>> bool((pair.first[:2, :3] != pair.second[:2, :3]).sum())
    False
    """
    counts = {"n_shared": n_shared, "n_border": n_border, "n_first": n_first, "n_second": n_second}
    for name, count in counts.items():
        if isinstance(count, (bool, np.bool_)) or not isinstance(count, (int, np.integer)):
            raise ValueError(f"{name} must be a whole number; got {count!r}.")
        if not (name == "n_shared") <= count <= 2000:
            raise ValueError(f"{name} must be from {int(name == 'n_shared')} to 2000; got {count}.")
    values = np.asarray(weights, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"weights must be finite numbers of at least 0; got {weights!r}.")
    rng = check_random_state(random_state)
    common = n_shared + n_border
    shared_rows = np.triu(rng.choice(values, size=(n_shared, common)))
    graphs = []
    for own in (n_first, n_second):
        n = common + own
        half = np.triu(rng.choice(values, size=(n, n)))
        half[:n_shared, :common] = shared_rows  # E of both agrees on V_a and its neighbourhood
        half[:n_shared, common:] = 0.0
        graphs.append(sp.csr_array(half + np.triu(half, 1).T))
    return AgreeingGraphs(graphs[0], graphs[1], np.arange(n_shared), common)
