"""Search procedures that only compare: greedy, best-first beam, breadth-first beam.

A procedure is guided by an evaluation, the true loss in training or the learned cost in
prediction. It tells a recorder which comparisons its decisions rest on (Section 4.3): the nodes
selected against the rest of the beam, those kept against those pruned, and the best output so
far against the best new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.structured.output_search.space import Space, Successors


class Evaluation(Protocol):
    """What guides a search in one structure."""

    def of(self, labels: Ints) -> float:
        """Return the value of an output; smaller is better."""

    def of_successors(self, labels: Ints, value: float, found: Successors) -> Floats:
        """Return the values of all neighbours of an output whose value is known."""


class State(NamedTuple):
    """A node: its output, which labels are forced, and its value."""

    labels: Ints
    forced: np.ndarray
    value: float


# A recorder takes the labels of a node, candidates as its changes, which are kept, and values.
Recorder = Callable[[Ints, Successors, np.ndarray, Floats], None]


class OutputSearch:
    """One search in the outputs of one structure, step by step.

    Parameters
    ----------
    space : Space
        The neighbours.
    q : int
        Which structure.
    evaluation : Evaluation
        What guides the search.
    search : {"greedy", "beam", "breadth"}
        Which nodes are expanded: the best of the beam, or (breadth) all of them.
    width : int
        Nodes in the beam; 1 for greedy search.
    skip_visited : bool
        Whether an output met before is no candidate; a beam of more than one node always skips
        them, or copies of one output would fill it.
    ties : callable, optional
        Takes candidates and returns numbers that order those of equal value.
    """

    def __init__(
        self,
        space: Space,
        q: int,
        evaluation: Evaluation,
        search: str = "greedy",
        width: int = 1,
        skip_visited: bool = False,
        ties: Callable[[Ints, Successors], Floats] | None = None,
    ) -> None:
        self.space, self.q, self.evaluation, self.ties = space, q, evaluation, ties
        self.breadth = search == "breadth"
        self.width = 1 if search == "greedy" else width
        self.skip = skip_visited or self.width > 1
        labels = space.initial(q)
        start = State(labels, np.zeros(labels.size, dtype=np.bool_), evaluation.of(labels))
        self.beam = [start]
        self.best = start
        self.seen = {labels.tobytes()} if self.skip else set()

    def run(
        self, n_steps: int, record: Recorder | None = None, seconds: float | None = None
    ) -> State:
        """Take up to so many steps within a time limit; return the best output met."""
        limit = None if seconds is None else time.perf_counter() + seconds
        for _ in range(n_steps):
            if limit is not None and time.perf_counter() >= limit:
                break
            if not self.step(record):
                break
        return self.answer()

    def answer(self) -> State:
        """Return the best output met so far."""
        return self.best

    def step(self, record: Recorder | None = None) -> bool:
        """Select, expand and prune; return whether anything is left to expand."""
        if not self.beam:
            return False
        if self.width == 1:
            return self._greedy_step(record)
        chosen = self.beam if self.breadth else self.beam[:1]
        rest = [] if self.breadth else self.beam[1:]
        if record is not None and rest:
            # selection: the expanded node below the rest of the beam
            self._compare(record, chosen, rest)  # selection
        fresh: list[State] = []
        for node in chosen:
            fresh += self._fresh(node)
        pool = sorted(rest + fresh, key=_value)
        self.beam, pruned = pool[: self.width], pool[self.width :]
        if record is not None and self.beam:
            if pruned:
                # every kept node below every pruned one
                self._compare(record, self.beam, pruned)  # pruning
            if fresh:
                self._anytime(record, min(fresh, key=_value))
        if fresh:
            found = min(fresh, key=_value)
            # of everything generated: the paper's constraint names the next state alone
            self.best = found if found.value < self.best.value else self.best
        return bool(self.beam)

    def _greedy_step(self, record: Recorder | None) -> bool:
        node = self.beam[0]
        found = self.space.successors(self.q, node.labels, node.forced)
        values = self.evaluation.of_successors(node.labels, node.value, found)
        order = self._order(node.labels, found, values)
        if self.skip:
            rows = found.outputs(node.labels)
            order = np.array([k for k in order if rows[k].tobytes() not in self.seen], dtype=int)
        if order.size == 0:
            self.beam = []
            return False
        k = int(order[0])
        following = self._state(node, found, values, k)
        if record is not None:
            kept = np.zeros(len(found), dtype=np.bool_)
            kept[k] = True
            # greedy: the successor taken below all others
            record(node.labels, found, kept, values)  # pruning
            self._anytime(record, following)
        self.beam = [following]
        self.seen.add(following.labels.tobytes()) if self.skip else None
        if following.value < self.best.value:
            self.best = following
        return True

    def _order(self, labels: Ints, found: Successors, values: Floats) -> Ints:
        """Return candidates from the best; with one node kept only the first need be right."""
        if self.skip:
            ties = self.ties(labels, found) if self.ties else np.arange(values.size)
            return np.lexsort((ties, values))
        if values.size == 0:
            return np.zeros(0, dtype=np.int64)
        best = np.flatnonzero(values == values.min())
        if best.size > 1 and self.ties is not None:
            best = best[np.argsort(self.ties(labels, found)[best], kind="stable")]
        return best

    def _fresh(self, node: State) -> list[State]:
        """Return neighbours whose outputs were not met before, ties in their order."""
        found = self.space.successors(self.q, node.labels, node.forced)
        values = self.evaluation.of_successors(node.labels, node.value, found)
        rows = found.outputs(node.labels)
        states = []
        for k in self._order(node.labels, found, values):
            key = rows[k].tobytes()
            if key not in self.seen:
                self.seen.add(key)
                states.append(self._state(node, found, values, int(k)))
        return states

    def _state(self, node: State, found: Successors, values: Floats, k: int) -> State:
        cells, new = found.changes(k)
        labels, forced = node.labels.copy(), node.forced.copy()
        labels[cells] = new
        forced[cells[0]] = True  # the discrepancy itself; cells that h changed after it stay free
        return State(labels, forced, float(values[k]))

    def _anytime(self, record: Recorder, new: State) -> None:
        if new.value < self.best.value:  # no constraint where losses are equal
            self._compare(record, [new], [self.best])
        elif new.value > self.best.value:
            self._compare(record, [self.best], [new])

    def _compare(self, record: Recorder, better: list[State], worse: list[State]) -> None:
        """Record that some nodes must cost less than others, as changes of the first."""
        base, nodes = better[0].labels, better + worse
        cells = [np.flatnonzero(node.labels != base) for node in nodes]
        found = Successors(
            np.concatenate([[0], np.cumsum([c.size for c in cells])]).astype(np.int64),
            np.concatenate(cells).astype(np.int64),
            np.concatenate([node.labels[c] for node, c in zip(nodes, cells)]).astype(np.int64),
        )
        kept = np.arange(len(nodes)) < len(better)
        record(base, found, kept, np.array([node.value for node in nodes]))


class Witness:
    """An evaluation beside which another one is taken of everything generated.

    ``least`` and ``labels`` are the value and the output that the other one likes best.
    """

    def __init__(self, guide: Evaluation, other: Evaluation) -> None:
        self.guide, self.other = guide, other
        self.least, self.labels = np.inf, np.zeros(0, dtype=np.int64)

    def of(self, labels: Ints) -> float:
        """Return the guide's value of an output."""
        value = self.other.of(labels)
        if value < self.least:
            self.least, self.labels = value, labels.copy()
        return self.guide.of(labels)

    def of_successors(self, labels: Ints, value: float, found: Successors) -> Floats:
        """Return the guide's values of neighbours."""
        others = self.other.of_successors(labels, self.other.of(labels), found)
        if others.size:
            k = int(np.argmin(others))
            if others[k] < self.least:
                cells, new = found.changes(k)
                self.least, self.labels = float(others[k]), labels.copy()
                self.labels[cells] = new
        return self.guide.of_successors(labels, value, found)


class SelectingSearch(OutputSearch):
    """A search guided by one evaluation whose answer is chosen by another."""

    def __init__(
        self, space: Space, q: int, guide: Evaluation, chooser: Evaluation, *options: Any
    ) -> None:
        self.witness = Witness(guide, chooser)
        super().__init__(space, q, self.witness, *options)

    def answer(self) -> State:
        """Return what the chooser likes best of all that was generated."""
        found = self.witness
        return State(found.labels, np.zeros(found.labels.size, dtype=np.bool_), found.least)


def _value(node: State) -> float:
    return node.value


def step_budget(n_steps: Any, length: int) -> int:
    """Return how many steps a structure of so many cells gets."""
    return length if isinstance(n_steps, str) else int(n_steps)  # τ = T, Section 4.2
