"""PrivateKernelClassifier beside random features and logistic regression in scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_circles
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.harness import Contest
from octavo.linear import PrivateKernelClassifier

N, D, ALPHA = 20_000, 100, 1e-3


def circles():
    return make_circles(N, noise=0.12, factor=0.45, random_state=0)


def octavo_fit(data):
    model = PrivateKernelClassifier(
        gamma=1.0, n_components=D, epsilon=np.inf, alpha=ALPHA, tol=1e-8, feature_random_state=0
    )
    return model.fit(*data)


def octavo_private(data):
    model = PrivateKernelClassifier(
        gamma=1.0, n_components=D, epsilon=1.0, alpha=ALPHA, tol=1e-8, feature_random_state=0
    )
    return model.fit(*data)


def sklearn_fit(data):
    linear = LogisticRegression(
        C=1 / (N * ALPHA), fit_intercept=False, solver="newton-cholesky", tol=1e-8
    )
    return make_pipeline(RBFSampler(gamma=1.0, n_components=D, random_state=0), linear).fit(*data)


def equally_good(data, answers):
    scores = {name: model.score(*data) for name, model in answers.items()}
    plain = [scores["octavo, no noise"], scores["scikit-learn RBFSampler + LogisticRegression"]]
    assert abs(plain[0] - plain[1]) < 0.005, scores  # other random features, same size
    return "Accuracy: " + ", ".join(f"{name} {score:.4f}" for name, score in scores.items()) + "."


CONTESTS = [
    Contest(
        name="circles",
        problem="Two noisy circles, 20,000 x 2, 100 random features, Λ = 1e-3, gradient at most "
        "1e-8",
        setup=circles,
        solvers={
            "octavo, no noise": octavo_fit,
            "octavo, ε = 1": octavo_private,
            "scikit-learn RBFSampler + LogisticRegression": sklearn_fit,
        },
        agree=equally_good,
        target="Aim: privacy costs no time.",
        limit="BLAS: two products with 20,000 x 100 features a step",
    ),
]
