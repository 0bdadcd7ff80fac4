"""Contingency tables of categorical data: sums over their cells for many sets of variables.

What structure learning asks of a table is a sum over its cells of a function of the count:
Σ n log n, or Σ log Γ(a + n) − log Γ(a). `CellSums` answers that for thousands of sets of variables
at a time, counts each set once, and remembers the answers.

Rows that are equal are counted once with a weight. A set's rows are coded by ranks among the
combinations that occur, so that a table never has more cells than rows times states, however
many variables there are. Sets come in lexicographic order and share the codes of their prefix.
Of few variables, once many sets have been asked for, all sets are counted at once: each table is
a larger one with a variable summed out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit

Sets = NDArray[np.int16]

SWEEP = 100_000_000  # cells of the tables of all sets, up to which they may be counted at once
WORTH = 4  # such cells take the time of one row that is sorted into its cell


class CountedRows(NamedTuple):
    """Distinct rows of a categorical table: codes (a row a variable), weights, states, total."""

    codes: NDArray[np.int16]
    weights: NDArray[np.int32]
    n_states: NDArray[np.int64]
    n_samples: int


def distinct_rows(codes: NDArray[np.integer], n_states: Sequence[int]) -> CountedRows:
    """Merge equal rows of a table of codes into one with a weight.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_variables)
        States as integers from 0.
    n_states : sequence of int
        Number of states of each variable.

    Returns
    -------
    rows : CountedRows
        The distinct rows; those of a table without repetitions are left in order.
    """
    n_samples, n_variables = codes.shape
    key = np.zeros(n_samples, np.int64)
    span = 1
    for variable in range(n_variables):
        if span * int(n_states[variable]) >= 1 << 62:  # ranks take no more room than rows
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            span = n_samples
        key = key * int(n_states[variable]) + codes[:, variable]
        span *= int(n_states[variable])
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    kept = np.ascontiguousarray(codes[first[order]].T.astype(np.int16))
    return CountedRows(kept, counts[order].astype(np.int32), np.asarray(n_states), n_samples)


@njit(cache=True, nogil=True)
def _refine(ids, n_ids, column, n_states, rank, out):
    """Split groups of rows by one more variable; return the number of groups that occur."""
    for cell in range(n_ids * n_states):
        rank[cell] = -1
    n_out = 0
    for row in range(ids.size):
        cell = ids[row] * n_states + column[row]
        if rank[cell] < 0:
            rank[cell] = n_out
            n_out += 1
        out[row] = rank[cell]
    return n_out


@njit(cache=True, nogil=True)
def _tally(ids, column, weights, n_states, table):
    """Add the weights of the rows to the cells of (group, state)."""
    for row in range(ids.size):
        table[ids[row] * n_states + column[row]] += weights[row]


@njit(cache=True, nogil=True)
def _sum_cells(table, n_cells, alphas, sums):
    """Sum over the cells that are not empty, and empty them; return how many there were.

    alpha = 0 stands for n log n, a positive alpha for log Γ(alpha + n) − log Γ(alpha).
    """
    occupied = 0
    sums[:] = 0.0
    for cell in range(n_cells):
        count = table[cell]
        if count > 0:
            occupied += 1
            table[cell] = 0
            for kind in range(alphas.size):
                if alphas[kind] == 0.0:
                    sums[kind] += count * math.log(count)
                else:
                    # log of the rising factorial of the prior's count: the cell's part of a
                    # Dirichlet integral
                    sums[kind] += math.lgamma(alphas[kind] + count) - math.lgamma(alphas[kind])
    return occupied


@njit(cache=True, nogil=True)
def _count_sets(codes, weights, n_states, sets, scale, shared, sums, occupied):
    """Fill the sums and the numbers of occupied cells of sets of one size, in lexicographic order.

    The alpha of a column is its scale, divided by the number of cells of the full table where
    shared.
    """
    n_rows, size = weights.size, sets.shape[1]
    largest = 1
    for state in n_states:
        largest = max(largest, state)
    ids = np.zeros((size + 1, n_rows), np.int32)
    n_ids = np.ones(size + 1, np.int64)
    rank = np.empty(n_rows * largest, np.int32)
    table = np.zeros(n_rows * largest, np.int64)
    alphas = np.empty(scale.size)
    for s in range(sets.shape[0]):
        same = 0  # members shared with the set before, whose codes are still there
        while s > 0 and same < size - 1 and sets[s, same] == sets[s - 1, same]:
            same += 1
        for depth in range(same, size - 1):
            v = sets[s, depth]
            n_ids[depth + 1] = _refine(
                ids[depth], n_ids[depth], codes[v], n_states[v], rank, ids[depth + 1]
            )
        last = sets[s, size - 1]
        _tally(ids[size - 1], codes[last], weights, n_states[last], table)
        cells = 1.0
        for depth in range(size):
            cells *= n_states[sets[s, depth]]
        for kind in range(scale.size):
            # the prior's weight, shared among all cells of the table
            alphas[kind] = scale[kind] / cells if shared[kind] else scale[kind]
        occupied[s] = _sum_cells(table, n_ids[size - 1] * n_states[last], alphas, sums[s])


@njit(cache=True, nogil=True)
def _occupied_sum(table, n_cells, values):
    """Return the sum of values[count] over the cells, and how many are not empty."""
    even, odd, occupied = 0.0, 0.0, 0
    for cell in range(0, n_cells - 1, 2):  # two sums, neither of which waits for the other
        first, second = table[cell], table[cell + 1]
        even += values[first]
        odd += values[second]
        occupied += (first > 0) + (second > 0)
    if n_cells % 2:
        last = table[n_cells - 1]
        even += values[last]
        occupied += last > 0
    return even + odd, occupied


@njit(cache=True, nogil=True)
def _add(one, other, out):
    """Add two arrays; arrays of their own are added many numbers at a time."""
    for cell in range(out.size):
        out[cell] = one[cell] + other[cell]


@njit(cache=True, nogil=True)
def _sum_out(larger, smaller, n_states, n_low):
    """Sum one variable out of a table; `n_low` cells of other variables stand below it."""
    step = n_states * n_low
    for high in range(smaller.size // n_low):
        part, out = larger[high * step :], smaller[high * n_low : (high + 1) * n_low]
        _add(part[:n_low], part[n_low : 2 * n_low], out)
        for state in range(2, n_states):
            _add(part[state * n_low : (state + 1) * n_low], out, out)


@njit(cache=True, nogil=True)
def _sweep(table, n_states, values, sums, occupied):
    """Fill the sums and occupied cells of all sets, by their bits, from the table of all variables.

    The first variable's states stand side by side. Variables are summed out in ascending order,
    depth first: every set is met once, and the tables on the way to it stand one behind the other.
    """
    n = n_states.size
    size, start = np.ones(n + 1, np.int64), np.zeros(n + 1, np.int64)
    low = np.ones(n + 1, np.int64)  # cells of the variables before the following one
    following, mask = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for states in n_states:
        size[0] *= states
    mask[0] = (1 << n) - 1
    sums[mask[0]], occupied[mask[0]] = _occupied_sum(table, size[0], values)
    depth = 0
    while depth >= 0:
        v = following[depth]
        if v == n:
            depth -= 1
            continue
        states, before = n_states[v], low[depth]
        larger, smaller, left = start[depth], start[depth] + size[depth], size[depth] // states
        _sum_out(table[larger:smaller], table[smaller : smaller + left], states, before)
        following[depth] += 1
        low[depth] *= states
        depth += 1
        start[depth], size[depth], low[depth] = smaller, left, before
        mask[depth], following[depth] = mask[depth - 1] ^ (1 << v), v + 1
        of = mask[depth]
        sums[of], occupied[of] = _occupied_sum(table[smaller:], left, values)


class CellSums:
    """Sums over the cells of contingency tables, remembered by set of variables.

    Parameters
    ----------
    rows : CountedRows
        The data.
    scale : sequence of float
        One entry a sum: 0 for Σ n log n, a positive value for Σ log Γ(a + n) − log Γ(a) with a
        equal to it.
    shared : sequence of bool
        Whether that a is divided by the number of cells of the full table.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    n_tables : int
        How many tables were counted.
    """

    def __init__(
        self,
        rows: CountedRows,
        scale: Sequence[float] = (0.0,),
        shared: Sequence[bool] = (False,),
        n_jobs: int | None = None,
    ) -> None:
        self.rows, self.n_jobs = rows, n_jobs
        self.scale = np.asarray(scale, np.float64)
        self.shared = np.asarray(shared, np.bool_)
        self.n_tables = 0
        self._known: dict[int, tuple[NDArray, NDArray, NDArray]] = {}
        self._all: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None
        counts = [1 + int(r) for r in rows.n_states]
        self._all_cells = (
            math.prod(counts) if len(counts) < 27 and min(counts, default=0) > 2 else 0
        )

    def __call__(self, sets: Sets) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sums (a row a set) and the numbers of occupied cells.

        Parameters
        ----------
        sets : ndarray of shape (n_sets, size)
            Members of each set, ascending.

        Returns
        -------
        sums : ndarray of shape (n_sets, n_sums)
            The sums.
        occupied : ndarray of shape (n_sets,)
            How many combinations of states occur.
        """
        n_sets, size = sets.shape
        if size == 0:
            sums, occupied = np.empty((1, self.scale.size)), np.empty(1, np.int64)
            table = np.array([self.rows.n_samples])
            occupied[0] = _sum_cells(table, 1, self.scale, sums[0])
            return np.repeat(sums, n_sets, axis=0), np.repeat(occupied, n_sets)
        if self._all is not None:
            at = (1 << sets.astype(np.int64)).sum(axis=1)
            return self._all[0][at], self._all[1][at]
        keys = self._keys(sets)
        wanted, where, back = np.unique(keys, return_index=True, return_inverse=True)
        known, sums, occupied = self._known.get(
            size, (wanted[:0], np.empty((0, self.scale.size)), np.empty(0, np.int64))
        )
        new = ~np.isin(wanted, known, assume_unique=True) if known.size else slice(None)
        fresh = np.ascontiguousarray(sets[where[new]], np.int16)
        if len(fresh):
            if self._sweep_pays(len(fresh)):
                self._all = self._count_all()
                return self(sets)
            more = self._count(fresh)
            known = np.concatenate([known, wanted[new]])
            order = np.argsort(known, kind="stable")
            known = known[order]
            sums = np.concatenate([sums, more[0]])[order]
            occupied = np.concatenate([occupied, more[1]])[order]
            self._known[size] = (known, sums, occupied)
        at = np.searchsorted(known, wanted)[back]
        return sums[at], occupied[at]

    def _keys(self, sets: Sets) -> NDArray:
        """Return a key a set whose order is lexicographic."""
        n, size = max(2, len(self.rows.n_states)), sets.shape[1]
        if size * math.log2(n) < 62:
            key = np.zeros(len(sets), np.int64)
            for column in sets.T:
                key = key * n + column
            return key
        return np.ascontiguousarray(sets.astype(">i2")).view(f"S{2 * size}").ravel()

    def _sweep_pays(self, n_fresh: int) -> bool:
        """Whether all sets together take no longer than those that were and are asked for."""
        rows = WORTH * self.rows.weights.size * (self.n_tables + n_fresh)
        return (
            0 < self._all_cells <= min(SWEEP, rows)
            and not self.scale.any()
            and self.rows.n_samples <= SWEEP // 100
        )

    def _count_all(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sums and occupied cells of all sets, by their bits."""
        codes, weights, n_states, n_samples = self.rows
        cell = np.zeros(weights.size, np.int64)
        for column, states in zip(codes[::-1], n_states[::-1]):
            cell = cell * int(states) + column
        size = math.prod(int(states) for states in n_states)
        table = np.zeros(2 * size, np.int32)  # and those summed out of it, each at most half
        table[:size] = np.bincount(cell, weights, size)
        counts = np.arange(1.0, n_samples + 1.0)
        values = np.concatenate([[0.0], counts * np.log(counts)])
        n_sets = 1 << len(n_states)
        sums, occupied = np.empty(n_sets), np.empty(n_sets, np.int64)
        _sweep(table, np.asarray(n_states, np.int64), values, sums, occupied)
        self.n_tables += n_sets
        return np.repeat(sums[:, None], self.scale.size, axis=1), occupied

    def _count(self, sets: Sets) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        self.n_tables += len(sets)
        sums = np.empty((len(sets), self.scale.size))
        occupied = np.empty(len(sets), np.int64)
        codes, weights, n_states, _ = self.rows

        def part(lo: int, hi: int) -> None:
            _count_sets(
                codes, weights, n_states, sets[lo:hi], self.scale, self.shared,
                sums[lo:hi], occupied[lo:hi],
            )  # fmt: skip

        n_parts = min(effective_n_jobs(self.n_jobs), len(sets))
        if n_parts == 1:
            part(0, len(sets))
        else:
            ends = np.linspace(0, len(sets), 4 * n_parts + 1).astype(int)
            Parallel(n_parts, require="sharedmem")(
                delayed(part)(lo, hi) for lo, hi in pairwise(ends)
            )
        return sums, occupied


def count_table(
    codes: NDArray[np.integer], n_states: Sequence[int], variables: Sequence[int]
) -> NDArray[np.int64]:
    """Return the full contingency table of some variables, an axis a variable.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_variables)
        States as integers from 0.
    n_states : sequence of int
        Number of states of each variable.
    variables : sequence of int
        The variables of the table, in the order of its axes.

    Returns
    -------
    table : ndarray
        Counts; its shape is the numbers of states.
    """
    shape = tuple(int(n_states[v]) for v in variables)
    cell = np.zeros(len(codes), np.int64)
    for v, size in zip(variables, shape):
        cell = cell * size + codes[:, v]
    return np.bincount(cell, minlength=math.prod(shape)).reshape(shape)


def _warmup() -> None:
    """Compile the kernels."""
    rows = distinct_rows(np.array([[0, 1], [1, 0], [0, 1]]), (2, 2))
    CellSums(rows)(np.array([[0, 1]], np.int16))
    CellSums(rows)._count_all()
    ids = np.zeros(2, np.int32)
    _sum_cells(np.zeros(1, np.int64), 1, np.zeros(1), np.empty(1))
    _refine(ids, 1, rows.codes[0], 2, np.empty(4, np.int32), ids.copy())
    _tally(ids, rows.codes[0], rows.weights, 2, np.zeros(2, np.int64))
