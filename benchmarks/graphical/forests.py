"""Forest densities beside scikit-learn's Gaussians."""

from __future__ import annotations

import numpy as np
from sklearn.covariance import GraphicalLassoCV
from sklearn.mixture import GaussianMixture

from benchmarks.harness import Contest
from octavo.data import make_connected_subgraphs
from octavo.graphical import ForestDensityEstimator


def bent_rows():
    """800 rows to fit and 1,000 to judge by, 100 variables, uniform margins."""
    X = make_connected_subgraphs(100, 1800, "uniform", random_state=0).X
    return X[:800], X[800:]


def forest(data):
    return ForestDensityEstimator(holdout=np.arange(400, 800)).fit(data[0]).score(data[1])


def lasso(data):
    return GraphicalLassoCV(cv=2).fit(data[0]).score(data[1])


def mixture(data):
    return GaussianMixture(1, random_state=0).fit(data[0]).score(data[1])


def likelihoods(data, answers):
    """Say how likely each finds the rows that it has not seen; the forest must lead."""
    assert answers["octavo ForestDensityEstimator"] == max(answers.values())
    return "Mean log-likelihood of new rows: " + ", ".join(
        f"{name} {score:.1f}" for name, score in answers.items()
    )


CONTESTS = [
    Contest(
        name="a hundred variables",
        problem="100 variables, 400 rows a half, uniform margins",
        setup=bent_rows,
        solvers={
            "octavo ForestDensityEstimator": forest,
            "scikit-learn GraphicalLassoCV": lasso,
            "scikit-learn GaussianMixture": mixture,
        },
        agree=likelihoods,
        repeats=1,
        target="Aim: under 10 seconds, and the best likelihood of new rows.",
        limit="products of matrices: two thirds of the time",
    ),
]
