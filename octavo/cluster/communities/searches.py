"""Searches for the clustering of the best quality: every partition, or greedy merging.

`exhaustive_search` is exact: dynamic programming over subsets for any sum of cluster terms, and an
integer program with lazy triangle inequalities for larger graphs where the term is quadratic.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from octavo.cluster.communities.qualities import terms_of
from octavo.engine.discrete.set_partitions import LARGEST, best_partition, subset_indicators
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.graphs.local_moving import QUADRATIC, FlatGraph, Term

LARGEST_PROGRAM = 60
_CUTS = 4000


def subset_sums(E: Floats) -> tuple[Floats, Floats, Floats]:
    """Return w, v and n of every subset of the nodes of small graphs.

    Parameters
    ----------
    E : ndarray of shape (..., n, n)
        Dense matrices.

    Returns
    -------
    w, v : ndarray of shape (..., 2^n)
    n : ndarray of shape (2^n,)
    """
    members = subset_indicators(E.shape[-1])
    # each link twice, a loop once (Section 2)
    w = np.einsum("si,...is->...s", members, E @ members.T)
    v = E.sum(axis=-1) @ members.T
    return w, v, members.sum(axis=1)


def exhaustive_search(matrix: sp.csr_array, quality: Any) -> Indices:
    """Return the labels of a best clustering.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        The graph.
    quality : quality function
        With `cluster_term`; beyond 16 nodes one of octavo whose term is quadratic.

    Returns
    -------
    labels : ndarray of shape (n,)
    """
    n, total = matrix.shape[0], float(matrix.sum())
    if n <= LARGEST:
        w, v, size = subset_sums(matrix.toarray())
        terms = np.zeros(len(w))  # the empty set has none
        terms[1:] = terms_of(quality, total)(w[1:], v[1:], size[1:])
        return best_partition(terms)[0]
    term = quality.compiled_term(total) if hasattr(quality, "compiled_term") else None
    if term is None or term.kind != QUADRATIC or n > LARGEST_PROGRAM:
        most = LARGEST_PROGRAM if term is not None and term.kind == QUADRATIC else LARGEST
        raise ValueError(
            f"optimizer='exact' takes graphs of at most {most} nodes for this quality; this one "
            f"has {n}. Take optimizer='leiden'."
        )
    return _by_integer_program(matrix.toarray(), term)


def _by_integer_program(E: Floats, term: Term) -> Indices:
    """Return the best clustering of a quadratic term: clique partitioning with lazy triangles."""
    n = len(E)
    v = E.sum(axis=1)
    # of a pair in one cluster, where q = first w − (second v)² − third n²
    gain = term.first * E - np.outer(term.second * v, term.second * v) - term.third
    i, j = np.triu_indices(n, 1)
    place = np.zeros((n, n), dtype=np.intp)
    place[i, j] = place[j, i] = np.arange(len(i))
    cost = -gain[i, j] / max(np.abs(gain).max(), 1e-300)
    rows = sp.csr_array((0, len(i)))
    integral = 0
    while True:
        found = milp(
            cost,
            integrality=np.full(len(i), integral),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(rows, -np.inf, 1.0) if rows.shape[0] else None,
        )
        together = np.eye(n)
        together[i, j] = together[j, i] = found.x
        # x_ij + x_jk - x_ik <= 1: what is with j is together.
        excess = together[:, :, None] + together[None, :, :] - together[:, None, :]
        a, m, c = np.nonzero(excess > 1.0 + 1e-6)
        once = a < c
        a, m, c = a[once], m[once], c[once]
        if len(a) == 0:
            if integral or np.abs(found.x - np.rint(found.x)).max() < 1e-6:
                links = sp.csr_array(np.rint(together))
                return sp.csgraph.connected_components(links, directed=False)[1].astype(np.intp)
            integral = 1
            continue
        if len(a) > _CUTS:
            worst = np.argsort(-excess[a, m, c], kind="stable")[:_CUTS]
            a, m, c = a[worst], m[worst], c[worst]
        columns = np.concatenate([place[a, m], place[m, c], place[a, c]])
        signs = np.repeat([1.0, 1.0, -1.0], len(a))
        cuts = sp.csr_array((signs, (np.tile(np.arange(len(a)), 3), columns)), (len(a), len(i)))
        rows = sp.vstack([rows, cuts], format="csr")


def greedy_search(graph: FlatGraph, quality: Any, total: float) -> list[Indices]:
    """Merge the two linked clusters that gain most until none gain; return labels of each level.

    Parameters
    ----------
    graph : FlatGraph
        The graph.
    quality : quality function
        With `cluster_term`.
    total : float
        The volume of the graph.

    Returns
    -------
    levels : list of ndarray
        Labels when half, a quarter, ... of the clusters are left, and at the end.
    """
    term = terms_of(quality, total)
    n = len(graph.loops)
    w, v, size = graph.loops.copy(), graph.volumes.copy(), graph.sizes.copy()
    q = term(w, v, size)
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    links = [
        dict(zip(graph.indices[a:b].tolist(), graph.weights[a:b].tolist()))
        for a, b in zip(graph.indptr[:-1], graph.indptr[1:])
    ]
    u, t = rows, graph.indices
    # both directions of the links between them join w
    gains = term(w[u] + w[t] + 2.0 * graph.weights, v[u] + v[t], size[u] + size[t]) - q[u] - q[t]
    heap = [(-g, a, b, 0, 0) for g, a, b in zip(gains.tolist(), u.tolist(), t.tolist()) if a < b]
    heapq.heapify(heap)
    version, owner = [0] * n, np.arange(n)
    levels, left, shown = [], n, n // 2
    while heap:
        loss, a, b, at_a, at_b = heapq.heappop(heap)
        if at_a != version[a] or at_b != version[b]:
            continue
        if -loss <= 1e-12 * (abs(q[a]) + abs(q[b])):
            break
        if len(links[a]) < len(links[b]):
            a, b = b, a
        w[a] += w[b] + 2.0 * links[a].pop(b)  # w_c of the union
        v[a] += v[b]
        size[a] += size[b]
        owner[b] = a
        version[a] += 1
        version[b] = -1
        links[b].pop(a)
        for other, weight in links[b].items():
            links[other].pop(b)
            links[a][other] = links[a].get(other, 0.0) + weight
            links[other][a] = links[a][other]
        links[b] = {}
        q[a] = term(w[a : a + 1], v[a : a + 1], size[a : a + 1])[0]
        others = list(links[a])
        if others:
            o = np.array(others)
            joint = np.array(list(links[a].values()))
            new = term(w[a] + w[o] + 2.0 * joint, v[a] + v[o], size[a] + size[o]) - q[a] - q[o]
            for other, gain in zip(others, new.tolist()):
                heapq.heappush(heap, (-gain, a, other, version[a], version[other]))
        left -= 1
        if left == shown:
            levels.append(_roots(owner))
            shown //= 2
    levels.append(_roots(owner))
    return levels


def _roots(owner: Indices) -> Indices:
    """Return the labels of a forest of merges."""
    roots = owner.copy()
    while True:
        above = roots[roots]
        if np.array_equal(above, roots):
            return np.unique(roots, return_inverse=True)[1].astype(np.intp)
        roots = above
