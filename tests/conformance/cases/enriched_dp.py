"""Nested mixtures with short chains: what is checked is the door, not the posterior."""

from octavo.bayes import (
    DPMixtureClassifier,
    DPMixtureRegressor,
    EnrichedDPClassifier,
    EnrichedDPRegressor,
)
from tests.conformance.discovery import Case

SHORT = {"n_iter": 120, "burn_in": 40, "random_state": 0}

CASES = [
    Case(make=lambda: EnrichedDPRegressor(**SHORT)),
    Case(make=lambda: EnrichedDPClassifier(**SHORT)),
    Case(make=lambda: DPMixtureRegressor(**SHORT)),
    Case(make=lambda: DPMixtureClassifier(**SHORT)),
]
