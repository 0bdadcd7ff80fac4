"""Partially observable decision processes with finitely many states, and beliefs in them.

Reference: Choi and Kim (2011), "Inverse reinforcement learning in partially observable
environments", JMLR 12:691-730, section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from octavo.rl.processes.finite import as_probabilities, as_rewards

__all__ = ["POMDP"]


def _as_tables(values: Any, name: str) -> np.ndarray:
    """Return one table for each action as an array; sparse tables are added up and spread out."""
    if isinstance(values, (list, tuple)) and any(sp.issparse(v) for v in values):
        values = [v.toarray() if sp.issparse(v) else v for v in values]
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold one table of numbers for each action.") from None
    if array.ndim != 3 or 0 in array.shape:
        raise ValueError(f"{name} must have three axes, action first; got shape {array.shape}.")
    return array


def _as_names(names: Sequence[str] | None, count: int, what: str) -> tuple[str, ...]:
    if names is None:
        return tuple(str(i) for i in range(count))
    if isinstance(names, str) or len(names) != count:
        raise ValueError(f"Expected {count} names of {what}, got {names!r}.")
    return tuple(str(name) for name in names)


def _same_rewards(one: np.ndarray | None, two: np.ndarray | None) -> bool:
    if one is None or two is None:
        return one is two
    return np.array_equal(one, two)


class POMDP:
    """A decision process whose state is hidden behind observations.

    Parameters
    ----------
    P : array-like of shape (n_actions, n_states, n_states), or list of sparse matrices
        ``P[a, s, t]`` is the probability of going from s to t by action a.
    O : array-like of shape (n_actions, n_states, n_observations), or list of sparse matrices
        ``O[a, t, z]`` is the probability of seeing z when action a has led to t.
    R : array-like, default=None
        Reward of a state, of shape (n_states,), of an action in it, (n_states, n_actions), or of a
        transition, (n_actions, n_states, n_states). None where it is to be found.
    gamma : float, default=0.95
        Discount factor, at least 0 and below 1.
    start : array-like of shape (n_states,), default=None
        The belief b₀ at the start; None stands for the uniform distribution.
    state_names, action_names, observation_names : sequence of str, default=None
        What to call them in pictures; numbers when None.

    Attributes
    ----------
    n_states, n_actions, n_observations : int
        Size.

    See Also
    --------
    FiniteMDP : The state is seen.
    PBPISolver : Finds a policy.

    Notes
    -----
    Everything is dense: some hundred states are the practical limit. Factored and large models are
    out of reach.

    References
    ----------
    .. [1] Choi and Kim (2011). Inverse reinforcement learning in partially observable
       environments. JMLR 12:691-730.

    Examples
    --------
    >>> from octavo.rl import make_tiger
    >>> tiger = make_tiger()
    >>> tiger.belief_update([0.5, 0.5], 0, 0).round(2).tolist()  # heard on the left
    [0.85, 0.15]
    """

    def __init__(
        self,
        P: Any,
        O: Any,
        R: Any = None,
        gamma: float = 0.95,
        *,
        start: Any = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        observation_names: Sequence[str] | None = None,
    ) -> None:
        P, seen = _as_tables(P, "P"), _as_tables(O, "O")
        if P.shape[1] != P.shape[2]:
            raise ValueError(f"P must have shape (actions, states, states); got {P.shape}.")
        if seen.shape[:2] != P.shape[:2]:
            raise ValueError(
                f"O must have shape ({P.shape[0]}, {P.shape[1]}, observations) to go with P; got "
                f"{seen.shape}."
            )
        is_number = isinstance(gamma, (int, float, np.number)) and not isinstance(gamma, bool)
        if not is_number or not 0 <= gamma < 1:
            raise ValueError(f"Parameter gamma must lie in [0, 1), got {gamma!r}.")
        self.n_actions, self.n_states = P.shape[:2]
        self.n_observations = seen.shape[2]
        self.P = as_probabilities(P, P.shape, "P")
        self.O = as_probabilities(seen, seen.shape, "O")
        self.gamma = float(gamma)
        uniform = np.full(self.n_states, 1.0 / self.n_states)
        self.start = as_probabilities(
            uniform if start is None else start, (self.n_states,), "start"
        )
        self.R = None if R is None else as_rewards(R, self.n_actions, self.n_states)
        self.state_names = _as_names(state_names, self.n_states, "states")
        self.action_names = _as_names(action_names, self.n_actions, "actions")
        self.observation_names = _as_names(observation_names, self.n_observations, "observations")

    def __repr__(self) -> str:
        return (
            f"POMDP(n_states={self.n_states}, n_actions={self.n_actions}, "
            f"n_observations={self.n_observations}, gamma={self.gamma:g})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, POMDP) or self.gamma != other.gamma:
            return False
        return (
            np.array_equal(self.P, other.P)
            and np.array_equal(self.O, other.O)
            and np.array_equal(self.start, other.start)
            and _same_rewards(self.R, other.R)
        )

    __hash__ = None  # type: ignore[assignment]

    def rewards(self, R: Any = None) -> np.ndarray:
        """Return r(s, a), of another reward if one is given.

        Parameters
        ----------
        R : array-like, default=None
            A reward in one of the shapes of the class; None for the model's own.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
            The mean reward of each action.
        """
        full = self.R if R is None else as_rewards(R, self.n_actions, self.n_states)
        if full is None:
            raise ValueError("The model has no reward of its own: give R.")
        if full.strides[2] == 0:
            return full[:, :, 0].T.copy()
        return np.einsum("ast,ast->sa", self.P, full)

    # -- beliefs -------------------------------------------------------------------------------

    def check_belief(self, b: Any) -> np.ndarray:
        """Return a belief as probabilities of the states.

        Parameters
        ----------
        b : array-like of shape (n_states,)
            The belief.

        Returns
        -------
        ndarray of shape (n_states,)
            The belief, summing to one.
        """
        return as_probabilities(b, (self.n_states,), "b")

    def _check_index(self, value: Any, count: int, what: str) -> int:
        is_index = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not is_index or not 0 <= value < count:
            raise ValueError(f"Expected an {what} from 0 to {count - 1}, got {value!r}.")
        return int(value)

    def belief_update(self, b: Any, a: int, z: int) -> np.ndarray:
        """Return the belief after action a and observation z (Eq. 3).

        Parameters
        ----------
        b : array-like of shape (n_states,)
            The belief before.
        a : int
            The action.
        z : int
            The observation.

        Returns
        -------
        ndarray of shape (n_states,)
            b'(t) ∝ O[a, t, z] Σ_s P[a, s, t] b(s).
        """
        b = self.check_belief(b)
        a = self._check_index(a, self.n_actions, "action")
        z = self._check_index(z, self.n_observations, "observation")
        joint = (b @ self.P[a]) * self.O[a, :, z]
        total = joint.sum()
        if total <= 0:
            raise ValueError(f"Observation {z} is impossible after action {a} from this belief.")
        return joint / total  # Eq. (3)

    def observation_probabilities(self, b: Any, a: int) -> np.ndarray:
        """Return the probability of each observation after an action.

        Parameters
        ----------
        b : array-like of shape (n_states,)
            The belief.
        a : int
            The action.

        Returns
        -------
        ndarray of shape (n_observations,)
            P(z | b, a).
        """
        a = self._check_index(a, self.n_actions, "action")
        return (self.check_belief(b) @ self.P[a]) @ self.O[a]

    # -- data ----------------------------------------------------------------------------------

    def sample(self, policy: Any, n: int, horizon: int, random_state: Any = None) -> list:
        """Draw logs of a policy: what it did and what it saw.

        Parameters
        ----------
        policy : FSCPolicy
            Who acts.
        n : int
            How many trajectories.
        horizon : int
            Steps of each.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.

        Returns
        -------
        list of (actions, observations)
            Pairs of integer arrays of shape (horizon,); observation t follows action t.
        """
        for name, count in (("n", n), ("horizon", horizon)):
            whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
            if not whole or count < 1:
                raise ValueError(f"Parameter {name} must be a whole number above 0; got {count!r}.")
        policy.check_fits(self)
        rng = check_random_state(random_state)
        moves, sights = self.P.cumsum(axis=2), self.O.cumsum(axis=2)
        s = (rng.uniform(size=(n, 1)) > self.start.cumsum()[:-1]).sum(axis=1)
        node = np.full(n, policy.start)
        actions, seen = np.empty((2, n, horizon), dtype=np.int64)
        for t in range(horizon):
            a = policy.actions[node]
            u = rng.uniform(size=(2, n, 1))
            s = (u[0] >= moves[a, s, :-1]).sum(axis=1)
            z = (u[1] >= sights[a, s, :-1]).sum(axis=1)
            actions[:, t], seen[:, t] = a, z
            node = policy.successors[node, z]
        return [(actions[i], seen[i]) for i in range(n)]
