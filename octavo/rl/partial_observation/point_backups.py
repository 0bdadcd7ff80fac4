"""Policy iteration on a fixed set of beliefs: evaluate all nodes, back up all points, prune.

Reference: Ji, Parr, Li, Liao and Carin (2007), "Point-based policy iteration", AAAI.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.rl.partial_observation.controllers import FSCPolicy
from octavo.rl.partial_observation.merging import drop_unreached

MOST_NODES = 400  # beyond which rounds of improvement end


def backed_up(pomdp: Any, V: np.ndarray, beliefs: np.ndarray, r: np.ndarray):
    """Return for each belief the value, action and successors of the best new node."""
    k = len(beliefs)
    best = np.full(k, -np.inf)
    actions, successors = np.zeros(k, dtype=np.int64), None
    for a in range(pomdp.n_actions):
        # τ(b, a, z) before division
        joint = (beliefs @ pomdp.P[a])[:, :, None] * pomdp.O[a]  # k, t, z
        ahead = np.einsum("ktz,nt->kzn", joint, V, optimize=True)
        to = ahead.argmax(axis=2)  # the node that is best after each observation
        value = beliefs @ r[:, a] + pomdp.gamma * np.take_along_axis(ahead, to[:, :, None], 2).sum(
            axis=(1, 2)
        )
        if successors is None:
            successors = to.copy()
        better = value > best
        best[better], actions[better], successors[better] = value[better], a, to[better]
    return best, actions, successors


def overtaken(wide: np.ndarray, n: int, size: float) -> np.ndarray:
    """Return where each node goes: an old one (of n) gives way to a new one that dominates it."""
    goes = np.arange(len(wide))
    for old in range(n):  # Hansen (1998)
        over = (wide[n:] >= wide[old] - 1e-12 * size).all(axis=1)
        over &= (wide[n:] > wide[old] + 1e-12 * size).any(axis=1)
        if over.any():
            goes[old] = n + int(np.where(over, wide[n:].sum(axis=1), -np.inf).argmax())
    return goes


def _kept(successors: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return the nodes that roots lead to, in ascending order."""
    inside = np.zeros(len(successors), dtype=bool)
    front = np.unique(roots)
    while front.size:
        inside[front] = True
        ahead = np.unique(successors[front])
        front = ahead[~inside[ahead]]
    return np.flatnonzero(inside)


def iterate_points(
    pomdp: Any, points: np.ndarray, r: np.ndarray, tol: float, max_iter: int
) -> FSCPolicy:
    """Return the controller that rounds of improvement make of doing the same for all time.

    The first point is the start. Values never fall: nodes that are the best at a point stay, and
    those that they lead to.
    """
    A, Z = pomdp.n_actions, pomdp.n_observations
    policy = FSCPolicy(np.arange(A), np.tile(np.arange(A)[:, None], (1, Z)), 0)
    V = policy.values(pomdp, r)
    for _ in range(max_iter):
        value, actions, successors = backed_up(pomdp, V, points, r)
        size = max(1.0, float(np.abs(V).max()))
        new = value - (points @ V.T).max(axis=1) > tol * size
        if not new.any():
            break
        rows = np.unique(np.column_stack([actions[new], successors[new]]), axis=0)
        joined = np.concatenate([policy.successors, rows[:, 1:]])
        wider = FSCPolicy(np.concatenate([policy.actions, rows[:, 0]]), joined, policy.start)
        wide = wider.values(pomdp, r)
        goes = overtaken(wide, policy.n_nodes, size)
        leads = goes[joined]
        keep = _kept(leads, goes[(points @ wide.T).argmax(axis=1)])
        if len(keep) > MOST_NODES:
            break
        number = np.full(len(joined), -1)
        number[keep] = np.arange(len(keep))
        policy = FSCPolicy(wider.actions[keep], number[leads[keep]], 0)
        V = policy.values(pomdp, r)
    start = int((V @ points[0]).argmax())
    return drop_unreached(FSCPolicy(policy.actions, policy.successors, start))
