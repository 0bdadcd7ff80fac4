"""Compiled loops of `octavo.engine.chains.inference`, for dense and sparse transitions alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from octavo.engine.compilation.copies import copy_row, fill_row, fill_table
from octavo.engine.compilation.eights import EIGHT, get, larger, plus, put, put_short, same, times
from octavo.engine.compilation.kernel_cache import njit

TINY = 1e-140  # a product of two numbers above it is far from underflow
_REACHED = 1e-120  # a chance above it owes nothing to states of a probability below TINY
_LOST = 1e-250  # a sum above it has lost less than one rounding to terms that underflow
_NARROW = 24  # up to so many states, scalars in registers beat vectors in memory
NO_PAIRS, TOTAL, BY_SEQUENCE, EACH, ALONG = range(5)  # which pair marginals are kept
ONLY_SUMS = -1  # neither marginals of pairs nor of positions
_NO_TABLE = np.empty((0, 0))
# Sums of probabilities may be taken in any order: all terms are positive and finite.
_SUMS: Any = {"fastmath": {"reassoc", "contract"}}


# --- transitions, dense or sparse ---------------------------------------------------------------
# A kernel receives transitions as an array (S, K, K) or as a tuple (indptr, source, (S, E)); the
# functions below are compiled for either. Step s is 0 where transitions do not vary. The loops
# that matter have a dense form whose inner loop is contiguous.


def edge_degree(trans, j):
    """Return the number of transitions into state j."""


@overload(edge_degree)
def _degree_either(trans, j):
    if isinstance(trans, types.Array):
        return lambda trans, j: trans.shape[1]
    return lambda trans, j: trans[0][j + 1] - trans[0][j]


def edge_between(trans, s, j, n):
    """Return the n-th transition into state j: its source, its weight, and its own number."""


@overload(edge_between)
def _edge_either(trans, s, j, n):
    if isinstance(trans, types.Array):
        return lambda trans, s, j, n: (n, trans[s, n, j], n * trans.shape[1] + j)

    def sparse(trans, s, j, n):
        e = trans[0][j] + n
        return trans[1][e], trans[2][s, e], e

    return sparse


def _push(trans, s, rows, n, out):
    """Set out[j] = Σ_i rows[n, i] trans[i, j]."""


@overload(_push, jit_options=_SUMS)
def _push_either(trans, s, rows, n, out):
    if isinstance(trans, types.Array):

        def dense(trans, s, rows, n, out):
            K = out.shape[0]
            # one sum in a register, or rows of vectors where there are many states
            if K <= _NARROW:
                for j in range(K):
                    total = 0.0
                    for i in range(K):
                        total += rows[n, i] * trans[s, i, j]
                    out[j] = total
                return
            for j in range(K):
                out[j] = rows[n, 0] * trans[s, 0, j]
            for i in range(1, K):
                for j in range(K):
                    out[j] += rows[n, i] * trans[s, i, j]

        return dense

    def sparse(trans, s, rows, n, out):
        indptr, source, weight = trans
        for j in range(out.shape[0]):
            total = 0.0
            for e in range(indptr[j], indptr[j + 1]):
                total += rows[n, source[e]] * weight[s, e]
            out[j] = total

    return sparse


def _pull(trans, s, r, out):
    """Set out[i] = Σ_j trans[i, j] r[j]."""


@overload(_pull, jit_options=_SUMS)
def _pull_either(trans, s, r, out):
    if isinstance(trans, types.Array):

        def dense(trans, s, r, out):
            for i in range(out.shape[0]):
                total = 0.0
                for j in range(r.shape[0]):
                    total += trans[s, i, j] * r[j]
                out[i] = total

        return dense

    def sparse(trans, s, r, out):
        indptr, source, weight = trans
        for i in range(out.shape[0]):
            out[i] = 0.0
        for j in range(r.shape[0]):
            for e in range(indptr[j], indptr[j + 1]):
                out[source[e]] += weight[s, e] * r[j]

    return sparse


def _add_pairs(trans, s, rows, n, r, pairs, m):
    """Add rows[n, i] trans[i, j] r[j] to pairs[m]."""


@overload(_add_pairs)
def _add_pairs_either(trans, s, rows, n, r, pairs, m):
    if isinstance(trans, types.Array):

        def dense(trans, s, rows, n, r, pairs, m):
            K = r.shape[0]
            for i in range(K):
                for j in range(K):
                    pairs[m, i * K + j] += rows[n, i] * trans[s, i, j] * r[j]

        return dense

    def sparse(trans, s, rows, n, r, pairs, m):
        indptr, source, weight = trans
        for j in range(r.shape[0]):
            for e in range(indptr[j], indptr[j + 1]):
                pairs[m, e] += rows[n, source[e]] * weight[s, e] * r[j]

    return sparse


def _max_push(trans, s, rows, n, nodes, t):
    """Set rows[n, j] = max_i rows[n - 1, i] + trans[i, j] + nodes[t, j]."""


@overload(_max_push)
def _max_push_either(trans, s, rows, n, nodes, t):
    if isinstance(trans, types.Array):

        def dense(trans, s, rows, n, nodes, t):
            K = rows.shape[1]
            if K <= _NARROW:
                for j in range(K):
                    best = rows[n - 1, 0] + trans[s, 0, j]
                    for i in range(1, K):
                        score = rows[n - 1, i] + trans[s, i, j]
                        best = score if score > best else best
                    rows[n, j] = best + nodes[t, j]
                return
            for j in range(K):
                rows[n, j] = rows[n - 1, 0] + trans[s, 0, j]
            for i in range(1, K):
                for j in range(K):
                    score = rows[n - 1, i] + trans[s, i, j]
                    rows[n, j] = score if score > rows[n, j] else rows[n, j]
            for j in range(K):
                rows[n, j] += nodes[t, j]

        return dense

    def sparse(trans, s, rows, n, nodes, t):
        indptr, source, weight = trans
        for j in range(rows.shape[1]):
            best = -np.inf
            for e in range(indptr[j], indptr[j + 1]):
                score = rows[n - 1, source[e]] + weight[s, e]
                best = score if score > best else best
            rows[n, j] = best + nodes[t, j]

    return sparse


def _origin(trans, s, j, rows, n):
    """Return the smallest i that attains max_i rows[n, i] + trans[i, j]."""


@overload(_origin)
def _origin_either(trans, s, j, rows, n):
    if isinstance(trans, types.Array):

        def dense(trans, s, j, rows, n):
            best, where = rows[n, 0] + trans[s, 0, j], 0
            for i in range(1, rows.shape[1]):
                score = rows[n, i] + trans[s, i, j]
                where = i if score > best else where
                best = score if score > best else best
            return where

        return dense

    def sparse(trans, s, j, rows, n):
        indptr, source, weight = trans
        best, where = -np.inf, rows.shape[1]
        for e in range(indptr[j], indptr[j + 1]):
            score = rows[n, source[e]] + weight[s, e]
            if score > best or (score == best and source[e] < where):
                best, where = score, source[e]
        return where

    return sparse


@njit(cache=True)
def _log_into(trans, s, j, rows, n):
    """Return log Σ_i exp(rows[n, i] + trans[i, j])."""
    top, total = -np.inf, 0.0
    for m in range(edge_degree(trans, j)):
        i, score, _ = edge_between(trans, s, j, m)
        top = max(top, rows[n, i] + score)
    if top == -np.inf:
        return top
    for m in range(edge_degree(trans, j)):
        i, score, _ = edge_between(trans, s, j, m)
        total += math.exp(rows[n, i] + score - top)  # the largest first: every term at most one
    return top + math.log(total)


@njit(cache=True)
def _log_out_of(trans, s, r, top, out):
    """Set out[i] = log Σ_j exp(trans[i, j] + r[j]); top is room for K numbers."""
    fill_row(-np.inf, top)
    fill_row(0.0, out)
    for j in range(r.shape[0]):
        for m in range(edge_degree(trans, j)):
            i, score, _ = edge_between(trans, s, j, m)
            top[i] = max(top[i], score + r[j])
    for j in range(r.shape[0]):
        for m in range(edge_degree(trans, j)):
            i, score, _ = edge_between(trans, s, j, m)
            if top[i] > -np.inf:
                out[i] += math.exp(score + r[j] - top[i])
    for i in range(r.shape[0]):
        out[i] = top[i] + math.log(out[i]) if top[i] > -np.inf else -np.inf


@njit(cache=True)
def _add_log_pairs(trans, s, rows, n, r, pairs, m):
    """Add exp(rows[n, i] + trans[i, j] + r[j]) to pairs[m]."""
    for j in range(r.shape[0]):
        if r[j] > -np.inf:
            for d in range(edge_degree(trans, j)):
                i, score, e = edge_between(trans, s, j, d)
                pairs[m, e] += math.exp(rows[n, i] + score + r[j])


@njit(cache=True)
def _score_between(trans, s, i, j):
    """Return trans[i, j]."""
    for m in range(edge_degree(trans, j)):
        source, score, _ = edge_between(trans, s, j, m)
        if source == i:
            return score
    return -np.inf


@njit(cache=True, nogil=True)
def score_paths(start, trans, varies, nodes, ptr, states, scores):
    """Fill scores with the score of each sequence's path."""
    for q in range(ptr.shape[0] - 1):
        # log p(s_1) + log f(x_1), then transitions and emissions in turn
        total = start[states[ptr[q]]] + nodes[ptr[q], states[ptr[q]]]
        for n in range(ptr[q] + 1, ptr[q + 1]):
            s = n - q - 1 if varies else 0
            total += _score_between(trans, s, states[n - 1], states[n]) + nodes[n, states[n]]
        scores[q] = total


# --- sums over paths ----------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def below_top(nodes, rows, tops):
    """Fill tops with the largest score of each position and rows with the others' distance."""
    for n in range(nodes.shape[0]):
        top = -np.inf
        for j in range(nodes.shape[1]):
            top = max(top, nodes[n, j])
        tops[n] = top
        if top == -np.inf:
            top = 0.0
        for j in range(nodes.shape[1]):
            rows[n, j] = nodes[n, j] - top


@njit(cache=True)
def _filter_scaled(start, linear, shift, safe, nodes, step, tops, exact, rows, pushed):
    """Turn rows of exp(nodes - tops) into P(s_t | positions up to t); return log Z and trust.

    A path that looks hopeless now may win later: when a positive probability falls below
    `TINY`, or a transition may have (``safe`` is False), the result can be trusted only if the
    other paths reach every state of the next position, so that this one adds nothing to any;
    and not at all (False) where ``exact``. ``pushed`` is room for K numbers.
    """
    T, K = nodes.shape
    log_z, product, lost = start[0], 1.0, False
    for j in range(1, K):
        log_z = max(log_z, start[j])
    if log_z == -np.inf:
        return log_z, True
    for t in range(T):
        if t == 0:
            for j in range(K):
                pushed[j] = math.exp(start[j] - log_z)
                if pushed[j] == 0.0 and start[j] > -np.inf:
                    return 0.0, False
        else:
            s = step + t - 1 if shift.shape[0] > 1 else 0
            _push(linear, s, rows, t - 1, pushed)
            log_z += shift[s]
            for j in range(K):
                if (lost or not safe) and pushed[j] < _REACHED:
                    return 0.0, False
        total, least = 0.0, np.inf
        for j in range(K):
            if pushed[j] > 0.0 and nodes[t, j] > -np.inf:
                # α_t(j) = f_j(x_t) Σ_i α_{t-1}(i) p_ij, normalised at each position
                rows[t, j] *= pushed[j]
                least = min(least, rows[t, j])
                total += rows[t, j]
            else:
                rows[t, j] = 0.0
        if least == np.inf:
            return -np.inf, True
        lost = not least > TINY * total  # what lies below TINY of the whole may have lost digits
        if lost and (exact or total < TINY):
            return 0.0, False
        inverse = 1.0 / total
        for j in range(K):
            rows[t, j] *= inverse
        log_z += tops[t]
        product *= total  # log Z is the sum of the logs of all normalisers
        if product < 1e-150 or product > 1e150:
            log_z += math.log(product)
            product = 1.0
    return log_z + math.log(product), True


@njit(cache=True)
def _smooth_scaled(linear, varies, step, rows, exact, pairs, kind, path, first, room):
    """Turn the rows of `_filter_scaled` into marginals; add pair marginals to pairs.

    P(s_t | x) = P(s_t | x up to t) Σ_j trans P(s_{t+1} = j | x) / P(s_{t+1} = j | x up to t).
    ``path`` is None but for the kind ALONG; its entries from ``first`` on are the sequence's own.
    Returns False when ``exact`` and a positive marginal is too small for its logarithm.
    """
    T, K = rows.shape
    pushed, ratio, pulled = room[0], room[1], room[2]
    for t in range(T - 1, 0, -1):
        s = step + t - 1 if varies else 0
        _push(linear, s, rows, t - 1, pushed)
        for j in range(K):
            # p_t(j | x) / P(s_t = j | x up to t - 1): the scaled β_t(j) f_j(x_t)
            ratio[j] = rows[t, j] / pushed[j] if rows[t, j] > 0.0 else 0.0
        _pull(linear, s, ratio, pulled)
        if path is not None:
            i, j = path[first + t - 1], path[first + t]
            weight = max(0.0, _score_between(linear, s, i, j))
            # ξ along a path: α_{t-1}(i) p_ij ratio(j)
            pairs[step + t - 1, 0] = rows[t - 1, i] * weight * ratio[j]
        elif kind != NO_PAIRS:
            _add_pairs(linear, s, rows, t - 1, ratio, pairs, step + t - 1 if kind == EACH else 0)
        total = 0.0
        for i in range(K):  # p_{t-1}(i | x) = P(s_{t-1} = i | x up to t - 1) Σ_j p_ij ratio(j)
            joint = rows[t - 1, i] * pulled[i]
            if exact and joint < 1e-290 and rows[t - 1, i] > 0.0 and pulled[i] > 0.0:
                return False
            rows[t - 1, i] = joint
            total += joint
        inverse = 1.0 / total
        for i in range(K):
            rows[t - 1, i] *= inverse
    return True


@njit(cache=True)
def _filter_log(start, linear, trans, shift, nodes, step, rows):
    """Fill rows with log P(s_t | positions up to t) up to a constant; return log Z."""
    T, K = nodes.shape
    pushed, weight = np.empty(K), np.empty((1, K))
    log_z = 0.0
    for t in range(T):
        if t == 0:
            for j in range(K):
                rows[t, j] = start[j] + nodes[0, j]
        else:
            s = step + t - 1 if shift.shape[0] > 1 else 0
            _log_push(linear, trans, shift[s], s, rows, t - 1, weight, pushed)
            for j in range(K):
                rows[t, j] = pushed[j] + nodes[t, j]
        top = -np.inf  # only the largest is taken out: the sum would cost a logarithm a position
        for j in range(K):
            top = max(top, rows[t, j])
        if top == -np.inf:
            return top
        for j in range(K):
            rows[t, j] -= top
        log_z += top
    total = 0.0
    for j in range(K):
        total += math.exp(rows[T - 1, j])
    return log_z + math.log(total)


@njit(cache=True)
def _log_push(linear, trans, shift, s, rows, n, weight, out):
    """Set out[j] = log Σ_i exp(rows[n, i] + trans[i, j]), where max rows[n] = 0."""
    for i in range(out.shape[0]):
        weight[0, i] = math.exp(rows[n, i])
    _push(linear, s, weight, 0, out)
    for j in range(out.shape[0]):
        if out[j] > _LOST:
            out[j] = math.log(out[j]) + shift
        else:
            out[j] = _log_into(trans, s, j, rows, n)


@njit(cache=True)
def _smooth_log(linear, trans, shift, step, rows, pairs, kind, path, first):
    """Turn the rows of `_filter_log` into log marginals; add pair marginals to pairs."""
    T, K = rows.shape
    pushed, ratio, pulled = np.empty(K), np.empty(K), np.empty(K)
    weight, room = np.empty((1, K)), np.empty(K)
    _normalise_log(rows, T - 1)
    for t in range(T - 1, 0, -1):
        s = step + t - 1 if shift.shape[0] > 1 else 0
        _log_push(linear, trans, shift[s], s, rows, t - 1, weight, pushed)
        top = -np.inf
        for j in range(K):
            # the log of the same ratio as in `_smooth_scaled`
            ratio[j] = rows[t, j] - pushed[j] if rows[t, j] > -np.inf else -np.inf
            top = max(top, ratio[j])
        for j in range(K):
            room[j] = math.exp(ratio[j] - top)
        _pull(linear, s, room, pulled)
        lost = False
        for i in range(K):
            lost = lost or (pulled[i] <= _LOST and rows[t - 1, i] > -np.inf)
        if lost:
            _log_out_of(trans, s, ratio, room, pulled)
        else:
            for i in range(K):
                pulled[i] = math.log(pulled[i]) + shift[s] + top if pulled[i] > 0 else -np.inf
        if path is not None:
            i, j = path[first + t - 1], path[first + t]
            score = _score_between(trans, s, i, j)
            pairs[step + t - 1, 0] = math.exp(rows[t - 1, i] + score + ratio[j])
        elif kind != NO_PAIRS:
            _add_log_pairs(trans, s, rows, t - 1, ratio, pairs, step + t - 1 if kind == EACH else 0)
        for i in range(K):
            rows[t - 1, i] += pulled[i]
        _normalise_log(rows, t - 1)


@njit(cache=True)
def _normalise_log(rows, n):
    """Subtract the log of the sum of exponentials from row n."""
    top, total = -np.inf, 0.0
    for j in range(rows.shape[1]):
        top = max(top, rows[n, j])
    for j in range(rows.shape[1]):
        total += math.exp(rows[n, j] - top)
    for j in range(rows.shape[1]):
        rows[n, j] -= top + math.log(total)


# Scaled numbers serve nearly always. Logarithms are a kernel of their own, which is compiled when
# the first sequence needs it; `in_logs` says which do. Partitions are a `kind` of marginals: what
# learns needs both, and compiles one kernel.


@njit(cache=True)
def _add_own(own, kind, q, pairs):
    """Add the pairs of one sequence where sums over sequences or steps are kept."""
    if kind in (TOTAL, BY_SEQUENCE):
        m = q if kind == BY_SEQUENCE else 0
        for e in range(own.shape[1]):  # a sum of rows would add seconds to the first call
            pairs[m, e] += own[0, e]


@njit(cache=True, nogil=True)
def _scaled_marginals(
    start, linear, shift, safe, nodes, ptr, tops, rows, log, pairs, kind, path, log_z, in_logs,
    own, room,
):  # fmt: skip
    """Do `sum_marginals` where scaled numbers can be trusted; in_logs says where they cannot.

    ``own`` is room for the pairs of one sequence, ``room`` for three rows of K numbers.
    """
    by_step = kind in (EACH, ALONG)
    for q in range(ptr.shape[0] - 1):
        first, last, step = ptr[q], ptr[q + 1], ptr[q] - q
        mine, target = rows[first:last], pairs if by_step else own
        fill_table(0.0, own)
        log_z[q], trusted = _filter_scaled(
            start, linear, shift, safe, nodes[first:last], step, tops[first:last], log, mine,
            room[0],
        )  # fmt: skip
        if trusted and log_z[q] > -np.inf and kind != ONLY_SUMS:
            trusted = _smooth_scaled(
                linear, shift.shape[0] > 1, step, mine, log, target, kind, path, first, room
            )
            if not trusted:
                fill_table(0.0, target[step : step + mine.shape[0] - 1])
        in_logs[q] = not trusted
        if kind == ONLY_SUMS:
            continue
        if trusted and log_z[q] == -np.inf:
            fill_table(0.0, mine)
        elif trusted:
            _add_own(own, kind, q, pairs)


@njit(cache=True, nogil=True)
def _log_marginals(
    start, linear, trans, shift, nodes, ptr, rows, pairs, kind, path, log_z, in_logs
):
    """Do `sum_marginals` by logarithms for the sequences that in_logs names."""
    by_step = kind in (EACH, ALONG)
    own = np.zeros((1, pairs.shape[1]))
    for q in range(ptr.shape[0] - 1):
        if not in_logs[q]:
            continue
        first, last, step = ptr[q], ptr[q + 1], ptr[q] - q
        mine, target = rows[first:last], pairs if by_step else own
        fill_table(0.0, own)
        log_z[q] = _filter_log(start, linear, trans, shift, nodes[first:last], step, mine)
        if kind == ONLY_SUMS:
            continue
        if log_z[q] == -np.inf:
            in_logs[q] = False
            fill_table(0.0, mine)
        else:
            _smooth_log(linear, trans, shift, step, mine, target, kind, path, first)
            _add_own(own, kind, q, pairs)


def sum_marginals(
    start,
    linear,
    trans,
    shift,
    safe,
    nodes,
    ptr,
    tops,
    rows,
    log,
    pairs,
    kind,
    path,
    log_z,
    in_logs,
):
    """Fill rows, pairs and log_z sequence by sequence; rows holds exp(nodes - tops) at first.

    ``kind`` says which pairs are kept, ``path`` is None but for ALONG. in_logs[q] tells that the
    rows of a sequence are left as logarithms; ``log`` asks for rows whose logarithms are accurate.
    """
    in_logs[:] = True
    if safe or not log:
        _scaled_marginals(
            start, linear, shift, safe, nodes, ptr, tops, rows,
            log, pairs, kind, path, log_z, in_logs, np.empty((1, pairs.shape[1])),
            np.empty((3, nodes.shape[1])),
        )  # fmt: skip
    if in_logs.any():
        _log_marginals(
            start, linear, trans, shift, nodes, ptr, rows, pairs, kind, path, log_z, in_logs
        )


def sum_partitions(start, linear, trans, shift, safe, nodes, ptr, tops, rows, log_z):
    """Fill log_z with the log partition of each sequence; rows holds exp(nodes - tops)."""
    sum_marginals(
        start, linear, trans, shift, safe, nodes, ptr, tops, rows,
        False, _NO_TABLE, ONLY_SUMS, None, log_z, np.empty(ptr.shape[0] - 1, dtype=np.bool_),
    )  # fmt: skip


# --- best paths ---------------------------------------------------------------------------------
# The way forward computes scores only; the way back asks at each step where the score came from,
# which costs K, not K². What must be kept is then the scores of one block of positions.


@njit(cache=True)
def _advance(trans, varies, nodes, step, first, last, rows):
    """From the scores at position first - 1 in rows[0], fill in those of first .. last - 1."""
    for t in range(first, last):
        _max_push(trans, step + t - 1 if varies else 0, rows, t - first + 1, nodes, t)


@njit(cache=True, nogil=True)
def best_path(start, trans, varies, nodes, ptr, rows, kept, states, scores):
    """Fill states and scores; rows holds the scores of one block, kept the first of each block."""
    K, block = nodes.shape[1], rows.shape[0] - 1
    for q in range(ptr.shape[0] - 1):
        mine, step = nodes[ptr[q] : ptr[q + 1]], ptr[q] - q
        path = states[ptr[q] : ptr[q + 1]]
        T = mine.shape[0]
        for j in range(K):
            rows[0, j] = start[j] + mine[0, j]
        n_blocks = max(1, (T - 1 + block - 1) // block)  # block b enters positions 1 + b block ..
        for b in range(n_blocks):
            first, last = 1 + b * block, min(T, 1 + (b + 1) * block)
            copy_row(rows[0], kept[b])
            _advance(trans, varies, mine, step, first, last, rows)
            if b < n_blocks - 1:
                copy_row(rows[block], rows[0])
        at = np.argmax(rows[last - first])  # the smallest best state: ties go to the first
        scores[q] = rows[last - first, at]
        if scores[q] == -np.inf:
            path[:] = -1
            continue
        path[T - 1] = at
        for b in range(n_blocks - 1, -1, -1):
            first, last = 1 + b * block, min(T, 1 + (b + 1) * block)
            if b < n_blocks - 1:  # the last block is still there
                copy_row(kept[b], rows[0])
                _advance(trans, varies, mine, step, first, last, rows)
            for t in range(last - 1, first - 1, -1):
                at = _origin(trans, step + t - 1 if varies else 0, at, rows, t - first)
                path[t - 1] = at


# Blends are laid out in groups of eight, (.., H, 8), which the processor treats at once.


@njit(cache=True)
def _blend_edges(trans, s, weights, table):
    """Fill table (K, K, H, 8) with weight[h] trans[i, j]; weight zero forbids nothing."""
    K, last, nothing = table.shape[0], weights.shape[0] - 1, same(0.0)
    for i in range(K):
        for j in range(K):
            m = trans[s, i, j]
            for h in range(table.shape[2]):
                weight = get(weights, (last, h))
                if m == -np.inf:
                    put(table, (i, j, h), larger(weight, nothing, same(m), nothing))
                else:
                    put(table, (i, j, h), times(weight, same(m)))


@njit(cache=True)
def _blend_nodes(nodes, t, weights, rows, n):
    """Set rows[n, j, h] to Σ_f weights[f, h] nodes[f, t, j]; weight zero means no term."""
    F, K, H = nodes.shape[0], rows.shape[1], rows.shape[2]
    for j in range(K):
        x = nodes[0, t, j]
        y = nodes[1, t, j] if F == 2 else -np.inf
        if x > -np.inf and y > -np.inf:  # the usual case at once
            for h in range(H):
                sums = times(get(weights, (0, h)), same(x))
                put(rows, (n, j, h), plus(sums, times(get(weights, (1, h)), same(y))))
            continue
        for h in range(H):
            sums = same(0.0)
            for f in range(F):
                x, weight = nodes[f, t, j], get(weights, (f, h))
                if x > -np.inf:
                    sums = plus(sums, times(weight, same(x)))
                else:
                    sums = larger(weight, same(0.0), same(x), sums)
            put(rows, (n, j, h), sums)


@njit(cache=True)
def _blend_push(rows, n, table, back, t):
    """Add to rows[1 - n] what leads there best from rows[n]; back[t] gets the smallest origins."""
    K, H, lowest, zero = rows.shape[1], rows.shape[2], same(-np.inf), same(0.0)
    for h in range(H):
        for j in range(0, K, 2):  # two at a time, which read the same scores
            k = min(j + 1, K - 1)
            best, other, come, origin = lowest, lowest, zero, zero
            for i in range(K):
                score, state = get(rows, (n, i, h)), same(1.0 * i)
                one, two = plus(score, get(table, (i, j, h))), plus(score, get(table, (i, k, h)))
                come, best = larger(one, best, state, come), larger(one, best, one, best)
                origin, other = larger(two, other, state, origin), larger(two, other, two, other)
            put(rows, (1 - n, j, h), plus(best, get(rows, (1 - n, j, h))))
            put_short(back, (t, j, EIGHT * h), come)
            if k > j:
                put(rows, (1 - n, k, h), plus(other, get(rows, (1 - n, k, h))))
                put_short(back, (t, k, EIGHT * h), origin)


@njit(cache=True)
def _blend_advance(trans, nodes, weights, row, step, first, last, rows, table, back):
    """Move rows[0] (K, H, 8) from position first - 1 to last - 1; row is where the sequence begins.

    back[t - first] gets the smallest states that the best paths to t come from.
    """
    n = 0
    for t in range(first, last):
        if trans.shape[0] > 1:
            _blend_edges(trans, step + t - 1, weights, table)
        _blend_nodes(nodes, row + t, weights, rows, 1 - n)
        _blend_push(rows, n, table, back, t - first)
        n = 1 - n
    if n == 1:
        for j in range(rows.shape[1]):
            for h in range(rows.shape[2]):
                put(rows, (0, j, h), get(rows, (1, j, h)))


@njit(cache=True)
def _blend_ends(rows, at, score):
    """Set at[g] to the smallest j that attains the largest rows[0, j, g], and score[g] to that."""
    for g in range(at.shape[0]):
        h, b = g // EIGHT, g % EIGHT
        score[g], at[g] = rows[0, 0, h, b], 0
        for j in range(1, rows.shape[1]):
            if rows[0, j, h, b] > score[g]:
                score[g], at[g] = rows[0, j, h, b], j


@njit(cache=True, nogil=True)
def best_blends(start, trans, nodes, weights, ptr, room, states, scores):
    """Fill states (G, N) and scores (sequences, G); weights is (F + 1, H, 8) with room for G."""
    rows, kept, table, back, at = room
    K, H, block, last_weight = rows.shape[1], rows.shape[2], back.shape[0], weights.shape[0] - 1
    if trans.shape[0] == 1:
        _blend_edges(trans, 0, weights, table)
    for q in range(ptr.shape[0] - 1):
        row, T, step = ptr[q], ptr[q + 1] - ptr[q], ptr[q] - q
        _blend_nodes(nodes, row, weights, rows, 0)
        for j in range(K):
            for h in range(H):
                weight, begin = get(weights, (last_weight, h)), same(start[j])
                # weight zero forbids nothing
                begin = larger(weight, same(0.0), times(weight, begin), same(0.0))
                put(rows, (0, j, h), plus(begin, get(rows, (0, j, h))))
        n_blocks = max(1, (T - 1 + block - 1) // block)
        for leg in range(2 * n_blocks - 1):  # through the blocks, and from the last one back
            onward = leg < n_blocks
            b = leg if onward else 2 * n_blocks - 2 - leg
            first, last = 1 + b * block, min(T, 1 + (b + 1) * block)
            for j in range(K):
                for h in range(H):
                    if onward:
                        put(kept, (b, j, h), get(rows, (0, j, h)))
                    else:
                        put(rows, (0, j, h), get(kept, (b, j, h)))
            _blend_advance(trans, nodes, weights, row, step, first, last, rows, table, back)
            if leg < n_blocks - 1:
                continue
            if onward:
                _blend_ends(rows, at, scores[q])
                for g in range(at.shape[0]):
                    states[g, row + T - 1] = at[g]
            for t in range(last - 1, first - 1, -1):
                for g in range(at.shape[0]):
                    at[g] = back[t - first, at[g], g]
                    states[g, row + t - 1] = at[g]


@njit(cache=True)
def insert_best(score, where, best, come):
    """Insert a candidate into a list sorted by falling score; return whether it had a place."""
    k = best.shape[0]
    if not score > best[k - 1]:
        return False
    r = k - 1
    while r > 0 and score > best[r - 1]:
        best[r], come[r] = best[r - 1], come[r - 1]
        r -= 1
    best[r], come[r] = score, where
    return True


@njit(cache=True, nogil=True)
def k_best_kernel(start, trans, varies, nodes, ptr, k, states, scores):
    """Fill states (k, N) and scores (k, sequences) with the k best paths of each sequence."""
    K = nodes.shape[1]
    for q in range(ptr.shape[0] - 1):
        row, T, step = ptr[q], ptr[q + 1] - ptr[q], ptr[q] - q
        delta, new = np.full((K, k), -np.inf), np.empty((K, k))
        back = np.full((T, K, k), -1)  # previous state times k plus its rank
        for j in range(K):
            delta[j, 0] = start[j] + nodes[row, j]
        for t in range(1, T):
            s = step + t - 1 if varies else 0
            new[:] = -np.inf
            for j in range(K):
                for n in range(edge_degree(trans, j)):
                    i, score, _ = edge_between(trans, s, j, n)
                    for r in range(k):
                        # the r-th best into i, continued: later ranks cannot do better
                        candidate = delta[i, r] + score + nodes[row + t, j]
                        if not insert_best(candidate, i * k + r, new[j], back[t, j]):
                            break
            delta, new = new, delta
        last, come = np.full(k, -np.inf), np.full(k, -1)
        for j in range(K):
            for r in range(k):
                if not insert_best(delta[j, r], j * k + r, last, come):
                    break
        for c in range(k):
            scores[c, q] = last[c]
            at = come[c]
            for t in range(T - 1, -1, -1):
                states[c, row + t] = at // k if at >= 0 else -1
                if at >= 0:
                    at = back[t, at // k, at % k]


@njit(cache=True, nogil=True)
def draw_paths(start, linear, trans, shift, nodes, ptr, uniforms, states):
    """Fill states (samples, N) by drawing each path from its last position to its first."""
    N, K = nodes.shape
    rows, chance = np.empty((N, K)), np.empty((1, K))
    for q in range(ptr.shape[0] - 1):
        first, T, step = ptr[q], ptr[q + 1] - ptr[q], ptr[q] - q
        mine = rows[first : ptr[q + 1]]
        # forward filtering, backward sampling
        log_z = _filter_log(start, linear, trans, shift, nodes[first : ptr[q + 1]], step, mine)
        if log_z == -np.inf:
            fill_table(-1, states[:, first : first + T])
            continue
        for c in range(states.shape[0]):
            state = -1
            for t in range(T - 1, -1, -1):
                fill_table(-np.inf, chance)
                if t == T - 1:
                    copy_row(mine[t], chance[0])
                else:
                    s = step + t if shift.shape[0] > 1 else 0
                    for n in range(edge_degree(trans, state)):
                        i, score, _ = edge_between(trans, s, state, n)
                        # P(s_t = i | s_{t+1}, x) ∝ α_t(i) p_{i, s_{t+1}}
                        chance[0, i] = mine[t, i] + score
                _normalise_log(chance, 0)
                left = uniforms[c, first + t]
                state = -1
                for i in range(K):
                    if chance[0, i] > -np.inf:
                        state = i
                        left -= math.exp(chance[0, i])
                        if left < 0.0:
                            break
                states[c, first + t] = state


def _warmup() -> None:
    start, nodes, ptr, shift = np.zeros(2), np.zeros((3, 2)), np.array([0, 3]), np.zeros(1)
    dense = np.zeros((1, 2, 2))
    edges = np.array([0, 1, 2]), np.array([0, 1]), np.zeros((1, 2))
    rows, states, score = np.empty((3, 2)), np.empty(3, np.int64), np.empty(1)
    for trans in (dense, edges):
        linear = np.exp(trans) if isinstance(trans, np.ndarray) else (*trans[:2], np.ones((1, 2)))
        below_top(nodes, rows, np.zeros(3))
        states[:] = 0
        in_logs = np.zeros(1, np.bool_)
        for safe in (True, False):
            chain = start, linear, trans, shift, safe, nodes, ptr, np.zeros(3), rows
            sum_partitions(*chain, score)
            sum_marginals(*chain, False, np.zeros((1, 4)), TOTAL, None, score, in_logs)
            sum_marginals(*chain, False, np.zeros((2, 1)), ALONG, states, score, in_logs)
        best_path(start, trans, False, nodes, ptr, rows, rows, states, score)
        score_paths(start, trans, False, nodes, ptr, states, score)
        k_best_kernel(start, trans, False, nodes, ptr, 1, states[None], score[None])
        draw_paths(start, linear, trans, shift, nodes, ptr, np.zeros((1, 3)), states[None])
    room = (
        *(np.zeros((2, 2, 1, EIGHT)) for _ in range(3)),
        np.zeros((2, 2, EIGHT), np.int16),
        np.zeros(1, np.int64),
    )
    blend = np.ones((2, 1, EIGHT))
    best_blends(start, dense, nodes[None], blend, ptr, room, states[None], score[None])
