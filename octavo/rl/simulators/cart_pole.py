"""Balance a pole on a cart by pushes of any size (section 5.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.rl.simulators.policies import GaussianLinearPolicy
from octavo.rl.simulators.simulator import Simulator

__all__ = ["CartPole"]

_G, _CART, _POLE, _HALF, _DT = 9.8, 1.0, 0.1, 0.5, 0.02
_WALL, _LEAN = 4.0, np.pi / 4


class CartPole(Simulator):
    """Keep a pole upright for 1,000 steps, and the cart between its walls.

    The state is location and velocity of the cart, angle and angular velocity of the pole; an
    action is a number between -1 and 1, in units of `force`. Each step earns 1 less penalties for
    leaning and for leaving the centre; the whole time upright earns a bonus.

    Parameters
    ----------
    horizon : int, default=1000
        Steps to balance for.
    force : float, default=10.0
        Largest push, in newton.
    bonus : float, default=100.0
        Reward after the last step.

    Attributes
    ----------
    n_variables, n_actions : int
        4 and 1 (components of an action).

    See Also
    --------
    make_cart_pole : The linear problem of policy evaluation.

    Notes
    -----
    Equations of motion and constants are those of Sutton and Barto's program and of gymnasium.
    The paper leaves rewards, walls and the unit of a push open; walls at 4 and angles of π/4 are
    those of its reward features.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 5.4.

    Examples
    --------
    >>> from octavo.rl import CartPole
    >>> cart = CartPole()
    >>> state, _ = cart.reset(seed=0)
    >>> state, reward, terminated, truncated, _ = cart.step([0.0])
    >>> terminated, 0.9 < reward <= 1.0
    (False, True)
    """

    n_variables, n_actions = 4, 1
    low, high = np.array([-4.0, -4.0, -_LEAN, -4.0]), np.array([4.0, 4.0, _LEAN, 4.0])

    def __init__(self, horizon: int = 1000, force: float = 10.0, bonus: float = 100.0) -> None:
        super().__init__(horizon)
        if not force > 0:
            raise ValueError(f"force must be positive; got {force!r}.")
        self.force, self.bonus = float(force), float(bonus)

    def starts(self, n: int, rng: Any) -> np.ndarray:
        """Draw states near the balance."""
        return rng.uniform(-0.05, 0.05, (n, 4))

    def check_action(self, action: Any) -> np.ndarray:
        """Return a push as a row."""
        value = np.asarray(action, dtype=float)
        if value.size != 1 or not np.isfinite(value).all():
            raise ValueError(f"An action must be one finite number; got {action!r}.")
        return value.reshape(1, 1)

    def transition(self, states, actions, draws=None, t=0):
        """Return next states, rewards, and which rows have ended."""
        push = self.force * np.clip(np.asarray(actions, float).reshape(len(states)), -1.0, 1.0)
        x, v, lean, turn = states.T
        total = _CART + _POLE
        cos, sin = np.cos(lean), np.sin(lean)
        pull = (push + _POLE * _HALF * turn**2 * sin) / total
        # Barto, Sutton and Anderson's pole: uniform, hence 4/3
        turning = (_G * sin - cos * pull) / (_HALF * (4.0 / 3.0 - _POLE * cos**2 / total))
        speeding = pull - _POLE * _HALF * turning * cos / total
        following = np.column_stack(
            [x + _DT * v, v + _DT * speeding, lean + _DT * turn, turn + _DT * turning]
        )
        ended = self.is_terminal(following)
        x, lean = following[:, 0], following[:, 2]
        rewards = 1.0 - 0.5 * (lean / _LEAN) ** 2 - 0.5 * (x / _WALL) ** 2
        rewards = np.where(ended, 0.0, rewards)
        if t == self.horizon - 1:
            rewards = rewards + np.where(ended, 0.0, self.bonus)
        return following, rewards, ended

    @staticmethod
    def is_terminal(states):
        """Return in which states the pole has fallen or the cart hit a wall."""
        return (np.abs(states[:, 0]) > _WALL) | (np.abs(states[:, 2]) > _LEAN)

    @staticmethod
    def policy_features(states):
        """Return the state in units of which one is about what a push of one answers."""
        return states * np.array([1.0, 1.0, 10.0, 3.0])

    @staticmethod
    def transition_features(states, actions):
        """Return state, action, and sine, cosine and its inverse of the angle (Table 1)."""
        push = np.clip(np.asarray(actions, float).reshape(len(states), 1), -1.0, 1.0)
        lean = np.clip(states[:, 2], -1.5, 1.5)
        more = [np.ones(len(lean)), np.sin(lean), np.cos(lean), 1 / np.cos(lean)]
        return np.hstack([states, push, np.column_stack(more)])

    @classmethod
    def reward_features(cls, states, actions, following):
        """Return the same of the next state, its squares, and whether it is out of bounds."""
        made = cls.transition_features(following, actions)
        out = [following[:, 0] > _WALL, following[:, 0] < -_WALL]
        out += [following[:, 2] > _LEAN, following[:, 2] < -_LEAN]
        return np.hstack([made, following[:, [0, 2]] ** 2, np.column_stack(out)])

    def make_policy(self, scale: float = 0.1) -> GaussianLinearPolicy:
        """Return the paper's policy: a linear push with a little noise, four parameters."""
        return GaussianLinearPolicy(4, 1, self.policy_features, scale)
