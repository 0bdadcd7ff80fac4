"""Multivariate Spearman beside scipy's, pair by pair."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from benchmarks.harness import Contest
from benchmarks.info.dependence.distance import same
from octavo.info import SpearmanRho4


def normal_columns(n=100_000, d=5):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 1)) + rng.standard_normal((n, d))


def scipy_pairs(X):
    R = spearmanr(X).statistic
    d = len(R)
    return float((R.sum() - d) / (d * (d - 1)))


CONTESTS = [
    Contest(
        name="pairs",
        problem="mean Spearman's ρ of 5 columns, n = 100,000",
        setup=normal_columns,
        solvers={"octavo": lambda X: SpearmanRho4().estimate(X), "scipy spearmanr": scipy_pairs},
        agree=same,
        limit="sorting five columns of 100,000",
    ),
]
