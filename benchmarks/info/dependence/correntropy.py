"""Centred correntropy beside scikit-learn's kernel matrix."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Contest
from benchmarks.info.dependence.distance import same
from octavo.info import CorrentropyCoefficient


def pair(n=4000):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 1))
    return x, x + 0.5 * rng.standard_normal((n, 1))


def dense_coefficient(data):
    """The coefficient as one would write it with scikit-learn's kernels."""
    x, y = data
    K = rbf_kernel(x, y, gamma=0.5)
    own = [1.0 - rbf_kernel(z, gamma=0.5).mean() for z in data]
    return float((np.trace(K) / len(K) - K.mean()) / np.sqrt(own[0] * own[1]))


CONTESTS = [
    Contest(
        name="coefficient",
        problem="correntropy coefficient, n = 4,000",
        setup=pair,
        solvers={
            "octavo": lambda data: CorrentropyCoefficient().estimate(*data),
            "scikit-learn rbf_kernel": dense_coefficient,
        },
        agree=same,
        target="faster than whole matrices, in a hundredth of the memory",
        limit="exponentials: one a pair of rows",
    ),
]
