"""Joint features Φ(x, y): observations label by label, and counts of runs of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.structured.output_search.cells import layout, read_cells, table_sizes

__all__ = ["joint_features"]


def n_joint_features(n_features: int, n_labels: int, order: int, grid: bool) -> int:
    """Return the length of Φ; more than 2e8 is refused."""
    total = n_labels * n_features + sum(table_sizes(n_labels, order, grid))
    if total > 200_000_000:
        raise ValueError(
            f"{n_labels} labels at order {order} make {total} joint features; lower the order."
        )
    return total


@checked
def joint_features(x: ArrayLike, y: ArrayLike, n_labels: int, order: int = 2) -> Floats:
    """Return the joint features of one sequence or grid and one labelling.

    Parameters
    ----------
    x : array-like of shape (T, n_features) or (height, width, n_features)
        Observations.
    y : array-like of shape (T,) or (height, width)
        Label numbers, from 0 to ``n_labels - 1``.
    n_labels : int
        Number of labels.
    order : int, default=2
        Runs of up to ``order + 1`` neighbouring labels are counted; 0 for none.

    Returns
    -------
    features : ndarray
        The sum of the observations under label 0, under label 1, and so on; then for every order
        from 1 on the counts of runs of that many labels and one more, as a table whose last axis
        is the last label, flattened. Grids have a horizontal and a vertical table per order.

    Examples
    --------
    >>> from octavo.structured import joint_features
    >>> joint_features([[1.0], [2.0], [4.0]], [0, 1, 1], n_labels=2, order=1).tolist()
    [1.0, 6.0, 0.0, 1.0, 0.0, 1.0]
    """
    values = np.asarray(x)
    if values.ndim not in (2, 3):
        raise ValueError(f"x must have 2 or 3 dimensions, got shape {values.shape}.")
    if n_labels < 1 or order < 0:
        raise ValueError(
            f"n_labels must be positive and order not negative, got {n_labels} and {order}."
        )
    cells = read_cells([values], structure="grid" if values.ndim == 3 else "sequence")
    labels = label_numbers(y, n_labels, values.shape[:-1])
    d = cells.values.shape[1]
    features = np.zeros(n_joint_features(d, n_labels, order, values.ndim == 3))
    np.add.at(features[: n_labels * d].reshape(n_labels, d), labels, cells.values)
    runs = layout(cells, 0, n_labels, order)
    index = np.zeros(len(runs.tuples), dtype=np.int64)
    for j in range(order + 1):
        inside = j < runs.arity
        index[inside] = index[inside] * n_labels + labels[runs.tuples[inside, j]]
    np.add.at(features, runs.offset + index, 1.0)
    return features


def label_numbers(y: Any, n_labels: int, shape: tuple[int, ...]) -> Ints:
    """Return label numbers as a flat array after checking shape and range."""
    labels = np.asarray(y)
    if labels.shape != tuple(shape):
        raise ValueError(f"y must have the shape {tuple(shape)} of x, got {labels.shape}.")
    if labels.dtype.kind not in "iu" and not (
        labels.dtype.kind == "f" and np.all(labels == np.floor(labels))
    ):
        raise ValueError(f"y must hold label numbers, integers from 0, got dtype {labels.dtype}.")
    if labels.size and (labels.min() < 0 or labels.max() >= n_labels):
        raise ValueError(
            f"y must hold numbers from 0 to {n_labels - 1}, got {labels.min()} to {labels.max()}."
        )
    return labels.astype(np.int64).ravel()
