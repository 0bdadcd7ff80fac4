"""Sets of small integers as rows of 64-bit words.

A set of members of {0, ..., n - 1} is a row of ``n_words(n)`` unsigned words; member m is bit
m % 64 of word m // 64. A collection of sets is a matrix, so that subset tests over thousands
of sets run in a kernel without objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit

Masks = NDArray[np.uint64]

_ONE = np.uint64(1)


def n_words(n: int) -> int:
    """Return how many words a set of members below n needs (at least one)."""
    return max(1, (n + 63) // 64)


def masks_of(sets: Sequence[Iterable[int]], n: int) -> Masks:
    """Return one row per set.

    Parameters
    ----------
    sets : sequence of iterables of int
        The sets; members lie in 0, ..., n - 1.
    n : int
        Size of the universe.

    Returns
    -------
    masks : ndarray of shape (n_sets, n_words(n)), dtype uint64
        The sets as bits.
    """
    masks = np.zeros((len(sets), n_words(n)), np.uint64)
    for row, members in zip(masks, sets):
        for member in members:
            row[member // 64] |= _ONE << np.uint64(member % 64)
    return masks


def masks_of_members(members: NDArray[np.integer], n: int) -> Masks:
    """Return one row per row of an array of members, all sets having the same size."""
    masks = np.zeros((members.shape[0], n_words(n)), np.uint64)
    rows = np.arange(members.shape[0])
    for column in members.T.astype(np.int64):
        masks[rows, column // 64] |= _ONE << (column % 64).astype(np.uint64)
    return masks


def masks_of_table(table: NDArray[np.bool_]) -> Masks:
    """Return one row per row of a boolean table, whose columns are the members."""
    words = np.zeros((table.shape[0], 8 * n_words(table.shape[1])), np.uint8)
    packed = np.packbits(table, axis=1, bitorder="little")
    words[:, : packed.shape[1]] = packed
    return words.view("<u8").astype(np.uint64)


def members_of(mask: NDArray[np.uint64]) -> tuple[int, ...]:
    """Return the members of one set in ascending order."""
    return tuple(
        64 * word + bit
        for word, bits in enumerate(mask.tolist())
        for bit in range(int(bits).bit_length())
        if bits >> bit & 1
    )


def sizes_of(masks: Masks) -> NDArray[np.int64]:
    """Return the number of members of each set."""
    return np.bitwise_count(masks).sum(axis=1).astype(np.int64)


@njit(cache=True, nogil=True)
def has_bit(mask, member):
    """Return whether a member is in the set."""
    return (mask[member >> 6] >> np.uint64(member & 63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def put_bit(mask, member):
    """Put a member into the set."""
    mask[member >> 6] |= np.uint64(1) << np.uint64(member & 63)


@njit(cache=True, nogil=True)
def drop_bit(mask, member):
    """Take a member out of the set."""
    mask[member >> 6] &= ~(np.uint64(1) << np.uint64(member & 63))


@njit(cache=True, nogil=True)
def first_fitting(masks, start, stop, required, forbidden):
    """Return the first row from start on that contains one set and avoids another, or -1."""
    for row in range(start, stop):
        fits = True
        for word in range(masks.shape[1]):
            bits = masks[row, word]
            if bits & forbidden[word] != 0 or required[word] & ~bits != 0:
                fits = False
                break
        if fits:
            return row
    return -1


@njit(cache=True, nogil=True)
def first_within(masks, start, stop, allowed):
    """Return the first row from start on that is a subset of the allowed members, or -1."""
    for row in range(start, stop):
        fits = True
        for word in range(masks.shape[1]):
            if masks[row, word] & ~allowed[word] != 0:
                fits = False
                break
        if fits:
            return row
    return -1


@njit(cache=True, nogil=True)
def bit_count(word):
    """Return the number of ones in a word of 64 bits."""
    w = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    low = np.uint64(0x3333333333333333)
    w = (w & low) + ((w >> np.uint64(2)) & low)
    w = (w + (w >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((w * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _put_columns(indptr, indices, masks):
    for k in range(indptr.size - 1):
        for at in range(indptr[k], indptr[k + 1]):
            row = indices[at]
            masks[k, row >> 6] |= np.uint64(1) << np.uint64(row & 63)


def column_masks(indptr: NDArray[np.integer], indices: NDArray[np.integer], n_rows: int) -> Masks:
    """Return the rows of each column of a 0/1 table in CSC form, a set a column.

    Parameters
    ----------
    indptr, indices : ndarray of int
        Where the rows of each column begin, and the rows themselves.
    n_rows : int
        Number of rows.

    Returns
    -------
    masks : ndarray of shape (n_columns, n_words(n_rows)), dtype uint64
        The columns as bits.
    """
    masks = np.zeros((len(indptr) - 1, n_words(n_rows)), np.uint64)
    _put_columns(indptr.astype(np.int64), indices.astype(np.int64), masks)
    return masks


@njit(cache=True, nogil=True)
def count_common(masks, members, start, stop, limit):
    """Return in how many elements the sets ``members[start:stop]`` of a collection meet.

    Counting ends at the first word that brings the count above the limit; a negative limit is
    none.
    """
    count = np.int64(0)
    for word in range(masks.shape[1]):
        bits = masks[members[start], word]
        for m in range(start + 1, stop):
            if bits == 0:
                break
            bits &= masks[members[m], word]
        if bits != 0:
            count += bit_count(bits)
            if 0 <= limit < count:
                break
    return count


def _warmup() -> None:
    """Compile the kernels."""
    masks = masks_of([(0, 2), (1,)], 3)
    bit_count(masks[0, 0])
    column_masks(np.array([0, 1]), np.array([0]), 1)
    count_common(masks, np.array([0, 1], np.int32), 0, 2, -1)
    has_bit(masks[0], 2)
    put_bit(masks[1], 0)
    drop_bit(masks[1], 0)
    first_fitting(masks, 0, 2, masks[0], masks[1])
    first_within(masks, 0, 2, masks[0])
