"""Branch and bound over graphs with cycles: exact, and at any time a network with its gap.

A case holds arcs that must be there and arcs that must not; its bound is the best set of each node
that complies, cycles allowed, less what clusters of nodes must pay at least. A case whose graph has
a cycle is split by the arcs of a shortest one into disjoint cases. Cases wait in a double-ended
queue: those from the top lower the upper bound, those from the bottom, popped now and then, behave
like depth-first search and find networks.

Reference: C. P. de Campos and Q. Ji (2011), "Efficient Structure Learning of Bayesian Networks
using Constraints", JMLR 12, section 5.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import drop_bit, first_fitting, has_bit, masks_of, put_bit
from octavo.graphical.network_search.cluster_cuts import LARGEST_ASCENT, raise_costs
from octavo.graphical.network_search.orders import solve_order
from octavo.graphical.network_search.problem import Problem, SearchResult, TracePoint

__all__: list[str] = []

CHUNK = 200_000  # sets looked at, about, between two looks at the clock
MEMORY = 1 << 29  # bytes of waiting cases beyond which the search goes depth first
TIE = 1e-9  # a case must beat the best network by more than this, relatively
# Places in the array of counters.
SIZE, FREE, STEPS, DEPTH_FIRST = range(4)


@njit(cache=True, nogil=True)
def _goes_before(scores, one, other, sign):
    """Return whether a slot belongs nearer to the root of a heap (sign 1: best at the root)."""
    return sign * scores[one] > sign * scores[other]


@njit(cache=True, nogil=True)
def _settle_case(heap, place, scores, sign, size, at):
    """Move the slot at a place of a heap up or down to where it belongs."""
    slot = heap[at]
    while at > 0:
        above = (at - 1) // 2
        if not _goes_before(scores, slot, heap[above], sign):
            break
        heap[at] = heap[above]
        place[heap[at]] = at
        at = above
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _goes_before(scores, heap[below + 1], heap[below], sign):
            below += 1
        if not _goes_before(scores, heap[below], slot, sign):
            break
        heap[at] = heap[below]
        place[heap[at]] = at
        at = below
    heap[at] = slot
    place[slot] = at


@njit(cache=True, nogil=True)
def _enqueue_case(heaps, places, scores, counters, slot):
    """Put a slot into both heaps."""
    size = counters[SIZE]
    counters[SIZE] = size + 1
    for end in range(2):
        heaps[end, size] = slot
        places[end, slot] = size
        _settle_case(heaps[end], places[end], scores, 1 - 2 * end, size + 1, size)


@njit(cache=True, nogil=True)
def _dequeue_case(heaps, places, scores, counters, free, slot):
    """Take a slot out of both heaps and free it."""
    size = counters[SIZE] - 1
    counters[SIZE] = size
    for end in range(2):
        at = places[end, slot]
        last = heaps[end, size]
        if last != slot:
            heaps[end, at] = last
            places[end, last] = at
            _settle_case(heaps[end], places[end], scores, 1 - 2 * end, size, at)
    free[counters[FREE]] = slot
    counters[FREE] += 1


@njit(cache=True, nogil=True)
def _cycle_through(masks, choice, start, limit, queue, child, depth, cycle):
    """Fill a shortest directed cycle through a node; return its length, 0 if above the limit."""
    n = choice.size
    for node in range(n):
        depth[node] = -1
    depth[start] = 0
    queue[0] = start
    head, tail = 0, 1
    while head < tail:  # from a node to its parents, until start is a parent again
        node = queue[head]
        head += 1
        if depth[node] + 1 > limit:
            return 0
        if has_bit(masks[choice[node]], start):
            cycle[0] = start
            at, length = node, 1
            while at != start:  # start is a parent of node, node of child[node], ...
                cycle[length] = at
                at = child[at]
                length += 1
            return length
        for parent in range(n):
            if depth[parent] < 0 and has_bit(masks[choice[node]], parent):
                depth[parent] = depth[node] + 1
                child[parent] = node
                queue[tail] = parent
                tail += 1
    return 0


@njit(cache=True, nogil=True)
def _drop_without(ptr, masks, scores, choice, need, avoid, parent, child):
    """Return what the child's score loses when it must do without one parent."""
    held = has_bit(avoid[child], parent)
    put_bit(avoid[child], parent)
    row = first_fitting(masks, choice[child], ptr[child + 1], need[child], avoid[child])
    if not held:
        drop_bit(avoid[child], parent)
    return np.inf if row < 0 else scores[choice[child]] - scores[row]


@njit(cache=True, nogil=True)
def _cycle_to_break(ptr, masks, scores, choice, need, avoid, work, trial, cycle):
    """Fill the cycle whose cheapest arc is dearest, among shortest cycles; return its length.

    Every network of the case pays at least for the cheapest arc, so this lowers all bounds most.
    """
    n = choice.size
    length, worth = 0, -1.0
    for start in range(n):
        limit = length if length > 0 else n
        found = _cycle_through(masks, choice, start, limit, work[0], work[1], work[2], trial)
        if found == 0:
            continue
        least = np.inf
        for y in range(found):
            parent, child = trial[y], trial[(y + 1) % found]
            lost = _drop_without(ptr, masks, scores, choice, need, avoid, parent, child)
            least = min(least, lost)
        if found < length or length == 0 or least > worth:
            length, worth = found, least
            for y in range(found):
                cycle[y] = trial[y]
    return length


@njit(cache=True, nogil=True)
def _require(need, avoid, parent, child, upper, lower):
    """Require an arc, and forbid every arc that would close a cycle of required ones."""
    n = need.shape[0]
    put_bit(need[child], parent)
    upper[:] = False  # the parent and its ancestors by required arcs
    lower[:] = False  # the child and its descendants
    upper[parent] = True
    lower[child] = True
    changed = True
    while changed:
        changed = False
        for node in range(n):
            for other in range(n):
                if has_bit(need[node], other):
                    if upper[node] and not upper[other]:
                        upper[other] = changed = True
                    if lower[other] and not lower[node]:
                        lower[node] = changed = True
    for above in range(n):
        if upper[above]:
            for below in range(n):
                if lower[below]:
                    put_bit(avoid[above], below)


@njit(cache=True, nogil=True)
def _comply(ptr, masks, scores, need, avoid, choice):
    """Give every node that violates the arcs its best set that complies; return the score."""
    total = 0.0
    for node in range(choice.size):
        row = first_fitting(masks, choice[node], ptr[node + 1], need[node], avoid[node])
        if row < 0:
            return -np.inf
        choice[node] = row
        total += scores[row]
    return total


@njit(cache=True, nogil=True)
def _cluster_raise(ptr, masks, scores, need, avoid, choice, limit, costs, clusters, raised):
    """Return by how much clusters lower the bound of a case, at least up to a limit."""
    for node in range(choice.size):
        for row in range(ptr[node], ptr[node + 1]):
            costs[row] = np.inf
            if row >= choice[node]:
                bits = masks[row, 0]
                if bits & avoid[node, 0] == 0 and need[node, 0] & ~bits == 0:
                    costs[row] = scores[choice[node]] - scores[row]
    return raise_costs(ptr, masks, costs, limit, clusters, raised)[1]


@njit(cache=True, nogil=True)
def _copy_case(source, target, choices, needs, avoids):
    """Copy the case of one slot to another."""
    for node in range(choices.shape[1]):
        choices[target, node] = choices[source, node]
        for word in range(needs.shape[2]):
            needs[target, node, word] = needs[source, node, word]
            avoids[target, node, word] = avoids[source, node, word]


@njit(cache=True, nogil=True)
def _split_case(
    ptr, masks, scores, cycle, length, bar, slot,
    choices, needs, avoids, bounds, heaps, places, counters, free, costs, clusters, raised,
):  # fmt: skip
    """Step 4 of the algorithm: one disjoint case for every arc of the cycle.

    The case of the slot itself collects the arcs that later cases require.
    """
    n = choices.shape[1]
    upper, lower = np.empty(n, np.bool_), np.empty(n, np.bool_)
    for y in range(length):
        parent, child = cycle[y], cycle[(y + 1) % length]
        new = free[counters[FREE] - 1]
        _copy_case(slot, new, choices, needs, avoids)
        put_bit(avoids[new, child], parent)  # step 4(a)
        # Lists are by descending score and rules only grow: look from the current set on.
        # step 4(b)
        bounds[new] = _comply(ptr, masks, scores, needs[new], avoids[new], choices[new])
        # more than the paper's bound, which ignores all cycles
        if bounds[new] > bar and costs.size > 0:
            bounds[new] -= _cluster_raise(
                ptr, masks, scores, needs[new], avoids[new], choices[new],
                bounds[new] - bar, costs, clusters, raised,
            )  # fmt: skip
        bounds[new] = min(bounds[new], bounds[slot])  # the ascent may have been luckier before
        if bounds[new] > bar:
            counters[FREE] -= 1
            _enqueue_case(heaps, places, bounds, counters, new)
        if has_bit(avoids[slot, child], parent):
            break  # a required chain already excludes this arc: nothing is left to cover
        # step 4(c), and every arc that would close a cycle of required ones
        _require(needs[slot], avoids[slot], parent, child, upper, lower)


@njit(cache=True, nogil=True)
def _branch_cases(
    ptr, masks, scores, choices, needs, avoids, bounds, heaps, places, counters, free,
    best, best_choice, steps, bottom, cluster_bound,
):  # fmt: skip
    """Handle some cases; return 0 when done with them, 1 when more room is needed."""
    n = best_choice.size
    cycle, trial = np.empty(n, np.int64), np.empty(n, np.int64)
    work = np.empty((3, n), np.int64)
    costs = np.empty(scores.size if cluster_bound else 0)
    clusters, raised = np.empty(16 * n, np.uint64), np.empty(16 * n)
    for _ in range(steps):
        if counters[SIZE] == 0:
            return 0
        if counters[FREE] <= n:
            return 1
        counters[STEPS] += 1
        # step 1: the worst case now and then
        from_bottom = counters[DEPTH_FIRST] == 1 or counters[STEPS] % bottom == 0
        slot = heaps[1 if from_bottom else 0, 0]
        bar = best[0] + TIE * max(1.0, abs(best[0])) if best[0] > -np.inf else best[0]
        if bounds[slot] <= bar:
            if not from_bottom:  # no other case is better than the one at the top
                for k in range(counters[SIZE]):
                    free[counters[FREE] + k] = heaps[0, k]
                counters[FREE] += counters[SIZE]
                counters[SIZE] = 0
                return 0
            _dequeue_case(heaps, places, bounds, counters, free, slot)
            continue
        choice = choices[slot]
        length = _cycle_to_break(  # step 3, the paper's "a cycle"
            ptr, masks, scores, choice, needs[slot], avoids[slot], work, trial, cycle
        )
        if length == 0:  # step 2
            best[0] = bounds[slot]
            for node in range(n):
                best_choice[node] = choice[node]
        # The slot leaves the queue but is not handed out again before it has been split.
        _dequeue_case(heaps, places, bounds, counters, free, slot)
        if length > 0:
            counters[FREE] -= 1
            _split_case(
                ptr, masks, scores, cycle, length, bar, slot,
                choices, needs, avoids, bounds, heaps, places, counters, free,
                costs, clusters, raised,
            )  # fmt: skip
            free[counters[FREE]] = slot
            counters[FREE] += 1
    return 0


class CaseQueue:
    """Waiting cases of a search, to be taken from the top or the bottom.

    Parameters
    ----------
    problem : Problem
        Sets of each node.
    room : int
        Cases for which to make room at first.
    """

    def __init__(self, problem: Problem, room: int = 1024) -> None:
        self.problem = problem
        self.n, self.words = problem.n_nodes, problem.masks.shape[1]
        room = max(room, 4 * self.n)
        self.cases = self._blank(room)
        self.heaps, self.places = np.empty((2, room), np.int64), np.empty((2, room), np.int64)
        self.free = np.arange(room)[::-1].copy()
        self.counters = np.array([0, room, 0, 0])

    def _blank(self, room: int) -> tuple[NDArray, ...]:
        shape = (room, self.n, self.words)
        return (
            np.empty((room, self.n), np.int64),
            np.zeros(shape, np.uint64),
            np.zeros(shape, np.uint64),
            np.empty(room),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the cases."""
        return sum(array.nbytes for array in self.cases)

    @property
    def size(self) -> int:
        """Number of waiting cases."""
        return int(self.counters[SIZE])

    def bounds(self) -> NDArray[np.float64]:
        """Return the bounds of the waiting cases."""
        return self.cases[3][self.heaps[0, : self.size]]

    def grow(self) -> None:
        """Double the room; beyond the memory allowed, go depth first and grow slowly."""
        old = len(self.free)
        if 2 * self.nbytes > MEMORY:
            self.counters[DEPTH_FIRST] = 1
        more = old if self.counters[DEPTH_FIRST] == 0 else max(old // 8, 4 * self.n)
        self.cases = tuple(np.concatenate(p) for p in zip(self.cases, self._blank(more)))
        wider = np.empty((2, more), np.int64)
        self.heaps = np.concatenate([self.heaps, wider], axis=1)
        self.places = np.concatenate([self.places, wider], axis=1)
        n_free = int(self.counters[FREE])
        self.free = np.concatenate(
            [np.arange(old, old + more), self.free[:n_free], np.empty(old - n_free, np.int64)]
        )
        self.counters[FREE] += more

    def push(self, choice: NDArray, need: NDArray, avoid: NDArray, bound: float) -> None:
        """Add a case."""
        if self.counters[FREE] <= self.n:
            self.grow()
        self.counters[FREE] -= 1
        slot = self.free[self.counters[FREE]]
        for array, value in zip(self.cases, (choice, need, avoid, bound)):
            array[slot] = value
        _enqueue_case(self.heaps, self.places, self.cases[3], self.counters, slot)

    def give(self, count: int) -> list[tuple]:
        """Take out some of the best cases, for another queue."""
        given = []
        for _ in range(count):
            slot = self.heaps[0, 0]
            given.append(tuple(np.copy(array[slot]) for array in self.cases))
            _dequeue_case(self.heaps, self.places, self.cases[3], self.counters, self.free, slot)
        return given

    def advance(
        self, best: NDArray, choice: NDArray, steps: int, bottom: int, cluster_bound: bool
    ) -> None:
        """Handle some cases, updating the best score and network in place."""
        p = self.problem
        choices, needs, avoids, bounds = self.cases
        until = self.counters[STEPS] + steps
        while self.size and self.counters[STEPS] < until:
            full = _branch_cases(
                p.ptr, p.masks, p.scores, choices, needs, avoids, bounds, self.heaps,
                self.places, self.counters, self.free, best, choice,
                until - self.counters[STEPS], bottom, cluster_bound,
            )  # fmt: skip
            if full:
                self.grow()
                choices, needs, avoids, bounds = self.cases


def first_case(problem: Problem) -> tuple[NDArray, NDArray, NDArray, float]:
    """Return the case without rules: the best set of every node."""
    shape = (problem.n_nodes, problem.masks.shape[1])
    choice = problem.ptr[:-1].copy()
    bound = float(problem.scores[choice].sum())
    return choice, np.zeros(shape, np.uint64), np.zeros(shape, np.uint64), bound


def _share(queues: list[CaseQueue]) -> None:
    """Give queues that have run dry half of the cases of the fullest."""
    for queue in queues:
        fullest = max(queues, key=lambda q: q.size)
        if queue.size == 0 and fullest.size > 1:
            given = fullest.give(fullest.size // 2)
            for k, case in enumerate(given):
                (queue if k % 2 == 0 else fullest).push(*case)


def solve_bnb(
    problem: Problem,
    *,
    time_limit: float | None = None,
    max_iter: int | None = None,
    gap: float = 0.0,
    bottom: int = 3,
    bound: str = "clusters",
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    on_step: Callable[[], bool] = lambda: False,
) -> SearchResult:
    """Return the best network found by branch and bound, with a bound on all networks.

    Parameters
    ----------
    problem : Problem
        Sets of each node.
    time_limit : float or None
        Seconds.
    max_iter : int or None
        Largest number of cases to handle.
    gap : float
        Relative gap (upper bound − score) over the absolute score, at which to stop.
    bottom : int
        Every how manieth case is taken from the bottom of the queue; 1 is depth first.
    bound : {"clusters", "relaxed"}
        "relaxed" is the paper's bound, which ignores cycles; "clusters" lowers it by what the
        cluster inequalities cost (for up to 63 nodes).
    n_jobs : int or None
        Threads, each with a queue of its own; what is found is shared after each round, so the
        answer does not depend on their timing.
    random_state : int, RandomState or None
        Draws the orders from which the first network is found.
    on_step : callable
        Called after each round; stops the search when it returns True.

    Returns
    -------
    result : SearchResult
        The bound is valid whenever the search stops.
    """
    start = time.perf_counter()
    first = solve_order(problem, 20, random_state=random_state, time_limit=time_limit)
    clusters = bound == "clusters" and problem.n_nodes <= LARGEST_ASCENT
    queues = [CaseQueue(problem) for _ in range(effective_n_jobs(n_jobs))]
    queues[0].push(*first_case(problem))
    bests = [np.array([first.score]) for _ in queues]
    choices = [first.choice.copy() for _ in queues]
    trace: list[TracePoint] = []
    chunk = max(10, min(2_000, CHUNK // (problem.scores.size * problem.n_nodes)))
    while True:
        leader = int(np.argmax([b[0] for b in bests]))
        best, choice = float(bests[leader][0]), choices[leader].copy()
        upper = max([best, *(float(q.bounds()[0]) for q in queues if q.size)])
        seconds = time.perf_counter() - start
        trace.append(TracePoint(seconds, best, upper))
        steps = sum(int(q.counters[STEPS]) for q in queues)
        left = chunk if max_iter is None else min(chunk, max_iter - steps)
        late = time_limit is not None and seconds >= time_limit
        if upper - best <= max(gap * abs(best), TIE * abs(best)) or late or left <= 0:
            break
        for b, c in zip(bests, choices):
            b[0], c[:] = best, choice
        _share(queues)
        if len(queues) == 1:
            queues[0].advance(bests[0], choices[0], left, bottom, clusters)
        else:
            Parallel(len(queues), require="sharedmem")(
                delayed(q.advance)(b, c, max(1, left // len(queues)), bottom, clusters)
                for q, b, c in zip(queues, bests, choices)
            )
        if on_step():
            time_limit = 0.0  # one more look at the bounds, then stop
    optimal = upper - best <= TIE * max(1.0, abs(best))
    return SearchResult(choice, best, best if optimal else upper, optimal, steps, tuple(trace))


def _warmup() -> None:
    """Compile the kernels."""
    masks = masks_of([(1,), (), (0,), ()], 2)
    ptr, scores = np.array([0, 2, 4]), np.array([-1.0, -2.0, -1.0, -2.0])
    problem = Problem(ptr, masks, scores, np.arange(4), np.arange(2))
    queue = CaseQueue(problem)
    queue.push(*first_case(problem))
    queue.push(*queue.give(1)[0])
    queue.advance(np.array([-np.inf]), np.zeros(2, np.int64), 10, 3, True)
