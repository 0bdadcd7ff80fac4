"""Tables of categories as integer codes: read, checked, and refused in a sentence."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.graphical.network_scores.state_table import Column, code_column, declared_categories

__all__: list[str] = []

MOST_STATES = 4096
UNKNOWN = -1  # the code of a cell that is not observed
Codes = NDArray[np.int32]


class CodedTable(NamedTuple):
    """Codes of a table, the number of states of each column, and names of states or None."""

    codes: Codes
    cardinalities: Ints
    categories: list[tuple[Any, ...] | None]


def _name(names: Any, k: int) -> str:
    return repr(str(names[k])) if names is not None else str(k)


def _worst(values: NDArray[Any], bad: NDArray[np.bool_], names: Any) -> str:
    row, k = np.argwhere(bad)[0]
    return f"column {_name(names, k)} holds {values[row, k]!s}"


def integer_codes(values: NDArray[Any], names: Any = None, *, unknown: bool = False) -> Codes:
    """Return a numeric table as codes, or say which column is no code.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_variables)
        Numbers or booleans.
    names : sequence of str or None
        Names of the columns.
    unknown : bool
        Whether NaN is a cell that is not observed, rather than an error.

    Returns
    -------
    codes : ndarray of int32
        -1 where a cell is not observed.
    """
    if values.dtype.kind == "b":
        return values.astype(np.int32)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"Codes of categories must be integers, got a table of {values.dtype}.")
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if missing.any() and not unknown:
        raise ValueError(
            f"Input X contains NaN: {_worst(values, missing, names)}. Fill missing cells first, as "
            "impute does."
        )
    known = np.where(missing, 0, values)
    whole = known == np.floor(known)
    if not whole.all():
        raise ValueError(
            f"Codes of categories must be integers; {_worst(values, ~whole, names)}. Cut "
            "measurements into intervals first."
        )
    outside = (known < 0) | (known >= MOST_STATES)
    if outside.any():
        raise ValueError(
            f"Codes of categories must lie between 0 and {MOST_STATES - 1}; "
            f"{_worst(values, outside, names)}."
        )
    return np.where(missing, UNKNOWN, known).astype(np.int32)


def _object_codes(
    values: NDArray[Any],
    names: Any,
    declared: dict[int, tuple[Any, ...]],
    known: list[tuple[Any, ...] | None] | None,
    unknown: bool,
) -> tuple[Codes, list[tuple[Any, ...] | None]]:
    """Code a table whose columns differ in kind: words by their states, the others as they are."""
    codes = np.empty(values.shape, np.int32)
    categories: list[tuple[Any, ...] | None] = []
    for k in range(values.shape[1]):
        column = values[:, k]
        absent = np.array([v is None or v != v for v in column], bool)
        if absent.any() and not unknown:
            raise ValueError(f"Input X contains NaN or None in column {_name(names, k)}.")
        states = known[k] if known is not None else declared.get(k)
        words = any(isinstance(v, str) for v in column[~absent])
        if states is None and words and known is None:
            states = tuple(sorted({str(v) for v in column[~absent]}))
        if states is None:
            try:
                numbers = np.where(absent, np.nan, column).astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"Column {_name(names, k)} holds values that are no codes, such as "
                    f"{column[~absent][0]!r}."
                ) from None
            one = None if names is None else names[k : k + 1]
            codes[:, k] = integer_codes(numbers[:, None], one, unknown=True)[:, 0]
        else:
            name = str(k) if names is None else str(names[k])
            codes[~absent, k] = code_column(column[~absent], Column(name, states))
            codes[absent, k] = UNKNOWN
        categories.append(states)
    return codes, categories


def read_table(estimator: Any, X: Any, *, reset: bool, unknown: bool = False) -> CodedTable:
    """Validate a table for an estimator and code it; at fit the states are found.

    Parameters
    ----------
    estimator : estimator
        Has `cardinalities_` and `categories_` unless reset.
    X : {array-like, DataFrame, sparse matrix}
        Integer codes, booleans, categories, or zeros and ones in a sparse matrix.
    reset : bool
        Whether this is the table of fit.
    unknown : bool
        Whether NaN is a cell that is not observed.

    Returns
    -------
    table : CodedTable
        Codes and states.
    """
    declared = declared_categories(X)
    values = validate_rows(
        estimator, X, dtype=None, accept_sparse="csr", reset=reset,
        ensure_all_finite="allow-nan" if unknown else True,
    )  # fmt: skip
    names = getattr(estimator, "feature_names_in_", None)
    known = None if reset else estimator.categories_
    categories: list[tuple[Any, ...] | None] = [None] * values.shape[1]
    if sp.issparse(values):
        if not np.isin(values.data, (0, 1)).all():
            raise ValueError("A sparse table must hold zeros and ones alone.")
        codes = np.zeros(values.shape, np.int32)
        entries = values.tocoo()
        codes[entries.row, entries.col] = entries.data.astype(np.int32)
    elif values.dtype.kind in "OUST" or (known is not None and any(known)):
        codes, categories = _object_codes(values.astype(object), names, declared, known, unknown)
    else:
        codes = integer_codes(values, names, unknown=unknown)
    if not reset:
        check_states(codes, estimator.cardinalities_, names)
        return CodedTable(codes, estimator.cardinalities_, estimator.categories_)
    sizes = np.maximum(codes.max(axis=0) + 1, [len(c) if c else 2 for c in categories])
    same = (codes == codes[0]).all(axis=0)
    if same.any() and len(codes) > 1:
        listed = ", ".join(_name(names, k) for k in np.flatnonzero(same)[:8])
        warnings.warn(
            f"Constant columns ({listed}) take part in no interaction.", UserWarning, stacklevel=4
        )
    return CodedTable(codes, sizes.astype(np.int64), categories)


def check_states(codes: Codes, cardinalities: Ints, names: Any = None) -> None:
    """Raise where a code was not there at fit."""
    beyond = codes >= cardinalities
    if beyond.any():
        row, k = np.argwhere(beyond)[0]
        raise ValueError(
            f"Column {_name(names, k)} holds {codes[row, k]}, which is no known state; expected "
            f"0 to {cardinalities[k] - 1}."
        )
