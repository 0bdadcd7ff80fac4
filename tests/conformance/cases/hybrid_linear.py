"""The distributed linear models: tables run to convergence; sequences are not a table."""

import numpy as np

from octavo.linear import (
    ConjunctionHasher,
    HybridLinearClassifier,
    HybridLinearRegressor,
    OvercompleteSGD,
    ParallelMiniBatchSGD,
    RepeatedOnlineAveraging,
    WeightedDegreeFeatures,
)
from tests.conformance.discovery import Case

# Equality of weighted and repeated rows is checked to 1e-7 of a prediction: run to the optimum.
TIGHT = {"tol": 0.0, "gtol": 1e-9, "max_iter": 500}
ONLINE = "rows are met one after the other: a row met twice meets weights that it has moved"
WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}
SEQUENCES = ["ACGTAC", "CCGTTT", "ACGGAC"]

CASES = [
    Case(make=lambda: ConjunctionHasher(n_bits=6), iterative=False),
    Case(make=lambda: HybridLinearClassifier(**TIGHT)),
    Case(make=lambda: HybridLinearClassifier(n_shards=3, **TIGHT)),
    Case(make=lambda: HybridLinearRegressor(**TIGHT)),
    Case(make=RepeatedOnlineAveraging, expected_failures=WEIGHTS),
    Case(make=OvercompleteSGD, expected_failures=WEIGHTS),
    Case(make=ParallelMiniBatchSGD, expected_failures=WEIGHTS),
    Case(
        make=lambda: WeightedDegreeFeatures(degree=3),
        fit=lambda t: t.fit(SEQUENCES),
        query=lambda t: t.transform(SEQUENCES).toarray(),
        bad=[
            ("NaN", lambda t: t.fit(["AC", np.nan]), ValueError, "NaN"),
            ("empty", lambda t: t.fit([]), ValueError, "one or more texts"),
            ("shape", lambda t: t.fit([["AC"], ["GT"]]), ValueError, "shape"),
            ("type", lambda t: t.fit([1, 2]), ValueError, "Expected texts"),
            ("option", lambda t: t.set_params(degree=0).fit(SEQUENCES), ValueError, "'degree'"),
        ],
        unfitted=[lambda t: t.transform(SEQUENCES)],
        iterative=False,
    ),
]
