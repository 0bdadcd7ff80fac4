"""SVMs without offset; weights equal repetitions only where the width does not look at them."""

from octavo.svm import NoOffsetSVC, NoOffsetSVCCV
from tests.conformance.discovery import Case

WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)

CASES = [
    Case(
        make=NoOffsetSVC,
        expected_failures=dict.fromkeys(
            WEIGHTS, 'gamma="scale" looks at the rows, not at their weights, as in SVC'
        ),
    ),
    Case(
        make=lambda: NoOffsetSVC(gamma=0.5, stopping="kkt", tol=1e-12, random_state=0),
        expected_failures={
            "check_class_weight_classifiers": "without an offset the heavy class has no say where "
            "a narrow kernel does not see its samples"
        },
    ),
    Case(
        make=lambda: NoOffsetSVCCV(cv=3, n_alphas=4, n_gammas=4, random_state=0),
        expected_failures=dict.fromkeys(
            WEIGHTS, "folds and grid depend on the number of rows, not on their weights"
        ),
    ),
]
