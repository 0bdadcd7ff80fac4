"""Sums over the paths of many chains at once, eight side by side.

`tied_marginals` gives what `octavo.engine.chains.inference.chain_marginals` gives, for the case
that takes the time when random fields are trained: many sequences, transitions that are sparse and
do not vary, and scores that groups of states share. Two things make it fast:

- Eight sequences of like length advance together, so that every transition is read once for
  eight multiplications that the processor does at once.
- A transition may come from a whole group of nested groups of states (`GroupedEdges`): what many
  states have in common is then added up once.

Arithmetic is linear with scaling; a sequence whose numbers would leave its range is handed to
`chain_marginals`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.chains.inference import Edges, chain_marginals
from octavo.engine.chains.sequences import check_lengths
from octavo.engine.compilation.eights import (
    EIGHT,
    get,
    larger,
    plus,
    plus_product,
    put,
    quotient,
    same,
    times,
    total,
)
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

LANES = EIGHT  # sequences side by side
TINY = 1e-140  # forward probabilities stay above it, or the sequence is handed on
RANGE = 160.0  # so do the logs of single factors: the product of a probability and two factors
# is then above 1e-140 e^-320 = 1e-279, a normal number


class GroupedEdges(NamedTuple):
    """Transitions out of states and groups of states, grouped by the state they enter.

    As `Edges`; but a ``source`` of K + k stands for the states k, k + 1, .., k + span[k] - 1, all
    with the same score. Groups are nested or disjoint. No two edges into a state may share a
    source state. ``parents`` may hold `parent`, so that it is not computed again.
    """

    indptr: NDArray[np.int64]
    source: NDArray[np.int64]
    score: Floats
    span: NDArray[np.int64]
    parents: NDArray[np.int64] | None = None

    def expanded(self) -> tuple[Edges, NDArray[np.int64]]:
        """Return the same transitions from single states, and which edge each comes from."""
        K = self.span.size
        group = self.source >= K
        first = np.where(group, self.source - K, self.source)
        counts = np.where(group, self.span[first], 1)
        # an edge out of a group stands for one out of each of its states
        origin = np.repeat(np.arange(counts.size), counts)
        within = np.arange(origin.size) - np.repeat(np.cumsum(counts) - counts, counts)
        indptr = np.concatenate([[0], np.cumsum(counts)])[self.indptr]
        return Edges(indptr, first[origin] + within, self.score[origin]), origin

    @property
    def parent(self) -> NDArray[np.int64]:
        """The smallest group around each state's own group; -1 where there is none."""
        if self.parents is not None:
            return self.parents
        parent = np.full(self.span.size, -1, dtype=np.int64)
        around: list[int] = []
        for k, size in enumerate(self.span.tolist()):
            while around and around[-1] + self.span[around[-1]] <= k:
                around.pop()
            parent[k] = around[-1] if around else -1
            if size > 1:
                around.append(k)
        return parent


class TiedMarginals(NamedTuple):
    """What `tied_marginals` returns: marginals (N, C), totals (E,), (K,), (K,), and log Z."""

    nodes: Floats
    pairs: Floats
    starts: Floats
    ends: Floats
    log_partition: Floats


# --- layout -------------------------------------------------------------------------------------


class LaneLayout(NamedTuple):
    """Where sequences lie when eight of like length stand side by side.

    Group g has the rows ``base[g]:base[g + 1]``. Position n of the stacked sequences lies in row
    ``row[n]`` and lane ``lane[n]``; sequence q in group ``group[q]`` and lane ``own[q]``. ``left``
    (R, lanes) counts the positions that a sequence still has, with that of the row; then zero.
    """

    base: NDArray[np.int64]
    row: NDArray[np.int64]
    lane: NDArray[np.int64]
    group: NDArray[np.int64]
    own: NDArray[np.int64]
    left: Floats

    @classmethod
    def of(cls, lengths: NDArray[np.int64]) -> LaneLayout:
        """Return the layout of sequences of some lengths."""
        order = np.argsort(-lengths, kind="stable")  # no lane waits long for another
        rank = np.empty(lengths.size, dtype=np.int64)
        rank[order] = np.arange(lengths.size)
        base = np.concatenate([[0], np.cumsum(lengths[order[::LANES]])])
        group, own = np.divmod(rank, LANES)
        before = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        row, lane = np.repeat(base[group], lengths) + before, np.repeat(own, lengths)
        left = np.zeros((base[-1], LANES))
        left[row, lane] = np.repeat(lengths, lengths) - before
        return cls(base, row, lane, group, own, left)

    def packed(self, values: Floats) -> Floats:
        """Return what belongs to positions (N, ...) side by side: (R, ..., lanes), or zero."""
        found = np.zeros((self.left.shape[0], *values.shape[1:], LANES))
        np.moveaxis(found, -1, 1)[self.row, self.lane] = values
        return found

    def unpacked(self, packed: Floats) -> Floats:
        """Return what belongs to positions (N, ...) from (R, ..., lanes)."""
        found: Floats = np.moveaxis(packed, -1, 1)[self.row, self.lane]
        return found

    def by_group(self, values: Floats) -> Floats:
        """Return what belongs to sequences by group and lane; zero where there is none."""
        found = np.zeros((self.base.size - 1, LANES))
        found[self.group, self.own] = values
        return found

    def log_scales(self, inverse: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Return the log of the product of what each sequence was divided by, from its inverses."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return -self.sums(np.log(self.unpacked(inverse)), lengths)

    def sums(self, values: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Return the sums over sequences of what belongs to positions (N,)."""
        found: Floats = np.add.reduceat(values, np.cumsum(lengths) - lengths)
        return found


def outgoing_edges(indptr, source):
    """Return the edges by source, single states and then groups: pointer, target and number."""
    K = indptr.shape[0] - 1
    counts = np.bincount(source, minlength=2 * K)
    number = np.argsort(source, kind="stable")
    target = np.repeat(np.arange(K), np.diff(indptr))[number]
    return np.concatenate([[0], np.cumsum(counts)]), target, number


def factors_of(nodes: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return exponentials of scores (N, C), what was taken from each row, and which are in range.

    A row keeps what it has where that is near enough to zero.
    """
    n = nodes.shape[0]
    if nodes.min() > -RANGE and nodes.max() < RANGE:
        return np.exp(nodes), np.zeros(n), np.ones(n, dtype=bool)
    top = nodes.max(axis=1)
    possible = top > -np.inf
    top[~possible] = 0.0
    below = nodes - top[:, None]
    safe = possible & np.all((below > -RANGE) | (below == -np.inf), axis=1)
    return np.exp(below), top, safe


# --- recursions ---------------------------------------------------------------------------------


@njit(cache=True)
def sum_into(indptr, source, weight, alpha, t, k):
    """Return Σ_i alpha[t, i] weight(i, k): over single states and, where i >= K, groups of them."""
    sums = same(0.0)
    for e in range(indptr[k], indptr[k + 1]):
        sums = plus_product(sums, same(weight[e]), get(alpha, (t, source[e])))
    return sums


@njit(cache=True)
def normalise(alpha, t, parent, scale, low):
    """Scale alpha[t] (2K, lanes), fill in sums over groups; return low or the least positive entry.

    Zero is returned for a scale that is not positive.
    """
    K, nothing, one = parent.shape[0], same(0.0), same(1.0)
    low = larger(scale, nothing, low, nothing)
    for k in range(K):
        p = times(get(alpha, (t, k)), scale)
        positive = larger(p, nothing, p, one)
        low = larger(low, positive, positive, low)
        put(alpha, (t, k), p)
        put(alpha, (t, K + k), p)
    for k in range(K - 1, -1, -1):
        if parent[k] >= 0:
            i = K + parent[k]
            # suffixes first: a group is its state with all groups inside
            put(alpha, (t, i), plus(get(alpha, (t, i)), get(alpha, (t, K + k))))
    return low


@njit(cache=True)
def pull_back(out, weight, parent, ratio, t, pulled, beta):
    """Set beta (K, lanes) to what leaves each state for the worths ratio[t] of what it enters.

    ``out`` are the edges of `outgoing_edges`; ``pulled`` is room for 2K rows.
    """
    pointer, target, number = out
    K = parent.shape[0]
    for i in range(2 * K):
        sums = same(0.0)
        for n in range(pointer[i], pointer[i + 1]):
            sums = plus_product(sums, same(weight[number[n]]), get(ratio, (t, target[n])))
        put(pulled, (i,), sums)
    for i in range(K):
        around = get(pulled, (K + i,))
        if parent[i] >= 0:
            around = plus(around, get(pulled, (K + parent[i],)))
            put(pulled, (K + i,), around)
        # what left the state itself and all groups around it
        put(beta, (i,), plus(get(pulled, (i,)), around))


@njit(cache=True)
def add_edges(indptr, source, weight, T, own, alpha, ratio, pairs):
    """Add the marginals of all edges, each sequence by its share ``own``; those of zero not."""
    for j in range(indptr.shape[0] - 1):
        for e in range(indptr[j], indptr[j + 1]):
            i, sums = source[e], same(0.0)
            for t in range(1, T):
                # Σ_t α_{t-1}(i) ratio_t(j), without the edge's own weight
                sums = plus_product(sums, get(alpha, (t - 1, i)), get(ratio, (t, j)))
            # expected uses of an edge; what a share of zero has need not be finite
            pairs[e] += weight[e] * total(larger(own, same(0.0), times(own, sums), same(0.0)))


@njit(cache=True)
def add_states(own, states, totals):
    """Add what sequences have of each state (K, lanes), each by its share; those of zero not."""
    for k in range(totals.shape[0]):
        mine = times(own, get(states, (k,)))
        totals[k] += total(larger(own, same(0.0), mine, same(0.0)))


@njit(cache=True)
def _forward(start, edges, column, end, factor, left, first, T, alpha, inverse):
    """Fill alpha (T, 2K, lanes) with P(state | positions so far), then the sums over groups.

    Return the least of its positive entries.
    """
    indptr, source, weight, parent = edges
    nothing, one, low = same(0.0), same(1.0), same(1.0)
    for t in range(T):
        inside, whole = get(left, (first + t,)), nothing
        for j in range(column.shape[0]):
            # α_{t-1}: single states, then sums over groups
            sums = sum_into(indptr, source, weight, alpha, t - 1, j) if t > 0 else same(start[j])
            sums = times(sums, get(factor, (first + t, column[j])))
            sums = times(sums, larger(inside, one, one, same(end[j])))
            put(alpha, (t, j), sums)
            whole = plus(whole, sums)
        scale = larger(whole, nothing, quotient(one, whole), nothing)
        put(inverse, (first + t,), scale)
        low = normalise(alpha, t, parent, larger(inside, nothing, scale, one), low)
    return low


@njit(cache=True)
def _backward(
    outgoing, weight, parent, column, end, factor, left, first, T, alpha, inverse, room, shared
):
    """Fill ratio with what an edge into a state is worth, and shared with node marginals.

    The marginal of an edge i → j at t is alpha[t-1, i] weight ratio[t, j]; ``last`` gets those of
    states at the ends of sequences.
    """
    ratio, pulled, beta, last = room
    nothing, one = same(0.0), same(1.0)
    for t in range(T - 1, -1, -1):
        inside, scale = get(left, (first + t,)), get(inverse, (first + t,))
        for j in range(column.shape[0]):
            c, past = column[j], get(alpha, (t, j))
            future = get(beta, (j,)) if t < T - 1 else nothing
            known = get(last, (j,)) if t < T - 1 else nothing
            put(last, (j,), larger(inside, one, known, larger(inside, nothing, past, nothing)))
            future = larger(inside, one, future, one)
            # A state that cannot be reached may have a boundless future: leave it out.
            future = larger(past, nothing, future, nothing)
            # α_t(j) β_t(j), already normalised
            put(shared, (first + t, c), plus_product(get(shared, (first + t, c)), past, future))
            future = times(times(future, get(factor, (first + t, c))), scale)
            put(ratio, (t, j), times(future, larger(inside, one, one, same(end[j]))))
        if t > 0:
            pull_back(outgoing, weight, parent, ratio, t, pulled, beta)


@njit(cache=True, nogil=True)
def _tied(start, edges, outgoing, column, end, factor, left, base, share, room, out):
    """Fill the arrays of ``out`` group by group."""
    shared, inverse, pairs, starts, ends, least = out
    alpha, ratio, pulled, beta, last = room
    indptr, source, weight, parent = edges
    for g in range(base.shape[0] - 1):
        first, T = base[g], base[g + 1] - base[g]
        low = _forward(start, edges, column, end, factor, left, first, T, alpha, inverse)
        put(least, (g,), low)
        own = larger(low, same(TINY), get(share, (g,)), same(0.0))
        _backward(
            outgoing, weight, parent, column, end, factor, left, first, T, alpha, inverse,
            (ratio, pulled, beta, last), shared,
        )  # fmt: skip
        add_edges(indptr, source, weight, T, own, alpha, ratio, pairs)
        add_states(own, last, ends)
        for k in range(column.shape[0]):
            worth = times(same(start[k]), get(ratio, (0, k)))
            put(last, (k,), larger(get(alpha, (0, k)), same(0.0), worth, same(0.0)))
        add_states(own, last, starts)


def lanes_of(*shape: int) -> Floats:
    """Return room for numbers of all lanes."""
    return np.empty((*shape, LANES))


def tied_marginals(
    start: Floats,
    edges: GroupedEdges,
    nodes: Floats,
    column: NDArray[np.int64],
    lengths: NDArray[np.int64],
    *,
    end: Floats | None = None,
    weight: Floats | None = None,
) -> TiedMarginals:
    """Return marginals of positions and totals of the marginals of transitions.

    Parameters
    ----------
    start : ndarray of shape (K,)
        Scores of the first state.
    edges : GroupedEdges
        Transitions; their scores are (E,).
    nodes : ndarray of shape (N, C)
        Scores of positions, stacked; state k has those of column[k].
    column : ndarray of int of shape (K,)
        The column of each state.
    lengths : ndarray of int
        Lengths of the sequences.
    end : ndarray of shape (K,), optional
        Scores of the last state.
    weight : ndarray of shape (n_sequences,), optional
        What each sequence counts for in the totals.

    Returns
    -------
    marginals : TiedMarginals
        Named tuple: nodes (N, C), and totals over all sequences of transitions (E,), of first
        and of last states (K,); log_partition of each sequence.
    """
    lengths = check_lengths(lengths, nodes.shape[0], name="nodes")
    K, n = column.size, lengths.size
    end = np.zeros(K) if end is None else np.asarray(end, dtype=np.float64)
    share = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    out = TiedMarginals(
        np.zeros(nodes.shape), np.zeros(edges.source.size), np.zeros(K), np.zeros(K), np.empty(n)
    )
    trusted = _linear_sums(start, edges, nodes, column, lengths, end, share, out)
    if not trusted.all():
        single, origin = edges.expanded()
        for q in np.flatnonzero(~trusted):
            rows = slice(ptr[q], ptr[q + 1])
            wide = nodes[rows][:, column]
            wide[-1] += end
            out.log_partition[q] = _one(start, single, origin, wide, column, rows, share[q], out)
    return out


def _linear_sums(
    start: Floats,
    edges: GroupedEdges,
    nodes: Floats,
    column: NDArray[np.int64],
    lengths: NDArray[np.int64],
    end: Floats,
    share: Floats,
    out: TiedMarginals,
) -> NDArray[np.bool_]:
    """Fill what sums in linear arithmetic give; tell which sequences can be trusted."""
    linear, shift, in_range = zip(*(exp_in_place(x) for x in (start, edges.score, end)))
    if not all(in_range):
        return np.zeros(lengths.size, dtype=bool)
    layout, K = LaneLayout.of(lengths), column.size
    longest = int(lengths.max())
    factor, top, safe = factors_of(nodes)
    trusted = layout.sums(~safe, lengths) == 0
    factor = layout.packed(factor)
    shared, inverse, least = np.zeros(factor.shape), lanes_of(layout.base[-1]), layout.by_group(0.0)
    _tied(
        linear[0],
        (edges.indptr, edges.source, linear[1], edges.parent),
        outgoing_edges(edges.indptr, edges.source),
        column,
        linear[2],
        factor,
        layout.left,
        layout.base,
        layout.by_group(np.where(trusted, share, 0.0)),
        (lanes_of(longest, 2 * K), lanes_of(longest, K), lanes_of(2 * K), lanes_of(K), lanes_of(K)),
        (shared, inverse, out.pairs, out.starts, out.ends, least),
    )
    trusted &= least[layout.group, layout.own] > TINY
    out.nodes[:] = layout.unpacked(shared)
    out.log_partition[:] = layout.log_scales(inverse, lengths) + layout.sums(top, lengths)
    out.log_partition[:] += shift[0] + (lengths - 1) * shift[1] + shift[2]
    return trusted


def exp_in_place(scores: Floats) -> tuple[Floats, float, bool]:
    """Return exp(scores - shift), the shift, and whether no factor is tiny."""
    shift = float(scores.max()) if scores.size else 0.0
    if shift == -np.inf:
        shift = 0.0
    below = scores - shift
    return np.exp(below), shift, bool(np.all((below > -RANGE) | (below == -np.inf)))


def _one(start, edges, origin, wide, column, rows, share, out: TiedMarginals) -> float:
    """Do one sequence by `chain_marginals`, with scores ``wide`` of its states; return log Z."""
    found = chain_marginals(start, edges, wide, pairs="total")
    out.nodes[rows] = 0.0
    np.add.at(out.nodes[rows].T, column, found.nodes.T)
    out.pairs[:] += share * np.bincount(origin, found.pairs, minlength=out.pairs.size)
    out.starts[:] += share * found.nodes[0]
    out.ends[:] += share * found.nodes[-1]
    return float(found.log_partition[0])


def _warmup() -> None:
    edges = GroupedEdges(np.array([0, 1, 2]), np.array([0, 1]), np.zeros(2), np.ones(2, np.int64))
    tied_marginals(np.zeros(2), edges, np.zeros((3, 2)), np.arange(2), np.array([2, 1]))
