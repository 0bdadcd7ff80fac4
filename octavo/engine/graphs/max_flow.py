"""Maximum flow and minimum cut of a graph with two terminals, behind one adapter.

Nodes are numbers; terminals are not among them. A `FlowGraph` has, for every node, a capacity from
the source and one to the sink, and pairs of opposite arcs between nodes; capacities are doubles of
at least 0, and infinity is one. `minimum_cut` solves it by PyMaxflow (the extra ``cuts``), by a
compiled kernel of the same algorithm, or, for whole numbers, by scipy.

A graph may have many minimum cuts. All backends return the one with the *largest source side*: the
nodes that cannot reach the sink through residual arcs, which are the same for every maximum flow.
Capacities whose sums are exact (whole numbers) thus give one cut whatever the backend; otherwise
backends may part where two cuts tie within rounding.

Y. Boykov and V. Kolmogorov (2004). An Experimental Comparison of Min-Cut/Max-Flow Algorithms for
Energy Minimization in Vision. IEEE Transactions on Pattern Analysis and Machine Intelligence 26.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints

__all__ = [
    "BACKENDS",
    "FlowGraph",
    "MinimumCut",
    "arc_lists",
    "augment",
    "cut_value",
    "flow_graph",
    "minimum_cut",
]

BACKENDS = ("auto", "pymaxflow", "numba", "scipy")
_NONE, _TERMINAL, _ORPHAN = -1, -2, -3
_FAR = np.int64(1) << 60


class FlowGraph(NamedTuple):
    """A graph between a source and a sink.

    ``source`` and ``sink`` hold a capacity from and to the terminals for every node; arc number e
    leads from ``tails[e]`` to ``heads[e]`` with ``capacities[e]`` and back with ``reverse[e]``.
    """

    source: Floats
    sink: Floats
    tails: Ints
    heads: Ints
    capacities: Floats
    reverse: Floats


class MinimumCut(NamedTuple):
    """The value of a minimum cut (the maximum flow), and which nodes are on the source's side."""

    value: float
    source_side: NDArray[np.bool_]


def flow_graph(
    source: Any, sink: Any, tails: Any, heads: Any, capacities: Any, reverse: Any = None
) -> FlowGraph:
    """Return a checked graph in the types that the backends read.

    Parameters
    ----------
    source, sink : array-like of shape (n_nodes,)
        Capacities from the source to each node and from each node to the sink.
    tails, heads : array-like of int of shape (n_arcs,)
        Ends of the arcs between nodes.
    capacities : array-like of shape (n_arcs,)
        Capacities from tails to heads.
    reverse : array-like of shape (n_arcs,), default=None
        Capacities from heads to tails; 0 by default.

    Returns
    -------
    graph : FlowGraph
    """
    caps = np.asarray(capacities, dtype=np.float64)
    back = np.zeros_like(caps) if reverse is None else np.asarray(reverse, dtype=np.float64)
    graph = FlowGraph(
        np.asarray(source, dtype=np.float64),
        np.asarray(sink, dtype=np.float64),
        np.asarray(tails, dtype=np.int32),
        np.asarray(heads, dtype=np.int32),
        caps,
        back,
    )
    if graph.source.shape != graph.sink.shape or graph.source.ndim != 1:
        raise ValueError("source and sink must hold one capacity for each node.")
    if len({part.shape for part in graph[2:]}) != 1 or graph.tails.ndim != 1:
        raise ValueError("tails, heads, capacities and reverse must have one entry for each arc.")
    n = len(graph.source)
    for ends in (graph.tails, graph.heads):
        if ends.size and (ends.min() < 0 or ends.max() >= n):
            raise ValueError(f"Arcs must join nodes 0 to {n - 1}.")
    for name, part in (("source", source), ("sink", sink), ("arc", caps), ("reverse", back)):
        if not (np.asarray(part) >= 0).all():  # NaN fails too
            raise ValueError(f"Every {name} capacity must be at least 0.")
    return graph


def cut_value(graph: FlowGraph, source_side: Any) -> float:
    """Return the capacity of the cut in which the given nodes are on the source's side.

    Parameters
    ----------
    graph : FlowGraph
        The graph.
    source_side : array-like of bool of shape (n_nodes,)
        Which nodes.

    Returns
    -------
    value : float
    """
    side = np.asarray(source_side, dtype=bool)
    tail, head = side[graph.tails], side[graph.heads]
    return float(
        graph.source[~side].sum()
        + graph.sink[side].sum()
        + graph.capacities[tail & ~head].sum()
        + graph.reverse[head & ~tail].sum()
    )


@functools.cache
def _maxflow() -> Any:
    """Return PyMaxflow, or None where it is not installed or too old to hold doubles."""
    try:
        import maxflow
    except ImportError:
        return None
    return maxflow if hasattr(maxflow.GraphFloat, "add_edges") else None


def minimum_cut(graph: FlowGraph, *, backend: str = "auto") -> MinimumCut:
    """Return the minimum cut with the largest source side.

    Parameters
    ----------
    graph : FlowGraph
        From `flow_graph`, or made of arrays of its types.
    backend : {"auto", "pymaxflow", "numba", "scipy"}, default="auto"
        PyMaxflow where it is installed, else the compiled kernel; "scipy" takes whole numbers
        whose sum is below 2^31, and is slow.

    Returns
    -------
    cut : MinimumCut
        The value is infinite where only arcs of infinite capacity could be cut.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    if backend == "auto":
        backend = "numba" if _maxflow() is None else "pymaxflow"
    if not len(graph.source):
        return MinimumCut(0.0, np.zeros(0, dtype=bool))
    if backend == "pymaxflow":
        return _by_pymaxflow(graph)
    if backend == "scipy":
        return _by_scipy(graph)
    return _by_search_trees(graph)


def _by_pymaxflow(graph: FlowGraph) -> MinimumCut:
    maxflow = _maxflow()
    if maxflow is None:
        raise ImportError(
            "backend='pymaxflow' needs PyMaxflow 1.3 or later: install octavo[cuts], or take "
            "backend='numba'."
        )
    n = len(graph.source)
    solver = maxflow.GraphFloat(n, len(graph.tails))
    nodes = solver.add_grid_nodes(n)
    # PyMaxflow subtracts: infinity is any number that no finite cut reaches
    caps = (graph.source, graph.sink, graph.capacities, graph.reverse)
    total = float(sum(part[np.isfinite(part)].sum() for part in caps))
    large = 2.0 * total + (total == 0.0)  # no finite cut reaches twice the sum of what is finite
    source, sink, there, back = (np.where(np.isinf(part), large, part) for part in caps)
    solver.add_grid_tedges(nodes, source, sink)
    if len(graph.tails):
        solver.add_edges(graph.tails, graph.heads, there, back)
    value = float(solver.maxflow())
    value = np.inf if value >= large else value
    # what is not the sink's is the largest source side
    return MinimumCut(value, ~np.asarray(solver.get_grid_segments(nodes), dtype=bool))


def _by_search_trees(graph: FlowGraph) -> MinimumCut:
    n = len(graph.source)
    through = float(np.minimum(graph.source, graph.sink).sum())
    if through == np.inf:
        return MinimumCut(np.inf, np.ones(n, dtype=bool))
    start, head, sister, place = arc_lists(n, graph.tails, graph.heads)
    residual = np.empty(2 * len(graph.tails))
    residual[place], residual[sister[place]] = graph.capacities, graph.reverse
    # what flows straight through a node, min(source, sink), has been taken out
    more, side = augment(start, head, sister, residual, graph.source - graph.sink, 0.0)
    return MinimumCut(through + float(more), side)


def _by_scipy(graph: FlowGraph) -> MinimumCut:
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n = len(graph.source)
    finite = [part[np.isfinite(part)] for part in (*graph[:2], *graph[4:])]
    total = float(sum(part.sum() for part in finite))
    if total + 1 >= 2**31 or any((part != np.rint(part)).any() for part in finite):
        raise ValueError("backend='scipy' takes whole capacities with a sum below 2^31.")
    nodes = np.arange(n)
    rows = np.concatenate([graph.tails, graph.heads, np.full(n, n), nodes])
    columns = np.concatenate([graph.heads, graph.tails, nodes, np.full(n, n + 1)])
    caps = np.concatenate([graph.capacities, graph.reverse, graph.source, graph.sink])
    whole = np.where(np.isinf(caps), total + 1, caps).astype(np.int32)
    matrix = sp.coo_array((whole, (rows, columns)), shape=(n + 2, n + 2)).tocsr()
    matrix.sum_duplicates()
    found = maximum_flow(sp.csr_matrix(matrix), n, n + 1)
    residual = sp.csr_array(matrix - found.flow)
    residual.data[residual.data < 0] = 0
    residual.eliminate_zeros()
    # who still reaches the sink is on its side
    reaching = breadth_first_order(residual.T.tocsr(), n + 1, return_predecessors=False)
    side = np.ones(n + 2, dtype=bool)
    side[reaching] = False
    value = float(found.flow_value)
    return MinimumCut(np.inf if value > total else value, side[:n])


@njit(cache=True)
def arc_lists(n, tails, heads):
    """Return arcs by tail: where each node's begin, their heads, their opposites, their places.

    Parameters
    ----------
    n : int
        Number of nodes.
    tails, heads : ndarray of int32 of shape (m,)
        Ends of the entries of a graph, each of which is two opposite arcs.

    Returns
    -------
    start : ndarray of int of shape (n + 1,)
        Arcs of node i are numbers start[i] to start[i + 1] - 1.
    head, sister : ndarray of int32 of shape (2m,)
        Where an arc leads, and the number of its opposite.
    place : ndarray of int32 of shape (m,)
        The arc from tail to head of each entry.
    """
    m = tails.shape[0]
    start = np.zeros(n + 1, dtype=np.int64)
    for e in range(m):
        start[tails[e] + 1] += 1
        start[heads[e] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    free = start[:n].copy()
    head = np.empty(2 * m, dtype=np.int32)
    sister = np.empty(2 * m, dtype=np.int32)
    place = np.empty(m, dtype=np.int32)
    for e in range(m):
        a, b = free[tails[e]], free[heads[e]]
        if tails[e] == heads[e]:
            b += 1
        free[tails[e]] += 1
        free[heads[e]] += 1
        head[a], head[b] = heads[e], tails[e]
        sister[a], sister[b] = b, a
        place[e] = a
    return start, head, sister, place


def augment(
    start: Ints, head: Ints, sister: Ints, res: Floats, rest: Floats, tiny: float
) -> tuple[float, NDArray[np.bool_]]:
    """Return the flow that can be added, and the largest source side, by two growing search trees.

    Trees grow from both terminals until they touch; the path is filled, which cuts parts of the
    trees off (orphans), and these look for new parents. Time stamps and distances are those of
    Kolmogorov's marking heuristics, which keep paths short.

    Parameters
    ----------
    start, head, sister : ndarray of int
        From `arc_lists`.
    res : ndarray of shape (2m,)
        Residual capacities of the arcs, changed in place.
    rest : ndarray of shape (n,)
        What is left from the source (above 0) or to the sink (below 0), changed in place.
    tiny : float
        Capacities up to it count as none: what rounding leaves of a capacity that is used up. With
        0 every bit counts.

    Returns
    -------
    flow : float
        Infinite where a path of infinite capacity is left.
    side : ndarray of bool of shape (n,)
        Who cannot reach the sink.
    """
    n = rest.shape[0]
    # of each node side by side, for the cache: an arc towards the terminal or a mark, the node that
    # it leads to, a time stamp and a distance
    tree = np.zeros((n, 4), dtype=np.int32)
    tree[:, 0] = _NONE
    in_sink = np.zeros(n, dtype=np.bool_)
    following = np.full(n, -1, dtype=np.int32)  # queue of active nodes; the last follows itself
    orphans = np.empty(n + 1, dtype=np.int32)  # a ring: filled at both ends
    flow = _augment(start, head, sister, res, rest, tiny, tree, in_sink, following, orphans)
    if flow == np.inf:
        return flow, np.ones(n, dtype=bool)
    return flow, ~(in_sink & (tree[:, 0] != _NONE))


@njit(cache=True)
def _augment(start, head, sister, res, rest, tiny, tree, in_sink, following, orphans):
    """Do `augment`; return the flow. Arrays made by who calls a kernel are not compiled."""
    n = rest.shape[0]
    flow = 0.0
    first, last = -1, -1
    for i in range(n):
        if abs(rest[i]) > tiny:
            tree[i, 0], in_sink[i], tree[i, 3] = _TERMINAL, rest[i] < 0.0, 1
            if last < 0:
                first = i
            else:
                following[last] = i
            following[i], last = i, i

    now = 0
    current = -1
    while True:
        i = current
        if i >= 0 and tree[i, 0] == _NONE:
            i = -1
        while i < 0 and first >= 0:  # the next active node that is still in a tree
            i = first
            if following[i] == i:
                first = last = -1
            else:
                first = following[i]
            following[i] = -1
            if tree[i, 0] == _NONE:
                i = -1
        if i < 0:
            break

        # A tree takes neighbours along arcs with room left, towards the sink or from the source.
        # growth
        middle = -1
        mine = in_sink[i]
        for a in range(start[i], start[i + 1]):
            if (res[sister[a]] if mine else res[a]) <= tiny:
                continue
            j = head[a]
            if tree[j, 0] == _NONE:
                in_sink[j], tree[j, 0], tree[j, 1] = mine, sister[a], i
                tree[j, 2], tree[j, 3] = tree[i, 2], tree[i, 3] + 1
                if following[j] < 0:
                    if last < 0:
                        first = j
                    else:
                        following[last] = j
                    following[j], last = j, j
            elif in_sink[j] != mine:
                middle = sister[a] if mine else a
                break
            elif tree[j, 2] <= tree[i, 2] and tree[j, 3] > tree[i, 3]:
                tree[j, 0], tree[j, 1] = sister[a], i
                tree[j, 2], tree[j, 3] = tree[i, 2], tree[i, 3] + 1
        now += 1
        if middle < 0:
            current = -1
            continue
        current = i

        # augmentation: the bottleneck, then the flow
        least = res[middle]
        root = head[sister[middle]]
        while tree[root, 0] != _TERMINAL:
            least = min(least, res[sister[tree[root, 0]]])
            root = tree[root, 1]
        least = min(least, rest[root])
        root = head[middle]
        while tree[root, 0] != _TERMINAL:
            least = min(least, res[tree[root, 0]])
            root = tree[root, 1]
        least = min(least, -rest[root])
        if least == np.inf:
            return np.inf
        flow += least
        left, count = 0, 0
        res[middle] -= least
        res[sister[middle]] += least
        for towards_sink in range(2):
            root = head[middle] if towards_sink else head[sister[middle]]
            while tree[root, 0] != _TERMINAL:
                a = tree[root, 0]
                down = a if towards_sink else sister[a]
                res[down] -= least
                res[sister[down]] += least
                above = tree[root, 1]
                if res[down] <= tiny:
                    tree[root, 0] = _ORPHAN
                    left = left - 1 if left > 0 else n
                    orphans[left] = root
                    count += 1
                root = above
            rest[root] += least if towards_sink else -least
            if abs(rest[root]) <= tiny:
                tree[root, 0] = _ORPHAN
                left = left - 1 if left > 0 else n
                orphans[left] = root
                count += 1

        # adoption
        while count > 0:
            i = orphans[left]
            left = left + 1 if left < n else 0
            count -= 1
            mine = in_sink[i]
            # The new parent is the nearest to its terminal, of those whose own path still ends
            # there.
            best, nearest = _NONE, _FAR
            for a0 in range(start[i], start[i + 1]):
                if (res[a0] if mine else res[sister[a0]]) <= tiny:
                    continue
                j = head[a0]
                if in_sink[j] != mine or tree[j, 0] == _NONE:
                    continue
                d = np.int64(0)
                while True:  # does its root end in the terminal?
                    if tree[j, 2] == now:
                        d += tree[j, 3]
                        break
                    a = tree[j, 0]
                    d += 1
                    if a == _TERMINAL:
                        tree[j, 2], tree[j, 3] = now, 1
                        break
                    if a == _ORPHAN:
                        d = _FAR
                        break
                    j = tree[j, 1]
                if d < _FAR:
                    if d < nearest:
                        best, nearest = a0, d
                    j = head[a0]
                    while tree[j, 2] != now:
                        tree[j, 2], tree[j, 3] = now, d
                        d -= 1
                        j = tree[j, 1]
            tree[i, 0] = best
            if best != _NONE:
                tree[i, 1], tree[i, 2], tree[i, 3] = head[best], now, nearest + 1
                continue
            for a0 in range(start[i], start[i + 1]):
                j = head[a0]
                if in_sink[j] != mine or tree[j, 0] == _NONE:
                    continue
                if (res[a0] if mine else res[sister[a0]]) > tiny and following[j] < 0:
                    if last < 0:
                        first = j
                    else:
                        following[last] = j
                    following[j], last = j, j
                a = tree[j, 0]
                if a >= 0 and tree[j, 1] == i:
                    tree[j, 0] = _ORPHAN
                    orphans[(left + count) % (n + 1)] = j
                    count += 1
    return flow


def _warmup() -> None:
    minimum_cut(flow_graph([2.0, 0.0], [0.0, 1.0], [0], [1], [1.0]), backend="numba")
