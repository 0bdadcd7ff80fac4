"""Held-out likelihood of answers beside latent classes, and the time of a fit."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np

from benchmarks.harness import Contest
from octavo.bayes import IBPCategorical
from octavo.data import make_hidden_causes

CLASSES = 8


def answers():
    """Return training and test answers: the 25 items of bfi where they are at hand."""
    path = Path(os.environ.get("OCTAVO_DATA", "missing")) / "mixed-models" / "bfi.csv"
    if path.exists():
        with path.open() as file:
            rows = [row[1:26] for row in list(csv.reader(file))[1:]]
        X = np.array([[np.nan if v == "NA" else float(v) for v in row] for row in rows])
        X = X[~np.isnan(X).any(axis=1)]
    else:
        X = make_hidden_causes(2400, n_columns=25, random_state=0)[0].astype(float)
    X = X[np.random.default_rng(0).permutation(len(X))]
    return X[:1600], X[1600:]


def features(problem):
    train, test = problem
    model = IBPCategorical(
        engine="variational", init="random", max_features=12, n_iter=200, tol=1e-5, random_state=0
    )
    return model.fit(train).score(test)


def latent_classes(problem):
    """Fit latent classes by EM from ten starts, with half a count added to each level."""
    train, test = problem
    levels = [np.unique(column) for column in train.T]
    hot = [np.hstack([X[:, [d]] == v for d, v in enumerate(levels)]) for X in (train, test)]
    sizes, best = np.array([len(v) for v in levels]), (-np.inf, 0.0)
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    for seed in range(10):
        shares = np.random.RandomState(seed).dirichlet(np.ones(CLASSES), len(train))
        for _ in range(100):
            counts = shares.T @ hot[0] + 0.5
            logs = np.log(
                counts / np.repeat(np.add.reduceat(counts, starts, axis=1), sizes, axis=1)
            )
            weights = np.log(shares.mean(axis=0) + 1e-12)
            joint = [h @ logs.T + weights for h in hot]
            rows = [np.logaddexp.reduce(one, axis=1) for one in joint]
            shares = np.exp(joint[0] - rows[0][:, None])
        best = max(best, (float(rows[0].mean()), float(rows[1].mean())))
    return best[1]


def stepmix(problem):
    from stepmix.stepmix import StepMix

    train, test = problem
    model = StepMix(
        CLASSES, measurement="categorical", n_init=10, max_iter=100, random_state=0, progress_bar=0
    )
    return model.fit(train - 1).score(test - 1)


def likelihoods(problem, answers):
    best = max(value for name, value in answers.items() if name != "octavo")
    assert answers["octavo"] >= best
    found = ", ".join(f"{name} {value:.3f}" for name, value in answers.items())
    return f"Held-out log-likelihood of a row: {found}; larger is better."


CONTESTS = [
    Contest(
        name="held-out-answers",
        problem="1,600 rows of 25 answers of six levels, log-likelihood of 836 others",
        setup=answers,
        solvers={
            "octavo": features,
            "latent classes by EM": latent_classes,
            "stepmix StepMix": stepmix,
        },
        agree=likelihoods,
        repeats=1,
        target="a held-out likelihood at least that of latent classes",
        limit="updates of features and weights: rows x features x columns x levels, often",
    ),
]
