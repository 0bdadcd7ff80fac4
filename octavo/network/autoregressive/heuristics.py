"""Scores of links that need no fit: neighbours in common, walks, popularity."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.network.autoregressive.snapshots import dense, read_snapshot

__all__ = ["link_heuristics"]

KINDS = ("common_neighbours", "katz", "adamic_adar", "preferential_attachment")


@checked
def link_heuristics(A: Any, kind: str = "common_neighbours", beta: Any = None) -> Floats:
    """Return a score for every pair of nodes of one graph; that of a series is its sum.

    Parameters
    ----------
    A : matrix of shape (n, m), sparse matrix or networkx graph
        Rows link to columns.
    kind : {"common_neighbours", "katz", "adamic_adar", "preferential_attachment"}, \
default="common_neighbours"
        A², weights included; Σ βˡ Aˡ; common neighbours over the logarithm of their degrees; links
        of the row times links of the column. A graph that is not square has two kinds of nodes,
        which have no neighbour in common: the second and the last are for it.
    beta : float, default=None
        Discount of a step of ``"katz"``; half of what converges by default.

    Returns
    -------
    scores : ndarray of shape (n, m)
        The larger, the likelier the link; the diagonal by the same formula.

    Examples
    --------
    >>> from octavo.network import link_heuristics
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> link_heuristics(path, "common_neighbours")[0].tolist()
    [1.0, 0.0, 1.0]
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
    matrix = dense(read_snapshot(A, "A"))
    n, m = matrix.shape
    linked = (matrix != 0.0).astype(np.float64)
    if kind == "preferential_attachment":
        return np.outer(linked.sum(axis=1), linked.sum(axis=0))
    if kind == "katz":
        if n == m:
            return _katz(matrix, beta)
        both = sp.block_array([[None, sp.csr_array(matrix)], [sp.csr_array(matrix.T), None]])
        return _katz(both.toarray(), beta)[:n, n:]
    if n != m:
        raise ValueError(
            f"kind={kind!r} needs a square matrix; got shape {(n, m)}. Nodes of two kinds have no "
            "neighbour in common; use 'katz' or 'preferential_attachment'."
        )
    if kind == "common_neighbours":
        return matrix @ matrix
    degrees = np.maximum(linked, linked.T).sum(axis=1)
    # a node with one neighbour is common to no pair
    weights = np.where(degrees > 1.0, 1.0 / np.log(np.maximum(degrees, 2.0)), 0.0)
    return (linked * weights) @ linked


def _katz(A: Floats, beta: Any) -> Floats:
    """Return (I − βA)⁻¹ − I."""
    radius = float(np.abs(np.linalg.eigvals(A)).max())
    if beta is None:
        beta = 0.5 / radius if radius > 1e-150 else 0.5
    if not 0.0 < beta < np.inf:
        raise ValueError(f"beta must be a positive number; got {beta!r}.")
    if beta * radius >= 1.0:
        raise ValueError(
            f"beta must be below {1.0 / radius:.6g}, one over the largest absolute eigenvalue, or "
            f"the sum over walks diverges; got {beta:g}."
        )
    eye = np.eye(len(A))
    # (I − βA)⁻¹βA, without a difference of near numbers
    return np.linalg.solve(eye - beta * A, beta * A)
