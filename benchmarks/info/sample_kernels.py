"""Gram matrices of distributions, beside kernel densities by hand."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.engine.probability.neighbours import forget_neighbours
from octavo.info import Normal, analytical_value, distribution_gram

FAMILIES = [Normal([m, 0], [[s, 0], [0, s]]) for m in (0, 0.5, 1, 2) for s in (0.7, 1.0, 1.5)]


def clouds():
    return [family.sample(500, seed) for seed, family in enumerate(FAMILIES)]


def ours(samples):
    forget_neighbours()
    return distribution_gram(samples, "bhattacharyya")


def searched_anew(samples):
    forget_neighbours()
    gram = np.empty((len(samples), len(samples)))
    for i, X in enumerate(samples):
        for j, Y in enumerate(samples[: i + 1]):
            forget_neighbours()
            gram[i, j] = gram[j, i] = distribution_gram([X, Y], "bhattacharyya")[0, 1]
    return gram


def kernel_densities(samples):
    """∫√(pq) as the mean of √(q/p) over X, with kernel densities by Scott's rule."""
    from sklearn.neighbors import KernelDensity

    fitted = [KernelDensity(bandwidth=len(X) ** (-1 / 6)).fit(X) for X in samples]
    logs = [[model.score_samples(X) for model in fitted] for X in samples]
    gram = np.array(
        [[np.exp(0.5 * (logs[i][j] - logs[i][i])).mean() for j in range(len(samples))]
         for i in range(len(samples))]
    )  # fmt: skip
    return 0.5 * (gram + gram.T)


def errors(samples, answers):
    truth = np.array(
        [[analytical_value("kernel", "bhattacharyya", p, q) for q in FAMILIES] for p in FAMILIES]
    )
    told = {name: float(np.sqrt(((gram - truth) ** 2).mean())) for name, gram in answers.items()}
    assert told["octavo distribution_gram"] < 0.05
    return "Root mean squared errors: " + ", ".join(f"{k} {v:.3f}" for k, v in told.items()) + "."


CONTESTS = [
    Contest(
        name="gram",
        problem="Bhattacharyya Gram matrix of 12 samples of 500 points in the plane",
        setup=clouds,
        solvers={
            "octavo distribution_gram": ours,
            "octavo, every pair searched anew": searched_anew,
            "kernel densities by hand": kernel_densities,
        },
        agree=errors,
        repeats=3,
        limit="tree queries between all pairs of samples",
    )
]
