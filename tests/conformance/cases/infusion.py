"""Learners take an environment; fuzzy bins take rows of error and change."""

import numpy as np

from octavo.rl import CountedModelPolicy, FuzzyBins, PropofolEnv, WatkinsQLambda
from tests.conformance.discovery import Case

ROWS = np.random.default_rng(0).normal(size=(20, 2)) * 10


def patient():
    return PropofolEnv(exploring=True, horizon=50)


BAD = [
    ("NaN", lambda m: m.fit(patient(), np.nan), ValueError, "n_episodes"),
    ("empty", lambda m: m.fit(patient(), 0), ValueError, "n_episodes"),
    ("shape", lambda m: m.fit(np.zeros((3, 2)), 1), ValueError, "reset"),
    ("type", lambda m: m.fit("banana", 1), ValueError, "reset"),
    ("option", lambda m: m.set_params(gamma=2.0).fit(patient(), 1), ValueError, "'gamma'"),
]

CASES = [
    Case(
        make=lambda: WatkinsQLambda(random_state=0),
        fit=lambda m: m.fit(patient(), 5),
        query=lambda m: m.q_table_,
        bad=BAD,
        unfitted=[lambda m: m.predict(ROWS)],
    ),
    Case(
        make=lambda: CountedModelPolicy(random_state=0),
        fit=lambda m: m.fit(patient(), 5),
        query=lambda m: m.q_table_,
        bad=BAD,
        unfitted=[lambda m: m.predict(ROWS)],
    ),
    Case(
        make=FuzzyBins,
        fit=lambda m: m.fit(ROWS),
        query=lambda m: m.transform(ROWS),
        bad=[
            ("NaN", lambda m: m.fit(ROWS * np.nan), ValueError, "NaN"),
            ("empty", lambda m: m.fit(ROWS[:0]), ValueError, "sample"),
            ("shape", lambda m: m.fit(ROWS[:, :1]), ValueError, "width"),
            ("type", lambda m: m.fit("banana"), ValueError, "banana"),
            ("option", lambda m: m.set_params(n_bins=1).fit(ROWS), ValueError, "'n_bins'"),
        ],
        unfitted=[lambda m: m.get_feature_names_out()],
        iterative=False,
    ),
]
