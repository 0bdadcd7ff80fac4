"""Beliefs explored from the start, what follows each, and the decision process that they form.

The graph depends on the model alone, so that many rewards share it. For one reward it is grown
where an optimistic policy goes: beliefs that are not expanded yet have the value that they would
have if the state were seen (the upper bound), and those that this policy reaches are expanded. When
it reaches none the policy is optimal; a budget ends it earlier, with what blind policies earn as
the value of the rest (the lower bound).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.dynamic_programs.value_iteration import (
    DecisionValues,
    evaluate_choice,
    iterate_policies,
    stack_rows,
)
from octavo.rl.partial_observation.controllers import belief_key

_POSSIBLE = 1e-12  # probability below which an observation does not happen


def blind_values(pomdp: Any, r: np.ndarray) -> np.ndarray:
    """Return V of shape (n_actions, n_states) of doing the same for all time."""
    return np.array(
        # (I - γT^a)⁻¹ R^a
        [evaluate_choice(sp.csr_array(P), r[:, a], pomdp.gamma) for a, P in enumerate(pomdp.P)]
    )


def seen_values(pomdp: Any, r: np.ndarray) -> np.ndarray:
    """Return Q(s, a) of the same process with its state seen, which no belief can beat."""
    return iterate_policies(stack_rows(pomdp.P), r, pomdp.gamma).action_values


class Explored(NamedTuple):
    """A solved graph: values by the lower bound, actions, what is reached, and the gap at b₀."""

    values: np.ndarray
    actions: np.ndarray
    reached: np.ndarray
    gap: float


class BeliefGraph:
    """Beliefs that have been met; node 0 is the start."""

    def __init__(self, pomdp: Any) -> None:
        self.pomdp = pomdp
        self._beliefs: list[np.ndarray] = []
        self._number: dict[bytes, int] = {}
        self._at: list[tuple[int, int, int, int, float]] = []  # belief, action, sight, next, p
        self.expanded: list[bool] = []
        self._edges: np.ndarray | None = None
        self.number(pomdp.start)

    def number(self, b: np.ndarray) -> int:
        """Return the number of a belief, a new one if it has not been met."""
        key = belief_key(b)
        if key not in self._number:
            self._number[key] = len(self._beliefs)
            self._beliefs.append(b)
            self.expanded.append(False)
        return self._number[key]

    def expand(self, i: int) -> None:
        """Add all that may follow a belief."""
        if self.expanded[i]:
            return
        self.expanded[i] = True
        self._edges = None
        for a in range(self.pomdp.n_actions):
            joint = (self._beliefs[i] @ self.pomdp.P[a])[:, None] * self.pomdp.O[a]
            for z, p in enumerate(joint.sum(axis=0)):
                if p > _POSSIBLE:
                    self._at.append((i, a, z, self.number(joint[:, z] / p), float(p)))

    @property
    def beliefs(self) -> np.ndarray:
        return np.array(self._beliefs)

    @property
    def edges(self) -> np.ndarray:
        """Rows (belief, action, observation, next belief, probability)."""
        if self._edges is None:
            self._edges = np.array(self._at).reshape(-1, 5)
        return self._edges

    def stacked(self) -> sp.csr_array:
        """Return transitions, action by action; rows of beliefs that are not expanded are empty."""
        k, edges = len(self._beliefs), self.edges
        rows, columns = edges[:, 1] * k + edges[:, 0], edges[:, 3]
        shape = (self.pomdp.n_actions * k, k)
        at = (rows.astype(np.int64), columns.astype(np.int64))
        return sp.csr_array(sp.coo_array((edges[:, 4], at), shape=shape))

    def solve(self, r: np.ndarray, ends: np.ndarray, actions: Any = None) -> DecisionValues:
        """Solve the process in which a belief that is not expanded is worth its entry of `ends`."""
        reward = self.beliefs @ r
        rest = ~np.array(self.expanded)
        reward[rest] = ends[rest, None]
        if actions is not None:
            actions = np.append(actions, np.zeros(len(reward) - len(actions), dtype=np.int64))
        return iterate_policies(self.stacked(), reward, self.pomdp.gamma, actions=actions)

    def reach(self, actions: np.ndarray) -> np.ndarray:
        """Return the discounted probability of reaching each belief from the start."""
        k = len(actions)
        P = self.stacked()[actions * k + np.arange(k)]
        first = np.zeros(k)
        first[0] = 1.0
        return evaluate_choice(sp.csr_array(P.T), first, self.pomdp.gamma)

    def explore(self, r: np.ndarray, n_beliefs: int, tol: float) -> Explored:
        """Grow the graph for a reward until the gap at the start is below `tol`, or the budget."""
        Q = seen_values(self.pomdp, r)
        blind = blind_values(self.pomdp, r)
        self.expand(0)
        chosen = None
        lower_chosen = None
        while True:
            B = self.beliefs
            above = self.solve(r, (B @ Q).max(axis=1), chosen)
            chosen = above.actions
            reach = self.reach(chosen)
            low_ends = (B @ blind.T).max(axis=1)
            open_ = (reach > 1e-12) & ~np.array(self.expanded)
            # what opening a belief can change at the start
            spread = reach * ((B @ Q).max(axis=1) - low_ends) * open_
            if spread.sum() <= tol or sum(self.expanded) >= n_beliefs:
                break
            batch = max(8, sum(self.expanded) // 5)
            worst = np.argsort(-spread, kind="stable")[:batch]
            for i in worst[spread[worst] > 0]:
                self.expand(int(i))
        below = self.solve(r, low_ends, chosen if lower_chosen is None else lower_chosen)
        gap = float(above.values[0] - below.values[0])
        return Explored(below.values, below.actions, self.reach(below.actions) > 1e-14, gap)
