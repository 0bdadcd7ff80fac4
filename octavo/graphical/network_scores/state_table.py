"""Categorical tables: which states each column has, and their integer codes.

Bayesian networks over categorical variables work on codes 0, 1, ... This module turns strings,
integers, pandas categories and, on request, measurements cut into intervals into such codes, and
says which column of a later table holds a value that was not there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__: list[str] = []


class Column(NamedTuple):
    """How the values of one column become codes: by its states, or by edges of intervals."""

    name: str
    states: tuple[Any, ...]
    edges: NDArray[np.float64] | None = None


def declared_categories(X: Any) -> dict[int, tuple[Any, ...]]:
    """Return the categories of the columns of a data frame that declare them, by position."""
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "columns"):
        return {}
    return {
        place: tuple(dtype.categories)
        for place, dtype in enumerate(dtypes)
        if hasattr(dtype, "categories")
    }


def _sorted_values(values: NDArray[Any]) -> tuple[Any, ...]:
    """Return the distinct values in order; values of several types are ordered by type first."""
    try:
        distinct = np.unique(values).tolist()
    except TypeError:
        key = lambda v: (type(v).__name__, v)  # noqa: E731
        distinct = sorted(set(values.tolist()), key=key)
    return tuple(distinct)


def _is_continuous(values: NDArray[Any]) -> bool:
    """Return whether a column of numbers holds one that is not an integer."""
    if values.dtype == object:
        numbers = [v for v in values.tolist() if isinstance(v, (float, np.floating))]
        return any(v != np.floor(v) for v in numbers)
    return bool(np.issubdtype(values.dtype, np.floating) and (values != np.floor(values)).any())


def _cut(name: str, values: NDArray[Any], discretize: str, n_bins: int) -> Column:
    """Return intervals of a column of measurements."""
    numbers = values.astype(np.float64)
    if discretize == "mean":
        edges = np.array([numbers.mean()])
    else:
        edges = np.unique(np.quantile(numbers, np.arange(1, n_bins) / n_bins))
    edges = edges[edges > numbers.min()]  # an edge at the minimum has nothing below it
    ends = ["", *(f"{edge:.6g}" for edge in edges), ""]
    labels = tuple(f"[{lo or '-inf'}, {hi or 'inf'})" for lo, hi in pairwise(ends))
    return Column(name, labels, edges)


def fit_columns(
    X: NDArray[Any],
    names: Sequence[str],
    declared: dict[int, tuple[Any, ...]],
    *,
    discretize: str | None = None,
    n_bins: int = 3,
    on_constant: str = "raise",
) -> list[Column]:
    """Find the states of each column.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        Complete data of any type.
    names : sequence of str
        Names of the columns.
    declared : dict of int to tuple
        States of the columns that declare them.
    discretize : {"mean", "quantile"} or None
        What to do with columns that hold numbers that are not integers.
    n_bins : int
        Intervals for "quantile".
    on_constant : {"raise", "isolate"}
        What to do with a column of a single state.

    Returns
    -------
    columns : list of Column
        One a column.
    """
    import warnings

    columns = []
    for place, name in enumerate(names):
        values = X[:, place]
        if place in declared:
            columns.append(Column(name, declared[place]))
        elif _is_continuous(values):
            if discretize is None:
                raise ValueError(
                    f"Column {name!r} is continuous (it holds {_example(values):.6g}); networks "
                    'are over categories: pass discretize="mean" or "quantile", or cut it yourself.'
                )
            columns.append(_cut(name, values, discretize, n_bins))
        else:
            columns.append(Column(name, _sorted_values(values)))
    single = [column.name for column in columns if len(column.states) < 2]
    if single and on_constant == "raise":
        raise ValueError(
            f"Columns {single} have a single state; every variable needs at least two. Drop them, "
            'or pass on_constant="isolate" to leave them without arcs.'
        )
    if single:
        warnings.warn(
            f"Columns {single} have a single state and get no arcs.", UserWarning, stacklevel=3
        )
    return columns


def _example(values: NDArray[Any]) -> float:
    numbers = [float(v) for v in values.tolist() if isinstance(v, float)]
    return next(v for v in numbers if v != np.floor(v))


def code_table(
    X: NDArray[Any], columns: Sequence[Column], handle_unknown: str = "error"
) -> NDArray[np.int32]:
    """Return the codes of a table whose columns are known.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        Values.
    columns : sequence of Column
        What `fit_columns` returned.
    handle_unknown : {"error", "ignore"}
        Whether a value that is no known state raises a ValueError that names it, or gets -1.

    Returns
    -------
    codes : ndarray of shape (n_samples, n_columns), dtype int32
        Codes.
    """
    codes = np.empty(X.shape, np.int32)
    for place, column in enumerate(columns):
        codes[:, place] = code_column(X[:, place], column, handle_unknown)
    return codes


def code_column(
    values: NDArray[Any], column: Column, handle_unknown: str = "error"
) -> NDArray[np.int32]:
    """Return the codes of one column; -1 for unknown states if they are to be ignored."""
    if column.edges is not None:
        return np.searchsorted(column.edges, values.astype(np.float64), side="right").astype("i4")
    code = {state: k for k, state in enumerate(column.states)}
    distinct, back = _distinct(values)
    unknown = [value for value in distinct if value not in code]
    if unknown and handle_unknown == "error":
        raise ValueError(
            f"Column {column.name!r} holds unknown states {unknown[:5]}; expected one of "
            f"{list(column.states[:10])}{' ...' if len(column.states) > 10 else ''}."
        )
    return np.array([code.get(value, -1) for value in distinct], np.int32)[back]


def _distinct(values: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return distinct values and, for each value, its place among them."""
    try:
        distinct, back = np.unique(values, return_inverse=True)
        return distinct.tolist(), back
    except TypeError:  # values of several types have no order
        place: dict[Any, int] = {}
        back = np.array([place.setdefault(value, len(place)) for value in values.tolist()])
        return list(place), back
