"""A pass of the unbiased objective beside an EM step of scikit-learn's mixture."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks.harness import Contest
from octavo.bayes.generative_ssl.gaussians import DiagonalGaussians
from octavo.bayes.generative_ssl.objectives import make_goal
from octavo.bayes.generative_ssl.solvers import penalized

ROWS, CLASSES, FEATURES, STEPS = 200_000, 10, 100, 3


def rows():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (ROWS, FEATURES))
    means = rng.uniform(-0.5, 0.5, (CLASSES, FEATURES))
    return X, means


def ours(problem):
    """Evaluate objective and gradient as often as the mixture steps."""
    X, means = problem
    model = DiagonalGaussians(CLASSES, FEATURES)
    log_vars = np.full(means.shape, np.log(0.3))
    theta = np.concatenate([np.zeros(CLASSES), means.ravel(), log_vars.ravel()])
    goal = make_goal("unbiased", np.arange(1000) % CLASSES, ROWS, np.ones(1000), CLASSES)
    for _ in range(STEPS):
        value, slope = penalized(model, goal, X, theta)
    return value, slope


def mixture(problem):
    X, means = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianMixture(
            CLASSES,
            covariance_type="diag",
            max_iter=STEPS,
            tol=0.0,
            means_init=means,
            weights_init=np.full(CLASSES, 1 / CLASSES),
            precisions_init=np.full(means.shape, 1 / 0.3),
            init_params="random",
        ).fit(X)


CONTESTS = [
    Contest(
        name="generative-ssl-pass",
        problem="three passes over 200,000 rows, 10 classes, 100 features, axis-aligned Gaussians",
        setup=rows,
        solvers={"octavo": ours, "sklearn GaussianMixture": mixture},
        repeats=3,
        target="at most twice the time of an EM step",
        limit="BLAS: four products of rows and classes a pass",
    ),
]
