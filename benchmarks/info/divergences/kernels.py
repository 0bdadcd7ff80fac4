"""MMD beside scikit-learn's kernel matrices, the energy distance beside dcor and scipy."""

from __future__ import annotations

import numpy as np
from scipy.stats import energy_distance
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Contest
from benchmarks.info.dependence.distance import same
from octavo.info import MMD, EnergyDistance


def two_samples(n=4000, d=3):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.standard_normal((n, d)) + 0.2


def dense_mmd(data):
    """The unbiased MMD² as one would write it with scikit-learn's kernels."""
    X, Y = data
    n = len(X)
    within = sum((rbf_kernel(Z, gamma=0.5).sum() - n) / (n * (n - 1)) for Z in data)
    return float(within - 2.0 * rbf_kernel(X, Y, gamma=0.5).mean())


def dcor_energy(data):
    import dcor

    return float(dcor.energy_distance(*data))


CONTESTS = [
    Contest(
        name="mmd",
        problem="unbiased MMD², Gaussian kernel, two samples of 4,000, 3 columns",
        setup=two_samples,
        solvers={
            "octavo": lambda data: MMD(bandwidth=1.0).estimate(*data),
            "scikit-learn rbf_kernel": dense_mmd,
        },
        agree=same,
        target="faster than whole matrices, in a hundredth of the memory",
        limit="exponentials: one a pair of rows",
    ),
    Contest(
        name="energy",
        problem="energy distance, two samples of 2,000, 3 columns",
        setup=lambda: two_samples(2000),
        solvers={"octavo": lambda data: EnergyDistance().estimate(*data), "dcor": dcor_energy},
        agree=same,
        repeats=3,
        limit="roots: one a pair of rows",
    ),
    Contest(
        name="energy of columns",
        problem="energy distance, two samples of 100,000, 1 column",
        setup=lambda: two_samples(100_000, 1),
        solvers={
            "octavo": lambda data: EnergyDistance().estimate(*data),
            "scipy": lambda data: energy_distance(data[0][:, 0], data[1][:, 0]) ** 2,
        },
        agree=same,
        limit="sorting 200,000 numbers",
    ),
]
