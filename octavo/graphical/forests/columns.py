"""Columns of numbers and of categories, as one table of doubles.

Columns of a data frame whose type is category, text or boolean are categories; every other column
holds numbers. Categories become 0, 1, ... in a table of doubles, and go back the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats

Categories = list[Any]  # of each column its categories, None where it holds numbers


def is_frame(X: Any) -> bool:
    """Tell a pandas frame."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def column_name(k: int, names: Any = None) -> str:
    """Return what an error calls a column."""
    return f"Column {k}" if names is None else f"Column {k} ({names[k]!r})"


def _holds_categories(series: Any) -> bool:
    kind = getattr(series.dtype, "kind", "O")
    if kind != "O" or getattr(series.dtype, "name", "") != "object":
        return kind in "ObSU"
    return any(isinstance(value, (str, bool)) for value in series)


def find_categories(X: Any, discrete: bool) -> Categories:
    """Return the categories of each column; with `discrete` every column has them."""
    if is_frame(X):
        columns = (X.iloc[:, k] for k in range(X.shape[1]))
        return [
            s.astype("category").cat.categories if discrete or _holds_categories(s) else None
            for s in columns
        ]
    if not discrete:
        return [None] * X.shape[1]
    return [np.unique(column) for column in X.T]


def encode_columns(X: Any, categories: Categories, *, missing: bool = False) -> Floats:
    """Return a table of doubles, NaN where an entry is missing and `missing` allows it."""
    names = list(X.columns) if is_frame(X) else None
    Z = np.empty(X.shape)
    for k, known in enumerate(categories):
        column = X.iloc[:, k] if is_frame(X) else X[:, k]
        Z[:, k] = column if known is None else _codes(column, known, k, names)
    if not missing and np.isnan(Z).any():
        k = int(np.flatnonzero(np.isnan(Z).any(axis=0))[0])
        raise ValueError(f"Input X contains NaN: {column_name(k, names)} has missing entries.")
    return check_array(Z, ensure_all_finite="allow-nan" if missing else True, input_name="X")


def _codes(column: Any, known: Any, k: int, names: Any) -> Floats:
    if hasattr(column, "iloc"):
        codes = known.get_indexer(column).astype(float)
        absent = np.asarray(column.isna())
    else:
        codes = np.minimum(np.searchsorted(known, column), len(known) - 1).astype(float)
        absent = np.isnan(column)
        codes[known[codes.astype(int)] != column] = -1
    if (unseen := (codes < 0) & ~absent).any():
        value = (np.asarray(column)[unseen]).tolist()[0]
        raise ValueError(
            f"{column_name(k, names)} has the category {value!r}, which the fit did not see; "
            f"it saw {len(known)} categories."
        )
    codes[absent] = np.nan
    return codes


def decode_columns(Z: Floats, categories: Categories, names: Any) -> Any:
    """Return the table in the categories' own values: a frame where the fit saw one with them."""
    if all(known is None for known in categories):
        return Z
    if names is None:
        columns = [c if q is None else q[c.astype(int)] for c, q in zip(Z.T, categories)]
        return np.column_stack(columns)
    import pandas as pd

    return pd.DataFrame(
        {
            name: column if known is None else pd.Categorical.from_codes(column.astype(int), known)
            for name, column, known in zip(names, Z.T, categories)
        }
    )
