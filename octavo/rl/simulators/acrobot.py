"""The acrobot: a double pendulum with a motor at the hip (section 5.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.rl.simulators.policies import SoftmaxLinearPolicy
from octavo.rl.simulators.simulator import Simulator, action_columns, quadratic_expansion

__all__ = ["Acrobot"]

_DT, _G = 0.2, 9.8
_CENTRE, _INERTIA = 0.5, 1.0  # of links of length and mass one
_FASTEST = np.array([4 * np.pi, 9 * np.pi])


def _rates(states: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Return derivatives of the state, by the equations of Sutton and Barto's book."""
    a1, a2, v1, v2 = states.T
    # d_1 of the book, for links of mass and length one
    d1 = 2 * _CENTRE**2 + 1 + 2 * _CENTRE * np.cos(a2) + 2 * _INERTIA
    d2 = _CENTRE**2 + _CENTRE * np.cos(a2) + _INERTIA
    phi2 = _CENTRE * _G * np.cos(a1 + a2 - np.pi / 2)
    spin = -_CENTRE * np.sin(a2) * (v2**2 + 2 * v2 * v1)  # Coriolis and centrifugal terms
    phi1 = spin + (_CENTRE + 1) * _G * np.cos(a1 - np.pi / 2) + phi2
    pull = torque + d2 / d1 * phi1 - _CENTRE * v1**2 * np.sin(a2) - phi2
    acc2 = pull / (_CENTRE**2 + _INERTIA - d2**2 / d1)
    acc1 = -(d2 * acc2 + phi1) / d1
    return np.column_stack([v1, v2, acc1, acc2])


class Acrobot(Simulator):
    """Swing the foot of a double pendulum above its head.

    The state is two angles and their velocities; actions 0, 1, 2 are torques -1, 0, 1 at the hip.
    Every step costs 1 until the foot is one link above the hand.

    Parameters
    ----------
    horizon : int, default=500
        Most steps of an episode, of 0.2 s each.

    Attributes
    ----------
    n_variables, n_actions : int
        4 and 3.

    See Also
    --------
    MountainCar : Two variables instead of four.

    Notes
    -----
    Equations and step (one of Runge-Kutta's fourth order) are gymnasium's; observations are the
    angles themselves, which the paper's features are.

    References
    ----------
    .. [1] Sutton and Barto (1998). Reinforcement learning: an introduction. MIT Press, chapter 11.

    Examples
    --------
    >>> from octavo.rl import Acrobot
    >>> robot = Acrobot()
    >>> state, _ = robot.reset(seed=0)
    >>> robot.step(2)[1]
    -1.0
    """

    n_variables, n_actions = 4, 3
    low = np.array([-np.pi, -np.pi, -4 * np.pi, -9 * np.pi])
    high = -low

    def __init__(self, horizon: int = 500) -> None:
        super().__init__(horizon)

    def starts(self, n: int, rng: Any) -> np.ndarray:
        """Draw states near the rest."""
        return rng.uniform(-0.1, 0.1, (n, 4))

    def transition(self, states, actions, draws=None, t=0):
        """Return next states, rewards, and which rows have ended."""
        # the four stages of Runge and Kutta
        torque = np.asarray(actions, dtype=float).reshape(len(states)) - 1.0
        k1 = _rates(states, torque)
        k2 = _rates(states + 0.5 * _DT * k1, torque)
        k3 = _rates(states + 0.5 * _DT * k2, torque)
        k4 = _rates(states + _DT * k3, torque)
        following = states + _DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        following[:, :2] = (following[:, :2] + np.pi) % (2 * np.pi) - np.pi
        following[:, 2:] = np.clip(following[:, 2:], -_FASTEST, _FASTEST)
        return following, np.full(len(states), -1.0), self.is_terminal(following)

    @staticmethod
    def is_terminal(states):
        """Return in which states the foot is high enough."""
        return -np.cos(states[:, 0]) - np.cos(states[:, 0] + states[:, 1]) > 1.0

    @staticmethod
    def transition_features(states, actions):
        """Return a quadratic expansion of the state and the action (Table 1)."""
        return quadratic_expansion(action_columns(states, actions))

    @staticmethod
    def reward_features(states, actions, following):
        """Return a quadratic expansion of state, cosines of the angles and action (Table 1)."""
        return quadratic_expansion(
            action_columns(np.hstack([states, np.cos(states[:, :2])]), actions)
        )

    def make_policy(self) -> SoftmaxLinearPolicy:
        """Return the paper's policy: a softmax over three actions, twelve parameters."""
        return SoftmaxLinearPolicy(4, 3)
