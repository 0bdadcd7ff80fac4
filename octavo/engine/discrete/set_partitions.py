"""Partitions of small sets: all of them, and the best one for a sum over its parts."""

from __future__ import annotations

import functools

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices

LARGEST = 16  # elements up to which 3^n splits of subsets take seconds


@functools.lru_cache(maxsize=32)
def set_partitions(n: int) -> Indices:
    """Return every partition of n elements as labels, a row each (restricted growth strings).

    Parameters
    ----------
    n : int
        Number of elements, at most 12.

    Returns
    -------
    labels : ndarray of shape (Bell(n), n)
        The first element has label 0, and a new label is one more than the largest before it.
        All in one part comes first. Read only.
    """
    rows = np.zeros((1, 0), dtype=np.int8)
    for _ in range(n):
        most = rows.max(axis=1, initial=-1)
        repeats = most.astype(np.int64) + 2
        new = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        rows = np.column_stack([np.repeat(rows, repeats, axis=0), new.astype(np.int8)])
    labels = rows.astype(np.intp)
    labels.setflags(write=False)
    return labels


@functools.lru_cache(maxsize=32)
def parts_of_partitions(n: int) -> Floats:
    """Return which subsets each partition consists of.

    Parameters
    ----------
    n : int
        Number of elements, at most 12.

    Returns
    -------
    parts : ndarray of shape (Bell(n), 2^n)
        1 where the subset of that bit pattern is a part. Read only.
    """
    labels = set_partitions(n)
    parts = np.zeros((len(labels), 1 << n))
    for part in range(n):
        bits = ((labels == part) << np.arange(n)).sum(axis=1)
        parts[np.arange(len(labels)), bits] = 1.0
    parts[:, 0] = 0.0
    parts.setflags(write=False)
    return parts


def subset_indicators(n: int) -> Floats:
    """Return the elements of each subset.

    Parameters
    ----------
    n : int
        Number of elements.

    Returns
    -------
    members : ndarray of shape (2^n, n)
        1 where the subset of that bit pattern has the element.
    """
    return ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1).astype(np.float64)


@njit(cache=True, nogil=True)
def _best_splits(values):
    """Return the largest sum over parts of every subset, and the part that holds its top bit."""
    size = values.shape[0]
    best, part = np.zeros(size), np.zeros(size, dtype=np.int64)
    top = 1
    for subset in range(1, size):
        if subset >= 2 * top:
            top *= 2
        rest = subset ^ top
        best[subset], part[subset] = values[subset], subset
        other = rest  # what is not in the part of the top bit; from rest down to one element
        while other > 0:  # parts with the top bit only: every partition is looked at once
            value = values[subset ^ other] + best[other]
            if value > best[subset]:
                best[subset], part[subset] = value, subset ^ other
            other = (other - 1) & rest
    return best, part


def best_partition(values: Floats) -> tuple[Indices, float]:
    """Return the partition whose parts have the largest sum, by dynamic programming over subsets.

    Parameters
    ----------
    values : ndarray of shape (2^n,)
        The value of each subset as a part; that of the empty one is not read.

    Returns
    -------
    labels : ndarray of shape (n,)
        Parts numbered by their first element.
    value : float
        The sum.
    """
    n = len(values).bit_length() - 1
    best, part = _best_splits(np.ascontiguousarray(values, dtype=np.float64))
    labels = np.zeros(n, dtype=np.intp)
    subset, count = len(values) - 1, 0
    while subset:
        labels[(part[subset] >> np.arange(n)) & 1 == 1] = count
        subset ^= int(part[subset])
        count += 1
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse], float(best[-1])


def _warmup() -> None:
    _best_splits(np.zeros(4))
