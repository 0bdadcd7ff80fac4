"""Analyses of subspaces have an ``estimator`` that is no scikit-learn estimator."""

from octavo.info import IndependentSubspaceAnalysis
from tests.conformance.discovery import Case

CASES = [
    Case(make=IndependentSubspaceAnalysis),
]
