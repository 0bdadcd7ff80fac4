"""Second-order online learners beside a loop in numpy, scikit-learn and river."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.harness import Contest
from benchmarks.online.one_pass.first_order import NONZEROS, PROBLEM, ROWS, fresh, text_like
from octavo.online import AROW, NHERD, SCW, ConfidenceWeighted

ROUNDS, FEATURES = 141_691, 22
LOOP_ROUNDS, RIVER_ROUNDS = 10_000, 5_000


def ijcnn1_like():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROUNDS, FEATURES))
    y = (X @ rng.normal(size=FEATURES) + 3 * rng.normal(size=ROUNDS) > 0).astype(int)
    return X, y


def octavo_dense(learner):
    return lambda data: learner.fit(*data)


def octavo_sparse(learner):
    return lambda data: learner.fit(fresh(data[0]), data[1])


def numpy_arow(data):
    """AROW as one would write it with numpy."""
    X, y = data
    w, sigma = np.zeros(FEATURES), np.eye(FEATURES)
    for x, label in zip(X[:LOOP_ROUNDS], 2.0 * y[:LOOP_ROUNDS] - 1.0, strict=True):
        loss = 1.0 - label * (w @ x)
        if loss > 0.0:
            image = sigma @ x
            beta = 1.0 / (x @ image + 1.0)
            w += loss * beta * label * image
            sigma -= beta * np.outer(image, image)
    return w


def scikit_learn_sgd(data):
    return SGDClassifier(max_iter=1, tol=None, shuffle=False).fit(*data)


def scikit_learn_sparse(data):
    return SGDClassifier(max_iter=1, tol=None, shuffle=False).fit(fresh(data[0]), data[1])


def river_logistic(data):
    from river import linear_model

    X, y = data
    learner = linear_model.LogisticRegression()
    names = list(range(FEATURES))
    for i in range(RIVER_ROUNDS):
        learner.learn_one(dict(zip(names, X[i].tolist(), strict=True)), bool(y[i]))
    return learner


def same_weights(data, answers):
    X, y = data
    short = AROW(fit_intercept=False).fit(X[:LOOP_ROUNDS], y[:LOOP_ROUNDS])
    gap = float(np.abs(short.coef_[0] - answers["AROW in numpy"]).max())
    assert gap < 1e-9
    return f"After {LOOP_ROUNDS:,} rounds weights differ from the numpy loop's by {gap:.1e}."


PLAIN = {"fit_intercept": False, "covariance": "full"}

WHOLE = {
    "octavo AROW": octavo_dense(AROW(**PLAIN)),
    "octavo SCW": octavo_dense(SCW(**PLAIN)),
    "octavo CW": octavo_dense(ConfidenceWeighted(**PLAIN)),
    "octavo NHERD": octavo_dense(NHERD(**PLAIN)),
    "scikit-learn SGDClassifier (first order)": scikit_learn_sgd,
}

CONTESTS = [
    Contest(
        name="full covariance",
        problem=f"One pass over {ROUNDS:,} dense rows of {FEATURES} features, full covariance",
        setup=ijcnn1_like,
        solvers={
            **WHOLE,
            "AROW in numpy": numpy_arow,
            "river LogisticRegression (first order)": river_logistic,
        },
        agree=same_weights,
        work={
            **dict.fromkeys(WHOLE, ROUNDS),
            "AROW in numpy": LOOP_ROUNDS,
            "river LogisticRegression (first order)": RIVER_ROUNDS,
        },
        unit="round",
        target="Aim: at most 1 µs a round. No maintained package has these rules.",
        limit="memory bandwidth within the cache: a 22 x 22 matrix is read and changed a row",
    ),
    Contest(
        name="diagonal covariance",
        problem=f"{PROBLEM}, diagonal covariance, validation included",
        setup=text_like,
        solvers={
            "octavo AROW": octavo_sparse(AROW()),
            "octavo SCW": octavo_sparse(SCW()),
            "scikit-learn SGDClassifier (first order)": scikit_learn_sparse,
        },
        work=dict.fromkeys(
            ("octavo AROW", "octavo SCW", "scikit-learn SGDClassifier (first order)"),
            ROWS * NONZEROS,
        ),
        unit="nonzero",
        target="A second-order learner reads and writes a variance beside every weight.",
        limit="memory: indices and values of rows, and a random weight and variance each",
        traffic=100_000 * 50 * 12,
    ),
]
