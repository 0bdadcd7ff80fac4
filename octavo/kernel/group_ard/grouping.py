"""Groups of columns: what a user may write, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Indices


def as_groups(groups: Any, n_columns: int) -> list[Indices]:
    """Return the columns of each group; together they are a partition of the columns.

    Parameters
    ----------
    groups : None, array-like of int of shape (n_columns,) or list of array-like of int
        One label per column (groups in the order of the sorted labels), or the columns of each
        group, or None for a group per column.
    n_columns : int
        Number of columns.

    Returns
    -------
    list of ndarray
        The columns of each group, in rising order.
    """
    if groups is None:
        return list(np.arange(n_columns, dtype=np.intp)[:, None])
    if isinstance(groups, (str, bytes, dict)) or not hasattr(groups, "__len__"):
        raise ValueError(
            "groups must be one whole number per column, or a list of arrays of columns; got "
            f"{groups!r}."
        )
    if any(np.ndim(group) > 0 for group in groups):
        found = [_columns(group, i, n_columns) for i, group in enumerate(groups)]
        _refuse_no_partition(found, n_columns)
        return found
    labels = np.asarray(groups)
    if labels.shape != (n_columns,):
        raise ValueError(
            f"groups must hold one label per column: X has {n_columns} columns, got "
            f"{labels.size} labels."
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(f"groups must hold whole numbers, got {groups!r}.")
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.unique(labels, return_counts=True)[1])
    return np.split(order, ends[:-1])


def _columns(group: Any, position: int, n_columns: int) -> Indices:
    columns = np.atleast_1d(np.asarray(group))
    if columns.ndim != 1 or columns.size == 0 or columns.dtype.kind not in "iu":
        raise ValueError(
            f"groups[{position}] must be a list of one or more column numbers, got {group!r}."
        )
    outside = columns[(columns < 0) | (columns >= n_columns)]
    if outside.size:
        raise ValueError(
            f"groups[{position}] must hold columns of X, 0 to {n_columns - 1}; got {outside[0]}."
        )
    return np.sort(columns).astype(np.intp)


def _refuse_no_partition(groups: list[Indices], n_columns: int) -> None:
    """Raise where a column is in several groups, or in none."""
    counts = np.bincount(np.concatenate(groups), minlength=n_columns)
    if (counts > 1).any():
        column = int(np.argmax(counts > 1))
        holders = [i for i, group in enumerate(groups) if column in group]
        where = " and ".join(f"groups[{i}]" for i in holders[:2])
        if len(holders) == 1:
            where += " twice"
        raise ValueError(f"groups must not overlap: column {column} is in {where}.")
    if (counts == 0).any():
        missing = np.flatnonzero(counts == 0)
        raise ValueError(
            f"groups must cover every column of X: column {missing[0]} is in no group "
            f"({missing.size} of {n_columns} columns are missing)."
        )
