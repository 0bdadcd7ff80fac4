"""Predictors and clusterers of signed networks take a graph."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from octavo.network import (
    ExponentialPredictor,
    HigherOrderCycleClassifier,
    ImbalancePredictor,
    SignedCompletion,
    SignedSpectralClustering,
)
from tests.conformance.discovery import Case

SIGNS = np.array([1, 1, 1, -1, -1, -1, 1, -1])
NETWORK = np.outer(SIGNS, SIGNS) * (1 - np.eye(8))
NETWORK[0, 5] = NETWORK[5, 0] = 0
PAIRS = np.array([[0, 5], [1, 2], [3, 7]])


def fit(model):
    return model.fit(NETWORK)


def case(make, option, query, unfitted=None):
    named = repr(next(iter(option)))
    return Case(
        make=make,
        fit=fit,
        query=query,
        bad=[
            ("NaN", lambda m: m.fit(NETWORK * np.nan), ValueError, "finite"),
            ("empty", lambda m: m.fit(np.zeros((0, 0))), ValueError, "at least one link"),
            ("shape", lambda m: m.fit(np.ones((3, 5))), ValueError, "square"),
            ("type", lambda m: m.fit([[0, "a"], ["a", 0]]), ValueError, "real numbers"),
            (
                "option",
                lambda m: fit(m.set_params(**option)),
                ValueError,
                named,
            ),
        ],
        unfitted=[unfitted or query],
    )


CASES = [
    case(lambda: ImbalancePredictor(), {"order": 2}, lambda m: m.decision_function(PAIRS)),
    case(lambda: HigherOrderCycleClassifier(), {"order": 2}, lambda m: m.decision_function(PAIRS)),
    case(
        lambda: ExponentialPredictor(2, random_state=0),
        {"rank": 0},
        lambda m: m.decision_function(PAIRS),
    ),
    case(
        lambda: SignedCompletion(2, random_state=0),
        {"rank": 0},
        lambda m: m.decision_function(PAIRS),
    ),
    case(
        lambda: SignedSpectralClustering(2, random_state=0),
        {"method": "some"},
        lambda m: m.labels_,
        check_is_fitted,  # it has no method that needs a fit
    ),
]
