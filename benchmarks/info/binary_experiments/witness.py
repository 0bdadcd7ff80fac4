"""The witness classifier beside LIBSVM's ν-SVM."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.info import WitnessClassifier

NU, GAMMA = 0.3, 0.1


def clouds():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 1500)
    return rng.normal(size=(3000, 10)) + 0.4 * y[:, None], y


def ours(problem):
    return WitnessClassifier(nu=NU, gamma=GAMMA, tol=1e-6).fit(*problem).objective_


def theirs(problem):
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import NuSVC

    X, _ = problem
    model = NuSVC(nu=NU, gamma=GAMMA, tol=1e-6).fit(*problem)
    beta = model.dual_coef_[0] / np.abs(model.dual_coef_).sum()
    return float(beta @ rbf_kernel(X[model.support_], gamma=GAMMA) @ beta)


def same(problem, answers):
    first, second = answers.values()
    assert abs(first / second - 1) < 1e-3
    return f"Objectives differ by {abs(first / second - 1):.0e}, relative."


CONTESTS = [
    Contest(
        name="nu-svm",
        problem="ν = 0.3 of 3,000 rows with 10 columns, the same objective to 1e-3",
        setup=clouds,
        solvers={"octavo WitnessClassifier": ours, "scikit-learn NuSVC": theirs},
        agree=same,
        repeats=3,
        limit="kernel rows of the active set",
    ),
]
