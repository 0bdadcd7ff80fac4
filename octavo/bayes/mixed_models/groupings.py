"""Groupings as users have them: a column of labels, several, a frame or a dict of columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Ints, Numbers


class Grouping(NamedTuple):
    """One grouping of the rows: its name, its sorted labels, and each row's place among them."""

    name: str
    levels: Numbers
    codes: Ints


def _columns(groups: Any) -> dict[str, Numbers]:
    """Return the columns of labels by name."""
    if isinstance(groups, Mapping):
        return {str(name): _labels(column) for name, column in groups.items()}
    if hasattr(groups, "columns") and hasattr(groups, "__getitem__"):
        return {str(name): _labels(groups[name]) for name in groups.columns}
    name = getattr(groups, "name", None)
    array = _labels(groups)
    if array.ndim == 2:
        if array.shape[1] == 1:
            return {"group": array[:, 0]}
        return {f"group{j + 1}": array[:, j] for j in range(array.shape[1])}
    return {"group" if name is None else str(name): array}


def _labels(column: Any) -> Numbers:
    array = np.asarray(column)
    if array.dtype.kind in "USO" or array.dtype.kind in "biufM":
        return array
    raise ValueError(f"groups must hold labels; a column has the type {array.dtype}.")


def _check_column(name: str, labels: Numbers, n_rows: int) -> None:
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(
            f"groups must have one label per row of X ({n_rows}); {name!r} has shape "
            f"{labels.shape}."
        )
    if labels.dtype.kind == "f":
        missing = np.isnan(labels)
    elif labels.dtype.kind == "O":
        missing = np.array([label is None or label != label for label in labels], dtype=bool)
    else:
        return
    if missing.any():
        raise ValueError(
            f"groups must have no missing label; {name!r} has one in row "
            f"{int(np.flatnonzero(missing)[0])}."
        )


def encode_groups(groups: Any, n_rows: int, kept: Any) -> list[Grouping]:
    """Return the groupings of the training rows, after checking them.

    Parameters
    ----------
    groups : array-like, frame or dict
        Labels; see `VariationalMixedModel.fit`.
    n_rows : int
        Number of rows of X.
    kept : ndarray of bool of shape (n_rows,)
        The rows that count; labels of others are forgotten.

    Returns
    -------
    groupings : list of Grouping
        One per column.
    """
    columns = _columns(groups)
    if not columns:
        raise ValueError("groups must have at least one column; it has none.")
    found = []
    for name, labels in columns.items():
        _check_column(name, labels, n_rows)
        try:
            levels, codes = np.unique(labels[kept], return_inverse=True)
        except TypeError as error:
            raise ValueError(
                f"groups must have labels of one kind in a column; {name!r} mixes kinds that "
                f"cannot be compared ({error})."
            ) from error
        if len(levels) == 1:
            warnings.warn(
                f"The grouping {name!r} has one level, {levels[0]!r}: its variance is what the "
                "prior says, and its effect cannot be told from the intercept.",
                UserWarning,
                stacklevel=4,
            )
        found.append(Grouping(name, levels, codes.astype(np.int64)))
    return found


def place_groups(groups: Any, fitted: list[tuple[str, Numbers]], n_rows: int) -> list[Ints]:
    """Return each row's place among the fitted labels, term by term; -1 where it is new.

    Parameters
    ----------
    groups : array-like, frame or dict
        Labels of new rows.
    fitted : list of (str, ndarray)
        Names and sorted labels of the terms.
    n_rows : int
        Number of new rows.

    Returns
    -------
    codes : list of ndarray of shape (n_rows,)
        One array per term.
    """
    columns = _columns(groups)
    if set(columns) != {name for name, _ in fitted}:
        if len(columns) != len(fitted) or isinstance(groups, Mapping):
            raise ValueError(
                f"groups must have the columns {[name for name, _ in fitted]}; it has "
                f"{list(columns)}."
            )
        columns = {name: column for (name, _), column in zip(fitted, columns.values())}
    places = []
    for name, levels in fitted:
        labels = columns[name]
        _check_column(name, labels, n_rows)
        try:
            at = np.minimum(np.searchsorted(levels, labels), len(levels) - 1)
        except TypeError as error:
            raise ValueError(
                f"groups must have labels of the kind seen in fit; {name!r} does not ({error})."
            ) from error
        known = np.asarray(levels[at] == labels)
        if not known.all():
            new = np.unique(labels[~known].astype(str))
            shown = ", ".join(map(repr, new[:5].tolist())) + (", ..." if len(new) > 5 else "")
            warnings.warn(
                f"{int((~known).sum())} rows have labels of {name!r} that fit did not see "
                f"({shown}): their predictions are at the level of the population.",
                UserWarning,
                stacklevel=4,
            )
        places.append(np.where(known, at, -1).astype(np.int64))
    return places
