"""Directed graphs without cycles: growing them edge by edge, levels, reductions and closures.

A graph is given by its number of vertices and two arrays, the tails and the heads of its edges.
`acyclic_subset` keeps a topological order while edges come one at a time: an edge that agrees with
the order costs nothing, another one is searched from both its ends until one of them is done.
Reductions and closures hold reachability as bits, a block of target vertices at a time, so that
memory stays O(vertices) and time is edges x vertices / 64 operations on words.

References: B. Haeupler, T. Kavitha, R. Mathew, S. Sen and R. E. Tarjan (2012), "Incremental cycle
detection, topological ordering, and strong component maintenance"; B. Berger and P. W. Shor (1990),
"Approximation algorithms for the maximum acyclic subgraph problem"; A. V. Aho, M. R. Garey and
J. D. Ullman (1972), "The transitive reduction of a directed graph".
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices

Bools = NDArray[np.bool_]
GAP = 1e-15  # per vertex, between labels, below which all are set anew; four roundings
SWEEPS = 5  # averages over neighbours before the first order
WORDS = 16  # of 64 target vertices each, in a block of reachability


def strong_components(n: int, tails: Indices, heads: Indices) -> Indices:
    """Return the strongly connected component of every vertex.

    Parameters
    ----------
    n : int
        Vertices.
    tails, heads : ndarray of shape (m,)
        Ends of the edges.

    Returns
    -------
    ndarray of shape (n,)
        Labels from 0; two vertices share one where each reaches the other.
    """
    graph = sp.csr_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(n, n))
    _, labels = sp.csgraph.connected_components(graph, directed=True, connection="strong")
    return labels.astype(np.int64)


@njit(cache=True, nogil=True)
def _find_path(
    u, v, label, begin_out, n_out, out, begin_in, n_in, into, seen, stamp, ahead, behind
):
    """Search from v onwards and from u backwards by turns, between their labels.

    Return 0 where a path from v to u was found; the number of vertices ahead of v where the search
    ended there; minus the number of those behind u where it ended there.
    """
    low, high = label[v], label[u]
    n_ahead, n_behind, done_ahead, done_behind = 1, 1, 0, 0
    ahead[0], behind[0] = v, u
    seen[v], seen[u] = stamp, stamp + 1
    while True:
        if done_ahead == n_ahead:
            return n_ahead
        node = ahead[done_ahead]
        done_ahead += 1
        for place in range(begin_out[node], begin_out[node] + n_out[node]):
            other = out[place]
            if seen[other] == stamp + 1:
                return 0
            # paths longer than to u in the order cannot end in u
            if seen[other] != stamp and label[other] < high:
                seen[other] = stamp
                ahead[n_ahead] = other
                n_ahead += 1
        if done_behind == n_behind:
            return -n_behind
        node = behind[done_behind]
        done_behind += 1
        for place in range(begin_in[node], begin_in[node] + n_in[node]):
            other = into[place]
            if seen[other] == stamp:
                return 0
            if seen[other] != stamp + 1 and label[other] > low:
                seen[other] = stamp + 1
                behind[n_behind] = other
                n_behind += 1


@njit(cache=True, nogil=True)
def _move(nodes, count, left, right, label, before, after):
    """Put the first nodes, in the order of their labels, between two neighbours of the list."""
    keys = np.empty(count)
    for k in range(count):
        keys[k] = label[nodes[k]]
    moved = np.empty(count, dtype=np.int32)
    order = np.argsort(keys)
    for k in range(count):
        moved[k] = nodes[order[k]]
        one, other = before[moved[k]], after[moved[k]]
        # labels evenly between two neighbours: nothing else need be renumbered
        after[one], before[other] = other, one
    gap = (label[right] - label[left]) / (count + 1)
    for k in range(count):
        node = moved[k]
        one = left if k == 0 else moved[k - 1]
        before[node], after[one] = one, node
        label[node] = label[left] + (k + 1) * gap
    after[moved[count - 1]], before[right] = right, moved[count - 1]
    if gap < GAP * label.shape[0]:
        node = after[label.shape[0] - 2]
        place = 0.0
        while node != label.shape[0] - 1:
            label[node] = place
            place += 1.0
            node = after[node]


@njit(cache=True, nogil=True)
def _grow(tails, heads, order, rank, begin_out, begin_in, kept):
    """Keep edges in the given order wherever they close no cycle.

    Vertices stand in a list in topological order, their labels increase along it. An edge against
    the order is searched from both ends by turns (Haeupler and others 2012): the side that ends
    first shows that there is no cycle, and is moved to the other side of the edge.
    """
    n, m = rank.shape[0], order.shape[0]
    out, into = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    n_out, n_in = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    seen = np.full(n, -1, dtype=np.int64)
    ahead, behind = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    # Two more entries are the ends of the list.
    label = np.empty(n + 2)
    before, after = np.empty(n + 2, dtype=np.int32), np.empty(n + 2, dtype=np.int32)
    at = np.empty(n + 2, dtype=np.int32)
    at[0], at[n + 1] = n, n + 1
    for u in range(n):
        at[rank[u] + 1] = u
    for place in range(n + 2):
        label[at[place]] = place - 1.0
    for place in range(n + 1):
        after[at[place]], before[at[place + 1]] = at[place + 1], at[place]
    for step in range(m):
        e = order[step]
        u, v = tails[e], heads[e]
        if u == v:
            continue
        if label[u] > label[v]:
            found = _find_path(
                u, v, label, begin_out, n_out, out, begin_in, n_in, into, seen, 2 * step, ahead,
                behind,
            )  # fmt: skip
            if found == 0:  # v reaches u already
                continue
            if found > 0:
                _move(ahead, found, u, after[u], label, before, after)
            else:
                _move(behind, -found, before[v], v, label, before, after)
        kept[e] = True
        out[begin_out[u] + n_out[u]] = v
        n_out[u] += 1
        into[begin_in[v] + n_in[v]] = u
        n_in[v] += 1


def _likely_order(n: int, tails: Indices, heads: Indices) -> NDArray[np.int32]:
    """Return ranks that most edges agree with: of scores one apart along edges, by averaging.

    What is kept does not depend on the order that is begun with; how often it must be mended does.
    """
    into, out = np.bincount(heads, minlength=n), np.bincount(tails, minlength=n)
    scores = np.zeros(n)
    for _ in range(SWEEPS):
        wanted = np.bincount(heads, scores[tails], n) + np.bincount(tails, scores[heads], n)
        # the score at which a vertex lies midway between what its edges ask for
        scores = (wanted + into - out + scores) / (into + out + 1)
    rank = np.empty(n, dtype=np.int32)
    rank[np.argsort(scores, kind="stable")] = np.arange(n, dtype=np.int32)
    return rank


def acyclic_subset(n: int, tails: Indices, heads: Indices, order: Indices) -> Bools:
    """Return a maximal set of edges without a cycle: each is kept unless it closes one.

    Parameters
    ----------
    n : int
        Vertices.
    tails, heads : ndarray of shape (m,)
        Ends of the edges.
    order : ndarray of shape (m,)
        The order in which edges are tried.

    Returns
    -------
    ndarray of bool of shape (m,)
        Which edges stay. Edges between strongly connected components always do.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.graphs.acyclic import acyclic_subset
    >>> acyclic_subset(3, np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([0, 1, 2])).tolist()
    [True, True, False]
    """
    tails, heads = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
    labels = strong_components(n, tails, heads)
    kept = np.asarray(labels[tails] != labels[heads])  # no cycle has an edge between components
    inner = np.asarray(order, dtype=np.int64)[~kept[order]]
    if inner.size:
        ends = tails[inner], heads[inner]
        begin_out, begin_in = (_by_end(n, end)[0][:-1] for end in ends)
        _grow(tails, heads, inner, _likely_order(n, *ends), begin_out, begin_in, kept)
    return kept


@njit(cache=True, nogil=True)
def _larger_sides(vertices, start_out, out, start_in, into, tails, heads, weights, gone, kept):
    """Keep the heavier of each vertex's edges out and in; none of the others are left after it."""
    for v in vertices:
        leaving, entering = 0.0, 0.0
        for place in range(start_out[v], start_out[v + 1]):
            if not gone[heads[out[place]]]:
                leaving += weights[out[place]]
        for place in range(start_in[v], start_in[v + 1]):
            if not gone[tails[into[place]]]:
                entering += weights[into[place]]
        # an edge is kept where its first end is looked at, so that half of the weight is
        if leaving >= entering:
            for place in range(start_out[v], start_out[v + 1]):
                if not gone[heads[out[place]]]:
                    kept[out[place]] = True
        else:
            for place in range(start_in[v], start_in[v + 1]):
                if not gone[tails[into[place]]]:
                    kept[into[place]] = True
        gone[v] = True


def _by_end(n: int, ends: Indices) -> tuple[Indices, Indices]:
    """Return where each vertex's edges start, and the edges sorted by that end."""
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=starts[1:])
    return starts, np.argsort(ends, kind="stable").astype(np.int64)


def larger_sides(
    n: int, tails: Indices, heads: Indices, weights: Floats, vertices: Indices
) -> Bools:
    """Return an acyclic set of edges with at least half of the weight (Berger and Shor).

    Vertices are taken away in turn; each keeps the heavier of its edges out and its edges in.

    Parameters
    ----------
    n : int
        Vertices.
    tails, heads : ndarray of shape (m,)
        Ends of the edges.
    weights : ndarray of shape (m,)
        Weights, not negative.
    vertices : ndarray of shape (n,)
        The order in which vertices are taken away.

    Returns
    -------
    ndarray of bool of shape (m,)
        Which edges stay. The set need not be maximal.
    """
    tails, heads = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
    kept, gone = np.zeros(len(tails), dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    start_out, out = _by_end(n, tails)
    start_in, into = _by_end(n, heads)
    _larger_sides(
        np.asarray(vertices, dtype=np.int64),
        start_out,
        out,
        start_in,
        into,
        tails,
        heads,
        np.asarray(weights, dtype=np.float64),
        gone,
        kept,
    )
    return kept


@njit(cache=True, nogil=True)
def _levels(n, start_out, out, heads, order, level):
    """Fill a topological order and the length of the longest path into each vertex; count them."""
    waiting = np.zeros(n, dtype=np.int64)
    for e in range(heads.shape[0]):
        waiting[heads[e]] += 1
    count = 0
    for v in range(n):
        if waiting[v] == 0:
            order[count] = v
            count += 1
    done = 0
    while done < count:
        u = order[done]
        done += 1
        for place in range(start_out[u], start_out[u + 1]):
            v = heads[out[place]]
            level[v] = max(level[v], level[u] + 1)
            waiting[v] -= 1
            if waiting[v] == 0:
                order[count] = v
                count += 1
    return count


def topological_levels(n: int, tails: Indices, heads: Indices) -> tuple[Indices, Indices]:
    """Return a topological order, and the length of the longest path that ends in each vertex.

    Parameters
    ----------
    n : int
        Vertices.
    tails, heads : ndarray of shape (m,)
        Ends of the edges.

    Returns
    -------
    order : ndarray
        The vertices, tails before heads. Fewer than n where the graph has a cycle.
    levels : ndarray of shape (n,)
        0 for vertices without an edge into them.
    """
    heads = np.asarray(heads, dtype=np.int64)
    start_out, out = _by_end(n, np.asarray(tails, dtype=np.int64))
    order, level = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    return order[: _levels(n, start_out, out, heads, order, level)], level


@njit(cache=True, nogil=True)
def _reach_block(order, start_out, out, heads, low, reach, detour, redundant):
    """Fill reachability of the targets from `low` on; mark edges that have a detour of two."""
    n, words = reach.shape
    reach[:] = np.uint64(0)
    high = low + 64 * words
    for place in range(n - 1, -1, -1):
        u = order[place]
        detour[:] = np.uint64(0)
        for slot in range(start_out[u], start_out[u + 1]):
            v = heads[out[slot]]
            for w in range(words):
                detour[w] |= reach[v, w]
        for slot in range(start_out[u], start_out[u + 1]):
            v = heads[out[slot]]
            if low <= v < high:
                word, bit = (v - low) >> 6, np.uint64(1) << np.uint64((v - low) & 63)
                if detour[word] & bit != np.uint64(0):  # reached through another edge as well
                    redundant[out[slot]] = True
                reach[u, word] |= bit
        for w in range(words):
            reach[u, w] |= detour[w]


def _blocks(n: int, tails: Indices, heads: Indices):
    """Yield (first target, reachability as bits, redundant edges so far), block by block."""
    tails, heads = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
    order, _ = topological_levels(n, tails, heads)
    if len(order) < n:
        raise ValueError(
            f"The graph has a cycle: {n - len(order)} of its {n} vertices cannot be ordered."
        )
    start_out, out = _by_end(n, tails)
    words = min(WORDS, -(-n // 64)) if n else 1
    reach, detour = np.zeros((n, words), dtype=np.uint64), np.zeros(words, dtype=np.uint64)
    redundant = np.zeros(len(tails), dtype=np.bool_)
    for low in range(0, n, 64 * words):
        _reach_block(order, start_out, out, heads, low, reach, detour, redundant)
        yield low, reach, redundant


def redundant_edges(n: int, tails: Indices, heads: Indices) -> Bools:
    """Return which edges of an acyclic graph follow from others by transitivity.

    Parameters
    ----------
    n : int
        Vertices.
    tails, heads : ndarray of shape (m,)
        Ends of the edges, each edge once.

    Returns
    -------
    ndarray of bool of shape (m,)
        The edges without these are the transitive reduction.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.graphs.acyclic import redundant_edges
    >>> redundant_edges(3, np.array([0, 1, 0]), np.array([1, 2, 2])).tolist()
    [False, False, True]
    """
    redundant = np.zeros(len(tails), dtype=np.bool_)
    for _, _, marked in _blocks(n, tails, heads):
        redundant = marked
    return redundant


def transitive_closure(n: int, tails: Indices, heads: Indices) -> tuple[Indices, Indices]:
    """Return all edges that follow from those of an acyclic graph by transitivity.

    Parameters
    ----------
    n : int
        Vertices.
    tails, heads : ndarray of shape (m,)
        Ends of the edges.

    Returns
    -------
    tails, heads : ndarray
        Ends of the edges of the closure, at most n (n - 1) / 2 of them, sorted.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    found = [np.zeros((0, 2), dtype=np.int64)]
    for low, reach, _ in _blocks(n, tails, heads):
        bits = np.unpackbits(reach.view(np.uint8), axis=1, bitorder="little")
        found.append(np.argwhere(bits) + np.array([0, low]))
    edges = np.concatenate(found)
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    return edges[:, 0], edges[:, 1]


def _warmup() -> None:
    tails, heads = np.array([0, 1, 2]), np.array([1, 2, 0])
    acyclic_subset(3, tails, heads, np.arange(3))
    larger_sides(3, tails, heads, np.ones(3), np.arange(3))
    redundant_edges(3, tails[:2], heads[:2])
