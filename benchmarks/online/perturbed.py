"""PROT beside numpy loops, and fractional Brownian motion beside the package fbm."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.data import fbm
from octavo.online import PROT, AdaHedge, fpl_probabilities, prot_constants

FEW = 2_000


def random_game(n_rounds=1_000_000, n_experts=10):
    return np.random.default_rng(0).normal(size=(n_rounds, n_experts))


def quietly(strategy, losses):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return strategy.run(losses)


def prot_by_numpy(losses):
    """Figure 2 with fresh perturbations, a few array operations a round."""
    n_rounds, n_experts = losses.shape
    rng = np.random.default_rng(0)
    factor = np.sqrt(prot_constants(n_experts).K / (1 + np.log(n_experts)))
    totals, volume, own = np.zeros(n_experts), 0.0, np.empty(n_rounds)
    for t in range(n_rounds):
        width = factor * (t + 1) ** -0.25 * volume
        chosen = np.argmin(totals - width * rng.exponential(size=n_experts))
        own[t] = losses[t, chosen]
        totals += losses[t]
        volume += np.abs(losses[t]).max()
    return own


def by_simulation(totals):
    """Probabilities from 100,000 draws: two to three digits."""
    xi = np.random.default_rng(0).exponential(size=(100_000, totals.size))
    return np.bincount(np.argmin(totals - xi, axis=1), minlength=totals.size) / 100_000


def by_quadrature(totals):
    """Adaptive quadrature of scipy, one integral an expert."""
    from scipy.integrate import quad

    q = np.exp(-(totals - totals.min()))

    def probability(i):
        others = np.delete(q, i)
        return q[i] * quad(lambda z: np.prod(1 - others * z), 0, 1, epsabs=1e-13)[0]

    return np.array([probability(i) for i in range(q.size)])


def same_probabilities(totals, answers):
    gap = float(np.abs(answers["octavo fpl_probabilities"] - answers["scipy quad"]).max())
    assert gap < 1e-11
    sampled = float(np.abs(answers["octavo fpl_probabilities"] - answers["100,000 draws"]).max())
    assert sampled < 0.01
    return f"They differ from scipy's by {gap:.1e}, from the simulated ones by {sampled:.1e}."


def fbm_by_package(n):
    from fbm import FBM

    return FBM(n, 0.7, 1.0, method="daviesharte").fbm()


CONTESTS = [
    Contest(
        name="long game",
        problem="1,000,000 rounds with 10 experts, losses normal",
        setup=random_game,
        solvers={
            "octavo PROT.run, expected": lambda losses: quietly(PROT(), losses),
            "octavo PROT.run, random": lambda losses: quietly(
                PROT(derandomize=False, random_state=0), losses
            ),
            "octavo AdaHedge.run": lambda losses: AdaHedge().run(losses),
            "numpy loop, random": lambda losses: prot_by_numpy(losses[:FEW]),
        },
        work={
            "octavo PROT.run, expected": 1_000_000,
            "octavo PROT.run, random": 1_000_000,
            "octavo AdaHedge.run": 1_000_000,
            "numpy loop, random": FEW,
        },
        unit="round",
        target="Aim: 1 µs a round.",
        limit="normal probabilities: a few an expert and round",
    ),
    Contest(
        name="probabilities",
        problem="Probabilities of 50 perturbed leaders",
        setup=lambda: np.random.default_rng(0).exponential(size=50),
        solvers={
            "octavo fpl_probabilities": lambda totals: fpl_probabilities(totals, 1.0),
            "scipy quad": by_quadrature,
            "100,000 draws": by_simulation,
        },
        agree=same_probabilities,
        limit="normal probabilities: nodes of the quadrature",
    ),
    Contest(
        name="fractional Brownian motion",
        problem="A path of 2^18 steps, H = 0.7, by circulant embedding",
        setup=lambda: 2**18,
        solvers={"octavo fbm": lambda n: fbm(n, 0.7, 0), "package fbm": fbm_by_package},
        limit="an FFT of 2^19 numbers",
        flops=5 * 2**19 * 19,
    ),
]
