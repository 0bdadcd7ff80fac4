"""Sets of columns of a boolean table that its rows shatter: all 2^d patterns occur."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.copies import copy_row
from octavo.engine.compilation.kernel_cache import njit

__all__ = ["is_shattered", "largest_shattered"]


def is_shattered(table: NDArray[np.bool_], columns: NDArray[np.integer]) -> bool:
    """Return whether every pattern of zeros and ones occurs in some columns."""
    if 2 ** len(columns) > table.shape[0]:  # 2^d patterns need as many rows
        return False
    return len(np.unique(table[:, columns], axis=0)) == 2 ** len(columns)


@njit(cache=True, nogil=True)
def _splits(table, column, codes, n_codes, counts):
    """Return the fewest rows behind a pattern once a column is added; 0 where one is missing."""
    counts[: 2 * n_codes] = 0
    for row in range(table.shape[0]):
        counts[2 * codes[row] + table[row, column]] += 1
    fewest = counts[0]
    for code in range(2 * n_codes):
        fewest = min(fewest, counts[code])
    return fewest


@njit(cache=True, nogil=True)
def _deepest(table, bound):
    """Return the largest number of columns that are shattered, and such columns.

    A column that cannot extend a shattered set cannot extend a larger one either, so that every
    branch has fewer columns to try than the one above.
    """
    z, n = table.shape
    codes = np.zeros((bound + 1, z), np.int64)
    options = np.empty((bound + 1, n), np.int64)
    n_options = np.zeros(bound + 1, np.int64)
    at = np.zeros(bound + 1, np.int64)
    counts = np.zeros(2 ** (bound + 1), np.int64)
    path, best = np.zeros(bound, np.int64), np.zeros(bound, np.int64)
    n_best, depth = 0, 0
    for column in range(n):
        if _splits(table, column, codes[0], 1, counts) > 0:
            options[0, n_options[0]] = column
            n_options[0] += 1
    while depth >= 0:
        if depth > n_best:
            n_best = depth
            copy_row(path[:depth], best)
            if n_best == bound:
                break
        # even all that are left would not beat the best
        if depth + n_options[depth] - at[depth] <= n_best:
            depth -= 1
            continue
        column = options[depth, at[depth]]
        at[depth] += 1
        path[depth] = column
        for row in range(z):
            codes[depth + 1, row] = 2 * codes[depth, row] + table[row, column]
        n_codes = 2 ** (depth + 1)
        n_options[depth + 1], at[depth + 1] = 0, 0
        if depth + 1 < bound:
            for k in range(at[depth], n_options[depth]):
                other = options[depth, k]
                if _splits(table, other, codes[depth + 1], n_codes, counts) > 0:
                    options[depth + 1, n_options[depth + 1]] = other
                    n_options[depth + 1] += 1
        depth += 1
    return best[:n_best]


def largest_shattered(table: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return a largest set of columns that the rows shatter.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns), dtype bool
        Labelings of points: a row a hypothesis, a column a point.

    Returns
    -------
    columns : ndarray of int
        Their number is the VC dimension; empty where all rows are equal.
    """
    rows = np.unique(table, axis=0)
    _, first = np.unique(rows, axis=1, return_index=True)
    first = np.sort(first)
    # d columns that are shattered need 2^d distinct rows
    bound = min(int(np.log2(len(rows))), len(first))
    if bound == 0:
        return np.zeros(0, np.int64)
    small = np.ascontiguousarray(rows[:, first]).view(np.uint8).astype(np.int64)
    return np.sort(first[_deepest(small, bound)])


def _warmup() -> None:
    """Compile the kernels."""
    largest_shattered(np.array([[0, 0], [0, 1], [1, 0]], bool))
