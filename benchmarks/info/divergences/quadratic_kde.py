"""Quadratic divergences beside scipy's Gaussian kernel density estimate."""

from __future__ import annotations

import numpy as np
from scipy.stats import gaussian_kde

from benchmarks.harness import Contest
from benchmarks.info.dependence.distance import same
from octavo.info import EuclideanDivergence, EuclideanInformation

WIDTH = 0.3


def two_samples(n=3000):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 1)), rng.normal(0.5, 1, (n, 1))


def scipy_density(x):
    return gaussian_kde(x[:, 0], bw_method=WIDTH / x.std(ddof=1))


def scipy_integrals(data):
    """∫(p − q)² by the closed form that scipy has for products of its densities."""
    p, q = (scipy_density(x) for x in data)
    return float(p.integrate_kde(p) + q.integrate_kde(q) - 2 * p.integrate_kde(q))


def dense_information(data):
    """∫(p − p_x p_y)² from whole kernel matrices."""
    x, y = data
    Ks = [
        np.exp(-((z - z.T) ** 2) / (4 * WIDTH**2)) / np.sqrt(4 * np.pi * WIDTH**2) for z in (x, y)
    ]
    cross = (Ks[0].mean(axis=1) * Ks[1].mean(axis=1)).mean()
    return float((Ks[0] * Ks[1]).mean() - 2 * cross + Ks[0].mean() * Ks[1].mean())


CONTESTS = [
    Contest(
        name="euclidean",
        problem="∫(p − q)² of Parzen densities, two samples of 1,000, 1 column",
        setup=lambda: two_samples(1000),
        solvers={
            "octavo": lambda data: EuclideanDivergence(bandwidth=WIDTH).estimate(*data),
            "scipy gaussian_kde": scipy_integrals,
        },
        agree=same,
        repeats=3,
        limit="exponentials: one a pair of rows",
    ),
    Contest(
        name="information",
        problem="∫(p − p_x p_y)² of Parzen densities, n = 3,000, 1 column each",
        setup=two_samples,
        solvers={
            "octavo": lambda data: EuclideanInformation(bandwidth=WIDTH).estimate(*data),
            "numpy, whole matrices": dense_information,
        },
        agree=same,
        limit="exponentials: one a pair of rows",
    ),
]
