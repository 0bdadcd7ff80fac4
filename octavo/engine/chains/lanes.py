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

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.chains.inference import Edges, chain_marginals
from octavo.engine.chains.sequences import check_lengths
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

_LANES = 8
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


def _outgoing(indptr, source):
    """Return the edges by source, single states and then groups: pointer, target and number."""
    K = indptr.shape[0] - 1
    counts = np.bincount(source, minlength=2 * K)
    number = np.argsort(source, kind="stable")
    target = np.repeat(np.arange(K), np.diff(indptr))[number]
    return np.concatenate([[0], np.cumsum(counts)]), target, number


@njit(cache=True)
def _load(nodes, ptr, lanes, factor, log_z, trusted):
    """Fill factor (T, C, lanes) with exp(nodes - their maximum), 0 after a sequence's end."""
    C = nodes.shape[1]
    for t in range(ptr[lanes[0] + 1] - ptr[lanes[0]]):
        for c in range(C):
            for b in range(_LANES):
                factor[t, c, b] = 0.0
    for b in range(lanes.shape[0]):
        q = lanes[b]
        log_z[q] = 0.0
        for t in range(ptr[q + 1] - ptr[q]):
            row = nodes[ptr[q] + t]
            top = -np.inf
            for c in range(C):
                top = max(top, row[c])
            if top == -np.inf:
                trusted[q] = False
                break
            log_z[q] += top  # log Z gets back what the factors lose
            for c in range(C):
                below = row[c] - top
                factor[t, c, b] = math.exp(below)
                if below < -RANGE and below > -np.inf:
                    trusted[q] = False


@njit(cache=True)
def _forward(start, edges, column, end, factor, size, alpha, inverse, least):
    """Fill alpha (T, 2K, lanes) with P(state | positions so far), then the sums over groups."""
    indptr, source, weight, parent = edges
    K = column.shape[0]
    sums, total = np.empty(_LANES), np.empty(_LANES)
    for b in range(_LANES):
        least[b] = 1.0
    for t in range(size[0]):
        ends_here = False
        for b in range(size.shape[0]):
            ends_here |= t == size[b] - 1
        for b in range(_LANES):
            total[b] = 0.0
        for j in range(K):
            for b in range(_LANES):
                sums[b] = start[j] if t == 0 else 0.0
            if t > 0:
                for e in range(indptr[j], indptr[j + 1]):
                    w, i = weight[e], source[e]
                    for b in range(_LANES):
                        # α_{t-1}: single states, then sums over groups
                        sums[b] += w * alpha[t - 1, i, b]
            c = column[j]
            for b in range(_LANES):
                alpha[t, j, b] = sums[b] * factor[t, c, b]
            if ends_here:
                for b in range(size.shape[0]):
                    if t == size[b] - 1:
                        alpha[t, j, b] *= end[j]
            for b in range(_LANES):
                total[b] += alpha[t, j, b]
        for b in range(_LANES):
            inverse[t, b] = 1.0 / total[b] if total[b] > 0.0 else 0.0
        for j in range(K):
            for b in range(_LANES):
                p = alpha[t, j, b] * inverse[t, b]
                least[b] = min(least[b], p if p > 0.0 else 1.0)
                alpha[t, j, b] = alpha[t, K + j, b] = p
        for j in range(K - 1, -1, -1):
            if parent[j] >= 0:
                i = K + parent[j]
                for b in range(_LANES):
                    # suffixes first: a group is its state with all groups inside
                    alpha[t, i, b] += alpha[t, K + j, b]


@njit(cache=True)
def _backward(out, weight, parent, column, end, factor, size, alpha, inverse, ratio, shared):
    """Fill ratio with what an edge into a state is worth, and shared with node marginals.

    The marginal of an edge i → j at t is alpha[t-1, i] weight ratio[t, j].
    """
    pointer, target, number = out
    K = column.shape[0]
    beta, pulled = np.empty((K, _LANES)), np.empty((2 * K, _LANES))
    sums = np.empty(_LANES)
    for j in range(K):
        for b in range(_LANES):
            beta[j, b] = 0.0
    for t in range(size[0] - 1, -1, -1):
        for c in range(shared.shape[1]):
            for b in range(_LANES):
                shared[t, c, b] = 0.0
        ends_here = False
        for b in range(size.shape[0]):
            if t == size[b] - 1:
                for j in range(K):
                    beta[j, b] = 1.0
                ends_here = True
        for j in range(K):
            c = column[j]
            for b in range(_LANES):
                # A state that cannot be reached may have a boundless future: leave it out.
                future = beta[j, b] if alpha[t, j, b] > 0.0 else 0.0
                shared[t, c, b] += alpha[t, j, b] * future  # α_t(j) β_t(j), already normalised
                ratio[t, j, b] = future * factor[t, c, b] * inverse[t, b]
            if ends_here:
                for b in range(size.shape[0]):
                    if t == size[b] - 1:
                        ratio[t, j, b] *= end[j]
        if t == 0:
            break
        for i in range(2 * K):
            for b in range(_LANES):
                sums[b] = 0.0
            for n in range(pointer[i], pointer[i + 1]):
                w, j = weight[number[n]], target[n]
                for b in range(_LANES):
                    sums[b] += w * ratio[t, j, b]
            for b in range(_LANES):
                pulled[i, b] = sums[b]
        for i in range(K):
            if parent[i] >= 0:
                k = K + parent[i]
                for b in range(_LANES):
                    pulled[K + i, b] += pulled[k, b]
            for b in range(_LANES):
                # what left the state itself and all groups around it
                beta[i, b] = pulled[i, b] + pulled[K + i, b]


@njit(cache=True)
def _add_edges(indptr, source, weight, size, share, alpha, ratio, pairs):
    """Add the marginals of all edges, each sequence by its share."""
    sums = np.empty(_LANES)
    for j in range(indptr.shape[0] - 1):
        for e in range(indptr[j], indptr[j + 1]):
            i = source[e]
            for b in range(_LANES):
                sums[b] = 0.0
            for t in range(1, size[0]):
                for b in range(_LANES):
                    # Σ_t α_{t-1}(i) ratio_t(j), without the edge's own weight
                    sums[b] += alpha[t - 1, i, b] * ratio[t, j, b]
            total = 0.0
            for b in range(share.shape[0]):
                total += share[b] * sums[b]
            pairs[e] += weight[e] * total  # expected uses of an edge, by shares of sequences


@njit(cache=True)
def _log_partitions(lanes, size, inverse, least, share, log_z, trusted, own):
    """Add the logs of the scales to log Z; ``own`` is 0 for a sequence not to be trusted."""
    for b in range(lanes.shape[0]):
        q = lanes[b]
        own[b] = 0.0
        trusted[q] &= least[b] > TINY and inverse[size[b] - 1, b] > 0.0
        if trusted[q]:
            own[b] = share[q]
            product = 1.0  # log Z = -Σ log of the inverse normalisers, in few logarithms
            for t in range(size[b]):
                product *= inverse[t, b]
                if product > 1e150 or product < 1e-150:
                    log_z[q] -= math.log(product)
                    product = 1.0
            log_z[q] -= math.log(product)


@njit(cache=True)
def _hand_over(first, length, b, own, start, marginal, alpha, ratio, shared, starts, ends):
    """Write the marginals of lane b, a sequence that begins at row ``first``."""
    for t in range(length):
        for c in range(shared.shape[1]):
            shared[first + t, c] = marginal[t, c, b]
    for k in range(start.shape[0]):
        ends[k] += own * alpha[length - 1, k, b]
        if alpha[0, k, b] > 0.0:
            starts[k] += own * start[k] * ratio[0, k, b]


@njit(cache=True)
def _forget_lane(T, b, alpha, ratio):
    """Set a lane to zero: what it holds may not be finite."""
    for t in range(T):
        for k in range(alpha.shape[1]):
            alpha[t, k, b] = 0.0
        for k in range(ratio.shape[1]):
            ratio[t, k, b] = 0.0


# Plain loops instead of slices and array expressions: they run as fast and compile faster
# (an array assigned to a slice brings the text of numba's error message with it).
@njit(cache=True, nogil=True)
def _tied(start, edges, outgoing, nodes, column, end, ptr, order, share, room, trusted, out):
    """Fill the arrays of ``out`` group by group; tell which sequences can be trusted."""
    shared, pairs, starts, ends, log_z = out
    factor, marginal, alpha, ratio, inverse, least, own_shares, sizes = room
    indptr, source, weight, parent = edges
    for g in range(0, order.shape[0], _LANES):
        lanes = order[g : g + _LANES]
        size, own = sizes[: lanes.shape[0]], own_shares[: lanes.shape[0]]
        for b in range(lanes.shape[0]):
            size[b] = ptr[lanes[b] + 1] - ptr[lanes[b]]
        _load(nodes, ptr, lanes, factor, log_z, trusted)
        _forward(start, edges, column, end, factor, size, alpha, inverse, least)
        _log_partitions(lanes, size, inverse, least, share, log_z, trusted, own)
        _backward(
            outgoing, weight, parent, column, end, factor, size, alpha, inverse, ratio, marginal
        )
        for b in range(lanes.shape[0]):
            if trusted[lanes[b]]:
                _hand_over(
                    ptr[lanes[b]], size[b], b, own[b], start, marginal, alpha, ratio, shared,
                    starts, ends,
                )  # fmt: skip
            else:
                _forget_lane(size[0], b, alpha, ratio)
        _add_edges(indptr, source, weight, size, own, alpha, ratio, pairs)


def _room(longest: int, C: int, K: int) -> tuple[NDArray[Any], ...]:
    """Return the arrays that `_tied` works in: made here, they cost the kernel no code."""
    tables = [np.empty((longest, width, _LANES)) for width in (C, C, 2 * K, K)]
    return (
        *tables, np.empty((longest, _LANES)), np.empty(_LANES), np.empty(_LANES),
        np.empty(_LANES, np.int64),
    )  # fmt: skip


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
    linear, shift, in_range = zip(*(exp_in_place(x) for x in (start, edges.score, end)))
    if all(in_range):
        # lanes of about equal length: none waits long for another
        order = np.argsort(-lengths, kind="stable")
        trusted = np.ones(n, dtype=bool)
        _tied(
            linear[0],
            (edges.indptr, edges.source, linear[1], edges.parent),
            _outgoing(edges.indptr, edges.source),
            np.ascontiguousarray(nodes, dtype=np.float64),
            column,
            linear[2],
            ptr,
            order,
            share,
            _room(int(lengths.max()), nodes.shape[1], K),
            trusted,
            tuple(out),
        )
        out.log_partition[:] += shift[0] + (lengths - 1) * shift[1] + shift[2]
    else:
        trusted = np.zeros(n, dtype=bool)
    if not trusted.all():
        single, origin = edges.expanded()
        for q in np.flatnonzero(~trusted):
            rows = slice(ptr[q], ptr[q + 1])
            wide = nodes[rows][:, column]
            wide[-1] += end
            out.log_partition[q] = _one(start, single, origin, wide, column, rows, share[q], out)
    return out


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
    np.add.at(out.nodes[rows].T, column, found.nodes.T)
    out.pairs[:] += share * np.bincount(origin, found.pairs, minlength=out.pairs.size)
    out.starts[:] += share * found.nodes[0]
    out.ends[:] += share * found.nodes[-1]
    return float(found.log_partition[0])


def _warmup() -> None:
    edges = GroupedEdges(np.array([0, 1, 2]), np.array([0, 1]), np.zeros(2), np.ones(2, np.int64))
    tied_marginals(np.zeros(2), edges, np.zeros((3, 2)), np.arange(2), np.array([2, 1]))
