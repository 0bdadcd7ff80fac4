"""Message passing over segmentations: sums, best, k-best and sampled ones.

A segmentation cuts the positions 0..T-1 of a sequence into segments of 1 to L positions and gives
each a state. Segments (u_1, v_1, q_1), (u_2, v_2, q_2), ... with u_{i+1} = v_i have the score

    start[q_1] + Σ_i scores[u_i, v_i - u_i - 1, column[q_i]] + Σ_i edge(q_i, q_{i+1}) + end[q_last].

The recursions are those of a chain with one step more: what enters a state at a position (over
the transitions) is extended by segments of every length (state by state). They cost
T (E + L K), not T L E.

Shapes: ``scores`` is (N, L, C), N the sum of ``lengths``: row n has the segments that begin at
position n, of 1, 2, .. positions; those that reach beyond the sequence are ignored. ``column`` is
(K,), never falling: states with the same scores stand together. Transitions are `GroupedEdges`.

Sums are linear with scaling where no number can underflow, and in logarithms where one would.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from octavo.engine.chains.kernels import insert_best
from octavo.engine.chains.lanes import RANGE, TINY, GroupedEdges, exp_in_place
from octavo.engine.chains.sequences import check_lengths
from octavo.engine.compilation.copies import copy_row, fill_row
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints

_FAINT = 1e-50  # a sum above it has lost nothing to terms below e^-RANGE


class SegmentMarginals(NamedTuple):
    """Marginals of segments (N, L, C), totals (E,), (K,), (K,), and log Z of each sequence."""

    segments: Floats
    pairs: Floats
    starts: Floats
    ends: Floats
    log_partition: Floats


class Segmentations(NamedTuple):
    """One segmentation a sequence: segments ptr[q]:ptr[q+1] of sequence q, and their scores."""

    ptr: Ints
    start: Ints
    stop: Ints
    state: Ints
    score: Floats

    def of(self, q: int) -> list[tuple[int, int, int]]:
        """Return the segments of one sequence as (start, stop, state)."""
        rows = slice(self.ptr[q], self.ptr[q + 1])
        columns = (self.start[rows].tolist(), self.stop[rows].tolist(), self.state[rows].tolist())
        return list(zip(*columns))


# --- sums, linear -------------------------------------------------------------------------------


@njit(cache=True)
def _add(part, total):
    """Add a row to another."""
    for k in range(part.shape[0]):
        total[k] += part[k]


@njit(cache=True)
def _gather(a, parent, extended):
    """Set extended (2K,) to the numbers of states and the sums of their groups."""
    K = a.shape[0]
    for k in range(K):
        extended[k] = extended[K + k] = a[k]
    for k in range(K - 1, -1, -1):
        if parent[k] >= 0:
            extended[K + parent[k]] += extended[K + k]


@njit(cache=True)
def _spread(pulled, parent, out):
    """Set out (K,) to what comes to a state itself and to all groups around it."""
    K = out.shape[0]
    for k in range(K):
        if parent[k] >= 0:
            pulled[K + k] += pulled[K + parent[k]]
        out[k] = pulled[k] + pulled[K + k]


@njit(cache=True)
def _extend(j, scores, block, enter, offset, alive, out):
    """Fill out with the sums over segments that end before position j; return their scale.

    enter[u] e^offset[u] enters at position u. The scale is NaN where a state's sum may be too
    small to be right, -inf where nothing ends here.
    """
    L, C = scores.shape[1:]
    top = -np.inf
    for d in range(min(L, j)):
        u = j - 1 - d
        for c in range(C):
            if alive[u, c]:
                # of all segments that end here: one scale for the position
                top = max(top, scores[u, d, c] + offset[u])
    fill_row(0.0, out)
    if top == -np.inf:
        return top
    for c in range(C):
        lost = False
        for d in range(min(L, j)):
            u = j - 1 - d
            below = scores[u, d, c] + offset[u] - top
            if not alive[u, c] or below == -np.inf:
                continue
            if below < -RANGE:
                lost = True
                continue
            f = math.exp(below)
            for q in range(block[c], block[c + 1]):
                # α(j, q) of Cuong et al. (2014), Eq. (2): segments of every length
                out[q] += f * enter[u, q]
        if lost:
            for q in range(block[c], block[c + 1]):
                if out[q] < _FAINT:
                    return np.nan
    return top


@njit(cache=True)
def _filter(start, edges, end, scores, block, a, scale, enter, offset, alive, extended):
    """Fill a[j] with what ends before position j; return log Z, NaN where it is not to be trusted.

    a[j] is normalised and has the factor e^scale[j]; enter[u] has e^offset[u].
    """
    indptr, source, weight, shift, parent = edges
    T, K, C = scores.shape[0], start.shape[0], scores.shape[2]
    for j in range(T + 1):
        if j > 0:
            top = _extend(j, scores, block, enter, offset, alive, a[j])
            if not top > -np.inf and j == T:
                return top
            total = 0.0
            for q in range(K):
                total += a[j, q]
            if top != top:
                return top
            scale[j] = top + math.log(total) if total > 0.0 else -np.inf
            for q in range(K):
                if a[j, q] > 0.0:  # scaled to sum one: the scale is kept in logs
                    a[j, q] /= total
                    if a[j, q] < TINY:
                        return np.nan
        if j == T:
            break
        if j == 0:
            copy_row(start, enter[0])
            offset[0] = 0.0
        else:
            _gather(a[j], parent, extended)
            for k in range(K):
                into = 0.0
                # Σ_p α(j, p) exp(edge(p, k)): what a segment from here begins with
                for e in range(indptr[k], indptr[k + 1]):
                    into += extended[source[e]] * weight[e]
                enter[j, k] = into
            offset[j] = scale[j] + shift
        for c in range(C):
            alive[j, c] = False
            for q in range(block[c], block[c + 1]):
                alive[j, c] |= enter[j, q] > 0.0
    total = 0.0
    for q in range(K):
        total += a[T, q] * end[q]
    return scale[T] + math.log(total) if total > 0.0 else -np.inf


@njit(cache=True)
def _smooth(start, edges, end, scores, block, a, scale, enter, offset, log_z, share, out):
    """Fill the marginals of segments and add to the totals; return False if a factor overflows."""
    indptr, source, weight, shift, parent = edges
    segments, pairs, starts, ends = out
    T, L, C = scores.shape
    K = start.shape[0]
    b, level = np.zeros((T + 1, K)), np.empty(T + 1)
    fill_row(-np.inf, level)
    ahead, pulled, extended = np.empty(K), np.empty(2 * K), np.empty(2 * K)
    _normalise_future(end, a[T], 0.0, b, level, T)
    for q in range(K):
        # P(the last segment has state q)
        ends[q] += share * a[T, q] * end[q] * math.exp(scale[T] - log_z)
    for u in range(T - 1, -1, -1):
        reach = min(L, T - u)
        top = -np.inf
        for d in range(reach):
            for c in range(C):
                top = max(top, scores[u, d, c] + level[u + 1 + d])
        fill_row(0.0, ahead)
        if top == -np.inf:
            continue
        whole = offset[u] + top - log_z
        plain = -300.0 < whole < 300.0
        factor = math.exp(whole) if plain else 0.0
        for d in range(reach):
            v = u + 1 + d
            for c in range(C):
                below = scores[u, d, c] + level[v] - top
                f = math.exp(below)
                joint = 0.0
                for q in range(block[c], block[c + 1]):
                    ahead[q] += f * b[v, q]  # β(u, q) of Eq. (3), for the next segments' sum
                    joint += enter[u, q] * b[v, q]
                if plain and joint > 1e-150 and f > 1e-150:  # nothing on the way underflows
                    # P(segment) = enter · exp(score) · β / Z
                    segments[u, d, c] = joint * f * factor
                elif joint > 0.0:
                    log_p = math.log(joint) + scores[u, d, c] + offset[u] + level[v] - log_z
                    segments[u, d, c] = math.exp(log_p)
        if u == 0:
            if top - log_z > 700.0:
                return False
            f = share * math.exp(top - log_z)
            for q in range(K):
                starts[q] += f * start[q] * ahead[q]
            break
        if scale[u] == -np.inf:
            continue
        if offset[u] + top - log_z > 700.0:
            return False
        f = share * math.exp(offset[u] + top - log_z)
        _gather(a[u], parent, extended)
        fill_row(0.0, pulled)
        for k in range(K):
            for e in range(indptr[k], indptr[k + 1]):
                worth = weight[e] * ahead[k]
                pulled[source[e]] += worth
                pairs[e] += f * extended[source[e]] * worth  # P(edge) between segments at u
        _spread(pulled, parent, ahead)
        _normalise_future(ahead, a[u], top + shift, b, level, u)
    return True


@njit(cache=True)
def _normalise_future(future, past, offset, b, level, u):
    """Set b[u] to the future of states that can be reached, at most 1, and level[u] to its log."""
    top = 0.0
    for q in range(future.shape[0]):
        if past[q] > 0.0:
            top = max(top, future[q])
    if top == 0.0:
        return
    for q in range(future.shape[0]):
        # at most one, so that products with α stay in range
        b[u, q] = future[q] / top if past[q] > 0.0 else 0.0
    level[u] = offset + math.log(top)


@njit(cache=True, nogil=True)
def _sums(start, edges, end, scores, block, ptr, share, marginals, out, log_z):
    """Fill out and log_z sequence by sequence; return which can be trusted."""
    segments, pairs, starts, ends = out
    n, K, C = ptr.shape[0] - 1, start.shape[0], scores.shape[2]
    longest = 0
    for q in range(n):
        longest = max(longest, ptr[q + 1] - ptr[q])
    a, scale = np.empty((longest + 1, K)), np.empty(longest + 1)
    enter, offset = np.empty((longest, K)), np.empty(longest)
    alive, extended = np.empty((longest, C), np.bool_), np.empty(2 * K)
    own = (np.empty(pairs.shape[0]), np.empty(K), np.empty(K))
    trusted = np.empty(n, np.bool_)
    for q in range(n):
        mine = scores[ptr[q] : ptr[q + 1]]
        log_z[q] = _filter(start, edges, end, mine, block, a, scale, enter, offset, alive, extended)
        trusted[q] = log_z[q] == log_z[q]
        if not marginals or not trusted[q] or log_z[q] == -np.inf:
            continue
        for part in own:
            fill_row(0.0, part)
        kept = segments[ptr[q] : ptr[q + 1]]
        trusted[q] = _smooth(
            start,
            edges,
            end,
            mine,
            block,
            a,
            scale,
            enter,
            offset,
            log_z[q],
            share[q],
            (kept, own[0], own[1], own[2]),
        )
        if trusted[q]:
            _add(own[0], pairs)
            _add(own[1], starts)
            _add(own[2], ends)
    return trusted


# --- sums, in logarithms ------------------------------------------------------------------------
# Where every state is looked at by itself, transitions are (indptr, source, score) from single
# states.


@njit(cache=True)
def _log_into(trans, a, u, enter):
    """Set enter[u, k] = log Σ_i exp(a[u, i] + score(i, k))."""
    indptr, source, score = trans
    for k in range(enter.shape[1]):
        top, total = -np.inf, 0.0
        for e in range(indptr[k], indptr[k + 1]):
            top = max(top, a[u, source[e]] + score[e])
        if top > -np.inf:
            for e in range(indptr[k], indptr[k + 1]):
                # what enters state k, the largest term taken out
                total += math.exp(a[u, source[e]] + score[e] - top)
            top += math.log(total)
        enter[u, k] = top


@njit(cache=True)
def _log_out_of(trans, ahead, top, b, u):
    """Set b[u, i] = log Σ_k exp(score(i, k) + ahead[k]); top is room for K numbers."""
    indptr, source, score = trans
    K = ahead.shape[0]
    fill_row(-np.inf, top)
    for k in range(K):
        for e in range(indptr[k], indptr[k + 1]):
            top[source[e]] = max(top[source[e]], score[e] + ahead[k])
    fill_row(0.0, b[u])
    for k in range(K):
        for e in range(indptr[k], indptr[k + 1]):
            i = source[e]
            if top[i] > -np.inf:
                b[u, i] += math.exp(score[e] + ahead[k] - top[i])  # Eq. (3) over the transitions
    for i in range(K):
        b[u, i] = top[i] + math.log(b[u, i]) if top[i] > -np.inf else -np.inf


@njit(cache=True)
def _filter_logs(start, trans, end, scores, column, a, enter):
    """Do what `_filter` does in logarithms."""
    T, L, _ = scores.shape
    K = start.shape[0]
    for j in range(T + 1):
        for q in range(K):
            if j == 0:
                continue
            top, total = -np.inf, 0.0
            for d in range(min(L, j)):
                top = max(top, scores[j - 1 - d, d, column[q]] + enter[j - 1 - d, q])
            if top > -np.inf:
                for d in range(min(L, j)):
                    # Eq. (2) in logarithms
                    total += math.exp(scores[j - 1 - d, d, column[q]] + enter[j - 1 - d, q] - top)
                top += math.log(total)
            a[j, q] = top
        if j == T:
            break
        if j == 0:
            copy_row(start, enter[0])
        else:
            _log_into(trans, a, j, enter)
    top, total = -np.inf, 0.0
    for q in range(K):
        top = max(top, a[T, q] + end[q])
    if top == -np.inf:
        return top
    for q in range(K):
        total += math.exp(a[T, q] + end[q] - top)
    return top + math.log(total)


@njit(cache=True)
def _smooth_logs(start, trans, end, scores, column, a, enter, log_z, out):
    """Do what `_smooth` does in logarithms, for one sequence of share 1."""
    indptr, source, score = trans
    segments, pairs, starts, ends = out
    T, L, _ = scores.shape
    K = start.shape[0]
    b, ahead, top = np.empty((T + 1, K)), np.empty(K), np.empty(K)
    for q in range(K):
        b[T, q] = end[q]
        ends[q] = math.exp(a[T, q] + end[q] - log_z)
    for u in range(T - 1, -1, -1):
        reach = min(L, T - u)
        for q in range(K):
            most, total = -np.inf, 0.0
            for d in range(reach):
                most = max(most, scores[u, d, column[q]] + b[u + 1 + d, q])  # Eq. (3) in logarithms
            ahead[q] = most
            if most == -np.inf:
                continue
            for d in range(reach):
                worth = scores[u, d, column[q]] + b[u + 1 + d, q]
                total += math.exp(worth - most)
                segments[u, d, column[q]] += math.exp(enter[u, q] + worth - log_z)
            ahead[q] += math.log(total)
        if u == 0:
            for q in range(K):
                starts[q] = math.exp(start[q] + ahead[q] - log_z)
            break
        _log_out_of(trans, ahead, top, b, u)
        for k in range(K):
            for e in range(indptr[k], indptr[k + 1]):
                if ahead[k] > -np.inf:
                    pairs[e] += math.exp(a[u, source[e]] + score[e] + ahead[k] - log_z)


# --- paths --------------------------------------------------------------------------------------


@njit(cache=True)
def _best_into(trans, delta, u, enter):
    """Set enter[u, k] = max_i delta[u, i] + score(i, k)."""
    indptr, source, score = trans
    for k in range(enter.shape[1]):
        enter[u, k] = -np.inf
        for e in range(indptr[k], indptr[k + 1]):
            enter[u, k] = max(enter[u, k], delta[u, source[e]] + score[e])


@njit(cache=True)
def _came_from(trans, delta, u, k):
    """Return the state that attains enter[u, k]."""
    indptr, source, score = trans
    best, where = -np.inf, -1
    for e in range(indptr[k], indptr[k + 1]):
        if delta[u, source[e]] + score[e] > best:
            best, where = delta[u, source[e]] + score[e], source[e]
    return where


@njit(cache=True, nogil=True)
def _best_segments(start, trans, end, scores, column, ptr, out):
    """Fill (first, state, count, score): the segments of each sequence, last one first."""
    first, state, count, best = out
    K, L = start.shape[0], scores.shape[1]
    for n in range(ptr.shape[0] - 1):
        mine = scores[ptr[n] : ptr[n + 1]]
        T = mine.shape[0]
        delta, enter = np.empty((T + 1, K)), np.empty((T, K))
        length = np.zeros((T + 1, K), np.int64)
        for j in range(T + 1):
            for q in range(K):
                delta[j, q] = -np.inf
                for d in range(min(L, j)):
                    # δ of Section 2.4: the best segmentation that ends in q before j
                    worth = mine[j - 1 - d, d, column[q]] + enter[j - 1 - d, q]
                    if worth > delta[j, q]:
                        delta[j, q], length[j, q] = worth, d + 1
            if j == 0:
                copy_row(start, enter[0])
            elif j < T:
                _best_into(trans, delta, j, enter)
        at = 0
        for q in range(K):
            if delta[T, q] + end[q] > delta[T, at] + end[at]:
                at = q
        best[n] = delta[T, at] + end[at]
        count[n], j = 0, T
        while j > 0 and best[n] > -np.inf:
            u = j - length[j, at]
            first[ptr[n] + count[n]], state[ptr[n] + count[n]] = u, at
            count[n] += 1
            if u > 0:
                at = _came_from(trans, delta, u, at)
            j = u


@njit(cache=True, nogil=True)
def _k_best_segments(start, trans, end, scores, column, ptr, k, out):
    """Fill (first, state, count, score), each with a leading axis of the k best."""
    indptr, source, score = trans
    first, state, count, best = out
    K, L = start.shape[0], scores.shape[1]
    for n in range(ptr.shape[0] - 1):
        mine = scores[ptr[n] : ptr[n + 1]]
        T = mine.shape[0]
        delta, enter = np.full((T + 1, K, k), -np.inf), np.full((T, K, k), -np.inf)
        length, origin = np.full((T + 1, K, k), -1), np.full((T, K, k), -1)
        for j in range(T + 1):
            for q in range(K):
                for d in range(min(L, j)):
                    u = j - 1 - d
                    for r in range(k):
                        # the r-th best beginning, continued by a segment of d + 1 positions
                        worth = mine[u, d, column[q]] + enter[u, q, r]
                        if not insert_best(worth, d * k + r, delta[j, q], length[j, q]):
                            break
            if j == T:
                break
            for q in range(K):
                if j == 0:
                    enter[0, q, 0] = start[q]
                    continue
                for e in range(indptr[q], indptr[q + 1]):
                    i = source[e]
                    for r in range(k):
                        worth = delta[j, i, r] + score[e]
                        if not insert_best(worth, i * k + r, enter[j, q], origin[j, q]):
                            break
        last, come = np.full(k, -np.inf), np.full(k, -1)
        for q in range(K):
            for r in range(k):
                if not insert_best(delta[T, q, r] + end[q], q * k + r, last, come):
                    break
        for c in range(k):
            best[c, n], count[c, n], j, at = last[c], 0, T, come[c]
            while j > 0 and at >= 0:
                q = at // k
                d, r = length[j, q, at % k] // k, length[j, q, at % k] % k
                j -= d + 1
                place = ptr[n] + count[c, n]
                first[c, place], state[c, place] = j, q
                count[c, n] += 1
                if j > 0:
                    at = origin[j, q, r]


@njit(cache=True)
def _draw(chance, uniform):
    """Return an index drawn with log probabilities up to a constant."""
    top, total, found = -np.inf, 0.0, -1
    for i in range(chance.shape[0]):
        top = max(top, chance[i])
    for i in range(chance.shape[0]):
        total += math.exp(chance[i] - top)
    left = uniform * total
    for i in range(chance.shape[0]):
        if chance[i] > -np.inf:
            found = i
            left -= math.exp(chance[i] - top)
            if left < 0.0:
                break
    return found


@njit(cache=True, nogil=True)
def _sample_segments(start, trans, end, scores, column, ptr, uniforms, out):
    """Fill (first, state, count, log_z), the first three with a leading axis of samples."""
    indptr, source, score = trans
    first, state, count, log_z = out
    K, L = start.shape[0], scores.shape[1]
    for n in range(ptr.shape[0] - 1):
        mine = scores[ptr[n] : ptr[n + 1]]
        T = mine.shape[0]
        a, enter = np.full((T + 1, K), -np.inf), np.empty((T, K))
        log_z[n] = _filter_logs(start, trans, end, mine, column, a, enter)
        before = np.empty(K)
        for c in range(first.shape[0]):
            count[c, n], j, at = 0, T, -1
            while j > 0 and log_z[n] > -np.inf:
                row = uniforms[c, ptr[n] + j - 1]
                if j == T:
                    for q in range(K):
                        before[q] = a[T, q] + end[q]
                else:
                    before[:] = -np.inf
                    for e in range(indptr[at], indptr[at + 1]):
                        before[source[e]] = a[j, source[e]] + score[e]
                at = _draw(before, row[0])  # the state of the last segment given what follows it
                reach = min(L, j)
                chance = np.empty(reach)
                for d in range(reach):
                    # then its length, by Eq. (2)'s own terms
                    chance[d] = mine[j - 1 - d, d, column[at]] + enter[j - 1 - d, at]
                j -= _draw(chance, row[1]) + 1
                place = ptr[n] + count[c, n]
                first[c, place], state[c, place] = j, at
                count[c, n] += 1


# --- the functions ------------------------------------------------------------------------------


class _Problem(NamedTuple):
    """Checked arguments, as the kernels take them."""

    start: Floats
    edges: GroupedEdges
    end: Floats
    scores: Floats
    column: Ints
    ptr: Ints

    @property
    def block(self) -> Ints:
        """Where the states of each column begin."""
        return np.searchsorted(self.column, np.arange(self.scores.shape[2] + 1))

    def plain(self) -> tuple[tuple[Ints, Ints, Floats], Ints]:
        """Return transitions from single states, and which edge each comes from."""
        single, origin = self.edges.expanded()
        return (single.indptr, single.source, single.score), origin


def _checked(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats,
    column: Ints,
    lengths: Ints,
) -> _Problem:
    values = np.ascontiguousarray(scores, dtype=np.float64)
    if values.ndim != 3:
        raise ValueError(f"scores must be (N, L, C), got shape {values.shape}.")
    if np.any(np.diff(column) < 0) or column.size != start.size:
        raise ValueError("column must have an entry a state, never falling.")
    counts = check_lengths(lengths, values.shape[0], name="scores")
    ptr = np.concatenate([[0], np.cumsum(counts)])
    return _Problem(start, edges, end, values, np.asarray(column), ptr)


def _all_sums(problem: _Problem, share: Floats, marginals: bool) -> SegmentMarginals:
    """Return sums in linear arithmetic, and in logarithms for sequences that need them."""
    n, K = problem.ptr.size - 1, problem.start.size
    out = SegmentMarginals(
        np.zeros(problem.scores.shape if marginals else (0, 0, 0)),
        np.zeros(problem.edges.source.size),
        np.zeros(K),
        np.zeros(K),
        np.empty(n),
    )
    edges = problem.edges
    linear, shift, in_range = zip(
        *(exp_in_place(x) for x in (problem.start, edges.score, problem.end))
    )
    trusted = np.zeros(n, dtype=bool)
    if all(in_range):
        trusted = _sums(
            linear[0],
            (edges.indptr, edges.source, linear[1], shift[1], edges.parent),
            linear[2],
            problem.scores,
            problem.block,
            problem.ptr,
            share,
            marginals,
            tuple(out[:4]),
            out.log_partition,
        )
        out.log_partition[:] += shift[0] + shift[2]
    if not trusted.all():
        trans, origin = problem.plain()
        for q in np.flatnonzero(~trusted):
            _one_in_logs(problem, trans, origin, int(q), share[q], marginals, out)
    return out


def _one_in_logs(
    problem: _Problem, trans, origin, q: int, share: float, marginals: bool, out: SegmentMarginals
) -> None:
    rows = slice(problem.ptr[q], problem.ptr[q + 1])
    scores, K = problem.scores[rows], problem.start.size
    T = scores.shape[0]
    a, enter = np.full((T + 1, K), -np.inf), np.empty((T, K))
    args = (problem.start, trans, problem.end, scores, problem.column, a, enter)
    out.log_partition[q] = log_z = _filter_logs(*args)
    if not marginals:
        return
    out.segments[rows] = 0.0
    if log_z == -np.inf:
        return
    pairs, starts, ends = np.zeros(origin.size), np.zeros(K), np.zeros(K)
    _smooth_logs(*args, log_z, (out.segments[rows], pairs, starts, ends))
    out.pairs[:] += share * np.bincount(origin, pairs, minlength=out.pairs.size)
    out.starts[:] += share * starts
    out.ends[:] += share * ends


def segment_partition(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats,
    column: Ints,
    lengths: Ints,
) -> Floats:
    """Return log Σ exp(score) over all segmentations of each sequence.

    Parameters
    ----------
    start, edges, end, scores, column, lengths : arrays
        As the module tells.

    Returns
    -------
    log_partition : ndarray of shape (n_sequences,)
        -inf where no segmentation is possible.
    """
    problem = _checked(start, edges, end, scores, column, lengths)
    return _all_sums(problem, np.ones(problem.ptr.size - 1), False).log_partition


def segment_marginals(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats,
    column: Ints,
    lengths: Ints,
    *,
    weight: Floats | None = None,
) -> SegmentMarginals:
    """Return the marginals of all segments, and totals of those of transitions.

    Parameters
    ----------
    start, edges, end, scores, column, lengths : arrays
        As the module tells.
    weight : ndarray of shape (n_sequences,), optional
        What each sequence counts for in the totals.

    Returns
    -------
    marginals : SegmentMarginals
        Named tuple: segments (N, L, C), and totals over all sequences of transitions (E,), of
        first and of last states (K,); log_partition of each sequence.
    """
    problem = _checked(start, edges, end, scores, column, lengths)
    n = problem.ptr.size - 1
    share = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    return _all_sums(problem, share, True)


def _segmentations(
    ptr: Ints, first: Ints, state: Ints, count: Ints, score: Floats
) -> Segmentations:
    """Return segmentations in order from what the kernels wrote, last segment first."""
    own = np.concatenate([[0], np.cumsum(count)])
    sequence = np.repeat(np.arange(count.size), count)
    rows = (ptr[sequence] + own[sequence + 1] - 1) - np.arange(own[-1])
    starts, n = first[rows], own[-1]
    stops = np.append(starts[1:], 0)
    stops[own[1:][count > 0] - 1] = np.diff(ptr)[count > 0]
    return Segmentations(own, starts, stops[:n], state[rows], score)


def best_segmentations(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats,
    column: Ints,
    lengths: Ints,
) -> Segmentations:
    """Return the segmentation of largest score of each sequence.

    Parameters
    ----------
    start, edges, end, scores, column, lengths : arrays
        As the module tells.

    Returns
    -------
    best : Segmentations
        A sequence without a possible one has no segments, and score -inf.
    """
    problem = _checked(start, edges, end, scores, column, lengths)
    N, n = problem.scores.shape[0], problem.ptr.size - 1
    out = (np.empty(N, np.int64), np.empty(N, np.int64), np.empty(n, np.int64), np.empty(n))
    trans, _ = problem.plain()
    _best_segments(start, trans, end, problem.scores, problem.column, problem.ptr, out)
    return _segmentations(problem.ptr, *out)


def k_best_segmentations(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats,
    column: Ints,
    lengths: Ints,
    k: int,
) -> list[Segmentations]:
    """Return the k segmentations of largest score of each sequence, best first.

    Parameters
    ----------
    start, edges, end, scores, column, lengths : arrays
        As the module tells.
    k : int
        How many.

    Returns
    -------
    best : list of Segmentations
        Entry r has the (r + 1)-th best of every sequence; no segments where there are fewer.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    problem = _checked(start, edges, end, scores, column, lengths)
    N, n = problem.scores.shape[0], problem.ptr.size - 1
    out = (
        np.empty((k, N), np.int64),
        np.empty((k, N), np.int64),
        np.empty((k, n), np.int64),
        np.empty((k, n)),
    )
    trans, _ = problem.plain()
    _k_best_segments(start, trans, end, problem.scores, problem.column, problem.ptr, k, out)
    return [_segmentations(problem.ptr, *(part[r] for part in out)) for r in range(k)]


def sample_segmentations(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats,
    column: Ints,
    lengths: Ints,
    n_samples: int,
    rng: np.random.Generator | np.random.RandomState,
) -> list[Segmentations]:
    """Return independent segmentations drawn with probability exp(score) / Z.

    Parameters
    ----------
    start, edges, end, scores, column, lengths : arrays
        As the module tells.
    n_samples : int
        How many of each sequence.
    rng : numpy Generator or RandomState
        Source of randomness.

    Returns
    -------
    samples : list of Segmentations
        Their score is log Z.
    """
    problem = _checked(start, edges, end, scores, column, lengths)
    N, n = problem.scores.shape[0], problem.ptr.size - 1
    log_z = np.empty(n)
    out = (
        np.empty((n_samples, N), np.int64),
        np.empty((n_samples, N), np.int64),
        np.empty((n_samples, n), np.int64),
    )
    uniforms = rng.uniform(size=(n_samples, N, 2))
    trans, _ = problem.plain()
    args = (start, trans, end, problem.scores, problem.column, problem.ptr)
    _sample_segments(*args, uniforms, (*out, log_z))
    return [
        _segmentations(problem.ptr, out[0][r], out[1][r], out[2][r], log_z)
        for r in range(n_samples)
    ]


def _warmup() -> None:
    edges = GroupedEdges(np.array([0, 1, 2]), np.array([1, 0]), np.zeros(2), np.ones(2, np.int64))
    for spread in (0.0, 1000.0):  # the second is done in logarithms
        start = np.array([0.0, -spread])
        rest = (edges, np.zeros(2), np.zeros((2, 2, 2)), np.arange(2), np.array([2]))
        segment_marginals(start, *rest)
    best_segmentations(start, *rest)
    k_best_segmentations(start, *rest, 2)
    sample_segmentations(start, *rest, 1, np.random.default_rng(0))
