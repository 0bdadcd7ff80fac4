"""Numbers that come in: one sentence each for what is no number, out of range or NaN."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def real(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """Return a finite number between two bounds, both allowed."""
    wrong = isinstance(value, (bool, np.bool_)) or not isinstance(value, Real)
    number = np.nan if wrong else float(value)
    if not np.isfinite(number):
        raise ValueError(f"Parameter `{name}` must be a finite number; got {value!r}.")
    if not low <= number <= high:
        raise ValueError(
            f"Parameter `{name}` must lie between {low:g} and {high:g}; got {value!r}."
        )
    return number


def positive(name: str, value: Any) -> float:
    """Return a finite number above zero."""
    if real(name, value) <= 0:
        raise ValueError(f"Parameter `{name}` must be above 0; got {value!r}.")
    return float(value)


def whole(name: str, value: Any, low: int = 1) -> int:
    """Return a whole number that is at least `low`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < low:
        raise ValueError(
            f"Parameter `{name}` must be a whole number of at least {low}; got {value!r}."
        )
    return int(value)


def pair(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
    """Return the ends of a range."""
    try:
        ends = tuple(value)
    except TypeError:
        ends = ()
    if len(ends) != 2 or isinstance(value, (str, dict)):
        raise ValueError(f"Parameter `{name}` must be a pair (low, high); got {value!r}.")
    first, last = real(name, ends[0], low, high), real(name, ends[1], low, high)
    if first > last:
        raise ValueError(f"Parameter `{name}` must have low <= high; got {value!r}.")
    return first, last


def series(name: str, values: Any, length: int | None = None) -> np.ndarray:
    """Return a vector of finite numbers, of a given length where one is asked for."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf" or array.ndim > 1:
        raise ValueError(f"Values of `{name}` must be a vector of numbers; got {values!r:.60}.")
    if not np.isfinite(array).all():
        raise ValueError(f"Values of `{name}` must be finite; got NaN or infinity.")
    array = array.astype(np.float64)
    if length is None:
        return np.atleast_1d(array)
    if array.ndim and array.shape != (length,):
        raise ValueError(f"Values of `{name}` must be {length}; got {array.size}.")
    return np.broadcast_to(array, (length,))
