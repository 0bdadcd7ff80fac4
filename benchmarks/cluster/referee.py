"""Overlap by inversion beside simulation, and mixtures on demand."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.cluster import gaussian_overlap, make_overlap_mixture

DRAWS = 20_000


def mixture():
    spec = make_overlap_mixture(10, 5, max_omega=0.1, random_state=0)
    return spec.weights, spec.means, spec.covariances


def by_simulation(problem):
    """Three digits of every pair from 20,000 draws a component."""
    from scipy.stats import multivariate_normal

    weights, means, covs = problem
    rng = np.random.default_rng(0)
    omega = np.empty((len(weights), len(weights)))
    for i in range(len(weights)):
        X = rng.multivariate_normal(means[i], covs[i], size=DRAWS)
        logs = np.array(
            [np.log(w) + multivariate_normal.logpdf(X, m, c) for w, m, c in zip(*problem)]
        )
        omega[i] = np.mean(logs[i] < logs, axis=1)
    np.fill_diagonal(omega, 1.0)
    return omega


def same_overlap(problem, answers):
    gap = float(abs(answers["octavo gaussian_overlap"].omega - answers["20,000 draws"]).max())
    assert gap < 0.02
    return f"Simulation is off by {gap:.1e}, inversion by 1e-9."


def one_mixture(K, p):
    return lambda _: make_overlap_mixture(K, p, max_omega=0.05, random_state=0)


CONTESTS = [
    Contest(
        name="overlap map",
        problem="All 90 overlaps of 10 components in 5 dimensions",
        setup=mixture,
        solvers={
            "octavo gaussian_overlap": lambda problem: gaussian_overlap(*problem),
            "20,000 draws": by_simulation,
        },
        agree=same_overlap,
        limit="sines and roots: a few hundred nodes an integral, 90 integrals",
    ),
    Contest(
        name="mixtures",
        problem="One mixture with a largest overlap of 0.05, by components and dimensions",
        setup=lambda: None,
        solvers={
            "octavo, K = 10, p = 5": one_mixture(10, 5),
            "octavo, K = 10, p = 50": one_mixture(10, 50),
            "octavo, K = 100, p = 10": one_mixture(100, 10),
        },
        repeats=3,
        target="Aim: tens of milliseconds for the first.",
        limit="sines and roots: a few hundred nodes an integral, an integral a pair and step of "
        "the search",
    ),
]
