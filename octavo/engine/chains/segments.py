"""Message passing over segmentations: sums, best, k-best and sampled ones.

A segmentation cuts the positions 0..T-1 of a sequence into segments of 1 to L positions and gives
each a state. Segments (u_1, v_1, q_1), (u_2, v_2, q_2), ... with u_{i+1} = v_i have the score

    start[q_1] + Σ_i scores[u_i, v_i - u_i - 1, column[q_i]] + Σ_i edge(q_i, q_{i+1}) + end[q_last].

The recursions are those of a chain with one step more: what enters a state at a position (over
the transitions) is extended by segments of every length (state by state). They cost
T (E + L K), not T L E.

Shapes: ``scores`` is (N, L, C), N the sum of ``lengths``: row n has the segments that begin at
position n, of 1, 2, .. positions; those that reach beyond the sequence are ignored. Where scores
of segments are sums over their positions, `SegmentScores` in their place says so, and sums are many
times faster. ``column`` is (K,), never falling: states with the same scores stand together.
Transitions are `GroupedEdges`.

Sums are linear with scaling where no number can underflow (`octavo.engine.chains.segment_lanes`),
and in logarithms where one would.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.chains.kernels import insert_best
from octavo.engine.chains.lanes import (
    LANES,
    RANGE,
    TINY,
    GroupedEdges,
    LaneLayout,
    exp_in_place,
    factors_of,
    lanes_of,
    outgoing_edges,
)
from octavo.engine.chains.segment_lanes import tied_segments
from octavo.engine.chains.sequences import check_lengths
from octavo.engine.compilation.copies import copy_row, fill_row
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints


class SegmentScores(NamedTuple):
    """Scores of segments as sums over their positions, and what a segment has besides.

    That of u .. u + d in column c is Σ positions[u .. u + d, c] + begin[u, c] + stop[u + d, c] +
    extra[u, d, c]: ``positions``, ``begin`` and ``stop`` are (N, C), ``extra`` (N, L, C), or
    (1, L, C) where it does not depend on the place. None for ``begin`` or ``stop`` is zero.
    """

    positions: Floats
    extra: Floats
    begin: Floats | None = None
    stop: Floats | None = None

    def table(self) -> Floats:
        """Return all scores (N, L, C)."""
        n, L = self.positions.shape[0], self.extra.shape[1]
        scores = np.empty((n, L, self.positions.shape[1]))
        scores[:] = self.extra
        if self.begin is not None:
            scores += self.begin[:, None]
        run = np.zeros_like(self.positions)
        for d in range(min(L, n)):
            run[: n - d] += self.positions[d:]  # one addition a length
            scores[: n - d, d] += run[: n - d]
            if self.stop is not None:
                scores[: n - d, d] += self.stop[d:]
        return scores

    def rows(self, rows: slice) -> SegmentScores:
        """Return those of some positions."""
        extra = self.extra[rows] if self.extra.shape[0] > 1 else self.extra
        ends = (part if part is None else part[rows] for part in (self.begin, self.stop))
        return SegmentScores(self.positions[rows], extra, *ends)


class SegmentMarginals(NamedTuple):
    """Marginals of segments, totals of transitions and of first and last states, and log Z.

    ``segments`` (N, L, C) has P(a segment of d + 1 positions begins at n); ``begin`` and ``stop``
    (N, C) those of any length that begin at a position or end with it, ``covered`` those around
    it. ``lengths`` (L, C), ``pairs`` (E,), ``starts`` and ``ends`` (K,) are totals over all
    sequences. `segment_marginals` tells which of ``segments`` and ``lengths`` is filled.
    """

    segments: Floats
    begin: Floats
    stop: Floats
    covered: Floats
    lengths: Floats
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
    """Checked arguments; ``written`` where all scores were written out."""

    start: Floats
    edges: GroupedEdges
    end: Floats
    scores: SegmentScores
    column: Ints
    ptr: Ints
    written: bool

    def plain(self) -> tuple[tuple[Ints, Ints, Floats], Ints]:
        """Return transitions from single states, and which edge each comes from."""
        single, origin = self.edges.expanded()
        return (single.indptr, single.source, single.score), origin


def _checked(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats | SegmentScores,
    column: Ints,
    lengths: Ints,
) -> _Problem:
    written = not isinstance(scores, SegmentScores)
    if not isinstance(scores, SegmentScores):
        values = np.ascontiguousarray(scores, dtype=np.float64)
        if values.ndim != 3:
            raise ValueError(f"scores must be (N, L, C), got shape {values.shape}.")
        # all in the extra part: paths and logarithms take them as they are
        scores = SegmentScores(np.zeros(values[:, 0].shape), values)
    n, C = scores.positions.shape
    if scores.extra.shape not in ((1, scores.extra.shape[1], C), (n, scores.extra.shape[1], C)):
        raise ValueError(
            f"extra must be (1, L, {C}) or ({n}, L, {C}), got shape {scores.extra.shape}."
        )
    if np.any(np.diff(column) < 0) or column.size != start.size:
        raise ValueError("column must have an entry a state, never falling.")
    counts = check_lengths(lengths, n, name="scores")
    ptr = np.concatenate([[0], np.cumsum(counts)])
    return _Problem(start, edges, end, scores, np.asarray(column), ptr, written)


def _centred(scores: SegmentScores, ptr: Ints) -> SegmentScores:
    """Return scores that were written out with as little as can be in their extra part.

    It is exponentiated as it is. Segments that reach beyond their sequence get zero there.
    """
    extra = scores.extra
    single = np.where(np.isfinite(extra[:, 0]), extra[:, 0], 0.0)
    inner = SegmentScores(-single, extra).table()
    left = np.repeat(ptr[1:], np.diff(ptr)) - np.arange(ptr[-1])
    inner[np.arange(extra.shape[1]) >= left[:, None]] = 0.0
    return SegmentScores(single, inner)


def _factors(
    problem: _Problem, layout: LaneLayout
) -> tuple[tuple[Floats, Floats, Floats, Floats], Floats, NDArray[np.bool_]]:
    """Return exponentials of scores in lanes, the logs of what was taken out of them, and trust.

    Trusted are sequences all of whose factors are far from under- and overflow.
    """
    lengths = np.diff(problem.ptr)
    scores = _centred(problem.scores, problem.ptr) if problem.written else problem.scores
    linear, top, safe = factors_of(scores.positions)
    found = [layout.packed(linear)]
    none = np.zeros((1, scores.positions.shape[1]))
    for part in (scores.begin, scores.stop, scores.extra):
        part = none if part is None else part
        safe = safe & _moderate(part)
        with np.errstate(over="ignore"):
            linear = np.exp(part)
        # one for all rows, or one for each
        own = part.shape[0] > 1
        found.append(layout.packed(linear) if own else np.repeat(linear[..., None], LANES, axis=-1))
    rate, begin, stop, extra = found
    return (rate, begin, stop, extra), layout.sums(top, lengths), layout.sums(~safe, lengths) == 0


def _moderate(scores: Floats) -> Any:
    """Return by row whether the exponentials of scores are zero or far from under- and overflow."""
    if scores.min(initial=0.0) > -RANGE and scores.max(initial=0.0) < RANGE:
        return True
    fine = (np.abs(scores) < RANGE) | (scores == -np.inf)
    return np.all(fine, axis=tuple(range(1, scores.ndim)))


def _linear_sums(
    problem: _Problem, share: Floats, detail: str
) -> tuple[SegmentMarginals, NDArray[np.bool_]]:
    """Return sums in linear arithmetic, and for which sequences they can be trusted."""
    edges, lengths, K = problem.edges, np.diff(problem.ptr), problem.start.size
    layout = LaneLayout.of(lengths)
    factors, taken, trusted = _factors(problem, layout)
    (start, first, ok), (end, last, fine) = (exp_in_place(x) for x in (problem.start, problem.end))
    trusted &= ok and fine and bool(np.all(_moderate(edges.score[:, None])))
    R, L, C = layout.base[-1], *factors[3].shape[1:3]
    positional = np.zeros((3, R if detail else 0, C, LANES))
    # by place and length, by length alone, or not at all
    single = np.zeros(({"segments": R, "lengths": 1}.get(detail, 0), L, C, LANES))
    by_length = single.reshape(-1, LANES) if detail == "lengths" else None
    totals = tuple(np.zeros(n) for n in (L * C, edges.source.size, K, K))
    inverse, least = np.zeros((R, LANES)), layout.by_group(0.0)
    if trusted.any():
        tied_segments(
            start,
            (edges.indptr, edges.source, np.exp(edges.score), edges.parent),
            outgoing_edges(edges.indptr, edges.source),
            problem.column,
            end,
            factors,
            layout.left,
            layout.base,
            layout.by_group(np.where(trusted, share, 0.0)),
            _room(int(lengths.max()), L, C, K),
            (inverse, least, *positional, *totals),
            single if single.size else None,
            by_length,
        )
        trusted &= least[layout.group, layout.own] > TINY
    log_z = taken + first + last + layout.log_scales(inverse, lengths)
    parts = [single if detail == "segments" else single[:0], *positional]
    found = [layout.unpacked(part) if part.size else part[..., 0] for part in parts]
    return SegmentMarginals(*found, totals[0].reshape(L, C), *totals[1:], log_z), trusted


def _room(longest: int, L: int, C: int, K: int) -> tuple[Floats, ...]:
    """Return the arrays that `tied_segments` works in: made here, they cost the kernel no code."""
    return (
        *(lanes_of(longest, width) for width in (2 * K, K, K, K)),
        *(lanes_of(C), lanes_of(L, C), lanes_of(2 * K), lanes_of(K), lanes_of(K)),
    )


def _all_sums(problem: _Problem, share: Floats, detail: str) -> SegmentMarginals:
    """Return sums in linear arithmetic, and in logarithms for sequences that need them.

    ``detail`` is what `segment_marginals` takes, or empty where log Z is all that is wanted.
    """
    out, trusted = _linear_sums(problem, share, detail)
    if not trusted.all():
        trans, origin = problem.plain()
        for q in np.flatnonzero(~trusted):
            _one_in_logs(problem, trans, origin, int(q), share[q], detail, out)
    return out


def _one_in_logs(
    problem: _Problem, trans, origin, q: int, share: float, detail: str, out: SegmentMarginals
) -> None:
    rows = slice(problem.ptr[q], problem.ptr[q + 1])
    scores, K = problem.scores.rows(rows).table(), problem.start.size
    T = scores.shape[0]
    a, enter = np.full((T + 1, K), -np.inf), np.empty((T, K))
    args = (problem.start, trans, problem.end, scores, problem.column, a, enter)
    out.log_partition[q] = log_z = _filter_logs(*args)
    if not detail:
        return
    segments = np.zeros(scores.shape)
    if log_z > -np.inf:
        pairs, starts, ends = np.zeros(origin.size), np.zeros(K), np.zeros(K)
        _smooth_logs(*args, log_z, (segments, pairs, starts, ends))
        out.pairs[:] += share * np.bincount(origin, pairs, minlength=out.pairs.size)
        out.starts[:] += share * starts
        out.ends[:] += share * ends
    if detail == "segments":
        out.segments[rows] = segments
    if detail == "lengths":
        out.lengths[:] += share * segments.sum(axis=0)
    out.begin[rows], out.stop[rows] = segments.sum(axis=1), ending(segments)
    out.covered[rows] = occupancy(segments)


def occupancy(mass: Floats) -> Floats:
    """Return the mass of segments (N, L, C) that cover each position (N, C)."""
    n, L, C = mass.shape
    change = np.zeros((n + 1, C))
    for d in range(min(L, n)):
        change[:-1] += mass[:, d]
        change[d + 1 :] -= mass[: n - d, d]
    return np.cumsum(change[:-1], axis=0)


def ending(mass: Floats) -> Floats:
    """Return the mass of segments (N, L, C) that end with each position (N, C)."""
    n, L, C = mass.shape
    last = np.zeros((n, C))
    for d in range(min(L, n)):
        last[d:] += mass[: n - d, d]
    return last


def segment_partition(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats | SegmentScores,
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
    return _all_sums(problem, np.ones(problem.ptr.size - 1), "").log_partition


def segment_marginals(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats | SegmentScores,
    column: Ints,
    lengths: Ints,
    *,
    weight: Floats | None = None,
    detail: str = "segments",
) -> SegmentMarginals:
    """Return the marginals of all segments, and totals of those of transitions.

    Parameters
    ----------
    start, edges, end, scores, column, lengths : arrays
        As the module tells.
    weight : ndarray of shape (n_sequences,), optional
        What each sequence counts for in the totals.
    detail : {"positions", "lengths", "segments"}
        Whether totals of lengths or marginals of single segments are wanted besides those of
        positions; what is not is zero, or (0, L, C).

    Returns
    -------
    marginals : SegmentMarginals
        Named tuple: marginals of segments (N, L, C), of those that begin at, end with and cover
        each position (N, C), totals over all sequences of lengths (L, C), of transitions (E,), of
        first and of last states (K,); log_partition of each sequence.
    """
    if detail not in ("positions", "lengths", "segments"):
        raise ValueError(f"detail must be positions, lengths or segments, got {detail!r}.")
    problem = _checked(start, edges, end, scores, column, lengths)
    n = problem.ptr.size - 1
    share = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    return _all_sums(problem, share, detail)


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
    scores: Floats | SegmentScores,
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
    N, n = int(problem.ptr[-1]), problem.ptr.size - 1
    out = (np.empty(N, np.int64), np.empty(N, np.int64), np.empty(n, np.int64), np.empty(n))
    trans, _ = problem.plain()
    _best_segments(start, trans, end, problem.scores.table(), problem.column, problem.ptr, out)
    return _segmentations(problem.ptr, *out)


def k_best_segmentations(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats | SegmentScores,
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
    N, n = int(problem.ptr[-1]), problem.ptr.size - 1
    out = (
        np.empty((k, N), np.int64),
        np.empty((k, N), np.int64),
        np.empty((k, n), np.int64),
        np.empty((k, n)),
    )
    trans, _ = problem.plain()
    _k_best_segments(start, trans, end, problem.scores.table(), problem.column, problem.ptr, k, out)
    return [_segmentations(problem.ptr, *(part[r] for part in out)) for r in range(k)]


def sample_segmentations(
    start: Floats,
    edges: GroupedEdges,
    end: Floats,
    scores: Floats | SegmentScores,
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
    N, n = int(problem.ptr[-1]), problem.ptr.size - 1
    log_z = np.empty(n)
    out = (
        np.empty((n_samples, N), np.int64),
        np.empty((n_samples, N), np.int64),
        np.empty((n_samples, n), np.int64),
    )
    uniforms = rng.uniform(size=(n_samples, N, 2))
    trans, _ = problem.plain()
    args = (start, trans, end, problem.scores.table(), problem.column, problem.ptr)
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
