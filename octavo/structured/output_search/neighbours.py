"""Neighbours of an output, as lists: limited discrepancies and flipped labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.checked import checked
from octavo.structured.output_search.recurrent import RecurrentClassifier

__all__ = ["flipbit_successors", "limited_discrepancy_successors"]


@checked
def flipbit_successors(y: ArrayLike, n_labels: int) -> list[Ints]:
    """Return all outputs that differ from one in a single label.

    Parameters
    ----------
    y : array-like of int
        Label numbers, from 0 to ``n_labels - 1``: a sequence or a grid.
    n_labels : int
        Number of labels.

    Returns
    -------
    outputs : list of ndarray
        T (n_labels - 1) outputs: by position, then by label.

    Examples
    --------
    >>> from octavo.structured import flipbit_successors
    >>> [output.tolist() for output in flipbit_successors([0, 1], 2)]
    [[1, 1], [0, 0]]
    """
    labels = np.asarray(y)
    if labels.size == 0 or labels.dtype.kind not in "iu":
        raise ValueError(f"y must hold label numbers, integers from 0, got {y!r}.")
    if n_labels < 1 or labels.min() < 0 or labels.max() >= n_labels:
        raise ValueError(
            f"y must hold numbers from 0 to n_labels - 1 = {n_labels - 1}, got {labels.min()} to "
            f"{labels.max()}."
        )
    found = []
    for i in range(labels.size):
        for a in range(n_labels):
            if a != labels.flat[i]:
                output = labels.astype(np.int64)
                output.flat[i] = a
                found.append(output)
    return found


@checked
def limited_discrepancy_successors(
    recurrent: RecurrentClassifier,
    x: ArrayLike,
    discrepancies: Mapping[int, Any],
    *,
    sparse_k: int | None = None,
) -> list[tuple[dict[int, Any], NDArray[Any]]]:
    """Return the neighbours of a set of discrepancies, each with one more (or another) label.

    Parameters
    ----------
    recurrent : RecurrentClassifier
        Fitted.
    x : array-like of shape (T, n_features) or (height, width, n_features)
        Observations of one structure.
    discrepancies : dict of position to label
        Labels that are forced; in grids positions are counted row by row.
    sparse_k : int, optional
        Only so many labels per position, those scored best besides the present one.

    Returns
    -------
    successors : list of (dict, ndarray)
        Discrepancies, and the output of the classifier that obeys them.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.structured import RecurrentClassifier, limited_discrepancy_successors
    >>> x, y = np.array([[0.0], [1.0], [0.0], [1.0]]), [0, 1, 0, 1]
    >>> recurrent = RecurrentClassifier(random_state=0).fit([x], [y])
    >>> found = limited_discrepancy_successors(recurrent, x[:2], {})
    >>> [(forced, output.tolist()) for forced, output in found]
    [({0: 1}, [1, 0]), ({1: 0}, [0, 0])]
    """
    check_is_fitted(recurrent, "classes_")
    if sparse_k is not None and (sparse_k < 1 or not recurrent.has_scores_):
        raise ValueError(
            f"sparse_k must be positive and needs a classifier with scores, got {sparse_k} and "
            f"{type(recurrent.estimator_).__name__}."
        )
    cells = recurrent.read([np.asarray(x)])
    space = recurrent.space(cells, k=sparse_k or 0)
    classes = recurrent.classes_
    labels, forced = _forced(discrepancies, int(cells.lengths[0]), classes.tolist())
    labels = space.forced(0, labels, forced)  # h[D](x)
    found = space.successors(0, labels, forced)
    shape = cells.shapes[0] if cells.shapes is not None else (labels.size,)
    kept, names, answers = dict(discrepancies), classes.tolist(), []
    for k, row in enumerate(found.outputs(labels)):
        cell, new = (int(part[0]) for part in found.changes(k))
        # an earlier discrepancy at the cell is overridden
        answers.append(({**kept, cell: names[new]}, classes[row].reshape(shape)))
    return answers


def _forced(discrepancies: Any, n: int, classes: list[Any]) -> tuple[Ints, np.ndarray]:
    """Return forced labels as numbers, and where they are."""
    if not isinstance(discrepancies, Mapping):
        raise ValueError(f"discrepancies must be a dict of positions, got {discrepancies!r}.")
    labels, forced = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    for position, label in discrepancies.items():
        if not isinstance(position, (int, np.integer)) or not 0 <= position < n:
            raise ValueError(f"Discrepancies are at positions from 0 to {n - 1}, got {position!r}.")
        if label not in classes:
            raise ValueError(
                f"Position {position} has the label {label!r}, which was never seen in training."
            )
        labels[position], forced[position] = classes.index(label), True
    return labels, forced
