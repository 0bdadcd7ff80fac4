"""Series of graphs on the same nodes as lists of matrices, and the pairs that are asked about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Indices
from octavo.engine.estimators.doubles import check_squares, real_array
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.graphs.links import read_links
from octavo.engine.kernels.namespaces import namespace_of

Snapshot = Any


def read_snapshot(graph: Any, name: str = "A snapshot") -> Snapshot:
    """Return a graph as a matrix of float64: CSR where it is sparse, else dense.

    Parameters
    ----------
    graph : matrix of shape (n, m), sparse matrix, DataFrame or networkx graph
    name : str
        What messages call it.

    Returns
    -------
    matrix : csr_array or ndarray of shape (n, m)
    """
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        graph = read_links(graph, directed=True).matrix
    if sp.issparse(graph):
        if graph.dtype.kind not in "biuf":
            raise ValueError(f"{name} must hold real numbers; got {graph.dtype}.")
        matrix: Any = canonical_csr(sp.csr_array(graph.astype(np.float64)), narrow=True)
        values = matrix.data
    else:
        matrix = real_array(graph, name, finite=False)
        values = matrix
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"{name} must be a matrix with a row and a column at least; got shape {matrix.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must hold finite numbers; it has NaN or infinity.")
    check_squares(values, name)
    return matrix


def read_snapshots(snapshots: Any, nonneg: bool = False) -> list[Snapshot]:
    """Return a series of graphs on the same nodes as matrices of one shape.

    Parameters
    ----------
    snapshots : array of shape (T, n, m), or list of matrices or networkx graphs
        Dense or sparse; networkx graphs must have the same nodes, and take the first one's order.
    nonneg : bool, default=False
        Whether negative weights are refused.

    Returns
    -------
    matrices : list of csr_array or ndarray, each of shape (n, m)
    """
    if sp.issparse(snapshots) or hasattr(snapshots, "edges"):
        raise ValueError("snapshots must be a list of graphs, oldest first; got a single one.")
    if not isinstance(snapshots, np.ndarray | Sequence) or isinstance(snapshots, str | bytes):
        try:
            snapshots = list(snapshots)
        except TypeError:
            raise ValueError(
                f"snapshots must be a list of graphs, oldest first; got {type(snapshots).__name__}."
            ) from None
    if isinstance(snapshots, np.ndarray) and snapshots.dtype != object and snapshots.ndim != 3:
        raise ValueError(
            f"An array of snapshots has shape (T, n, m); got shape {snapshots.shape}. A single "
            "graph is no series."
        )
    if not len(snapshots):
        raise ValueError("snapshots must hold at least one graph; got none.")
    if all(hasattr(graph, "nodes") and hasattr(graph, "edges") for graph in snapshots):
        snapshots = _in_one_order(list(snapshots))
    matrices = [read_snapshot(graph, f"Snapshot {t}") for t, graph in enumerate(snapshots)]
    for t, matrix in enumerate(matrices):
        if matrix.shape != matrices[0].shape:
            raise ValueError(
                "All snapshots must have the same shape, nodes by nodes; the first has "
                f"{matrices[0].shape}, snapshot {t} has {matrix.shape}."
            )
        least = matrix.data.min(initial=0.0) if sp.issparse(matrix) else matrix.min()
        if nonneg and least < 0.0:
            raise ValueError(
                f"Weights must not be negative with nonneg=True; snapshot {t} has {least:g}. "
                "Clip them, or set nonneg=False."
            )
    return matrices


def _in_one_order(graphs: list[Any]) -> list[Any]:
    """Return the matrices of networkx graphs with rows in the order of the first one's nodes."""
    nodes = list(graphs[0].nodes)
    matrices = []
    for t, graph in enumerate(graphs):
        links = read_links(graph, directed=True)
        if set(links.nodes) != set(nodes):
            raise ValueError(
                f"All graphs must have the same nodes; those of snapshot {t} differ from the "
                "first one's. Add nodes that have no link yet."
            )
        rows = links.positions(nodes)
        matrices.append(links.matrix[rows][:, rows])
    return matrices


def cumulative(matrices: list[Snapshot]) -> Snapshot:
    """Return the sum of all snapshots, CSR where all are."""
    total = matrices[0]
    for matrix in matrices[1:]:
        total = total + matrix
    return sp.csr_array(total) if sp.issparse(total) else np.asarray(total)


def dense(matrix: Any) -> np.ndarray:
    """Return a matrix as an array."""
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def is_on_device(graph: Any) -> bool:
    """Whether a matrix is an array of another namespace than NumPy's, under dispatch."""
    if not (hasattr(graph, "dtype") and hasattr(graph, "shape")) or sp.issparse(graph):
        return False
    return not namespace_of(graph).is_numpy


def read_matrix(graph: Any, name: str) -> Any:
    """Return a graph as a dense matrix of floats, where it lies.

    Parameters
    ----------
    graph : as for `read_snapshot`, or a floating array of any namespace under dispatch
    name : str
        What messages call it.

    Returns
    -------
    matrix : array of shape (n, m)
    """
    if not is_on_device(graph):
        return dense(read_snapshot(graph, name))
    xp = namespace_of(graph).xp
    if not xp.isdtype(graph.dtype, "real floating"):
        raise ValueError(f"{name} must hold real floating numbers; got {graph.dtype}.")
    if graph.ndim != 2 or 0 in graph.shape:
        raise ValueError(
            f"{name} must be a matrix with a row and a column at least; got shape "
            f"{tuple(graph.shape)}."
        )
    if not bool(xp.all(xp.isfinite(graph))):
        raise ValueError(f"{name} must hold finite numbers; it has NaN or infinity.")
    return graph


def check_cells(pairs: Any, shape: tuple[int, int]) -> Indices:
    """Return pairs of a row and a column as whole numbers, or say what is wrong with them.

    Parameters
    ----------
    pairs : array-like of shape (m, 2)
    shape : tuple of int
        Of the matrix they point into.

    Returns
    -------
    pairs : ndarray of int
    """
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"pairs must have two columns, a row and a column; got shape {array.shape}."
        )
    if array.dtype.kind not in "iuf" or (
        array.dtype.kind == "f" and not (array == np.rint(array)).all()
    ):
        raise ValueError("pairs must be whole numbers: a row and a column of the snapshots.")
    for side, n in enumerate(shape):
        outside = array[:, side][(array[:, side] < 0) | (array[:, side] >= n)]
        if outside.size:
            raise ValueError(
                f"pairs name {('row', 'column')[side]} {outside[0]:g}; the snapshots have 0 to "
                f"{n - 1}."
            )
    return array.astype(np.intp)
