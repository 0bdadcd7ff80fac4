"""Features of rewards, rewards brought to a common scale, and how much a wrong reward costs.

Reference: Choi and Kim (2011), section 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.rl.inverse.mdp_planning import solve_mdp
from octavo.rl.partial_observation.controllers import FSCPolicy, check_features
from octavo.rl.partial_observation.planning import PBPISolver

__all__ = [
    "compact_basis",
    "normalize_reward",
    "partition_basis",
    "state_action_basis",
    "state_basis",
    "trajectory_horizon",
    "value_gap",
]


@checked
def state_basis(n_states: int, n_actions: int) -> np.ndarray:
    """Return one indicator for each state.

    Parameters
    ----------
    n_states, n_actions : int
        Size of the model.

    Returns
    -------
    ndarray of shape (n_states, n_states, n_actions)
        The features.

    Examples
    --------
    >>> from octavo.rl import state_basis
    >>> state_basis(2, 3)[1].tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    _check_size(n_states, n_actions)
    return np.repeat(np.eye(n_states)[:, :, None], n_actions, axis=2)


@checked
def state_action_basis(n_states: int, n_actions: int) -> np.ndarray:
    """Return one indicator for each pair of a state and an action.

    Parameters
    ----------
    n_states, n_actions : int
        Size of the model.

    Returns
    -------
    ndarray of shape (n_states * n_actions, n_states, n_actions)
        The features, states first.

    Examples
    --------
    >>> from octavo.rl import state_action_basis
    >>> state_action_basis(2, 3).shape
    (6, 2, 3)
    """
    _check_size(n_states, n_actions)
    return np.eye(n_states * n_actions).reshape(-1, n_states, n_actions)


def _check_size(n_states, n_actions):
    if n_states < 1 or n_actions < 1:
        raise ValueError(f"Expected at least one state and action, got {n_states}, {n_actions}.")


@checked
def compact_basis(R: Any) -> np.ndarray:
    """Return one indicator for each value that a reward takes.

    Parameters
    ----------
    R : array-like of shape (n_states, n_actions)
        The reward whose structure is known.

    Returns
    -------
    ndarray of shape (n_values, n_states, n_actions)
        The features, in ascending order of the values.

    Examples
    --------
    >>> from octavo.rl import compact_basis
    >>> compact_basis([[0, 5], [5, 0]])[1].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    R = _check_reward(R)
    return np.array([(value == R).astype(float) for value in np.unique(R)])


@checked
def partition_basis(sets: Sequence, n_states: int, n_actions: int) -> np.ndarray:
    """Return one indicator for each set of pairs, and one for the pairs that no set has.

    Parameters
    ----------
    sets : sequence of array-like
        Each a list of pairs (state, action), or a mask of shape (n_states, n_actions). Sets may
        overlap: then the basis is not compact.
    n_states, n_actions : int
        Size of the model.

    Returns
    -------
    ndarray of shape (n_features, n_states, n_actions)
        The features; without the last where the sets cover everything.

    Examples
    --------
    >>> from octavo.rl import partition_basis
    >>> partition_basis([[(0, 0), (1, 0)]], 2, 2)[1].tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    _check_size(n_states, n_actions)
    phi = np.zeros((len(sets), n_states, n_actions))
    for i, one in enumerate(sets):
        one = np.asarray(one)
        if one.dtype == bool and one.shape == (n_states, n_actions):
            phi[i][one] = 1
            continue
        if one.ndim != 2 or one.shape[1] != 2 or one.dtype.kind not in "iu":
            raise ValueError(f"Set {i} must be pairs (state, action) or a mask, got {one.shape}.")
        if one.min() < 0 or (one >= [n_states, n_actions]).any():
            raise ValueError(f"Set {i} names a pair outside ({n_states}, {n_actions}).")
        phi[i, one[:, 0], one[:, 1]] = 1
    rest = phi.sum(axis=0) == 0
    return np.concatenate([phi, rest[None].astype(float)]) if rest.any() else phi


def _check_reward(R, name="R"):
    R = np.asarray(R, dtype=np.float64)
    if R.ndim != 2 or R.size == 0:
        raise ValueError(f"{name} must have shape (states, actions), got {R.shape}.")
    if not np.isfinite(R).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity.")
    return R


@checked
def normalize_reward(R: Any, reference: Any = None) -> np.ndarray:
    """Shift and scale a reward for display, which changes no policy.

    Parameters
    ----------
    R : array-like of shape (n_states, n_actions)
        The reward.
    reference : array-like of shape (n_states, n_actions), default=None
        The reward to come closest to; None for the range from 0 to 1.

    Returns
    -------
    ndarray of shape (n_states, n_actions)
        c R + d with c > 0.

    Examples
    --------
    >>> from octavo.rl import normalize_reward
    >>> normalize_reward([[-1.0, 0.0, 3.0]]).tolist()
    [[0.0, 0.25, 1.0]]
    """
    R = _check_reward(R)
    spread = np.ptp(R)
    if not spread > 0:
        return np.zeros_like(R) if reference is None else R - R + np.mean(reference)
    if reference is None:
        return (R - R.min()) / spread
    target = _check_reward(reference, "reference")
    if target.shape != R.shape:
        raise ValueError(f"The reference must have shape {R.shape}, got {target.shape}.")
    centred = (R - R.mean()) / spread
    c = float((centred * (target - target.mean())).sum() / (centred**2).sum())
    c = c if c > 0 else np.ptp(target)  # no positive scale is close: keep the range
    return c * centred + target.mean()


@checked
def trajectory_horizon(gamma: float, tol: float, r_max: float = 1.0) -> int:
    """Return H_ε = log_γ(ε(1 − γ)/R_max), after which a return misses at most ε.

    Parameters
    ----------
    gamma : float
        Discount factor.
    tol : float
        The error ε.
    r_max : float, default=1.0
        The largest absolute reward.

    Returns
    -------
    int
        Steps.

    Examples
    --------
    >>> from octavo.rl import trajectory_horizon
    >>> trajectory_horizon(0.75, 0.01)
    21
    """
    if not 0 < gamma < 1 or not tol > 0 or not r_max > 0:
        raise ValueError(
            "Expected gamma between 0 and 1, and tol and r_max above 0; got "
            f"{gamma!r}, {tol!r}, {r_max!r}."
        )
    return max(1, int(np.ceil(np.log(tol * (1 - gamma) / r_max) / np.log(gamma))))


@checked
def value_gap(
    model: Any, R_true: Any, R_learned: Any, *, expert: Any = None, solver: Any = None
) -> float:
    """Return |V^E(b₀; R) − V^L(b₀; R)|: what it costs to plan for another reward.

    Parameters
    ----------
    model : POMDP or FiniteMDP
        The model.
    R_true : array-like
        The reward R by which values are measured. The learned one here too gives the paper's
        D(R_L): whether the expert is optimal for it.
    R_learned : array-like
        The reward for which the policy L is optimal.
    expert : FSCPolicy or array-like, default=None
        The policy E; None for the optimum of `R_true`.
    solver : object, default=None
        With ``solve(pomdp, R)``; None for `PBPISolver`. For a `FiniteMDP` it is not used.

    Returns
    -------
    float
        The difference of the values.

    Examples
    --------
    >>> from octavo.rl import make_maze1d, value_gap
    >>> maze = make_maze1d()
    >>> value_gap(maze, maze.rewards(), 3 * maze.rewards() + 1) < 1e-9
    True
    """
    if not hasattr(model, "n_observations"):
        mine, theirs = solve_mdp(model, R_true), solve_mdp(model, R_learned)[1]
        with_true = type(model)(
            model.P, R_true, model.gamma, start=model.start, terminal=model.terminal
        )
        best = mine[0] if expert is None else with_true.value(expert)
        return float(abs(model.start @ (best - with_true.value(theirs))))
    solver = PBPISolver() if solver is None else solver
    expert = solver.solve(model, R_true) if expert is None else expert
    if not isinstance(expert, FSCPolicy):
        raise ValueError(f"Expected an FSCPolicy as expert, got {type(expert).__name__}.")
    learned = solver.solve(model, R_learned)
    return float(abs(expert.value(model, R_true) - learned.value(model, R_true)))


def read_basis(basis: Any, model: Any) -> np.ndarray:
    """Return the features that a name or an array stands for."""
    if not isinstance(basis, str):
        return check_features(basis, model)
    size = model.n_states, model.n_actions
    if basis == "state-action":
        return state_action_basis(*size)
    if basis == "state":
        return state_basis(*size)
    if model.R is None:
        raise ValueError("The compact basis follows the model's reward, and it has none.")
    return compact_basis(model.rewards() if hasattr(model, "rewards") else model.action_rewards())
