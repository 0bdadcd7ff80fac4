"""Closed forms beside numerical integration."""

from __future__ import annotations

import numpy as np
from scipy.integrate import dblquad

from benchmarks.harness import Contest
from octavo.info import Normal, analytical_value

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


CONTESTS = [
    Contest(
        name="renyi",
        problem="Rényi divergence of two normals in the plane",
        setup=lambda: (P, Q),
        solvers={"octavo analytical_value": closed, "scipy dblquad": integrated},
        agree=same,
        repeats=3,
    )
]
