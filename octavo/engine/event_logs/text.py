"""Codes of the strings of an Arrow column, hashed where they lie: eight bytes at a time.

A string is compared with the first row that has its hash, so that two strings share a code if and
only if they are equal. Nothing is decoded but one string a category.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit

__all__ = ["arrow_strings", "code_strings"]

JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
_MIX = np.uint64(0x9E3779B97F4A7C15)
_ONE, _HALF, _LAST = np.uint64(1), np.uint64(29), np.uint64(63)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


def arrow_strings(values: Any) -> Any:
    """Return a column's strings as one Arrow array without copying them, or None.

    Parameters
    ----------
    values : object
        A Series of pandas or polars, an Arrow array, or anything else.

    Returns
    -------
    strings : pyarrow.LargeStringArray or None
        None where the column is not Arrow's or holds something else than strings.
    """
    inner = getattr(values, "array", values)  # pandas keeps it there
    is_arrow = type(inner).__module__.partition(".")[0] == "pyarrow"
    if not is_arrow and not hasattr(inner, "__arrow_array__") and not hasattr(inner, "to_arrow"):
        return None
    try:
        import pyarrow as pa
    except ImportError:
        return None
    found = inner
    if hasattr(inner, "__arrow_array__"):
        found = inner.__arrow_array__()
    elif hasattr(inner, "to_arrow"):
        found = inner.to_arrow()
    if not isinstance(found, (pa.Array, pa.ChunkedArray)):
        return None
    if str(found.type) not in ("string", "large_string", "string_view"):
        return None
    if isinstance(found, pa.ChunkedArray):
        found = found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()
        if isinstance(found, pa.ChunkedArray):  # what older ones make of no chunk or many
            return None
    return found if found.type == pa.large_string() else found.cast(pa.large_string())


@njit(**JIT)
def _code(words, offsets, valid, skipped, table, known, first, codes, begin, n_found):
    """Code rows from `begin` on; return where it stopped, at the end or with the table half full.

    Bytes at any address are two words shifted together; those after the end are masked.
    """
    mask = np.uint64(len(table) - 1)
    masked = len(valid) > 0
    high = offsets[begin]
    for i in range(begin, len(codes)):
        low, high = high, offsets[i + 1]
        length = high - low
        if length == 0 or (masked and not (valid[(i + skipped) >> 3] >> ((i + skipped) & 7)) & 1):
            codes[i] = -1
            continue
        right = np.uint64((low & 7) * 8)
        left = np.uint64(63) - right  # and one more, for a shift by 64 is none
        k = low >> 3
        # eight bytes that start at any address
        head = (words[k] >> right) | ((words[k + 1] << left) << _ONE)
        if length < 8:
            head &= _FULL >> np.uint64((8 - length) * 8)
        h = (np.uint64(length) ^ head) * _MIX
        h ^= h >> _HALF
        second = np.uint64(0)
        for j in range(8, length, 8):
            k += 1
            piece = (words[k] >> right) | ((words[k + 1] << left) << _ONE)
            if length - j < 8:
                piece &= _FULL >> np.uint64((8 - length + j) * 8)
            h = (h ^ piece) * _MIX
            h ^= h >> _HALF
            if j == 8:
                second = piece
        slot = h & mask
        while True:
            c = table[slot]
            if c < 0:
                if 2 * n_found >= len(table):
                    return i, n_found
                table[slot] = n_found
                known[n_found, 0] = h
                known[n_found, 1] = head
                known[n_found, 2] = second
                known[n_found, 3] = np.uint64(length)
                first[n_found] = i
                codes[i] = n_found
                n_found += 1
                break
            if (
                known[c, 0] == h
                and known[c, 1] == head
                and known[c, 2] == second
                and known[c, 3] == np.uint64(length)
                and (length <= 16 or _rest_equal(words, low, offsets[first[c]], length))
            ):
                codes[i] = c
                break
            slot = (slot + _ONE) & mask
    return len(codes), n_found


@njit(**JIT)
def _rest_equal(words, low, there, length):
    a, b = np.uint64((low & 7) * 8), np.uint64((there & 7) * 8)
    k, m = (low >> 3) + 1, (there >> 3) + 1
    for j in range(16, length, 8):
        k += 1
        m += 1
        one = (words[k] >> a) | ((words[k + 1] << (_LAST - a)) << _ONE)
        other = (words[m] >> b) | ((words[m + 1] << (_LAST - b)) << _ONE)
        differ = one ^ other
        if length - j < 8:
            differ &= _FULL >> np.uint64((8 - length + j) * 8)
        if differ != 0:
            return False
    return True


@njit(**JIT)
def _refill(table, known, n_found):
    mask = np.uint64(len(table) - 1)
    for c in range(n_found):
        slot = known[c, 0] & mask
        while table[slot] >= 0:
            slot = (slot + _ONE) & mask
        table[slot] = c


def code_strings(strings: Any) -> tuple[NDArray[np.int32], list[str]]:
    """Return codes and categories in the order of appearance; -1 for missing and empty strings.

    Parameters
    ----------
    strings : pyarrow.LargeStringArray
        As `arrow_strings` returns them.

    Returns
    -------
    codes : ndarray of shape (n,)
        Positions among the categories.
    categories : list of str
        The different strings.
    """
    n = len(strings)
    validity, ends, data = strings.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[strings.offset : strings.offset + n + 1]
    size = data.size if data is not None else 0
    words = np.zeros(size // 8 + 2, dtype=np.uint64)  # two words at any address
    words.view(np.uint8)[:size] = np.frombuffer(data, dtype=np.uint8) if size else 0
    valid = _none(np.uint8)
    if validity is not None and strings.null_count:
        valid = np.frombuffer(validity, dtype=np.uint8)
    codes, first = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
    known = np.empty((n, 4), dtype=np.uint64)  # hash, sixteen bytes and length of a category
    table, done, n_found = np.full(1024, -1, dtype=np.int32), 0, 0
    while done < n:
        done, n_found = _code(
            words, offsets, valid, strings.offset, table, known, first, codes, done, n_found
        )
        if done < n:
            table = np.full(4 * len(table), -1, dtype=np.int32)
            _refill(table, known, n_found)
    return codes, strings.take(first[:n_found]).to_pylist()


def _none(dtype: Any) -> NDArray[Any]:
    return np.empty(0, dtype=dtype)


def _warmup() -> None:
    try:
        import pyarrow as pa
    except ImportError:
        return
    code_strings(pa.array([str(k) for k in range(520)], type=pa.large_string()))
