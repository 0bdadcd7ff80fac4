"""Overlap by inversion beside simulation, and mixtures on demand."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.cluster import gaussian_overlap, make_overlap_mixture, quadform_cdf

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


def forms():
    rng = np.random.default_rng(0)
    return [
        (rng.normal(size=5) * 2, rng.uniform(0, 3, size=5), float(rng.normal())) for _ in range(50)
    ]


def by_quadrature(problems):
    """Imhof's integral by scipy's adaptive quadrature."""
    from scipy.integrate import quad

    def cdf(weights, ncp, x):
        def integrand(u):
            scaled = weights * u
            theta = 0.5 * np.sum(np.arctan(scaled) + ncp * scaled / (1 + scaled**2)) - 0.5 * x * u
            log_rho = np.sum(0.25 * np.log1p(scaled**2) + 0.5 * ncp * scaled**2 / (1 + scaled**2))
            return np.sin(theta) * np.exp(-log_rho) / u

        return 0.5 - quad(integrand, 0, np.inf, epsabs=1e-8, limit=500)[0] / np.pi

    return np.array([cdf(*problem) for problem in problems])


def by_inversion(problems):
    return np.array([quadform_cdf(x, weights, ncp) for weights, ncp, x in problems])


def same_cdf(problems, answers):
    gap = float(abs(answers["octavo quadform_cdf"] - answers["scipy quad, Imhof"]).max())
    assert gap < 1e-6, gap
    return f"They differ by at most {gap:.1e}."


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
    ),
    Contest(
        name="quadratic forms",
        problem="Distribution functions of 50 sums of 5 noncentral chi-squares of either sign",
        setup=forms,
        solvers={"octavo quadform_cdf": by_inversion, "scipy quad, Imhof": by_quadrature},
        agree=same_cdf,
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
    ),
]
