"""Min-wise hashing of the columns of a 0/1 table: how often do all columns of a set meet?

A table of L random orders of the rows keeps, for each column, the first place at which it is 1.
From it the prevalence of any set of columns is estimated in time that does not depend on the
number of rows, with less variance than L sampled rows would give.

Reference: R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
Learning Research 15, Section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.draws import draw_below, word_seeds
from octavo.engine.estimators.arrays import Floats

HashTable = NDArray[np.int32]


@njit(cache=True, nogil=True)
def _fill_hashes(
    indptr, indices, row_indptr, row_indices, seeds, table, order, place, first, state
):
    """Fill ``table[k, l]``: the first place of a row with column k in the l-th random order.

    Rows are met in that order for a sixteenth of them, which settles all columns but rare ones;
    of those the least place is taken over their few rows.
    """
    n_rows, n_columns = row_indptr.size - 1, indptr.size - 1
    for l in range(seeds.size):
        state[0] = seeds[l]
        for i in range(n_rows):  # a uniform permutation, built from the inside
            j = draw_below(state, i + 1)
            order[i] = order[j]
            order[j] = i
        for i in range(n_rows):
            place[order[i]] = i + 1
        for k in range(n_columns):
            first[k] = n_rows + 1
        for i in range(n_rows // 16):
            row = order[i]
            for at in range(row_indptr[row], row_indptr[row + 1]):
                k = row_indices[at]
                if first[k] > n_rows:
                    first[k] = i + 1
        for k in range(n_columns):
            if first[k] > n_rows:
                for at in range(indptr[k], indptr[k + 1]):
                    first[k] = min(first[k], place[indices[at]])
            table[k, l] = first[k]


def min_hash_table(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    n_rows: int,
    n_hashes: int,
    random_state: Any = None,
) -> HashTable:
    """Return the min-wise hash values of the columns of a 0/1 table in CSC form.

    Parameters
    ----------
    indptr, indices : ndarray of int
        Where the rows of each column begin, and the rows themselves.
    n_rows : int
        Number of rows.
    n_hashes : int
        Number of random orders, L.
    random_state : int, RandomState instance or None
        Seeds the orders.

    Returns
    -------
    table : ndarray of shape (n_columns, n_hashes), dtype int32
        Places from 1 to n_rows; n_rows + 1 for a column without a row.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.discrete.min_hash import min_hash_table
    >>> min_hash_table(np.array([0, 1, 1]), np.array([0]), 1, 3, 0).tolist()
    [[1, 1, 1], [2, 2, 2]]
    """
    table = np.empty((len(indptr) - 1, n_hashes), np.int32)
    ones = np.ones(len(indices), np.int8)
    rows = sp.csr_array(sp.csc_array((ones, indices, indptr), shape=(n_rows, len(indptr) - 1)))
    parts = (indptr, indices, rows.indptr, rows.indices)
    seeds = word_seeds(random_state, n_hashes)
    order, place = np.zeros(n_rows, np.int32), np.empty(n_rows, np.int32)
    first, state = np.empty(len(table), np.int32), np.empty(1, np.uint64)
    whole = (part.astype(np.int64) for part in parts)
    _fill_hashes(*whole, seeds, table, order, place, first, state)
    return table


@njit(cache=True, nogil=True)
def share_of_ties(table, members, start, stop):
    """Return π̂₁, the share of orders in which all members have one place; Eq. (5).

    A set is the part of `members` from start to stop. The place after all rows, of a column
    without any, counts as a tie here.
    """
    ties = 0
    rare = members[start]  # a member that comes late in one order is likely to be alone in others
    for m in range(start + 1, stop):
        if table[members[m], 0] > table[rare, 0]:
            rare = members[m]
    for l in range(table.shape[1]):
        place = table[rare, l]
        tied = True
        for m in range(start, stop):
            if table[members[m], l] != place:
                tied = False
                break
        ties += tied
    return ties / table.shape[1]  # Eq. (5)


@njit(cache=True, nogil=True)
def share_of_any(table, n_rows, members, start, stop):
    """Return π̂₂, the estimated share of rows with any of the members; Eq. (7)."""
    first = table[members[start]].copy()  # member by member, so that orders run in vectors
    for m in range(start + 1, stop):
        other = table[members[m]]
        for l in range(first.size):
            first[l] = min(first[l], other[l])
    total = 0.0
    for l in range(first.size):
        total += first[l]
    mean = total / table.shape[1]
    # Eq. (7), whose π_2 comes from the mean of Eq. (6)
    return max(0.0, (n_rows + 1) / n_rows * (1.0 / mean - 1.0 / (n_rows + 1)))


@njit(cache=True, nogil=True)
def hash_admits(table, n_rows, members, start, stop, ceiling):
    """Return whether the estimate of a set's prevalence, Eq. (8), is at most a ceiling.

    π̂₂ is at most 1 and is computed only where π̂₁ alone does not decide. A set in whose orders
    no row occurs has ties at place n_rows + 1, and a π̂₂ of zero.
    """
    if start == stop:
        return ceiling >= 1.0
    if stop - start > 1:
        first, second = members[start], members[stop - 1]
        for m in range(start + 1, stop - 1):
            if table[members[m], 0] > table[first, 0]:
                first = members[m]
        pairs = 0  # two members tie at least as often as all, and this loop runs in vectors
        for l in range(table.shape[1]):
            pairs += table[first, l] == table[second, l]
        if pairs <= ceiling * table.shape[1]:
            return True
    ties = share_of_ties(table, members, start, stop)
    if ties <= ceiling:
        return True
    return ties * share_of_any(table, n_rows, members, start, stop) <= ceiling  # Eq. (8)


@njit(cache=True, nogil=True)
def _estimate_sets(table, n_rows, starts, members, shares):
    """Fill π̂₁ and π̂₂ of each set; the empty set has 1 and 1."""
    for s in range(starts.size - 1):
        start, stop = starts[s], starts[s + 1]
        if start == stop:
            shares[s, 0] = shares[s, 1] = 1.0
            continue
        shares[s, 1] = share_of_any(table, n_rows, members, start, stop)
        shares[s, 0] = share_of_ties(table, members, start, stop) if shares[s, 1] > 0.0 else 0.0


def estimate_sets(
    table: HashTable,
    n_rows: int,
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
) -> Floats:
    """Return the estimates π̂₁ and π̂₂ of sets of columns; their product is Eq. (8).

    Parameters
    ----------
    table : ndarray of shape (n_columns, n_hashes)
        From `min_hash_table`.
    n_rows : int
        Number of rows that were hashed.
    starts : ndarray of shape (n_sets + 1,)
        Where the members of each set begin.
    members : ndarray of int
        The columns of all sets, one after the other.

    Returns
    -------
    shares : ndarray of shape (n_sets, 2)
        Among the rows with any member, the share of those with all; and the share of the rows
        with any.
    """
    shares = np.empty((len(starts) - 1, 2))
    _estimate_sets(table, n_rows, starts, members, shares)
    return shares


def _warmup() -> None:
    """Compile the kernels."""
    table = min_hash_table(np.array([0, 1, 2, 3]), np.array([0, 1, 1]), 2, 4, 0)
    members = np.array([0, 1, 2], np.int32)
    estimate_sets(table, 2, np.array([0, 3]), members)
    hash_admits(table, 2, members, 0, 3, 0.1)
