"""Decisions by losses beside tuning a threshold on the cost."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import Contest
from octavo.bayes import BayesRiskClassifier

LOSS = np.array([[0.0, 1.0], [20.0, 0.0]])


def patients():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, test_size=0.5, random_state=0)


def gain(y, decided):
    return -LOSS[decided, y].mean()


def inner():
    return make_pipeline(StandardScaler(), LogisticRegression())


def ours(data):
    X, X_new, y, _ = data
    return BayesRiskClassifier(inner(), LOSS).fit(X, y).predict(X_new)


def tuned(data):
    X, X_new, y, _ = data
    model = TunedThresholdClassifierCV(inner(), scoring=make_scorer(gain), random_state=0)
    return model.fit(X, y).predict(X_new)


def costs(data, answers):
    found = {name: float(LOSS[decided, data[3]].mean()) for name, decided in answers.items()}
    assert max(found.values()) < LOSS[:, data[3]].mean(axis=1).max()
    return "; ".join(f"{name}: mean loss {cost:.3f}" for name, cost in found.items()) + "."


CONTESTS = [
    Contest(
        name="losses",
        problem="284 patients, a miss costs 20 false alarms: one fit and the decisions on as many",
        setup=patients,
        solvers={"octavo": ours, "scikit-learn, tuned threshold": tuned},
        agree=costs,
        target="the time of one fit",
        limit="the wrapped classifier",
    ),
]
