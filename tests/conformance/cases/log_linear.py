"""Log-linear networks are over integer codes: no table of scikit-learn's checks is."""

import numpy as np

from octavo.graphical import (
    BLMMarkovNetwork,
    DellaPietraMarkovNetwork,
    DependencyNetwork,
    DTPlusL1MarkovNetwork,
    DTSLMarkovNetwork,
    L1MarkovNetwork,
    ProbabilityTree,
)
from tests.conformance.discovery import Case

rng = np.random.default_rng(0)
X = rng.integers(0, 2, (80, 4))
X[:, 3] = X[:, 0] ^ (rng.random(80) < 0.1)
NAN = np.where(X == 1, np.nan, X)
TREES = {"kappa": 0.1, "features": "prune", "weight_sd": 1.0}


def case(make, option, name, **more):
    return Case(
        make=make,
        fit=lambda m: m.fit(X),
        query=lambda m: (m.score(X), m.sample(3, random_state=0)),
        bad=[
            ("NaN", lambda m: m.fit(NAN), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.empty((0, 4))), ValueError, "0 sample"),
            ("shape", lambda m: m.fit(X[0]), ValueError, "2D array"),
            ("type", lambda m: m.fit(X + 0.5), ValueError, "must be integers"),
            ("option", lambda m: m.set_params(**option).fit(X), ValueError, name),
        ],
        unfitted=[lambda m: m.score(X), lambda m: m.sample(), lambda m: m.log_partition()],
        **more,
    )


CASES = [
    case(lambda: DTSLMarkovNetwork(**TREES), {"kappa": 2.0}, "'kappa'"),
    case(lambda: L1MarkovNetwork(0.1, weight_sd=1.0, random_state=0), {"rule": "xor"}, "'rule'"),
    case(lambda: DTPlusL1MarkovNetwork(0, C=0.1, **TREES), {"C": 0.0}, "'C'"),
    case(lambda: BLMMarkovNetwork(**TREES), {"power": 0}, "'power'"),
    case(lambda: DellaPietraMarkovNetwork(5), {"alpha": -1.0}, "'alpha'"),
    case(lambda: DependencyNetwork(0.1), {"leaf_prior": 0.0}, "'leaf_prior'"),
    Case(
        make=lambda: ProbabilityTree(0.1),
        fit=lambda m: m.fit(X, 3),
        query=lambda m: m.predict_proba(X),
        bad=[
            ("NaN", lambda m: m.fit(NAN, 3), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.empty((0, 4)), 3), ValueError, "0 sample"),
            ("shape", lambda m: m.fit(X[0], 3), ValueError, "2D array"),
            ("type", lambda m: m.fit(X + 0.5, 3), ValueError, "must be integers"),
            ("option", lambda m: m.set_params(kappa=0.0).fit(X, 3), ValueError, "'kappa'"),
        ],
        unfitted=[lambda m: m.predict_proba(X)],
        iterative=False,
    ),
]
