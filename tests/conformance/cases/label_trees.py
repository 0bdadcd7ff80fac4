"""Label trees take a table of labels, at least two of them: not scikit-learn's single targets."""

import numpy as np

from octavo.structured import MaxMarginTrees, RandomSpanningTreeMultiLabel, SpanningTreeMultiLabel
from tests.conformance.discovery import Case

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = (X @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(30, 4)) > 0).astype(int)
MISSING = np.where(X > 1.5, np.nan, X)

BAD = [
    ("NaN", lambda m: m.fit(MISSING, Y), ValueError, "NaN"),
    ("empty", lambda m: m.fit(X[:0], Y[:0]), ValueError, "0 sample"),
    ("shape", lambda m: m.fit(X, Y[:7]), ValueError, "inconsistent"),
    ("type", lambda m: m.fit("words", Y), ValueError, "scalar|could not convert|2D"),
    ("option", lambda m: m.set_params(C=-1.0).fit(X, Y), ValueError, "'C'"),
    ("one label", lambda m: m.fit(X, Y[:, :1]), ValueError, "at least two labels"),
    ("classes", lambda m: m.fit(X, 2 * Y), ValueError, "0 and 1 only"),
]


def case(make):
    return Case(
        make=make,
        fit=lambda m: m.fit(X, Y),
        query=lambda m: m.predict_certified(X)[0],
        bad=BAD,
        unfitted=[
            lambda m: m.predict(X),
            lambda m: m.predict_certified(X),
            lambda m: m.labelling_scores(X, Y),
            lambda m: m.score(X, Y),
        ],
    )


CASES = [
    case(lambda: SpanningTreeMultiLabel(tol=1e-2, random_state=0)),
    case(lambda: SpanningTreeMultiLabel("rbf", update="closed", tol=1e-2, random_state=0)),
    case(lambda: RandomSpanningTreeMultiLabel(3, tol=1e-2, random_state=0)),
    case(lambda: MaxMarginTrees(3, tol=1e-2, random_state=0)),
]
