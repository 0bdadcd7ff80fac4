"""Signed networks as matrices of 1 and -1, and the pairs that are asked about."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Indices
from octavo.engine.graphs.links import read_links


class SignedLinks(NamedTuple):
    """A signed network: its matrix (CSR of 1 and -1, no diagonal) and the names of its nodes."""

    matrix: sp.csr_array
    nodes: list[Any]


def read_signs(graph: Any) -> SignedLinks:
    """Return the links of a signed network as they are given, with their directions.

    Parameters
    ----------
    graph : networkx graph, igraph.Graph, square matrix, list of links or DataFrame
        Links are 1 or -1; of networkx and igraph, the attribute `sign` (else `weight`) is read.
        Links from a node to itself and stored zeros are dropped.

    Returns
    -------
    links : SignedLinks
    """
    columns = list(getattr(graph, "columns", ()))
    if "sign" in columns and "weight" in columns and hasattr(graph, "drop"):
        graph = graph.drop(columns="weight")  # a frame that has both: the sign is what is asked
    links = read_links(graph, directed=True, weight=_attribute(graph), self_loops="drop")
    matrix = links.matrix
    odd = np.flatnonzero(np.abs(matrix.data) != 1.0)
    if odd.size:
        entry = matrix.tocoo()
        u, v = links.nodes[int(entry.row[odd[0]])], links.nodes[int(entry.col[odd[0]])]
        raise ValueError(
            f"Links of a signed network are 1 or -1 (0 is unknown); that from {u!r} to {v!r} is "
            f"{matrix.data[odd[0]]:g}. Give numpy.sign of weights to keep their signs alone."
        )
    if not matrix.nnz:
        raise ValueError("A signed network needs at least one link that is 1 or -1.")
    return SignedLinks(matrix, links.nodes)


def undirected_signs(graph: Any) -> tuple[SignedLinks, int]:
    """Return sign(A + Aᵀ) and the number of pairs whose two directions disagree and are dropped.

    Parameters
    ----------
    graph : graph
        As for `read_signs`.

    Returns
    -------
    links : SignedLinks
        Symmetric.
    n_conflicts : int
    """
    links = read_signs(graph)
    A = links.matrix
    both = sp.csr_array(A + A.T)
    n_pairs = sp.csr_array(abs(A) + abs(A).T).nnz
    both.eliminate_zeros()
    n_conflicts = (n_pairs - both.nnz) // 2
    both.data = np.sign(both.data)
    if not both.nnz:
        raise ValueError("Every link of this network disagrees with the one in return.")
    return SignedLinks(both, links.nodes), n_conflicts


def check_pairs(pairs: Any, n_nodes: int) -> Indices:
    """Return pairs of nodes as whole numbers of shape (m, 2), or say what is wrong with them.

    Parameters
    ----------
    pairs : array-like of shape (m, 2)
        Rows of the matrix.
    n_nodes : int

    Returns
    -------
    pairs : ndarray of int
    """
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"pairs must have two columns, a node each; got shape {array.shape}.")
    if array.dtype.kind not in "iuf" or (
        array.dtype.kind == "f" and (array != np.rint(array)).any()
    ):
        raise ValueError("pairs must be whole numbers: rows of the network's matrix.")
    if array.size and not (array.min() >= 0 and array.max() < n_nodes):
        outside = array[(array < 0) | (array >= n_nodes)][0]
        raise ValueError(f"pairs name node {outside:g}; the network has 0 to {n_nodes - 1}.")
    array = array.astype(np.intp)
    same = np.flatnonzero(array[:, 0] == array[:, 1])
    if same.size:
        raise ValueError(
            f"A pair is of two different nodes; pair {same[0]} is {array[same[0], 0]} twice."
        )
    return array


def _attribute(graph: Any) -> str:
    """Return which attribute of links holds their sign."""
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):
        signs = list(graph.edges(data="sign"))
        unnamed = [(u, v) for u, v, value in signs if value is None]
        if unnamed and len(unnamed) < len(signs):
            u, v = unnamed[0]
            raise ValueError(
                f"Either all links have the attribute 'sign' or none has; that from {u!r} to {v!r} "
                "has none."
            )
        return "weight" if unnamed else "sign"
    if hasattr(graph, "es") and "sign" in graph.es.attributes():
        return "sign"
    return "weight"
