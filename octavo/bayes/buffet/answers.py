"""Tables of answers as numbers: levels of each column from 0, gaps, columns of numbers."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats, Ints


class Coding(NamedTuple):
    """What the columns of a table can hold.

    Attributes
    ----------
    levels : tuple
        The values of each column in order; None for a column of numbers.
    centers, scales : ndarray of shape (n_columns,)
        Mean and standard deviation of columns of numbers.
    names : tuple of str
        How columns are called in messages.
    """

    levels: tuple[Any, ...]
    centers: Floats
    scales: Floats
    names: tuple[str, ...]

    @property
    def n_levels(self) -> Ints:
        """Number of levels of each column; 0 for numbers."""
        return np.array([0 if v is None else len(v) for v in self.levels], dtype=np.int64)


def columns_of(X: Any) -> list[Any]:
    """Return the columns of a table as arrays of objects, or of categories."""
    if sp.issparse(X):
        raise ValueError("X must be a dense table: a zero is an answer too. Use X.toarray().")
    if hasattr(X, "iloc"):
        return [X.iloc[:, i] for i in range(X.shape[1])]
    table = np.asarray(X)
    if table.dtype.kind == "c":
        raise ValueError("X must not be complex. Complex data not supported.")
    if table.ndim != 2:
        raise ValueError(
            f"X must be a 2D array, rows x columns; got {table.ndim}D of shape {table.shape}. "
            "Reshape your data."
        )
    return list(table.T)


def _missing(values: Any) -> Any:
    """Tell which entries are None or NaN."""
    if values.dtype.kind in "iub":
        return np.zeros(values.shape, dtype=bool)
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "US":
        return np.zeros(values.shape, dtype=bool)
    return np.array([v is None or v != v or type(v).__name__ == "NAType" for v in values])


def _plain(column: Any) -> Any:
    """Return an array of the entries, numbers as numbers where all are."""
    values = np.asarray(column)
    if values.dtype.kind == "O":
        gaps = _missing(values)
        kinds = {type(v) for v in values[~gaps]}
        if kinds and all(issubclass(k, (int, float, np.number, np.bool_)) for k in kinds):
            values = np.where(gaps, np.nan, values).astype(np.float64)
    return values


def _refuse_numbers(values: Any, gaps: Any, name: str) -> None:
    if values.dtype.kind == "f":
        seen = values[~gaps]
        if np.isinf(seen).any():
            raise ValueError(f"{name} holds infinity; answers must be finite or NaN (missing).")
        if (seen != np.round(seen)).any():
            raise ValueError(
                f"{name} holds numbers that are not whole ({seen[seen != np.round(seen)][0]}); "
                "give codes of levels, or name the column in continuous_features."
            )


def _levels_of(column: Any, name: str) -> Any:
    if hasattr(column, "cat"):
        return list(column.cat.categories)
    values = _plain(column)
    gaps = _missing(values)
    _refuse_numbers(values, gaps, name)
    seen = values[~gaps]
    if seen.dtype.kind == "O":
        return sorted(set(seen.tolist()), key=lambda v: (type(v).__name__, v))
    return np.unique(seen).tolist()


def learn_coding(columns: list[Any], names: tuple[str, ...], continuous: set[int]) -> Coding:
    """Return the levels of all columns; warn of constant ones, refuse what cannot be told."""
    D = len(columns)
    levels: list[Any] = [None] * D
    centers, scales = np.zeros(D), np.ones(D)
    for d, column in enumerate(columns):
        if d in continuous:
            values = numbers_of(column, names[d])
            seen = values[~np.isnan(values)]
            if seen.size:
                centers[d], scales[d] = seen.mean(), seen.std() or 1.0
        else:
            levels[d] = _levels_of(column, names[d])
    _share_levels(levels, names)
    return Coding(tuple(levels), centers, scales, names)


def _share_levels(levels: list[Any], names: tuple[str, ...]) -> None:
    """Give a constant column the levels that all others share; refuse it where they do not."""
    known = {tuple(v) for v in levels if v is not None and len(v) > 1}
    for d, own in enumerate(levels):
        if own is None or len(own) > 1:
            continue
        if not own:
            raise ValueError(f"{names[d]} has no answer at all; leave it out.")
        shared = next(iter(known)) if len(known) == 1 else ()
        if own[0] not in shared:
            raise ValueError(
                f"{names[d]} has the single level {own[0]!r}; a column needs at least two. Leave "
                "it out, or give it as a pandas categorical with all its levels."
            )
        warnings.warn(
            f"{names[d]} is constant ({own[0]!r}): it tells nothing of the features. It is given "
            "the levels of the other columns.",
            stacklevel=5,
        )
        levels[d] = list(shared)


def numbers_of(column: Any, name: str) -> Floats:
    """Return a column of numbers, NaN where missing."""
    try:
        values = np.asarray(_plain(column), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is named in continuous_features and holds no numbers.") from error
    if np.isinf(values).any():
        raise ValueError(f"{name} holds infinity; numbers must be finite or NaN (missing).")
    return values


def encode(columns: list[Any], coding: Coding) -> Floats:
    """Return levels as numbers from 0 (-1 where missing), and numbers standardized."""
    out = np.empty((len(columns[0]), len(columns)))
    for d, column in enumerate(columns):
        known = coding.levels[d]
        if known is None:
            values = numbers_of(column, coding.names[d])
            out[:, d] = (values - coding.centers[d]) / coding.scales[d]
            continue
        values = _plain(column)
        gaps = _missing(values)
        place = {value: i for i, value in enumerate(known)}
        codes = np.array([-1 if gap else place.get(v, -2) for v, gap in zip(values.tolist(), gaps)])
        if (codes == -2).any():
            n = int(np.flatnonzero(codes == -2)[0])
            raise ValueError(
                f"{coding.names[d]} holds {values.tolist()[n]!r} in row {n}, which was not seen in "
                f"fit; its levels are {list(known)}. Leave the answer missing (NaN), or fit again."
            )
        out[:, d] = codes
    return out


def decode(codes: Floats, coding: Coding) -> Any:
    """Return answers from codes, in the kind of the levels where all share one."""
    columns = []
    for d, known in enumerate(coding.levels):
        if known is None:
            columns.append(codes[:, d] * coding.scales[d] + coding.centers[d])
        else:
            columns.append(np.asarray(known, dtype=object)[codes[:, d].astype(np.int64)])
    kinds = {type(v) for known in coding.levels if known is not None for v in known}
    if all(issubclass(k, (int, float, np.number)) for k in kinds):
        return np.column_stack([np.asarray(c, dtype=np.float64) for c in columns])
    return np.column_stack([np.asarray(c, dtype=object) for c in columns])
