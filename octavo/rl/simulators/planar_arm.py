"""A planar arm of three links that reaches for a point (section 5.5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.rl.simulators.policies import MultiControllerPolicy, SoftmaxLinearPolicy
from octavo.rl.simulators.simulator import Simulator, action_columns

__all__ = ["PlanarArm"]

_DT, _RADIUS = 0.05, 0.1


class PlanarArm(Simulator):
    """Bring the tip of three links into a small disc, by turning each joint one way or the other.

    The state is the three angles, each relative to the link before, and the tip's place; an action
    is a vector of three numbers, 0 or 1: which way each joint is turned.

    Parameters
    ----------
    horizon : int, default=200
        Most steps of an episode.
    goal : tuple of float, default=(1.0, 1.5)
        Where the tip should go.
    bonus : float, default=10.0
        Reward for getting there, which ends the episode.

    Attributes
    ----------
    n_variables, n_actions : int
        5 and 8 (joint actions).

    See Also
    --------
    MultiControllerPolicy : A controller for each joint.

    Notes
    -----
    The paper gives neither lengths nor dynamics, but says that the latter are linear: links are of
    length one here, and a torque of ±1 turns its joint by ±0.05. Each step costs 0.05 times the
    distance from the goal.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 5.5.

    Examples
    --------
    >>> from octavo.rl import PlanarArm
    >>> arm = PlanarArm()
    >>> state, _ = arm.reset(seed=0)
    >>> state.round(2).tolist()  # stretched out along the first axis
    [0.0, 0.0, 0.0, 3.0, 0.0]
    """

    n_variables, n_actions = 5, 8
    low = np.array([-np.pi, -np.pi, -np.pi, -3.0, -3.0])
    high = -low

    def __init__(
        self,
        horizon: int = 200,
        goal: tuple[float, float] = (1.0, 1.5),
        bonus: float = 10.0,
    ) -> None:
        super().__init__(horizon)
        place = np.asarray(goal, dtype=float)
        if place.shape != (2,) or not np.hypot(*place) <= 3.0:
            raise ValueError(f"goal must be a point within reach, at most 3 away; got {goal!r}.")
        self.goal, self.bonus = (float(place[0]), float(place[1])), float(bonus)

    def starts(self, n: int, rng: Any) -> np.ndarray:
        """Return the stretched arm."""
        return np.tile([0.0, 0.0, 0.0, 3.0, 0.0], (n, 1))

    def check_action(self, action: Any) -> np.ndarray:
        """Return a turn of each joint as a row."""
        value = np.asarray(action)
        if value.shape != (3,) or not np.isin(value, (0, 1)).all():
            raise ValueError(f"An action must be three numbers, 0 or 1; got {action!r}.")
        return value.reshape(1, 3).astype(np.int64)

    def transition(self, states, actions, draws=None, t=0):
        """Return next states, rewards, and which rows have ended."""
        angles = states[:, :3] + _DT * (2.0 * np.asarray(actions).reshape(len(states), 3) - 1.0)
        around = np.cumsum(angles, axis=1)  # each link's angle from the axis: joints add up
        tip = np.column_stack([np.cos(around).sum(axis=1), np.sin(around).sum(axis=1)])
        following = np.hstack([angles, tip])
        ended = self.is_terminal(following)
        rewards = -_DT * self._distance(following) + np.where(ended, self.bonus, 0.0)
        return following, rewards, ended

    def _distance(self, states):
        return np.hypot(states[:, 3] - self.goal[0], states[:, 4] - self.goal[1])

    def is_terminal(self, states):
        """Return in which states the tip is at the goal."""
        return self._distance(states) < _RADIUS

    def policy_features(self, states):
        """Return how far the tip is from the goal along each axis."""
        return states[:, 3:] - np.array(self.goal)

    @staticmethod
    def transition_features(states, actions):
        """Return angles, tip, actions and a constant (Table 1)."""
        return action_columns(np.hstack([np.ones((len(states), 1)), states]), actions)

    def reward_features(self, states, actions, following):
        """Return angles, squared distances, actions, and whether the goal is reached (Table 1)."""
        away = (following[:, 3:] - np.array(self.goal)) ** 2
        there = self.is_terminal(following)[:, None]
        return action_columns(
            np.hstack([np.ones((len(states), 1)), following[:, :3], away, there]), actions
        )

    def make_policy(self) -> MultiControllerPolicy:
        """Return the paper's policy: a softmax for each joint, twelve parameters."""
        each = [SoftmaxLinearPolicy(2, 2, self.policy_features) for _ in range(3)]
        return MultiControllerPolicy(each)
