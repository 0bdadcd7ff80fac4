"""First-order online learners beside scikit-learn and river."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron, SGDClassifier

from benchmarks.harness import Contest
from octavo.online import ALMA, ROMMA, OGDClassifier, OnlinePerceptron, PassiveAggressive

ROWS, COLUMNS, NONZEROS = 100_000, 65_536, 50
RIVER_ROWS = 500


def text_like():
    """Return sparse rows of length 1 and labels of a noisy linear rule."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, COLUMNS, (ROWS, NONZEROS)), axis=1).astype(np.int32)
    pointer = np.arange(0, ROWS * NONZEROS + 1, NONZEROS, dtype=np.int32)
    X = sp.csr_matrix((rng.random(ROWS * NONZEROS), columns.ravel(), pointer), (ROWS, COLUMNS))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1).A1), np.diff(X.indptr))
    y = (X @ rng.normal(size=COLUMNS) + 0.3 * rng.normal(size=ROWS) > 0).astype(int)
    return X, y


def fresh(X):
    """Return a matrix of the same arrays, of which scipy has not yet checked anything."""
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)


def octavo_pass(learner):
    return lambda data: learner.fit(fresh(data[0]), data[1]).coef_


def scikit_learn_pa1(data):
    learner = SGDClassifier(
        loss="hinge",
        penalty=None,
        learning_rate="pa1",
        eta0=1.0,
        max_iter=1,
        tol=None,
        shuffle=False,
        fit_intercept=False,
    )
    return learner.fit(fresh(data[0]), data[1]).coef_


def scikit_learn_perceptron(data):
    learner = Perceptron(max_iter=1, tol=None, shuffle=False, fit_intercept=False)
    return learner.fit(fresh(data[0]), data[1]).coef_


def river_pass(name):
    def run(data):
        from river import linear_model

        X, y = data
        learner = getattr(linear_model, name)()
        for i in range(RIVER_ROWS):
            row = slice(X.indptr[i], X.indptr[i + 1])
            x = dict(zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True))
            learner.learn_one(x, bool(y[i]))
        return learner

    return run


def same_weights(_, answers):
    ours, theirs = answers["octavo PA-I"], answers["scikit-learn SGDClassifier, pa1"]
    gap = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    assert gap < 1e-9
    return f"Weights differ from scikit-learn's by {gap:.1e} at most, relative to the largest."


PLAIN = {"fit_intercept": False}
PROBLEM = f"One pass over {ROWS:,} sparse rows, {COLUMNS:,} columns, {NONZEROS} nonzeros a row"

OTHERS = {
    "octavo perceptron": octavo_pass(OnlinePerceptron(**PLAIN)),
    "octavo ROMMA": octavo_pass(ROMMA(**PLAIN)),
    "octavo aggressive ROMMA": octavo_pass(ROMMA(aggressive=True, **PLAIN)),
    "octavo ALMA": octavo_pass(ALMA(**PLAIN)),
    "octavo OGD": octavo_pass(OGDClassifier(**PLAIN)),
    "octavo PA-I, averaged": octavo_pass(PassiveAggressive("pa1", average=True, **PLAIN)),
    "scikit-learn Perceptron": scikit_learn_perceptron,
}

CONTESTS = [
    Contest(
        name="passive-aggressive",
        problem=f"{PROBLEM}, PA-I, validation included",
        setup=text_like,
        solvers={
            "octavo PA-I": octavo_pass(PassiveAggressive("pa1", **PLAIN)),
            "scikit-learn SGDClassifier, pa1": scikit_learn_pa1,
            "river PAClassifier": river_pass("PAClassifier"),
        },
        agree=same_weights,
        work={
            "octavo PA-I": ROWS * NONZEROS,
            "scikit-learn SGDClassifier, pa1": ROWS * NONZEROS,
            "river PAClassifier": RIVER_ROWS * NONZEROS,
        },
        unit="nonzero",
        target="Aim: at least 0.8 times as fast as scikit-learn, and 100 times river.",
        limit="memory: indices and values of rows, and a random weight each",
        traffic=100_000 * 50 * 12,
    ),
    Contest(
        name="the others",
        problem=f"{PROBLEM}, other first-order rules",
        setup=text_like,
        solvers={**OTHERS, "river Perceptron": river_pass("Perceptron")},
        work={
            **dict.fromkeys(OTHERS, ROWS * NONZEROS),
            "river Perceptron": RIVER_ROWS * NONZEROS,
        },
        unit="nonzero",
        target="Different rules learn from different rows: a rule that updates more costs more.",
        limit="memory: indices and values of rows, and a random weight each",
        traffic=100_000 * 50 * 12,
    ),
]
