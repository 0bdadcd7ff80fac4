"""The cart-pole swing-up: a nonlinear benchmark whose value is known by simulation only.

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, section 3.1.6 (benchmarks 9 and 10).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm
from sklearn.utils import check_random_state

from octavo.engine.compilation.copies import copy_row
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.checked import checked
from octavo.rl.features.grids import RBFGridFeatures
from octavo.rl.problems.linear_control import solve_lqr
from octavo.rl.processes.objectives import SquaredTD, ValueObjectives
from octavo.rl.processes.transitions import Transitions

__all__ = ["SwingUpProblem", "make_swing_up"]

_G, _POLE, _CART, _LENGTH, _FRICTION = 9.81, 0.5, 0.5, 0.6, 0.1
_DT, _SUBSTEPS, _EPISODE = 0.15, 8, 200
_FORCE = 10.0  # the most that the cart is pushed
_NEAR, _SLOW = 0.5, 6.0  # angle and velocity within which the pole is held, not swung


@njit(cache=True)
def _accelerations(psi, spin, speed, force):
    """Return ψ¨ and ẍ: equations (39) and (40) with cos² and friction on the cart.

    ψ is the angle by which the pole leans towards positive x; with that, the two terms in sin ψ of
    (40) have the opposite signs of those printed.
    """
    m, M, l = _POLE, _CART, _LENGTH
    s, c = np.sin(psi), np.cos(psi)
    pull = force - _FRICTION * speed
    below = 4.0 * (M + m) - 3.0 * m * c * c
    # Eq. (39)
    turn = (-3.0 * m * l * spin**2 * s * c + 6.0 * (M + m) * _G * s - 6.0 * pull * c) / (l * below)
    slide = (2.0 * m * l * spin**2 * s - 3.0 * m * _G * s * c + 4.0 * pull) / below  # Eq. (40)
    return turn, slide


@njit(cache=True)
def _rates(state, force, out):
    turn, slide = _accelerations(state[0], state[1], state[3], force)
    out[0], out[1], out[2], out[3] = state[1], turn, state[3], slide


@njit(cache=True)
def _advance(state, force, work):
    """Move a state on by one time step, by the fourth-order rule of Runge and Kutta."""
    h = _DT / _SUBSTEPS
    k1, k2, k3, k4, probe = work[0], work[1], work[2], work[3], work[4]
    for _ in range(_SUBSTEPS):
        _rates(state, force, k1)
        for i in range(4):
            probe[i] = state[i] + 0.5 * h * k1[i]
        _rates(probe, force, k2)
        for i in range(4):
            probe[i] = state[i] + 0.5 * h * k2[i]
        _rates(probe, force, k3)
        for i in range(4):
            probe[i] = state[i] + h * k3[i]
        _rates(probe, force, k4)
        for i in range(4):
            state[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
    state[0] = (state[0] + np.pi) % (2.0 * np.pi) - np.pi


@njit(cache=True)
def _meant_force(state, gain):
    """Return the mean action: pump energy into the pole, and hold it once it is up."""
    psi, spin, x, speed = state[0], state[1], state[2], state[3]
    if abs(psi) < _NEAR and abs(spin) < _SLOW:
        force = gain[0] * psi + gain[1] * spin + gain[2] * x + gain[3] * speed
    else:
        # Energy of the pole about its joint, zero when it stands upright at rest.
        energy = _POLE * _LENGTH * (_LENGTH * spin**2 / 6.0 + 0.5 * _G * (np.cos(psi) - 1.0))
        pump = 8.0 * energy * spin * np.cos(psi)
        # Some force is kept back for bringing the cart home.
        force = min(max(pump, -0.7 * _FORCE), 0.7 * _FORCE) - 3.0 * x - speed
    return min(max(force, -_FORCE), _FORCE)


@njit(cache=True)
def _episodes(starts, length, gain, noise):
    """Run an episode from each start; return the states, one more than the steps."""
    n = starts.shape[0]
    states = np.empty((n, length + 1, 4))
    state, work = np.empty(4), np.empty((5, 4))
    for e in range(n):
        copy_row(starts[e], state)
        states[e, 0] = state
        for t in range(length):
            _advance(state, _meant_force(state, gain) + noise[e, t], work)
            states[e, t + 1] = state
    return states


@njit(cache=True)
def _next_states(states, gain, noise):
    """Return the successors of states when each action is off by its noise."""
    after = states.copy()
    work = np.empty((5, 4))
    for i in range(len(states)):
        _advance(after[i], _meant_force(states[i], gain) + noise[i], work)
    return after


def _rewards(states):
    return np.cos(states[..., 0]) - 1e-5 * np.abs(states[..., 2])  # the reward of Section 3.1.6


def _balancing_gain():
    """Return the gains that hold the upright pole: LQR of the sampled linear system."""
    below = 4.0 * (_CART + _POLE) - 3.0 * _POLE
    rate = np.zeros((5, 5))
    rate[0, 1] = rate[2, 3] = 1.0
    rate[1] = [6 * (_CART + _POLE) * _G, 0, 0, 6 * _FRICTION, -6.0]
    rate[1] /= _LENGTH * below
    rate[3] = [-3 * _POLE * _G / below, 0, 0, -4 * _FRICTION / below, 4.0 / below]
    moved = expm(_DT * rate)
    Q = np.diag([100.0, 1.0, 1.0, 1.0])
    return solve_lqr(moved[:4, :4], moved[:4, 4:], Q, [[0.1]])[0]


class SwingUpProblem:
    """A policy that swings up and balances a pole, to be evaluated from simulated episodes.

    Parameters
    ----------
    action_noise : float, default=0.25
        Variance of the target policy's noise on the force.
    behaviour_noise : float, default=None
        Variance of the noise of the policy that acts; None stands for the target policy.
    n_centres : tuple of int, default=(7, 7, 3, 3)
        Grid of bumps along angle, angular velocity, position and velocity.
    min_activation : float, default=5.0
        Bumps with less activation, summed over 20 episodes, are left out.
    n_states : int, default=400
        States at which objectives are evaluated.
    n_rollouts : int, default=10
        Simulations from each of those states for its value.
    random_state : int, RandomState instance or None, default=0
        Seeds features, states and values.

    Attributes
    ----------
    feature_map_ : RBFGridFeatures
        The fitted feature map.
    states_ : ndarray of shape (n_states, 4)
        The states at which objectives are evaluated, drawn from the data's distribution.
    features_ : ndarray of shape (n_states, n_features)
        Their features.
    value_ : ndarray of shape (n_states,)
        Their values, by simulation.
    weights_ : ndarray of shape (n_states,)
        Equal weights.

    See Also
    --------
    make_swing_up : The two benchmarks.

    Notes
    -----
    The survey's policy was learnt by a program of its own and is not published; this one pumps
    energy into the pole and holds it by linear control. Figures are therefore not comparable with
    the survey's, orderings are.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, section 3.1.6.

    Examples
    --------
    >>> from octavo.rl import SwingUpProblem
    >>> problem = SwingUpProblem(n_states=20, n_rollouts=2)
    >>> problem.features_.shape[0], bool(abs(problem.value_).max() < 1 / (1 - problem.gamma))
    (20, True)
    """

    gamma = 0.95
    name = "cart-pole swing-up"

    def __init__(
        self,
        action_noise=0.25,
        behaviour_noise=None,
        *,
        n_centres=(7, 7, 3, 3),
        min_activation=5.0,
        n_states=400,
        n_rollouts=10,
        random_state=0,
    ):
        for what, noise in (("action_noise", action_noise), ("behaviour_noise", behaviour_noise)):
            if noise is not None and not noise > 0:
                raise ValueError(f"{what} must be positive, got {noise!r}.")
        self.action_noise, self.behaviour_noise = action_noise, behaviour_noise
        self._gain = _balancing_gain()
        rng = check_random_state(random_state)
        seen = self._simulate(20, rng)[0][:, :-1].reshape(-1, 4)
        spread = np.abs(seen).max(axis=0)
        self.feature_map_ = RBFGridFeatures(
            n_centres, low=-spread, high=spread, min_activation=min_activation
        ).fit(seen)
        pool = self._simulate(max(2, n_states // 20), rng)[0][:, :-1].reshape(-1, 4)
        self.states_ = pool[rng.choice(len(pool), n_states, replace=False)]
        self.features_ = self.feature_map_.transform(self.states_)
        self.weights_ = np.full(n_states, 1.0 / n_states)
        self.value_ = self._values(n_rollouts, rng)
        self.theta0 = np.zeros(self.features_.shape[1])

    def __repr__(self):
        kind = "on-policy" if self.behaviour_noise is None else "off-policy"
        return f"SwingUpProblem({kind}, {self.features_.shape[1]} features)"

    def _simulate(self, n_episodes, rng):
        """Return the states of whole episodes and the noise of their actions."""
        acting = self.action_noise if self.behaviour_noise is None else self.behaviour_noise
        starts = np.zeros((n_episodes, 4))
        starts[:, 0] = rng.uniform(-np.pi, np.pi, n_episodes)
        noise = np.sqrt(acting) * rng.normal(size=(n_episodes, _EPISODE))
        return _episodes(starts, _EPISODE, self._gain, noise), noise

    def _values(self, n_rollouts, rng):
        """Return discounted rewards from the states, until what is left cannot count."""
        length = int(np.ceil(np.log(1e-4 * (1 - self.gamma)) / np.log(self.gamma)))
        starts = np.repeat(self.states_, n_rollouts, axis=0)
        noise = np.sqrt(self.action_noise) * rng.normal(size=(len(starts), length))
        runs = _rewards(_episodes(starts, length, self._gain, noise)[:, :-1])
        returns = runs @ self.gamma ** np.arange(length)
        return returns.reshape(-1, n_rollouts).mean(axis=1)

    def _ratios(self, noise):
        if self.behaviour_noise is None:
            return None
        target, acting = self.action_noise, self.behaviour_noise
        # N(0, target) over N(0, acting) at the noise drawn
        return np.sqrt(acting / target) * np.exp(-0.5 * noise**2 * (1 / target - 1 / acting))

    def sample(self, n_steps, *, double=False, random_state=None):
        """Draw episodes of 200 steps, cut off after as many transitions as asked for.

        Parameters
        ----------
        n_steps : int
            How many transitions.
        double : bool, default=False
            Whether to draw a second successor of each state.
        random_state : int, RandomState instance or None, default=None
            Seeds the draw.

        Returns
        -------
        Transitions
            The log, in features.
        """
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {n_steps!r}.")
        rng = check_random_state(random_state)
        states, noise = self._simulate(-(-n_steps // _EPISODE), rng)
        here = states[:, :-1].reshape(-1, 4)[:n_steps]
        after = states[:, 1:].reshape(-1, 4)[:n_steps]
        noise = noise.ravel()[:n_steps]
        second = {}
        if double:
            acting = self.action_noise if self.behaviour_noise is None else self.behaviour_noise
            again = np.sqrt(acting) * rng.normal(size=n_steps)
            second = {
                "X_next2": self.feature_map_.transform(_next_states(here, self._gain, again)),
                "r2": _rewards(here),
                "rho2": self._ratios(again),
            }
        return Transitions(
            self.feature_map_.transform(here),
            _rewards(here),
            self.feature_map_.transform(after),
            rho=self._ratios(noise),
            start=np.arange(n_steps) % _EPISODE == 0,
            **second,
        )

    def objectives(self, lam=0.0):
        """Return the objectives, with expectations over the target's noise by quadrature.

        Parameters
        ----------
        lam : float, default=0.0
            Trace parameter λ; only 0 is known here.

        Returns
        -------
        ValueObjectives
            Functions of the coefficients.
        """
        if lam != 0:
            raise ValueError(f"The objectives of the swing-up are known for lam=0, got {lam!r}.")
        nodes, masses = np.polynomial.hermite_e.hermegauss(7)
        masses = masses / masses.sum()
        bootstrap, r = np.zeros_like(self.features_), _rewards(self.states_)
        p = self.features_.shape[1]
        quadratic, linear = np.zeros((p, p)), np.zeros(p)
        for node, mass in zip(nodes, masses):
            off = np.full(len(r), np.sqrt(self.action_noise) * node)
            after = self.feature_map_.transform(_next_states(self.states_, self._gain, off))
            bootstrap += self.gamma * mass * after
            change = self.features_ - self.gamma * after
            weighted = change.T * (mass * self.weights_)
            quadratic += weighted @ change
            linear += weighted @ r
        squared = SquaredTD(quadratic, linear, float(self.weights_ @ r**2))
        return ValueObjectives(self.features_, bootstrap, r, self.weights_, self.value_, squared)


@checked
def make_swing_up(*, off_policy=False, random_state=0, **settings):
    """Make the cart-pole swing-up problem (benchmarks 9 and 10).

    Parameters
    ----------
    off_policy : bool, default=False
        Whether the data come from a policy with four times the variance on its actions.
    random_state : int, RandomState instance or None, default=0
        Seeds features, states and values.
    **settings : dict
        Passed on to `SwingUpProblem`.

    Returns
    -------
    SwingUpProblem
        The problem.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, section 3.1.6.

    Examples
    --------
    >>> from octavo.rl import make_swing_up
    >>> log = make_swing_up(n_states=20, n_rollouts=1).sample(250, random_state=0)
    >>> len(log), int(log.start.sum())
    (250, 2)
    """
    return SwingUpProblem(0.25, 1.0 if off_policy else None, random_state=random_state, **settings)


def _warmup() -> None:
    """Compile every kernel of this module."""
    gain, noise = np.zeros(4), np.zeros((1, 1))
    _next_states(_episodes(np.zeros((1, 4)), 1, gain, noise)[0], gain, np.zeros(2))
