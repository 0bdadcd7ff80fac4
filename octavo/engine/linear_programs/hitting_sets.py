"""Minimum hitting sets: the fewest members that meet every set of a collection.

Sets are bit masks (`octavo.engine.discrete.bitsets`). A hitting set of exactly k members is found
by branch and bound: among the sets that are not yet met the one with fewest members is taken, and
each of its members is tried in turn; a member that has been tried is barred from the branches after
it, so that every hitting set is met once and no more. A branch ends where more pairwise
disjoint sets are left than members may still be chosen. The minimum is the first k at which
the search succeeds.

`hitting_set_program` asks HiGHS instead, min Σx with Dx ≥ 1, and shows it only the sets that its
answers have missed so far. The problem is NP-hard; both are exact.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from octavo.engine.compilation.copies import copy_row, copy_table
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import (
    Masks,
    bit_count,
    masks_of,
    masks_of_table,
    members_of,
    sizes_of,
)

__all__ = [
    "TooManySets",
    "greedy_hitting_set",
    "hitting_set_program",
    "hitting_sets_of_size",
    "minimal_masks",
    "minimum_hitting_set",
    "minimum_hitting_sets",
]

Members = tuple[int, ...]

_PRUNED = 3000  # sets up to which supersets are worth removing first
_ROWS = 64  # sets with which the integer program begins, and that it gains at a time


class TooManySets(ValueError):
    """There are more hitting sets than were asked for at most."""


@njit(cache=True, nogil=True)
def _keep_minimal(masks, keep):
    """Mark the masks, ascending in size, that contain no mask before them."""
    n_kept = 0
    kept = np.empty(masks.shape[0], np.int64)
    for row in range(masks.shape[0]):
        keep[row] = True
        for at in range(n_kept):
            inside = True
            for word in range(masks.shape[1]):
                if masks[kept[at], word] & ~masks[row, word] != 0:
                    inside = False
                    break
            if inside:
                keep[row] = False
                break
        if keep[row]:
            kept[n_kept] = row
            n_kept += 1


@njit(cache=True, nogil=True)
def _open(masks, unhit, n_unhit, barred, full, left, pending):
    """Fill the members to try at a node; return whether a hitting set may lie below it.

    `left` members may still be chosen; where all sets are met any members fill the rest.
    """
    n_words = masks.shape[1]
    for word in range(n_words):
        pending[word] = full[word] & ~barred[word]
    if n_unhit == 0:
        return True
    if left == 0:
        return False
    if left == 1:  # the last member must be in all of them
        for at in range(n_unhit):
            for word in range(n_words):
                pending[word] &= masks[unhit[at], word]
        return True
    packed = np.zeros(n_words, np.uint64)
    disjoint, fewest, best = 0, np.int64(1 << 30), -1
    for at in range(n_unhit):
        size, apart = np.int64(0), True
        for word in range(n_words):
            bits = masks[unhit[at], word] & ~barred[word]
            size += bit_count(bits)
            if bits & packed[word] != 0:
                apart = False
        if size == 0:
            return False
        if size < fewest:
            fewest, best = size, unhit[at]
        if apart:
            # Disjoint sets need a member each.
            disjoint += 1
            if disjoint > left:
                return False
            for word in range(n_words):
                packed[word] |= masks[unhit[at], word] & ~barred[word]
    for word in range(n_words):
        pending[word] &= masks[best, word]
    return True


@njit(cache=True, nogil=True)
def _lowest(pending):
    """Take the lowest member out of a set and return it, or -1."""
    for word in range(pending.size):
        bits = pending[word]
        if bits != 0:
            low = bits & (~bits + np.uint64(1))
            pending[word] = bits ^ low
            return 64 * word + bit_count(low - np.uint64(1))
    return -1


@njit(cache=True, nogil=True)
def _search(masks, full, size, limit):
    """Return hitting sets of exactly `size` members, at most limit + 1 of them.

    The masks ascend in size; `full` holds the members that there are.
    """
    n_sets, n_words = masks.shape
    found = np.empty((1, size), np.int64)
    n_found = 0
    unhit = np.empty((size + 1, n_sets), np.int64)
    n_unhit = np.zeros(size + 1, np.int64)
    barred = np.zeros((size + 1, n_words), np.uint64)
    pending = np.zeros((size + 1, n_words), np.uint64)
    chosen = np.zeros(size, np.int64)
    n_unhit[0] = n_sets
    for row in range(n_sets):
        unhit[0, row] = row
    depth = 0
    if not _open(masks, unhit[0], n_sets, barred[0], full, size, pending[0]):
        return found[:0]
    while depth >= 0:
        if depth == size:
            if n_found == found.shape[0]:
                larger = np.empty((2 * n_found, size), np.int64)
                copy_table(found, larger)
                found = larger
            copy_row(chosen, found[n_found])
            n_found += 1
            if n_found > limit:
                break
            depth -= 1
            continue
        member = _lowest(pending[depth])
        if member < 0:
            depth -= 1
            continue
        word, bit = member >> 6, np.uint64(1) << np.uint64(member & 63)
        barred[depth, word] |= bit
        chosen[depth] = member
        count = 0
        for at in range(n_unhit[depth]):
            row = unhit[depth, at]
            if masks[row, word] & bit == 0:
                unhit[depth + 1, count] = row
                count += 1
        n_unhit[depth + 1] = count
        copy_row(barred[depth], barred[depth + 1])
        if _open(
            masks,
            unhit[depth + 1],
            count,
            barred[depth + 1],
            full,
            size - depth - 1,
            pending[depth + 1],
        ):
            depth += 1
    return found[:n_found]


@njit(cache=True, nogil=True)
def _greedy(masks, n):
    """Return members chosen by how many of the unmet sets they meet, most first."""
    n_sets = masks.shape[0]
    open_ = np.ones(n_sets, np.bool_)
    left = n_sets
    chosen = np.empty(n, np.int64)
    n_chosen = 0
    counts = np.zeros(n, np.int64)
    rest = np.zeros(masks.shape[1], np.uint64)
    while left > 0:
        counts[:] = 0
        for row in range(n_sets):
            if open_[row]:
                copy_row(masks[row], rest)
                member = _lowest(rest)
                while member >= 0:
                    counts[member] += 1
                    member = _lowest(rest)
        best = np.int64(np.argmax(counts))
        chosen[n_chosen] = best
        n_chosen += 1
        for row in range(n_sets):
            if open_[row] and (masks[row, best >> 6] >> np.uint64(best & 63)) & np.uint64(1) != 0:
                open_[row] = False
                left -= 1
    return chosen[:n_chosen]


@njit(cache=True, nogil=True)
def _packing(masks):
    """Return how many sets, taken greedily, are pairwise disjoint: no fewer members do."""
    packed = np.zeros(masks.shape[1], np.uint64)
    count = 0
    for row in range(masks.shape[0]):
        apart = True
        for word in range(masks.shape[1]):
            if masks[row, word] & packed[word] != 0:
                apart = False
                break
        if apart:
            count += 1
            for word in range(masks.shape[1]):
                packed[word] |= masks[row, word]
    return count


def _full(n: int) -> NDArray[np.uint64]:
    return masks_of([range(n)], n)[0]


def _no_empty(masks: Masks) -> None:
    if masks.size and not masks.any(axis=1).all():
        raise ValueError("A set without members cannot be hit.")


def minimal_masks(masks: Masks) -> Masks:
    """Return the sets that contain no other, ascending in size: they are hit when all are.

    Beyond a few thousand sets, only copies are removed.
    """
    masks = np.unique(masks, axis=0)
    masks = np.ascontiguousarray(masks[np.argsort(sizes_of(masks), kind="stable")])
    if len(masks) > _PRUNED:
        return masks
    keep = np.zeros(len(masks), np.bool_)
    _keep_minimal(masks, keep)
    return masks[keep]


def _as_tuples(found: NDArray[np.int64]) -> list[Members]:
    return sorted(tuple(row) for row in np.sort(found, axis=1).tolist())


def hitting_sets_of_size(masks: Masks, n: int, size: int, limit: int) -> list[Members]:
    """Return all hitting sets of exactly so many members, minimal or not, in order.

    Parameters
    ----------
    masks : ndarray of shape (n_sets, n_words(n)), dtype uint64
        The sets to hit.
    n : int
        Size of the universe.
    size : int
        Members of each hitting set.
    limit : int
        The most that may be returned.

    Returns
    -------
    sets : list of tuple of int
        Ascending members; the list is sorted and may be empty.

    Raises
    ------
    TooManySets
        If there are more than the limit.
    """
    _no_empty(masks)
    found = _search(minimal_masks(masks), _full(n), size, limit)
    if len(found) > limit:
        raise TooManySets(f"There are more than {limit} hitting sets of {size} members.")
    return _as_tuples(found)


def minimum_hitting_set(masks: Masks, n: int, most: int | None = None) -> Members | None:
    """Return one smallest hitting set, or None where it has more than `most` members.

    Parameters
    ----------
    masks : ndarray of shape (n_sets, n_words(n)), dtype uint64
        The sets to hit.
    n : int
        Size of the universe.
    most : int, optional
        Largest size that is looked for.

    Returns
    -------
    members : tuple of int or None
        Ascending.
    """
    _no_empty(masks)
    forced, masks = _forced(masks, n)
    masks = minimal_masks(masks)
    greedy = _greedy(masks, n)
    left = len(greedy) if most is None else min(len(greedy), most - len(forced) + 1)
    for size in range(_packing(masks), left):
        found = _search(masks, _full(n), size, 0)
        if len(found):
            return tuple(sorted((*forced, *_as_tuples(found)[0])))
    if most is not None and len(forced) + len(greedy) > most:
        return None
    return tuple(sorted((*forced, *greedy.tolist())))


def minimum_hitting_sets(masks: Masks, n: int, limit: int) -> list[Members]:
    """Return all smallest hitting sets in order; `TooManySets` where the limit is passed."""
    best = minimum_hitting_set(masks, n)
    assert best is not None
    return hitting_sets_of_size(masks, n, len(best), limit)


def greedy_hitting_set(masks: Masks, n: int) -> Members:
    """Return a hitting set chosen member by member, at most ln(sets) + 1 times the smallest."""
    _no_empty(masks)
    return tuple(sorted(_greedy(np.ascontiguousarray(masks), n).tolist()))


def _shortest(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the smallest sets are: those that the others can least do without."""
    if len(lengths) <= _ROWS:
        return np.arange(len(lengths))
    return np.argpartition(lengths, _ROWS)[:_ROWS]


@njit(cache=True, nogil=True)
def _unmet(masks, chosen):
    """Return which sets hold none of the chosen members."""
    out = np.empty(masks.shape[0], np.bool_)
    for row in range(masks.shape[0]):
        unmet = True
        for word in range(masks.shape[1]):
            if masks[row, word] & chosen[word] != 0:
                unmet = False
                break
        out[row] = unmet
    return out


def _forced(masks: Masks, n: int) -> tuple[Members, Masks]:
    """Return the members that every hitting set has, and the sets that they leave unmet."""
    alone = masks[sizes_of(masks) == 1]
    if not len(alone):
        return (), masks
    mask = np.bitwise_or.reduce(alone, axis=0)
    return members_of(mask), masks[_unmet(masks, mask)]


def _table(masks: Masks, n: int) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.ascontiguousarray(masks).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n].astype(bool)


def _undominated(table: NDArray[np.bool_]) -> NDArray[np.int64]:
    # smaller where more sets hold the member
    """Return members in none of whose places another would do as well, the first of equals."""
    left_out = masks_of_table(~table.T)
    order = np.argsort(sizes_of(left_out), kind="stable")
    keep = np.zeros(len(order), np.bool_)
    _keep_minimal(np.ascontiguousarray(left_out[order]), keep)
    return np.sort(order[keep])


def _solve(
    table: NDArray[np.bool_], cuts: list[Members], n: int, size: int | None
) -> NDArray[np.bool_] | None:
    """Return the smallest set that hits the rows, and is none of the cuts; None where none is."""
    rows = sp.csr_array(table.astype(np.float64))
    limits = [LinearConstraint(rows, lb=1.0)] if rows.shape[0] else []
    if size is not None:
        limits.append(LinearConstraint(np.ones((1, n)), lb=size, ub=size))
    if cuts:
        taken = np.zeros((len(cuts), n))
        for row, cut in zip(taken, cuts, strict=True):
            row[list(cut)] = 1.0
        limits.append(LinearConstraint(taken, ub=taken.sum(axis=1) - 1.0))
    answer = milp(
        np.ones(n),
        integrality=np.ones(n),
        bounds=Bounds(0.0, 1.0),
        constraints=limits,
        options={"mip_rel_gap": 0.0},
    )
    if answer.status == 2:
        return None
    if answer.x is None:
        raise ValueError(f"HiGHS found no hitting set: {answer.message}.")
    return answer.x > 0.5


def _one_by_program(masks: Masks, n: int) -> Members:
    """Return one smallest hitting set; members that others can replace are not shown."""
    forced, masks = _forced(masks, n)
    lengths, shown = sizes_of(masks), np.zeros(len(masks), dtype=bool)
    missed, members = np.arange(len(masks)), forced
    while len(missed):
        shown[missed[_shortest(lengths[missed])]] = True
        table = _table(masks[shown], n)
        kept = _undominated(table)
        chosen = _solve(table[:, kept], [], len(kept), None)
        assert chosen is not None
        members = tuple(kept[chosen].tolist())
        missed = np.flatnonzero(_unmet(masks, masks_of([members], n)[0]))
        members = tuple(sorted((*forced, *members)))
    return members


def hitting_set_program(
    masks: Masks,
    n: int,
    *,
    size: int | None = None,
    everything: bool = False,
    limit: int = 1,
) -> list[Members]:
    """Return one or all hitting sets by integer programs, solved by HiGHS.

    Parameters
    ----------
    masks : ndarray of shape (n_sets, n_words(n)), dtype uint64
        The sets to hit.
    n : int
        Size of the universe.
    size : int, optional
        Members that the hitting sets must have; the fewest possible by default.
    everything : bool, default=False
        Whether all are wanted. Those already found are then cut off one by one.
    limit : int, default=1
        With `everything`, the most that may be returned.

    Returns
    -------
    sets : list of tuple of int
        Ascending members; the list is sorted, and empty where no set of that size hits.
    """
    _no_empty(masks)
    if size is None and not everything:
        return [_one_by_program(masks, n)]
    lengths = sizes_of(masks)
    shown = np.zeros(len(masks), dtype=bool)
    shown[_shortest(lengths)] = True
    sets: list[Members] = []
    while n:
        chosen = _solve(_table(masks[shown], n), sets, n, size)
        if chosen is None:
            return sorted(sets)
        members = tuple(np.flatnonzero(chosen).tolist())
        missed = np.flatnonzero(_unmet(masks, masks_of([members], n)[0]))
        if len(missed):
            shown[missed[_shortest(lengths[missed])]] = True
            continue
        sets.append(members)
        size = len(members)
        if not everything:
            break
        if len(sets) > limit:
            raise TooManySets(f"There are more than {limit} hitting sets of {size} members.")
    return sorted(sets) if n else [()]


def _warmup() -> None:
    """Compile the kernels."""
    masks = masks_of([(0, 2), (1,), (2, 3)], 4)
    minimum_hitting_sets(masks, 4, 10)
    hitting_set_program(masks, 4)
    members_of(masks[0])
