"""Observations of sequences as one table: arrays, sparse matrices or dictionaries of features.

Accepted everywhere: a list of arrays (T_i, n_features), dense or sparse; one stacked array with
``lengths``; a list of lists of dictionaries, in the style of crfsuite (a value that is a string
makes the feature ``name=value``), or of lists of strings. Inside it is one table of all
positions and the length of each sequence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from octavo.engine.chains.sequences import check_lengths, locate, split_sequences, stack_sequences
from octavo.engine.estimators.checked import checked

__all__ = ["window_features"]


class Table(NamedTuple):
    """All positions of all sequences.

    ``values`` is (N, n_features), dense or CSR; ``listed`` tells whether sequences came as a
    list; ``names`` are those of the features, or None.
    """

    values: Any
    lengths: NDArray[np.int64]
    listed: bool
    names: NDArray[Any] | None


def read_table(
    X: Any, lengths: ArrayLike | None = None, *, names: NDArray[Any] | None = None
) -> Table:
    """Return sequences of observations as one table.

    Parameters
    ----------
    X, lengths : sequences
        As the module tells.
    names : ndarray, optional
        The features that dictionaries may have; others are ignored. None takes all there are.

    Returns
    -------
    table : Table
        Checked: finite numbers, no empty sequence, one number of features.
    """
    if X is None or isinstance(X, (str, bytes, Mapping)) or np.isscalar(X):
        raise ValueError(f"X must be sequences of observations, got {type(X).__name__}.")
    if sp.issparse(X):
        counts = check_lengths(lengths, X.shape[0])
        return Table(_finite(sp.csr_array(X, dtype=np.float64), counts), counts, False, None)
    if not hasattr(X, "__len__"):
        X = list(X)
    if len(X) == 0:
        raise ValueError("X is empty; at least one sequence is needed.")
    items = _items(X, lengths)
    if items is not None:
        flat, counts, listed = items
        values, found = vectorize(flat, names, lambda row: locate(row, counts))
        return Table(values, counts, listed, found)
    if lengths is None and isinstance(X, (list, tuple)) and any(sp.issparse(x) for x in X):
        return _stacked_sparse(X)
    listed = lengths is None and isinstance(X, (list, tuple)) and np.ndim(X[0]) > 0
    for q, part in enumerate(X if listed else []):
        if not hasattr(part, "__len__"):
            raise ValueError(f"X: sequence {q} is no array: {part!r}.")
    values, counts = _stacked_dense(X, lengths)
    return Table(_finite(values, counts), counts, listed, None)


def _stacked_dense(X: Any, lengths: ArrayLike | None) -> tuple[Any, NDArray[np.int64]]:
    stacked = stack_sequences(X, lengths, columns=True)
    if stacked.values.ndim != 2:
        raise ValueError(
            f"X must have one row of features a position, got shape {stacked.values.shape}; one "
            "sequence is a list with one array in it."
        )
    try:
        return np.ascontiguousarray(stacked.values, dtype=np.float64), stacked.lengths
    except (TypeError, ValueError):
        raise ValueError(
            f"X must hold numbers or dictionaries of features, got dtype {stacked.values.dtype}."
        ) from None


def _stacked_sparse(X: Any) -> Table:
    for q, part in enumerate(X):
        if not sp.issparse(part):
            raise ValueError(f"X: sequence {q} is not sparse, though another sequence is.")
        if part.shape[0] == 0:
            raise ValueError(f"X: sequence {q} is empty.")
        if part.shape[1] != X[0].shape[1]:
            raise ValueError(
                f"X: sequence {q} has {part.shape[1]} features, sequence 0 has {X[0].shape[1]}."
            )
    counts = np.array([part.shape[0] for part in X], dtype=np.int64)
    values = sp.csr_array(sp.vstack(X, format="csr"), dtype=np.float64)
    return Table(_finite(values, counts), counts, True, None)


def _finite(values: Any, lengths: NDArray[np.int64]) -> Any:
    """Return values after checking that all are finite."""
    data = values.data if sp.issparse(values) else values
    if np.isfinite(data).all():
        return values
    bad = int(np.argmin(np.isfinite(data).ravel()))
    if sp.issparse(values):
        row = int(np.searchsorted(values.indptr, bad, side="right")) - 1
        column = int(values.indices[bad])
    else:
        row, column = divmod(bad, values.shape[1])
    raise ValueError(
        f"X has {data.ravel()[bad]} (NaN or infinity) at {locate(row, lengths)}, feature {column}."
    )


# --- dictionaries -------------------------------------------------------------------------------


def _is_item(x: Any) -> bool:
    """Return whether x is one position: a dictionary, or a list of strings."""
    return isinstance(x, Mapping) or (
        isinstance(x, (list, tuple, set, frozenset))
        and len(x) > 0
        and all(isinstance(word, str) for word in x)
    )


def _items(X: Any, lengths: ArrayLike | None) -> tuple[list[Any], NDArray[np.int64], bool] | None:
    """Return the positions of sequences of dictionaries, or None where X is something else."""
    if not isinstance(X, (list, tuple)):
        return None
    if isinstance(X[0], Mapping):
        return list(X), check_lengths(lengths, len(X)), False
    nested = isinstance(X[0], (list, tuple)) and len(X[0]) > 0
    if lengths is not None:
        return (list(X), check_lengths(lengths, len(X)), False) if _is_item(X[0]) else None
    if not (nested and (_is_item(X[0][0]) or isinstance(X[0][0], Mapping))):
        return None
    for q, part in enumerate(X):
        if len(part) == 0:
            raise ValueError(f"X: sequence {q} is empty.")
    counts = np.array([len(part) for part in X], dtype=np.int64)
    return [item for part in X for item in part], counts, True


def _features(item: Any, where: Callable[[], str]) -> Iterable[tuple[str, float]]:
    """Yield the features of one position; ``where`` says which one it is."""
    if not isinstance(item, Mapping):
        if isinstance(item, str) or not isinstance(item, (list, tuple, set, frozenset)):
            raise ValueError(f"X: {where()}: expected a dictionary of features, got {item!r}.")
        item = dict.fromkeys(item, 1.0)
    for name, value in item.items():
        if isinstance(value, str):
            yield f"{name}={value}", 1.0
        elif isinstance(value, Mapping):
            for inner, number in _features(value, where):
                yield f"{name}:{inner}", number
        elif isinstance(value, (list, tuple, set, frozenset)):
            for word in value:
                yield f"{name}={word}", 1.0
        elif isinstance(value, (Real, np.bool_)):
            if not math.isfinite(value):
                raise ValueError(f"X has {value} (NaN or infinity) at {where()}, feature {name!r}.")
            yield str(name), float(value)
        else:
            raise ValueError(
                f"X: {where()}: feature {name!r} must be a number, a string or a list of strings, "
                f"got {value!r}."
            )


def vectorize(
    items: list[Any], names: NDArray[Any] | None, where: Callable[[int], str]
) -> tuple[sp.csr_array, NDArray[Any]]:
    """Return the features of all items as a sparse table, and their names.

    Features that are not among ``names`` are ignored; None takes all. ``where`` tells in words
    which item is meant.
    """
    place: dict[str, int] = {}
    if names is not None:
        place = {name: i for i, name in enumerate(names.tolist())}
    rows, columns, values = [], [], []
    for row, item in enumerate(items):
        for name, value in _features(item, partial(where, row)):
            column = place.get(name) if names is not None else place.setdefault(name, len(place))
            if column is not None:
                rows.append(row)
                columns.append(column)
                values.append(value)
    chosen = np.array(columns, dtype=np.int64)
    if names is None:  # the order of names must not depend on the order of sequences
        names = np.array(sorted(place), dtype=object)
        rank = np.empty(len(place), dtype=np.int64)
        rank[[place[name] for name in names]] = np.arange(len(place))
        chosen = rank[chosen]
    shape = (len(items), names.size)
    table = sp.coo_array((np.array(values, dtype=np.float64), (rows, chosen)), shape=shape)
    return table.tocsr(), names


# --- windows ------------------------------------------------------------------------------------


@checked
def window_features(
    X: Any, lengths: ArrayLike | None = None, *, before: int = 1, after: int = 1
) -> Any:
    """Give every position the observations of its neighbours too.

    Parameters
    ----------
    X : sequences
        A list of arrays, dense or sparse, one stacked array, or lists of dictionaries.
    lengths : array-like of int, optional
        Lengths of the sequences of a stacked X.
    before, after : int, default=1
        How many positions to look back and ahead.

    Returns
    -------
    X : sequences
        Of the same kind. Columns are those of the neighbour ``before`` positions back first, the
        position's own in the middle; beyond the ends of a sequence they are zero. The features
        of dictionaries get the place in front of their names, such as ``-1:word=of``.

    Examples
    --------
    >>> from octavo.sequence import window_features
    >>> window_features([[[1.0], [2.0], [3.0]]])[0].tolist()
    [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 0.0]]
    """
    if before < 0 or after < 0:
        raise ValueError(f"before and after must not be negative, got {before} and {after}.")
    items = _items(X, lengths) if not sp.issparse(X) and len(X) else None
    if items is not None:
        return _window_items(*items, before, after)
    table = read_table(X, lengths)
    values, n = table.values, table.values.shape[0]
    position = np.concatenate([np.arange(size) for size in table.lengths])
    size = np.repeat(table.lengths, table.lengths)
    parts = []
    for shift in range(-before, after + 1):
        inside = (position + shift >= 0) & (position + shift < size)
        rows = np.flatnonzero(inside)
        # rows shifted inside their own sequence; zero beyond its ends
        pick = sp.csr_array((np.ones(rows.size), (rows, rows + shift)), shape=(n, n))
        parts.append(pick @ values)
    if not sp.issparse(values):
        wide = np.hstack(parts)
        return split_sequences(wide, table.lengths) if table.listed else wide
    wide = sp.hstack(parts, format="csr")
    if not table.listed:
        return wide
    ends = np.cumsum(table.lengths)
    return [wide[start:stop] for start, stop in zip(ends - table.lengths, ends)]


def _window_items(
    items: list[Any], lengths: NDArray[np.int64], listed: bool, before: int, after: int
) -> list[Any]:
    ends = np.cumsum(lengths)
    wide: list[Any] = []
    for start, stop in zip((ends - lengths).tolist(), ends.tolist()):
        part = []
        for row in range(start, stop):
            found: dict[str, float] = {}
            for shift in range(-before, after + 1):
                if start <= row + shift < stop:
                    place = partial(locate, row + shift, lengths)
                    for name, value in _features(items[row + shift], place):
                        found[name if shift == 0 else f"{shift:+d}:{name}"] = value
            part.append(found)
        wide += [part] if listed else part
    return wide
