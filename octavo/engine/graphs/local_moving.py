"""Clusters of a graph by local moving, refinement and aggregation, for any sum of cluster terms.

The quality of a clustering is Σ_c q(w_c, v_c, n_c): w_c the weight within cluster c (each link
twice, a loop once), v_c its volume and n_c its number of nodes. Nodes move to the neighbouring
cluster (or to one of their own) that gains most, from a queue of nodes whose surroundings have
changed; clusters become nodes and the search goes on with those. Since q sees nothing but (w, v,
n), aggregation is exact. With refinement (Leiden) a cluster may be taken apart again: nodes of the
next level are connected parts of clusters, not clusters.

Two families of terms are compiled, in one kernel each and for one type: the kind is a number, so
that a first call compiles once whatever the quality is. Any other term is a function of arrays
(w, v, n), called once for each node that is looked at; the moves are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

Indices = NDArray[Any]  # labels and places: int32 in the kernels, whatever comes from outside
QUADRATIC, ADAPTIVE = 0, 1
_ROUNDING = 1e-12  # a gain below this share of the terms that it is the difference of is none
_MAX_PASSES = 50
_LEAST_GAIN = 3e-5  # of a pass, as a share of the quality; another would gain less


class Term(NamedTuple):
    """A cluster term q(w, v, n) by family and three constants.

    QUADRATIC is first w - (second v)² - third n²; ADAPTIVE is w / d - (v / d)² with d = first +
    second v, and 0 where d is 0.
    """

    kind: int
    first: float
    second: float
    third: float


FreeTerm = Callable[[Floats, Floats, Floats], Floats]  # q(w, v, n) of arrays, not compiled


class FlatGraph(NamedTuple):
    """An undirected graph: links between different nodes as CSR, and what each node holds."""

    indptr: Indices
    indices: Indices
    weights: Floats
    loops: Floats
    volumes: Floats
    sizes: Floats


class Clustering(NamedTuple):
    """Labels of the nodes, their quality, and the labels after each level of each pass."""

    labels: Indices
    quality: float
    levels: list[Indices]


def flat_graph(matrix: sp.csr_array) -> FlatGraph:
    """Return the arrays of a symmetric sparse matrix; a diagonal entry is a loop.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Canonical, symmetric, not negative.

    Returns
    -------
    graph : FlatGraph
    """
    loops = np.asarray(matrix.diagonal(), dtype=np.float64)
    volumes = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    if loops.any():
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        off = rows != matrix.indices
        starts = np.concatenate([[0], np.cumsum(off)])[matrix.indptr]
        indices, weights = matrix.indices[off], matrix.data[off]
    else:
        starts, indices, weights = matrix.indptr, matrix.indices, matrix.data
    return FlatGraph(
        np.ascontiguousarray(starts, dtype=np.int64),
        np.ascontiguousarray(indices, dtype=np.int32),
        np.ascontiguousarray(weights, dtype=np.float64),
        loops,
        volumes,
        np.ones(matrix.shape[0]),
    )


@njit(cache=True, nogil=True)
def _term(kind, first, second, third, w, v, n):
    if kind == 0:
        return first * w - (second * v) * (second * v) - third * n * n
    d = first + second * v
    if d <= 0.0:
        return 0.0
    return w / d - (v / d) * (v / d)


@njit(cache=True, nogil=True)
def _add_up(indptr, indices, weights, loops, volumes, sizes, labels, w, v, size):
    """Add w, v and n of each cluster to three arrays of zeros."""
    for i in range(loops.shape[0]):
        c = labels[i]
        inside = loops[i]
        for k in range(indptr[i], indptr[i + 1]):
            if labels[indices[k]] == c:
                inside += weights[k]
        w[c] += inside
        v[c] += volumes[i]
        size[c] += sizes[i]


def cluster_sums(graph: FlatGraph, labels: Indices) -> tuple[Floats, Floats, Floats]:
    """Return w, v and n of each cluster, as many as there are nodes.

    Parameters
    ----------
    graph : FlatGraph
    labels : ndarray of shape (n,)
        Whole numbers from 0 to n - 1.

    Returns
    -------
    w, v, n : ndarray of shape (n,)
    """
    w, v, size = np.zeros((3, len(graph.loops)))
    _add_up(*graph, np.asarray(labels, dtype=np.int32), w, v, size)
    return w, v, size


# Kernels get their work space from outside: numpy's calls take most of the time to compile.


@njit(cache=True, nogil=True)
def _move(
    indptr, indices, weights, loops, volumes, sizes, labels, queue, kind, first, second, third,
    sums, toward, members, free, touched, waiting,
):  # fmt: skip
    """Move single nodes until none gains; return how many moves were made.

    Rows of `sums` are w, v, n and, to be filled in, q of a cluster: read together, stored together.
    """
    n = loops.shape[0]
    for i in range(n):
        members[labels[i]] += 1
    n_free = 0
    for c in range(n):
        if members[c] == 0:
            free[n_free] = c
            n_free += 1
        else:
            sums[c, 3] = _term(kind, first, second, third, sums[c, 0], sums[c, 1], sums[c, 2])
    head, count, moves = 0, n, 0
    while count > 0:
        i = queue[head]
        head = head + 1 if head + 1 < n else 0
        count -= 1
        waiting[i] = False
        old = labels[i]
        n_touched = 0
        for k in range(indptr[i], indptr[i + 1]):
            c = labels[indices[k]]
            if toward[c] == 0.0:
                touched[n_touched] = c
                n_touched += 1
            toward[c] += weights[k]
        loop, volume, size = loops[i], volumes[i], sizes[i]
        alone = members[old] == 1
        # its own links count twice in w, its loop once
        w_left = sums[old, 0] - 2.0 * toward[old] - loop
        v_left, n_left, q_old = sums[old, 1] - volume, sums[old, 2] - size, sums[old, 3]
        if alone:
            left = 0.0
        else:
            left = _term(kind, first, second, third, w_left, v_left, n_left)
        leaving = left - q_old
        best, target, best_q = 0.0, old, 0.0
        for t in range(n_touched):
            c = touched[t]
            if c != old:
                q = _term(
                    kind, first, second, third,
                    sums[c, 0] + 2.0 * toward[c] + loop, sums[c, 1] + volume, sums[c, 2] + size,
                )  # fmt: skip
                # q of the new cluster less q of the old one, plus what leaving brings
                gain = q - sums[c, 3] + leaving
                if gain > best and gain > _ROUNDING * (abs(q) + abs(sums[c, 3]) + abs(leaving)):
                    best, target, best_q = gain, c, q
        if not alone:
            q = _term(kind, first, second, third, loop, volume, size)
            gain = q + leaving
            if gain > best and gain > _ROUNDING * (abs(q) + abs(left) + abs(q_old)):
                best, target, best_q = gain, free[n_free - 1], q
        if target != old:
            moves += 1
            if members[target] == 0:
                n_free -= 1
            members[old] -= 1
            if alone:
                w_left = v_left = n_left = 0.0
                free[n_free] = old
                n_free += 1
            sums[old, 0], sums[old, 1], sums[old, 2], sums[old, 3] = w_left, v_left, n_left, left
            sums[target, 0] += 2.0 * toward[target] + loop
            sums[target, 1] += volume
            sums[target, 2] += size
            sums[target, 3] = best_q
            members[target] += 1
            labels[i] = target
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if labels[j] != target and not waiting[j]:
                    waiting[j] = True
                    place = head + count
                    queue[place if place < n else place - n] = j
                    count += 1
        for t in range(n_touched):
            toward[touched[t]] = 0.0
    return moves


@njit(cache=True, nogil=True)
def _refine(
    indptr, indices, weights, loops, volumes, sizes, labels, order, kind, first, second, third,
    sums, toward, parts, touched, single,
):  # fmt: skip
    """Fill in connected parts of clusters: single nodes join a part of theirs that gains most."""
    n = loops.shape[0]
    for i in range(n):
        sums[i, 3] = _term(kind, first, second, third, sums[i, 0], sums[i, 1], sums[i, 2])
    for o in range(n):
        i = order[o]
        if not single[i]:
            continue  # others have joined it: moving it could cut their part in two
        n_touched = 0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if labels[j] == labels[i]:
                p = parts[j]
                if toward[p] == 0.0:
                    touched[n_touched] = p
                    n_touched += 1
                toward[p] += weights[k]
        best, target, best_q, q_own = 0.0, i, 0.0, sums[i, 3]
        for t in range(n_touched):
            p = touched[t]
            q = _term(
                kind, first, second, third,
                sums[p, 0] + 2.0 * toward[p] + loops[i], sums[p, 1] + volumes[i],
                sums[p, 2] + sizes[i],
            )  # fmt: skip
            gain = q - sums[p, 3] - q_own
            if gain > best and gain > _ROUNDING * (abs(q) + abs(sums[p, 3]) + abs(q_own)):
                best, target, best_q = gain, p, q
        if target != i:
            sums[target, 0] += 2.0 * toward[target] + loops[i]
            sums[target, 1] += volumes[i]
            sums[target, 2] += sizes[i]
            sums[target, 3] = best_q
            parts[i] = target
            single[target] = False
        for t in range(n_touched):
            toward[touched[t]] = 0.0


@njit(cache=True, nogil=True)
def _renumber(labels, names):
    """Number labels 0, 1, ... as they come, in place; names is an array of -1."""
    count = 0
    for i in range(labels.shape[0]):
        if names[labels[i]] < 0:
            names[labels[i]] = count
            count += 1
        labels[i] = names[labels[i]]
    return count


@njit(cache=True, nogil=True)
def _gather(
    indptr, indices, weights, loops, volumes, sizes, labels, members, starts,
    new_ptr, new_indices, new_weights, new_loops, new_volumes, new_sizes, toward,
):  # fmt: skip
    """Fill in the graph of clusters, given where each begins; return the number of its links."""
    for i in range(loops.shape[0]):  # sort nodes by cluster; new_ptr counts those that are placed
        c = labels[i]
        members[starts[c] + new_ptr[c]] = i
        new_ptr[c] += 1
    filled = 0
    new_ptr[0] = 0
    for c in range(new_loops.shape[0]):
        begin = filled
        for m in range(starts[c], starts[c + 1]):
            i = members[m]
            new_loops[c] += loops[i]
            new_volumes[c] += volumes[i]
            new_sizes[c] += sizes[i]
            for k in range(indptr[i], indptr[i + 1]):
                d = labels[indices[k]]
                if d == c:
                    new_loops[c] += weights[k]
                else:
                    if toward[d] == 0.0:
                        new_indices[filled] = d
                        filled += 1
                    toward[d] += weights[k]
        for k in range(begin, filled):
            new_weights[k] = toward[new_indices[k]]
            toward[new_indices[k]] = 0.0
        new_ptr[c + 1] = filled
    return filled


def renumbered(labels: Indices) -> int:
    """Number int32 labels 0, 1, ... as they come, in place, and return how many there are.

    Parameters
    ----------
    labels : ndarray of shape (n,)

    Returns
    -------
    count : int
    """
    return int(_renumber(labels, np.full(len(labels), -1, dtype=np.int32)))


def aggregated(graph: FlatGraph, labels: Indices, count: int) -> FlatGraph:
    """Return the graph whose nodes are the clusters; a cluster's loop is all within it.

    Parameters
    ----------
    graph : FlatGraph
    labels : ndarray of shape (n,)
        Whole numbers from 0 to count - 1.
    count : int
        Number of clusters.

    Returns
    -------
    graph : FlatGraph
    """
    members = np.empty(len(labels), dtype=np.int32)
    starts = np.zeros(count + 1, dtype=np.int64)
    starts[1:] = np.cumsum(np.bincount(labels, minlength=count))
    indptr, indices = np.zeros(count + 1, dtype=np.int64), np.empty_like(graph.indices)
    weights, (loops, volumes, sizes, toward) = np.empty_like(graph.weights), np.zeros((4, count))
    filled = _gather(
        *graph, labels, members, starts, indptr, indices, weights, loops, volumes, sizes, toward
    )
    return FlatGraph(indptr, indices[:filled], weights[:filled], loops, volumes, sizes)


def _toward(graph: FlatGraph, i: int, groups: Indices) -> tuple[Indices, Floats]:
    """Return the groups that node i has links to, and the weights of these links."""
    begin, end = graph.indptr[i], graph.indptr[i + 1]
    linked, place = np.unique(groups[graph.indices[begin:end]], return_inverse=True)
    weights: Any = np.bincount(place, graph.weights[begin:end], minlength=len(linked))
    return linked, weights


def _best_of(gains: Floats, sizes: Floats) -> int:
    """Return the place of the largest gain above rounding, or -1."""
    allowed = np.where(gains > _ROUNDING * sizes, gains, -np.inf)
    return int(np.argmax(allowed)) if allowed.size and allowed.max() > 0.0 else -1


def _moved_freely(graph: FlatGraph, labels: Indices, order: Indices, term: FreeTerm) -> int:
    """Do as `_move` for a term that is not compiled."""
    sums = np.array(cluster_sums(graph, labels))  # w, v, n of each cluster
    members = np.bincount(labels, minlength=len(labels))
    q = np.zeros(len(labels))
    q[members > 0] = term(*sums[:, members > 0])
    free = np.flatnonzero(members == 0).tolist()
    queue, waiting, moves = deque(order.tolist()), np.ones(len(labels), dtype=bool), 0
    while queue:
        i = queue.popleft()
        waiting[i] = False
        old = labels[i]
        linked, toward = _toward(graph, i, labels)
        own = np.array([graph.loops[i], graph.volumes[i], graph.sizes[i]])
        within = toward[linked == old].sum()
        others, toward = linked[linked != old], toward[linked != old]
        alone = members[old] == 1
        rest = np.zeros(3) if alone else sums[:, old] - own - [2.0 * within, 0.0, 0.0]
        joined = sums[:, others] + own[:, None]
        joined[0] += 2.0 * toward
        values = term(*np.column_stack([joined, own, own if alone else rest]))
        left = 0.0 if alone else values[-1]
        before = np.append(q[others], 0.0)
        gains = values[:-1] - before + left - q[old]
        scale = np.abs(values[:-1]) + np.abs(before) + abs(left) + abs(q[old])
        if alone:
            gains[-1] = 0.0
        best = _best_of(gains, scale)
        if best < 0:
            continue
        moves += 1
        target = others[best] if best < len(others) else free.pop()
        sums[:, old], q[old] = rest, left
        sums[:, target] = joined[:, best] if best < len(others) else own
        q[target] = values[best]
        members[old] -= 1
        members[target] += 1
        labels[i] = target
        if alone:
            free.append(old)
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]].tolist():
            if labels[j] != target and not waiting[j]:
                waiting[j] = True
                queue.append(j)
    return moves


def _parts_freely(graph: FlatGraph, labels: Indices, order: Indices, term: FreeTerm) -> Indices:
    """Do as `_refine` for a term that is not compiled."""
    parts, single = np.arange(len(labels), dtype=np.int32), np.ones(len(labels), dtype=bool)
    sums = np.array([graph.loops, graph.volumes, graph.sizes])
    q = np.array(term(*sums), dtype=np.float64)
    for i in order.tolist():
        if not single[i]:
            continue
        linked, toward = _toward(graph, i, np.where(labels == labels[i], parts, -1))
        linked, toward = linked[linked >= 0], toward[linked >= 0]
        if not linked.size:
            continue
        joined = sums[:, linked] + sums[:, i : i + 1]
        joined[0] += 2.0 * toward
        values = term(*joined)
        gains = values - q[linked] - q[i]
        best = _best_of(gains, np.abs(values) + np.abs(q[linked]) + abs(q[i]))
        if best >= 0:
            target = linked[best]
            sums[:, target], q[target] = joined[:, best], values[best]
            parts[i], single[target] = target, False
    return parts


def _moved(graph: FlatGraph, labels: Indices, order: Indices, term: Term | FreeTerm) -> int:
    """Move nodes in place from labels, in that order at first; return the number of moves."""
    if not isinstance(term, Term):
        return _moved_freely(graph, labels, order, term)
    n = len(labels)
    wholes, waiting = np.zeros((3, n), dtype=np.int32), np.ones(n, dtype=np.bool_)
    sums = _in_rows(*cluster_sums(graph, labels))
    return int(_move(*graph, labels, order.copy(), *term, sums, np.zeros(n), *wholes, waiting))


def _in_rows(w: Floats, v: Floats, n: Floats) -> Floats:
    """Return w, v, n and a place for q of each cluster as one row."""
    return np.column_stack([w, v, n, np.zeros(len(n))])


def _parts(graph: FlatGraph, labels: Indices, order: Indices, term: Term | FreeTerm) -> Indices:
    """Return connected parts of clusters."""
    if not isinstance(term, Term):
        return _parts_freely(graph, labels, order, term)
    n = len(labels)
    parts = np.arange(n, dtype=np.int32)
    _refine(
        *graph, labels, order, *term, _in_rows(graph.loops, graph.volumes, graph.sizes),
        np.zeros(n), parts, np.zeros(n, dtype=np.int32), np.ones(n, dtype=np.bool_),
    )  # fmt: skip
    return parts


def quality_of(graph: FlatGraph, labels: Indices, term: Term | FreeTerm) -> float:
    """Return Σ_c q(w_c, v_c, n_c).

    Parameters
    ----------
    graph : FlatGraph
    labels : ndarray of shape (n,)
        Whole numbers from 0 to n - 1.
    term : Term or callable

    Returns
    -------
    quality : float
    """
    w, v, n = cluster_sums(graph, labels)
    used = n > 0
    return float(cluster_terms(term, w[used], v[used], n[used]).sum())


def _one_pass(
    graph: FlatGraph,
    labels: Indices,
    term: Term | FreeTerm,
    rng: np.random.Generator,
    refine: bool,
) -> tuple[Indices, list[Indices]]:
    """Move, refine and aggregate until nothing moves; return labels of nodes, and of each level."""
    n = len(labels)
    place = np.arange(n, dtype=np.int32)  # the node of the present level that holds each node
    levels: list[Indices] = []
    while True:
        order = rng.permutation(len(labels)).astype(np.int32)
        moves = _moved(graph, labels, order, term)
        count = renumbered(labels)
        if moves or not levels:
            levels.append(labels[place])
        if count == len(labels):
            return levels[-1], levels  # every cluster is one node: nothing more to aggregate
        parts, n_parts = labels, count
        if refine:
            parts = _parts(graph, labels, order, term)
            n_parts = renumbered(parts)
            if n_parts == len(labels):  # no part gains: go on with the clusters themselves
                parts, n_parts = labels, count
        graph = aggregated(graph, parts, n_parts)
        coarse = np.empty(n_parts, dtype=np.int32)
        coarse[parts] = labels
        place, labels = parts[place], coarse


@njit(cache=True, nogil=True)
def _walk(indptr, indices, labels, parts, stack):
    """Fill in the connected parts of clusters, numbered as they come; parts is an array of -1."""
    count = 0
    for first in range(labels.shape[0]):
        if parts[first] >= 0:
            continue
        parts[first] = count
        stack[0] = first
        height = 1
        while height > 0:
            height -= 1
            i = stack[height]
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if parts[j] < 0 and labels[j] == labels[i]:
                    parts[j] = count
                    stack[height] = j
                    height += 1
        count += 1
    return count


def _split_apart(graph: FlatGraph, labels: Indices, term: Term | FreeTerm) -> Indices:
    """Return labels in which clusters of several components are split where that loses nothing."""
    n = len(labels)
    parts = np.full(n, -1, dtype=np.int32)
    count = _walk(graph.indptr, graph.indices, labels, parts, np.empty(n, dtype=np.int32))
    k = labels.max() + 1
    if count == np.count_nonzero(np.bincount(labels)):
        return labels
    owner = np.empty(count, dtype=np.intp)
    owner[parts] = labels
    w, v, size = (sums[:count] for sums in cluster_sums(graph, parts))
    terms = cluster_terms(term, w, v, size)
    joined = [np.bincount(owner, x, minlength=k).astype(np.float64) for x in (w, v, size)]
    whole = cluster_terms(term, *joined)
    # ties are split: a cluster should hang together
    apart = np.bincount(owner, terms, minlength=k) >= whole
    split = np.where(apart[owner], k + np.arange(count), owner)  # new numbers for the parts
    return np.unique(split[parts], return_inverse=True)[1].astype(np.int32)


def cluster_terms(term: Term | FreeTerm, w: Floats, v: Floats, n: Floats) -> Floats:
    """Return q(w, v, n), number by number.

    Parameters
    ----------
    term : Term or callable
    w, v, n : ndarray
        Weights within, volumes and numbers of nodes.

    Returns
    -------
    terms : ndarray
    """
    if not isinstance(term, Term):
        return term(w, v, n)
    if term.kind == QUADRATIC:
        return term.first * w - np.square(term.second * v) - term.third * np.square(n)
    d = np.asarray(term.first + term.second * v, dtype=np.float64)
    positive = np.where(d > 0, d, 1.0)
    return np.where(d > 0, w / positive - np.square(v / positive), 0.0)


def move_locally(
    graph: FlatGraph,
    term: Term | FreeTerm,
    *,
    refine: bool = True,
    start: Indices | None = None,
    rng: np.random.Generator,
    on_pass: Callable[[Indices], Any] | None = None,
) -> Clustering:
    """Return a clustering that no move of a node or of a cluster improves.

    Parameters
    ----------
    graph : FlatGraph
        What is clustered.
    term : Term or callable
        The cluster term of the quality that is made large; a function is called with arrays w, v
        and n and returns as many terms.
    refine : bool, default=True
        Whether clusters are taken apart between levels, and passes repeated until none gains
        (Leiden); else one pass of levels is made (Louvain).
    start : ndarray of shape (n,), optional
        Labels from 0 to n - 1 to start from; each node alone by default.
    rng : numpy Generator
        For the order of nodes.
    on_pass : callable, optional
        Called with the labels after each pass; a true answer ends the search.

    Returns
    -------
    clustering : Clustering
    """
    n = len(graph.loops)
    labels = np.arange(n) if start is None else start
    labels = np.array(labels, dtype=np.int32)
    if n == 0:
        return Clustering(labels, 0.0, [labels])
    quality = -np.inf
    levels: list[Indices] = []
    for _ in range(_MAX_PASSES if refine else 1):
        found, steps = _one_pass(graph, labels.copy(), term, rng, refine)
        if refine:
            found = _split_apart(graph, found, term)
        reached = quality_of(graph, found, term)
        if levels and not reached - quality > _ROUNDING * abs(quality):
            break
        is_last = bool(levels) and reached - quality <= _LEAST_GAIN * abs(quality)
        labels, quality = found, reached
        levels += [*steps[:-1], found]
        if (on_pass is not None and on_pass(found)) or is_last:
            break
    return Clustering(labels, quality, levels)


def _warmup() -> None:
    graph = flat_graph(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])))
    move_locally(graph, Term(ADAPTIVE, 0.0, 2.0, 0.0), rng=np.random.default_rng(0))
