"""Hill climbing over networks: add, remove or reverse one arc while that helps.

Local scores are computed when a move needs them, and no cache of parent sets is built; tables are
shared between all moves that need the same one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from octavo.engine.discrete.bitsets import masks_of
from octavo.graphical.network_scores.constraints import CompiledRules
from octavo.graphical.network_scores.local_scores import FamilyScorer
from octavo.graphical.network_scores.parent_sets import ParentSetCache
from octavo.graphical.network_search.orders import solve_climb
from octavo.graphical.network_search.problem import (
    TracePoint,
    check_feasible,
    parents_of_choice,
    whole_problem,
)

__all__: list[str] = []

SMALLEST_GAIN = 1e-9  # relative to the score


class HillClimber:
    """A network, the scores of its nodes, and the scores after every change of one parent.

    Parameters
    ----------
    scorer : FamilyScorer
        The score and its data.
    rules : CompiledRules
        The constraints.
    parents : list of set of int
        Where to start.
    """

    def __init__(self, scorer: FamilyScorer, rules: CompiledRules, parents: list[set[int]]) -> None:
        self.scorer, self.rules = scorer, rules
        self.parents = [set(of) for of in parents]
        self.n = len(parents)
        self.local = np.empty(self.n)
        # toggled[i, j]: score of node i when j joins its parents, or leaves; -inf if not allowed.
        self.toggled = np.full((self.n, self.n), -np.inf)
        self.refresh(range(self.n))

    def refresh(self, nodes) -> None:
        """Compute the scores of nodes and of their changes by one parent."""
        wanted: dict[int, list[tuple[int, int, list[int]]]] = {}
        for node in nodes:
            base = self.parents[node]
            self.toggled[node] = -np.inf
            wanted.setdefault(len(base), []).append((node, -1, sorted(base)))
            others = [j for j in range(self.n) if j != node]
            sets = [sorted(base ^ {j}) for j in others]
            legal = self.rules.legal(node, masks_of(sets, self.n))
            for j, of, allowed in zip(others, sets, legal):
                if allowed:
                    wanted.setdefault(len(of), []).append((node, j, of))
        for size, entries in wanted.items():
            families = np.array([e[2] for e in entries], np.int16).reshape(len(entries), size)
            scores, _ = self.scorer(np.array([e[0] for e in entries]), families)
            for (node, j, _), score in zip(entries, scores):
                if j < 0:
                    self.local[node] = score
                else:
                    self.toggled[node, j] = score

    def adjacency(self) -> NDArray[np.bool_]:
        """Return which arcs there are, parents in rows."""
        arcs = np.zeros((self.n, self.n), np.bool_)
        for node, of in enumerate(self.parents):
            arcs[list(of), node] = True
        return arcs

    def best_move(self) -> tuple[float, int, int, bool]:
        """Return (gain, child, parent, whether the arc is reversed) of the best legal move."""
        arcs = self.adjacency()
        reach = arcs.astype(np.float32)
        for _ in range(max(1, math.ceil(math.log2(max(2, self.n))))):
            reach = np.minimum(reach + reach @ reach, 1.0)  # paths of up to 2^k arcs
        gain = self.toggled - self.local[:, None]  # [child, parent]
        toggle = np.where(reach > 0, -np.inf, gain)  # a child that reaches the parent: a cycle
        child, parent = np.unravel_index(int(np.argmax(toggle)), toggle.shape)
        # Reversed: the parent must not reach the child by another way than the arc itself.
        detour = (arcs.astype(np.float32) @ reach).T > 0  # [child, parent]
        both = np.where(arcs.T & ~detour, gain + gain.T, -np.inf)
        c, p = np.unravel_index(int(np.argmax(both)), both.shape)
        if both[c, p] > toggle[child, parent]:
            return float(both[c, p]), int(c), int(p), True
        return float(toggle[child, parent]), int(child), int(parent), False

    def apply(self, child: int, parent: int, reverse: bool) -> None:
        """Make a move."""
        self.parents[child] ^= {parent}
        if reverse:
            self.parents[parent] ^= {child}
        self.refresh([child, parent] if reverse else [child])


def first_network(scorer: FamilyScorer, rules: CompiledRules) -> list[set[int]]:
    """Return a network that satisfies the rules: the required arcs alone, where they do."""
    required = [set(node.required) for node in rules.nodes]
    masks = masks_of(required, len(required))
    if all(rules.legal(node, masks[node : node + 1])[0] for node in range(len(required))):
        return required
    cache = ParentSetCache.from_scorer(scorer, rules)
    check_feasible(cache)
    choice = solve_climb(whole_problem(cache)).choice
    return [set(of) for of in parents_of_choice(cache.masks, choice.tolist())]


def hill_climb(
    scorer: FamilyScorer,
    rules: CompiledRules,
    *,
    max_iter: int | None = None,
    time_limit: float | None = None,
    on_step: Callable[[], bool] = lambda: False,
) -> tuple[list[tuple[int, ...]], float, int, tuple[TracePoint, ...]]:
    """Climb until no move helps.

    Parameters
    ----------
    scorer : FamilyScorer
        The score and its data.
    rules : CompiledRules
        The constraints.
    max_iter : int or None
        Largest number of moves.
    time_limit : float or None
        Seconds.
    on_step : callable
        Called after each move; stops the climb when it returns True.

    Returns
    -------
    parents : list of tuple of int
        A local optimum.
    score : float
        Its score.
    n_steps : int
        Number of moves.
    trace : tuple of TracePoint
        The score by time; the bound is infinite.
    """
    start = time.perf_counter()
    climber = HillClimber(scorer, rules, first_network(scorer, rules))
    score = math.fsum(climber.local)
    trace = [TracePoint(time.perf_counter() - start, score, math.inf)]
    steps = 0
    while max_iter is None or steps < max_iter:
        gain, child, parent, reverse = climber.best_move()
        if not gain > SMALLEST_GAIN * max(1.0, abs(score)):
            break
        climber.apply(child, parent, reverse)
        score = math.fsum(climber.local)
        steps += 1
        seconds = time.perf_counter() - start
        trace.append(TracePoint(seconds, score, math.inf))
        if on_step() or (time_limit is not None and seconds >= time_limit):
            break
    return [tuple(sorted(of)) for of in climber.parents], score, steps, tuple(trace)
