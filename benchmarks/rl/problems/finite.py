"""Benchmark problems beside scipy's integrator and Riccati solver."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import solve_discrete_are

from benchmarks.harness import Contest
from octavo.rl import make_cart_pole, solve_lqr
from octavo.rl.problems import swing_up


def starts(n=40):
    rng = np.random.default_rng(0)
    states = np.zeros((n, 4))
    states[:, 0] = rng.uniform(-np.pi, np.pi, n)
    return states, swing_up._balancing_gain(), np.zeros((n, 5))


def octavo_episodes(data):
    states, gain, noise = data
    return swing_up._episodes(states, noise.shape[1], gain, noise)[:, -1]


def scipy_episodes(data):
    """The same episodes by Dormand and Prince's method to 1e-6, a call a step."""
    states, gain, noise = data
    ends = []
    for state in states:
        here = state.copy()
        for _ in range(noise.shape[1]):
            force = swing_up._meant_force(here, gain)

            def rates(_, s, force=force):
                turn, slide = swing_up._accelerations(s[0], s[1], s[3], force)
                return [s[1], turn, s[3], slide]

            here = solve_ivp(rates, (0, 0.15), here, rtol=1e-6, atol=1e-8).y[:, -1]
            here[0] = (here[0] + np.pi) % (2 * np.pi) - np.pi
        ends.append(here)
    return np.array(ends)


def ends_agree(data, answers):
    gap = np.abs(answers["octavo"] - answers["scipy solve_ivp"]).max()
    assert gap < 0.01
    return f"Episodes end within {gap:.0e} of each other, in radians and metres."


def riccati(data):
    root = np.sqrt(data.gamma)
    M = solve_discrete_are(root * data.F, root * data.G, data.Q, data.N)
    inner = data.N + data.gamma * data.G.T @ M @ data.G
    return -np.linalg.solve(inner, data.gamma * data.G.T @ M @ data.F)


def gains_agree(data, answers):
    gap = np.abs(answers["octavo"] - answers["scipy solve_discrete_are"]).max()
    assert gap < 1e-6
    return f"Gains differ by {gap:.0e} at most."


CONTESTS = [
    Contest(
        name="swing-up",
        problem="40 episodes of 5 steps of the cart-pole swing-up, without noise",
        setup=starts,
        solvers={"octavo": octavo_episodes, "scipy solve_ivp": scipy_episodes},
        agree=ends_agree,
        repeats=3,
        target="Aim: 100 times an integrator that is called step by step.",
        limit="sines: four stages a step, in order",
    ),
    Contest(
        name="optimal gains",
        problem="gains of the cart-pole's optimal policy, four variables",
        setup=lambda: make_cart_pole().system,
        solvers={
            "octavo": lambda s: solve_lqr(s.F, s.G, s.Q, s.N, s.gamma),
            "scipy solve_discrete_are": riccati,
        },
        agree=gains_agree,
        target="octavo polishes scipy's solution; it also takes costless actions.",
        no_limit="matrices of four variables: calls of Python",
    ),
]
