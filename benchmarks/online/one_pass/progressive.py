"""Predict-then-learn evaluation beside river's."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.online import PassiveAggressive, progressive_evaluate

ROUNDS, FEATURES, RIVER_ROUNDS = 100_000, 20, 3_000


def stream():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROUNDS, FEATURES))
    y = (X @ rng.normal(size=FEATURES) + rng.normal(size=ROUNDS) > 0).astype(int)
    return X, y


def octavo_evaluation(data):
    learner = PassiveAggressive("pa1", C=1.0, fit_intercept=False)
    return progressive_evaluate(learner, *data, ticks=np.array([RIVER_ROUNDS, ROUNDS]))


def river_evaluation(data):
    from river import evaluate, linear_model, metrics

    X, y = data
    names = list(range(FEATURES))
    rows = ((dict(zip(names, X[i].tolist(), strict=True)), bool(y[i])) for i in range(RIVER_ROUNDS))
    learner = linear_model.PAClassifier(C=1.0, mode=1, learn_intercept=False)
    return evaluate.progressive_val_score(rows, learner, metrics.Accuracy())


def same_mistakes(_, answers):
    ours = int(answers["octavo progressive_evaluate()"].n_mistakes[0])
    theirs = round((1 - answers["river progressive_val_score()"].get()) * RIVER_ROUNDS)
    assert abs(ours - theirs) <= 1  # river does not score a row before it has seen one
    return f"In the first {RIVER_ROUNDS:,} rounds {ours} mistakes, {theirs} by river's count."


CONTESTS = [
    Contest(
        name="evaluation",
        problem=f"Predict, score, then learn {ROUNDS:,} dense rows of {FEATURES} features, PA-I",
        setup=stream,
        solvers={
            "octavo progressive_evaluate()": octavo_evaluation,
            "river progressive_val_score()": river_evaluation,
        },
        agree=same_mistakes,
        work={
            "octavo progressive_evaluate()": ROUNDS,
            "river progressive_val_score()": RIVER_ROUNDS,
        },
        unit="round",
        target="Aim: 100 times river.",
        limit="latency: a row's step needs the last one's weights",
        traffic=100_000 * 20 * 8,
    ),
]
