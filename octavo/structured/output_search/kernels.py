"""Compiled search in output space: roll-outs, successors, costs by increments, rank passes.

A state is a labelling of one structure and, in the limited-discrepancy space, which of its cells
are forced. A successor is stored as the cells that it changes. The recurrent classifier is given
by scores of labels by cell (``unary``) and by label at each slot of the history (``hist``; row 0
where the slot lies outside), or by a table over all histories (``table``, used where not empty).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.streams.rank_steps import ranked_step, violation

_JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_JIT)
def action_score(cell, label, start, labels, slots, unary, hist, table):
    """Return the score of a label at a cell, given the labels before it."""
    n_slots = slots.shape[1]
    if table.shape[0] > 0:
        code, base = 0, 1
        for s in range(n_slots):
            before = slots[cell, s]
            code += base * (labels[before - start] + 1 if before >= 0 else 0)
            base *= unary.shape[1] + 1
        return table[cell, code, label]
    score = unary[cell, label]
    for s in range(n_slots):
        before = slots[cell, s]
        score += hist[s, labels[before - start] + 1 if before >= 0 else 0, label]
    return score


@njit(**_JIT)
def best_action(cell, start, labels, slots, unary, hist, table):
    """Return the label that the recurrent classifier gives to a cell."""
    best, top = 0, -np.inf
    for label in range(unary.shape[1]):
        score = action_score(cell, label, start, labels, slots, unary, hist, table)
        if score > top:
            best, top = label, score
    return best


@njit(**_JIT)
def roll_out(labels, forced, start, slots, unary, hist, table):
    """Label all cells that are not forced, in order; ``labels`` is filled in place."""
    for t in range(labels.size):
        if not forced[t]:
            labels[t] = best_action(start + t, start, labels, slots, unary, hist, table)


@njit(**_JIT)
def imitation_errors(truth, start, slots, unary, hist, table):
    """Return at how many cells the classifier errs where all labels before are right."""
    errors = 0
    for t in range(truth.size):
        if best_action(start + t, start, truth, slots, unary, hist, table) != truth[t]:
            errors += 1
    return errors


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
        for _ in range(min(k, n_labels - 1)):
            best = -1
            for a in range(n_labels):
                free = a != labels[t] and not allowed[t, a]
                if free and (best < 0 or scores[a] > scores[best]):
                    best = a
            allowed[t, best] = True


@njit(**_JIT)
def _room_for(array, n):
    if n < array.size:
        return array
    longer = np.empty(2 * array.size + 16, np.int64)
    longer[: array.size] = array
    return longer


@njit(**_JIT)
def expand(labels, forced, start, slots, reach, unary, hist, table, allowed, rolls):
    """Return all successors as changes: candidate k changes cell[ptr[k]:ptr[k + 1]] to label.

    With ``rolls`` what follows a discrepancy is rolled out again, until histories agree with the
    parent's (limited discrepancies); without, one label changes (flip-bit).
    """
    n, n_labels = labels.size, unary.shape[1]
    ptr = np.zeros(n * n_labels + 1, np.int64)
    cell, label = np.empty(4 * n * n_labels, np.int64), np.empty(4 * n * n_labels, np.int64)
    work = labels.copy()
    count, used = 0, 0
    for i in range(n):
        for a in range(n_labels):
            if a == labels[i] or not allowed[i, a]:
                continue
            first = used
            cell, label = _room_for(cell, used), _room_for(label, used)
            cell[used], label[used] = i, a
            used += 1
            work[i] = a
            t, last = i + 1, i + reach[start + i] if rolls else i
            while t <= last and t < n:
                if not forced[t]:
                    met = False
                    for s in range(slots.shape[1]):
                        before = slots[start + t, s] - start
                        if slots[start + t, s] >= 0 and work[before] != labels[before]:
                            met = True
                    if met:
                        b = best_action(start + t, start, work, slots, unary, hist, table)
                        if b != labels[t]:
                            work[t] = b
                            cell, label = _room_for(cell, used), _room_for(label, used)
                            cell[used], label[used] = t, b
                            used += 1
                            last = max(last, t + reach[start + t])
                t += 1
            for k in range(first, used):
                work[cell[k]] = labels[cell[k]]
            count += 1
            ptr[count] = used
    return ptr[: count + 1], cell[:used], label[:used]


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
def unary_column(X, start, n, weights, a, out):
    """Fill one label's column of the costs of single cells."""
    d = X.shape[1]
    block = weights[a * d : (a + 1) * d]
    for t in range(n):
        out[t, a] = _dot(block, X[start + t])


@njit(**_JIT)
def unary_table(X, start, n, weights, n_labels):
    """Return the costs of single cells by label."""
    out = np.empty((n, n_labels))
    for a in range(n_labels):
        unary_column(X, start, n, weights, a, out)
    return out


@njit(**_JIT)
def full_cost(labels, start, table, weights, tuples, arity, offset, member_ptr, members):
    """Return w·Φ(x, y) of a complete labelling."""
    total = 0.0
    for t in range(labels.size):
        total += table[t, labels[t]]
        for k in range(member_ptr[start + t], member_ptr[start + t + 1]):
            m = members[k]
            if tuples[m, arity[m] - 1] == start + t:
                total += weights[
                    tuple_index(m, labels, start, tuples, arity, offset, table.shape[1])
                ]
    return total


@njit(**_JIT)
def one_change(
    labels,
    work,
    start,
    cell,
    label,
    first,
    stop,
    table,
    weights,
    tuples,
    arity,
    offset,
    member_ptr,
    members,
    stamps,
    tick,
):
    """Return the change of cost that some changed cells make; ``work`` equals ``labels``."""
    n_labels, total = table.shape[1], 0.0
    for k in range(first, stop):
        c = cell[k]
        work[c] = label[k]
        total += table[c, label[k]] - table[c, labels[c]]
    for k in range(first, stop):
        c = cell[k] + start
        for p in range(member_ptr[c], member_ptr[c + 1]):
            m = members[p]
            if stamps[m] != tick:
                stamps[m] = tick
                total += weights[tuple_index(m, work, start, tuples, arity, offset, n_labels)]
                total -= weights[tuple_index(m, labels, start, tuples, arity, offset, n_labels)]
    for k in range(first, stop):
        work[cell[k]] = labels[cell[k]]
    return total


@njit(**_JIT)
def cost_changes(
    labels,
    start,
    ptr,
    cell,
    label,
    table,
    weights,
    tuples,
    arity,
    offset,
    member_ptr,
    members,
    stamps,
    tick,
):
    """Return the change of cost of every successor (delta features times weights)."""
    work, out = labels.copy(), np.empty(ptr.size - 1)
    for i in range(ptr.size - 1):
        out[i] = one_change(
            labels,
            work,
            start,
            cell,
            label,
            ptr[i],
            ptr[i + 1],
            table,
            weights,
            tuples,
            arity,
            offset,
            member_ptr,
            members,
            stamps,
            tick + i,
        )
    return out


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
            continue
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
            if kept[j] or loss[j] <= loss[i]:
                continue
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
):
    """Go once over groups of candidates: every kept one is to cost less than every pruned one.

    The most violated pair of a group makes a step. Returns the clock, the tick and the number of
    steps.
    """
    longest, width, steps = 0, 0, 0
    for g in range(base_ptr.size - 1):
        longest = max(longest, base_ptr[g + 1] - base_ptr[g])
    for c in range(member_ptr.size - 1):
        width = max(width, member_ptr[c + 1] - member_ptr[c])
    room = 2 * longest * (X.shape[1] + width) + 2
    indices, values = np.empty(room, np.int64), np.empty(room)
    cells = np.empty(2 * longest, np.int64)
    for g in order:
        start, low, high = group_start[g], cand_ptr[g], cand_ptr[g + 1]
        labels = base[base_ptr[g] : base_ptr[g + 1]]
        work = labels.copy()
        table = unary_table(X, start, labels.size, weights, n_labels)
        costs = np.empty(high - low)
        for i in range(low, high):
            tick += 1
            costs[i - low] = one_change(
                labels, work, start, cell, label, ptr[i], ptr[i + 1], table, weights,
                tuples, arity, offset, member_ptr, members, stamps, tick,
            )
        i, j = most_violated(low, high, kept, loss, costs, rule)
        if i >= 0:
            one, n = labels.copy(), 0
            for k in range(ptr[i], ptr[i + 1]):
                one[cell[k]] = label[k]
                cells[n] = cell[k]
                n += 1
            for k in range(ptr[j], ptr[j + 1]):
                work[cell[k]] = label[k]
                cells[n] = cell[k]
                n += 1
            tick += 1
            size = difference(
                one, work, start, X, n_labels, cells, n,
                tuples, arity, offset, member_ptr, members, stamps, tick, indices, values,
            )
            gap = loss[j] - loss[i]
            step = ranked_step(
                weights, drift, clock, indices, values, size, scratch, gap, rule, most
            )
            steps += 1 if step > 0.0 else 0
        clock += 1.0
    return clock, tick, steps


def _warmup() -> None:
    one, none = np.zeros(1, np.int64), np.zeros((0, 1, 1))
    labels, slots = np.zeros(2, np.int64), np.array([[-1], [0]])
    forced, unary, hist = np.zeros(2, np.bool_), np.zeros((2, 2)), np.zeros((1, 3, 2))
    classifier = (slots, unary, hist, none)
    start, allowed = one[0], np.ones((2, 2), np.bool_)
    runs = (
        np.array([[0, 1]]), np.array([2]), np.array([2]), np.array([0, 1, 2]), np.array([0, 0]),
    )
    roll_out(labels, forced, start, *classifier)
    imitation_errors(labels, start, *classifier)
    top_labels(labels, start, *classifier, 1, allowed)
    found = expand(labels, forced, start, slots, np.ones(2, np.int64), unary, hist, none,
                   allowed, True)
    X, weights, stamps = np.ones((2, 1)), np.zeros(6), np.full(3, -1)
    table = unary_table(X, start, 2, weights, 2)
    full_cost(labels, start, table, weights, *runs)
    cost_changes(labels, start, *found, table, weights, *runs, stamps, 1)
    difference(labels, labels, start, X, 2, one, 1, *runs, stamps, 9, np.zeros(9, np.int64),
               np.zeros(9))
    difference(labels, labels, 0, X, 2, one, 1, *runs, stamps, 9, np.zeros(9, np.int64),
               np.zeros(9))
    groups = (
        one, np.array([0, 2]), labels, np.array([0, found[0].size - 1]),
        np.zeros(found[0].size - 1, np.bool_), np.zeros(found[0].size - 1), *found,
    )
    rank_groups(one, X, 2, *groups, *runs, stamps, 20, weights, weights.copy(), 1.0,
                weights.copy(), 0, np.inf)
# fmt: on
