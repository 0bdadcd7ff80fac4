"""Networks from orders of the nodes: dynamic programming over subsets, and search over orders.

Given an order, the best network is the best set of each node among its predecessors. Dynamic
programming finds the best order of all in 2^n steps; order search climbs from random ones.

References: T. Silander and P. Myllymäki (2006), "A simple approach for finding the globally
optimal Bayesian network structure", UAI; M. Teyssier and D. Koller (2005), "Ordering-based
search", UAI; section 6 of de Campos and Ji (2011), JMLR 12.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.compilation.copies import copy_row
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import first_within, masks_of, put_bit
from octavo.graphical.network_search.problem import Problem, SearchResult, TracePoint, is_acyclic

__all__: list[str] = []

LARGEST_DP = 26  # 2^26 subsets take 0.6 GB and about a minute


@njit(cache=True, nogil=True)
def _subset_tables(ptr, masks, scores, best, sink):
    """Fill, for every subset of the nodes, the best score of a network on it and its last node."""
    n = ptr.size - 1
    best[0] = 0.0
    for subset in range(1, 1 << n):
        top, last = -np.inf, -1
        for node in range(n):
            if subset >> node & 1:
                rest = subset ^ (1 << node)
                if best[rest] + scores[ptr[node]] <= top:
                    continue
                outside = ~np.uint64(rest)
                for row in range(ptr[node], ptr[node + 1]):
                    if masks[row, 0] & outside == 0:
                        if best[rest] + scores[row] > top:
                            top, last = best[rest] + scores[row], node
                        break
        best[subset], sink[subset] = top, last


@njit(cache=True, nogil=True)
def _chain_of_sinks(ptr, masks, sink, choice):
    """Read the network off the tables."""
    n = ptr.size - 1
    allowed = np.zeros(1, np.uint64)
    subset = (1 << n) - 1
    while subset:
        node = sink[subset]
        subset ^= 1 << node
        allowed[0] = np.uint64(subset)
        choice[node] = first_within(masks, ptr[node], ptr[node + 1], allowed)


def solve_dp(problem: Problem) -> SearchResult:
    """Return the optimal network by dynamic programming over all subsets of the nodes.

    Parameters
    ----------
    problem : Problem
        At most 26 nodes.

    Returns
    -------
    result : SearchResult
        The optimum.
    """
    n = problem.n_nodes
    if n > LARGEST_DP:
        raise ValueError(
            f"Dynamic programming is for at most {LARGEST_DP} nodes that can form cycles, got {n}; "
            'use method="ilp" or "bnb".'
        )
    start = time.perf_counter()
    best, sink = np.empty(1 << n), np.empty(1 << n, np.int8)
    _subset_tables(problem.ptr, problem.masks, problem.scores, best, sink)
    choice = np.empty(n, np.int64)
    _chain_of_sinks(problem.ptr, problem.masks, sink, choice)
    score = float(best[-1])
    trace = (TracePoint(time.perf_counter() - start, score, score),)
    return SearchResult(choice, score, score, True, 1 << n, trace)


@njit(cache=True, nogil=True)
def _score_order(ptr, masks, scores, order, choice):
    """Fill the best choice for an order; return its score, -inf if there is none."""
    allowed = np.zeros(masks.shape[1], np.uint64)
    total = 0.0
    for node in order:
        row = first_within(masks, ptr[node], ptr[node + 1], allowed)
        if row < 0:
            return -np.inf
        choice[node] = row
        total += scores[row]
        put_bit(allowed, node)
    return total


@njit(cache=True, nogil=True)
def _best_move(ptr, masks, scores, order, choice):
    """Return (gain, from, to) of the best move of one node to another place of an order.

    A node travels by swaps of neighbours; a swap changes the choices of the two alone.
    """
    n, words = order.size, masks.shape[1]
    before = np.zeros((n + 1, words), np.uint64)
    for k in range(n):
        copy_row(before[k], before[k + 1])
        put_bit(before[k + 1], order[k])
    gain, origin, place = 0.0, -1, -1
    allowed = np.empty(words, np.uint64)
    for start in range(n):
        node = order[start]
        for step in (-1, 1):
            others = 0.0  # what the nodes jumped over gain or lose
            k = start
            while 0 <= k + step < n:
                k += step
                other = order[k]
                if step < 0:  # the other one now has node before it
                    copy_row(before[k], allowed)
                    put_bit(allowed, node)
                else:
                    copy_row(before[k], allowed)
                    for word in range(words):
                        if word == node >> 6:
                            allowed[word] &= ~(np.uint64(1) << np.uint64(node & 63))
                row = first_within(masks, ptr[other], ptr[other + 1], allowed)
                if row < 0:
                    break
                others += scores[row] - scores[choice[other]]
                if step < 0:
                    copy_row(before[k], allowed)
                else:
                    copy_row(before[k + 1], allowed)
                    for word in range(words):
                        if word == node >> 6:
                            allowed[word] &= ~(np.uint64(1) << np.uint64(node & 63))
                row = first_within(masks, ptr[node], ptr[node + 1], allowed)
                if row < 0:
                    break
                total = others + scores[row] - scores[choice[node]]
                if total > gain + 1e-9:
                    gain, origin, place = total, start, k
    return gain, origin, place


@njit(cache=True, nogil=True)
def climb_order(ptr, masks, scores, order, choice):
    """Move one node at a time while that helps; return the score."""
    score = _score_order(ptr, masks, scores, order, choice)
    if score == -np.inf:
        return score
    while True:
        gain, origin, place = _best_move(ptr, masks, scores, order, choice)
        if origin < 0:
            return score
        node = order[origin]
        if place < origin:
            for k in range(origin, place, -1):
                order[k] = order[k - 1]
        else:
            for k in range(origin, place):
                order[k] = order[k + 1]
        order[place] = node
        score = _score_order(ptr, masks, scores, order, choice)


def feasible_order(problem: Problem, ranks: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order in which every node has a set among its predecessors, near given ranks."""
    n = problem.n_nodes
    placed = np.zeros(problem.masks.shape[1], np.uint64)
    waiting = list(np.argsort(ranks, kind="stable"))
    order = []
    while waiting:
        for node in waiting:
            lo, hi = problem.ptr[node], problem.ptr[node + 1]
            if first_within(problem.masks, lo, hi, placed) >= 0:
                break
        else:
            raise ValueError("Constraints leave no network: no order satisfies them.")
        waiting.remove(node)
        order.append(node)
        placed |= masks_of([[int(node)]], n)[0]
    return np.array(order, np.int64)


def solve_order(
    problem: Problem,
    n_orders: int = 100,
    *,
    climb: bool = True,
    random_state: int | np.random.RandomState | None = None,
    on_step: Callable[[], bool] = lambda: False,
    time_limit: float | None = None,
) -> SearchResult:
    """Return the best network over random orders of the nodes.

    Parameters
    ----------
    problem : Problem
        Sets of each node.
    n_orders : int
        How many orders.
    climb : bool
        Whether each order is improved by moves of single nodes.
    random_state : int, RandomState or None
        Draws the orders.
    on_step : callable
        Called after each order; stops the search when it returns True.
    time_limit : float or None
        Seconds.

    Returns
    -------
    result : SearchResult
        Its bound is that of the relaxation without acyclicity.
    """
    rng = check_random_state(random_state)
    n, start = problem.n_nodes, time.perf_counter()
    best, best_choice, trace = -np.inf, np.full(n, -1), []
    upper = relaxed_bound(problem)
    solve = climb_order if climb else _score_order
    tried = 0
    while tried < n_orders:
        tried += 1
        order = feasible_order(problem, rng.permutation(n).astype(float))
        choice = np.empty(n, np.int64)
        score = solve(problem.ptr, problem.masks, problem.scores, order, choice)
        if score > best:
            best, best_choice = score, choice
            trace.append(TracePoint(time.perf_counter() - start, float(best), upper))
        late = time_limit is not None and time.perf_counter() - start > time_limit
        if on_step() or late or best >= upper - 1e-9 * abs(upper):
            break
    optimal = bool(best >= upper - 1e-9 * abs(upper))
    return SearchResult(best_choice, float(best), upper, optimal, tried, tuple(trace))


def relaxed_bound(problem: Problem) -> float:
    """Return the score of the best sets whatever cycles they form."""
    return float(problem.scores[problem.ptr[:-1]].sum())


@njit(cache=True, nogil=True)
def _climb_choice(ptr, masks, scores, choice):
    """Give one node at a time a better set while the graph stays acyclic; return the score."""
    n = choice.size
    while True:
        gain, node_at, row_at = 1e-9, -1, -1
        for node in range(n):
            current = choice[node]
            for row in range(ptr[node], current):
                if scores[row] - scores[current] <= gain:
                    break
                choice[node] = row
                if is_acyclic(masks, choice):
                    gain, node_at, row_at = scores[row] - scores[current], node, row
                    break
            choice[node] = current
        if node_at < 0:
            break
        choice[node_at] = row_at
    total = 0.0
    for node in range(n):
        total += scores[choice[node]]
    return total


def solve_climb(problem: Problem) -> SearchResult:
    """Return a network that no exchange of one node's set improves, from the first order on.

    Parameters
    ----------
    problem : Problem
        Sets of each node.

    Returns
    -------
    result : SearchResult
        A local optimum of the cached sets.
    """
    order = feasible_order(problem, np.arange(problem.n_nodes, dtype=float))
    choice = np.empty(problem.n_nodes, np.int64)
    worst = np.array([problem.ptr[node + 1] - 1 for node in range(problem.n_nodes)])
    _score_order(problem.ptr, problem.masks, problem.scores, order, choice)
    if is_acyclic(problem.masks, worst):  # the empty network, where it is legal
        choice = worst
    score = float(_climb_choice(problem.ptr, problem.masks, problem.scores, choice))
    upper = relaxed_bound(problem)
    optimal = score >= upper - 1e-9 * abs(upper)
    return SearchResult(choice, score, upper, optimal, 1, (TracePoint(0.0, score, upper),))


def _warmup() -> None:
    """Compile the kernels."""
    masks = masks_of([(1,), (), (0,), ()], 2)
    ptr, scores = np.array([0, 2, 4]), np.array([-1.0, -2.0, -1.0, -2.0])
    problem = Problem(ptr, masks, scores, np.arange(4), np.arange(2))
    solve_dp(problem)
    solve_order(problem, 2, random_state=0)
    solve_order(problem, 2, climb=False, random_state=0)
    solve_climb(problem)
    _best_move(ptr, masks, scores, np.array([0, 1]), np.array([1, 2]))
