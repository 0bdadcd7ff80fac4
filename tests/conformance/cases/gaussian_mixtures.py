"""GMMReduction takes a mixture, not a table."""

import numpy as np

from octavo.bayes import GMMReduction
from tests.conformance.discovery import Case

MIXTURE = ([0.2, 0.3, 0.5], [[0.0], [1.0], [9.0]], [[1.0], [1.0], [1.0]])

CASES = [
    Case(
        make=lambda: GMMReduction(2, random_state=0),
        fit=lambda m: m.fit(MIXTURE),
        query=lambda m: np.concatenate([m.weights_, m.means_.ravel(), m.covariances_.ravel()]),
        bad=[
            ("NaN", lambda m: m.fit((*MIXTURE[:2], [[1.0], [np.nan], [1.0]])), ValueError, "NaN"),
            ("empty", lambda m: m.fit(([], [], [])), ValueError, "weights must be a vector"),
            ("shape", lambda m: m.fit((*MIXTURE[:2], [[1.0]])), ValueError, "covariances must"),
            ("type", lambda m: m.fit("mixture"), TypeError, "a fitted GaussianMixture"),
            ("option", lambda m: m.set_params(tol=-1).fit(MIXTURE), ValueError, "'tol'"),
        ],
        unfitted=[lambda m: m.to_gaussian_mixture()],
    ),
]
