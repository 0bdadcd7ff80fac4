"""RecurrentClassifier and the search classifiers take sequences or grids."""

import numpy as np

from octavo.structured import HCSearchClassifier, OutputSpaceSearchClassifier, RecurrentClassifier
from tests.conformance.discovery import Case

X = [np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 1.0], [0.0, 0.0]])]
Y = [["a", "b", "a"], ["b", "a"]]
NAN = [X[0], np.array([[np.nan, 1.0], [0.0, 0.0]])]


def bad(option):
    return [
        ("NaN", lambda m: m.fit(NAN, Y), ValueError, "sequence 1, position 0, feature 0"),
        ("empty", lambda m: m.fit([], []), ValueError, "X is empty"),
        ("shape", lambda m: m.fit(X, Y[:1]), ValueError, "X has 2 sequences"),
        ("type", lambda m: m.fit("words", Y), ValueError, "X must be a list of arrays"),
        ("option", lambda m: m.set_params(**{option: "x"}).fit(X, Y), ValueError, option),
        (
            "lengths",
            lambda m: m.fit(np.vstack(X), ["a", "b", "a", "b", "a"], [3, 3]),
            ValueError,
            "lengths add up to 6",
        ),
    ]


CASES = [
    Case(
        make=lambda: RecurrentClassifier(random_state=0),
        fit=lambda model: model.fit(X, Y),
        query=lambda model: [part.tolist() for part in model.predict(X)],
        bad=bad("trainer"),
        unfitted=[
            lambda m: m.predict(X),
            lambda m: m.score(X, Y),
            lambda m: m.imitation_errors(X, Y),
        ],
        iterative=False,
    ),
    *(
        Case(
            make=lambda cls=cls: cls(n_epochs=4, random_state=0),
            fit=lambda model: model.fit(X, Y),
            query=lambda model: model.cost_coef_,
            bad=bad("space"),
            unfitted=[
                lambda m: m.predict(X),
                lambda m: m.predict_anytime(X),
                lambda m: m.cost(X, Y),
                lambda m: m.score(X, Y),
            ],
        )
        for cls in (OutputSpaceSearchClassifier, HCSearchClassifier)
    ),
]
