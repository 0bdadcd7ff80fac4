"""HighOrderCRF and HighOrderSemiCRF take sequences, EndMarkEncoder label sequences."""

import numpy as np

from octavo.sequence import EndMarkEncoder, HighOrderCRF, HighOrderSemiCRF
from tests.conformance.discovery import Case

X = [np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 1.0], [0.0, 0.0]])]
Y = [["a", "b", "a"], ["b", "a"]]
SEGMENTS = [[(0, 2, "a"), (2, 3, "b")], [(0, 1, "b"), (1, 2, "a")]]
NAN = [X[0], np.array([[np.nan, 1.0], [0.0, 0.0]])]
MARKS = [["Comma", "None", "Period"], ["None"]]

CASES = [
    Case(
        make=HighOrderCRF,
        fit=lambda model: model.fit(X, Y),
        query=lambda model: np.concatenate([model.coef_.ravel(), *model.predict_marginals(X)[0]]),
        bad=[
            ("NaN", lambda m: m.fit(NAN, Y), ValueError, "sequence 1, position 0, feature 0"),
            ("empty", lambda m: m.fit([], []), ValueError, "X is empty"),
            ("shape", lambda m: m.fit(X, Y[:1]), ValueError, "2 sequences, but y has 1"),
            ("type", lambda m: m.fit("words", Y), ValueError, "X must be sequences"),
            ("option", lambda m: m.set_params(solver="x").fit(X, Y), ValueError, "'solver'"),
            (
                "lengths",
                lambda m: m.fit(np.vstack(X), Y, lengths=[3, 3]),
                ValueError,
                "lengths add up to 6",
            ),
        ],
        unfitted=[
            lambda m: m.predict(X),
            lambda m: m.predict_marginals(X),
            lambda m: m.kbest(X, 2),
            lambda m: m.sample(X),
            lambda m: m.score(X, Y),
        ],
    ),
    Case(
        make=HighOrderSemiCRF,
        fit=lambda model: model.fit(X, SEGMENTS),
        query=lambda model: np.concatenate([model.coef_.ravel(), *model.predict_marginals(X)[0]]),
        bad=[
            ("NaN", lambda m: m.fit(NAN, SEGMENTS), ValueError, "sequence 1, position 0"),
            ("empty", lambda m: m.fit([], []), ValueError, "X is empty"),
            ("shape", lambda m: m.fit(X, SEGMENTS[:1]), ValueError, "2 sequences, but segments"),
            ("type", lambda m: m.fit(X, [["a"], ["b"]]), ValueError, "start, stop, label"),
            ("option", lambda m: m.set_params(alpha=-1).fit(X, SEGMENTS), ValueError, "'alpha'"),
        ],
        unfitted=[
            lambda m: m.predict(X),
            lambda m: m.predict_marginals(X),
            lambda m: m.kbest(X, 2),
            lambda m: m.sample(X),
            lambda m: m.score(X, SEGMENTS),
        ],
    ),
    Case(
        make=EndMarkEncoder,
        fit=lambda encoder: encoder.fit(MARKS),
        query=lambda encoder: [part.tolist() for part in encoder.transform(MARKS)],
        bad=[
            ("NaN", lambda e: e.fit([["None", float("nan")]]), ValueError, "nan is not a label"),
            ("empty", lambda e: e.fit([["None"], []]), ValueError, "sequence 1 is empty"),
            ("shape", lambda e: e.fit(["None"], [2]), ValueError, "lengths add up to 2"),
            ("type", lambda e: e.fit("None"), ValueError, "list of label sequences"),
            ("option", lambda e: e.set_params(separator=1).fit(MARKS), ValueError, "'separator'"),
        ],
        unfitted=[lambda e: e.transform(MARKS), lambda e: e.inverse_transform(MARKS)],
    ),
]
