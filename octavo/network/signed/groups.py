"""How well groups explain the signs, and how unequal groups make completion hard."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.network.signed.signs import undirected_signs

__all__ = ["correlation_clustering_cost", "group_imbalance", "incoherence", "recovery_scale"]


@checked
def correlation_clustering_cost(A: Any, labels: Any) -> int:
    """Return how many links contradict groups: negative ones within, positive ones between.

    Parameters
    ----------
    A : graph
        A signed network.
    labels : array-like of shape (n_nodes,)
        The group of each node.

    Returns
    -------
    cost : int
        How many links, each pair once.

    Examples
    --------
    >>> from octavo.network import correlation_clustering_cost
    >>> correlation_clustering_cost([(0, 1, 1), (1, 2, 1), (0, 2, -1)], [0, 0, 0])
    1
    """
    matrix = undirected_signs(A)[0].matrix
    labels = np.asarray(labels)
    if labels.shape != (matrix.shape[0],):
        raise ValueError(
            f"labels must have an entry for each of the {matrix.shape[0]} nodes; got shape "
            f"{labels.shape}."
        )
    links = matrix.tocoo()
    together = labels[links.row] == labels[links.col]
    return int(np.sum(together == (links.data < 0))) // 2


@checked
def group_imbalance(labels: Any) -> float:
    """Return τ, nodes over the size of the smallest group (Definition 16).

    Parameters
    ----------
    labels : array-like of shape (n_nodes,)
        The group of each node.

    Returns
    -------
    tau : float
        At least the number of groups, which it is where all have one size.

    Examples
    --------
    >>> from octavo.network import group_imbalance
    >>> group_imbalance([0, 0, 0, 1])
    4.0
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or not labels.size:
        raise ValueError(f"labels must be a sequence, a group for each node; got {labels.shape}.")
    return float(labels.size / np.unique(labels, return_counts=True)[1].min())  # Definition 16


@checked
def incoherence(labels: Any) -> float:
    """Return ν of a complete weakly balanced network: n times the largest squared entry of U.

    Parameters
    ----------
    labels : array-like of shape (n_nodes,)
        The group of each node.

    Returns
    -------
    nu : float
        At most `group_imbalance` (Theorem 17).

    Examples
    --------
    >>> from octavo.network import incoherence
    >>> round(incoherence([0, 0, 0, 1, 1, 2]), 3)
    3.532
    """
    labels = np.asarray(labels)
    tau = group_imbalance(labels)
    if tau == 1.0:
        return 1.0
    sizes = np.unique(labels, return_counts=True)[1].astype(np.float64)
    # eigenvectors are constant on groups, Eq. (11): those of a small matrix over the groups
    root = np.sqrt(sizes)
    signs = 2.0 * np.eye(sizes.size) - 1.0
    values, vectors = np.linalg.eigh(signs * np.outer(root, root))
    used: Floats = vectors[:, np.abs(values) > 1e-9 * np.abs(values).max()]
    # ν of Eq. (10), with U constant on groups
    return float(labels.size * ((used / root[:, None]) ** 2).max())


@checked
def recovery_scale(labels: Any) -> float:
    """Return τ⁴ n log² n, the order of the links that suffice for recovery (Theorem 18).

    Parameters
    ----------
    labels : array-like of shape (n_nodes,)
        The group of each node.

    Returns
    -------
    scale : float
        To be multiplied by a constant that the theorem leaves open; useful for comparing group
        sizes, not as a number of links.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.network import recovery_scale
    >>> equal, unequal = np.repeat([0, 1], 50), np.repeat([0, 1], [90, 10])
    >>> round(recovery_scale(unequal) / recovery_scale(equal))
    625
    """
    labels = np.asarray(labels)
    n = labels.size
    return group_imbalance(labels) ** 4 * n * np.log(max(n, 2)) ** 2
