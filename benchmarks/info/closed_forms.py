"""Closed forms beside numerical integration."""

from __future__ import annotations

import numpy as np
from scipy.integrate import dblquad

from benchmarks.harness import Contest
from octavo.info import Normal, analytical_value, quadform_cdf

P, Q = Normal([0, 0], [[1, 0.3], [0.3, 1]]), Normal([0.5, 0], [[1.2, 0], [0, 1.2]])


def closed(pair):
    return analytical_value("divergence", "renyi", *pair, alpha=0.8)


def integrated(pair):
    p, q = pair

    def integrand(x, y):
        point = np.array([[x, y]])
        return float(np.exp(0.8 * p.log_density(point) + 0.2 * q.log_density(point))[0])

    return float(np.log(dblquad(integrand, -7, 7, -7, 7, epsabs=1e-8)[0]) / -0.2)


def same(pair, answers):
    first, second = answers.values()
    assert abs(first - second) < 1e-6
    return f"They differ by {abs(first - second):.0e}."


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


CONTESTS = [
    Contest(
        name="renyi",
        problem="Rényi divergence of two normals in the plane",
        setup=lambda: (P, Q),
        solvers={"octavo analytical_value": closed, "scipy dblquad": integrated},
        agree=same,
        repeats=3,
        no_limit="a closed form of a few numbers: calls of Python",
    ),
    Contest(
        name="quadratic forms",
        problem="Distribution functions of 50 sums of 5 noncentral chi-squares of either sign",
        setup=forms,
        solvers={"octavo quadform_cdf": by_inversion, "scipy quad, Imhof": by_quadrature},
        agree=same_cdf,
        limit="sines and roots: a few hundred nodes an integral",
    ),
]
