"""The search problem behind a parent-set cache, and its decomposition into parts.

Choose one set a node, of largest total score, so that the graph has no directed cycle. A cycle
stays inside one strongly connected part of the graph of all arcs that any set holds; the parts are
solved one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import Masks, masks_of, members_of, n_words, put_bit
from octavo.graphical.network_scores.parent_sets import ParentSetCache

__all__: list[str] = []


class Problem(NamedTuple):
    """Sets of each node by descending score; `rows` are their places in the cache.

    Node i has the sets ptr[i] to ptr[i + 1]; `nodes` are the nodes' places in the whole problem.
    """

    ptr: NDArray[np.int64]
    masks: Masks
    scores: NDArray[np.float64]
    rows: NDArray[np.int64]
    nodes: NDArray[np.int64]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.ptr.size - 1


class TracePoint(NamedTuple):
    """What an anytime search knew after some seconds: its best score and its upper bound."""

    seconds: float
    lower: float
    upper: float


class SearchResult(NamedTuple):
    """A network as rows of the cache, its score, a bound on all networks, and the effort."""

    choice: NDArray[np.int64]
    score: float
    upper_bound: float
    optimal: bool
    n_steps: int
    trace: tuple[TracePoint, ...] = ()


@njit(cache=True, nogil=True)
def is_acyclic(masks, choice):
    """Return whether the chosen parent sets form no directed cycle."""
    n = choice.size
    placed = np.zeros(masks.shape[1], np.uint64)
    waiting = np.arange(n)
    left = n
    while left > 0:
        kept = 0
        for k in range(left):
            node = waiting[k]
            ready = True
            for word in range(masks.shape[1]):
                if masks[choice[node], word] & ~placed[word] != 0:
                    ready = False
                    break
            if ready:
                put_bit(placed, node)
            else:
                waiting[kept] = node
                kept += 1
        if kept == left:
            return False
        left = kept
    return True


def whole_problem(cache: ParentSetCache) -> Problem:
    """Return the problem of all nodes."""
    return Problem(
        cache.ptr, cache.masks, cache.scores, np.arange(len(cache)), np.arange(cache.n_nodes)
    )


def check_feasible(cache: ParentSetCache) -> None:
    """Raise unless some choice of sets is acyclic.

    Placing any node that has a set among those placed never hurts, so the greedy order decides.
    """
    n = cache.n_nodes
    placed = np.zeros(cache.masks.shape[1], np.uint64)
    waiting = set(range(n))
    while waiting:
        ready = {
            node
            for node in waiting
            if ((cache.masks[cache.ptr[node] : cache.ptr[node + 1]] & ~placed) == 0)
            .all(axis=1)
            .any()
        }
        if not ready:
            stuck = [cache.names[node] for node in sorted(waiting)]
            raise ValueError(
                f"Constraints leave no network: whatever is chosen, the nodes {stuck} are parents "
                "of each other in a cycle."
            )
        placed |= masks_of([ready], n)[0]
        waiting -= ready


def parts(cache: ParentSetCache) -> list[Problem]:
    """Split a problem into its strongly connected parts, largest last."""
    n = cache.n_nodes
    union = np.array(
        [
            np.bitwise_or.reduce(cache.masks[lo:hi], axis=0)
            for lo, hi in zip(cache.ptr[:-1], cache.ptr[1:])
        ]
    )
    pairs = [(parent, node) for node in range(n) for parent in members_of(union[node])]
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    count, label = connected_components(graph.tocsr(), directed=True, connection="strong")
    groups = sorted((np.flatnonzero(label == part) for part in range(count)), key=len)
    if count == 1:
        return [whole_problem(cache)]
    return [_part(cache, nodes) for nodes in groups]


def _part(cache: ParentSetCache, nodes: NDArray[np.int64]) -> Problem:
    """Return the problem of some nodes: parents outside them cannot close a cycle."""
    place = {int(node): k for k, node in enumerate(nodes)}
    masks, scores, rows, ptr = [], [], [], [0]
    for node in nodes:
        seen: list[frozenset[int]] = []
        for row in range(cache.ptr[node], cache.ptr[node + 1]):
            inside = frozenset(place[m] for m in members_of(cache.masks[row]) if m in place)
            if any(other <= inside for other in seen):  # a better set asks for less
                continue
            seen.append(inside)
            masks.append(inside)
            scores.append(cache.scores[row])
            rows.append(row)
        ptr.append(len(rows))
    return Problem(
        np.array(ptr),
        masks_of(masks, len(nodes)).reshape(-1, n_words(len(nodes))),
        np.array(scores),
        np.array(rows, np.int64),
        nodes,
    )


def parents_of_choice(masks: Masks, choice: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the parents of each node of a choice of rows."""
    return [members_of(masks[row]) for row in choice]


def joined(n: int, problems: Sequence[Problem], results: Sequence[SearchResult]) -> SearchResult:
    """Put the solutions of the parts together."""
    choice = np.empty(n, np.int64)
    for problem, result in zip(problems, results):
        choice[problem.nodes] = problem.rows[result.choice]
    return SearchResult(
        choice,
        math.fsum(result.score for result in results),
        math.fsum(result.upper_bound for result in results),
        all(result.optimal for result in results),
        sum(result.n_steps for result in results),
        _joined_trace(results),
    )


def _joined_trace(results: Sequence[SearchResult]) -> tuple[TracePoint, ...]:
    """Return the trace of parts solved one after the other, each relaxed until its turn."""
    start = [r.trace[0] if r.trace else TracePoint(0.0, r.score, r.upper_bound) for r in results]
    points: list[TracePoint] = []
    before = 0.0
    for k, result in enumerate(results):
        lower = math.fsum([*(r.score for r in results[:k]), *(p.lower for p in start[k + 1 :])])
        upper = math.fsum(
            [*(r.upper_bound for r in results[:k]), *(p.upper for p in start[k + 1 :])]
        )
        if len(result.trace) > 1 or len(results) == 1:
            points += [
                TracePoint(before + p.seconds, lower + p.lower, upper + p.upper)
                for p in result.trace
            ]
        before += result.trace[-1].seconds if result.trace else 0.0
    return tuple(points)


def _warmup() -> None:
    """Compile the kernels."""
    is_acyclic(masks_of([(1,), ()], 2), np.array([0, 1]))
