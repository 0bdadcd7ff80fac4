"""Sets of columns and the rows that hold them: exact counts, indicators, maximal sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import column_masks, count_common
from octavo.engine.estimators.arrays import Ints

ROWS_A_BLOCK = 1 << 16


def flat_sets(
    sets: Sequence[Iterable[int]], n_columns: int | None = None
) -> tuple[Ints, NDArray[np.int32]]:
    """Return sets of columns one after the other, each sorted: where each begins, and members.

    Parameters
    ----------
    sets : sequence of iterables of int
        The sets.
    n_columns : int, optional
        Members must be below it.

    Returns
    -------
    starts : ndarray of shape (n_sets + 1,)
        Where each begins.
    members : ndarray of int
        All members.
    """
    starts, flat = [0], []
    for s, given in enumerate(sets):
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise ValueError(f"Set {s} must be a collection of column numbers, got {given!r}.")
        own = list(given)
        for k in own:
            whole = isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_))
            if not whole or k < 0 or (n_columns is not None and k >= n_columns):
                most = "" if n_columns is None else f" to {n_columns - 1}"
                raise ValueError(f"Set {s} must hold column numbers from 0{most}, got {k!r}.")
        flat.extend(sorted({int(k) for k in own}))
        starts.append(len(flat))
    return np.array(starts, np.int64), np.array(flat, np.int32)


def tuples_of(starts: Ints, members: NDArray[np.int32]) -> list[tuple[int, ...]]:
    """Return flat sets as tuples."""
    flat = members.tolist()
    ends = starts.tolist()
    return [tuple(flat[a:b]) for a, b in pairwise(ends)]


@njit(cache=True, nogil=True)
def _add_counts(masks, starts, members, counts, n_rows):
    for s in range(starts.size - 1):
        if starts[s] == starts[s + 1]:
            counts[s] += n_rows  # the empty set is in every row
        else:
            counts[s] += count_common(masks, members, starts[s], starts[s + 1], -1)


@njit(cache=True, nogil=True)
def _list_rows(masks, starts, members, first, rows, at):
    """Write the rows that hold each set, from the place that `at` says on."""
    for s in range(starts.size - 1):
        for word in range(masks.shape[1]):
            bits = masks[members[starts[s]], word]
            for m in range(starts[s] + 1, starts[s + 1]):
                bits &= masks[members[m], word]  # 64 rows at a time
            row = first + 64 * word
            while bits != 0:
                if bits & np.uint64(1):
                    rows[at[s]] = row
                    at[s] += 1
                bits >>= np.uint64(1)
                row += 1


def _narrowed(rows: Any, members: NDArray[np.int32]) -> tuple[Any, NDArray[np.int32]]:
    """Return the columns that any set names, and the members renumbered."""
    used, renamed = np.unique(members, return_inverse=True)
    return rows[:, used], renamed.astype(np.int32)


def _blocks(rows: Any) -> Iterable[tuple[int, int, NDArray[np.uint64]]]:
    """Yield first row, number of rows and column masks of blocks, to bound the memory."""
    for first in range(0, rows.shape[0], ROWS_A_BLOCK):
        block = sp.csc_array(rows[first : first + ROWS_A_BLOCK])
        yield first, block.shape[0], column_masks(block.indptr, block.indices, block.shape[0])


def count_patterns(rows: Any, starts: Ints, members: NDArray[np.int32]) -> Ints:
    """Return how many rows hold each set.

    Parameters
    ----------
    rows : csr_array of shape (n_rows, n_columns)
        Zeros and ones.
    starts, members : ndarray
        The sets, from `flat_sets`.

    Returns
    -------
    counts : ndarray of shape (n_sets,)
        Exact.
    """
    counts = np.zeros(len(starts) - 1, np.int64)
    narrow, renamed = _narrowed(rows, members)
    for _, n, masks in _blocks(narrow):
        _add_counts(masks, starts, renamed, counts, n)
    return counts


def indicate_patterns(rows: Any, starts: Ints, members: NDArray[np.int32]) -> sp.csr_array:
    """Return a 0/1 table: which rows (rows) hold which of the sets (columns), none empty."""
    counts = count_patterns(rows, starts, members)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    indices = np.empty(int(indptr[-1]), np.int64)
    narrow, renamed = _narrowed(rows, members)
    at = indptr[:-1].copy()
    for first, _, masks in _blocks(narrow):
        _list_rows(masks, starts, renamed, first, indices, at)
    shape = (rows.shape[0], len(counts))
    return sp.csr_array(sp.csc_array((np.ones(indices.size), indices, indptr), shape=shape))


def maximal_sets(sets: Iterable[Iterable[int]]) -> list[tuple[int, ...]]:
    """Return the sets that no other of them strictly holds, sorted."""
    kept: list[frozenset[int]] = []
    for candidate in sorted({frozenset(s) for s in sets}, key=len, reverse=True):
        if not any(candidate < larger for larger in kept):  # the largest sets come first
            kept.append(candidate)
    return sorted(tuple(sorted(s)) for s in kept)


def _warmup() -> None:
    """Compile the kernels."""
    rows = sp.csr_array(np.array([[1, 1, 0], [1, 1, 1]], np.int8))
    indicate_patterns(rows, np.array([0, 2]), np.array([0, 1], np.int32))
