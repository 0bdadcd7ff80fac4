"""How well networks and their special nodes are recovered: the metrics of Table 1.

Reference: Mohan, London, Fazel, Witten and Lee (2014), "Node-based learning of multiple Gaussian
graphical models", JMLR 15:445-488, section 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_array

from octavo.data.graphical.node_networks import NodePerturbedNetworks, make_node_perturbed_networks
from octavo.engine.estimators.checked import checked
from octavo.engine.glasso.penalties import pair_indices, without_diagonals
from octavo.engine.proximal.groups import column_norms

__all__ = [
    "NodeNetworkMetrics",
    "NodePerturbedNetworks",
    "detect_nodes",
    "make_node_perturbed_networks",
    "network_column_norms",
    "node_network_metrics",
]


class NodeNetworkMetrics(NamedTuple):
    """Table 1: edges and nodes found, those of them that are true, and the error of estimation."""

    positive_edges: int
    true_positive_edges: int
    positive_nodes: int
    true_positive_nodes: int
    error: float


@checked
def network_column_norms(precisions, of="differences"):
    """Return how much each node differs between networks, or how much of a hub it is.

    What an estimate by edges offers in place of node scores: the l2 norms of columns without
    their diagonals.

    Parameters
    ----------
    precisions : array-like of shape (n_networks, n_features, n_features)
        The networks.
    of : {"differences", "networks"}, default="differences"
        Columns of the differences of each pair k < l, or of the networks.

    Returns
    -------
    ndarray of shape (n_pairs, n_features) or (n_networks, n_features)
        The norms.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import network_column_norms
    >>> network = np.array([[[2.0, 3.0], [3.0, 5.0]], [[2.0, -1.0], [-1.0, 5.0]]])
    >>> network_column_norms(network)
    array([[4., 4.]])
    """
    A = check_array(np.asarray(precisions), dtype=np.float64, allow_nd=True, ensure_2d=False)
    if A.ndim != 3:
        raise ValueError(f"precisions must have three dimensions, got shape {A.shape}.")
    if of not in ("differences", "networks"):
        raise ValueError(f"of must be 'differences' or 'networks', got {of!r}.")
    if of == "differences":
        first, second = pair_indices(len(A))
        A = A[first] - A[second]
    return column_norms(without_diagonals(A), 2)


@checked
def detect_nodes(norms, n_deviations=5.5, how="any"):
    """Return the nodes whose columns stand out: above mean + 5.5 standard deviations.

    Parameters
    ----------
    norms : array-like of shape (n_columns_sets, n_features)
        Column norms, one row for each pair of networks or for each network.
    n_deviations : float, default=5.5
        How many standard deviations above the mean of its row a norm must be.
    how : {"any", "all"}, default="any"
        Whether a node must stand out in any row (perturbed nodes) or in all (co-hubs).

    Returns
    -------
    ndarray of int
        The nodes, sorted.

    Notes
    -----
    One of p norms exceeds their mean by sqrt(p − 1) standard deviations at most, so that with the
    paper's 5.5 nothing is ever found among 31 variables or fewer, and two equal columns only
    among 63 or more. Rank the scores instead where there are few variables.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import detect_nodes
    >>> detect_nodes(np.eye(1, 100, 7)).tolist()
    [7]
    """
    norms = check_array(norms, dtype=np.float64)
    if how not in ("any", "all"):
        raise ValueError(f"how must be 'any' or 'all', got {how!r}.")
    # Section 6.2 and Table 1: nodes that stand out
    threshold = norms.mean(axis=1) + n_deviations * norms.std(axis=1)
    above = norms > threshold[:, None]
    return np.flatnonzero(above.any(axis=0) if how == "any" else above.all(axis=0))


@checked
def node_network_metrics(
    precisions, true_precisions, *, found_nodes=(), true_nodes=(), edge_threshold=1e-6
):
    """Compare estimated networks with the true ones, as in Table 1.

    Parameters
    ----------
    precisions : array-like of shape (n_networks, n_features, n_features)
        The estimates.
    true_precisions : array-like of shape (n_networks, n_features, n_features)
        The truth.
    found_nodes : array-like of int, default=()
        Nodes that were detected, as by `detect_nodes`.
    true_nodes : array-like of int, default=()
        Perturbed or co-hub nodes of the truth.
    edge_threshold : float, default=1e-6
        Magnitude above which an entry is an edge.

    Returns
    -------
    NodeNetworkMetrics
        Positive and true positive edges over all networks; positive and true positive nodes (PPC
        and TPPC, or PCC and TPCC); and the sum over networks of the Frobenius norms of the errors
        above the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import node_network_metrics
    >>> truth = np.array([[[2.0, 0.5], [0.5, 2.0]], [[2.0, 0.0], [0.0, 2.0]]])
    >>> metrics = node_network_metrics(truth + 0.1, truth)
    >>> metrics.positive_edges, metrics.true_positive_edges, round(metrics.error, 6)
    (2, 1, 0.2)
    """
    estimate, truth = np.asarray(precisions, float), np.asarray(true_precisions, float)
    if estimate.shape != truth.shape or truth.ndim != 3:
        raise ValueError(
            f"precisions and true_precisions must have one shape (n_networks, n_features, "
            f"n_features), got {estimate.shape} and {truth.shape}."
        )
    upper = np.triu_indices(truth.shape[-1], 1)
    estimate, truth = estimate[:, upper[0], upper[1]], truth[:, upper[0], upper[1]]
    positive = np.abs(estimate) > edge_threshold
    true = np.abs(truth) > edge_threshold
    # Table 1: Frobenius error above the diagonal
    error = np.sqrt(((estimate - truth) ** 2).sum(axis=1)).sum()
    found = set(np.asarray(found_nodes, dtype=int).tolist())
    return NodeNetworkMetrics(
        int(positive.sum()),
        int((positive & true).sum()),
        len(found),
        len(found & set(np.asarray(true_nodes, dtype=int).tolist())),
        float(error),
    )
