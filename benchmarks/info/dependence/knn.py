"""KSG mutual information beside scikit-learn and infomeasure."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.engine.probability.neighbours import forget_neighbours
from octavo.info import KSGMutualInformation


def correlated():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 1))
    y = 0.8 * x + 0.6 * rng.normal(size=(20_000, 1))
    return x / x.std(), y / y.std()  # scikit-learn scales by the deviation


def ours(problem):
    forget_neighbours()
    return KSGMutualInformation(n_neighbors=3).estimate(*problem)


def scikit_learn(problem):
    from sklearn.feature_selection import mutual_info_regression

    x, y = problem
    return float(mutual_info_regression(x, y[:, 0], n_neighbors=3, random_state=0)[0])


def theirs(problem):
    import infomeasure

    x, y = problem
    return float(
        infomeasure.mutual_information(
            x[:, 0], y[:, 0], approach="metric", k=3, base="e", noise_level=0
        )
    )


def same(problem, answers):
    values = list(answers.values())
    spread = max(values) - min(values)
    assert spread < 1e-6, answers
    return f"They differ by {spread:.0e} nats (scikit-learn adds noise of 1e-10)."


CONTESTS = [
    Contest(
        name="ksg",
        problem="KSG mutual information of two variables, 20,000 points, k = 3",
        setup=correlated,
        solvers={"octavo": ours, "scikit-learn": scikit_learn, "infomeasure": theirs},
        agree=same,
        repeats=3,
        limit="tree queries",
    )
]
