"""The optimal network as a longest path through the lattice of subsets, best first.

A state is the set of nodes already placed; placing a node adds the score of its best set among
them. The bound on what is left splits the nodes into groups and solves each group exactly, cycles
across groups allowed. The groups are chosen so that the cycles that matter lie inside them: a
greedy ascent on the dual of the cluster inequalities tells which those are. A node whose best set
of all is already placed is placed at once.

References: C. Yuan and B. Malone (2013), "Learning optimal Bayesian networks: a shortest path
perspective", JAIR 48; S. Karan and J. Zola (2016), "Exact structure learning of Bayesian networks
by optimal path extension", IEEE Big Data. The ascent is in
`octavo.graphical.network_search.cluster_cuts`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import masks_of, members_of
from octavo.graphical.network_search.cluster_cuts import raise_costs
from octavo.graphical.network_search.orders import solve_order
from octavo.graphical.network_search.problem import Problem, SearchResult, TracePoint

__all__: list[str] = []

LARGEST_LATTICE = 63  # nodes that fit into one word
LARGEST_GROUP = 19  # the tables of a group have two to this power entries
MAX_STATES = 12_000_000
CHUNK = 20_000
TIE = 1e-9
ONE = np.uint64(1)
# Places in the array of counters.
STATES, HEAP, EXPANDED, GOAL = range(4)


@njit(cache=True, nogil=True)
def _mass_inside(clusters, raised, groups):
    """Return the total of the clusters that lie inside one group."""
    total = 0.0
    for c in range(raised.size):
        for g in range(groups.size):
            if clusters[c] & ~groups[g] == 0:
                total += raised[c]
                break
    return total


@njit(cache=True, nogil=True)
def _improve_groups(clusters, raised, groups, n):
    """Swap pairs of nodes between groups while more mass comes inside; return the mass."""
    mass = _mass_inside(clusters, raised, groups)
    improved = True
    while improved:
        improved = False
        for a in range(n):
            for b in range(a):
                one, other = np.uint64(1) << np.uint64(a), np.uint64(1) << np.uint64(b)
                for g in range(groups.size):
                    if groups[g] & one:
                        home = g
                    if groups[g] & other:
                        away = g
                if home == away:
                    continue
                groups[home] ^= one | other
                groups[away] ^= one | other
                changed = _mass_inside(clusters, raised, groups)
                if changed > mass + 1e-9:
                    mass = changed
                    improved = True
                else:
                    groups[home] ^= one | other
                    groups[away] ^= one | other
    return mass


@njit(cache=True, nogil=True)
def _best_row(ptr, masks, node, allowed):
    """Return a node's best set among allowed parents, -1 if there is none."""
    outside = ~allowed
    for row in range(ptr[node], ptr[node + 1]):
        if masks[row, 0] & outside == 0:
            return row
    return -1


@njit(cache=True, nogil=True)
def _group_table(ptr, masks, scores, lo, size, table):
    """Fill the best score of every subset of a group that is left, all else being placed."""
    n = ptr.size - 1
    everything = (np.uint64(1) << np.uint64(n)) - np.uint64(1)
    table[0] = 0.0
    for left in range(1, 1 << size):
        # the best order of what is left of a group, all other nodes being allowed
        allowed = everything & ~(np.uint64(left) << np.uint64(lo))
        best = -np.inf
        for k in range(size):
            if left >> k & 1:
                rest = table[left ^ (1 << k)]
                if rest + scores[ptr[lo + k]] <= best:
                    continue
                row = _best_row(ptr, masks, lo + k, allowed)
                if row >= 0 and rest + scores[row] > best:
                    best = rest + scores[row]
        table[left] = best


@njit(cache=True, nogil=True)
def _bound(placed, everything, starts, offsets, tables):
    """Return the bound on the nodes that are left: the sum over groups."""
    left = everything & ~placed
    total = 0.0
    for g in range(starts.size - 1):
        width = np.uint64(starts[g + 1] - starts[g])
        inside = (left >> np.uint64(starts[g])) & ((np.uint64(1) << width) - np.uint64(1))
        total += tables[offsets[g] + np.int64(inside)]
    return total


@njit(cache=True, nogil=True)
def _place_ready(ptr, masks, scores, placed, newest):
    """Place every node whose best set of all is placed; return the set and the score added.

    Only sets that hold a node just placed can have become complete.
    """
    n = ptr.size - 1
    gained = 0.0
    while newest != 0:
        fresh = newest
        newest = np.uint64(0)
        for node in range(n):
            bit = np.uint64(1) << np.uint64(node)
            top = masks[ptr[node], 0]
            if placed & bit == 0 and top & fresh != 0 and top & ~placed == 0:
                placed |= bit
                newest |= bit
                gained += scores[ptr[node]]
    return placed, gained


@njit(cache=True, nogil=True)
def _slot_of(keys, values, placed):
    """Return where a state stands, or belongs, in a hash table with open addresses."""
    last = np.uint64(keys.size - 1)
    at = (placed * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(17)) & last
    while values[at] >= 0 and keys[at] != placed:
        at = (at + np.uint64(1)) & last
    return at


@njit(cache=True, nogil=True)
def _rehash(keys, values, states, count):
    """Fill an empty hash table."""
    for s in range(count):
        at = _slot_of(keys, values, states[s])
        keys[at], values[at] = states[s], s


@njit(cache=True, nogil=True)
def _heap_pop(bounds, slots, size):
    """Take the best entry off a heap of that size; return its state."""
    top = slots[0]
    size -= 1
    bound, slot = bounds[size], slots[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and bounds[below + 1] > bounds[below]:
            below += 1
        if bounds[below] <= bound:
            break
        bounds[at], slots[at] = bounds[below], slots[below]
        at = below
    bounds[at], slots[at] = bound, slot
    return top


@njit(cache=True, nogil=True)
def _heap_push(bounds, slots, size, bound, slot):
    """Put an entry into a heap of that size."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if bounds[above] >= bound:
            break
        bounds[at], slots[at] = bounds[above], slots[above]
        at = above
    bounds[at], slots[at] = bound, slot


@njit(cache=True, nogil=True)
def _expand_states(
    ptr, masks, scores, starts, offsets, tables, bar, steps,
    states, gains, before, via, closed, keys, values, bounds, slots, counters,
):  # fmt: skip
    """Expand states, best first; stop at the goal, at the end, or when room runs out."""
    n = ptr.size - 1
    everything = (np.uint64(1) << np.uint64(n)) - np.uint64(1)
    for _ in range(steps):
        if counters[HEAP] == 0 or counters[GOAL] >= 0:
            return
        if counters[STATES] + n > states.size or counters[HEAP] + n > slots.size:
            return
        s = _heap_pop(bounds, slots, counters[HEAP])
        counters[HEAP] -= 1
        if closed[s]:
            continue
        closed[s] = True
        if states[s] == everything:
            counters[GOAL] = s
            return
        counters[EXPANDED] += 1
        for node in range(n):
            bit = np.uint64(1) << np.uint64(node)
            if states[s] & bit:
                continue
            row = _best_row(ptr, masks, node, states[s])
            if row < 0:
                continue
            gain = gains[s] + scores[row]
            placed = states[s] | bit
            if gain + _bound(placed, everything, starts, offsets, tables) <= bar:
                continue
            placed, more = _place_ready(ptr, masks, scores, placed, bit)
            gain += more
            at = _slot_of(keys, values, placed)
            t = values[at]
            if t < 0:
                t = counters[STATES]
                counters[STATES] += 1
                keys[at], values[at], states[t] = placed, t, placed
            elif gain <= gains[t] or closed[t]:
                continue
            gains[t], before[t], via[t], closed[t] = gain, s, node, False
            bound = gain + _bound(placed, everything, starts, offsets, tables)
            _heap_push(bounds, slots, counters[HEAP], bound, t)
            counters[HEAP] += 1


def groups_of_nodes(
    problem: Problem, largest: int, random_state: np.random.RandomState, n_starts: int = 300
) -> list[tuple[int, ...]]:
    """Return groups of nodes of bounded size that hold as much of the dual ascent as possible."""
    n = problem.n_nodes
    clusters, raised = np.zeros(4096, np.uint64), np.zeros(4096)
    tops = np.repeat(problem.scores[problem.ptr[:-1]], np.diff(problem.ptr))
    found, _ = raise_costs(
        problem.ptr, problem.masks, tops - problem.scores, np.inf, clusters, raised
    )
    n_groups = -(-n // largest)
    best, best_mass = np.empty(0, np.uint64), -1.0
    for _ in range(n_starts):
        shuffled = np.array_split(random_state.permutation(n), n_groups)
        groups = masks_of([part.tolist() for part in shuffled], n)[:, 0].copy()
        mass = _improve_groups(clusters[:found], raised[:found], groups, n)
        if mass > best_mass:
            best, best_mass = groups, mass
    return [members_of(np.array([group])) for group in best]


class Lattice:
    """States of the search, with room that grows.

    Parameters
    ----------
    problem : Problem
        Sets of each node; groups of nodes are contiguous.
    sizes : sequence of int
        Sizes of the groups.
    """

    def __init__(self, problem: Problem, sizes: list[int]) -> None:
        self.problem = problem
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.offsets = np.concatenate([[0], np.cumsum([1 << size for size in sizes])])
        self.tables = np.empty(self.offsets[-1])
        for lo, size, at in zip(self.starts, sizes, self.offsets):
            table = self.tables[at : at + (1 << size)]
            _group_table(problem.ptr, problem.masks, problem.scores, lo, size, table)
        self.counters = np.array([0, 0, 0, -1])
        self.states: NDArray[np.uint64]
        self.gains: NDArray[np.float64]
        self.before: NDArray[np.int64]
        self.via: NDArray[np.int8]
        self.closed: NDArray[np.bool_]
        self.bounds: NDArray[np.float64]
        self.slots: NDArray[np.int64]
        self._room(1 << 16)
        roots = np.flatnonzero(~problem.masks[problem.ptr[:-1], 0].astype(bool))
        placed = masks_of([roots.tolist()], problem.n_nodes)[0, 0]
        gain = float(problem.scores[problem.ptr[roots]].sum())
        placed, more = _place_ready(problem.ptr, problem.masks, problem.scores, placed, placed)
        self.first = gain + more
        self.states[0], self.gains[0], self.closed[0] = placed, self.first, False
        self.counters[STATES] = 1
        _rehash(self.keys, self.values, self.states, 1)
        everything = (ONE << np.uint64(problem.n_nodes)) - ONE
        rest = _bound(np.uint64(placed), everything, self.starts, self.offsets, self.tables)
        _heap_push(self.bounds, self.slots, 0, self.first + rest, 0)
        self.counters[HEAP] = 1

    def _room(self, room: int) -> None:
        """Make room for so many states, keeping those there are."""
        count, waiting = int(self.counters[STATES]), int(self.counters[HEAP])
        fresh: tuple[np.ndarray, ...] = (
            np.empty(room, np.uint64), np.empty(room), np.zeros(room, np.int64),
            np.zeros(room, np.int8), np.zeros(room, np.bool_),
        )  # fmt: skip
        heaps = np.empty(2 * room), np.empty(2 * room, np.int64)
        if count:
            for new, name in zip(fresh, ("states", "gains", "before", "via", "closed")):
                new[:count] = getattr(self, name)[:count]
            heaps[0][:waiting], heaps[1][:waiting] = self.bounds[:waiting], self.slots[:waiting]
        self.states, self.gains, self.before, self.via, self.closed = fresh
        self.bounds, self.slots = heaps
        self.keys, self.values = np.zeros(4 * room, np.uint64), np.full(4 * room, -1, np.int64)
        _rehash(self.keys, self.values, self.states, count)

    @property
    def top(self) -> float:
        """The bound of the best state that waits, -inf if none does."""
        return float(self.bounds[0]) if self.counters[HEAP] else -np.inf

    def advance(self, bar: float, steps: int) -> bool:
        """Expand some states; return whether there is room to go on."""
        p, n = self.problem, self.problem.n_nodes
        if self.counters[STATES] + n > self.states.size or (
            self.counters[HEAP] + n > self.slots.size
        ):
            if 2 * self.states.size > MAX_STATES:
                return False
            self._room(2 * self.states.size)
        _expand_states(
            p.ptr, p.masks, p.scores, self.starts, self.offsets, self.tables, bar, steps,
            self.states, self.gains, self.before, self.via, self.closed, self.keys, self.values,
            self.bounds, self.slots, self.counters,
        )  # fmt: skip
        return True

    def path(self) -> NDArray[np.int64]:
        """Return the rows chosen on the way to the goal."""
        p = self.problem
        choice = p.ptr[:-1].copy()  # nodes placed at once have their best set
        s = int(self.counters[GOAL])
        while s != 0:
            node, s = int(self.via[s]), int(self.before[s])
            choice[node] = _best_row(p.ptr, p.masks, node, self.states[s])
        return choice


def regrouped(problem: Problem, groups: list[tuple[int, ...]]) -> tuple[Problem, NDArray[np.int64]]:
    """Return the problem with nodes in the order of the groups, and the rows' old places."""
    order = np.array([node for group in groups for node in group])
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    rows = np.concatenate([np.arange(problem.ptr[i], problem.ptr[i + 1]) for i in order])
    sizes = np.diff(problem.ptr)[order]
    moved = np.zeros((rows.size, 1), np.uint64)
    for node in range(order.size):
        held = problem.masks[rows, 0] >> np.uint64(node) & ONE
        moved[:, 0] |= held << np.uint64(place[node])
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    return Problem(ptr, moved, problem.scores[rows], rows, order), rows


def solve_lattice(
    problem: Problem,
    *,
    time_limit: float | None = None,
    max_iter: int | None = None,
    gap: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
    on_step: Callable[[], bool] = lambda: False,
) -> SearchResult:
    """Return the optimal network by best-first search over the subsets of the nodes.

    Parameters
    ----------
    problem : Problem
        At most 63 nodes.
    time_limit : float or None
        Seconds.
    max_iter : int or None
        Largest number of states to expand.
    gap : float
        Relative gap at which to stop.
    random_state : int, RandomState or None
        Draws orders for the first network, and the first groups.
    on_step : callable
        Called now and then; stops the search when it returns True.

    Returns
    -------
    result : SearchResult
        Not optimal, with a valid bound, where a limit or the memory ended it.
    """
    from sklearn.utils import check_random_state

    start, rng = time.perf_counter(), check_random_state(random_state)
    first = solve_order(problem, 40, random_state=rng, time_limit=time_limit)
    groups = groups_of_nodes(problem, LARGEST_GROUP, rng)
    moved, rows = regrouped(problem, groups)
    lattice = Lattice(moved, [len(group) for group in groups])
    bar = first.score + TIE * abs(first.score)
    best, choice = first.score, first.choice
    trace = [TracePoint(time.perf_counter() - start, best, max(best, lattice.top))]
    while True:
        if lattice.counters[GOAL] >= 0:
            found = lattice.path()
            best, choice = float(moved.scores[found].sum()), np.empty_like(choice)
            choice[moved.nodes] = rows[found]
        done = lattice.counters[GOAL] >= 0 or not lattice.counters[HEAP]
        upper = best if done else max(best, lattice.top)
        seconds = time.perf_counter() - start
        trace.append(TracePoint(seconds, best, upper))
        steps = int(lattice.counters[EXPANDED])
        left = CHUNK if max_iter is None else min(CHUNK, max_iter - steps)
        late = time_limit is not None and seconds >= time_limit
        if upper - best <= max(gap, TIE) * abs(best) or late or left <= 0:
            break
        if not lattice.advance(bar, left) or on_step():
            break
    optimal = upper - best <= TIE * abs(best)
    return SearchResult(choice, best, best if optimal else upper, optimal, steps, tuple(trace))


def _warmup() -> None:
    """Compile the kernels."""
    masks = masks_of([(1,), (), (0,), ()], 2)
    ptr, scores = np.array([0, 2, 4]), np.array([-1.0, -2.0, -1.0, -2.0])
    problem = Problem(ptr, masks, scores, np.arange(4), np.arange(2))
    lattice = Lattice(problem, [1, 1])
    lattice.advance(-100.0, 10)
    lattice.path()
    groups_of_nodes(problem, 1, np.random.RandomState(0), 1)
    _heap_pop(lattice.bounds, lattice.slots, 1)
    _slot_of(lattice.keys, lattice.values, np.uint64(0))
