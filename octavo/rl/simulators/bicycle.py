"""Keep a bicycle from falling: Randløv and Alstrøm's simulator (section 5.6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.rl.simulators.policies import SoftmaxLinearPolicy, is_real
from octavo.rl.simulators.simulator import Simulator

__all__ = ["Bicycle"]

_DT, _G, _SPEED = 0.01, 9.82, 10.0 / 3.6
_H, _CM, _C, _L, _R = 0.94, 0.30, 0.66, 1.11, 0.34
_M_BIKE, _M_TYRE, _M_RIDER = 15.0, 1.7, 60.0
_MASS = _M_BIKE + _M_RIDER
_I_BOTH = 13.0 / 3.0 * _M_BIKE * _H**2 + _M_RIDER * (_H + _CM) ** 2
_I_DC, _I_DV, _I_DL = _M_TYRE * _R**2, 1.5 * _M_TYRE * _R**2, 0.5 * _M_TYRE * _R**2
_SPIN = _SPEED / _R
_FALLEN, _TURNED = np.pi / 15, np.deg2rad(80.0)
_TORQUE = np.array([-1.0, 1.0, 0.0, 0.0, 0.0])
_LEAN = np.array([0.0, 0.0, -0.02, 0.02, 0.0])


def _leaning(omega, d_omega, nu, d_nu, lean):
    """Return the angular acceleration of the frame (Randløv and Alstrøm, section 2.1)."""
    phi = omega + np.arctan(lean / _H)  # the rider leans apart from the frame
    front, back = np.abs(np.sin(nu)) / _L, np.abs(np.tan(nu)) / _L  # inverse radii
    with np.errstate(divide="ignore"):
        centre = 1.0 / np.sqrt((_L - _C) ** 2 + (_L / np.tan(nu)) ** 2)
    tyres = _M_TYRE * _R * (front + back) + _MASS * _H * centre
    # what the turning tyres and the curve do
    thrown = _I_DC * _SPIN * d_nu + np.sign(nu) * _SPEED**2 * tyres
    return (_MASS * _H * _G * np.sin(phi) - np.cos(phi) * thrown) / _I_BOTH


class Bicycle(Simulator):
    """Ride a bicycle at constant speed without falling over.

    The state is the frame's lean ω, its velocity, the angle ν of the handlebars, its velocity, the
    heading ψ, and the places of the front and rear tyres. Actions turn the handlebars (torque -1 or
    1), shift the rider (-0.02 or 0.02 m), or do nothing. A step earns ω² − ω'²; a fall, at
    \\|ω\\| > π/15, costs 10.

    Parameters
    ----------
    horizon : int, default=60000
        Steps of 0.01 s: ten minutes.
    gamma : float, default=0.99
        Discount of later steps, so that a late fall costs less. Rewards come discounted.
    noise : float, default=0.02
        The rider shifts by up to this much more or less than he means to, in m.

    Attributes
    ----------
    n_variables, n_actions : int
        9 and 5.

    See Also
    --------
    LSPI : Learns to ride from a batch of falls.

    Notes
    -----
    The paper has "the squared change in ω" for the reward; with ω² − ω'², as in LSPI's experiments,
    it favours the upright frame. This is where `BehaviourKernel` fails.

    References
    ----------
    .. [1] Randløv and Alstrøm (1998). Learning to drive a bicycle using reinforcement learning and
       shaping. ICML, 463-471.

    Examples
    --------
    >>> from octavo.rl import Bicycle
    >>> bicycle = Bicycle(horizon=100)
    >>> state, _ = bicycle.reset(seed=0)
    >>> bicycle.step(4)[2]
    False
    """

    n_variables, n_actions = 9, 5
    low = np.array([-_FALLEN, -1.0, -_TURNED, -4.0, -np.pi, -50.0, -50.0, -50.0, -50.0])
    high = -low

    def __init__(self, horizon: int = 60_000, gamma: Any = 0.99, noise: Any = 0.02) -> None:
        super().__init__(horizon)
        for name, value in (("gamma", gamma), ("noise", noise)):
            if not is_real(value) or not 0 <= value <= 1:
                raise ValueError(f"{name} must lie in [0, 1]; got {value!r}.")
        self.gamma, self.noise = float(gamma), float(noise)

    def starts(self, n: int, rng: Any) -> np.ndarray:
        """Return an upright bicycle that heads along the second axis."""
        return np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, _L, 0.0, 0.0], (n, 1))

    def draws(self, n: int, rng: Any) -> np.ndarray:
        """Draw the rider's slips."""
        return rng.uniform(-self.noise, self.noise, (n, 1))

    def transition(self, states, actions, draws, t=0):
        """Return next states, rewards, and which rows have ended."""
        omega, d_omega, nu, d_nu, psi, xf, yf, xr, yr = states.T
        which = np.asarray(actions).reshape(len(states)).astype(np.int64)
        lean = _LEAN[which] + draws[:, 0]
        bend = (_TORQUE[which] - _I_DV * _SPIN * d_omega) / _I_DL
        fall = _leaning(omega, d_omega, nu, d_nu, lean)
        new_d_omega, new_d_nu = d_omega + _DT * fall, d_nu + _DT * bend
        new_omega, new_nu = omega + _DT * d_omega, nu + _DT * d_nu
        held = np.abs(new_nu) > _TURNED
        new_nu, new_d_nu = np.clip(new_nu, -_TURNED, _TURNED), np.where(held, 0.0, new_d_nu)
        # the front tyre's arc in a step
        ahead = psi + nu + np.sign(psi + nu) * np.arcsin(_SPEED * _DT * np.abs(np.sin(nu)) / 2 / _L)
        xf, yf = xf - _SPEED * _DT * np.sin(ahead), yf + _SPEED * _DT * np.cos(ahead)
        behind = psi + np.sign(psi) * np.arcsin(_SPEED * _DT * np.abs(np.tan(nu)) / 2 / _L)
        xr, yr = xr - _SPEED * _DT * np.sin(behind), yr + _SPEED * _DT * np.cos(behind)
        apart = np.hypot(xf - xr, yf - yr)  # rounding stretches the frame
        xr, yr = xf + (xr - xf) * _L / apart, yf + (yr - yf) * _L / apart
        heading = np.arctan2(xr - xf, yf - yr)
        following = np.column_stack(
            [new_omega, new_d_omega, new_nu, new_d_nu, heading, xf, yf, xr, yr]
        )
        ended = self.is_terminal(following)
        rewards = omega**2 - new_omega**2 - np.where(ended, 10.0, 0.0)
        return following, self.gamma**t * rewards, ended

    @staticmethod
    def is_terminal(states):
        """Return in which states the bicycle has fallen."""
        return np.abs(states[:, 0]) > _FALLEN

    @staticmethod
    def policy_features(states):
        """Return the twenty features of LSPI's experiments."""
        omega, d_omega, nu, d_nu, psi = states[:, :5].T
        back = np.where(psi > 0, np.pi - psi, -np.pi - psi)
        return np.column_stack(
            [np.ones_like(omega), omega, d_omega, omega**2, d_omega**2, omega * d_omega,
             nu, d_nu, nu**2, d_nu**2, nu * d_nu,
             omega * nu, omega * nu**2, omega**2 * nu,
             psi, psi**2, psi * nu, back, back**2, back * nu]
        )  # fmt: skip

    @staticmethod
    def transition_features(states, actions):
        """Return the state, a constant, torque and shift (Table 1)."""
        which = np.asarray(actions).reshape(len(states)).astype(np.int64)
        columns = np.column_stack([np.ones(len(states)), _TORQUE[which], _LEAN[which]])
        return np.hstack([states, columns])

    @classmethod
    def reward_features(cls, states, actions, following):
        """Return the same of the next state, squares of ω, and whether it has fallen (Table 1)."""
        made = cls.transition_features(following, actions)
        squares = np.column_stack([states[:, 0] ** 2, following[:, 0] ** 2])
        return np.hstack([made, squares, cls.is_terminal(following)[:, None]])

    def make_policy(self) -> SoftmaxLinearPolicy:
        """Return the paper's policy: a softmax over five actions, one hundred parameters."""
        return SoftmaxLinearPolicy(20, 5, self.policy_features)
