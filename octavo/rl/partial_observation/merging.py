"""Smaller controllers that act as the large one does from the start."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.rl.partial_observation.controllers import FSCPolicy

_MOST = 300  # nodes beyond which pairs are not tried


def drop_unreached(policy: FSCPolicy) -> FSCPolicy:
    """Return the controller with the nodes that the start reaches, the start first."""
    order, number = [policy.start], {policy.start: 0}
    for node in order:
        for to in policy.successors[node]:
            if int(to) not in number:
                number[int(to)] = len(order)
                order.append(int(to))
    successors = [[number[int(to)] for to in policy.successors[node]] for node in order]
    return FSCPolicy(policy.actions[order], successors, 0)


def _possible(pomdp: Any, policy: FSCPolicy) -> list[dict[int, int]]:
    """Return for each node the successors of what it may see, from states that it may be in."""
    T = policy.transition_matrix(pomdp)
    S = pomdp.n_states
    reached = np.zeros(policy.n_nodes * S, dtype=bool)
    reached[policy.start * S + np.flatnonzero(pomdp.start)] = True
    while True:
        wider = reached | ((T.T @ reached) > 0)  # pairs of node and state that can occur at all
        if (wider == reached).all():
            break
        reached = wider
    inside = reached.reshape(policy.n_nodes, S)
    seen = [((inside[n] @ pomdp.P[a] > 0) @ pomdp.O[a]) > 0 for n, a in enumerate(policy.actions)]
    return [
        {int(z): int(policy.successors[n, z]) for z in np.flatnonzero(seen[n])}
        for n in range(policy.n_nodes)
    ]


def _folded(parent, edges, actions, one, two):
    """Return parents and edges with two nodes made one and all that follows, or None."""
    parent, edges = dict(parent), dict(edges)

    def find(n):
        while parent[n] != n:
            n = parent[n]
        return n

    waiting = [(one, two)]
    while waiting:
        a, b = map(find, waiting.pop())
        if a == b:
            continue
        if actions[a] != actions[b]:  # nodes that act differently stay apart
            return None
        a, b = min(a, b), max(a, b)
        parent[b] = a
        joined = dict(edges[a])
        for z, to in edges[b].items():
            if z in joined:
                waiting.append((joined[z], to))
            else:
                joined[z] = to
        edges[a] = joined
    return parent, edges


def merge_nodes(pomdp: Any, policy: FSCPolicy) -> FSCPolicy:
    """Return a controller that acts alike from the start, with nodes merged while that holds.

    Two nodes are one if no observation that either may see tells them apart, then or later; what is
    never seen may go anywhere. Pairs are tried in order, so that the result is small and not
    always the smallest.
    """
    policy = drop_unreached(policy)
    if policy.n_nodes > _MOST:
        return policy
    parent = {n: n for n in range(policy.n_nodes)}
    edges = dict(enumerate(_possible(pomdp, policy)))
    kept: list[int] = []
    for n in range(policy.n_nodes):
        if parent[n] != n:
            continue
        for other in kept:
            if parent[other] != other:
                continue
            folded = _folded(parent, edges, policy.actions, other, n)
            if folded is not None:
                parent, edges = folded
                break
        else:
            kept.append(n)

    def find(n):
        while parent[n] != n:
            n = parent[n]
        return n

    successors = policy.successors.copy()
    for n in range(policy.n_nodes):
        seen = edges[n]
        successors[n] = next(iter(seen.values())) if seen else n
        for z, to in seen.items():
            successors[n, z] = to
    goes = np.array([find(n) for n in range(policy.n_nodes)])
    return drop_unreached(FSCPolicy(policy.actions, goes[successors], int(goes[policy.start])))
