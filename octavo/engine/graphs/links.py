"""Graphs of every kind a user may hold, brought into one checked sparse matrix.

networkx and igraph graphs, square matrices (dense or sparse), lists of links and data frames all
become a `LinkMatrix`: a CSR matrix of float64 in canonical form with the names of its nodes.
Methods on graphs read nothing else. Links that are given several times add up, as in scipy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.estimators.sparse_rows import canonical_csr

__all__ = ["LinkMatrix", "read_links", "refuse_asymmetric"]

Nodes = list[Any]
WEIGHT_COLUMNS = ("weight", "sign")


@dataclass(frozen=True)
class LinkMatrix:
    """A graph as a sparse matrix.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
        `matrix[u, v]` is the weight of the link from u to v; symmetric where the graph is
        undirected. No stored zeros, columns in order.
    nodes : list
        What the caller calls the nodes, row by row.
    """

    matrix: sp.csr_array
    nodes: Nodes

    def positions(self, nodes: Any) -> NDArray[np.intp]:
        """Return the rows of nodes that are called by their names.

        Parameters
        ----------
        nodes : iterable
            Names as in `nodes`.

        Returns
        -------
        positions : ndarray of int
        """
        rows = {node: row for row, node in enumerate(self.nodes)}
        try:
            return np.array([rows[node] for node in nodes], dtype=np.intp)
        except KeyError as unknown:
            raise ValueError(f"The graph has no node {unknown.args[0]!r}.") from None


def read_links(
    graph: Any,
    *,
    directed: bool = False,
    weight: str = "weight",
    n_nodes: int | None = None,
    self_loops: str = "keep",
    nonnegative: bool = False,
) -> LinkMatrix:
    """Return a graph as one checked sparse matrix.

    Parameters
    ----------
    graph : networkx graph, igraph.Graph, square matrix, list of links or pandas.DataFrame
        A matrix may be dense or sparse. Links are tuples (u, v) or (u, v, weight), or an array
        with two or three columns that is not square. Nodes that are all integers are numbers of
        rows; others are names, numbered as they come. A frame has columns `source` and `target`
        (else its first two are taken) and perhaps `weight` or `sign`, or is a square matrix whose
        index equals its columns.
    directed : bool, default=False
        Whether the link from u to v may differ from that from v to u. An undirected graph that is
        given as a matrix must be symmetric; links of a list count in both directions.
    weight : str, default="weight"
        The attribute of networkx and igraph links that holds their weight; 1 where it is absent.
    n_nodes : int, default=None
        Number of nodes of a list of links, where the last ones have none.
    self_loops : {"keep", "drop", "raise"}, default="keep"
        What becomes of a link from a node to itself. A kept loop is one diagonal entry of the
        weight given.
    nonnegative : bool, default=False
        Whether negative weights are refused.

    Returns
    -------
    links : LinkMatrix
    """
    matrix, nodes, linked = _as_matrix(graph, weight, n_nodes)
    _refuse_bad_weights(matrix, nodes, nonnegative)
    loops = matrix.diagonal()
    if self_loops != "keep" and loops.any():
        if self_loops == "raise":
            node = nodes[int(np.flatnonzero(loops)[0])]
            raise ValueError(f"The graph must have no link from a node to itself; {node!r} has.")
        matrix = sp.csr_array(matrix - sp.diags_array(loops))
    if not directed:
        if linked:
            matrix = _mirrored(matrix)
        else:
            refuse_asymmetric(matrix, nodes)
    matrix = canonical_csr(sp.csr_array(matrix), narrow=True)
    if matrix.data.size and not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return LinkMatrix(matrix, nodes)


def refuse_asymmetric(matrix: Any, nodes: Nodes | None = None) -> None:
    """Raise unless a sparse matrix equals its transpose; name the first pair that differs.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
    nodes : list, default=None
        What the nodes are called; row numbers by default.
    """
    matrix = sp.csr_array(matrix)
    back = matrix.T.tocsr()
    arrays = ("indptr", "indices", "data")
    if all(np.array_equal(getattr(matrix, name), getattr(back, name)) for name in arrays):
        return
    difference = sp.coo_array(matrix - back)
    scale = np.abs(matrix.data).max(initial=0.0)
    apart = np.flatnonzero(np.abs(difference.data) > 1e-12 * scale)
    if apart.size:
        u, v = int(difference.row[apart[0]]), int(difference.col[apart[0]])
        there, back = matrix[u, v], matrix[v, u]
        names = (nodes[u], nodes[v]) if nodes is not None else (u, v)
        raise ValueError(
            f"The graph must be undirected: its matrix symmetric; from {names[0]!r} to "
            f"{names[1]!r} it has {there:g}, back {back:g}."
        )


def _as_matrix(graph: Any, weight: str, n_nodes: int | None) -> tuple[sp.csr_array, Nodes, bool]:
    """Return the matrix, the nodes, and whether each link is stored in one direction only."""
    kind = f"{type(graph).__module__}.{type(graph).__name__}"
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return _from_networkx(graph, weight)
    if kind.startswith("igraph") and hasattr(graph, "get_edgelist"):
        return _from_igraph(graph, weight)
    if sp.issparse(graph):
        return _from_square(canonical_csr(sp.csr_array(graph)))
    if hasattr(graph, "columns") and hasattr(graph, "index"):
        return _from_frame(graph, n_nodes)
    if isinstance(graph, (list, tuple)) and all(isinstance(link, tuple) for link in graph):
        return _from_tuples(list(graph), n_nodes)
    table = np.asarray(graph)
    if table.ndim == 2 and table.shape[0] == table.shape[1]:
        return _from_square(sp.csr_array(_as_numbers(table)))
    if table.ndim == 2 and table.shape[1] in (2, 3):
        weights = table[:, 2] if table.shape[1] == 3 else np.ones(len(table))
        return _from_ends(table[:, 0], table[:, 1], weights, n_nodes)
    raise ValueError(
        "A graph is a networkx or igraph graph, a square matrix, a list of links (u, v) or "
        f"(u, v, weight), or a data frame of links; got {type(graph).__name__}"
        + (f" of shape {table.shape}." if table.ndim else ".")
    )


def _as_numbers(values: Any) -> NDArray[np.float64]:
    values = np.asarray(values)
    try:
        if values.dtype.kind in "cUSmM":
            raise TypeError
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("The weights of a graph's links must be real numbers.") from None


def _from_square(matrix: sp.csr_array) -> tuple[sp.csr_array, Nodes, bool]:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"The matrix of a graph must be square; got shape {matrix.shape}.")
    matrix.data = _as_numbers(matrix.data)
    return matrix, list(range(matrix.shape[0])), False


def _from_links(rows: Any, columns: Any, weights: Any, n: int) -> sp.csr_array:
    links = (_as_numbers(weights), (np.asarray(rows, np.int64), np.asarray(columns, np.int64)))
    return sp.coo_array(links, shape=(n, n)).tocsr()


def _mirrored(matrix: Any) -> sp.csr_array:
    """Return the symmetric matrix of links that are stored once; a loop stays one entry."""
    return sp.csr_array(matrix + matrix.T - sp.diags_array(matrix.diagonal()))


def _from_networkx(graph: Any, weight: str) -> tuple[sp.csr_array, Nodes, bool]:
    nodes = list(graph.nodes)
    row = {node: place for place, node in enumerate(nodes)}
    links = [(row[u], row[v], value) for u, v, value in graph.edges(data=weight, default=1.0)]
    u, v, values = zip(*links, strict=True) if links else ((), (), ())
    matrix = _from_links(u, v, values, len(nodes))
    return matrix if graph.is_directed() else _mirrored(matrix), nodes, False


def _from_igraph(graph: Any, weight: str) -> tuple[sp.csr_array, Nodes, bool]:
    n = graph.vcount()
    links = np.asarray(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weighted = weight in graph.es.attributes()
    values = graph.es[weight] if weighted else np.ones(len(links))
    nodes = list(graph.vs["name"]) if "name" in graph.vs.attributes() else list(range(n))
    matrix = _from_links(links[:, 0], links[:, 1], values, n)
    return matrix if graph.is_directed() else _mirrored(matrix), nodes, False


def _from_frame(frame: Any, n_nodes: int | None) -> tuple[sp.csr_array, Nodes, bool]:
    columns = list(frame.columns)
    if frame.shape[0] == frame.shape[1] and list(frame.index) == columns:
        matrix, _, linked = _from_square(sp.csr_array(_as_numbers(frame.to_numpy())))
        return matrix, columns, linked
    if "source" in columns and "target" in columns:
        ends = ["source", "target"]
    elif len(columns) >= 2:
        ends = columns[:2]
    else:
        raise ValueError(f"A frame of links needs two columns of nodes; it has {columns}.")
    named = [name for name in WEIGHT_COLUMNS if name in columns]
    if not named and len(columns) == 3 and "source" not in columns:
        named = columns[2:]
    weights = frame[named[0]].to_numpy() if named else np.ones(len(frame))
    return _from_ends(frame[ends[0]].to_numpy(), frame[ends[1]].to_numpy(), weights, n_nodes)


def _from_tuples(links: list[Any], n_nodes: int | None) -> tuple[sp.csr_array, Nodes, bool]:
    odd = next((link for link in links if len(link) not in (2, 3)), None)
    if odd is not None:
        raise ValueError(f"A link is a tuple (u, v) or (u, v, weight); got {odd!r}.")
    starts, ends = np.empty((2, len(links)), dtype=object)
    starts[:], ends[:] = [link[0] for link in links], [link[1] for link in links]
    weights = [link[2] if len(link) == 3 else 1.0 for link in links]
    return _from_ends(starts, ends, weights, n_nodes)


def _from_ends(
    starts: NDArray[Any], ends: NDArray[Any], weights: Any, n_nodes: int | None
) -> tuple[sp.csr_array, Nodes, bool]:
    """Return the matrix of links in columns; whole numbers are rows, all else are names."""
    both = np.concatenate([starts, ends])
    if both.dtype.kind in "iu" or all(map(_is_whole, both.tolist())):
        rows = both.astype(np.int64)
        if rows.size and rows.min() < 0:
            raise ValueError(f"Numbers of nodes must be at least 0; got {rows.min()}.")
        n_linked = int(rows.max(initial=-1)) + 1
        nodes: Nodes = list(range(n_linked if n_nodes is None else max(n_linked, n_nodes)))
    else:
        places: dict[Any, int] = {}
        rows = np.array([places.setdefault(end, len(places)) for end in both.tolist()])
        nodes = list(places)
    if n_nodes is not None and n_nodes != len(nodes):
        raise ValueError(f"n_nodes={n_nodes}, but the links join {len(nodes)} nodes.")
    half = len(starts)
    return _from_links(rows[:half], rows[half:], weights, len(nodes)), nodes, True


def _is_whole(end: Any) -> bool:
    return (isinstance(end, int) and not isinstance(end, bool)) or (
        isinstance(end, (float, np.integer, np.floating)) and float(end).is_integer()
    )


def _refuse_bad_weights(matrix: Any, nodes: Nodes, nonnegative: bool) -> None:
    bad = ~np.isfinite(matrix.data)
    what = "a finite weight"
    if nonnegative and not bad.any():
        bad, what = matrix.data < 0, "a weight of at least 0"
    if bad.any():
        links = matrix.tocoo()
        place = int(np.flatnonzero(bad)[0])
        u, v = nodes[int(links.row[place])], nodes[int(links.col[place])]
        raise ValueError(
            f"Every link must have {what}; that from {u!r} to {v!r} has {links.data[place]:g}."
        )
