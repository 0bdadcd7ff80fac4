"""Distance covariance and correlation beside dcor."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.info import DistanceCorrelation, DistanceCovariance


def columns(n=100_000):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 1))
    return x, x**2 + rng.standard_normal((n, 1))


def vectors(n=3000):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    return X, X[:, :2] + rng.standard_normal((n, 2))


def dcor_covariance(data):
    import dcor

    return dcor.distance_covariance(*data)


def dcor_correlation(data):
    import dcor

    return dcor.distance_correlation(*data)


def same(data, answers):
    values = list(answers.values())
    gap = max(abs(value - values[0]) for value in values) / abs(values[0])
    assert gap < 1e-9
    return f"The values differ by a relative {gap:.0e}."


CONTESTS = [
    Contest(
        name="columns",
        problem="distance covariance of two columns, n = 100,000, O(n log n)",
        setup=columns,
        solvers={
            "octavo": lambda data: DistanceCovariance().estimate(*data),
            "dcor": dcor_covariance,
        },
        agree=same,
        target="no slower than dcor",
        limit="sorting, and a merge tree of 100,000",
    ),
    Contest(
        name="vectors",
        problem="distance correlation of 3 and 2 columns, n = 3,000, all pairs",
        setup=vectors,
        solvers={
            "octavo": lambda data: DistanceCorrelation().estimate(*data),
            "dcor": dcor_correlation,
        },
        agree=same,
        repeats=3,
        target="faster than dcor, and without its n × n matrices",
        limit="roots: two a pair of rows",
    ),
]
