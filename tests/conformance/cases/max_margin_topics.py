"""Topic models count words: whole numbers, not the tables of scikit-learn's checks."""

import numpy as np

from octavo.bayes import (
    BayesianLinearSVM,
    BayesianLinearSVR,
    GibbsLDA,
    GibbsMedLDAClassifier,
    GibbsMedLDAMultilabel,
    GibbsMedLDARegressor,
)
from tests.conformance.discovery import Case

SHORT = {"n_topics": 2, "n_iter": 6, "n_avg": 2, "random_state": 0}
X = np.array([[3, 1, 0], [2, 2, 0], [0, 1, 4], [0, 2, 3], [1, 1, 1]])
LABELS = np.array([0, 0, 1, 1, 0])
NUMBERS = np.array([0.1, 0.3, 1.0, 1.2, 0.5])
SETS = np.array([[1, 0], [1, 1], [0, 1], [0, 1], [1, 0]])

BAD_COUNTS = [
    ("fractions", lambda m, y: m.fit(X * 0.5, y), ValueError, "whole number"),
    ("negative", lambda m, y: m.fit(-X, y), ValueError, "negative"),
    ("NaN", lambda m, y: m.fit(np.where(X > 3, np.nan, X), y), ValueError, "NaN"),
    ("empty", lambda m, y: m.fit(X * [[1], [0], [1], [1], [1]], y), ValueError, "Row 1 of X has"),
    ("shape", lambda m, y: m.fit(X[0], y), ValueError, "2D array"),
    ("type", lambda m, y: m.fit("words", y), ValueError, "scalar|could not convert|2D"),
    ("option", lambda m, y: m.set_params(n_topics=0).fit(X, y), ValueError, "'n_topics'"),
]


def case(cls, y, query):
    bad = [
        (label, lambda m, act=act: act(m, y), kind, words) for label, act, kind, words in BAD_COUNTS
    ]
    return Case(
        make=lambda: cls(**SHORT),
        fit=lambda m: m.fit(X, y),
        query=query,
        bad=bad,
        unfitted=[lambda m: query(m), lambda m: m.continue_fit(1), lambda m: m.top_words()],
    )


CASES = [
    case(GibbsLDA, None, lambda m: m.transform(X)),
    case(GibbsMedLDAClassifier, LABELS, lambda m: m.decision_function(X)),
    case(GibbsMedLDARegressor, NUMBERS, lambda m: m.predict(X)),
    case(GibbsMedLDAMultilabel, SETS, lambda m: m.decision_function(X)),
    Case(make=lambda: BayesianLinearSVM(n_iter=60, burn_in=20)),
    Case(make=lambda: BayesianLinearSVR(n_iter=60, burn_in=20)),
    Case(make=lambda: BayesianLinearSVM(method="map", fit_intercept=True)),
]
