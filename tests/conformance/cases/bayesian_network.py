"""Bayesian networks are over categories; scikit-learn's checks bring numbers, which are cut."""

import numpy as np

from octavo.graphical import (
    BayesianNetworkStructureLearner,
    DynamicBNLearner,
    NaiveBayesSelect,
    TANClassifier,
)
from tests.conformance.discovery import Case

SEQUENCES = [[[0, 1], [1, 1], [1, 0], [0, 0]], [[1, 0], [0, 1], [0, 0]], [[1, 1], [1, 0]]]

CASES = [
    Case(
        make=lambda: BayesianNetworkStructureLearner(
            discretize="quantile", max_parents=2, on_constant="isolate"
        )
    ),
    Case(make=lambda: TANClassifier(discretize="quantile", handle_unknown="ignore")),
    Case(make=lambda: NaiveBayesSelect(discretize="quantile", handle_unknown="ignore")),
    Case(
        make=DynamicBNLearner,
        fit=lambda m: m.fit(SEQUENCES),
        query=lambda m: (m.parents_, m.score_, m.log_likelihood(SEQUENCES)),
        bad=[
            ("NaN", lambda m: m.fit([[[0, 1], [np.nan, 0]]]), ValueError, "Sequence 0.*NaN"),
            ("empty", lambda m: m.fit([]), ValueError, "no sequence"),
            ("shape", lambda m: m.fit([[[0, 1], [1, 0]], [[0], [1]]]), ValueError, "variables"),
            ("type", lambda m: m.fit(3), TypeError, "list of sequences"),
            ("option", lambda m: m.set_params(criterion="mdl").fit(SEQUENCES), ValueError, "'crit"),
        ],
        unfitted=[lambda m: m.log_likelihood(SEQUENCES), lambda m: m.dag_, lambda m: m.sample()],
    ),
]
