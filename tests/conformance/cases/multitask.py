"""Tasks take tables; the graph of binary variables takes tables of 0 and 1 only."""

import numpy as np

from octavo.kernel import MEDIsingStructure, MEDMultitaskPath, MEDMultitaskSVC, NodewiseL1Ising
from tests.conformance.discovery import Case

X = (np.random.default_rng(0).uniform(size=(40, 4)) < 0.5).astype(float)
X[:, 1] = np.where(np.arange(40) % 5 > 0, X[:, 0], X[:, 1])


def case(make, iterative):
    return Case(
        make=make,
        fit=lambda m: m.fit(X),
        query=lambda m: (m.edge_scores_, m.coef_, m.intercept_, m.adjacency(0.3)),
        bad=[
            ("NaN", lambda m: m.fit(np.where(X > 0, np.nan, X)), ValueError, "NaN"),
            ("empty", lambda m: m.fit(X[:0]), ValueError, "0 sample"),
            ("shape", lambda m: m.fit(X[0]), ValueError, "Expected 2D array"),
            ("type", lambda m: m.fit(X.astype(str) + "x"), ValueError, "convert"),
            ("option", lambda m: m.set_params(alpha=-1.0).fit(X), ValueError, "'alpha'"),
            ("values", lambda m: m.fit(2 * X), ValueError, "0 and 1 only"),
        ],
        unfitted=[lambda m: m.adjacency()],
        iterative=iterative,
    )


CASES = [
    # Tight: decision values move with the square root of the gap, and some checks compare digits.
    Case(make=lambda: MEDMultitaskSVC(tol=1e-9)),
    Case(make=lambda: MEDMultitaskSVC("kernels", alpha=5.0, bias=1.0)),
    # A small grid: every check fits several times, and what a fit does is checked elsewhere.
    Case(
        make=lambda: MEDMultitaskPath(alphas=(0, 10), Cs=(1.0,), cv=2, tol=1e-6),
        full=lambda: MEDMultitaskPath(alphas=(0, 10), Cs=(1.0,), cv=2, tol=1e-9),
    ),
    case(MEDIsingStructure, True),
    case(NodewiseL1Ising, False),
]
