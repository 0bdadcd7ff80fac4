"""A recorded run of a policy, and how to record one.

Reference: Wilson, Fern and Tadepalli (2014), "Using trajectory data to improve Bayesian
optimization for reinforcement learning", JMLR 15:253-282, section 3.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["Episode", "record_episode"]


def _finite(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} of an episode must be numbers, one entry a step.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} of an episode must be finite; got NaN or infinity.")
    return array


class Episode:
    """One run of a policy: states, actions and rewards, step by step.

    Parameters
    ----------
    states : array-like of shape (n_steps, n_variables) or (n_steps + 1, n_variables)
        The states in which actions were taken; the state after the last step may follow. A
        vector is one variable.
    actions : array-like of shape (n_steps,) or (n_steps, n_components)
        Whole numbers for finite actions, else vectors.
    rewards : array-like of shape (n_steps,)
        Rewards of the steps.
    logp : array-like of shape (n_steps,), default=None
        Logarithms of the probabilities with which the actions were taken, where they are known.

    Attributes
    ----------
    total : float
        The sum of the rewards.
    last : ndarray of shape (n_variables,) or None
        The state after the last step.

    Notes
    -----
    A log of a finite MDP without episodes is a `Trajectory`; transitions in features are
    `Transitions`.

    Examples
    --------
    >>> from octavo.rl import Episode
    >>> Episode([[0.0], [0.5], [1.0]], [1, 1], [-1.0, -1.0])
    Episode(n_steps=2, total=-2)
    """

    def __init__(self, states: Any, actions: Any, rewards: Any, logp: Any = None) -> None:
        self.rewards = _finite("Rewards", rewards).astype(float)
        if self.rewards.ndim != 1 or not self.rewards.size:
            raise ValueError(
                f"An episode needs one reward a step, and at least one step; got rewards of shape "
                f"{self.rewards.shape}."
            )
        n = len(self.rewards)
        seen = _finite("States", states).astype(float)
        seen = seen[:, None] if seen.ndim == 1 else seen
        if seen.ndim != 2 or len(seen) not in (n, n + 1):
            raise ValueError(
                f"{n} rewards need {n} states, or {n + 1} with the last; got shape {seen.shape}."
            )
        self.states = seen[:n]
        self.last = seen[n] if len(seen) > n else None
        self.actions = _finite("Actions", actions)
        if self.actions.ndim not in (1, 2) or len(self.actions) != n:
            raise ValueError(f"{n} rewards need {n} actions; got shape {self.actions.shape}.")
        self.logp = None if logp is None else _finite("logp", logp).astype(float)
        if self.logp is not None and self.logp.shape != (n,):
            raise ValueError(f"{n} rewards need {n} entries of logp; got {self.logp.shape}.")

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        return f"Episode(n_steps={len(self)}, total={self.total:g})"

    @property
    def total(self) -> float:
        """The sum of the rewards."""
        return float(self.rewards.sum())

    def states_with_last(self) -> np.ndarray:
        """Return the states, and the one after the last step where it was seen."""
        return self.states if self.last is None else np.vstack([self.states, self.last])

    def transitions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return states, actions, rewards and next states of the steps whose end was seen."""
        if self.last is None:
            following, n = self.states[1:], len(self) - 1
        else:
            following, n = np.vstack([self.states[1:], self.last]), len(self)
        return self.states[:n], self.actions[:n], self.rewards[:n], following


@checked
def record_episode(env, policy, theta, *, horizon=None, random_state=None):
    """Run a policy in an environment and keep what happened.

    Parameters
    ----------
    env : object
        Speaks gymnasium's ``reset(seed=...)`` and ``step(action)``.
    policy : object
        With ``act(theta, state, rng)``.
    theta : array-like of shape (n_params,)
        Parameters of the policy.
    horizon : int, default=None
        Most steps; None stands for the environment's own end.
    random_state : int, RandomState instance or None, default=None
        Seeds the policy and the environment.

    Returns
    -------
    Episode
        The run, with the state after its last step.

    Examples
    --------
    >>> from octavo.rl import MountainCar, record_episode
    >>> car = MountainCar()
    >>> record_episode(car, car.make_policy(), [0.0] * 16, random_state=0)
    Episode(n_steps=400, total=-400)
    """
    if horizon is not None and horizon < 1:
        raise ValueError(f"horizon must be at least 1; got {horizon}.")
    for owner, name in ((env, "reset"), (env, "step"), (policy, "act")):
        if not callable(getattr(owner, name, None)):
            raise ValueError(f"{type(owner).__name__} has no method {name!r}.")
    rng = check_random_state(random_state)
    theta = np.asarray(theta, dtype=float)
    if not np.isfinite(theta).all():
        raise ValueError(f"theta must be finite; got {theta}.")
    state = np.atleast_1d(env.reset(seed=int(rng.randint(2**31 - 1)))[0]).astype(float)
    states, actions, done = [state], [], False
    rewards: list[float] = []
    while not done and (horizon is None or len(rewards) < horizon):
        action = policy.act(theta, state, rng)
        seen, reward, terminated, truncated, _ = env.step(action)
        state = np.atleast_1d(np.asarray(seen, dtype=float))
        states.append(state)
        actions.append(action)
        rewards.append(float(reward))
        done = terminated or truncated
    return Episode(np.array(states), np.array(actions), rewards)
