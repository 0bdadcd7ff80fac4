"""Sparse Bayes kernel machines: chains that suit the small tables of the checks."""

from octavo.kernel import SparseBayesKernelClassifier, SparseBayesKernelRegressor
from tests.conformance.discovery import Case

# Every check fits several times; that long chains have the right law is tested elsewhere.
SHORT = {"n_iter": 60, "burn_in": 20, "thin": 2, "k_max": 10}

CASES = [
    Case(make=lambda: SparseBayesKernelClassifier(**SHORT)),
    Case(make=lambda: SparseBayesKernelRegressor(**SHORT)),
]
