"""Balancing two poles on a cart without seeing velocities (Section 5.4), a search's classic test.

A recurrent network of n tanh units sees the cart's position and both angles, and pushes the
cart; its n (n + 3) weights are searched for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.compilation.copies import copy_row
from octavo.engine.compilation.kernel_cache import njit

__all__ = ["DoublePole"]

GRAVITY = 9.8
CART = 1.0  # kg
HALF_LENGTHS = (0.5, 0.05)  # m
MASSES = (0.1, 0.01)  # kg
HINGE = 2e-6  # friction of the hinges
FORCE = 10.0  # N at full activation
STEP = 0.01  # s of a Runge-Kutta step; two make a control step
TRACK = 2.4  # m to either side
FALLEN = 36 * np.pi / 180
START = 4 * np.pi / 180
SCALE = (4.8, 0.52, 0.52)  # what the inputs are divided by


@njit(cache=True)
def _pole(angle, speed, mass, half):
    """Return the force and the mass that a pole adds to the cart."""
    push = HINGE * speed / (mass * half) - GRAVITY * np.sin(angle)
    cosine = np.cos(angle)
    force = mass * half * speed**2 * np.sin(angle) + 0.75 * mass * cosine * push
    return force, mass * (1 - 0.75 * cosine**2), push


@njit(cache=True)
def _derivatives(state, force, out):
    """Write the time derivatives of x, x', angle 1, its speed, angle 2, its speed."""
    force1, mass1, push1 = _pole(state[2], state[3], MASSES[0], HALF_LENGTHS[0])
    force2, mass2, push2 = _pole(state[4], state[5], MASSES[1], HALF_LENGTHS[1])
    acceleration = (force + force1 + force2) / (CART + mass1 + mass2)
    out[0], out[1] = state[1], acceleration
    out[2] = state[3]
    out[3] = -0.75 / HALF_LENGTHS[0] * (acceleration * np.cos(state[2]) + push1)
    out[4] = state[5]
    out[5] = -0.75 / HALF_LENGTHS[1] * (acceleration * np.cos(state[4]) + push2)


@njit(cache=True)
def _runge_kutta(state, force, work):
    """Advance the state by one step of the classical method."""
    _derivatives(state, force, work[0])
    for k in range(1, 4):
        reach = STEP if k == 3 else STEP / 2
        for i in range(6):
            work[4, i] = state[i] + reach * work[k - 1, i]
        _derivatives(work[4], force, work[k])
    for i in range(6):
        slope = work[0, i] + 2 * work[1, i] + 2 * work[2, i] + work[3, i]
        state[i] += STEP / 6 * slope


@njit(cache=True)
def _balance(weights, n_units, max_steps, start):
    """Return how many control steps a controller keeps both poles up."""
    state, work = np.zeros(6), np.empty((5, 6))
    state[2] = start
    hidden, fresh = np.zeros(n_units), np.zeros(n_units)
    for step in range(max_steps):
        for i in range(n_units):
            row = weights[i * (n_units + 3) : (i + 1) * (n_units + 3)]
            total = 0.0
            for j in range(3):
                total += row[j] * state[2 * j] / SCALE[j]
            for j in range(n_units):
                total += row[3 + j] * hidden[j]
            fresh[i] = np.tanh(total)
        copy_row(fresh, hidden)
        for _ in range(2):  # two steps of 0.01 s for each action
            _runge_kutta(state, FORCE * hidden[0], work)
        if abs(state[0]) > TRACK or abs(state[2]) > FALLEN or abs(state[4]) > FALLEN:
            return step
    return max_steps


@njit(cache=True)
def _balance_all(W, n_units, max_steps, start):
    steps = np.empty(len(W))
    for k in range(len(W)):
        steps[k] = _balance(W[k], n_units, max_steps, start)
    return steps


class DoublePole:
    """Balance two poles on a cart with a recurrent network that sees no velocities.

    Calling it with weights returns minus the number of steps survived, to be minimised.

    Parameters
    ----------
    n_units : int, default=1
        Units of the network; it has n_units (n_units + 3) weights.
    max_steps : int, default=100_000
        Steps of 0.02 s after which the task counts as solved.
    start_angle : float, default=4 degrees
        First angle of the long pole in radians; everything else is at rest.

    Attributes
    ----------
    n_weights : int
        Number of weights.

    Examples
    --------
    >>> from octavo.search import DoublePole, minimize_nes
    >>> task = DoublePole(n_units=1)
    >>> result = minimize_nes(task, [0.0] * task.n_weights, 1.0, ftarget=-task.max_steps,
    ...                       vectorized=True, random_state=0)
    >>> print(-result.fun)
    100000.0
    """

    def __init__(
        self, n_units: int = 1, max_steps: int = 100_000, start_angle: float = START
    ) -> None:
        if n_units < 1 or max_steps < 1:
            raise ValueError(
                f"n_units and max_steps must be positive; got {n_units} and {max_steps}."
            )
        self.n_units, self.max_steps, self.start_angle = n_units, max_steps, start_angle
        self.n_weights = n_units * (n_units + 3)

    def __call__(self, weights: Any) -> Any:
        """Return minus the steps survived, of one controller or of each row."""
        W = np.ascontiguousarray(weights, dtype=float)
        if W.shape[-1] != self.n_weights or W.ndim > 2:
            raise ValueError(f"Expected {self.n_weights} weights; got an array of shape {W.shape}.")
        steps = _balance_all(np.atleast_2d(W), self.n_units, self.max_steps, self.start_angle)
        return -steps if W.ndim == 2 else -float(steps[0])


def _warmup() -> None:
    DoublePole(max_steps=2)([0.0] * 4)
