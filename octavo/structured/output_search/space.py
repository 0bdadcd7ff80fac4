"""Spaces of complete outputs around a recurrent classifier, ready for compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.structured.output_search.cells import Layout
from octavo.structured.output_search.kernels import expand, roll_out, top_labels


class Scores(NamedTuple):
    """What a recurrent classifier says of all cells.

    ``unary`` is (N, L); ``hist`` (F, S, L + 1, L) are weights of labels at the slots of the
    history, one set for each of F classifiers; ``which`` (n_structures,) names the classifier of
    each structure; ``table`` (N, histories, L) stands for both where it is not empty.
    """

    unary: Floats
    hist: Floats
    which: Ints
    table: Floats


class Successors(NamedTuple):
    """Neighbours of a state: candidate k changes ``cell[ptr[k]:ptr[k + 1]]`` to ``label``."""

    ptr: Ints
    cell: Ints
    label: Ints

    def __len__(self) -> int:
        return self.ptr.size - 1

    def changes(self, k: int) -> tuple[Ints, Ints]:
        """Return the cells that candidate k changes, and their labels."""
        part = slice(self.ptr[k], self.ptr[k + 1])
        return self.cell[part], self.label[part]

    def outputs(self, labels: Ints) -> Ints:
        """Return all candidates as labellings, one row each."""
        rows = np.repeat(labels[None], len(self), axis=0)
        rows[np.repeat(np.arange(len(self)), np.diff(self.ptr)), self.cell] = self.label
        return rows


class Space(NamedTuple):
    """Outputs of all structures: where each starts, who sees whom, scores, and which moves.

    ``rolls`` is true for limited discrepancies and false for flip-bit; ``k`` is the number of
    labels tried per cell (0: all); ``memo`` keeps what the classifier answered.
    """

    starts: Ints
    layout: Layout
    scores: Scores
    rolls: bool
    k: int
    memo: Ints

    def initial(self, q: int) -> Ints:
        """Return the recurrent classifier's own output."""
        n = int(self.starts[q + 1] - self.starts[q])
        return self.forced(q, np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_))

    def forced(self, q: int, labels: Ints, forced: np.ndarray) -> Ints:
        """Return the classifier's output where some labels are forced: h[D](x)."""
        found = np.array(labels, dtype=np.int64)
        self._answer(q, found, forced, found)
        return found

    def _answer(self, q: int, labels: Ints, forced: np.ndarray, out: Ints) -> None:
        slots, classifier = self.layout.slots, self._classifier(q)
        roll_out(labels, forced, out, self.starts[q], slots, *classifier, self.memo)

    def _classifier(self, q: int) -> tuple[Floats, Floats, Floats]:
        s = self.scores
        return s.unary, s.hist[s.which[q]], s.table

    def errors(self, q: int, truth: Ints) -> int:
        """Return the number of imitation errors: the depth of the truth (Proposition 1)."""
        said = np.empty_like(truth)
        self._answer(q, truth, np.zeros(truth.size, dtype=np.bool_), said)
        # errors along the true path, which Proposition 1 makes the depth of the truth
        return int(np.count_nonzero(said != truth))

    def successors(self, q: int, labels: Ints, forced: np.ndarray) -> Successors:
        """Return the neighbours of a state."""
        start, classifier = self.starts[q], self._classifier(q)
        n, n_labels = labels.size, self.scores.unary.shape[1]
        allowed = np.ones((n, n_labels), dtype=np.bool_)
        if self.k:
            # Section 3.5: the k best labels at each cell
            top_labels(labels, start, self.layout.slots, *classifier, self.k, allowed)
        where = (self.layout.slots, self.layout.reach)
        ptr, room = np.zeros(n * n_labels + 1, dtype=np.int64), 4 * n * n_labels + n
        while True:
            cell, label = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            moves = (allowed, self.rolls, labels.copy(), ptr, cell, label)
            count = expand(labels, forced, start, *where, *classifier, self.memo, *moves)
            if count >= 0:
                break
            room *= 2
        used = ptr[count]
        # copies: what is kept for learning must not hold on to the room around it
        return Successors(ptr[: count + 1].copy(), cell[:used].copy(), label[:used].copy())


MOST_ANSWERS = 10_000_000  # of a classifier that are kept


def no_answers(layout: Layout, n_labels: int) -> Ints:
    """Return room for a classifier's answers at all cells under all histories; none if too many."""
    n_cells, n_slots = layout.slots.shape
    n_histories = (n_labels + 1) ** n_slots
    if n_cells * n_histories > MOST_ANSWERS:
        return np.full((0, 1), -1, dtype=np.int32)
    return np.full((n_cells, n_histories), -1, dtype=np.int32)
