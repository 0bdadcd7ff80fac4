"""Point-based policy iteration: good controllers for the beliefs that matter.

A first controller comes from the decision process of explored beliefs. It is then improved as in
policy iteration: evaluate it exactly, back up each belief it meets, replace the nodes that a new
one dominates, drop those that the start does not reach. Where it never comes back to a belief, the
explored beliefs are points to back up, from controllers that do the same for all time.

Reference: Ji, Parr, Li, Liao and Carin (2007), "Point-based policy iteration", AAAI; Choi and Kim
(2011), section 7, who plan by it.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.estimators.sound import SoundEstimator
from octavo.rl.partial_observation.belief_graph import BeliefGraph, Explored, blind_values
from octavo.rl.partial_observation.controllers import FSCPolicy
from octavo.rl.partial_observation.merging import drop_unreached, merge_nodes
from octavo.rl.partial_observation.point_backups import (
    MOST_NODES,
    backed_up,
    iterate_points,
    overtaken,
)

__all__ = ["PBPISolver"]

_MOST_STATES = 30  # beyond which rounds over many points would cost too much
_POINTS = 200


def controller_of(graph: BeliefGraph, found: Explored, blind_best: np.ndarray) -> FSCPolicy:
    """Return the controller that remembers which explored belief it is at."""
    pomdp, k = graph.pomdp, len(found.actions)
    expanded = np.array(graph.expanded)
    actions = np.where(expanded, found.actions, blind_best)
    successors = np.tile(np.arange(k)[:, None], (1, pomdp.n_observations))
    edges = graph.edges
    i, a, z, j = edges[:, :4].astype(np.int64).T
    taken = actions[i] == a
    likely = np.zeros(k)
    for row in np.flatnonzero(taken):  # what never happens goes where the likeliest goes
        if edges[row, 4] > likely[i[row]]:
            likely[i[row]] = edges[row, 4]
            successors[i[row]] = j[row]
    successors[i[taken], z[taken]] = j[taken]
    return drop_unreached(FSCPolicy(actions, successors, 0))


def improved(pomdp: Any, policy: FSCPolicy, r: np.ndarray, tol: float, max_iter: int):
    """Return the controller after rounds of improvement at the beliefs that it reaches."""
    n_iter = 0
    while n_iter < max_iter and policy.n_nodes <= MOST_NODES:
        n_iter += 1
        V = policy.values(pomdp, r)
        try:
            beliefs = policy.reachable_beliefs(pomdp, 2000).beliefs
        except ValueError:
            break  # it never comes back to a belief: nothing finite to improve on
        value, actions, successors = backed_up(pomdp, V, beliefs, r)
        gain = value - (beliefs @ V.T).max(axis=1)
        size = max(1.0, float(np.abs(V).max()))
        new = gain > tol * size
        if not new.any():
            break
        rows = np.unique(np.column_stack([actions[new], successors[new]]), axis=0)
        n = policy.n_nodes
        joined = np.concatenate([policy.successors, rows[:, 1:]])
        wider = FSCPolicy(np.concatenate([policy.actions, rows[:, 0]]), joined, policy.start)
        wide = wider.values(pomdp, r)
        goes = overtaken(wide, n, size)
        first = int((wide @ pomdp.start).argmax())
        policy = drop_unreached(FSCPolicy(wider.actions, goes[joined], int(goes[first])))
    return policy, n_iter


class PBPISolver(SoundEstimator):
    """Find a controller that is good for a reward, from the beliefs that a good policy reaches.

    Parameters
    ----------
    n_beliefs : int, default=1000
        The most beliefs whose consequences are looked at.
    tol : float, default=1e-6
        Gap at the start, and gain at a belief, below which it ends, relative to the values.
    max_iter : int, default=100
        The most rounds of improvement.
    merge : bool, default=True
        Whether to merge nodes that behave alike from the start.

    Attributes
    ----------
    policy_ : FSCPolicy
        The last controller.
    value_ : float
        Its value at the start.
    upper_ : float
        No policy is worth more than this at the start.
    n_iter_ : int
        Rounds of improvement.

    See Also
    --------
    ExactPOMDPSolver : All beliefs, for tiny models.

    Notes
    -----
    ``upper_`` says how good the answer is: equal to ``value_`` it is optimal. Where it is far off,
    raise `n_beliefs`. For hundreds of states and long horizons use a solver made for it, such as
    SARSOP.

    References
    ----------
    .. [1] Ji, Parr, Li, Liao and Carin (2007). Point-based policy iteration. AAAI.

    Examples
    --------
    >>> from octavo.rl import PBPISolver, make_maze1d
    >>> maze = make_maze1d()
    >>> policy = PBPISolver().solve(maze)
    >>> round(policy.value(maze), 4), policy.n_nodes
    (1.0207, 3)
    """

    _parameter_constraints: dict = {
        "n_beliefs": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "merge": ["boolean"],
    }

    def __init__(self, n_beliefs=1000, tol=1e-6, max_iter=100, merge=True):
        self.n_beliefs = n_beliefs
        self.tol = tol
        self.max_iter = max_iter
        self.merge = merge

    def solve(self, pomdp, R=None):
        """Return a controller for a reward.

        Parameters
        ----------
        pomdp : POMDP
            The model.
        R : array-like, default=None
            Another reward than the model's.

        Returns
        -------
        FSCPolicy
            The controller.
        """
        self._validate_params()
        if not hasattr(pomdp, "n_observations"):
            raise ValueError(f"Expected a POMDP, got {type(pomdp).__name__}.")
        r = pomdp.rewards(R)
        size = max(float(np.abs(r).max()) / (1.0 - pomdp.gamma), 1e-300)
        unit = r / size  # so that tolerances mean the same for any scale of rewards
        graph, found = self._explored(pomdp, unit)
        policy = controller_of(graph, found, self._best_blind(graph, unit))
        policy, self.n_iter_ = improved(pomdp, policy, unit, self.tol * 1e-3, self.max_iter)
        highest = found.values[0] + found.gap
        if highest - policy.value(pomdp, unit) > self.tol and pomdp.n_states <= _MOST_STATES:
            policy = self._by_points(graph, policy, unit)
        if self.merge:
            policy = merge_nodes(pomdp, policy)
        self.policy_ = policy
        self.value_ = policy.value(pomdp, r)
        self.upper_ = max(self.value_, float(size * highest))
        return policy

    def _explored(self, pomdp, unit):
        """Return the graph of beliefs for a reward; rewards share it while the budget holds.

        Beliefs that an earlier reward was after must not use up the budget of this one.
        """
        options = self.n_beliefs, self.tol * 1e-3
        graph = getattr(self, "_graph", None)
        if graph is not None and graph.pomdp is not pomdp:
            graph = None
        if graph is not None and sum(graph.expanded) < self.n_beliefs:
            found = graph.explore(unit, *options)
            if sum(graph.expanded) < self.n_beliefs:
                return graph, found
        graph = BeliefGraph(pomdp)
        found = graph.explore(unit, *options)
        self._graph = graph
        return graph, found

    def _by_points(self, graph, policy, unit):
        """Return what policy iteration at explored beliefs finds, where it is better or smaller."""
        pomdp, beliefs = graph.pomdp, graph.beliefs
        chosen = np.unique(np.linspace(0, len(beliefs) - 1, _POINTS).astype(np.int64))
        other = iterate_points(pomdp, beliefs[chosen], unit, self.tol * 1e-3, self.max_iter)
        gain = other.value(pomdp, unit) - policy.value(pomdp, unit)
        if gain > self.tol * 1e-3 or (gain >= 0.0 and other.n_nodes < policy.n_nodes):
            return other
        return policy

    def _best_blind(self, graph, unit):
        return (graph.beliefs @ blind_values(graph.pomdp, unit).T).argmax(axis=1)

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_graph"}
