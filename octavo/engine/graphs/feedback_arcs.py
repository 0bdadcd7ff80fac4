"""Orders of items that violate as little preference as possible: minimum feedback arc sets.

``weights[i, j]`` is how strongly i is preferred to j. An order violates ``weights[j, i]`` for every
i that stands before j; the order that violates least removes a minimum feedback arc set of the
graph, and is Kemeny's consensus when the weights count votes.

Between strongly connected components of the majority graph (an arc where ``weights[i, j]`` exceeds
``weights[j, i]``) no arc need be violated, so components are solved one by one: up to `SUBSETS`
items by dynamic programming over subsets, beyond that by an integer program whose triangle
inequalities are added when they are violated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices

SUBSETS = 13  # items up to which 2^n subsets cost less than an integer program
_CUTS = 5000  # violated triangles added at a time


class OrderedItems(NamedTuple):
    """An order of items, best first, and the weight of the preferences that it violates."""

    order: Indices
    weight: float


def violated_weight(weights: Floats, order: Indices) -> float:
    """Return the weight of the preferences that an order violates.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        How strongly each row is preferred to each column.
    order : ndarray of shape (n,)
        The items, best first.

    Returns
    -------
    weight : float
        Σ weights[j, i] over all i before j.
    """
    return float(np.tril(weights[np.ix_(order, order)], -1).sum())


def majority_components(weights: Floats) -> list[Indices]:
    """Return the strongly connected components of the majority graph, best first.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        How strongly each row is preferred to each column.

    Returns
    -------
    components : list of ndarray
        In an order in which no majority points from a later component to an earlier one.
    """
    ahead = weights > weights.T
    count, label = sp.csgraph.connected_components(
        sp.csr_array(ahead), directed=True, connection="strong"
    )
    members = [np.flatnonzero(label == c) for c in range(count)]
    # Kahn's algorithm on the condensed graph; among the free ones the first item's goes first.
    beaten = np.zeros((count, count), dtype=bool)
    winner, loser = np.nonzero(ahead)
    beaten[label[winner], label[loser]] = True
    np.fill_diagonal(beaten, False)
    waiting = beaten.sum(axis=0)
    free = {c for c in range(count) if waiting[c] == 0}
    components = []
    while free:
        now = min(free, key=lambda c: members[c][0])
        free.remove(now)
        components.append(members[now])
        for after in np.flatnonzero(beaten[now]):
            waiting[after] -= 1
            if waiting[after] == 0:
                free.add(int(after))
    return components


@njit(cache=True, nogil=True)
def _best_of_subsets(weights):
    """Return the best order of all items by dynamic programming over subsets."""
    n = weights.shape[0]
    size = 1 << n
    best = np.full(size, np.inf)
    last = np.zeros(size, dtype=np.int64)
    best[0] = 0.0
    for subset in range(1, size):
        for i in range(n):
            if subset >> i & 1:
                # i stands behind all others of the subset: what it should beat is violated.
                total = best[subset ^ (1 << i)]
                for j in range(n):
                    if j != i and subset >> j & 1:
                        total += weights[i, j]
                if total < best[subset]:
                    best[subset] = total
                    last[subset] = i
    order = np.empty(n, dtype=np.int64)
    subset = size - 1
    for place in range(n - 1, -1, -1):
        order[place] = last[subset]
        subset ^= 1 << last[subset]
    return order


def _violated_triangles(before: Floats) -> Indices:
    """Return the triples whose arcs i -> j -> k -> i weigh more than an order allows (two)."""
    excess = before[:, :, None] + before[None, :, :] + before.T[:, None, :]  # i->j, j->k, k->i
    i, j, k = np.nonzero(excess > 2.0 + 1e-6)
    first = (i < j) & (i < k)  # each cycle once
    triples = np.stack([i, j, k], axis=1)[first]
    if len(triples) > _CUTS:
        worst = np.argsort(-excess[tuple(triples.T)], kind="stable")[:_CUTS]
        triples = triples[worst]
    return triples


def _by_integer_program(weights: Floats) -> Indices:
    """Return the best order by an integer program with lazy triangle inequalities."""
    n = weights.shape[0]
    i, j = np.triu_indices(n, 1)
    place = np.zeros((n, n), dtype=np.int64)
    place[i, j] = place[j, i] = np.arange(i.size)
    cost = weights[j, i] - weights[i, j]  # of putting i before j, for i < j
    rows, upper = sp.csr_array((0, i.size)), np.zeros(0)
    integral = 0
    while True:
        found = milp(
            cost,
            integrality=np.full(i.size, integral),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(rows, -np.inf, upper) if rows.shape[0] else None,
        )
        before = np.zeros((n, n))
        before[i, j], before[j, i] = found.x, 1.0 - found.x
        triples = _violated_triangles(before)
        if len(triples) == 0:
            if integral or np.abs(found.x - np.rint(found.x)).max() < 1e-6:
                return np.argsort(-np.rint(before).sum(axis=1), kind="stable")
            integral = 1
            continue
        arcs = np.stack([triples[:, [0, 1]], triples[:, [1, 2]], triples[:, [2, 0]]], axis=1)
        a, b = arcs[..., 0].ravel(), arcs[..., 1].ravel()
        sign = np.where(a < b, 1.0, -1.0)  # an arc against the index is one minus its variable
        row = np.repeat(np.arange(len(triples)), 3)
        cuts = sp.csr_array((sign, (row, place[a, b])), shape=(len(triples), i.size))
        rows = sp.vstack([rows, cuts], format="csr")
        upper = np.concatenate([upper, 2.0 - (a > b).reshape(-1, 3).sum(axis=1)])


def feedback_arcs_exact(weights: Floats) -> OrderedItems:
    """Return an order that violates the least weight.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        How strongly each row is preferred to each column; not negative.

    Returns
    -------
    ordered : OrderedItems
        The order, best first, and the weight it violates.
    """
    parts = []
    for members in majority_components(weights):
        own = np.ascontiguousarray(weights[np.ix_(members, members)])
        if members.size <= 2:
            inner = np.arange(members.size)  # two in one component cannot be: one of them wins
        elif members.size <= SUBSETS:
            inner = _best_of_subsets(own)
        else:
            inner = _by_integer_program(own)
        parts.append(members[inner])
    order = np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)
    return OrderedItems(order, violated_weight(weights, order))


@njit(cache=True, nogil=True)
def _insert_until_settled(net, order, max_iter):
    """Move single items to their best place until none gains; return the number of sweeps."""
    n = order.shape[0]
    slack = 1e-12 * (1.0 + np.abs(net).max())
    for sweep in range(max_iter):
        moved = False
        for item in range(n):
            here = 0
            while order[here] != item:
                here += 1
            best, target, change = -slack, here, 0.0
            for place in range(here - 1, -1, -1):
                change += net[order[place], item]  # what is lost by passing in front of it
                if change < best:
                    best, target = change, place
            change = 0.0
            for place in range(here + 1, n):
                change += net[item, order[place]]
                if change < best:
                    best, target = change, place
            if target != here:
                moved = True
                step = 1 if target > here else -1
                for place in range(here, target, step):
                    order[place] = order[place + step]
                order[target] = item
        if not moved:
            return sweep + 1
    return max_iter


def feedback_arcs_local(
    weights: Floats, order: Indices | None = None, *, max_iter: int = 1000
) -> OrderedItems:
    """Return an order that no move of a single item improves.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        How strongly each row is preferred to each column.
    order : ndarray of shape (n,), optional
        Where to start; by default the items by what they win less what they lose.
    max_iter : int, default=1000
        Largest number of sweeps over the items.

    Returns
    -------
    ordered : OrderedItems
        The order, best first, and the weight it violates.
    """
    net = np.ascontiguousarray(weights - weights.T, dtype=np.float64)
    if order is None:
        order = np.argsort(-net.sum(axis=1), kind="stable")
    order = np.array(order, dtype=np.int64)
    if order.size:
        _insert_until_settled(net, order, max_iter)
    return OrderedItems(order, violated_weight(weights, order))


def _warmup() -> None:
    _best_of_subsets(np.zeros((2, 2)))
    _insert_until_settled(np.zeros((2, 2)), np.arange(2), 1)
