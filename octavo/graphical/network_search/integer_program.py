"""The optimal network as an integer program with cluster cuts, solved by HiGHS.

A variable says whether a node has one of its cached parent sets; each node has exactly one. In
every set C of nodes some node must have no parent inside C, or C would hold a cycle. Of these
exponentially many cluster inequalities only those are added that a solution violates.

The linear relaxation bounds all networks; its reduced costs remove sets that cannot be part of a
network better than the best one known.

References: T. Jaakkola, D. Sontag, A. Globerson and M. Meila (2010), "Learning Bayesian network
structure using LP relaxations", AISTATS; M. Bartlett and J. Cussens (2017), "Integer linear
programming for the Bayesian network structure learning problem", Artificial Intelligence 244.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import has_bit, masks_of, members_of
from octavo.graphical.network_search.orders import (
    climb_order,
    feasible_order,
    relaxed_bound,
    solve_order,
)
from octavo.graphical.network_search.problem import Problem, SearchResult, TracePoint, is_acyclic

__all__: list[str] = []

VIOLATION = 1e-4  # a cut must be violated by more than this
OPTIMAL = 1e-7  # absolute difference of bounds, relative to the score, that counts as none


@njit(cache=True, nogil=True)
def _lightest_cycles(weight, through):
    """Fill, for every node, the nodes of the lightest cycle through it; return their weights.

    weight[u, v] is what using the arc u → v costs; all-pairs shortest paths find the cycles.
    """
    n = weight.shape[0]
    distance = weight.copy()
    step = np.empty((n, n), np.int64)  # the node after u on the way to v
    for u in range(n):
        for v in range(n):
            step[u, v] = v
    for k in range(n):
        for u in range(n):
            if distance[u, k] < np.inf:
                for v in range(n):
                    if distance[u, k] + distance[k, v] < distance[u, v]:
                        distance[u, v] = distance[u, k] + distance[k, v]
                        step[u, v] = step[u, k]
    weights = np.empty(n)
    for node in range(n):
        weights[node] = distance[node, node]
        if weights[node] < 1.0:
            at = step[node, node]
            through[node, node] = True
            hops = 0
            while at != node and hops < n:
                through[node, at] = True
                at = step[at, node]
                hops += 1
    return weights


@njit(cache=True, nogil=True)
def _cluster_mass(masks, owner, value, inside):
    """Return the left side of the cluster inequality: mass on sets that avoid the cluster."""
    total = 0.0
    for column in range(owner.size):
        if inside[owner[column]]:
            free = True
            for node in range(inside.size):
                if inside[node] and has_bit(masks[column], node):
                    free = False
                    break
            if free:
                total += value[column]
    return total


@njit(cache=True, nogil=True)
def _improve_cluster(masks, owner, value, inside):
    """Move nodes in and out of a cluster while its inequality gets more violated."""
    mass = _cluster_mass(masks, owner, value, inside)
    n = inside.size
    while True:
        best, at = mass - 1e-9, -1
        for node in range(n):
            inside[node] = not inside[node]
            if inside.sum() >= 2:
                changed = _cluster_mass(masks, owner, value, inside)
                if changed < best:
                    best, at = changed, node
            inside[node] = not inside[node]
        if at < 0:
            return mass
        inside[at] = not inside[at]
        mass = best


class ClusterProgram:
    """The program of one problem: its columns, the cuts found so far and the best network.

    Parameters
    ----------
    problem : Problem
        Sets of each node.
    incumbent : SearchResult
        A network to start from.
    """

    def __init__(self, problem: Problem, incumbent: SearchResult) -> None:
        self.problem = problem
        self.n = problem.n_nodes
        self.owner = np.repeat(np.arange(self.n), np.diff(problem.ptr))
        self.active = np.ones(self.owner.size, np.bool_)
        self.best, self.choice = incumbent.score, incumbent.choice
        self.upper = relaxed_bound(problem)
        self.clusters: set[tuple[int, ...]] = set()
        self.cuts = csr_array((0, self.owner.size))
        ones = np.ones(self.owner.size)
        self.one_each = csr_array((ones, (self.owner, np.arange(self.owner.size))))

    @property
    def slack(self) -> float:
        """Difference of the bounds that counts as none."""
        return OPTIMAL * max(1.0, abs(self.best))

    def offer(self, score: float, choice: NDArray[np.int64]) -> None:
        """Keep a network if it is the best so far."""
        if score > self.best:
            self.best, self.choice = float(score), choice.copy()

    def add(self, clusters: list[NDArray[np.bool_]]) -> int:
        """Add cuts that are not there yet; return how many."""
        rows = []
        for inside in clusters:
            key = tuple(np.flatnonzero(inside).tolist())
            if len(key) < 2 or key in self.clusters:
                continue
            self.clusters.add(key)
            mask = masks_of([key], self.n)[0]
            free = inside[self.owner] & ((self.problem.masks & mask) == 0).all(axis=1)
            at = np.flatnonzero(free)
            rows.append(csr_array((np.ones(at.size), at, [0, at.size]), shape=(1, free.size)))
        if rows:
            self.cuts = vstack([self.cuts, *rows], format="csr")
        return len(rows)

    def relax(self, time_left: float) -> NDArray[np.float64] | None:
        """Solve the linear relaxation over the active columns; drop columns by reduced cost."""
        at = np.flatnonzero(self.active)
        done = linprog(
            -self.problem.scores[at],
            A_ub=-self.cuts[:, at] if self.cuts.shape[0] else None,
            b_ub=-np.ones(self.cuts.shape[0]) if self.cuts.shape[0] else None,
            A_eq=self.one_each[:, at],
            b_eq=np.ones(self.n),
            method="highs",
            options={"time_limit": max(time_left, 0.01)} if math.isfinite(time_left) else {},
        )
        if done.status == 2:  # every network that could beat the incumbent has been removed
            self.upper = self.best
            return None
        if done.status != 0:
            return None
        self.upper = max(min(self.upper, float(-done.fun)), self.best)
        # Moving a column off zero costs its reduced cost; beyond the gap it cannot pay.
        cost = done.lower.marginals
        self.active[at[cost > -done.fun - self.best + self.slack]] = False
        value = np.zeros(self.owner.size)
        value[at] = done.x
        return value

    def separate(self, value: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
        """Return violated clusters: from light cycles, improved by moves of single nodes."""
        at = np.flatnonzero(value > 1e-9)
        masks, owner, x = self.problem.masks[at], self.owner[at], value[at]
        weight = self._arc_costs(masks, owner, x)
        through = np.zeros((self.n, self.n), np.bool_)
        weights = _lightest_cycles(weight, through)
        found: dict[tuple[int, ...], tuple[float, NDArray[np.bool_]]] = {}
        for node in np.flatnonzero(weights < 1.0 - VIOLATION):
            for improved in (False, True):
                inside = through[node].copy()
                if improved:
                    mass = _improve_cluster(masks, owner, x, inside)
                else:
                    mass = _cluster_mass(masks, owner, x, inside)
                key = tuple(np.flatnonzero(inside).tolist())
                if mass < 1.0 - VIOLATION and key not in self.clusters:
                    found[key] = (mass, inside)
        ranked = sorted(found.values(), key=lambda entry: entry[0])
        return [inside for _, inside in ranked[: max(20, self.n)]]

    def _arc_costs(
        self, masks: NDArray[np.uint64], owner: NDArray[np.int64], x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return 1 − (mass of the arc) for every arc that the solution uses at all."""
        mass = np.zeros((self.n, self.n))
        for row, node, value in zip(masks, owner, x):
            for parent in members_of(row):
                mass[parent, node] += value
        # a cycle lighter than 1 violates its cluster's inequality
        return np.where(mass > 1e-9, np.maximum(1.0 - mass, 0.0), np.inf)

    def separate_exactly(self, value: NDArray[np.float64], time_left: float) -> list[NDArray]:
        """Return the most violated cluster, by a small integer program, or nothing."""
        at = np.flatnonzero((value > 1e-6) & (self.problem.masks != 0).any(axis=1))
        m, n = at.size, self.n
        rows, columns, data = [], [], []
        for k, column in enumerate(at):
            rows += [2 * k, 2 * k, 2 * k + 1]
            columns += [k, m + self.owner[column], k]
            data += [1.0, -1.0, 1.0]
            for parent in members_of(self.problem.masks[column]):
                rows.append(2 * k + 1)
                columns.append(m + parent)
                data.append(-1.0)
        # Column k counts when its node is in the cluster and one of its parents is, too.
        matrix = csr_array((data, (rows, columns)), shape=(2 * m, m + n))
        size = csr_array((np.ones(n), (np.zeros(n, int), m + np.arange(n))), shape=(1, m + n))
        done = milp(
            np.concatenate([-value[at], np.ones(n)]),
            constraints=[LinearConstraint(matrix, ub=0.0), LinearConstraint(size, lb=2.0)],
            integrality=np.concatenate([np.zeros(m), np.ones(n)]),
            bounds=Bounds(0, 1),
            options={"time_limit": max(min(time_left, 5.0), 0.01)},
        )
        if done.x is None or done.fun > 1.0 - VIOLATION:
            return []
        return [done.x[m:] > 0.5]

    def round(self, value: NDArray[np.float64]) -> None:
        """Turn a fractional solution into an order of the nodes, and climb from there."""
        mass = np.zeros((self.n, self.n))
        at = np.flatnonzero(value > 1e-9)
        for row, node, x in zip(self.problem.masks[at], self.owner[at], value[at]):
            for parent in members_of(row):
                mass[parent, node] += x
        left, ranks = np.ones(self.n, np.bool_), np.empty(self.n)
        for place in range(self.n):  # next comes the node that depends least on those left
            burden = np.where(left, mass[left].sum(axis=0), np.inf)
            node = int(np.argmin(burden))
            ranks[node], left[node] = place, False
        order = feasible_order(self.problem, ranks)
        choice = np.empty(self.n, np.int64)
        p = self.problem
        self.offer(climb_order(p.ptr, p.masks, p.scores, order, choice), choice)

    def solve_integer(self, time_left: float) -> NDArray[np.int64] | None:
        """Solve the integer program over the active columns; return its choice."""
        at = np.flatnonzero(self.active)
        scores = csr_array(self.problem.scores[at][None, :])
        constraints = [
            LinearConstraint(self.one_each[:, at], 1.0, 1.0),
            # Only what beats the network that is known; none such: that one is optimal.
            LinearConstraint(scores, lb=self.best + self.slack),
        ]
        if self.cuts.shape[0]:
            constraints.append(LinearConstraint(self.cuts[:, at], lb=1.0))
        options = {"mip_rel_gap": 0.0}
        if math.isfinite(time_left):
            options["time_limit"] = max(time_left, 0.01)
        done = milp(
            -self.problem.scores[at],
            constraints=constraints,
            integrality=np.ones(at.size),
            bounds=Bounds(0, 1),
            options=options,
        )
        if done.status == 2:
            self.upper = self.best
            return None
        if done.status == 0:  # the best choice under the cuts so far, cycles or not
            self.upper = max(min(self.upper, -float(done.fun)), self.best)
        bound = getattr(done, "mip_dual_bound", None)
        if bound is not None:
            self.upper = max(min(self.upper, -float(bound)), self.best)
        if done.x is None:
            return None
        choice = np.full(self.n, -1)
        chosen = at[done.x > 0.5]
        choice[self.owner[chosen]] = chosen
        return choice if (choice >= 0).all() else None

    def cycles_of(self, choice: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
        """Return clusters that an integer solution with cycles violates."""
        weight = np.full((self.n, self.n), np.inf)
        for node, row in enumerate(choice):
            weight[list(members_of(self.problem.masks[row])), node] = 1e-3
        through = np.zeros((self.n, self.n), np.bool_)
        weights = _lightest_cycles(weight, through)
        clusters = [through[node] for node in np.flatnonzero(weights < 1.0)]
        _, label = connected_components(weight < 1.0, directed=True, connection="strong")
        for part in np.unique(label):
            if (label == part).sum() > 1:
                clusters.append(label == part)
        return clusters


def solve_ilp(
    problem: Problem,
    *,
    time_limit: float | None = None,
    max_iter: int | None = None,
    gap: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
    on_step: Callable[[], bool] = lambda: False,
) -> SearchResult:
    """Return the optimal network by cutting planes and branch and bound.

    Parameters
    ----------
    problem : Problem
        Sets of each node.
    time_limit : float or None
        Seconds after which the best network and its bound are returned.
    max_iter : int or None
        Largest number of programs to solve.
    gap : float
        Relative gap at which to stop.
    random_state : int, RandomState or None
        Draws the orders of the first network.
    on_step : callable
        Called after each program; stops the search when it returns True.

    Returns
    -------
    result : SearchResult
        The bound is valid whenever the search stops.
    """
    start = time.perf_counter()
    end = math.inf if time_limit is None else start + time_limit
    program = ClusterProgram(
        problem, solve_order(problem, 10, random_state=random_state, time_limit=time_limit)
    )
    trace: list[TracePoint] = []
    steps, linear = 0, True

    def closed() -> bool:
        trace.append(TracePoint(time.perf_counter() - start, program.best, program.upper))
        small = max(gap * abs(program.best), program.slack)
        return program.upper - program.best <= small

    while not closed() and time.perf_counter() < end:
        if max_iter is not None and steps >= max_iter:
            break
        steps += 1
        if linear:
            value = program.relax(end - time.perf_counter())
            if value is None:
                if not closed():
                    break  # out of time
                continue
            program.round(value)
            cuts = program.separate(value)
            added = program.add(cuts) or program.add(
                program.separate_exactly(value, end - time.perf_counter())
            )
            linear = added > 0
        else:
            choice = program.solve_integer(end - time.perf_counter())
            if choice is None:
                if not closed():
                    break  # out of time
            elif is_acyclic(problem.masks, choice):
                program.offer(float(problem.scores[choice].sum()), choice)
            else:
                linear = program.add(program.cycles_of(choice)) > 0
                if not linear:
                    break  # the solver's tolerance lets a cut through that is already there
        if on_step():
            break
    optimal = program.upper - program.best <= program.slack
    upper = program.best if optimal else program.upper
    return SearchResult(program.choice, program.best, upper, optimal, steps, tuple(trace))


def _warmup() -> None:
    """Compile the kernels."""
    weight = np.array([[np.inf, 0.1], [0.1, np.inf]])
    _lightest_cycles(weight, np.zeros((2, 2), np.bool_))
    masks, owner = masks_of([(1,), (0,)], 2), np.array([0, 1])
    _improve_cluster(masks, owner, np.ones(2), np.array([True, True]))
    _cluster_mass(masks, owner, np.ones(2), np.array([True, True]))
