"""Tables of scikit-learn's checks are no histograms: rows are divided by their sums."""

from octavo.metric import GroundMetricLearner, HellingerTransformer, OTNeighborsClassifier
from tests.conformance.discovery import Case

CASES = [
    Case(
        make=lambda: GroundMetricLearner(
            normalize=True, max_outer=2, max_inner=10, min_inner=5, random_state=0
        )
    ),
    Case(make=lambda: OTNeighborsClassifier(normalize=True)),
    Case(make=lambda: HellingerTransformer(normalize=True), iterative=False),
]
