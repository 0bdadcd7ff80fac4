"""EventFeatures takes a log; the eliminations need a model; MetaCost and LogitBoost are tables'."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from octavo.linear import (
    APBlender,
    BackwardElimination,
    ClickLog,
    EventFeatures,
    IterativeElimination,
    LogitBoost,
    MetaCost,
    RotationForest,
    StratifiedBootstrapForest,
)
from tests.conformance.discovery import Case

CLICKS = {
    "publisherid": ["a", "b"] * 6,
    "numericip": list(range(100, 106)) * 2,
    "clicktime": list(range(0, 1200, 100)),
    "deviceua": ["x", None, "y"] * 4,
}


def fit(features):
    return features.fit(ClickLog.from_frame(CLICKS))


def query(features):
    return features.to_array(ClickLog.from_frame(CLICKS))


def wrong(features, **changed):
    return features.fit(ClickLog.from_frame(CLICKS | changed))


CASES = [
    Case(
        make=EventFeatures,
        fit=fit,
        query=query,
        bad=[
            ("NaN", lambda f: wrong(f, numericip=np.full(12, np.nan)), ValueError, "floats"),
            (
                "empty",
                lambda f: wrong(f, **{name: [] for name in CLICKS}),
                ValueError,
                "at least one click",
            ),
            ("shape", lambda f: wrong(f, numericip=[1]), ValueError, "differ in length"),
            ("type", lambda f: f.fit([[1.0]]), TypeError, "ClickLog"),
            ("option", lambda f: fit(f.set_params(bin="fortnight")), ValueError, "bin must be"),
        ],
        unfitted=[
            lambda f: f.transform(ClickLog.from_frame(CLICKS)),
            lambda f: f.get_feature_names_out(),
        ],
        iterative=False,
    ),
    Case(make=lambda: BackwardElimination(LogisticRegression(), scorer="accuracy", random_state=0)),
    Case(
        make=lambda: IterativeElimination(LogisticRegression(), scorer="accuracy", random_state=0)
    ),
    Case(make=lambda: MetaCost(random_state=0)),
    Case(make=lambda: LogitBoost(20, random_state=0)),
    # Few and light members: every check fits several times; what a fit does is checked elsewhere.
    Case(make=lambda: RotationForest(5, random_state=0)),
    Case(make=lambda: StratifiedBootstrapForest(5, random_state=0)),
    Case(
        make=lambda: APBlender(
            [("linear", LogisticRegression()), ("bayes", GaussianNB())], cv=2, random_state=0
        )
    ),
]
