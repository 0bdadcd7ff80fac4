"""Columns of an event log as small integers, in one piece or chunk by chunk.

Categories are sorted at the end, so that codes depend on what a log holds and neither on the
order of its rows nor on where it was cut into chunks. Missing values have the code -1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.event_logs.reductions import taken
from octavo.engine.event_logs.text import arrow_strings, code_strings

__all__ = ["Coded", "Coder", "code_integers", "joint_codes"]

Codes = NDArray[np.int32]
DIGIT, MOST_DIGITS = 11, 4  # bits that are sorted at once; more digits take as long as a sort


class Coded(NamedTuple):
    """A column: codes into its sorted categories, -1 where the value is missing."""

    codes: Codes
    values: NDArray[Any]

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.values)

    def with_missing(self) -> tuple[Codes, int]:
        """Return codes in which missing values are a category of their own, and how many."""
        if self.codes.size and self.codes.min() < 0:
            return np.where(self.codes < 0, np.int32(self.size), self.codes), self.size + 1
        return self.codes, self.size

    def take(self, rows: Any) -> Coded:
        """Return the column of some rows, with the same categories."""
        return Coded(self.codes[rows], self.values)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value) or bool(value != value)


def _order(values: list[Any]) -> list[int]:
    """Return the order of categories; values of several kinds are sorted by kind, then by text."""
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        return sorted(range(len(values)), key=lambda k: (type(values[k]).__name__, str(values[k])))


def _object_array(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class Coder:
    """Codes for the values of one column that arrives in chunks.

    Examples
    --------
    >>> from octavo.engine.event_logs.coding import Coder
    >>> coder = Coder()
    >>> coder.add(["us", "in"])
    >>> coder.add(["br", None])
    >>> coder.column().codes
    array([ 2,  1,  0, -1], dtype=int32)
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._chunks: list[Codes] = []

    def add(self, values: Any) -> None:
        """Code one more chunk."""
        codes, found = _factorize(values)
        lookup = np.empty(len(found) + 1, dtype=np.int32)
        lookup[-1] = -1  # where a code is -1
        if not self._known and set(map(type, found)) == {str} and "" not in found:
            self._known = dict(zip(found, range(len(found))))  # the first chunk, as it is
            self._chunks.append(codes.astype(np.int32))
            return
        for k, value in enumerate(found):
            if _is_missing(value):
                lookup[k] = -1
            else:
                lookup[k] = self._known.setdefault(value, len(self._known))
        self._chunks.append(lookup[codes])

    def add_missing(self, n: int) -> None:
        """Code a chunk that lacks the column."""
        self._chunks.append(np.full(n, -1, dtype=np.int32))

    def column(self) -> Coded:
        """Return all chunks as one column."""
        values = list(self._known)
        order = _order(values)
        rank = np.empty(len(values) + 1, dtype=np.int32)
        rank[order] = np.arange(len(values), dtype=np.int32)
        rank[-1] = -1
        codes = self._chunks[0] if self._chunks else np.empty(0, dtype=np.int32)
        if len(self._chunks) > 1:
            codes = np.concatenate(self._chunks)
        return Coded(taken(rank, codes), _object_array([values[k] for k in order]))


def _factorize(values: Any) -> tuple[NDArray[Any], list[Any]]:
    """Return provisional codes and the categories in order of appearance."""
    if hasattr(values, "cat") and hasattr(values.cat, "codes"):  # a categorical column of pandas
        return np.asarray(values.cat.codes), list(values.cat.categories)
    strings = arrow_strings(values)
    if strings is not None:
        return code_strings(strings)
    if isinstance(values, (list, tuple)):
        values = _object_array(list(values))  # else a NaN among words becomes a word
    if np.ndim(values) != 1:
        raise ValueError(f"A column of a log must have one dimension; got {np.ndim(values)}.")
    try:
        try:
            import pandas as pd
        except ImportError:
            known: dict[Any, int] = {}
            codes = [known.setdefault(value, len(known)) for value in np.asarray(values).tolist()]
            return np.asarray(codes, dtype=np.int64), list(known)
        if not isinstance(values, (pd.Series, pd.Index)):
            array = np.asarray(values)
            values = array.astype(object) if array.dtype.kind in "US" else array
        found_codes, found = pd.factorize(values)
    except TypeError as error:
        raise TypeError("Values of a log's columns must be hashable.") from error
    return found_codes, found.tolist()


def code_integers(values: NDArray[np.int64]) -> Coded:
    """Return integers as codes into their sorted distinct values.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Integers.

    Returns
    -------
    column : Coded
        Codes and distinct values.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.coding import code_integers
    >>> code_integers(np.array([30, 10, 30])).codes
    array([1, 0, 1], dtype=int32)
    """
    values = np.asarray(values).ravel()
    n = len(values)
    low, high = (int(values.min()), int(values.max())) if n else (0, 0)
    bits = max(n - 1, 1).bit_length()
    if high - low >= 2 ** (64 - bits):  # too wide for value and row in 64 bits
        found, codes = np.unique(values, return_inverse=True)
        return Coded(codes.ravel().astype(np.int32), found)
    # value and row in one word: a sort of numbers is faster than one of positions
    packed = (values - low).astype(np.uint64) << np.uint64(bits)
    packed |= np.arange(n, dtype=np.uint64)
    packed = _by_value(packed, bits, (high - low).bit_length())
    ranks = np.empty(n, dtype=np.int32)
    distinct = np.empty(n, dtype=np.uint64)
    size = _rank(packed, np.uint64(bits), ranks, distinct)
    return Coded(ranks, distinct[:size].astype(np.int64) + low)


def _by_value(packed: NDArray[np.uint64], bits: int, value_bits: int) -> NDArray[np.uint64]:
    """Return words sorted by what stands above their lowest bits, digit by digit from the last."""
    if value_bits > MOST_DIGITS * DIGIT:
        packed.sort()
        return packed
    room = np.empty_like(packed)
    for shift in range(bits, bits + value_bits, DIGIT):
        _by_digit(packed, np.uint64(shift), np.zeros((1 << DIGIT) + 1, dtype=np.int64), room)
        packed, room = room, packed
    return packed


@njit(cache=True, nogil=True, error_model="numpy")
def _by_digit(words, shift, begin, out):
    """Fill `out` with words in the order of a digit, equal ones in their own."""
    mask = np.uint64(len(begin) - 2)
    for i in range(len(words)):
        begin[((words[i] >> shift) & mask) + np.uint64(1)] += 1
    for digit in range(len(begin) - 1):
        begin[digit + 1] += begin[digit]
    for i in range(len(words)):
        digit = (words[i] >> shift) & mask
        out[begin[digit]] = words[i]
        begin[digit] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _rank(packed, bits, codes, distinct):
    """Write each row's rank among the distinct values of sorted words, and those values."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    size = 0
    for k in range(len(packed)):
        value = packed[k] >> bits
        if size == 0 or value != distinct[size - 1]:
            distinct[size] = value
            size += 1
        codes[packed[k] & mask] = size - 1
    return size


def joint_codes(*columns: tuple[Codes, int]) -> tuple[Codes, int]:
    """Return dense codes of the tuples of several columns, packed into 64 bits pair by pair.

    Parameters
    ----------
    *columns : tuple of (codes, size)
        Codes from 0 to size - 1.

    Returns
    -------
    codes : ndarray of shape (n,)
        Codes of the tuples that occur.
    size : int
        How many tuples occur.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.coding import joint_codes
    >>> joint_codes((np.array([0, 1, 1]), 2), (np.array([0, 0, 0]), 1))
    (array([0, 1, 1], dtype=int32), 2)
    """
    codes, size = columns[0]
    for other, own in columns[1:]:
        # one code of two: each pair fits 64 bits as both are dense
        packed = codes.astype(np.int64) * max(own, 1) + other
        found, dense = np.unique(packed, return_inverse=True)
        codes, size = dense.ravel().astype(np.int32), len(found)
    return codes, size


def _warmup() -> None:
    code_integers(np.arange(2))
