"""Mountain car with two accelerations, from rest at the bottom (section 5.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.rl.simulators.policies import SoftmaxLinearPolicy
from octavo.rl.simulators.simulator import Simulator, action_columns, quadratic_expansion

__all__ = ["MountainCar"]

_FASTEST, _LEFT, _RIGHT, _GOAL = 0.07, -1.2, 0.6, 0.5
_BOTTOM = -np.pi / 6  # where the slope cos(3x) vanishes


class MountainCar(Simulator):
    """A car too weak for the hill before it: it must go back first.

    The state is location and velocity; action 0 accelerates backwards, 1 forwards. Every step
    costs 1 until the car reaches 0.5.

    Parameters
    ----------
    horizon : int, default=400
        Most steps of an episode.

    Attributes
    ----------
    n_variables, n_actions : int
        2 and 2.

    See Also
    --------
    Acrobot : A harder swing-up.

    Notes
    -----
    Constants are Sutton and Barto's; their third action, to coast, is missing as in the paper.
    The paper names a cubic expansion with eight features and not its terms: here 1, l, u, l², lu,
    u², l³ and u³, with l and u scaled to make parameters in [-1, 1] count.

    References
    ----------
    .. [1] Sutton and Barto (1998). Reinforcement learning: an introduction. MIT Press, example 8.2.

    Examples
    --------
    >>> from octavo.rl import MountainCar
    >>> car = MountainCar()
    >>> state, _ = car.reset(seed=0)
    >>> state, reward, terminated, truncated, _ = car.step(1)
    >>> state.round(4).tolist(), reward
    ([-0.5226, 0.001], -1.0)
    """

    n_variables, n_actions = 2, 2
    low, high = np.array([_LEFT, -_FASTEST]), np.array([_RIGHT, _FASTEST])

    def __init__(self, horizon: int = 400) -> None:
        super().__init__(horizon)

    def starts(self, n: int, rng: Any) -> np.ndarray:
        """Return the bottom of the valley, at rest."""
        return np.tile([_BOTTOM, 0.0], (n, 1))

    def transition(self, states, actions, draws=None, t=0):
        """Return next states, rewards, and which rows have ended."""
        x, v = states.T
        push = 2.0 * np.asarray(actions).reshape(len(states)) - 1.0
        # Sutton and Barto's car; two pushes in place of three
        v = np.clip(v + 0.001 * push - 0.0025 * np.cos(3 * x), -_FASTEST, _FASTEST)
        x = np.clip(x + v, _LEFT, _RIGHT)
        v = np.where((x <= _LEFT) & (v < 0), 0.0, v)
        following = np.column_stack([x, v])
        return following, np.full(len(x), -1.0), self.is_terminal(following)

    @staticmethod
    def is_terminal(states):
        """Return which states are at the goal."""
        return states[:, 0] >= _GOAL

    @staticmethod
    def policy_features(states):
        """Return eight features of location and velocity."""
        l, u = (states[:, 0] - _BOTTOM) / 0.7, states[:, 1] / 0.01
        return np.column_stack([np.ones_like(l), l, u, l**2, l * u, u**2, l**3, u**3])

    @staticmethod
    def transition_features(states, actions):
        """Return a quadratic expansion of l, u, cos l, cos u and the action (Table 1)."""
        return quadratic_expansion(action_columns(np.hstack([states, np.cos(states)]), actions))

    @staticmethod
    def good_transition_features(states, actions):
        """Return what the dynamics are linear in: 1, l, u, cos 3l and the action, twice.

        The second time only where the car is about to meet the wall behind it.
        """
        made = action_columns(states, actions)
        # Section 5.2's good features: the wall is a second linear regime
        free = np.column_stack([np.ones(len(made)), made, np.cos(3 * states[:, 0])])
        return np.hstack([free, free * (states.sum(axis=1) <= _LEFT)[:, None]])

    @staticmethod
    def reward_features(states, actions, following):
        """Return a constant: every step costs the same."""
        return np.ones((len(states), 1))

    def make_policy(self) -> SoftmaxLinearPolicy:
        """Return the paper's policy: a softmax over two actions, sixteen parameters."""
        return SoftmaxLinearPolicy(8, 2, self.policy_features)
