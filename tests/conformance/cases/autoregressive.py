"""Predictors of the coming graph take a series of matrices."""

import numpy as np

from octavo.network import (
    AutoregressiveLinkPredictor,
    AutoregressiveLinkPredictorCV,
    FactorizedLinkPredictor,
    SparseLowRankDenoiser,
)
from tests.conformance.discovery import Case

SERIES = np.maximum(np.random.RandomState(0).standard_normal((6, 5, 4)), 0.0)
PAIRS = np.array([[0, 3], [4, 1]])


def scores(model):
    return model.predict_scores(PAIRS)


def fit(model):
    return model.fit(SERIES)


def case(make, option, iterative=True):
    named = repr(next(iter(option)))
    return Case(
        make=make,
        fit=fit,
        query=scores,
        bad=[
            ("NaN", lambda m: m.fit(SERIES * np.nan), ValueError, "finite"),
            ("empty", lambda m: m.fit(np.zeros((3, 0, 0))), ValueError, "at least"),
            ("shape", lambda m: m.fit([np.ones((2, 2)), np.ones((3, 2))]), ValueError, "shape"),
            ("type", lambda m: m.fit([np.array([["a"]])]), ValueError, "numbers"),
            ("option", lambda m: fit(m.set_params(**option)), ValueError, named),
        ],
        unfitted=[scores],
        iterative=iterative,
    )


CASES = [
    case(lambda: AutoregressiveLinkPredictor(1e-3, 1e-3, 1e-3, rank=2), {"tau": -1}),
    case(
        lambda: AutoregressiveLinkPredictorCV([1e-3], [1e-3, 1e-4], [1e-3]),
        {"n_splits": 0},
    ),
    case(lambda: FactorizedLinkPredictor(2, 1e-5, kappa=1e-3), {"rank": 0}),
    case(lambda: SparseLowRankDenoiser(0.1, 0.01), {"tau": -1}, iterative=False),
]
