"""Compiled loops of `octavo.engine.chains`, for dense and sparse transitions alike."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import types
from numba.extending import overload

_TINY = 1e-140  # a product of two numbers above it is far from underflow
_LOST = 1e-250  # a sum above it has lost less than one rounding to terms that underflow


# --- transitions, dense or sparse ---------------------------------------------------------------
# A kernel receives transitions as an array (S, K, K) or as a tuple (indptr, source, (S, E)); the
# functions below are compiled for either. Step s is 0 where transitions do not vary. The loops
# that matter have a dense form whose inner loop is contiguous.


def _degree(trans, j):
    """Return the number of transitions into state j."""


@overload(_degree)
def _degree_either(trans, j):
    if isinstance(trans, types.Array):
        return lambda trans, j: trans.shape[1]
    return lambda trans, j: trans[0][j + 1] - trans[0][j]


def _edge(trans, s, j, n):
    """Return the n-th transition into state j: its source, its weight, and its own number."""


@overload(_edge)
def _edge_either(trans, s, j, n):
    if isinstance(trans, types.Array):
        return lambda trans, s, j, n: (n, trans[s, n, j], n * trans.shape[1] + j)

    def sparse(trans, s, j, n):
        e = trans[0][j] + n
        return trans[1][e], trans[2][s, e], e

    return sparse


def _push(trans, s, a, out):
    """Set out[j] = Σ_i a[i] trans[i, j]."""


@overload(_push)
def _push_either(trans, s, a, out):
    if isinstance(trans, types.Array):

        def dense(trans, s, a, out):
            matrix = trans[s]
            K = a.shape[0]
            for j in range(K):
                out[j] = a[0] * matrix[0, j]
            for i in range(1, K):
                for j in range(K):
                    out[j] += a[i] * matrix[i, j]

        return dense

    def sparse(trans, s, a, out):
        indptr, source, weight = trans
        for j in range(a.shape[0]):
            total = 0.0
            for e in range(indptr[j], indptr[j + 1]):
                total += a[source[e]] * weight[s, e]
            out[j] = total

    return sparse


def _pull(trans, s, r, out):
    """Set out[i] = Σ_j trans[i, j] r[j]."""


@overload(_pull)
def _pull_either(trans, s, r, out):
    if isinstance(trans, types.Array):

        def dense(trans, s, r, out):
            matrix = trans[s]
            K = r.shape[0]
            for i in range(K):
                total = 0.0
                for j in range(K):
                    total += matrix[i, j] * r[j]
                out[i] = total

        return dense

    def sparse(trans, s, r, out):
        indptr, source, weight = trans
        out[:] = 0.0
        for j in range(r.shape[0]):
            for e in range(indptr[j], indptr[j + 1]):
                out[source[e]] += weight[s, e] * r[j]

    return sparse


def _add_pairs(trans, s, a, r, out):
    """Add a[i] trans[i, j] r[j] to the pairs of one step."""


@overload(_add_pairs)
def _add_pairs_either(trans, s, a, r, out):
    if isinstance(trans, types.Array):

        def dense(trans, s, a, r, out):
            matrix = trans[s]
            K = a.shape[0]
            for i in range(K):
                for j in range(K):
                    out[i * K + j] += a[i] * matrix[i, j] * r[j]

        return dense

    def sparse(trans, s, a, r, out):
        indptr, source, weight = trans
        for j in range(a.shape[0]):
            for e in range(indptr[j], indptr[j + 1]):
                out[e] += a[source[e]] * weight[s, e] * r[j]

    return sparse


def _max_push(trans, s, d, out):
    """Set out[j] = max_i d[i] + trans[i, j]."""


@overload(_max_push)
def _max_push_either(trans, s, d, out):
    if isinstance(trans, types.Array):

        def dense(trans, s, d, out):
            matrix = trans[s]
            K = d.shape[0]
            for j in range(K):
                out[j] = d[0] + matrix[0, j]
            for i in range(1, K):
                for j in range(K):
                    score = d[i] + matrix[i, j]
                    out[j] = score if score > out[j] else out[j]

        return dense

    def sparse(trans, s, d, out):
        indptr, source, weight = trans
        for j in range(d.shape[0]):
            best = -np.inf
            for e in range(indptr[j], indptr[j + 1]):
                score = d[source[e]] + weight[s, e]
                best = score if score > best else best
            out[j] = best

    return sparse


@numba.njit(cache=True)
def _origin(trans, s, j, d):
    """Return the smallest i that attains max_i d[i] + trans[i, j]."""
    best, where = -np.inf, 0
    for n in range(_degree(trans, j)):
        i, score, _ = _edge(trans, s, j, n)
        score += d[i]
        if score > best or (score == best and i < where):
            best, where = score, i
    return where


@numba.njit(cache=True)
def _log_into(trans, s, j, a):
    """Return log Σ_i exp(a[i] + trans[i, j])."""
    top, total = -np.inf, 0.0
    for n in range(_degree(trans, j)):
        i, score, _ = _edge(trans, s, j, n)
        top = max(top, a[i] + score)
    if top == -np.inf:
        return top
    for n in range(_degree(trans, j)):
        i, score, _ = _edge(trans, s, j, n)
        total += math.exp(a[i] + score - top)
    return top + math.log(total)


@numba.njit(cache=True)
def _log_out_of(trans, s, r, top, out):
    """Set out[i] = log Σ_j exp(trans[i, j] + r[j]); top is room for K numbers."""
    top[:] = -np.inf
    out[:] = 0.0
    for j in range(r.shape[0]):
        for n in range(_degree(trans, j)):
            i, score, _ = _edge(trans, s, j, n)
            top[i] = max(top[i], score + r[j])
    for j in range(r.shape[0]):
        for n in range(_degree(trans, j)):
            i, score, _ = _edge(trans, s, j, n)
            if top[i] > -np.inf:
                out[i] += math.exp(score + r[j] - top[i])
    for i in range(r.shape[0]):
        out[i] = top[i] + math.log(out[i]) if top[i] > -np.inf else -np.inf


@numba.njit(cache=True)
def _add_log_pairs(trans, s, a, r, out):
    """Add exp(a[i] + trans[i, j] + r[j]) to the pairs of one step."""
    for j in range(r.shape[0]):
        for n in range(_degree(trans, j)):
            i, score, e = _edge(trans, s, j, n)
            if r[j] > -np.inf:
                out[e] += math.exp(a[i] + score + r[j])


# --- sums over paths ----------------------------------------------------------------------------


@numba.njit(cache=True)
def _filter_scaled(start, linear, shift, nodes, step, store, rows):
    """Fill rows with P(s_t | positions up to t); return log Z and whether it can be trusted.

    It cannot as soon as a positive probability falls below `_TINY`: a path that looks
    hopeless now may win later. ``store`` False keeps only the current row.
    """
    T, K = nodes.shape
    pushed = np.empty(K)
    log_z, product = 0.0, 1.0
    for t in range(T):
        now = rows[t if store else 0]
        if t == 0:
            top = -np.inf
            for j in range(K):
                pushed[j] = 1.0 if start[j] > -np.inf else 0.0
                now[j] = start[j] + nodes[0, j]
                top = max(top, now[j])
        else:
            s = step + t - 1 if shift.shape[0] > 1 else 0
            _push(linear, s, rows[t - 1 if store else 0], pushed)
            log_z += shift[s]
            top = -np.inf
            for j in range(K):
                now[j] = nodes[t, j]
                if pushed[j] > 0.0:
                    top = max(top, now[j])
        if top == -np.inf:
            return -np.inf, True
        total = 0.0
        for j in range(K):
            if pushed[j] > 0.0 and now[j] > -np.inf:
                now[j] = pushed[j] * math.exp(now[j] - top)
                if now[j] == 0.0:
                    return 0.0, False
            else:
                now[j] = 0.0
            total += now[j]
        least, inverse = 1.0, 1.0 / total
        for j in range(K):
            now[j] *= inverse
            if now[j] > 0.0:
                least = min(least, now[j])
        if least < _TINY:
            return 0.0, False
        log_z += top
        product *= total
        if product < 1e-150 or product > 1e150:
            log_z += math.log(product)
            product = 1.0
    return log_z + math.log(product), True


@numba.njit(cache=True)
def _smooth_scaled(linear, varies, step, rows, exact, pairs, by_step):
    """Turn the rows of `_filter_scaled` into marginals; add pair marginals to pairs.

    P(s_t | x) = P(s_t | x up to t) Σ_j trans P(s_{t+1} = j | x) / P(s_{t+1} = j | x up to t).
    Returns False when ``exact`` and a positive marginal is too small for its logarithm.
    """
    T, K = rows.shape
    pushed, ratio, pulled = np.empty(K), np.empty(K), np.empty(K)
    for t in range(T - 1, 0, -1):
        s = step + t - 1 if varies else 0
        before, now = rows[t - 1], rows[t]
        _push(linear, s, before, pushed)
        for j in range(K):
            ratio[j] = now[j] / pushed[j] if now[j] > 0.0 else 0.0
        _pull(linear, s, ratio, pulled)
        if pairs.shape[0] > 0:
            _add_pairs(linear, s, before, ratio, pairs[step + t - 1 if by_step else 0])
        total = 0.0
        for i in range(K):
            possible = before[i] > 0.0 and pulled[i] > 0.0
            before[i] *= pulled[i]
            total += before[i]
            if exact and possible and before[i] < 1e-290:
                return False
        for i in range(K):
            before[i] /= total
    return True


@numba.njit(cache=True)
def _filter_log(start, linear, trans, shift, nodes, step, store, rows):
    """Fill rows with log P(s_t | positions up to t) up to a constant; return log Z."""
    T, K = nodes.shape
    pushed, weight, before = np.empty(K), np.empty(K), np.empty(K)
    log_z = 0.0
    for t in range(T):
        now = rows[t if store else 0]
        if t == 0:
            for j in range(K):
                now[j] = start[j] + nodes[0, j]
        else:
            s = step + t - 1 if shift.shape[0] > 1 else 0
            before[:] = rows[t - 1 if store else 0]
            _log_push(linear, trans, shift[s], s, before, weight, pushed)
            for j in range(K):
                now[j] = pushed[j] + nodes[t, j]
        top = -np.inf
        for j in range(K):
            top = max(top, now[j])
        if top == -np.inf:
            return top
        for j in range(K):
            now[j] -= top
        log_z += top
    total = 0.0
    for j in range(K):
        total += math.exp(rows[T - 1 if store else 0, j])
    return log_z + math.log(total)


@numba.njit(cache=True)
def _log_push(linear, trans, shift, s, a, weight, out):
    """Set out[j] = log Σ_i exp(a[i] + trans[i, j]), where max a = 0."""
    for i in range(a.shape[0]):
        weight[i] = math.exp(a[i])
    _push(linear, s, weight, out)
    for j in range(a.shape[0]):
        if out[j] > _LOST:
            out[j] = math.log(out[j]) + shift
        else:
            out[j] = _log_into(trans, s, j, a)


@numba.njit(cache=True)
def _smooth_log(linear, trans, shift, step, rows, pairs, by_step):
    """Turn the rows of `_filter_log` into log marginals; add pair marginals to pairs."""
    T, K = rows.shape
    pushed, ratio, pulled = np.empty(K), np.empty(K), np.empty(K)
    weight, room = np.empty(K), np.empty(K)
    _normalise_log(rows[T - 1])
    for t in range(T - 1, 0, -1):
        s = step + t - 1 if shift.shape[0] > 1 else 0
        before, now = rows[t - 1], rows[t]
        _log_push(linear, trans, shift[s], s, before, weight, pushed)
        top = -np.inf
        for j in range(K):
            ratio[j] = now[j] - pushed[j] if now[j] > -np.inf else -np.inf
            top = max(top, ratio[j])
        for j in range(K):
            weight[j] = math.exp(ratio[j] - top)
        _pull(linear, s, weight, pulled)
        lost = False
        for i in range(K):
            lost = lost or (pulled[i] <= _LOST and before[i] > -np.inf)
        if lost:
            _log_out_of(trans, s, ratio, room, pulled)
        else:
            for i in range(K):
                pulled[i] = math.log(pulled[i]) + shift[s] + top if pulled[i] > 0 else -np.inf
        if pairs.shape[0] > 0:
            _add_log_pairs(trans, s, before, ratio, pairs[step + t - 1 if by_step else 0])
        for i in range(K):
            before[i] += pulled[i]
        _normalise_log(before)


@numba.njit(cache=True)
def _normalise_log(row):
    """Subtract the log of the sum of exponentials."""
    top, total = -np.inf, 0.0
    for x in row:
        top = max(top, x)
    for x in row:
        total += math.exp(x - top)
    row -= top + math.log(total)


@numba.njit(cache=True, nogil=True)
def _partitions(start, linear, trans, shift, safe, nodes, ptr, log_z):
    """Fill log_z with the log partition of each sequence."""
    row = np.empty((1, nodes.shape[1]))
    for q in range(ptr.shape[0] - 1):
        block, step = nodes[ptr[q] : ptr[q + 1]], ptr[q] - q
        trusted = False
        if safe:
            log_z[q], trusted = _filter_scaled(start, linear, shift, block, step, False, row)
        if not trusted:
            log_z[q] = _filter_log(start, linear, trans, shift, block, step, False, row)


@numba.njit(cache=True, nogil=True)
def _marginals(start, linear, trans, shift, safe, nodes, ptr, log, rows, pairs, pairs_of, log_z):
    """Fill rows, pairs and log_z sequence by sequence; pairs_of: 0 total, 1 sequence, 2 step."""
    own = np.zeros((min(pairs.shape[0], 1), pairs.shape[1]))
    for q in range(ptr.shape[0] - 1):
        block, step = nodes[ptr[q] : ptr[q + 1]], ptr[q] - q
        mine, target = rows[ptr[q] : ptr[q + 1]], pairs if pairs_of == 2 else own
        own[:] = 0.0
        trusted = False
        if safe:
            log_z[q], trusted = _filter_scaled(start, linear, shift, block, step, True, mine)
            if trusted and log_z[q] > -np.inf:
                trusted = _smooth_scaled(
                    linear, shift.shape[0] > 1, step, mine, log, target, pairs_of == 2
                )
                if not trusted:
                    own[:] = 0.0
                    target[step : step + mine.shape[0] - 1] = 0.0
                elif log:
                    for t in range(mine.shape[0]):
                        for j in range(mine.shape[1]):
                            mine[t, j] = math.log(mine[t, j]) if mine[t, j] > 0 else -np.inf
        if not trusted:
            log_z[q] = _filter_log(start, linear, trans, shift, block, step, True, mine)
            if log_z[q] > -np.inf:
                _smooth_log(linear, trans, shift, step, mine, target, pairs_of == 2)
                if not log:
                    mine[:] = np.exp(mine)
        if log_z[q] == -np.inf:
            mine[:] = -np.inf if log else 0.0
        elif pairs.shape[0] > 0 and pairs_of < 2:
            pairs[q if pairs_of == 1 else 0] += own[0]


# --- best paths ---------------------------------------------------------------------------------
# The way forward computes scores only; the way back asks at each step where the score came from,
# which costs K, not K². What must be kept is then the scores of one block of positions.


@numba.njit(cache=True)
def _advance(trans, varies, nodes, step, first, last, rows):
    """From the scores at position first - 1 in rows[0], fill in those of first .. last - 1."""
    for t in range(first, last):
        now = rows[t - first + 1]
        _max_push(trans, step + t - 1 if varies else 0, rows[t - first], now)
        for j in range(now.shape[0]):
            now[j] += nodes[t, j]


@numba.njit(cache=True, nogil=True)
def _best(start, trans, varies, nodes, ptr, rows, kept, states, scores):
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
            kept[b] = rows[0]
            _advance(trans, varies, mine, step, first, last, rows)
            if b < n_blocks - 1:
                rows[0] = rows[block]
        at = np.argmax(rows[last - first])
        scores[q] = rows[last - first, at]
        if scores[q] == -np.inf:
            path[:] = -1
            continue
        path[T - 1] = at
        for b in range(n_blocks - 1, -1, -1):
            first, last = 1 + b * block, min(T, 1 + (b + 1) * block)
            if b < n_blocks - 1:  # the last block is still there
                rows[0] = kept[b]
                _advance(trans, varies, mine, step, first, last, rows)
            for t in range(last - 1, first - 1, -1):
                at = _origin(trans, step + t - 1 if varies else 0, at, rows[t - first])
                path[t - 1] = at


@numba.njit(cache=True)
def _blend_push(matrix, weight, delta, out):
    """Set out[j, g] = max_i delta[i, g] + weight[g] matrix[i, j], for all blends g at once."""
    K, G = delta.shape
    for j in range(K):
        for g in range(G):
            out[j, g] = -np.inf
        for i in range(K):
            m = matrix[i, j]
            if m > -np.inf:
                for g in range(G):
                    new = delta[i, g] + weight[g] * m
                    out[j, g] = new if new > out[j, g] else out[j, g]
            else:  # forbids, except where the weight is zero
                for g in range(G):
                    if weight[g] == 0.0 and delta[i, g] > out[j, g]:
                        out[j, g] = delta[i, g]


@numba.njit(cache=True)
def _blend_nodes(nodes, n, weights, delta):
    """Add Σ_f weights[f, g] nodes[f, n, j] to delta[j, g]; a term of weight zero is no term."""
    K, G = delta.shape
    for f in range(nodes.shape[0]):
        for j in range(K):
            x = nodes[f, n, j]
            if x == -np.inf:
                for g in range(G):
                    if weights[f, g] != 0.0:
                        delta[j, g] = -np.inf
            else:
                for g in range(G):
                    delta[j, g] += weights[f, g] * x


@numba.njit(cache=True)
def _blend_origin(matrix, weight, j, delta, g):
    """Return the smallest i that attains out[j, g] in `_blend_push`."""
    best, where = -np.inf, 0
    for i in range(delta.shape[0]):
        score = delta[i, g] + (weight[g] * matrix[i, j] if weight[g] != 0.0 else 0.0)
        if score > best:
            best, where = score, i
    return where


@numba.njit(cache=True)
def _blend_advance(trans, nodes, weights, row, step, first, last, rows):
    """Do what `_advance` does, for all blends; row is where the sequence begins in nodes."""
    for t in range(first, last):
        s = step + t - 1 if trans.shape[0] > 1 else 0
        _blend_push(trans[s], weights[nodes.shape[0]], rows[t - first], rows[t - first + 1])
        _blend_nodes(nodes, row + t, weights, rows[t - first + 1])


@numba.njit(cache=True, nogil=True)
def _best_blends(start, trans, nodes, weights, ptr, rows, kept, states, scores):
    """Fill states (G, N) and scores (G, sequences); weights is (F + 1, G)."""
    F, K, G, block = nodes.shape[0], nodes.shape[2], weights.shape[1], rows.shape[0] - 1
    weight = weights[F]
    for q in range(ptr.shape[0] - 1):
        row, T, step = ptr[q], ptr[q + 1] - ptr[q], ptr[q] - q
        for j in range(K):
            for g in range(G):
                rows[0, j, g] = weight[g] * start[j] if weight[g] != 0.0 else 0.0
        _blend_nodes(nodes, row, weights, rows[0])
        n_blocks = max(1, (T - 1 + block - 1) // block)
        for b in range(n_blocks):
            first, last = 1 + b * block, min(T, 1 + (b + 1) * block)
            kept[b] = rows[0]
            _blend_advance(trans, nodes, weights, row, step, first, last, rows)
            if b < n_blocks - 1:
                rows[0] = rows[block]
        for g in range(G):
            at = np.argmax(rows[last - first, :, g])
            scores[g, q] = rows[last - first, at, g]
            states[g, row + T - 1] = at
        for b in range(n_blocks - 1, -1, -1):
            first, last = 1 + b * block, min(T, 1 + (b + 1) * block)
            if b < n_blocks - 1:
                rows[0] = kept[b]
                _blend_advance(trans, nodes, weights, row, step, first, last, rows)
            for t in range(last - 1, first - 1, -1):
                matrix = trans[step + t - 1 if trans.shape[0] > 1 else 0]
                for g in range(G):
                    j = states[g, row + t]
                    states[g, row + t - 1] = _blend_origin(matrix, weight, j, rows[t - first], g)
        for g in range(G):
            if scores[g, q] == -np.inf:
                states[g, row : row + T] = -1


@numba.njit(cache=True)
def _insert(score, where, best, come):
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


@numba.njit(cache=True, nogil=True)
def _k_best(start, trans, varies, nodes, ptr, k, states, scores):
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
                for n in range(_degree(trans, j)):
                    i, score, _ = _edge(trans, s, j, n)
                    for r in range(k):
                        candidate = delta[i, r] + score + nodes[row + t, j]
                        if not _insert(candidate, i * k + r, new[j], back[t, j]):
                            break
            delta, new = new, delta
        last, come = np.full(k, -np.inf), np.full(k, -1)
        for j in range(K):
            for r in range(k):
                if not _insert(delta[j, r], j * k + r, last, come):
                    break
        for c in range(k):
            scores[c, q] = last[c]
            at = come[c]
            for t in range(T - 1, -1, -1):
                states[c, row + t] = at // k if at >= 0 else -1
                if at >= 0:
                    at = back[t, at // k, at % k]


@numba.njit(cache=True, nogil=True)
def _sample(start, linear, trans, shift, nodes, ptr, uniforms, states):
    """Fill states (samples, N) by drawing each path from its last position to its first."""
    N, K = nodes.shape
    rows, chance = np.empty((N, K)), np.empty(K)
    for q in range(ptr.shape[0] - 1):
        first, T, step = ptr[q], ptr[q + 1] - ptr[q], ptr[q] - q
        mine = rows[first : ptr[q + 1]]
        log_z = _filter_log(
            start, linear, trans, shift, nodes[first : ptr[q + 1]], step, True, mine
        )
        if log_z == -np.inf:
            states[:, first : first + T] = -1
            continue
        for c in range(states.shape[0]):
            state = -1
            for t in range(T - 1, -1, -1):
                chance[:] = -np.inf
                if t == T - 1:
                    chance[:] = mine[t]
                else:
                    s = step + t if shift.shape[0] > 1 else 0
                    for n in range(_degree(trans, state)):
                        i, score, _ = _edge(trans, s, state, n)
                        chance[i] = mine[t, i] + score
                _normalise_log(chance)
                left = uniforms[c, first + t]
                state = -1
                for i in range(K):
                    if chance[i] > -np.inf:
                        state = i
                        left -= math.exp(chance[i])
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
        chain = start, linear, trans, shift, True, nodes, ptr
        _partitions(*chain, score)
        _marginals(*chain, False, rows, np.zeros((1, 4)), 0, score)
        _best(start, trans, False, nodes, ptr, rows, rows, states, score)
        _k_best(start, trans, False, nodes, ptr, 1, states[None], score[None])
        _sample(start, linear, trans, shift, nodes, ptr, np.zeros((1, 3)), states[None])
    room = np.empty((3, 2, 1))
    blend = np.ones((2, 1))
    _best_blends(start, dense, nodes[None], blend, ptr, room, room, states[None], score[None])
