"""TransFeat takes a list of tasks; the others take tables, some in more than one setting."""

import numpy as np

from octavo.linear import MICClassifier, MICGroup, MICRegressor, MICSelector, TransFeat
from tests.conformance.discovery import Case

rng = np.random.default_rng(0)
ROWS = rng.standard_normal((3, 40, 6))
CODES = (ROWS[:, :, 0] + 0.2 * ROWS[:, :, 1] > 0).astype(int)
TASKS = [(ROWS[i], CODES[i]) for i in range(3)]
SPOILT = [(np.where(ROWS[0] > 2, np.nan, ROWS[0]), CODES[0])]


def query(model):
    return np.concatenate([model.decision_function(ROWS[i], i).ravel() for i in range(3)])


CASES = [
    Case(make=MICSelector),
    Case(make=lambda: MICSelector("full", cov=0.5)),
    Case(make=MICRegressor),
    Case(make=lambda: MICRegressor("independent", coef_bits="zscore", variance="plugin")),
    Case(make=MICClassifier),
    Case(make=MICGroup),
    Case(make=lambda: MICGroup(scheme="subset", search="forward-backward")),
    Case(
        make=TransFeat,
        fit=lambda model: model.fit(TASKS, [0, 0, 0, 1, 1, 1]),
        query=query,
        bad=[
            ("NaN", lambda m: m.fit(SPOILT), ValueError, "NaN"),
            ("empty", lambda m: m.fit([]), ValueError, "tasks is empty"),
            ("shape", lambda m: m.fit([(ROWS[0], CODES[0][:5])]), ValueError, "inconsistent"),
            ("type", lambda m: m.fit("words"), ValueError, "list of pairs"),
            ("option", lambda m: m.set_params(a=-1.0).fit(TASKS), ValueError, "'a'"),
            ("groups", lambda m: m.fit(TASKS, [0, 1]), ValueError, "each of the 6 features"),
        ],
        unfitted=[
            lambda m: m.predict(ROWS[0], 0),
            lambda m: m.decision_function(ROWS[0], 0),
            lambda m: m.score(ROWS[0], CODES[0], 0),
        ],
        iterative=False,
    ),
]
