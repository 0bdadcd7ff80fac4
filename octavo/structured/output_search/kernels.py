"""Compiled search in output space: roll-outs, successors, costs by increments, rank passes.

A state is a labelling of one structure and, in the limited-discrepancy space, which of its cells
are forced. A successor is stored as the cells that it changes. The recurrent classifier is given
by scores of labels by cell (``unary``) and by label at each slot of the history (``hist``; row 0
where the slot lies outside), or by a table over all histories (``table``, used where not empty).
What it chose at a cell under a history is kept in ``memo``, unless there are too many histories.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.streams.rank_steps import ranked_step, violation

_JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_JIT)
def history_code(cell, start, labels, slots, n_labels):
    """Return the number of the history that a cell sees."""
    code, base = 0, 1
    for s in range(slots.shape[1]):
        before = slots[cell, s]
        if before >= 0:
            code += base * (labels[before - start] + 1)
        base *= n_labels + 1
    return code


@njit(**_JIT)
def action_score(cell, label, start, labels, slots, unary, hist, table):
    """Return the score of a label at a cell, given the labels before it."""
    if table.shape[0] > 0:
        return table[cell, history_code(cell, start, labels, slots, unary.shape[1]), label]
    score = unary[cell, label]
    for s in range(slots.shape[1]):
        before = slots[cell, s]
        score += hist[s, labels[before - start] + 1 if before >= 0 else 0, label]
    return score


@njit(**_JIT)
def best_action(cell, start, labels, slots, unary, hist, table, memo):
    """Return the label that the recurrent classifier gives to a cell."""
    code = -1
    if memo.shape[0] > 0:
        code = history_code(cell, start, labels, slots, unary.shape[1])
        if memo[cell, code] >= 0:
            return memo[cell, code]
    best, top = 0, -np.inf
    for label in range(unary.shape[1]):
        score = action_score(cell, label, start, labels, slots, unary, hist, table)
        if score > top:
            best, top = label, score
    if code >= 0:
        memo[cell, code] = best
    return best


@njit(**_JIT)
def roll_out(labels, forced, out, start, slots, unary, hist, table, memo):
    """Fill what the classifier says of all cells that are not forced, in order.

    Where ``out`` is ``labels`` itself, it sees its own answers; else those labels.
    """
    for t in range(labels.size):
        if not forced[t]:
            out[t] = best_action(start + t, start, labels, slots, unary, hist, table, memo)


@njit(**_JIT)
def top_labels(labels, start, slots, unary, hist, table, k, allowed):
    """Mark at every cell the k best labels other than its own, given the labels before it."""
    n_labels = unary.shape[1]
    scores = np.empty(n_labels)
    for t in range(labels.size):
        for a in range(n_labels):
            scores[a] = action_score(start + t, a, start, labels, slots, unary, hist, table)
            allowed[t, a] = False
        scores[labels[t]] = -np.inf
        # the history is that of the state's own roll-out: the paper does not say which
        for _ in range(min(k, n_labels - 1)):
            best = -1
            for a in range(n_labels):
                free = a != labels[t] and not allowed[t, a]
                if free and (best < 0 or scores[a] > scores[best]):
                    best = a
            allowed[t, best] = True


# fmt: off
@njit(**_JIT)
def expand(
    labels, forced, start, slots, reach, unary, hist, table, memo, allowed, rolls,
    work, ptr, cell, label,
):
    """Fill all successors as changes: candidate k changes cell[ptr[k]:ptr[k + 1]] to label.

    With ``rolls`` what follows a discrepancy is rolled out again, until histories agree with the
    parent's (limited discrepancies); without, one label changes (flip-bit). ``work`` equals
    ``labels``. Returns the number of candidates, or -1 where ``cell`` is too short for them.
    """
    n, count, used = labels.size, 0, 0
    for i in range(n):
        for a in range(unary.shape[1]):
            if a == labels[i] or not allowed[i, a]:
                continue
            if used + n > cell.size:
                return -1
            first = used
            # a discrepancy (i, a) with a other than the present label, Section 3.3
            cell[used], label[used] = i, a
            used += 1
            work[i] = a
            t, last = i + 1, i + reach[start + i] if rolls else i
            # h acts again on the altered history, as far as a change reaches
            while t <= last and t < n:
                met = False
                if not forced[t]:  # labels that are forced stay: h[D] of Section 3.3
                    for s in range(slots.shape[1]):
                        before = slots[start + t, s] - start
                        if slots[start + t, s] >= 0 and work[before] != labels[before]:
                            met = True
                if met:
                    b = best_action(start + t, start, work, slots, unary, hist, table, memo)
                    if b != labels[t]:
                        work[t] = b
                        cell[used], label[used] = t, b
                        used += 1
                        if t + reach[start + t] > last:
                            last = t + reach[start + t]
                t += 1
            for k in range(first, used):
                work[cell[k]] = labels[cell[k]]
            count += 1
            ptr[count] = used
    return count
# fmt: on


# --- joint features -----------------------------------------------------------------------------


@njit(**_JIT)
def tuple_index(m, labels, start, tuples, arity, offset, n_labels):
    """Return the number of the feature that tuple m counts under these labels."""
    index = 0
    for j in range(arity[m]):
        index = index * n_labels + labels[tuples[m, j] - start]
    return offset[m] + index


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(a, b):
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@njit(**_JIT)
def unary_table(X, start, n, weights, out):
    """Fill the costs of single cells by label."""
    d = X.shape[1]
    for a in range(out.shape[1]):
        block = weights[a * d : (a + 1) * d]
        for t in range(n):
            out[t, a] = _dot(block, X[start + t])


@njit(**_JIT)
def full_cost(labels, start, table, weights, tuples, arity, offset, member_ptr, members):
    """Return w·Φ(x, y) of a complete labelling."""
    total = 0.0
    for t in range(labels.size):
        total += table[t, labels[t]]
        for k in range(member_ptr[start + t], member_ptr[start + t + 1]):
            m = members[k]
            if tuples[m, arity[m] - 1] == start + t:  # each run counts once, at its last cell
                total += weights[
                    tuple_index(m, labels, start, tuples, arity, offset, table.shape[1])
                ]
    return total


# fmt: off
@njit(**_JIT)
def needed_entries(X, start, weights, labels, first, stop, cell, label, table):
    """Fill the costs of single cells that some changes need: before and after them."""
    d = X.shape[1]
    for k in range(first, stop):
        c = cell[k]
        for a in (label[k], labels[c]):
            table[c, a] = _dot(weights[a * d : (a + 1) * d], X[start + c])


@njit(**_JIT)
def read_tuples(
    labels, n, start, weights, n_labels, tuples, arity, offset, member_ptr, members,
    number, unit, worth,
):
    """Fill what the tuples of a labelling cost, once for each cell that they hold.

    ``number`` is the feature that a tuple counts, ``unit`` by how much it grows with the label of
    this cell, ``worth`` its weight.
    """
    s = 0
    for c in range(start, start + n):
        for p in range(member_ptr[c], member_ptr[c + 1]):
            m = members[p]
            index, grows = 0, 1
            for j in range(arity[m]):
                index = index * n_labels + labels[tuples[m, j] - start]
                grows = 1 if tuples[m, j] == c else grows * n_labels
            number[s], unit[s], worth[s] = offset[m] + index, grows, weights[offset[m] + index]
            s += 1


@njit(**_JIT)
def fill_changes(
    labels, work, start, low, high, ptr, cell, label, table, weights,
    tuples, arity, offset, member_ptr, members, stamps, tick, number, unit, worth, out,
):
    """Fill the changes of cost that candidates low to high make; ``work`` equals ``labels``.

    Where one cell changes, the features of its tuples follow from those of the labelling.
    """
    origin, n_labels = member_ptr[start], table.shape[1]
    for i in range(low, high):
        first, stop, total = ptr[i], ptr[i + 1], 0.0
        for k in range(first, stop):
            total += table[cell[k], label[k]] - table[cell[k], labels[cell[k]]]
        if stop == first + 1:
            # one label changed: its runs' features shift by a multiple of the change
            c = start + cell[first]
            by = label[first] - labels[cell[first]]
            for p in range(member_ptr[c] - origin, member_ptr[c + 1] - origin):
                total += weights[number[p] + by * unit[p]]
                total -= worth[p]
        else:
            for k in range(first, stop):
                work[cell[k]] = label[k]
            for k in range(first, stop):
                c = start + cell[k]
                for p in range(member_ptr[c], member_ptr[c + 1]):
                    m = members[p]
                    if stamps[m] != tick + i:
                        stamps[m] = tick + i  # a run that two changed cells share counts once
                        total += weights[
                            tuple_index(m, work, start, tuples, arity, offset, n_labels)
                        ]
                        total -= worth[p - origin]
            for k in range(first, stop):
                work[cell[k]] = labels[cell[k]]
        out[i - low] = total


@njit(**_JIT)
def cost_changes(
    labels, start, ptr, cell, label, table, weights,
    tuples, arity, offset, member_ptr, members, stamps, tick, work, number, unit, worth, out,
):
    """Fill the change of cost of every successor (delta features times weights)."""
    runs = (tuples, arity, offset, member_ptr, members)
    base = (number, unit, worth)
    read_tuples(labels, labels.size, start, weights, table.shape[1], *runs, *base)
    fill_changes(
        labels, work, start, 0, ptr.size - 1, ptr, cell, label, table, weights,
        *runs, stamps, tick, *base, out,
    )
# fmt: on


@njit(**_JIT)
def difference(
    one,
    two,
    start,
    X,
    n_labels,
    cells,
    n_cells,
    tuples,
    arity,
    offset,
    member_ptr,
    members,
    stamps,
    tick,
    indices,
    values,
):
    """Fill Φ(x, two) - Φ(x, one) of two labellings that differ in some cells; return its size."""
    d, n = X.shape[1], 0
    for k in range(n_cells):
        c = cells[k]
        if one[c] == two[c] or stamps[tuples.shape[0] + start + c] == tick:
            continue  # cells that differ, each once
        stamps[tuples.shape[0] + start + c] = tick
        for j in range(d):
            value = X[start + c, j]
            if value != 0.0:
                indices[n], values[n] = two[c] * d + j, value
                indices[n + 1], values[n + 1] = one[c] * d + j, -value
                n += 2
        for p in range(member_ptr[start + c], member_ptr[start + c + 1]):
            m = members[p]
            if stamps[m] == tick:
                continue
            stamps[m] = tick
            indices[n] = tuple_index(m, two, start, tuples, arity, offset, n_labels)
            indices[n + 1] = tuple_index(m, one, start, tuples, arity, offset, n_labels)
            values[n], values[n + 1] = 1.0, -1.0
            n += 2
    return n


# --- learning -----------------------------------------------------------------------------------


@njit(**_JIT)
def most_violated(low, high, kept, loss, costs, rule):
    """Return the kept and the pruned candidate whose order is violated most, or -1 and -1."""
    best_i, best_j, most_missed = -1, -1, 0.0
    for i in range(low, high):
        if not kept[i]:
            continue
        for j in range(low, high):
            if kept[j] or loss[j] <= loss[i]:  # pairs of equal loss are no example
                continue
            # √Δ less the gap of costs, Section 4.4
            missed = violation(costs[j - low] - costs[i - low], loss[j] - loss[i], rule)
            if missed > most_missed:
                best_i, best_j, most_missed = i, j, missed
    return best_i, best_j


# fmt: off
@njit(**_JIT)
def rank_groups(
    order, X, n_labels, group_start, base_ptr, base, cand_ptr, kept, loss, ptr, cell, label,
    tuples, arity, offset, member_ptr, members, stamps, tick,
    weights, drift, clock, scratch, rule, most,
    labels, work, table, costs, cells, indices, values, number, unit, worth,
):
    """Go once over groups of candidates: every kept one is to cost less than every pruned one.

    The most violated pair of a group makes a step. The last ten arrays are room to work in.
    Returns the clock, the tick and the number of steps.
    """
    steps = 0
    for o in range(order.size):
        g = order[o]
        start, low, high = group_start[g], cand_ptr[g], cand_ptr[g + 1]
        size = base_ptr[g + 1] - base_ptr[g]
        for t in range(size):
            labels[t] = work[t] = base[base_ptr[g] + t]
        if 2 * (ptr[high] - ptr[low]) < size * n_labels:
            needed_entries(X, start, weights, labels, ptr[low], ptr[high], cell, label, table)
        else:
            unary_table(X, start, size, weights, table)
        read_tuples(
            labels, size, start, weights, n_labels, tuples, arity, offset, member_ptr, members,
            number, unit, worth,
        )
        fill_changes(
            labels, work, start, low, high, ptr, cell, label, table, weights, tuples, arity,
            offset, member_ptr, members, stamps, tick + 1 - low, number, unit, worth, costs,
        )
        tick += high - low
        # of a group only its worst pair, at the weights as they are now
        i, j = most_violated(low, high, kept, loss, costs, rule)
        if i >= 0:
            n = 0
            for k in range(ptr[i], ptr[i + 1]):
                labels[cell[k]] = label[k]
                cells[n] = cell[k]
                n += 1
            for k in range(ptr[j], ptr[j + 1]):
                work[cell[k]] = label[k]
                cells[n] = cell[k]
                n += 1
            tick += 1
            size = difference(
                labels, work, start, X, n_labels, cells, n,
                tuples, arity, offset, member_ptr, members, stamps, tick, indices, values,
            )
            gap = loss[j] - loss[i]
            step = ranked_step(
                weights, drift, clock, indices, values, size, scratch, gap, rule, most
            )
            if step > 0.0:
                steps += 1
        clock += 1.0
    return clock, tick, steps


def tuple_room(spots):
    """Return room for the tuples of a structure, counted at each of their cells."""
    return np.empty(spots, np.int64), np.empty(spots, np.int64), np.empty(spots)


def rank_room(longest, n_labels, crowd, room, spots):
    """Return room for so many cells, labels, candidates, entries of a difference and tuples."""
    whole = [np.empty(size, np.int64) for size in (longest, longest, 2 * longest, room)]
    table, costs, values = np.empty((longest, n_labels)), np.empty(crowd), np.empty(room)
    return (*whole[:2], table, costs, *whole[2:], values, *tuple_room(spots))


def _warmup() -> None:
    one, none = np.zeros(1, np.int64), np.zeros((0, 1, 1))
    labels, slots = np.zeros(2, np.int64), np.array([[-1], [0]])
    forced, unary, hist = np.zeros(2, np.bool_), np.zeros((2, 2)), np.zeros((1, 3, 2))
    classifier = (slots, unary, hist, none)
    start, allowed = one[0], np.ones((2, 2), np.bool_)
    runs = (
        np.array([[0, 1]]), np.array([2]), np.array([2]), np.array([0, 1, 2]), np.array([0, 0]),
    )
    memo = np.full((2, 3), -1, np.int32)
    roll_out(labels, forced, labels, start, *classifier, memo)
    top_labels(labels, start, *classifier, 1, allowed)
    found = np.zeros(5, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n = expand(labels, forced, start, slots, np.ones(2, np.int64), unary, hist, none, memo,
               allowed, True, labels.copy(), *found)
    found = found[0][: n + 1], *found[1:]
    X, weights, stamps = np.ones((2, 1)), np.zeros(6), np.full(3, -1)
    room = (labels.copy(), *tuple_room(2), np.empty(n))
    table = np.empty((2, 2))
    unary_table(X, start, 2, weights, table)
    full_cost(labels, start, table, weights, *runs)
    cost_changes(labels, start, *found, table, weights, *runs, stamps, 1, *room)
    difference(labels, labels, start, X, 2, one, 1, *runs, stamps, 9, np.zeros(9, np.int64),
               np.zeros(9))
    difference(labels, labels, 0, X, 2, one, 1, *runs, stamps, 9, np.zeros(9, np.int64),
               np.zeros(9))
    groups = (
        one, np.array([0, 2]), labels, np.array([0, n]), np.zeros(n, np.bool_), np.zeros(n), *found,
    )
    rank_groups(one, X, 2, *groups, *runs, stamps, 20, weights, weights.copy(), 1.0,
                weights.copy(), 0, np.inf, *rank_room(2, 2, n, 20, 2))
# fmt: on
