"""Exact value iteration for tiny models: incremental pruning.

The optimal value of a belief with n steps to go is the largest of finitely many linear functions.
They are built action by action as cross sums over observations, pruned after each sum by linear
programs that look for a belief at which a function is the best.

Reference: Cassandra, Littman and Zhang (1997), "Incremental pruning: a simple, fast, exact method
for partially observable Markov decision processes", UAI.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.linear_programs.lazy_rows import LazyRows
from octavo.rl.partial_observation.belief_graph import blind_values
from octavo.rl.partial_observation.controllers import FSCPolicy
from octavo.rl.partial_observation.merging import drop_unreached, merge_nodes

__all__ = ["ExactPOMDPSolver"]

_BEATS = 1e-8  # by how much a function must be the best somewhere; HiGHS is exact to 1e-9


class Plans(NamedTuple):
    """Linear functions of the belief, and the successors (−1 where not chosen yet) behind each."""

    vectors: np.ndarray
    choices: np.ndarray


class _Envelope:
    """The upper envelope of kept vectors: min u − v'b, u ≥ w'b, asks where another vector is above.

    Only the cost changes from vector to vector, so that each question starts from the last basis.
    """

    def __init__(self, n_states: int) -> None:
        lower, upper = np.append(np.zeros(n_states), -np.inf), np.append(np.ones(n_states), np.inf)
        self.program = LazyRows(np.append(np.zeros(n_states), 1.0), lower, upper)
        self.program.add_rows(np.append(np.ones(n_states), 0.0)[None], 1.0, 1.0)

    def keep(self, vectors: np.ndarray) -> None:
        self.program.add_rows(np.column_stack([-vectors, np.ones(len(vectors))]), 0.0)

    def witness(self, vector: np.ndarray) -> np.ndarray | None:
        """Return a belief at which a vector beats the envelope, or None."""
        self.program.change_cost(np.append(-vector, 1.0))
        found = self.program.solve()
        return found.x[:-1] if found.status == "optimal" and found.objective < -_BEATS else None


def pruned(plans: Plans) -> Plans:
    """Return the plans that are best at some belief (Lark's filter)."""
    V = plans.vectors
    _, first = np.unique(np.round(V, 12), axis=0, return_index=True)
    each = np.sort(first)
    corners = np.eye(V.shape[1])
    spread = np.random.RandomState(0).dirichlet(np.ones(V.shape[1]), 50)
    sure = np.unique(each[(V[each] @ np.concatenate([corners, spread]).T).argmax(axis=0)])
    kept, left = sure.tolist(), np.setdiff1d(each, sure).tolist()
    envelope = _Envelope(V.shape[1])
    envelope.keep(V[kept])
    while left:
        b = envelope.witness(V[left[0]])
        if b is None:
            left.pop(0)
            continue
        best = max(left, key=lambda i: V[i] @ b)
        left.remove(best)
        kept.append(best)
        envelope.keep(V[[best]])
    kept.sort()
    return Plans(V[kept], plans.choices[kept])


def _backed_up(pomdp: Any, V: np.ndarray, r: np.ndarray, most: int) -> tuple[np.ndarray, Plans]:
    """Return actions and plans with one step more to go."""
    actions, vectors, choices = [], [], []
    for a in range(pomdp.n_actions):
        sums = Plans(r[:, a][None], np.zeros((1, 0), dtype=np.int64))
        for z in range(pomdp.n_observations):
            # γ Σ_s' P(s'|s, a) O(s', a, z) V(s'), one function for each old one
            ahead = pomdp.gamma * (V * pomdp.O[a][:, z]) @ pomdp.P[a].T
            part = pruned(Plans(ahead, np.arange(len(V))[:, None]))
            if len(sums.vectors) * len(part.vectors) > most**2:
                raise ValueError(
                    f"More than {most} linear functions: the model is not tiny. Use PBPISolver."
                )
            # the cross sum
            crossed = (sums.vectors[:, None] + part.vectors[None]).reshape(-1, V.shape[1])
            to = np.repeat(sums.choices, len(part.vectors), axis=0)
            new = np.tile(part.choices, (len(sums.vectors), 1))
            sums = pruned(Plans(crossed, np.column_stack([to, new])))
        actions += [a] * len(sums.vectors)
        vectors.append(sums.vectors)
        choices.append(sums.choices)
    rows = np.column_stack([actions, np.concatenate(choices)])
    plans = pruned(Plans(np.concatenate(vectors), rows))
    if len(plans.vectors) > most:
        raise ValueError(
            f"More than {most} linear functions: the model is not tiny. Use PBPISolver."
        )
    return plans.choices[:, 0], Plans(plans.vectors, plans.choices[:, 1:])


class ExactPOMDPSolver(SoundEstimator):
    """Solve a tiny model for every belief, by incremental pruning.

    Parameters
    ----------
    tol : float, default=1e-6
        Error of the values, relative to the largest possible, at which it ends.
    max_iter : int, default=1000
        The most rounds.
    max_vectors : int, default=200
        The most linear functions; beyond, the model is refused.

    Attributes
    ----------
    vectors_ : ndarray of shape (n_vectors, n_states)
        The optimal value of belief b is the largest entry of ``vectors_ @ b``, up to the error.
    policy_ : FSCPolicy
        The controller that the last step reads off.
    value_ : float
        Its value at the start.
    n_iter_ : int
        Rounds.

    See Also
    --------
    PBPISolver : The beliefs that matter, for larger models.

    Notes
    -----
    An oracle for a handful of states, actions and observations; anything else is out of its reach.

    References
    ----------
    .. [1] Cassandra, Littman and Zhang (1997). Incremental pruning. UAI.

    Examples
    --------
    >>> from octavo.rl import ExactPOMDPSolver, make_maze1d
    >>> maze = make_maze1d(gamma=0.5)
    >>> solver = ExactPOMDPSolver(tol=1e-3)
    >>> solver.solve(maze).n_nodes
    3
    """

    _parameter_constraints: dict = {
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_vectors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, tol=1e-6, max_iter=1000, max_vectors=200):
        self.tol = tol
        self.max_iter = max_iter
        self.max_vectors = max_vectors

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
        V, error = blind_values(pomdp, r / size), np.inf
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_ = n_iter
            actions, plans = _backed_up(pomdp, V, r / size, self.max_vectors)
            change, V_old, V = self._change(plans.vectors, V), V, plans.vectors
            # what is left of a contraction's last step
            error = change * pomdp.gamma / (1.0 - pomdp.gamma)
            # successors name functions of the step before: each stands for the nearest of the last
            nearest = np.abs(V_old[:, None] - V[None]).max(axis=2).argmin(axis=1)
            nodes = FSCPolicy(actions, nearest[plans.choices], int((V @ pomdp.start).argmax()))
            if error <= self.tol:
                break
            # what that controller earns is earned for sure, and saves many steps (Hansen 1998)
            earned = np.concatenate([V, nodes.values(pomdp, r / size)])
            V = pruned(Plans(earned, np.zeros((len(earned), 0), dtype=np.int64))).vectors
        else:
            warnings.warn(
                f"Values are known to {error * size:.3g} after {self.max_iter} steps; raise "
                "max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.vectors_ = size * V
        self.policy_ = merge_nodes(pomdp, drop_unreached(nodes))
        self.value_ = self.policy_.value(pomdp, r)
        return self.policy_

    @staticmethod
    def _change(new: np.ndarray, old: np.ndarray) -> float:
        """Return a bound of the difference of two upper envelopes."""
        apart = np.abs(new[:, None] - old[None]).max(axis=2)
        return float(max(apart.min(axis=1).max(), apart.min(axis=0).max()))
