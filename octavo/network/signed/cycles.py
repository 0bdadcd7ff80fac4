"""Counts of the cycles that a link would close, by the signs and directions of the other links.

A cycle of `order` links through a pair is a walk of order - 1 steps from its first node to its
second. Each step follows a positive link, one backwards, a negative link, or one backwards: 4
kinds, 4^(order-1) walks (Appendix B). Walks never take the pair's own link, so that what is
learned from known links holds for unknown ones. The walk is cut in the middle: what can be
reached from either end is counted once, and the halves are joined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.network.signed.signs import check_pairs, read_signs, undirected_signs

__all__ = ["cycle_features"]


def step_kinds(matrix: sp.csr_array, directed: bool) -> sp.csr_array:
    """Return which kinds of steps lead from u to v, as bits of an integer matrix.

    Parameters
    ----------
    matrix : csr_array of 1 and -1
    directed : bool

    Returns
    -------
    kinds : csr_array of shape (n, n)
        Bits 1, 2, 4, 8: a positive link, one backwards, a negative link, one backwards; bits 1
        and 2 for positive and negative links where directions do not count.
    """
    P = sp.csr_array(matrix > 0).astype(np.int64)
    N = sp.csr_array(matrix < 0).astype(np.int64)
    # Appendix B: A⁻ is counted without its sign, so that features are counts
    kinds = P + 2 * P.T + 4 * N + 8 * N.T if directed else P + 2 * N
    kinds = sp.csr_array(kinds)
    kinds.sort_indices()
    return kinds


@njit(cache=True, nogil=True)
def _reach(start, other, n_steps, n_kinds, backwards, indptr, indices, bits, table, spare, places):
    """Count walks of `n_steps` steps from `start` by their kinds; return how many nodes they reach.

    table[v, code] holds the count at v; the code has a digit a step, the step nearest to the
    pair's first node first. No step joins `start` and `other`.
    """
    touched, next_touched, seen = places[0], places[1], places[2]
    table[start, 0] = 1.0
    touched[0] = start
    n_touched = 1
    n_codes = 1
    for _ in range(n_steps):
        n_next = 0
        for place in range(n_touched):
            u = touched[place]
            for entry in range(indptr[u], indptr[u + 1]):
                v = indices[entry]
                if (u == start and v == other) or (u == other and v == start):
                    continue
                if seen[v] == 0:
                    seen[v] = 1
                    next_touched[n_next] = v
                    n_next += 1
                for kind in range(n_kinds):
                    digit = kind
                    if backwards and n_kinds == 4:
                        digit = kind ^ 1  # a step back along a walk turns its link around
                    if bits[entry] >> kind & 1:
                        for code in range(n_codes):
                            count = table[u, code]
                            if count != 0.0:
                                if backwards:
                                    spare[v, digit * n_codes + code] += count
                                else:
                                    spare[v, code * n_kinds + digit] += count
        for place in range(n_touched):
            for code in range(n_codes):
                table[touched[place], code] = 0.0
        n_codes *= n_kinds
        for place in range(n_next):
            v = next_touched[place]
            seen[v] = 0
            touched[place] = v
            for code in range(n_codes):
                table[v, code] = spare[v, code]
                spare[v, code] = 0.0
        n_touched = n_next
    return n_touched


@njit(cache=True, nogil=True)
def _count(pairs, n_steps, n_kinds, indptr, indices, bits, counts):
    n = indptr.shape[0] - 1
    ahead = n_steps // 2
    behind = n_steps - ahead
    n_ahead, n_behind = n_kinds**ahead, n_kinds**behind
    from_first = np.zeros((n, n_behind))
    from_second = np.zeros((n, n_behind))
    spare = np.zeros((n, n_behind))
    near, far = np.zeros((3, n), np.int64), np.zeros((3, n), np.int64)
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        n_near = _reach(i, j, ahead, n_kinds, False, indptr, indices, bits, from_first, spare, near)
        n_far = _reach(j, i, behind, n_kinds, True, indptr, indices, bits, from_second, spare, far)
        for place in range(n_near):
            v = near[0, place]
            for one in range(n_ahead):
                count = from_first[v, one]
                if count != 0.0:
                    for other in range(n_behind):
                        counts[p, one * n_behind + other] += count * from_second[v, other]
        for place in range(n_near):
            for code in range(n_ahead):
                from_first[near[0, place], code] = 0.0
        for place in range(n_far):
            for code in range(n_behind):
                from_second[far[0, place], code] = 0.0


def count_walks(kinds: sp.csr_array, pairs: Indices, order: int, n_kinds: int) -> Floats:
    """Return the walks of order - 1 steps between the nodes of each pair, by their kinds.

    Parameters
    ----------
    kinds : csr_array
        From `step_kinds`.
    pairs : ndarray of shape (m, 2)
    order : int
        Length of the cycles.
    n_kinds : {2, 4}

    Returns
    -------
    counts : ndarray of shape (m, n_kinds ** (order - 1))
        The first step is the highest digit of a column's number.
    """
    counts = np.zeros((len(pairs), n_kinds ** (order - 1)))
    arrays = (kinds.indptr.astype(np.int64), kinds.indices.astype(np.int64), kinds.data)
    _count(np.ascontiguousarray(pairs, np.int64), order - 1, n_kinds, *arrays, counts)
    return counts


@checked
def cycle_features(A: Any, pairs: Any, order: int = 3, directed: bool = True) -> Floats:
    """Count the cycles of one length that pairs of nodes would close, by signs and directions.

    Parameters
    ----------
    A : graph
        A signed network.
    pairs : array-like of shape (m, 2)
        Rows of the network's matrix.
    order : int, default=3
        Length of the cycles, at least 3.
    directed : bool, default=True
        Whether directions count: 4^(order-1) columns, products of A⁺, A⁺ᵀ, A⁻, A⁻ᵀ (absolute
        values) in lexicographic order. Else 2^(order-1), of A⁺ and A⁻ with the directions
        dropped, and a column is added to the one of the reversed walk.

    Returns
    -------
    features : ndarray
        Walks that take the pair's own link are left out.

    Examples
    --------
    >>> from octavo.network import cycle_features
    >>> cycle_features([(0, 1, 1), (1, 2, -1)], [[0, 2]], directed=False).tolist()
    [[0.0, 1.0, 1.0, 0.0]]
    """
    if order < 3:
        raise ValueError(f"order must be at least 3; got {order}.")
    links = read_signs(A) if directed else undirected_signs(A)[0]
    pairs = check_pairs(pairs, links.matrix.shape[0])
    kinds = step_kinds(links.matrix, directed)
    counts = count_walks(kinds, pairs, order, 4 if directed else 2)
    return counts if directed else with_reversals(counts, order - 1)


def with_reversals(counts: Floats, n_steps: int) -> Floats:
    codes = np.arange(2**n_steps)
    turned = np.zeros_like(codes)
    for step in range(n_steps):
        turned |= ((codes >> step) & 1) << (n_steps - 1 - step)
    # undirected: a product and its reversal are one feature
    return np.where(turned == codes, counts, counts + counts[:, turned])


def degree_features(matrix: sp.csr_array, pairs: Indices, kinds: sp.csr_array) -> Floats:
    """Return the seven degrees of a pair, its own link left out (Leskovec and others 2010).

    Parameters
    ----------
    matrix : csr_array of 1 and -1
    pairs : ndarray of shape (m, 2)
    kinds : csr_array
        From `step_kinds`.

    Returns
    -------
    features : ndarray of shape (m, 7)
        Positive and negative links out of the first node and into the second, all links out of
        the first and into the second, and common neighbours.
    """
    P, N = (matrix > 0).astype(np.float64), (matrix < 0).astype(np.float64)
    i, j = pairs.T
    own = np.asarray(matrix[i, j]).ravel()
    out_plus = np.asarray(P.sum(axis=1)).ravel()[i] - (own > 0)
    out_minus = np.asarray(N.sum(axis=1)).ravel()[i] - (own < 0)
    in_plus = np.asarray(P.sum(axis=0)).ravel()[j] - (own > 0)
    in_minus = np.asarray(N.sum(axis=0)).ravel()[j] - (own < 0)
    joined = sp.csr_array((np.ones(kinds.nnz), kinds.indices, kinds.indptr), kinds.shape)
    common = np.asarray(joined[i].multiply(joined[j]).sum(axis=1)).ravel()
    degrees = (out_plus, out_minus, in_plus, in_minus, out_plus + out_minus, in_plus + in_minus)
    return np.column_stack([*degrees, common])


def _warmup() -> None:
    cycle_features([(0, 1, 1), (1, 2, -1)], [[0, 2]])
