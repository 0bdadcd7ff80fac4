"""Analyses of subspaces have an ``estimator`` that is no scikit-learn estimator; one is complex."""

import numpy as np

from octavo.data import make_subspace_mixture
from octavo.decomposition import (
    ARIndependentSubspaceAnalysis,
    ARXIndependentSubspaceAnalysis,
    ComplexISA,
    IndependentSubspaceAnalysis,
    MAIndependentSubspaceAnalysis,
    MissingARISA,
    NonparametricARISA,
    PostNonlinearISA,
)
from tests.conformance.discovery import Case

PARTS = make_subspace_mixture("letters", n_subspaces=2, n_samples=200, random_state=0).X
MIXTURE = PARTS[:, :2] + 1j * PARTS[:, 2:]
SPOILT = np.where(np.arange(400).reshape(200, 2) == 7, np.nan, MIXTURE)

CASES = [
    Case(make=IndependentSubspaceAnalysis),
    Case(make=lambda: ARIndependentSubspaceAnalysis(optimizer="spectral")),
    Case(make=lambda: ARXIndependentSubspaceAnalysis(optimizer="spectral")),
    Case(
        make=lambda: MAIndependentSubspaceAnalysis(ar_order=1, optimizer="spectral"),
        expected_failures={
            "check_methods_subset_invariance": "a source depends on the mixtures before it",
            "check_methods_sample_order_invariance": "rows are times, in their order",
        },
    ),
    Case(make=lambda: MissingARISA(optimizer="spectral")),
    Case(make=lambda: PostNonlinearISA(optimizer="spectral")),
    Case(make=lambda: NonparametricARISA(optimizer="spectral")),
    Case(
        make=lambda: ComplexISA(subspace_dims=[1, 1], random_state=0),
        fit=lambda m: m.fit(MIXTURE),
        query=lambda m: m.transform(MIXTURE),
        bad=[
            ("NaN", lambda m: m.fit(SPOILT), ValueError, "NaN"),
            ("empty", lambda m: m.fit([]), ValueError, "2 samples or more"),
            ("shape", lambda m: m.fit(MIXTURE).transform(MIXTURE[:, :1]), ValueError, "1 features"),
            ("type", lambda m: m.fit([["a", "b"]] * 5), ValueError, "complex numbers"),
            ("option", lambda m: m.set_params(optimizer="x").fit(MIXTURE), ValueError, "optimizer"),
        ],
        unfitted=[lambda m: m.transform(MIXTURE), lambda m: m.inverse_transform(MIXTURE)],
    ),
]
