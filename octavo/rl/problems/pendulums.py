"""Poles to balance: the linearised cart-pole and a chain of actuated links.

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, sections 3.1.4 and 3.1.5 (benchmarks 5 to 8, 11 and 12).
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.rl.problems.linear_control import LinearProblem, LinearSystem

__all__ = ["make_cart_pole", "make_n_link_pendulum"]

_G = 9.81
_POLE, _CART, _LENGTH, _FRICTION = 0.5, 0.5, 0.6, 0.1  # kg, kg, m, N s/m


def _physical_cart_pole(dt):
    """Return F and G from the equations of motion, linearised about the upright pole.

    With ψ the angle by which the pole leans towards positive x,
    ψ¨ = (6(M+m)gψ − 6(a − bẋ)) / (l(4(M+m) − 3m)) and
    ẍ = (4(a − bẋ) − 3mgψ) / (4(M+m) − 3m).
    """
    m, M, l, b = _POLE, _CART, _LENGTH, _FRICTION
    k = 4 * (M + m) - 3 * m
    rate = np.zeros((4, 4))
    rate[0, 1] = rate[2, 3] = 1.0
    rate[1, 0], rate[1, 3] = 6 * (M + m) * _G / (l * k), 6 * b / (l * k)
    rate[3, 0], rate[3, 3] = -3 * m * _G / k, -4 * b / k
    push = np.array([0.0, -6.0 / (l * k), 0.0, 4.0 / k])
    return np.eye(4) + dt * rate, dt * push[:, None]


def _published_cart_pole(dt):
    """Return F and G as the survey prints them, with friction on the pole's velocity.

    There, gravity is missing in the second row, 3m stands for 3m cos², and the published program
    leaves out the time step in the friction of the last row.
    """
    m, M, l, b = _POLE, _CART, _LENGTH, _FRICTION
    k = 4 * M - m
    F = np.eye(4)
    F[0, 1] = F[2, 3] = dt
    F[1, 0], F[1, 1] = dt * 3 * (M + m) / (l * k), 1 + dt * 3 * b / (l * k)
    F[3, 0], F[3, 1] = dt * 3 * m * _G / k, -4 * b / k
    return F, dt * np.array([[0.0], [-3.0 / (l * k)], [0.0], [4.0 / k]])


@checked
def make_cart_pole(features="imperfect", *, off_policy=False, variant="physical", normalize=True):
    """Make the linearised cart-pole balancing problem (benchmarks 5 to 8).

    The state is the angle of the pole, its velocity, the position of the cart and its velocity;
    the policy is the optimal one for the cost 100ψ² + x² + a²/10, with noise.

    Parameters
    ----------
    features : {"imperfect", "perfect"}, default="imperfect"
        A constant and the squares of the four variables, or all products of two of them as well,
        which represent the value exactly.
    off_policy : bool, default=False
        Whether the data come from a policy with ten times the variance on its actions (0.01
        instead of 0.001; on-policy the actions have no noise).
    variant : {"physical", "as_published"}, default="physical"
        The equations of motion, or the matrices that the survey prints.
    normalize : bool, default=True
        Whether features have mean zero and variance one.

    Returns
    -------
    LinearProblem
        The problem.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, section 3.1.4.

    Examples
    --------
    >>> from octavo.rl import make_cart_pole
    >>> make_cart_pole("perfect", off_policy=True)
    LinearProblem(cart-pole, off-policy, 11 features)
    """
    if features not in ("imperfect", "perfect"):
        raise ValueError(f"features must be 'imperfect' or 'perfect', got {features!r}.")
    if variant not in ("physical", "as_published"):
        raise ValueError(f"variant must be 'physical' or 'as_published', got {variant!r}.")
    F, G = _physical_cart_pole(0.1) if variant == "physical" else _published_cart_pole(0.1)
    system = LinearSystem(
        F, G, np.diag([100.0, 0.0, 1.0, 0.0]), [[0.1]], np.diag([0.0, 0.0, 0.0, 0.01]), 0.95
    )
    return LinearProblem(
        system,
        0.001 if off_policy else 0.0,
        0.01 if off_policy else None,
        interactions=features == "perfect",
        normalize=normalize,
        name="cart-pole",
    )


@checked
def make_n_link_pendulum(
    n_links=20, *, off_policy=False, mass=0.5, length=0.6, normalize=True, n_states=4000
):
    """Make the balancing problem of a chain of links with a motor in each joint (11 and 12).

    Parameters
    ----------
    n_links : int, default=20
        Number of links; the state has an angle and a velocity for each.
    off_policy : bool, default=False
        Whether the data come from a policy with twice the variance on its actions (0.01 instead
        of 0.005).
    mass, length : float, default=0.5, 0.6
        Of each link, in kg and m. The survey's text says 1 and 5; the published program has these.
    normalize : bool, default=True
        Whether features have mean zero and variance one.
    n_states : int, default=4000
        States at which the objectives are evaluated.

    Returns
    -------
    LinearProblem
        The problem, with the squares of all variables and a constant as features.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, section 3.1.5.

    Examples
    --------
    >>> from octavo.rl import make_n_link_pendulum
    >>> make_n_link_pendulum(3)
    LinearProblem(3-link pendulum, on-policy, 7 features)
    """
    if n_links < 1:
        raise ValueError(f"n_links must be at least 1, got {n_links!r}.")
    dt, n = 0.1, n_links
    index = np.arange(1, n + 1)
    inertia = length**2 * mass * (n + 1 - np.maximum.outer(index, index))
    gravity = np.diag(-_G * length * mass * (n + 1.0 - index))
    inverse = np.linalg.inv(inertia)
    eye, zero = np.eye(n), np.zeros((n, n))
    F = np.block([[eye, dt * eye], [-dt * inverse @ gravity, eye]])
    G = np.vstack([zero, dt * inverse])
    system = LinearSystem(F, G, np.diag(np.repeat([1.0, 0.0], n)), zero, 0.01 * np.eye(2 * n), 0.95)
    return LinearProblem(
        system,
        0.005 if off_policy else 0.01,
        0.01 if off_policy else None,
        interactions=False,
        normalize=normalize,
        name=f"{n}-link pendulum",
        n_states=n_states,
    )
