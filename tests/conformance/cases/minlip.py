"""Survival machines take records of event and time; rankers and ordinal machines take tables."""

import numpy as np

from octavo.survival import (
    CoxRegression,
    MinlipL1,
    MinlipSurvival,
    PLSCox,
    PrincipalComponentCox,
    SurvivalCurveEstimator,
    TransformationFunction,
)
from tests.conformance.discovery import Case

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
TIME = rng.exponential(np.exp(X[:, 0]))
SEEN = rng.random(30) < 0.7
Y = np.array(list(zip(SEEN, TIME)), dtype=[("event", bool), ("time", float)])
U = X[:, 0].copy()
TIMES = np.array([0.3, 1.0])
spoilt = Y.copy()
spoilt["time"][4] = np.nan
CENSORED = Y.copy()
CENSORED["event"] = False


def fit(model):
    return model.fit(X, Y)


def query(model):
    return model.predict(X), model.predict_survival_function(X, TIMES), model.score(X, Y)


def bad(option):
    return [
        ("NaN", lambda m: m.fit(X, spoilt), ValueError, "row 4"),
        ("empty", lambda m: m.fit(X[:0], Y[:0]), ValueError, "0 sample"),
        ("shape", lambda m: m.fit(X, Y[:5]), ValueError, "as many rows"),
        ("type", lambda m: m.fit(X, ["a"] * 30), ValueError, "records"),
        ("option", lambda m: fit(m.set_params(**option)), ValueError, next(iter(option))),
        ("no event", lambda m: m.fit(X, CENSORED), ValueError, "event"),
    ]


def table(make, option, iterative=True):
    return Case(
        make=make,
        fit=fit,
        query=query,
        bad=bad(option),
        unfitted=[lambda m: m.predict(X), lambda m: m.predict_survival_function(X, TIMES)],
        iterative=iterative,
    )


CASES = [
    table(MinlipSurvival, {"pairs": "some"}),
    table(lambda: MinlipSurvival(loss="l2", kernel="rbf"), {"time_transform": "exp"}),
    table(MinlipL1, {"task": "sorting"}, iterative=False),
    table(CoxRegression, {"alpha": -1.0}),
    table(PrincipalComponentCox, {"n_components": 0}),
    table(PLSCox, {"n_components": 0}),
    Case(
        make=TransformationFunction,
        fit=lambda m: m.fit(U, TIME),
        query=lambda m: m.predict(U),
        bad=[
            ("NaN", lambda m: m.fit([0.0, np.nan], [1.0, 2.0]), ValueError, "NaN"),
            ("empty", lambda m: m.fit([], []), ValueError, "0 sample"),
            ("shape", lambda m: m.fit(X, TIME), ValueError, "vector"),
            ("type", lambda m: m.fit(["a", "b"], [1.0, 2.0]), ValueError, "convert"),
            ("option", lambda m: m.fit(U, TIME[:4]), ValueError, "as many rows"),
        ],
        unfitted=[lambda m: m.predict(U)],
    ),
    Case(
        make=SurvivalCurveEstimator,
        fit=lambda m: m.fit(U, Y),
        query=lambda m: m.predict(U, TIMES),
        bad=[
            ("NaN", lambda m: m.fit(U, spoilt), ValueError, "row 4"),
            ("empty", lambda m: m.fit([], Y[:0]), ValueError, "0 sample"),
            ("shape", lambda m: m.fit(X, Y), ValueError, "vector"),
            ("type", lambda m: m.fit(U, ["a"] * 30), ValueError, "records"),
            ("option", lambda m: m.set_params(n_times=0).fit(U, Y), ValueError, "n_times"),
        ],
        unfitted=[lambda m: m.predict(U), lambda m: m.hazard(U)],
    ),
]
