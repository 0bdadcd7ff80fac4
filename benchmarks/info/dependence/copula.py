"""Copula dependence beside the same sums over whole arrays."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from benchmarks.info.dependence.distance import same
from octavo.engine.probability.copula import pseudo_observations
from octavo.info import HoeffdingPhi, SchweizerWolffSigma


def normal_pair(n=2000):
    rng = np.random.default_rng(0)
    return rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n)


def dense_phi(X):
    """Hoeffding's Φ² over an n × n × d array of maxima."""
    U = pseudo_observations(X)
    volumes = (1 - np.maximum(U[:, None], U[None])).prod(axis=2)
    return float(90 * (volumes.mean() - (1 - U**2).prod(axis=1).mean() / 2 + 1 / 9))


def dense_sigma(X):
    """Schweizer and Wolff's σ by comparing all points of the grid with all samples."""
    n = len(X)
    ranks = np.rint(pseudo_observations(X) * (n + 1)).astype(int)
    grid = np.arange(1, n + 1)
    below = [(ranks[:, j, None] <= grid).astype(np.float64) for j in range(2)]
    copula = below[0].T @ below[1] / n
    return float(12 * np.abs(copula - np.outer(grid, grid) / n**2).sum() / (n**2 - 1))


CONTESTS = [
    Contest(
        name="phi",
        problem="Hoeffding's Φ², two columns, n = 2,000",
        setup=normal_pair,
        solvers={
            "octavo": lambda X: HoeffdingPhi(squared=True).estimate(X),
            "numpy, whole arrays": dense_phi,
        },
        agree=same,
        limit="sorting two columns, and all pairs of rows",
    ),
    Contest(
        name="sigma",
        problem="Schweizer and Wolff's σ on the n × n grid, n = 2,000",
        setup=normal_pair,
        solvers={
            "octavo": lambda X: SchweizerWolffSigma().estimate(X),
            "numpy, matrix product": dense_sigma,
        },
        agree=same,
        limit="memory bandwidth: counts on the n x n grid",
        traffic=2 * 2000**2 * 8,
    ),
]
