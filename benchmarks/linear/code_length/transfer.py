"""TransFeat beside a logistic regression with an l1 penalty for each task."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegressionCV

from benchmarks.harness import Contest
from octavo.data import make_word_senses
from octavo.linear import TransFeat


def sample():
    return make_word_senses(random_state=0)


def transfer(words):
    model = TransFeat(similarity=0.4).fit(words.tasks, words.groups)
    return np.array([model.score(*test, task=w) for w, test in enumerate(words.tests)])


def alone(words):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (X, y), test in zip(words.tasks, words.tests):
            model = LogisticRegressionCV(
                Cs=5, cv=3, solver="liblinear", l1_ratios=(1.0,), use_legacy_attributes=False
            )
            found.append(model.fit(X, y).score(*test))
    return np.array(found)


def accuracy(words, answers):
    told = [f"{name}: {a[3:].mean():.2f}" for name, a in answers.items()]
    return "Accuracy on the nine words with 40 rows: " + "; ".join(told) + "."


CONTESTS = [
    Contest(
        name="words",
        problem="12 words, 500 features in 6 groups, 3 words with 400 rows and 9 with 40",
        setup=sample,
        solvers={"octavo TransFeat": transfer, "scikit-learn l1 logistic, 3 folds": alone},
        agree=accuracy,
        repeats=3,
        target="Few features a class without validation; the lasso keeps more and predicts better.",
        limit="BLAS: correlations of all columns with the residuals, a step",
    ),
]
