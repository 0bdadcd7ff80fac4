"""GMMReduction beside a smaller mixture fitted to the data again."""

from __future__ import annotations

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks.harness import Contest
from octavo.bayes import GMMReduction


def points(n=50_000, d=4, kinds=8):
    """Points of eight kinds, and a mixture of 64 components of them."""
    rng = np.random.default_rng(0)
    centers = 6 * rng.normal(size=(kinds, d))
    X = centers[rng.integers(0, kinds, n)] + rng.normal(size=(n, d))
    mixture = GaussianMixture(64, covariance_type="full", max_iter=20, random_state=0, tol=1e-2)
    return X, mixture.fit(X[:10_000])


def reduce(problem):
    reduced = GMMReduction(8, random_state=0).fit(problem[1])
    return reduced.to_gaussian_mixture()


def fit_again(problem):
    return GaussianMixture(8, n_init=10, random_state=0).fit(problem[0])


def scores(problem, answers):
    found = {name: model.score(problem[0]) for name, model in answers.items()}
    return "Mean log-likelihood: " + ", ".join(f"{k} {v:.3f}" for k, v in found.items()) + "."


CONTESTS = [
    Contest(
        name="reduction",
        problem="Eight components from a mixture of 64 (4 features), or from its 50,000 points",
        setup=points,
        solvers={
            "octavo GMMReduction": reduce,
            "scikit-learn GaussianMixture on the data": fit_again,
        },
        agree=scores,
        repeats=3,
        target="Ten starts each.",
        limit="expected log densities of 64 components under 8, an iteration",
    ),
]
