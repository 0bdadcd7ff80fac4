"""One minimum cut that gives many variables a label of an interval: Sections 5.1 and 6.1.

Every participating variable has a chain of nodes, one for each label of the interval; the last
node of its chain on the source's side is its label. A variable that must take a label of the
interval has its first node in the source; one that may also keep its label outside has its first
node on the sink's side when it does. The vertex p_ab of the paper is eliminated (its footnote 2):
min over its two sides is T/2 for each of the two that stays and c - T/2 for a pair that parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.graphs.max_flow import FlowGraph, minimum_cut


class IntervalMove(NamedTuple):
    """What a cut decides about.

    ``costs`` (p, l) are those of the labels of the interval; ``pairs`` (q, 2) and ``weights`` are
    edges between participants; ``forced`` (p,) says who must take a label of the interval;
    ``keep`` (p,) is the unary cost of staying outside and ``kept_pairs`` (q,) the pairwise cost
    when both ends do; ``truncation`` is M, read where somebody may stay.
    """

    costs: Floats
    pairs: Ints
    weights: Floats
    forced: NDArray[np.bool_]
    keep: Floats
    kept_pairs: Floats
    truncation: float


def forced_move(costs: Floats, pairs: Ints, weights: Floats) -> IntervalMove:
    """Return a move in which everyone takes a label of the interval (Section 5.1)."""
    p = len(costs)
    return IntervalMove(
        costs, pairs, weights, np.ones(p, bool), np.zeros(p), np.zeros(len(pairs)), 0.0
    )


def second_differences(d: Floats) -> Floats:
    """Return d(x + 1) - 2 d(x) + d(x - 1) for x = 0, 1, ..., d being even."""
    # the curvature of d in Eq. (4); d(1) - 2d(0) + d(-1) = 2d(1)
    return np.concatenate([[2 * d[1]], d[2:] - 2 * d[1:-1] + d[:-2]])


def interval_graph(move: IntervalMove, differences: Floats) -> tuple[FlowGraph, float]:
    """Return the graph of a move and the constant that its cuts leave out.

    Parameters
    ----------
    move : IntervalMove
        Participants and costs.
    differences : ndarray of shape (n_labels + 1,)
        d(0), d(1), ...

    Returns
    -------
    graph : FlowGraph
        Node a l + k stands for label k of participant a; first nodes of the forced stand alone.
    constant : float
        What is added to the value of a cut: it is then the sum of all costs, with w d(l) more for
        each pair (κ of Lemma 1).
    """
    p, length = move.costs.shape
    d, (a, b), half = differences, move.pairs.T, 0.5 * move.weights
    free_a, free_b = ~move.forced[a], ~move.forced[b]
    k = np.arange(length)
    # Eq. (5), with k - i_m = k + 1 for labels counted from 0
    degree = np.bincount(a, half, p) + np.bincount(b, half, p)
    # Eq. (3), and Eq. (5)
    chain = move.costs + np.multiply.outer(degree, d[length - 1 - k] + d[k + 1])
    # Eq. (7), the edges of Fig. 5(a, b) from the source, and T/2 of Fig. 5(c)
    kappa = move.weights * d[length]
    stay = move.keep.copy()
    if free_a.any() or free_b.any():
        alone = move.weights * move.truncation + 0.5 * kappa
        together = 0.5 * (move.kept_pairs + kappa)
        stay += np.bincount(a, np.where(free_b, together, alone), p)
        stay += np.bincount(b, np.where(free_a, together, alone), p)
    stay = np.where(move.forced, np.inf, stay)

    least = np.minimum(chain.min(axis=1), stay)  # flows straight through the chain
    chain -= least[:, None]
    stay -= least

    nodes = np.arange(p * length).reshape(p, length)
    source, sink = np.zeros(p * length), np.zeros(p * length)
    sink[nodes[:, -1]] = chain[:, -1]
    free = ~move.forced
    source[nodes[free, 0]] = stay[free]
    if length > 1:
        source[nodes[move.forced, 1]] = chain[move.forced, 0]
        up = np.ones((p, length - 1), dtype=bool)
        up[move.forced, 0] = False
    else:
        sink[nodes[move.forced, 0]] = 0.0  # the only label: in the constant
        up = np.ones((p, 0), dtype=bool)
    tails, heads, caps, reverse = [nodes[:, :-1][up]], [nodes[:, 1:][up]], [chain[:, :-1][up]], []
    reverse.append(np.full(len(tails[0]), np.inf))

    bend = second_differences(d)
    for ka, kb in np.ndindex(length, length):
        if abs(ka - kb) >= len(bend) or bend[abs(ka - kb)] <= 0 or (ka == 0 and kb == 0):
            continue
        capacity = half * bend[abs(ka - kb)]  # Eq. (4)
        start, end = nodes[a, ka], nodes[b, kb]
        if ka == 0 or kb == 0:  # first nodes of the forced are the source
            fixed = move.forced[a] if ka == 0 else move.forced[b]
            np.add.at(source, (end if ka == 0 else start)[fixed], capacity[fixed])
            start, end, capacity = start[~fixed], end[~fixed], capacity[~fixed]
        tails.append(start)
        heads.append(end)
        caps.append(capacity)
        reverse.append(capacity)
    both = free_a & free_b
    if both.any():  # c - T/2 of Fig. 5(c)
        part = (move.weights * move.truncation - 0.5 * move.kept_pairs)[both]
        tails.append(nodes[a[both], 0])
        heads.append(nodes[b[both], 0])
        caps.append(part)
        reverse.append(part)
    graph = FlowGraph(
        source,
        sink,
        np.concatenate(tails).astype(np.int32),
        np.concatenate(heads).astype(np.int32),
        np.concatenate(caps),
        np.concatenate(reverse),
    )
    return graph, float(least.sum())


def best_labels(move: IntervalMove, differences: Floats, backend: str) -> Indices:
    """Return the label of each participant, counted from the interval's first; -1 keeps.

    Parameters
    ----------
    move : IntervalMove
        Participants and costs.
    differences : ndarray of shape (n_labels + 1,)
        d(0), d(1), ...
    backend : str
        Of `minimum_cut`.

    Returns
    -------
    labels : ndarray of int of shape (p,)
        Eq. (3) and (8).
    """
    graph, _ = interval_graph(move, differences)
    side = minimum_cut(graph, backend=backend).source_side.reshape(move.costs.shape).copy()
    side[move.forced, 0] = True
    return np.minimum.accumulate(side, axis=1).sum(axis=1) - 1
