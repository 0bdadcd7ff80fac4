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
        fit=lambda model: model.fit([0.0]),
        query=lambda model: model.mean_,
        bad=[
            ("mean of the wrong shape", lambda m: m.fit([[0.0]], [[1.0]]), ValueError, "shapes"),
            ("indefinite start", lambda m: m.fit([0.0], [[-1.0]]), ValueError, "positive"),
        ],
    ),
]
