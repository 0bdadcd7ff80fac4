"""Forest densities beside scikit-learn's Gaussians, and the paper's largest size on a card."""

from __future__ import annotations

import numpy as np
from sklearn.covariance import GraphicalLassoCV
from sklearn.mixture import GaussianMixture

from benchmarks.harness import Contest
from octavo.data import make_connected_subgraphs
from octavo.graphical import ForestDensityEstimator, mutual_information_matrix
from octavo.graphical.forests.grids import HOST, backend_of

N_GENES, N_SUBJECTS = 4238, 295


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


def genes():
    """The size of the paper's HapMap table, simulated."""
    return make_connected_subgraphs(N_GENES, N_SUBJECTS, random_state=0).X.astype(np.float32)


def on_the_card(X):
    return mutual_information_matrix(X, device="cuda")


def as_on_the_host(X, answers):
    """Compare the first hundred columns with the same sums on the host."""
    host = mutual_information_matrix(X[:, :100])
    gap = float(np.abs(answers["octavo on a card"][:100, :100] - host).max())
    assert gap <= 1e-4, gap
    return f"The first hundred columns differ from the host's by {gap:.1e}."


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
if backend_of("auto") is not HOST:
    CONTESTS.append(
        Contest(
            name="the HapMap size",
            problem=f"all pairs of {N_GENES:,} variables, {N_SUBJECTS} rows, grids of 128 x 128",
            setup=genes,
            solvers={"octavo on a card": on_the_card},
            agree=as_on_the_host,
            repeats=2,
            target="Aim: under two minutes (the paper: a day).",
        )
    )
