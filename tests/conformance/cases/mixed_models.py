"""Mixed models on scikit-learn's check data.

The default family of `VariationalMixedModel` counts, and refuses the numbers that these checks feed
it; the Gaussian family takes them. `GaussianVariational` fits a function, not a table.
"""

import numpy as np

from octavo.bayes import (
    GaussianVariational,
    HeteroscedasticAdditiveRegressor,
    OSullivanSplines,
    VariationalMixedModel,
)
from tests.conformance.discovery import Case

START = np.zeros(1)


def S_and_grads(mu, Sigma):
    """One count of 3 with a normal prior."""
    w = np.exp(mu[0] + Sigma[0, 0] / 2)
    S = 3 * mu[0] - w - (mu[0] ** 2 + Sigma[0, 0]) / 2
    return S, np.array([3 - w - mu[0]]), np.array([[-(w + 1) / 2]])


CASES = [
    Case(make=lambda: VariationalMixedModel("gaussian")),
    Case(make=lambda: HeteroscedasticAdditiveRegressor(n_basis=4, max_iter=60)),
    Case(make=lambda: OSullivanSplines(n_basis=4)),
    Case(
        make=lambda: GaussianVariational(S_and_grads),
        fit=lambda m: m.fit(START),
        query=lambda m: m.sample_posterior(5, random_state=0),
        bad=[
            ("NaN", lambda m: m.fit([np.nan]), ValueError, "NaN"),
            ("empty", lambda m: m.fit([]), ValueError, "0 sample"),
            ("shape", lambda m: m.fit([[0.0]], [[1.0]]), ValueError, "shapes"),
            ("type", lambda m: m.fit("start"), ValueError, "could not convert|dtype"),
            ("option", lambda m: m.set_params(tol=-1).fit(START), ValueError, "'tol'"),
            ("indefinite start", lambda m: m.fit(START, [[-1.0]]), ValueError, "positive"),
        ],
        unfitted=[lambda m: m.sample_posterior()],
    ),
]
