"""Selectors for categories refuse the numbers that scikit-learn's checks bring."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from octavo.graphical import DiscretePCSkeletonUGMS, IsingNeighbourhoodLasso
from tests.conformance.discovery import Case

COINS = np.cumsum(np.random.RandomState(0).uniform(size=(200, 4)) < 0.3, axis=1) % 2
BROKEN = np.where(COINS == 1, np.nan, 0.0)

CASES = [
    Case(
        make=make,
        fit=lambda m: m.fit(COINS),
        query=lambda m: (m.adjacency_, m.alpha_, m.score_),
        bad=[
            ("NaN", lambda m: m.fit(BROKEN), ValueError, "NaN"),
            ("numbers", lambda m: m.fit(0.1 * np.arange(80).reshape(40, 2)), ValueError, "Column"),
            ("empty", lambda m: m.fit(np.empty((0, 4))), ValueError, "0 sample"),
            ("shape", lambda m: m.fit(COINS[:, 0]), ValueError, "2D"),
            ("type", lambda m: m.fit({"coins": 1}), (TypeError, ValueError), "2D|number|float"),
            ("short", lambda m: m.fit(COINS[:2]), ValueError, "minimum of 4"),
            ("option", lambda m: m.set_params(alpha=-1.0).fit(COINS), ValueError, "'alpha'"),
        ],
        unfitted=[check_is_fitted],
    )
    for make in (DiscretePCSkeletonUGMS, IsingNeighbourhoodLasso)
]
