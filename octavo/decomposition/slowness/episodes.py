"""Time series as tables: one array, a list of arrays, or stacked rows with ``lengths``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from octavo.engine.chains.sequences import (
    Stacked,
    check_lengths,
    locate,
    split_sequences,
    stack_sequences,
)
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import real_array


def is_listed(X: Any) -> bool:
    """Tell whether X is a list of episodes; rows of numbers are a table, whatever holds them."""
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    try:
        return any(np.ndim(part) >= 2 for part in X)
    except ValueError:  # rows of different lengths inside
        return True


def stacked_rows(X: Any, lengths: ArrayLike | None = None, name: str = "X") -> Stacked:
    """Return finite rows of all episodes and their lengths, for functions.

    Parameters
    ----------
    X : array-like of shape (n_times,) or (n_times, n_features), or list of such
        One signal, a table, or a list of tables.
    lengths : array-like of int, optional
        Lengths of the episodes that are stacked in X.
    name : str, default="X"
        What messages call it.

    Returns
    -------
    Stacked
        Rows and lengths.
    """
    if lengths is None and is_listed(X):
        stacked = stack_sequences(X, name=name)
        values, counts = real_array(stacked.values, name, finite=False), stacked.lengths
    else:
        values = real_array(X, name, finite=False)
        values = values[:, None] if values.ndim == 1 else values
        counts = check_lengths(lengths, len(values) if values.ndim else 0, name=name)
    if values.ndim != 2:
        raise ValueError(f"{name} must have rows of numbers, got shape {values.shape}.")
    refuse_infinite(values, counts, name)
    return Stacked(values, counts)


def refuse_infinite(values: Floats, lengths: Ints, name: str) -> None:
    """Raise where a value is NaN or infinite, and say where."""
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if bad.size:
        raise ValueError(f"{name} contains NaN or infinity at {locate(int(bad[0]), lengths)}.")


def validated(
    estimator: Any,
    X: Any,
    lengths: ArrayLike | None = None,
    *,
    reset: bool = True,
    min_samples: int = 1,
) -> Stacked:
    """Return the rows of X as scikit-learn checks them, and the lengths of its episodes."""
    options: dict[str, Any] = {
        "dtype": np.float64,
        "reset": reset,
        "ensure_min_samples": min_samples,
    }
    if lengths is None and is_listed(X):
        stacked = stack_sequences(X)
        if np.ndim(stacked.values) == 2 and stacked.values.dtype.kind == "f":
            refuse_infinite(stacked.values, stacked.lengths, "X")
        return Stacked(validate_data(estimator, stacked.values, **options), stacked.lengths)
    values = validate_data(estimator, X, **options)
    return Stacked(values, check_lengths(lengths, len(values)))


def in_the_form_of(X: Any, values: Floats, lengths: Ints) -> Any:
    """Return a list of arrays where X was one, else the stacked rows."""
    return split_sequences(values, lengths) if is_listed(X) else values
