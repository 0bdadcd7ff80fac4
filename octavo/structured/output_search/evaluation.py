"""What guides a search: the true loss, or the learned cost by increments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.structured.output_search.cells import Layout
from octavo.structured.output_search.kernels import (
    cost_changes,
    full_cost,
    tuple_room,
    unary_table,
)
from octavo.structured.output_search.space import Successors


class HammingEvaluation:
    """The number of wrong labels."""

    def __init__(self, truth: Ints) -> None:
        self.truth = truth

    def of(self, labels: Ints) -> float:
        """Return the loss of an output."""
        return float(np.count_nonzero(labels != self.truth))

    def of_successors(self, labels: Ints, value: float, found: Successors) -> Floats:
        """Return the losses of neighbours, from the cells that they change."""
        if len(found) == 0:
            return np.zeros(0)
        truth = self.truth[found.cell]
        change = (found.label != truth).astype(np.float64) - (labels[found.cell] != truth)
        return value + np.add.reduceat(change, found.ptr[:-1])


class LossEvaluation:
    """Any loss of a complete output, each computed once."""

    def __init__(self, loss: Callable[[Ints], float]) -> None:
        self.loss = loss
        self.known: dict[bytes, float] = {}

    def of(self, labels: Ints) -> float:
        """Return the loss of an output."""
        key = labels.tobytes()
        if key not in self.known:
            self.known[key] = self.loss(labels)
        return self.known[key]

    def of_successors(self, labels: Ints, value: float, found: Successors) -> Floats:
        """Return the losses of neighbours."""
        return np.array([self.of(row) for row in found.outputs(labels)], dtype=np.float64)


class CostField:
    """The learned cost w·Φ(x, y) of all structures."""

    def __init__(self, X: Floats, starts: Ints, layout: Layout, n_labels: int) -> None:
        self.X, self.starts, self.layout, self.n_labels = X, starts, layout, n_labels
        self.stamps = np.full(len(layout.tuples) + len(X), -1, dtype=np.int64)
        self.tick = 0

    @property
    def runs(self) -> tuple[Any, ...]:
        """Return the arrays of the layout that compiled code needs."""
        return tuple(self.layout[2:])

    @property
    def room(self) -> int:
        """Return the most entries that a difference of two outputs can have."""
        longest = int(np.diff(self.starts).max())
        width = int(np.diff(self.layout.member_ptr).max(initial=0))
        return 2 * longest * (self.X.shape[1] + width) + 2

    @property
    def spots(self) -> int:
        """Return in how many places cells stand in tuples, in the structure that has most."""
        return int(np.diff(self.layout.member_ptr[self.starts]).max())

    def evaluation(self, q: int, weights: Floats) -> CostEvaluation:
        """Return what guides a search in one structure."""
        return CostEvaluation(self, q, weights)


class CostEvaluation:
    """The learned cost of one structure; costs of single cells are computed once."""

    def __init__(self, field: CostField, q: int, weights: Floats) -> None:
        self.field, self.weights, self.start = field, weights, field.starts[q]
        n = int(field.starts[q + 1] - self.start)
        self.table = np.empty((n, field.n_labels))
        unary_table(field.X, self.start, n, weights, self.table)
        ends = field.layout.member_ptr[[self.start, self.start + n]]
        self.room = tuple_room(ends[1] - ends[0])

    def of(self, labels: Ints) -> float:
        """Return the cost of an output."""
        return full_cost(labels, self.start, self.table, self.weights, *self.field.runs)

    def of_successors(self, labels: Ints, value: float, found: Successors) -> Floats:
        """Return the costs of neighbours, from the features that they change."""
        field, changes = self.field, np.empty(len(found))
        field.tick += len(found) + 1
        cost_changes(
            labels,
            self.start,
            *found,
            self.table,
            self.weights,
            *field.runs,
            field.stamps,
            field.tick - len(found),
            labels.copy(),
            *self.room,
            changes,
        )
        return value + changes
