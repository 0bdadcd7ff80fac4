"""Tables of scikit-learn's checks are no histograms: rows are divided by their sums.

The learner smooths: sums that differ in the last bit (a sparse matrix stored in another way) choose
other plans where several are optimal, and subgradient steps grow that. Exact transport has its
tests in tests/metric/ground.
"""

from octavo.metric import GroundMetricLearner, HellingerTransformer, OTNeighborsClassifier
from tests.conformance.discovery import Case

EMPTY_ROWS = dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
    ),
    "its table has rows of zeros, which are no histograms",
)

CASES = [
    Case(
        make=lambda: GroundMetricLearner(
            normalize=True,
            ot="sinkhorn",
            reg=1.0,
            max_outer=2,
            max_inner=10,
            min_inner=5,
            random_state=0,
        ),
        expected_failures=EMPTY_ROWS,
    ),
    Case(make=lambda: OTNeighborsClassifier(normalize=True), expected_failures=EMPTY_ROWS),
    Case(
        make=lambda: HellingerTransformer(normalize=True),
        expected_failures=EMPTY_ROWS,
        iterative=False,
    ),
]
