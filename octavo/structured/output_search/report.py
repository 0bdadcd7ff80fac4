"""Where the loss of a search comes from: outputs never generated, or generated and not chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.chains.label_sequences import encode_labels
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.structured.output_search.cells import read_labels
from octavo.structured.output_search.estimator import OutputSpaceSearchClassifier
from octavo.structured.output_search.losses import StructureLoss
from octavo.structured.output_search.procedures import OutputSearch, Witness, step_budget

__all__ = ["SearchReport", "search_report"]


class SearchReport(NamedTuple):
    """Result of `search_report`; losses are means over structures (Hamming: over cells).

    ``loss`` of the predictions is ``generation_loss``, that of the best outputs generated, plus
    ``selection_loss``; ``initial_loss`` is that of the recurrent classifier and ``oracle_loss``
    that of a search guided by the truth. ``imitation_errors`` and ``recurrent_errors`` are shares
    of wrong cells by structure, after true labels and on the classifier's own; ``target_depth`` is
    the mean number of discrepancies to the truth.
    """

    loss: float
    generation_loss: float
    selection_loss: float
    initial_loss: float
    oracle_loss: float
    imitation_errors: Floats
    recurrent_errors: Floats
    target_depth: float


@checked
def search_report(
    model: OutputSpaceSearchClassifier,
    X: Any,
    y: Any,
    lengths: ArrayLike | None = None,
) -> SearchReport:
    """Return how much of the loss is due to outputs not generated, and how much to the choice.

    Parameters
    ----------
    model : OutputSpaceSearchClassifier or HCSearchClassifier
        Fitted.
    X : sequences or grids
        Observations.
    y : labels
        The truth, of labels known from training.
    lengths : array-like of int, optional
        Lengths of the sequences of a stacked X.

    Returns
    -------
    report : SearchReport
        Losses, and errors of the recurrent classifier by structure.

    Examples
    --------
    >>> from octavo.data import make_high_order_markov
    >>> from octavo.structured import OutputSpaceSearchClassifier, search_report
    >>> X, y = make_high_order_markov(60, order=2, sigma=0.5, random_state=0)
    >>> model = OutputSpaceSearchClassifier(n_epochs=10, random_state=0).fit(X[:40], y[:40])
    >>> report = search_report(model, X[40:], y[40:])
    >>> round(report.generation_loss, 2), round(report.selection_loss, 2)
    (0.24, 0.18)
    """
    cells = model.recurrent_.read(X, lengths)
    codes = encode_labels(read_labels(y, cells), model.classes_)
    price = StructureLoss(model.loss, model.classes_, model.outside)
    space, field = model.prediction_space(cells)
    starts, rows = cells.starts, []
    for q in range(cells.lengths.size):
        truth = codes[starts[q] : starts[q + 1]]
        shape = None if cells.shapes is None else cells.shapes[q]
        expert = price.evaluation(truth, shape)
        n = step_budget(model.n_steps, truth.size)
        run = model.start_search(space, field, q)
        witness = Witness(run.evaluation, expert)
        witness.least = expert.of(run.beam[0].labels)
        run.evaluation = witness
        answer = run.run(n).labels
        oracle = OutputSearch(
            space, q, expert, model.search, model.beam_width, model.skip_visited
        ).run(n)
        first = space.initial(q)
        rows.append(
            (
                expert.of(answer),
                witness.least,
                expert.of(first),
                oracle.value,
                space.errors(q, truth),
                np.count_nonzero(first != truth),
            )
        )
    table = np.array(rows, dtype=np.float64)
    total = codes.size if model.loss == "hamming" else len(rows)
    loss, generated, initial, oracle_loss = (float(v) for v in table[:, :4].sum(axis=0) / total)
    return SearchReport(
        loss,
        generated,
        loss - generated,
        initial,
        oracle_loss,
        table[:, 4] / cells.lengths,
        table[:, 5] / cells.lengths,
        float(table[:, 4].mean()),
    )
