"""How well a graph was found, and how many rows that takes.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, sections 7 and 8.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from octavo.data.graphical.weak_edges import WeakEdgeNetwork, make_weak_edge_network
from octavo.engine.estimators.checked import checked
from octavo.graphical.junction_selection.clusters import as_adjacency, as_mask

__all__ = [
    "GraphRecovery",
    "SampleComplexity",
    "WeakEdgeNetwork",
    "graph_recovery",
    "make_weak_edge_network",
    "match_n_edges",
    "sample_complexity",
]


class GraphRecovery(NamedTuple):
    """How an estimated graph compares with the true one.

    Attributes
    ----------
    wedr : float or None
        Share of the weak edges that were found; None where they are not known.
    fdr : float
        Share of the edges found that are not true, 0 if none was found.
    tpr : float
        Share of the true edges that were found, 1 if there are none.
    edit_distance : int
        Edges to add and to delete.
    """

    wedr: float | None
    fdr: float
    tpr: float
    edit_distance: int


@checked
def graph_recovery(estimated, truth, weak=None):
    """Compare a graph with the true one.

    Parameters
    ----------
    estimated : networkx graph or array of shape (n_nodes, n_nodes)
        The graph that was found.
    truth : networkx graph or array of shape (n_nodes, n_nodes)
        The true graph over the same nodes.
    weak : networkx graph or array of shape (n_nodes, n_nodes), default=None
        Which of its edges are weak.

    Returns
    -------
    GraphRecovery
        `wedr`, `fdr`, `tpr` and `edit_distance`.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, section 8.1.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.graphical import graph_recovery
    >>> graph_recovery(nx.path_graph(4), nx.cycle_graph(4))
    GraphRecovery(wedr=None, fdr=0.0, tpr=0.75, edit_distance=1)
    """
    true, nodes = as_adjacency(truth)
    found = _over(estimated, nodes, "estimated")
    hits, n_found, n_true = (int(A.sum()) // 2 for A in (found & true, found, true))
    wedr = None
    if weak is not None:
        of_interest = _over(weak, nodes, "weak") & true
        n_weak = int(of_interest.sum()) // 2
        wedr = int((found & of_interest).sum()) / 2 / n_weak if n_weak else 1.0
    return GraphRecovery(
        wedr,
        (n_found - hits) / n_found if n_found else 0.0,
        hits / n_true if n_true else 1.0,
        n_found + n_true - 2 * hits,
    )


def _over(graph: Any, nodes: list[Any], name: str):
    adjacency, own = as_adjacency(graph)
    if set(own) != set(nodes):
        raise ValueError(
            f"{name} must be over the nodes of truth: it has {len(own)}, truth {len(nodes)}."
        )
    place = {node: position for position, node in enumerate(own)}
    at = [place[node] for node in nodes]
    return as_mask(adjacency[np.ix_(at, at)], len(nodes), name)


@checked
def match_n_edges(estimator, X, n_edges, *, parameter="alpha", low=0.01, high=1.0, max_iter=20):
    """Fit an estimator with the value of a parameter at which it finds a number of edges.

    Two methods that find as many edges can be compared by which they find.

    Parameters
    ----------
    estimator : estimator with `adjacency_` after fit
        It is cloned.
    X : array-like of shape (n_samples, n_features)
        The sample.
    n_edges : int
        How many edges are wanted.
    parameter : str, default="alpha"
        The parameter that is varied; fewer or more edges are found as it grows.
    low, high : float, default=0.01 and 1.0
        Positive ends of the range that is searched, by bisection of the logarithm.
    max_iter : int, default=20
        Most fits.

    Returns
    -------
    estimator
        The fit whose number of edges is nearest.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, section 8.1.

    Examples
    --------
    >>> from octavo.graphical import PCSkeletonUGMS, make_weak_edge_network, match_n_edges
    >>> sample = make_weak_edge_network("CH1", 300, random_state=0, n_features=20, n_weak=5)
    >>> model = match_n_edges(PCSkeletonUGMS(), sample.X, 12, parameter="threshold")
    >>> int(model.adjacency_.sum()) // 2
    12
    """
    if not 0 < low < high < np.inf:
        raise ValueError(f"low and high must be positive and in order, got {low} and {high}.")
    if n_edges < 0 or max_iter < 2:
        raise ValueError(
            f"n_edges must be at least 0 and max_iter at least 2, got {n_edges} and {max_iter}."
        )

    most = np.shape(X)[1] * (np.shape(X)[1] - 1) // 2 if np.ndim(X) == 2 else n_edges
    if n_edges > most:
        raise ValueError(
            f"n_edges must be at most {most}, as many as {np.shape(X)[1]} columns have pairs; got "
            f"{n_edges}."
        )

    def fitted(value):
        model = clone(estimator).set_params(**{parameter: float(value)}).fit(X)
        return model, int(np.sum(model.adjacency_)) // 2

    best, n_high = fitted(high)
    other, n_low = fitted(low)
    miss = abs(n_high - n_edges)
    if abs(n_low - n_edges) < miss:
        best, miss = other, abs(n_low - n_edges)
    grows = n_high >= n_low
    if not min(n_low, n_high) <= n_edges <= max(n_low, n_high):
        warnings.warn(
            f"No {parameter} from {low:.3g} to {high:.3g} is known to give {n_edges} edges: the "
            f"ends give {n_low} and {n_high}. Widen low and high.",
            UserWarning,
            stacklevel=3,
        )
    for _ in range(int(max_iter) - 2):
        if miss == 0:
            break
        middle = float(np.sqrt(low * high))
        model, count = fitted(middle)
        if abs(count - n_edges) < miss:
            best, miss = model, abs(count - n_edges)
        if (count < n_edges) == grows:
            low = middle
        else:
            high = middle
    return best


class SampleComplexity(NamedTuple):
    """Orders of the number of rows that suffice, without their unknown constants.

    Attributes
    ----------
    junction_tree : float
        With a junction tree (Theorem 9).
    plain : float
        Without (Theorem 26).
    """

    junction_tree: float
    plain: float


@checked
def sample_complexity(rho, eta, p1, p2, pT):
    """Return the order of the number of rows that the PC algorithm needs, with and without a tree.

    Parameters
    ----------
    rho : array-like of shape (4,)
        Smallest partial correlations: of screening ρ_0, of the edges of both parts ρ_1 and ρ_2, and
        of those over their separator ρ_T.
    eta : array-like of shape (2,)
        Size of the separator η_T, and of the largest set that separates two nodes η.
    p1, p2 : int
        Nodes of both parts, with the separator.
    pT : int
        Nodes of the separator and their neighbours.

    Returns
    -------
    SampleComplexity
        max(ρ_0⁻² η_T log p, ρ_1⁻² η log p_1, ρ_2⁻² η log p_2, ρ_T⁻² η log p_T), and
        ρ_min⁻² η log p. The constants are unknown: compare, do not plan with them.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Theorems 9 and 26.

    Examples
    --------
    A weak part of ten nodes in a thousand:

    >>> from octavo.graphical import sample_complexity
    >>> need = sample_complexity([0.2, 0.1, 0.2, 0.2], [1, 2], 10, 991, 5)
    >>> round(need.junction_tree), round(need.plain)
    (461, 1382)
    """
    rho, eta = np.asarray(rho, dtype=float), np.asarray(eta, dtype=float)
    if rho.shape != (4,) or not ((rho > 0) & (rho < 1)).all():
        raise ValueError(f"rho must be four numbers between 0 and 1, got {rho.tolist()}.")
    if eta.shape != (2,) or not 0 <= eta[0] <= eta[1] < np.inf:
        raise ValueError(f"eta must be two sizes in order, got {eta.tolist()}.")
    if min(p1, p2, pT) < 1 or not p1 + p2 - eta[0] >= 1:
        raise ValueError(f"p1, p2 and pT must be at least 1, got {p1}, {p2} and {pT}.")
    p = p1 + p2 - eta[0]  # nodes of both clusters, the separator once
    terms = rho**-2.0 * eta[[0, 1, 1, 1]] * np.log([p, p1, p2, pT])  # Eq. (7)
    # Remark 12: the same without a tree
    return SampleComplexity(float(terms.max()), float(rho.min() ** -2.0 * eta[1] * np.log(p)))
