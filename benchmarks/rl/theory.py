"""Closed forms of limits beside simulation."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import brm_limit, lstd_limit, make_garnet, value_objectives

LAM = 0.4


def problem():
    garnet = make_garnet(100, 4, 3, 20, random_state=0)
    pi = garnet.random_policy(1)
    return garnet, pi, 0.8 * pi + 0.2 * garnet.random_policy(2)


def simulated(data, n=200_000):
    """LSTD's sums from a long log, in numpy but for the traces."""
    from octavo.rl import LSTD

    garnet, pi, pi0 = data
    log = garnet.sample(n, pi, pi0, random_state=0)
    model = LSTD(garnet.gamma, LAM, off_policy="standard").fit(log)
    return model.A_ / n


def iterated(data):
    """Projected value iteration with the exact model, to 1e-10."""
    garnet, pi, pi0 = data
    exact = value_objectives(garnet, pi, pi0, lam=LAM)
    theta = np.zeros(20)
    while True:
        new = exact.ope_minimiser(theta)
        if np.abs(new - theta).max() < 1e-11:
            return new
        theta = new


def matrices_agree(data, answers):
    exact = answers["octavo"].A
    gap = np.linalg.norm(answers["200,000 steps"] - exact) / np.linalg.norm(exact)
    assert gap < 0.05
    return f"The simulated matrix is off by {gap:.1%}."


def fixed_points_agree(data, answers):
    gap = np.abs(answers["octavo"].theta - answers["projected value iteration"]).max()
    assert gap < 1e-7
    return f"Coefficients differ by {gap:.0e} at most."


CONTESTS = [
    Contest(
        name="simulation",
        problem="matrix of LSTD(0.4), 100 states, 20 features: closed form, or from a log",
        setup=problem,
        solvers={"octavo": lambda data: lstd_limit(*data, LAM), "200,000 steps": simulated},
        agree=matrices_agree,
        repeats=3,
        target="What the closed form saves, where the model is known.",
        limit="LAPACK: one solution of 100 x 100",
        flops=2 / 3 * 100**3,
    ),
    Contest(
        name="fixed point",
        problem="fixed point of the projected operator, 100 states, 20 features, λ = 0.4",
        setup=problem,
        solvers={
            "octavo": lambda data: lstd_limit(*data, LAM),
            "projected value iteration": iterated,
        },
        agree=fixed_points_agree,
        target="Both are exact; iteration is what LSPE does in the limit.",
        limit="LAPACK: one solution of 100 x 100",
        flops=2 / 3 * 100**3,
    ),
    Contest(
        name="residual",
        problem="system of BRM(0.4) beside that of LSTD(0.4), 100 states, 20 features",
        setup=problem,
        solvers={
            "octavo, BRM": lambda data: brm_limit(*data, LAM),
            "octavo, LSTD": lambda data: lstd_limit(*data, LAM),
        },
        target="Both octavo's: what the corrected Theorem 3 costs.",
        limit="LAPACK: one solution of 100 x 100",
        flops=2 / 3 * 100**3,
    ),
]
