"""Policies with a finite memory: a node says what to do, an observation where to go next.

Values of a controller are linear in the reward, V = M R with (I − γ T^π) M = E, and so are its
feature expectations; everything that inverse methods need follows from one factorisation.

Reference: Choi and Kim (2011), Eq. 5-7 and section 6.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

__all__ = ["FSCPolicy", "NodeBeliefs"]

MERGE = 1e-9  # beliefs that are closer than this in every state are one


class NodeBeliefs(NamedTuple):
    """Beliefs that a controller reaches: `nodes` (k,) and `beliefs` (k, n_states)."""

    nodes: np.ndarray
    beliefs: np.ndarray


def belief_key(b: np.ndarray) -> bytes:
    """Return what equal beliefs have in common, up to rounding."""
    return (np.round(b / MERGE).astype(np.int64)).tobytes()


class FSCPolicy:
    """A finite-state controller.

    Parameters
    ----------
    actions : array-like of int of shape (n_nodes,)
        ψ(n), the action of each node.
    successors : array-like of int of shape (n_nodes, n_observations)
        ``successors[n][z]`` is η(n, z), the node that follows n when z is seen.
    start : int, default=0
        The first node.

    Attributes
    ----------
    n_nodes : int
        Size.

    See Also
    --------
    PBPISolver : Finds one that is good for a reward.
    FSCIRL : Finds a reward for which one is good.

    Notes
    -----
    A controller that mixes actions at random is out of scope: an optimal one need not.

    References
    ----------
    .. [1] Choi and Kim (2011). Inverse reinforcement learning in partially observable
       environments. JMLR 12:691-730.

    Examples
    --------
    The paper's controller of the maze: right, perhaps right again, then left.

    >>> from octavo.rl import FSCPolicy, make_maze1d
    >>> expert = FSCPolicy([0, 1, 1], [[2, 0], [0, 0], [1, 0]], start=2)
    >>> round(expert.value(make_maze1d()), 4)
    1.0207
    """

    def __init__(self, actions: Any, successors: Any, start: int = 0) -> None:
        actions, successors = (
            _as_whole(actions, "actions", 1),
            _as_whole(successors, "successors", 2),
        )
        if len(successors) != len(actions):
            raise ValueError(
                f"Parameter successors must have a row for each of {len(actions)} nodes, got "
                f"{len(successors)}."
            )
        n = len(actions)
        if actions.min() < 0:
            raise ValueError(f"Actions must be numbered from 0, got {actions.min()}.")
        wrong = (successors < 0) | (successors >= n)
        if wrong.any():
            node, z = np.argwhere(wrong)[0]
            raise ValueError(
                f"Node {node} goes to node {successors[node, z]} on observation {z}, which is "
                f"missing: there are nodes 0 to {n - 1}."
            )
        whole = isinstance(start, (int, np.integer)) and not isinstance(start, bool)
        if not whole or not 0 <= start < n:
            raise ValueError(f"The start must be a node from 0 to {n - 1}, got {start!r}.")
        self.actions, self.successors, self.start = actions, successors, int(start)
        self.n_nodes = n

    def __repr__(self) -> str:
        return f"FSCPolicy(n_nodes={self.n_nodes}, start={self.start})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FSCPolicy)
            and self.start == other.start
            and np.array_equal(self.actions, other.actions)
            and np.array_equal(self.successors, other.successors)
        )

    __hash__ = None  # type: ignore[assignment]

    def check_fits(self, pomdp: Any) -> None:
        """Refuse a model with other actions or observations.

        Parameters
        ----------
        pomdp : POMDP
            The model.
        """
        if not hasattr(pomdp, "n_observations"):
            raise ValueError(f"Expected a POMDP, got {type(pomdp).__name__}.")
        if self.actions.max() >= pomdp.n_actions:
            raise ValueError(
                f"The controller takes action {self.actions.max()}; the model has actions 0 to "
                f"{pomdp.n_actions - 1}."
            )
        if self.successors.shape[1] != pomdp.n_observations:
            raise ValueError(
                f"The controller reads {self.successors.shape[1]} observations, the model has "
                f"{pomdp.n_observations}."
            )

    # -- exact quantities ----------------------------------------------------------------------

    def transition_matrix(self, pomdp: Any) -> sp.csr_array:
        """Return T^π over pairs of node and state (Eq. 6).

        Parameters
        ----------
        pomdp : POMDP
            The model.

        Returns
        -------
        sparse array of shape (n_nodes * n_states, n_nodes * n_states)
            Pair (n, s) has number n * n_states + s.
        """
        self.check_fits(pomdp)
        S, rows, columns, values = pomdp.n_states, [], [], []
        for a in np.unique(self.actions):
            s, t = np.nonzero(pomdp.P[a])
            p = pomdp.P[a][s, t]
            nodes = np.flatnonzero(self.actions == a)
            for z in range(pomdp.n_observations):
                q = p * pomdp.O[a][t, z]  # T(s, a, s') O(s', a, z)
                kept = q > 0
                rows.append((nodes[:, None] * S + s[kept]).ravel())
                # to (η(n, z), s')
                columns.append((self.successors[nodes, z][:, None] * S + t[kept]).ravel())
                values.append(np.tile(q[kept], len(nodes)))
        size = self.n_nodes * S
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sp.csr_array(sp.coo_array(entries, shape=(size, size)))

    def _factor(self, pomdp: Any) -> Any:
        T = self.transition_matrix(pomdp)
        return splu((sp.eye_array(T.shape[0], format="csr") - pomdp.gamma * T).tocsc())

    def values(self, pomdp: Any, R: Any = None) -> np.ndarray:
        """Return V^π(n, s) (Eq. 5).

        Parameters
        ----------
        pomdp : POMDP
            The model.
        R : array-like, default=None
            Another reward than the model's.

        Returns
        -------
        ndarray of shape (n_nodes, n_states)
            The values.
        """
        self.check_fits(pomdp)
        r = pomdp.rewards(R)[:, self.actions].T.ravel()
        # Eq. (5): (I - γT^π) V = R
        return self._factor(pomdp).solve(r).reshape(self.n_nodes, pomdp.n_states)

    def value(self, pomdp: Any, R: Any = None) -> float:
        """Return V^π(b₀), the value at the first node and the first belief.

        Parameters
        ----------
        pomdp : POMDP
            The model.
        R : array-like, default=None
            Another reward than the model's.

        Returns
        -------
        float
            The value.
        """
        return float(self.values(pomdp, R)[self.start] @ pomdp.start)

    def action_values(self, pomdp: Any, R: Any = None) -> np.ndarray:
        """Return the value of an action followed by the best successors that the nodes offer.

        Parameters
        ----------
        pomdp : POMDP
            The model.
        R : array-like, default=None
            Another reward than the model's.

        Returns
        -------
        ndarray of shape (n_nodes, n_states, n_actions)
            Q^π(n, s, a): action a is taken once at node n, and the successors are those of n.
        """
        V = self.values(pomdp, R)
        r = pomdp.rewards(R)
        Q = np.empty((self.n_nodes, pomdp.n_states, pomdp.n_actions))
        for a in range(pomdp.n_actions):
            # Σ O(s', a, z) V(η(n, z), s')
            ahead = np.einsum("tz,nzt->nt", pomdp.O[a], V[self.successors])
            # Q^π(n, s, a, os) of Section 2.2, os = η(n, ·)
            Q[:, :, a] = r[:, a] + pomdp.gamma * ahead @ pomdp.P[a].T
        return Q

    def value_maps(self, pomdp: Any, phi: Any = None) -> np.ndarray:
        """Return the values of each feature, from each node and state; values are linear in them.

        Parameters
        ----------
        pomdp : POMDP
            The model.
        phi : array-like of shape (n_features, n_states, n_actions), default=None
            The features; None for one for each pair of state and action.

        Returns
        -------
        ndarray of shape (n_nodes, n_states, n_features)
            M with V = M α for a reward Σ α_i φ_i.
        """
        self.check_fits(pomdp)
        S, A = pomdp.n_states, pomdp.n_actions
        phi = np.eye(S * A).reshape(S * A, S, A) if phi is None else check_features(phi, pomdp)
        # R(s, ψ(n)) of each feature
        right = phi[:, :, self.actions].transpose(2, 1, 0).reshape(self.n_nodes * S, len(phi))
        return self._factor(pomdp).solve(np.ascontiguousarray(right)).reshape(self.n_nodes, S, -1)

    def occupancy(self, pomdp: Any) -> np.ndarray:
        """Return the discounted number of visits to each state at each node, from b₀.

        Parameters
        ----------
        pomdp : POMDP
            The model.

        Returns
        -------
        ndarray of shape (n_nodes, n_states)
            Sums to 1 / (1 − γ).
        """
        first = np.zeros((self.n_nodes, pomdp.n_states))
        first[self.start] = pomdp.start
        # (I - γT^π)' occ = b_0 at n_0
        return self._factor(pomdp).solve(first.ravel(), trans="T").reshape(first.shape)

    def feature_expectation(self, pomdp: Any, phi: Any = None) -> np.ndarray:
        """Return μ(π) = Σ occ(n, s) φ(s, ψ(n)).

        Parameters
        ----------
        pomdp : POMDP
            The model.
        phi : array-like of shape (n_features, n_states, n_actions), default=None
            The features; None for one for each pair of state and action.

        Returns
        -------
        ndarray of shape (n_features,)
            The expectation; its product with coefficients is the value of that reward.
        """
        visits = np.zeros((pomdp.n_states, pomdp.n_actions))
        np.add.at(visits.T, self.actions, self.occupancy(pomdp))
        return (
            visits.ravel()
            if phi is None
            else check_features(phi, pomdp).reshape(len(phi), -1) @ visits.ravel()
        )

    def reachable_beliefs(self, pomdp: Any, max_beliefs: int = 100_000) -> NodeBeliefs:
        """Return B_n, the beliefs that each node meets from b₀.

        Parameters
        ----------
        pomdp : POMDP
            The model.
        max_beliefs : int, default=100_000
            The most pairs of node and belief.

        Returns
        -------
        NodeBeliefs
            The pairs, the start first. Beliefs within 1e-9 are one.
        """
        self.check_fits(pomdp)
        nodes, beliefs = [self.start], [pomdp.start]
        known = {(self.start, belief_key(pomdp.start))}
        at = 0
        while at < len(nodes):
            n, b = nodes[at], beliefs[at]
            at += 1
            joint = (b @ pomdp.P[self.actions[n]])[:, None] * pomdp.O[self.actions[n]]
            for z in np.flatnonzero(joint.sum(axis=0) > 1e-12):
                b_next, n_next = joint[:, z] / joint[:, z].sum(), int(self.successors[n, z])
                key = (n_next, belief_key(b_next))
                if key not in known:
                    known.add(key)
                    nodes.append(n_next)
                    beliefs.append(b_next)
            if len(nodes) > max_beliefs:
                raise ValueError(
                    f"The controller reaches more than {max_beliefs} pairs of node and belief; "
                    "raise max_beliefs, or give a controller with fewer nodes."
                )
        return NodeBeliefs(np.array(nodes), np.array(beliefs))


def check_features(phi: Any, pomdp: Any) -> np.ndarray:
    """Return features as an array of shape (n_features, n_states, n_actions)."""
    try:
        phi = np.asarray(phi, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("Features must be numbers of shape (features, states, actions).") from None
    shape = (pomdp.n_states, pomdp.n_actions)
    if phi.ndim != 3 or phi.shape[1:] != shape or len(phi) == 0:
        raise ValueError(
            f"Features must have shape (features, {shape[0]}, {shape[1]}), got {phi.shape}."
        )
    if not np.isfinite(phi).all():
        raise ValueError("Features must be finite, got NaN or infinity.")
    return phi


def _as_whole(values: Any, name: str, ndim: int) -> np.ndarray:
    try:
        array = np.array(values)
    except ValueError:
        array = np.array(None)
    if array.ndim != ndim or array.size == 0 or array.dtype.kind not in "iu":
        raise ValueError(
            f"Parameter {name} must be a table of whole numbers with {ndim} "
            f"{'axis' if ndim == 1 else 'axes'}, got {type(values).__name__} of shape "
            f"{array.shape}."
        )
    return array.astype(np.int64)
