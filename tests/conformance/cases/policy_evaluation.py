"""Policy evaluators take transitions, not a table."""

import numpy as np

from octavo.rl import (
    BRM,
    FPKF,
    GPTD,
    GTD,
    GTD2,
    KTD,
    LSPE,
    LSTD,
    TD,
    TDC,
    ResidualGradient,
)
from tests.conformance.discovery import Case

STATES = np.random.default_rng(0).normal(size=(41, 3))
REWARDS = np.random.default_rng(1).normal(size=40)
START = np.arange(40) % 10 == 0
SPOILT = np.where(np.arange(40) == 7, np.nan, REWARDS)


def fit(model):
    return model.fit(STATES[:-1], REWARDS, STATES[1:], start=START)


def query(model):
    return np.concatenate([model.coef_, model.predict(STATES), [model.trace_ess_]])


BAD = [
    ("NaN", lambda m: m.fit(STATES[:-1], SPOILT, STATES[1:]), ValueError, "NaN"),
    ("empty", lambda m: m.fit(STATES[:0], REWARDS[:0], STATES[:0]), ValueError, "0 sample"),
    ("shape", lambda m: m.fit(STATES[:-1], REWARDS[1:], STATES[1:]), ValueError, "one entry"),
    ("type", lambda m: m.fit(STATES[:-1], ["a"] * 40, STATES[1:]), ValueError, "numbers"),
    ("option", lambda m: fit(m.set_params(gamma=1.5)), ValueError, "'gamma'"),
]

CASES = [
    Case(make=cls, fit=fit, query=query, bad=BAD, unfitted=[lambda m: m.predict(STATES)])
    for cls in (TD, GTD, GTD2, TDC, ResidualGradient, LSTD, LSPE, FPKF, BRM, GPTD, KTD)
]
