"""Intersection trees and min-hash tables insist on zeros and ones: no table of the checks is.

What is built on the trees takes any table.
"""

import numpy as np

from octavo.linear import (
    InteractionFeatures,
    MinHashPrevalence,
    RandomIntersectionTrees,
    RITClassifier,
)
from tests.conformance.discovery import Case

X = (np.random.default_rng(0).random((60, 6)) < 0.4).astype(float)
Y = np.arange(60) % 2
X[1:30:2, :2] = 1.0
NAN = np.where(X == 1, np.nan, X)

CASES = [
    Case(
        make=lambda: RandomIntersectionTrees(60, branching=1.5, theta0=0.3, random_state=0),
        fit=lambda m: m.fit(X, Y),
        query=lambda m: m.transform(X).toarray(),
        bad=[
            ("NaN", lambda m: m.fit(NAN, Y), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.empty((0, 6)), []), ValueError, "0 sample"),
            ("shape", lambda m: m.fit(X[0], Y), ValueError, "2D array"),
            ("type", lambda m: m.fit(2 * X, Y), ValueError, "0 and 1 alone"),
            ("option", lambda m: m.set_params(n_trees=0).fit(X, Y), ValueError, "'n_trees'"),
        ],
        unfitted=[lambda m: m.transform(X), lambda m: m.top()],
    ),
    Case(
        make=lambda: MinHashPrevalence(20, random_state=0),
        fit=lambda m: m.fit(X),
        query=lambda m: m.estimate([(0, 1), (2,)]),
        bad=[
            ("NaN", lambda m: m.fit(NAN), ValueError, "NaN"),
            ("empty", lambda m: m.fit(np.empty((0, 6))), ValueError, "0 sample"),
            ("shape", lambda m: m.fit(X[0]), ValueError, "2D array"),
            ("type", lambda m: m.fit(2 * X), ValueError, "0 and 1 alone"),
            ("option", lambda m: m.set_params(n_hashes=0).fit(X), ValueError, "'n_hashes'"),
        ],
        unfitted=[lambda m: m.estimate([(0,)])],
        iterative=False,
    ),
    # Few trees: every check fits several times, and what a fit does is checked elsewhere.
    Case(make=lambda: RITClassifier(50), full=RITClassifier),
    Case(make=lambda: InteractionFeatures(n_trees=50), full=InteractionFeatures),
]
