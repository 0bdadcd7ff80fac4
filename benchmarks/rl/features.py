"""Feature maps beside those of scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures, SplineTransformer

from benchmarks.harness import Contest
from octavo.rl import RBFGridFeatures, SquaredFeatures, TileCoding, TriangularFeatures


def states(d):
    return np.random.default_rng(0).uniform(size=(100_000, d))


def sklearn_bumps(X):
    maker = RBFGridFeatures(10, low=0.0, high=1.0).fit(X[:2])
    made = rbf_kernel(X / maker.scale_, maker.centres_ / maker.scale_, gamma=0.5)
    return np.column_stack([made / made.sum(axis=1, keepdims=True), np.ones(len(X))])


def equal(data, answers):
    first, second = answers.values()
    gap = np.abs(first - second).max()
    assert gap < 1e-9
    return f"Features differ by {gap:.0e} at most."


def sklearn_squares(X):
    d = X.shape[1]
    made = PolynomialFeatures(2).fit_transform(X)
    return np.delete(made, range(1, d + 1), axis=1)


def sklearn_tiles(X):
    """One tiling of each variable, where tile coding has eight of both together."""
    maker = KBinsDiscretizer(8, encode="onehot", strategy="uniform", quantile_method="linear")
    return maker.fit_transform(X)


CONTESTS = [
    Contest(
        name="bumps",
        problem="100 normalised Gaussian bumps of 100,000 states of two variables",
        setup=lambda: states(2),
        solvers={
            "octavo": lambda X: RBFGridFeatures(10, low=0.0, high=1.0).fit(X).transform(X),
            "scikit-learn rbf_kernel": sklearn_bumps,
        },
        agree=equal,
        repeats=3,
        target="Aim: no slower.",
        limit="memory bandwidth: the features are written",
        traffic=100_000 * 101 * 8,
    ),
    Contest(
        name="triangles",
        problem="10 triangles along each of two variables, 100,000 states",
        setup=lambda: states(2),
        solvers={
            "octavo": lambda X: TriangularFeatures(10).fit_transform(X),
            "scikit-learn SplineTransformer": lambda X: SplineTransformer(
                n_knots=10, degree=1
            ).fit_transform(X),
        },
        agree=equal,
        repeats=3,
        target="Aim: no slower.",
        limit="memory bandwidth: the features are written",
        traffic=100_000 * 20 * 8,
    ),
    Contest(
        name="squares",
        problem="squares and products of 10 variables, 100,000 states",
        setup=lambda: states(10),
        solvers={
            "octavo": lambda X: SquaredFeatures().fit_transform(X),
            "scikit-learn PolynomialFeatures": sklearn_squares,
        },
        agree=equal,
        repeats=3,
        target="Aim: no slower.",
        limit="memory bandwidth: the features are written",
        traffic=100_000 * 56 * 8,
    ),
    Contest(
        name="tiles",
        problem="100,000 states of two variables: 8 tilings of 8 × 8, or bins of each variable",
        setup=lambda: states(2),
        solvers={
            "octavo": lambda X: TileCoding(8, 8).fit_transform(X),
            "scikit-learn KBinsDiscretizer": sklearn_tiles,
        },
        repeats=3,
        target="Another map: the nearest that scikit-learn has.",
        limit="memory bandwidth: the features are written",
        traffic=100_000 * 8 * 12,
    ),
]
