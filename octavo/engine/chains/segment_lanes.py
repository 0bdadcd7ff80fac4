"""Sums over segmentations of many sequences at once, eight side by side.

The linear arithmetic of `octavo.engine.chains.segments`, in the manner of
`octavo.engine.chains.lanes`: a chain is the case of segments of one position. Scores of segments
are sums over their positions and an extra part, so that one exponential a position and column is
needed, not one a segment: a segment's factor is that of the one shorter by a position times the
last position's, and times the factor of the extra part. Everything is scaled position by position
by the probability that something ends there.
"""

from __future__ import annotations

from octavo.engine.chains.lanes import (
    TINY,
    add_edges,
    add_states,
    normalise,
    pull_back,
    sum_into,
)
from octavo.engine.compilation.eights import (
    get,
    larger,
    plus,
    plus_product,
    put,
    quotient,
    same,
    times,
)
from octavo.engine.compilation.kernel_cache import njit

_CLOSE = 1e-9  # what leaves the first position must add up to one: rounding is far below


@njit(cache=True)
def _reach(rate, first, t, way, n, extra, run, factor):
    """Fill factor (L, C, lanes) with those of segments of 1 .. n positions from or up to t.

    They begin at t where ``way`` is 1, and end with it where it is -1. ``rate`` has the factors of
    positions; ``run`` is room for their products.
    """
    for d in range(n):
        s = first + t + way * d
        u = 0  # the row of the extra part, which may be the same everywhere
        if extra.shape[0] > 1:
            u = s if way < 0 else first + t
        for c in range(rate.shape[1]):
            product = get(rate, (s, c))
            if d > 0:
                product = times(product, get(run, (c,)))
            put(run, (c,), product)
            put(factor, (d, c), times(product, get(extra, (u, d, c))))


@njit(cache=True)
def _lengthen(column, way, t, n, factor, edge, out):
    """Set out[t] to the sums over segments of all lengths of their factors times ``edge``.

    ``edge`` is what enters where they begin, or what follows where they end.
    """
    for k in range(column.shape[0]):
        put(out, (t, k), same(0.0))
    for d in range(n):
        for k in range(column.shape[0]):  # states inside: no sum waits for the one before
            sums = get(out, (t, k))
            # α(j, q) of Cuong et al. (2014), Eq. (2), and β(u, q) of Eq. (3)
            sums = plus_product(sums, get(factor, (d, column[k])), get(edge, (t + way * d, k)))
            put(out, (t, k), sums)


@njit(cache=True)
def _enter(start, edges, column, alpha, t, L, begins, row, enter, age):
    """Fill enter[t] with the chance to begin in each state; age counts positions since one did.

    ``begins`` (1 or R, C, lanes) are factors of the first positions of segments.
    """
    indptr, source, weight, _ = edges
    one, row = same(1.0), row if begins.shape[0] > 1 else 0
    for k in range(start.shape[0]):
        before = get(age, (k,)) if t > 0 else same(1.0 * L)
        # Σ_p α(t, p) exp(edge(p, k)): what a segment from here begins with
        sums = sum_into(indptr, source, weight, alpha, t - 1, k) if t > 0 else same(start[k])
        sums = times(sums, get(begins, (row, column[k])))
        put(enter, (t, k), sums)
        put(age, (k,), larger(sums, same(0.0), one, plus(before, one)))


@njit(cache=True)
def _close(alpha, t, n, end, column, stops, row, inside, age, low):
    """Multiply alpha[t] by the factors of ends; return its sum, and low or zero for a loss.

    ``stops`` (1 or R, C, lanes) are factors of the last positions of segments. Lost is a state that
    is open, but whose chance is too small for a double.
    """
    nothing, one, whole = same(0.0), same(1.0), same(0.0)
    row = row if stops.shape[0] > 1 else 0
    for k in range(end.shape[0]):
        sums = times(get(alpha, (t, k)), get(stops, (row, column[k])))
        gone = larger(get(age, (k,)), same(n + 0.5), one, larger(inside, nothing, nothing, one))
        gone = larger(sums, nothing, one, gone)
        low = larger(low, gone, gone, low)
        sums = times(sums, larger(inside, one, one, same(end[k])))
        put(alpha, (t, k), sums)
        whole = plus(whole, sums)
    return whole, low


@njit(cache=True)
def _forward(start, edges, column, end, factors, left, first, T, alpha, enter, inverse, room):
    """Fill alpha (T, 2K, lanes): P(a segment ends with t, its state | positions up to t).

    Return the least of its positive entries and of its scales, or zero where something was lost.
    """
    rate, begins, stops, extra = factors
    run, factor, age = room
    L, nothing, one, low = extra.shape[1], same(0.0), same(1.0), same(1.0)
    for t in range(T):
        n, inside = min(L, t + 1), get(left, (first + t,))
        _enter(start, edges, column, alpha, t, L, begins, first + t, enter, age)
        _reach(rate, first, t, -1, n, extra, run, factor)
        _lengthen(column, -1, t, n, factor, enter, alpha)
        whole, low = _close(alpha, t, n, end, column, stops, first + t, inside, age, low)
        scale = larger(whole, nothing, quotient(one, whole), nothing)
        put(inverse, (first + t,), scale)
        # a sum that is tiny or huge beside that of the position before may have lost something
        small = larger(whole, scale, scale, whole)
        low = larger(inside, nothing, larger(low, small, small, low), low)
        low = normalise(alpha, t, edges[3], larger(inside, nothing, scale, one), low)
        for c in range(rate.shape[1]):
            put(rate, (first + t, c), times(get(rate, (first + t, c)), scale))
    return low


@njit(cache=True)
def _follow(alpha, t, T, column, end, stops, inside, row, beta, future, last, stop):
    """Fill future[t] with what a segment that ends with t is worth, and stop with marginals."""
    nothing, one, place = same(0.0), same(1.0), row if stops.shape[0] > 1 else 0
    for k in range(column.shape[0]):
        c, past = column[k], get(alpha, (t, k))
        after = get(beta, (k,)) if t < T - 1 else nothing
        known = get(last, (k,)) if t < T - 1 else nothing
        put(last, (k,), larger(inside, one, known, larger(inside, nothing, past, nothing)))
        # a state that cannot be reached may have a boundless future: leave it out
        after = larger(past, nothing, after, nothing)
        ending = larger(inside, nothing, same(end[k]), nothing)
        worth = times(larger(inside, one, after, ending), get(stops, (place, c)))
        put(future, (t, k), worth)
        # at the end of a sequence, alpha has the factor of the end
        mine = times(past, larger(inside, one, after, one))
        put(stop, (row, c), plus(get(stop, (row, c)), mine))


@njit(cache=True)
def _backward(
    outgoing, edges, column, end, factors, left, first, T, alpha, enter, room, begin, stop, segments
):
    """Fill ahead with what beginning a segment is worth, and the marginals of segments.

    The marginal of an edge i → k at t is alpha[t-1, i] weight ahead[t, k]. Those of segments from
    and up to a position are (R, C, lanes); of each segment (R, L, C, lanes), or of each length
    (1, L, C, lanes), or None.
    """
    rate, begins, stops, extra = factors
    future, ahead, run, factor, pulled, beta, last = room
    bare = begins.shape[0] == 1
    for t in range(T - 1, -1, -1):
        n, row = min(extra.shape[1], T - t), first + t
        if t < T - 1:
            pull_back(outgoing, edges[2], edges[3], ahead, t + 1, pulled, beta)
        inside = get(left, (row,))
        _follow(alpha, t, T, column, end, stops, inside, row, beta, future, last, stop)
        _reach(rate, first, t, 1, n, extra, run, factor)
        _lengthen(column, 1, t, n, factor, future, ahead)
        for k in range(column.shape[0]):
            c, into = column[k], get(enter, (t, k))
            worth = larger(into, same(0.0), get(ahead, (t, k)), same(0.0))
            put(ahead, (t, k), times(worth, get(begins, (0 if bare else row, c))))
            put(begin, (row, c), plus_product(get(begin, (row, c)), into, worth))
        if segments is not None:
            _add_segments(column, t, n, row, enter, future, factor, segments)


@njit(cache=True)
def _add_segments(column, t, n, row, enter, future, factor, segments):
    """Add P(u, v, z | x) of segments that begin at t to a row of their own, or to the only one."""
    row = row if segments.shape[0] > 1 else 0
    for d in range(n):
        for k in range(column.shape[0]):
            c, joint = column[k], times(get(enter, (t, k)), get(future, (t + d, k)))
            mass = plus_product(get(segments, (row, d, c)), joint, get(factor, (d, c)))
            put(segments, (row, d, c), mass)


@njit(cache=True)
def _cover(begin, stop, covered, first, T, low):
    """Fill covered with the mass of segments around each position, from that of their ends.

    Return low, or zero where what begins at the first position does not add up to one.
    """
    whole, nothing = same(0.0), same(0.0)
    for c in range(begin.shape[1]):
        whole, inside = plus(whole, get(begin, (first, c))), nothing
        for row in range(first, first + T):
            inside = plus(inside, get(begin, (row, c)))
            put(covered, (row, c), inside)
            inside = plus_product(inside, get(stop, (row, c)), same(-1.0))
            inside = larger(inside, nothing, inside, nothing)  # rounding leaves some below zero
    low = larger(whole, same(1.0 - _CLOSE), low, nothing)
    return larger(same(1.0 + _CLOSE), whole, low, nothing)


@njit(cache=True, nogil=True)
def tied_segments(
    start, edges, outgoing, column, end, factors, left, base, share, room, out, segments, by_length
):
    """Fill the scales of positions and, if they are asked for, marginals, group by group.

    ``factors`` are those of positions (R, C, lanes), which get the scales, of the first and last
    positions of segments (1 or R, C, lanes), and extra ones (1 or R, L, C, lanes). ``least`` is
    zero for a sequence not to be trusted; without room for what begins at positions no marginals
    are computed. ``segments`` is as `_backward` tells. ``by_length`` (LC, lanes) shares its memory
    where it has those of lengths, which ``lengths`` adds up; else it is None.
    """
    inverse, least, begin, stop, covered, lengths, pairs, starts, ends = out
    alpha, enter, future, ahead, run, factor, pulled, beta, last = room
    for g in range(base.shape[0] - 1):
        first, T = base[g], base[g + 1] - base[g]
        low = _forward(
            start, edges, column, end, factors, left, first, T, alpha, enter, inverse,
            (run, factor, beta),
        )  # fmt: skip
        if begin.shape[0] > 0:
            if by_length is not None:
                for k in range(by_length.shape[0]):
                    put(by_length, (k,), same(0.0))
            _backward(
                outgoing, edges, column, end, factors, left, first, T, alpha, enter,
                (future, ahead, run, factor, pulled, beta, last), begin, stop, segments,
            )  # fmt: skip
            low = _cover(begin, stop, covered, first, T, low)
            own = larger(low, same(TINY), get(share, (g,)), same(0.0))
            add_edges(edges[0], edges[1], edges[2], T, own, alpha, ahead, pairs)
            if by_length is not None:
                add_states(own, by_length, lengths)
            add_states(own, last, ends)
            for k in range(column.shape[0]):
                put(last, (k,), times(same(start[k]), get(ahead, (0, k))))
            add_states(own, last, starts)
        put(least, (g,), low)


def _warmup() -> None:
    """Compile every kernel of this module: the marginals of segments call them."""
    from octavo.engine.chains import segments

    segments._warmup()
