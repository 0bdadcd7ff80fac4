"""Entropies beside the bare tree search, SciPy and infomeasure."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import differential_entropy

from benchmarks.harness import Contest
from octavo.engine.probability.neighbours import forget_neighbours
from octavo.info import EbrahimiEntropy, KnnShannonEntropy


def normal(n, d):
    return lambda: np.random.default_rng(0).normal(size=(n, d))


def shannon(X):
    forget_neighbours()  # every repeat searches anew
    return KnnShannonEntropy(n_neighbors=3).estimate(X)


def bare_tree(X):
    return cKDTree(X).query(X, k=4)[0][:, -1]


def theirs(X):
    import infomeasure

    return float(
        infomeasure.entropy(X, approach="metric", k=3, base="e", minkowski_p=2, noise_level=0)
    )


def same_entropy(X, answers):
    ours, other = answers["octavo KnnShannonEntropy"], answers["infomeasure"]
    assert abs(ours - other) < 1e-9
    return f"The two entropies differ by {abs(ours - other):.0e}."


def spacings(x):
    return EbrahimiEntropy(m=300).estimate(x)


def scipy_spacings(x):
    return float(differential_entropy(x, window_length=300, method="ebrahimi"))


def same_spacings(x, answers):
    first, second = answers.values()
    assert abs(first - second) < 1e-9
    return f"They differ by {abs(first - second):.0e}."


CONTESTS = [
    Contest(
        name="shannon",
        problem="Shannon entropy of 100,000 points in 3 dimensions, k = 3",
        setup=normal(100_000, 3),
        solvers={
            "octavo KnnShannonEntropy": shannon,
            "bare cKDTree build and query": bare_tree,
            "infomeasure": theirs,
        },
        agree=same_entropy,
        target="Wanted: no more than 1.2 times the bare search.",
        limit="tree queries; a bare tree is one of the peers",
    ),
    Contest(
        name="wide",
        problem="Shannon entropy of 5,000 points in 40 dimensions, k = 3",
        setup=normal(5000, 40),
        solvers={
            "octavo KnnShannonEntropy": shannon,
            "bare cKDTree build and query": bare_tree,
            "infomeasure": theirs,
        },
        agree=same_entropy,
        repeats=3,
        limit="BLAS: all distances of rows in 40 dimensions",
        flops=2 * 40 * 5000**2,
    ),
    Contest(
        name="spacings",
        problem="Shannon entropy of 100,000 values by spacings (Ebrahimi, m = 300)",
        setup=lambda: np.random.default_rng(0).normal(size=100_000),
        solvers={"octavo EbrahimiEntropy": spacings, "scipy differential_entropy": scipy_spacings},
        agree=same_spacings,
        limit="sorting 100,000 numbers",
    ),
]
