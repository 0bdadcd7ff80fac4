"""Samplers of the family with few sweeps, so that scikit-learn's checks take seconds."""

import numpy as np

from octavo.graphical import (
    CSLIM,
    SLIM,
    SLIMDAG,
    SNIM,
    SLIMOrderSearch,
    SparseFactorModel,
    SpikeSlabRegression,
)
from tests.conformance.discovery import Case

X = np.random.default_rng(0).laplace(size=(30, 2)) @ np.array([[1.0, 0.7], [0.0, 1.0]])
FEW = {"n_samples": 60, "burn_in": 20, "random_state": 0}

FEW_ROWS = {
    "check_n_features_in_after_fitting": "its 15 rows are fewer than the 20 of the method",
    "check_estimators_nan_inf": "its 10 finite rows are fewer than the 20 of the method",
}
COLLINEAR = {"check_array_api_input": "its columns are collinear, which identifies no order"}


def bad(option, value):
    return [
        ("NaN", lambda m: m.fit(np.full_like(X, np.inf)), ValueError, "infinity|inf"),
        ("empty", lambda m: m.fit(X[:0]), ValueError, "0 sample"),
        ("shape", lambda m: m.fit(X[:5]), ValueError, "20 rows"),
        ("type", lambda m: m.fit(X.astype(str) + "x"), ValueError, "convert"),
        ("option", lambda m: m.set_params(**{option: value}).fit(X), ValueError, f"'{option}'"),
    ]


CASES = [
    Case(make=lambda: SpikeSlabRegression(**FEW)),
    Case(make=lambda: SparseFactorModel(2, n_rep=20, **FEW), expected_failures=FEW_ROWS),
    Case(make=lambda: SLIMOrderSearch(n_rep=20, **FEW), expected_failures=FEW_ROWS | COLLINEAR),
    Case(make=lambda: SLIMDAG(**FEW), expected_failures=FEW_ROWS | COLLINEAR),
    Case(
        make=lambda: SLIM(n_candidates=2, n_samples=(60, 40), burn_in=(20, 20), random_state=0),
        expected_failures=FEW_ROWS | COLLINEAR,
    ),
    Case(
        make=lambda: SNIM(**FEW),  # all orders: at most six columns
        fit=lambda m: m.fit(X),
        query=lambda m: np.append(m.test_loglik_, m.edge_prob_.ravel()),
        bad=bad("dag_prior", "some"),
        unfitted=[lambda m: m.edge_table()],
    ),
    Case(
        make=lambda: CSLIM(1, **FEW),  # rows are times, and NaN is legal
        fit=lambda m: m.fit(X),
        query=lambda m: m.components_,
        bad=bad("n_components", 0),
        unfitted=[lambda m: m.missing_log_density(X)],
    ),
]
