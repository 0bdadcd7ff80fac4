"""Segments of a series and of an image, beside mixtures without places and hidden Markov models."""

from __future__ import annotations

import warnings

from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Contest
from octavo.bayes import LogisticStickBreakingMixture
from octavo.data import make_block_image, make_speaker_series


def series():
    return make_speaker_series(random_state=0)


def image():
    return make_block_image(random_state=0)


def ours_on_series(problem):
    X, coords, _ = problem
    return LogisticStickBreakingMixture(10, n_init=1, random_state=0).fit_predict(X, coords)


def ours_on_image(problem):
    X, coords, _ = problem
    model = LogisticStickBreakingMixture(
        10, n_centers=147, n_init=1, max_iter=50, tol=0.0, merge_moves=False, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fifty iterations are the contest
        return model.fit_predict(X, coords)


def dirichlet(problem):
    from sklearn.mixture import BayesianGaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BayesianGaussianMixture(n_components=10, max_iter=500, random_state=0).fit_predict(
            problem[0]
        )


def markov(problem):
    from hmmlearn.hmm import GaussianHMM

    model = GaussianHMM(3, covariance_type="full", n_iter=200, tol=1e-5, random_state=0)
    return model.fit(problem[0]).predict(problem[0])


def agree(problem, answers):
    found = {name: adjusted_rand_score(problem[2], labels) for name, labels in answers.items()}
    return "adjusted Rand index with the truth: " + ", ".join(
        f"{name} {value:.2f}" for name, value in found.items()
    )


CONTESTS = [
    Contest(
        name="speaker-turns",
        problem="488 steps in 13 columns, 3 speakers; octavo and the DP mixture have 10 atoms, the "
        "Markov model is told 3",
        setup=series,
        solvers={
            "octavo": ours_on_series,
            "scikit-learn BayesianGaussianMixture": dirichlet,
            "hmmlearn GaussianHMM": markov,
        },
        agree=agree,
        repeats=3,
        target="under a second",
        limit="BLAS: products of 488 rows with 100 kernels for each gate and iteration",
    ),
    Contest(
        name="block-image",
        problem="1,024 pixels, 10 atoms, 147 kernels, 50 iterations",
        setup=image,
        solvers={"octavo": ours_on_image, "scikit-learn BayesianGaussianMixture": dirichlet},
        agree=agree,
        repeats=3,
        target="under two seconds",
        limit="BLAS: products of 1,024 rows with 147 kernels for each gate and iteration",
    ),
]
