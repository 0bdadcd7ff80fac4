"""One door to all searches for a network over a parent-set cache.

The problem is split into parts that cannot share a cycle; each is handed to dynamic programming, to
best-first search in the lattice of subsets, to branch and bound, to the integer program, to search
over orders or to hill climbing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.graphical.network_scores.parent_sets import ParentSetCache
from octavo.graphical.network_search.branch_and_bound import solve_bnb
from octavo.graphical.network_search.integer_program import solve_ilp
from octavo.graphical.network_search.lattice import LARGEST_LATTICE, solve_lattice
from octavo.graphical.network_search.orders import solve_climb, solve_dp, solve_order
from octavo.graphical.network_search.problem import (
    Problem,
    SearchResult,
    TracePoint,
    check_feasible,
    joined,
    parents_of_choice,
    parts,
)

__all__ = ["NetworkResult", "TracePoint", "solve_parent_sets"]

METHODS = ("auto", "bnb", "dp", "ilp", "order", "hc")
EXACT = ("auto", "bnb", "dp", "ilp")
SMALL_DP = 18  # up to here all subsets are cheaper than a search among them
LARGE_DP = 22


class NetworkResult(NamedTuple):
    """A network (parents of each node), its score, a bound on all networks and the effort.

    `gap` is (upper_bound − score) over the absolute score, `optimal` whether it is zero, and
    `trace` the bounds by time.
    """

    parents: list[tuple[int, ...]]
    score: float
    upper_bound: float
    gap: float
    optimal: bool
    n_steps: int
    trace: tuple[TracePoint, ...]


class Limits(NamedTuple):
    """When to stop, and what to call meanwhile."""

    end: float
    max_iter: int | None
    gap: float
    bottom: int
    n_jobs: int | None
    rng: np.random.RandomState
    on_step: Callable[[], bool]

    @property
    def seconds(self) -> float | None:
        """Time that is left, None if there is no limit."""
        return max(0.0, self.end - time.perf_counter()) if math.isfinite(self.end) else None


def _solve_part(problem: Problem, method: str, limits: Limits) -> SearchResult:
    """Hand one part to the method asked for."""
    n = problem.n_nodes
    if n <= 2 and method in EXACT:  # nothing to search
        return solve_dp(problem)
    if method == "order":
        return solve_order(
            problem,
            limits.max_iter or 200,
            random_state=limits.rng,
            time_limit=limits.seconds,
            on_step=limits.on_step,
        )
    if method == "hc":
        return solve_climb(problem)
    if method == "dp" and n > LARGEST_LATTICE:
        raise ValueError(
            f'method="dp" is for at most {LARGEST_LATTICE} nodes that can form cycles, got {n}; '
            'use "ilp" or "bnb".'
        )
    if (method == "auto" and n <= SMALL_DP) or (method == "dp" and n <= LARGE_DP):
        return solve_dp(problem)
    common: dict[str, Any] = {
        "time_limit": limits.seconds,
        "max_iter": limits.max_iter,
        "gap": limits.gap,
        "random_state": limits.rng,
        "on_step": limits.on_step,
    }
    if method == "bnb":
        return solve_bnb(problem, bottom=limits.bottom, n_jobs=limits.n_jobs, **common)
    if method == "ilp" or n > LARGEST_LATTICE:
        return solve_ilp(problem, **common)
    return solve_lattice(problem, **common)


@checked
def solve_parent_sets(
    cache: ParentSetCache,
    method: str = "auto",
    *,
    time_limit: float | None = None,
    max_iter: int | None = None,
    gap: float = 0.0,
    bottom: int = 3,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    on_step: Callable[[], bool] = lambda: False,
) -> NetworkResult:
    """Find the network of largest score among those whose parent sets are in a cache.

    Parameters
    ----------
    cache : ParentSetCache
        Candidate parent sets with scores, such as one read from a .jkl file.
    method : {"auto", "bnb", "dp", "ilp", "order", "hc"}, default="auto"
        Branch and bound; dynamic programming over subsets (in full up to 22 nodes, best first
        beyond); integer programming; climbing from random orders; climbing by exchange of one
        node's set. "auto" is "dp", or "ilp" beyond 63 nodes that can form cycles.
    time_limit : float or None, default=None
        Seconds, after which the best network and its bound are returned.
    max_iter : int or None, default=None
        Largest number of steps: cases, states, programs or orders.
    gap : float, default=0.0
        Relative gap at which to stop.
    bottom : int, default=3
        Every how manieth case branch and bound takes from the bottom of its queue.
    n_jobs : int or None, default=None
        Threads of branch and bound.
    random_state : int, RandomState instance or None, default=None
        Draws orders of nodes.
    on_step : callable, optional
        Called now and then; the search stops when it returns True.

    Returns
    -------
    result : NetworkResult
        The network, its score, and a bound that holds whenever the search stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import ParentSetCache, solve_parent_sets
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 2, 200)
    >>> X = np.column_stack([a, a ^ (rng.random(200) < 0.1), rng.integers(0, 2, 200)])
    >>> result = solve_parent_sets(ParentSetCache.build(X))
    >>> round(result.score, 2), result.optimal
    (-355.36, True)
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    from sklearn.utils import check_random_state

    check_feasible(cache)
    end = math.inf if time_limit is None else time.perf_counter() + time_limit
    rng = check_random_state(random_state)
    limits = Limits(end, max_iter, gap, bottom, n_jobs, rng, on_step)
    problems = parts(cache)
    found = joined(cache.n_nodes, problems, [_solve_part(p, method, limits) for p in problems])
    scale = max(abs(found.score), np.finfo(float).tiny)
    return NetworkResult(
        parents_of_choice(cache.masks, found.choice.tolist()),
        found.score,
        found.upper_bound,
        0.0 if found.optimal else (found.upper_bound - found.score) / scale,
        found.optimal,
        found.n_steps,
        found.trace,
    )
