"""Kullback-Leibler divergence of Gaussian samples by cost curves, witnesses and neighbours."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.engine.probability.neighbours import forget_neighbours
from octavo.info import CostCurveDivergence, KnnKLDivergence, VariationalDivergence


def samples():
    rng = np.random.default_rng(0)
    d = 10
    return rng.normal(1 / np.sqrt(d), 1, size=(5000, d)), rng.normal(size=(5000, d))


def posterior(problem):
    return CostCurveDivergence(method="posterior", random_state=0).fit(*problem).divergence_


def hull(problem):
    return CostCurveDivergence(method="hull", random_state=0).fit(*problem).divergence_


def witness(problem):
    return VariationalDivergence(random_state=0).fit(*problem).divergence_


def neighbours(problem):
    forget_neighbours()
    return KnnKLDivergence(n_neighbors=3).estimate(*problem)


def errors(problem, answers):
    assert abs(answers["octavo CostCurveDivergence, posterior"] - 0.5) < 0.1
    return "; ".join(f"{name}: {value - 0.5:+.3f}" for name, value in answers.items())


CONTESTS = [
    Contest(
        name="gaussians",
        problem="KL = 0.5 of normals in 10 columns, 5,000 rows each; errors below",
        setup=samples,
        solvers={
            "octavo CostCurveDivergence, posterior": posterior,
            "octavo CostCurveDivergence, hull": hull,
            "octavo VariationalDivergence": witness,
            "octavo KnnKLDivergence": neighbours,
        },
        agree=errors,
        repeats=3,
        limit="the fitted posterior: scikit-learn's logistic regression",
    ),
]
