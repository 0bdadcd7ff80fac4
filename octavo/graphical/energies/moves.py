"""Moves that lower an energy by minimum cuts: intervals of labels, one label, or two.

Each sweep offers every move once; a move is taken where it lowers the energy. Runs end when no move
of a whole round does, or after `max_sweeps` sweeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Indices
from octavo.engine.graphs.max_flow import FlowGraph, minimum_cut
from octavo.graphical.energies.interval_graphs import IntervalMove, best_labels, forced_move
from octavo.graphical.energies.problem import PairwiseMRF
from octavo.graphical.energies.warm_cuts import WarmCuts

ROUNDING = 1e-12  # a gain below this share of the energy is none


class MoveTrace(NamedTuple):
    """Labels, and the energy and the seconds at the start and after each move that was taken."""

    labels: Indices
    energies: list[float]
    seconds: list[float]
    converged: bool


def make_moves(
    mrf: PairwiseMRF,
    labels: Indices,
    moves: Sequence[Any],
    propose: Callable[[PairwiseMRF, Indices, Any], Indices | None],
    *,
    max_sweeps: int,
    rng: np.random.RandomState | None = None,
    report: Callable[[], bool] | None = None,
) -> MoveTrace:
    """Offer moves in sweeps until none of them lowers the energy (Table 3).

    Parameters
    ----------
    mrf : PairwiseMRF
        The energy.
    labels : ndarray of int of shape (n_variables,)
        Where to start.
    moves : sequence
        What `propose` knows a move by.
    propose : callable
        Returns the labels after a move, or None where it changes nothing.
    max_sweeps : int
        Most sweeps over all moves.
    rng : RandomState, default=None
        Draws an order of the moves for each sweep; theirs by default.
    report : callable, default=None
        Called after each sweep; True stops.

    Returns
    -------
    trace : MoveTrace
        Energies fall throughout.
    """
    energy = mrf.energy_of(labels)
    scale = float(np.abs(mrf.costs).max(axis=1).sum())
    energies, seconds, began = [energy], [0.0], time.perf_counter()
    failed: set[int] = set()  # moves that were tried since the labels last changed
    for _ in range(max_sweeps):
        order = range(len(moves)) if rng is None else rng.permutation(len(moves))
        for number in order:
            if number in failed:
                continue
            proposed = propose(mrf, labels, moves[number])
            value = np.inf if proposed is None else mrf.energy_of(proposed)
            failed.add(int(number))
            # Eq. (6): only what lowers the energy
            if proposed is not None and value < energy - ROUNDING * max(scale, abs(value)):
                labels, energy, failed = proposed, value, {int(number)}
                energies.append(energy)
                seconds.append(time.perf_counter() - began)
        stop = report is not None and report()
        if len(failed) == len(moves) or stop:
            break
    return MoveTrace(labels, energies, seconds, len(failed) == len(moves))


def expansion_intervals(n_labels: int, length: int) -> list[tuple[int, int]]:
    """Return the first and last labels of all intervals that Eq. (12) needs, short ones too.

    The highest come first: a chain gains a node beside the source from one cut to the next, where
    its flow from the cut before still fits, and cuts take two thirds of the time.
    """
    # from i = -L on: Table 3's i_m = 0 would never offer label 0
    starts = range(n_labels - 2, -length - 1, -1) if n_labels > 1 else range(-1, 0)
    found = [(max(0, i + 1), min(i + length, n_labels - 1)) for i in starts]
    return list(dict.fromkeys(found))


def swap_intervals(n_labels: int, length: int) -> list[tuple[int, int]]:
    """Return the first and last labels of the intervals of full length."""
    return [(i, i + length - 1) for i in range(n_labels - length + 1)]


def warm_expansion(mrf: PairwiseMRF) -> Callable[..., Indices | None]:
    """Return `expand_range` with cuts that begin with the flows of earlier ones."""
    cuts = WarmCuts(mrf)

    def propose(mrf: PairwiseMRF, labels: Indices, interval: tuple[int, int]) -> Indices | None:
        taken = cuts.best_labels(interval, labels)
        return np.where(taken < 0, labels, interval[0] + taken)

    return propose


def expand_range(
    mrf: PairwiseMRF, labels: Indices, interval: tuple[int, int], backend: str
) -> Indices | None:
    """Let everyone keep its label or take one of the interval (Section 6.1)."""
    low, high = interval
    a, b = mrf.edges.T
    inside = (labels >= low) & (labels <= high)
    move = IntervalMove(
        mrf.costs[:, low : high + 1],
        mrf.edges,
        mrf.weights,
        inside,
        mrf.costs[np.arange(mrf.n_variables), labels],
        mrf.weights * mrf.pair_costs[labels[a], labels[b]],
        mrf.truncation,
    )
    taken = best_labels(move, mrf.differences, backend)
    return np.where(taken < 0, labels, low + taken)  # Eq. (8); Eq. (6) is with the caller


def swap_range(
    mrf: PairwiseMRF, labels: Indices, interval: tuple[int, int], backend: str
) -> Indices | None:
    """Give those with a label of the interval another of it (Sections 5.1 and 5.2)."""
    low, high = interval
    a, b = mrf.edges.T
    inside = (labels >= low) & (labels <= high)
    # Section 5.2: a truncated pair within the interval stays out
    torn = inside[a] & inside[b] & (mrf.differences[np.abs(labels[a] - labels[b])] > mrf.truncation)
    takes_part = inside.copy()
    takes_part[a[torn]] = takes_part[b[torn]] = False
    return _forced(mrf, labels, takes_part, low, high, backend)


def _forced(
    mrf: PairwiseMRF, labels: Indices, takes_part: Any, low: int, high: int, backend: str
) -> Indices | None:
    """Return labels after the best forced move of the participants, the others fixed."""
    who = np.flatnonzero(takes_part)
    if not len(who):
        return None
    a, b = mrf.edges.T
    place = np.cumsum(takes_part) - 1
    costs = mrf.costs[who, low : high + 1].copy()
    for here, there in ((a, b), (b, a)):  # one fixed neighbour: Section 5.1.2
        border = takes_part[here] & ~takes_part[there]
        added = mrf.pair_costs[labels[there[border]], low : high + 1] * mrf.weights[border, None]
        np.add.at(costs, place[here[border]], added)
    within = takes_part[a] & takes_part[b]
    # Sections 5.1.1 and 5.1.3
    move = forced_move(costs, place[mrf.edges[within]], mrf.weights[within])
    proposed = labels.copy()
    proposed[who] = low + best_labels(move, mrf.differences, backend)
    return proposed


def solve_convex(mrf: PairwiseMRF, backend: str) -> Indices:
    """Return the optimum of an energy without truncation by one cut over all labels."""
    everyone = np.ones(mrf.n_variables, dtype=bool)
    start = np.zeros(mrf.n_variables, dtype=np.intp)
    found = _forced(mrf, start, everyone, 0, mrf.n_labels - 1, backend)
    return start if found is None else found


def expand_label(mrf: PairwiseMRF, labels: Indices, alpha: int, backend: str) -> Indices | None:
    """Let everyone keep its label or take alpha; capacities below 0 are dropped (footnote 3)."""
    (a, b), w = mrf.edges.T, mrf.weights
    n = mrf.n_variables
    both = w * mrf.pair_costs[labels[a], labels[b]]
    only_b, only_a = w * mrf.pair_costs[labels[a], alpha], w * mrf.pair_costs[alpha, labels[b]]
    # E(x_a, x_b) = both + (only_a - both) x_a - only_a x_b + (only_a + only_b - both) (1 - x_a) x_b
    # θ_a(α) - θ_a(f_a), and the linear part of the pairs
    gain = mrf.costs[:, alpha] - mrf.costs[np.arange(n), labels]
    gain += np.bincount(a, only_a - both, n) + np.bincount(b, -only_a, n)
    return _binary(labels, alpha, gain, mrf.edges, np.maximum(only_a + only_b - both, 0.0), backend)


def either_move(
    ranges: Sequence[tuple[int, int]],
    move_range: Callable[..., Indices | None],
    labels: Sequence[int],
    move_label: Callable[..., Indices | None],
) -> tuple[list[Any], Callable[..., Indices | None]]:
    """Return moves of intervals and of one label as one list, and what proposes both."""

    def propose(mrf: PairwiseMRF, now: Indices, move: Any) -> Indices | None:
        return (move_range if isinstance(move, tuple) else move_label)(mrf, now, move)

    return [*ranges, *labels], propose


def joined_traces(first: MoveTrace, second: MoveTrace) -> MoveTrace:
    """Return two runs as one, the second of which began where the first ended."""
    late = [first.seconds[-1] + s for s in second.seconds[1:]]
    return MoveTrace(
        second.labels, first.energies + second.energies[1:], first.seconds + late, second.converged
    )


def _binary(
    labels: Indices, alpha: int, gain: Any, edges: Any, capacity: Any, backend: str
) -> Indices:
    """Return labels with alpha for those that a cut puts on the sink's side."""
    a, b = np.ascontiguousarray(edges.T, dtype=np.int32)
    graph = FlowGraph(
        np.maximum(gain, 0.0), np.maximum(-gain, 0.0), a, b, capacity, np.zeros(len(a))
    )
    keeps = minimum_cut(graph, backend=backend).source_side
    return np.where(keeps, labels, alpha)


def swap_labels(
    mrf: PairwiseMRF, labels: Indices, pair: tuple[int, int], backend: str
) -> Indices | None:
    """Give those with label alpha or beta the better of both."""
    alpha, beta = pair
    part = (labels == alpha) | (labels == beta)
    who = np.flatnonzero(part)
    if not len(who):
        return None
    a, b = mrf.edges.T
    place = np.cumsum(part) - 1
    gain = mrf.costs[who, beta] - mrf.costs[who, alpha]
    for here, there in ((a, b), (b, a)):
        border = part[here] & ~part[there]
        other = labels[there[border]]
        change = mrf.pair_costs[other, beta] - mrf.pair_costs[other, alpha]
        gain += np.bincount(place[here[border]], change * mrf.weights[border], len(who))
    within = part[a] & part[b]
    ends = place[mrf.edges[within]].astype(np.int32)
    tails, heads = ends[:, 0].copy(), ends[:, 1].copy()
    capacity = mrf.weights[within] * mrf.pair_costs[alpha, beta]
    # the source's side keeps alpha: alpha is paid at the sink, beta at the source
    graph = FlowGraph(np.maximum(gain, 0), np.maximum(-gain, 0), tails, heads, capacity, capacity)
    proposed = labels.copy()
    proposed[who] = np.where(minimum_cut(graph, backend=backend).source_side, alpha, beta)
    return proposed


@njit(cache=True)
def _conditional_modes(costs, indptr, other, weights, pair_costs, labels):
    """Give each variable its best label, neighbours fixed; return how many changed."""
    n, h = costs.shape
    cost = np.empty(h)
    changed = 0
    for i in range(n):
        for k in range(h):
            cost[k] = costs[i, k]
        for p in range(indptr[i], indptr[i + 1]):
            for k in range(h):
                cost[k] += weights[p] * pair_costs[labels[other[p]], k]
        best = 0
        for k in range(1, h):
            if cost[k] < cost[best]:
                best = k
        if cost[best] < cost[labels[i]]:
            labels[i] = best
            changed += 1
    return changed


def conditional_modes(
    mrf: PairwiseMRF,
    labels: Indices,
    neighbours: tuple[Any, Any, Any],
    *,
    max_sweeps: int,
    report: Callable[[], bool] | None = None,
) -> MoveTrace:
    """Change one variable at a time while that lowers the energy."""
    indptr, other, edge = neighbours
    f = labels.astype(np.int64)
    energies, seconds, began = [mrf.energy_of(labels)], [0.0], time.perf_counter()
    changed = 1
    for _ in range(max_sweeps):
        changed = _conditional_modes(mrf.costs, indptr, other, mrf.weights[edge], mrf.pair_costs, f)
        if changed:
            energies.append(mrf.energy_of(f))
            seconds.append(time.perf_counter() - began)
        if (report is not None and report()) or not changed:
            break
    return MoveTrace(f.astype(np.intp), energies, seconds, not changed)


def _warmup() -> None:
    one, zero = np.ones(1), np.zeros(2, dtype=np.int64)
    pairs = np.array([1, 0]), np.array([0, 0])
    mrf = PairwiseMRF([[0.0, 1.0], [1.0, 0.0]], [[0, 1]], float(one[0]), "linear", 1.0)
    conditional_modes(mrf, zero, (np.array([0, 1, 2]), *pairs), max_sweeps=1)
