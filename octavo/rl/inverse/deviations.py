"""Nodes that deviate from a controller, and the margins of its own nodes over them.

The value of a new node (a, os) at a belief b is linear in the reward,

    e_{b,a} + γ Σ_z τ(b, a, z)' M_{os(z)},

with τ the belief update before division and M the value maps of the controller's nodes; the terms
of the sum are computed once and shared by all deviations.

Reference: Choi and Kim (2011), sections 5.1 to 5.3, Eq. 14 to 16.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from octavo.rl.partial_observation.controllers import FSCPolicy

MOST_ROWS = 1_000_000


class NewNodes(NamedTuple):
    """Actions of shape (m,) and successors of shape (m, n_observations) of deviating nodes.

    `free` are further actions, with every choice of successors, which are too many to write down.
    """

    actions: np.ndarray
    successors: np.ndarray
    free: np.ndarray


def count_new_nodes(pomdp: Any, policy: FSCPolicy, method: str) -> int:
    """Return how many deviations a method writes down, at most."""
    per_action = policy.n_nodes**pomdp.n_observations
    if method == "q":
        return policy.n_nodes * pomdp.n_actions * per_action
    if method == "dp":
        return pomdp.n_actions * per_action
    return policy.n_nodes**2 * pomdp.n_observations


def _all_successors(policy: FSCPolicy, n_observations: int) -> np.ndarray:
    return np.array(list(product(range(policy.n_nodes), repeat=n_observations)), dtype=np.int64)


def new_nodes(pomdp: Any, policy: FSCPolicy, method: str) -> NewNodes:
    """Return the deviations: all of them ("q", "dp"), or those of the witness theorem."""
    n, Z, A = policy.n_nodes, pomdp.n_observations, pomdp.n_actions
    if method in ("q", "dp"):
        each = _all_successors(policy, Z)  # |A||N|^|Z| pairs (a, os) of Eqs. (14) and (16)
        none = np.zeros(0, dtype=np.int64)
        return NewNodes(np.repeat(np.arange(A), len(each)), np.tile(each, (A, 1)), none)
    base = np.column_stack([policy.actions, policy.successors])
    redirected = np.repeat(base, Z * n, axis=0)
    z, to = np.tile(np.repeat(np.arange(Z), n), n), np.tile(np.arange(n), n * Z)
    redirected[np.arange(len(redirected)), 1 + z] = to  # Theorem 3: one observation redirected
    rows = np.unique(redirected, axis=0)
    # actions that no node takes: all their successors
    return NewNodes(rows[:, 0], rows[:, 1:], np.setdiff1d(np.arange(A), policy.actions))


class Deviations:
    """Margins of a controller over new nodes at the beliefs that it reaches."""

    def __init__(self, pomdp: Any, policy: FSCPolicy, new: NewNodes) -> None:
        reached = policy.reachable_beliefs(pomdp)
        self.nodes, self.beliefs, self.new = reached.nodes, reached.beliefs, new
        S, A = pomdp.n_states, pomdp.n_actions
        M = policy.value_maps(pomdp)  # n, s, S A
        self.own = np.einsum("ks,ksf->kf", self.beliefs, M[self.nodes])
        joint = np.einsum("ks,ast,atz->kazt", self.beliefs, pomdp.P, pomdp.O, optimize=True)
        terms = pomdp.gamma * np.einsum("kazt,ntf->kaznf", joint, M, optimize=True)
        terms[np.abs(terms) < 1e-14] = 0.0
        self.terms = terms  # belief, action, observation, successor, feature
        self.now = np.zeros((len(self.nodes), A, S, A))
        for a in range(A):
            self.now[:, a, :, a] = self.beliefs
        self.now = self.now.reshape(len(self.nodes), A, S * A)
        self.equal = self._equal_rows(policy)

    def _equal_rows(self, policy: FSCPolicy) -> np.ndarray:
        """Return for each belief which new nodes are the expert's own there: no margin."""
        kinds = np.empty(self.terms.shape[:4], dtype=np.int64)  # successors that do the same
        for at in np.ndindex(self.terms.shape[:3]):
            rounded = np.round(self.terms[at] / 1e-11)
            kinds[at] = np.unique(rounded, axis=0, return_inverse=True)[1].ravel()
        out = np.empty((len(self.nodes), len(self.new.actions)), dtype=bool)
        z = np.arange(kinds.shape[2])
        for k, n in enumerate(self.nodes):
            mine = kinds[k, policy.actions[n], z, policy.successors[n]]
            theirs = kinds[k][self.new.actions[:, None], z, self.new.successors]
            out[k] = (self.new.actions == policy.actions[n]) & (theirs == mine).all(axis=1)
        return out

    @property
    def n_rows(self) -> int:
        """How many margins there are, those of equal nodes left out."""
        return int((~self.equal).sum()) + self.n_free * len(self.nodes)

    @property
    def n_free(self) -> int:
        """How many new nodes the free actions stand for."""
        Z, n = self.terms.shape[2:4]
        return len(self.new.free) * n**Z

    def total(self) -> np.ndarray:
        """Return the sum of all rows, from how often each term occurs."""
        A, (Z, n) = self.now.shape[1], self.terms.shape[2:4]
        counts = np.zeros((A, Z, n))
        each = np.bincount(self.new.actions, minlength=A).astype(float)
        for z in range(Z):
            np.add.at(counts[:, z], (self.new.actions, self.new.successors[:, z]), 1.0)
        # how often each successor stands in all |N|^|Z| of them
        counts[self.new.free], each[self.new.free] = float(n) ** (Z - 1), float(n) ** Z
        return (
            each.sum() * self.own.sum(axis=0)
            - np.einsum("a,kaf->f", each, self.now)
            - np.einsum("azn,kaznf->f", counts, self.terms)
        )

    def row(self, k: np.ndarray, a: np.ndarray, to: np.ndarray) -> np.ndarray:
        """Return the rows of beliefs against new nodes (a, to)."""
        z = np.arange(self.terms.shape[2])
        ahead = self.terms[k[:, None], a[:, None], z, to].sum(axis=1)
        return self.own[k] - self.now[k, a] - ahead  # V^π(n, b) - V^new(b), Eqs. (14) and (16)

    def _gaps(self, R: np.ndarray):
        """Yield for each belief the margins over the new nodes, and those over free actions."""
        worth, left, now = self.terms @ R, self.own @ R, self.now @ R
        a, to, z = self.new.actions, self.new.successors, np.arange(self.terms.shape[2])
        for k in range(len(left)):
            value = now[k, a] + worth[k][a[:, None], z, to].sum(axis=1)  # Eq. (15) at a belief
            gap = np.where(self.equal[k], np.inf, left[k] - value)
            # The best of |N|^|Z| successors is found without writing them down.
            best = worth[k, self.new.free].argmax(axis=2)  # each observation by itself
            top = worth[k, self.new.free].max(axis=2).sum(axis=1)
            yield k, gap, left[k] - now[k, self.new.free] - top, best

    def ties(self, R: np.ndarray, tol: float) -> int:
        """Return how many deviations come within `tol` of the expert."""
        return sum(
            int((np.abs(gap) <= tol).sum() + (np.abs(free) <= tol).sum())
            for _, gap, free, _ in self._gaps(R)
        )

    def margins(self, R: np.ndarray, below: float, most: int) -> tuple[np.ndarray, float]:
        """Return rows with the smallest margins below a bound, and the smallest margin."""
        rows, smallest = [], np.inf
        each = max(4, most // len(self.nodes))
        for k, gap, free, best in self._gaps(R):
            smallest = min(smallest, gap.min(initial=np.inf), free.min(initial=np.inf))
            worst = np.argpartition(gap, min(each, len(gap) - 1))[:each]
            worst = worst[gap[worst] < below]
            rows += [(k, self.new.actions[j], *self.new.successors[j]) for j in worst]
            under = np.flatnonzero(free < below)
            rows += [(k, self.new.free[j], *best[j]) for j in under]
        if not rows:
            return np.zeros((0, len(R))), float(smallest)
        table = np.array(rows)
        found = self.row(table[:, 0], table[:, 1], table[:, 2:])
        return np.unique(np.round(found, 14), axis=0), float(smallest)
