"""Intersection trees: random rows of a class, intersected along the branches of a tree.

A root holds the active columns of a random row; each child intersects its parent's set with
another random row. What survives is common to many rows. With a ceiling on the prevalence among
the other rows, a branch ends where its set has become as common there.

Reference: R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
Learning Research 15, Algorithms 1 and 2 and the version without a depth at the end of Section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import column_masks, count_common, n_words
from octavo.engine.discrete.draws import GOLDEN, draw_below, draw_unit
from octavo.engine.discrete.min_hash import hash_admits, min_hash_table
from octavo.engine.estimators.arrays import Floats, Ints

TREES_A_CHUNK = 50
MOST_BYTES = 2**31  # of bit sets of the other class


class Ceiling(NamedTuple):
    """What a branch is tested against: hashes or bit sets of rows, and the largest prevalence."""

    table: NDArray[np.int32] | None
    masks: NDArray[np.uint64] | None
    n_rows: int
    theta0: float


def no_ceiling() -> Ceiling:
    """Return the test that all sets pass: Algorithm 1."""
    return Ceiling(None, None, 0, 1.0)


def hashed_ceiling(rows: Any, theta0: float, n_hashes: int, random_state: Any) -> Ceiling:
    """Return the test by min-wise hashes of the rows, Eq. (8)."""
    csc = sp.csc_array(rows)
    table = min_hash_table(csc.indptr, csc.indices, rows.shape[0], n_hashes, random_state)
    return Ceiling(table, None, rows.shape[0], theta0)


def exact_ceiling(rows: Any, theta0: float) -> Ceiling:
    """Return the test by exact counts over the rows."""
    needed = 8 * n_words(rows.shape[0]) * rows.shape[1]
    if needed > MOST_BYTES:
        raise ValueError(
            f"prevalence='exact' would need {needed / 2**30:.1f} GiB for {rows.shape[0]:,} x "
            f"{rows.shape[1]:,} cells outside the target class; use prevalence='minhash'."
        )
    csc = sp.csc_array(rows)
    masks = column_masks(csc.indptr, csc.indices, rows.shape[0])
    return Ceiling(None, masks, rows.shape[0], theta0)


class Shape(NamedTuple):
    """The shape of trees: E(B) of every node, depth (-1: without one), and the limits."""

    branching: float = 5.0
    depth: int = -1
    single_root: bool = False
    max_depth: int = 50
    max_nodes: int = 5000


class Leaves(NamedTuple):
    """Distinct sets of columns that trees ended with, and in how many trees each.

    `starts` and `members` hold the sets one after the other, `keys` 128 bits of each; `n_nodes`
    and `truncated` have an entry a tree.
    """

    starts: Ints
    members: NDArray[np.int32]
    counts: Ints
    keys: NDArray[np.uint64]
    n_nodes: Ints
    truncated: NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _intersect(sets, start, size, row, low, end, kept):
    """Write the members of a set that a part of `row` holds, from `kept` on; return the end."""
    for m in range(start, start + size):
        wanted = sets[m]
        high = end
        if high - low > 4 * (start + size - m):  # few are left to find in a long row: halve it
            while low < high:
                middle = (low + high) >> 1
                if row[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
        else:
            while low < end and row[low] < wanted:
                low += 1
        if low == end:
            break
        if row[low] == wanted:
            sets[kept] = wanted
            kept += 1
            low += 1
    return kept


@njit(cache=True, nogil=True)
def _pick_row(state, n_rows, cumulative):
    """Return a random row: any alike, or by cumulative weights."""
    if cumulative is None:
        return draw_below(state, n_rows)
    aim = draw_unit(state) * cumulative[-1]
    low, high = 0, cumulative.size - 1
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > aim:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def _grow_trees(
    first, seeds, indptr, indices, cumulative, table, masks, n_others, theta0, branching, depth,
    single_root, sets, width, max_nodes, starts, trees, members, n_nodes, truncated, size, left,
    fruitful, state,
):  # fmt: skip
    """Grow one tree a seed, depth first, and write the leaves: tree, start and members of each.

    With a depth, leaves are the sets at that depth (Algorithms 1 and 2). Without one, a leaf is
    an admissible set none of whose children is: an inadmissible one cannot satisfy (1). Returns
    the number of leaves, and the tree at which there was no room for more. `size`, `left` and
    `fruitful` have an entry a level, `state` is that of the draws.
    """
    n_rows, last = indptr.size - 1, sets.size // width - 1
    # Most rows of the other class that an admissible set may be held by
    most = np.int64(theta0 * n_others + 1e-9)
    whole = np.int64(branching)
    n_leaves = 0
    starts[0] = 0
    for t in range(first, seeds.size):
        state[0] = seeds[t]
        level, nodes, cut, before = -1, 0, False, n_leaves
        while True:
            going_down = level < 0
            if not going_down:
                if left[level] > 0 and nodes >= max_nodes:
                    cut = True
                    left[level] = 0
                going_down = left[level] > 0
            collected = -1
            if going_down:
                # A new node below `level`; the root of the tree where level is -1.
                i = _pick_row(state, n_rows, cumulative)  # i(j)
                new = level + 1
                start = new * width
                if level < 0:
                    size[0] = indptr[i + 1] - indptr[i]
                    for m in range(size[0]):
                        sets[m] = indices[indptr[i] + m]
                else:
                    left[level] -= 1
                    size[new] = -new * width + _intersect(  # Algorithm 1: S_j = X_i(j) ∩ S_pa(j)
                        sets,
                        level * width,
                        size[level],
                        indices,
                        indptr[i],
                        indptr[i + 1],
                        new * width,
                    )
                nodes += 1
                if new == depth:
                    collected = new
                else:
                    stop = start + size[new]
                    goes_on = size[new] > 0
                    if table is not None and goes_on:
                        goes_on = hash_admits(  # Algorithm 2: a node goes on only if P̂ <= θ₀
                            table, n_others, sets, start, start + size[new], theta0
                        )
                    if masks is not None and goes_on:
                        goes_on = count_common(masks, sets, start, stop, most) <= most
                    if goes_on:
                        if level >= 0:
                            fruitful[level] = True
                        if new == last:  # reached without a depth alone
                            collected = new
                            cut = True
                        else:
                            left[new] = 1
                            if new > 0 or not single_root:
                                left[new] = whole
                                # B is b or b + 1
                                if branching > whole and draw_unit(state) < branching - whole:
                                    left[new] += 1
                            fruitful[new] = False
                            level = new
                    elif level < 0:
                        break
            else:
                # Section 4, last paragraph: the leaves of a tree without a depth.
                if depth < 0 and not fruitful[level]:
                    collected = level
                level -= 1
            if collected >= 0 and size[collected] > 0:
                at = starts[n_leaves]
                if n_leaves + 1 >= starts.size or at + size[collected] > members.size:
                    return before, t
                for m in range(size[collected]):
                    members[at + m] = sets[collected * width + m]
                trees[n_leaves] = t
                n_leaves += 1
                starts[n_leaves] = at + size[collected]
            if level < 0:
                break
        n_nodes[t], truncated[t] = nodes, cut
    return n_leaves, seeds.size


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finaliser of splitmix64 of each word."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _keys(starts: Ints, members: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return 128 bits of each set: two sums over its members, each mixed in another way."""
    words = _mixed(members.astype(np.uint64) + GOLDEN)
    both = np.stack([words, _mixed(words ^ np.uint64(0xD1B54A32D192ED03))], axis=1)
    return np.add.reduceat(both, starts[:-1], axis=0) if len(starts) > 1 else both[:0]


def take_sets(
    starts: Ints, members: NDArray[np.int32], chosen: NDArray[np.integer]
) -> tuple[Ints, NDArray[np.int32]]:
    """Return some of many sets, one after the other."""
    chosen = np.asarray(chosen, np.int64)
    new_starts = np.concatenate([[0], np.cumsum(np.diff(starts)[chosen])]).astype(np.int64)
    shift = np.repeat(starts[:-1][chosen] - new_starts[:-1], np.diff(new_starts))
    return new_starts, members[shift + np.arange(shift.size)]


def _first_of_groups(*columns: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return an order in which equal rows of columns meet, and where each group begins there."""
    order = np.lexsort(columns[::-1])
    begins = np.ones(order.size, np.bool_)
    if order.size:
        begins[1:] = False
        for column in columns:
            begins[1:] |= column[order[1:]] != column[order[:-1]]
    return order, begins


def _merge(parts: list[tuple[Ints, NDArray[np.int32], Ints, NDArray[np.uint64]]]) -> Any:
    """Return distinct sets of several collections (starts, members, counts, keys), counts added."""
    members = np.concatenate([part[1] for part in parts])
    sizes = np.concatenate([np.diff(part[0]) for part in parts])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    counts = np.concatenate([part[2] for part in parts])
    keys = np.concatenate([part[3] for part in parts])
    order, begins = _first_of_groups(keys[:, 0], keys[:, 1])
    if not order.size:
        return starts, members, counts, keys
    totals = np.add.reduceat(counts[order], np.flatnonzero(begins))
    chosen = order[begins]
    return *take_sets(starts, members, chosen), totals, keys[chosen]


def _distinct(trees: Ints, starts: Ints, members: NDArray[np.int32]) -> Any:
    """Return the distinct sets among leaves with the number of trees that each occurs in."""
    keys = _keys(starts, members)
    order, begins = _first_of_groups(keys[:, 0], keys[:, 1], trees)
    once = order[begins]
    ones = np.ones(once.size, np.int64)
    return _merge([(*take_sets(starts, members, once), ones, keys[once])])


def grow_trees(
    rows: Any,
    ceiling: Ceiling,
    seeds: NDArray[np.uint64],
    shape: Shape,
    *,
    weights: Floats | None = None,
    n_jobs: int | None = None,
    step: Callable[[], bool] | None = None,
) -> Leaves:
    """Grow intersection trees on rows of a class, and gather what they end with.

    Parameters
    ----------
    rows : csr_array of shape (n_rows, n_columns)
        The rows of the class, with sorted columns.
    ceiling : Ceiling
        When a branch ends.
    seeds : ndarray of shape (n_trees,), dtype uint64
        A seed a tree; the leaves depend on nothing else, whatever `n_jobs`.
    shape : Shape
        Branching factor, depth and limits.
    weights : ndarray of shape (n_rows,), optional
        Rows are drawn in proportion to these.
    n_jobs : int or None
        Number of threads.
    step : callable, optional
        Called after each chunk of trees; returns whether to stop.

    Returns
    -------
    leaves : Leaves
        The distinct sets, empty ones left out, with the number of trees that each occurs in.
    """
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    cumulative = None if weights is None else np.cumsum(weights, dtype=np.float64)
    n_nodes, truncated = np.zeros(seeds.size, np.int64), np.zeros(seeds.size, np.bool_)
    levels = 1 + (shape.depth if shape.depth >= 0 else shape.max_depth)
    width = int(np.diff(indptr).max(initial=1))

    def part(lo: int, hi: int) -> Any:
        done, room, found = 0, 1 << 12, []
        sets = np.empty(levels * width, np.int32)
        work = (
            np.zeros(levels, np.int64), np.zeros(levels, np.int64), np.zeros(levels, np.bool_),
            np.zeros(1, np.uint64),
        )  # fmt: skip
        while done < hi - lo:
            starts, trees = np.empty(room + 1, np.int64), np.empty(room, np.int64)
            members = np.empty(16 * room + width, np.int32)
            n_leaves, done = _grow_trees(
                done, seeds[lo:hi], indptr, indices, cumulative, ceiling.table, ceiling.masks,
                ceiling.n_rows, float(ceiling.theta0), float(shape.branching), shape.depth,
                shape.single_root, sets, width, shape.max_nodes, starts, trees, members,
                n_nodes[lo:hi], truncated[lo:hi], *work,
            )  # fmt: skip
            starts = starts[: n_leaves + 1]
            found.append(_distinct(trees[:n_leaves], starts, members[: starts[-1]]))
            room *= 4  # one tree may fill it
        return _merge(found)

    n_threads = effective_n_jobs(n_jobs)
    ends = [*range(0, seeds.size, TREES_A_CHUNK), seeds.size]
    chunks = list(pairwise(ends))
    done: list[Any] = []
    for first in range(0, len(chunks), n_threads):
        batch = chunks[first : first + n_threads]
        if len(batch) == 1:
            done.append(part(*batch[0]))
        else:
            done += Parallel(n_threads, require="sharedmem")(delayed(part)(*c) for c in batch)
        if step is not None and step():
            break
    starts, members, counts, keys = _merge(done)
    return Leaves(starts, members, counts, keys, n_nodes, truncated)


def _warmup() -> None:
    """Compile the kernels."""
    rows = sp.csr_array(np.array([[1, 1, 0], [1, 1, 1]], np.int8))
    seeds = np.arange(2, dtype=np.uint64)
    for ceiling in (no_ceiling(), exact_ceiling(rows, 0.5), hashed_ceiling(rows, 0.5, 2, 0)):
        grow_trees(rows, ceiling, seeds, Shape(1.5, depth=1))
    grow_trees(rows, no_ceiling(), seeds, Shape(1.5, depth=1), weights=np.ones(2))
