"""Rows as sets of active columns: from a 0/1 table, sparse or dense, or from the sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.sparse_rows import validate_rows

HINT = "ThresholdBinarizer makes 0/1 columns from any table."


def is_index_sets(X: Any) -> bool:
    """Tell whether rows are given as sets of column numbers: sets, or lists of unequal lengths."""
    if not isinstance(X, (list, tuple)) or not X:
        return False
    if any(isinstance(row, (set, frozenset)) for row in X):
        return True
    if not all(isinstance(row, (list, tuple, np.ndarray)) for row in X):
        return False
    return len({len(row) for row in X}) > 1


def rows_of_sets(sets: Any, n_features: int | None = None) -> sp.csr_array:
    """Return sets of column numbers as a 0/1 CSR table.

    Parameters
    ----------
    sets : sequence of (set, frozenset, list, tuple or ndarray) of int
        The active columns of each row.
    n_features : int, optional
        Number of columns: the largest number plus one by default. Larger numbers are left out
        where it is given: no pattern can hold them.

    Returns
    -------
    rows : csr_array of shape (n_rows, n_features)
        Sorted, with each column once a row.
    """
    flat: list[int] = []
    ends = [0]
    for i, row in enumerate(sets):
        for k in row:
            if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or k < 0:
                raise ValueError(
                    f"Row {i} of X must hold column numbers (integers from 0), got {k!r}. "
                    "Rows of unequal length are read as sets of column numbers."
                )
        flat.extend(sorted({int(k) for k in row}))
        ends.append(len(flat))
    width = max(flat, default=-1) + 1
    if n_features is None and not 0 < width <= 2**31 - 1:
        raise ValueError(
            f"X must name at least one column, numbered below 2**31; the largest is {width - 1}."
        )
    indices = np.array(flat, np.int64)
    rows = sp.csr_array(
        (np.ones(len(flat), np.int8), indices, np.array(ends)),
        shape=(len(ends) - 1, max(width, n_features or 0)),
    )
    return rows if n_features is None else rows[:, :n_features]


def _refuse_other_numbers(values: Any) -> None:
    other = values[(values != 0) & (values != 1)]
    if other.size:
        raise ValueError(
            f"X must hold 0 and 1 alone; it has other numbers, such as {other.ravel()[0]:g}. {HINT}"
        )


def binary_csr(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> Any:
    """Validate 0/1 rows for an estimator and return them as CSR with sorted columns.

    Parameters
    ----------
    estimator : estimator
        Whose data these are; its features are set, or checked where `reset` is False.
    X : {array-like, sparse matrix} of shape (n_rows, n_features) or list of sets
        Zeros and ones, or the active columns of each row.
    y : array-like, optional
        Labels.
    reset : bool
        Whether this is fit.

    Returns
    -------
    rows : csr_array, or a tuple with y where it is given
        The rows; stored entries are ones.
    """
    if is_index_sets(X):
        X = rows_of_sets(X, None if reset else estimator.n_features_in_)
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "reset": reset}
    if y is None:
        X = validate_rows(estimator, X, **options)
    else:
        X, y = validate_rows(estimator, X, y, **options)
    _refuse_other_numbers(X.data if sp.issparse(X) else X)
    rows = sp.csr_array(X)
    if rows.data.size and not rows.data.all():
        rows = rows.copy()
        rows.eliminate_zeros()
    return rows if y is None else (rows, y)
