"""What the cost is learned in: the training structures, and a space that looks like that of tests.

A classifier errs less on structures that it was fitted on. With folds, the space around each
training structure is that of a classifier fitted on the others, as it will be in prediction.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Ints
from octavo.structured.output_search.cells import Cells, layout
from octavo.structured.output_search.evaluation import CostField
from octavo.structured.output_search.losses import StructureLoss
from octavo.structured.output_search.procedures import Evaluation
from octavo.structured.output_search.recurrent import RecurrentClassifier
from octavo.structured.output_search.space import Scores, Space, no_answers


class Training(NamedTuple):
    """All that cost learning needs."""

    cells: Cells
    codes: Ints
    space: Space
    field: CostField
    loss: StructureLoss
    n_weights: int

    def truth(self, q: int) -> Ints:
        """Return the true labels of one structure."""
        starts = self.space.starts
        return self.codes[starts[q] : starts[q + 1]]

    def shape(self, q: int) -> tuple[int, int] | None:
        """Return height and width of a grid."""
        return None if self.cells.shapes is None else self.cells.shapes[q]

    def expert(self, q: int) -> Evaluation:
        """Return what guides the search that knows the truth."""
        return self.loss.evaluation(self.truth(q), self.shape(q))


def some_cells(cells: Cells, chosen: np.ndarray) -> Cells:
    """Return the cells of some structures."""
    rows = np.repeat(chosen, cells.lengths)
    shapes = None
    if cells.shapes is not None:
        shapes = [shape for shape, taken in zip(cells.shapes, chosen) if taken]
    return Cells(cells.values[rows], cells.lengths[chosen], shapes, cells.listed)


def training_space(
    cells: Cells,
    codes: Ints,
    recurrent: RecurrentClassifier,
    make: Callable[[], RecurrentClassifier],
    *,
    n_folds: int,
    rolls: bool,
    k: int,
    order: int,
    rng: Any,
) -> Space:
    """Return the space of training; with folds, around classifiers that have not seen it."""
    if n_folds < 2:
        return recurrent.space(cells, rolls=rolls, k=k, order=order)
    fold = rng.permutation(np.arange(cells.lengths.size) % n_folds)
    parts: list[Scores] = []
    for f in range(n_folds):
        rest = fold != f
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # one label left in a small fold
            model = make().fit_cells(
                some_cells(cells, rest), codes[np.repeat(rest, cells.lengths)], recurrent.classes_
            )
        parts.append(model.scores(some_cells(cells, ~rest)))
    n_labels = len(recurrent.classes_)
    where = layout(cells, recurrent.history, n_labels, order)
    memo = no_answers(where, n_labels)
    return Space(cells.starts, where, _joined(parts, fold, cells), rolls, k, memo)


def _joined(parts: list[Scores], fold: Ints, cells: Cells) -> Scores:
    """Return the scores of all structures, each from the classifier of its fold."""
    rows = np.repeat(fold, cells.lengths)
    unary = np.empty((rows.size, parts[0].unary.shape[1]))
    tabled = [part.table.shape[0] > 0 for part in parts]
    shape = max((part.table.shape[1:] for part in parts), default=(1, 1))
    table = np.empty((rows.size if any(tabled) else 0, *shape))
    for f, part in enumerate(parts):
        unary[rows == f] = part.unary
        if any(tabled):  # a fold with one label left has no table: its answer never changes
            table[rows == f] = part.table if tabled[f] else part.unary[:, None, :]
    hist = np.concatenate([part.hist for part in parts])
    return Scores(unary, hist, fold.astype(np.int64), table)
