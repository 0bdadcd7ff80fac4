"""Ensembles draw rows at random; what repeats a row changes the draw."""

from octavo.svm import EnsembleSVC
from tests.conformance.discovery import Case

DRAWN = "samples are drawn by row number: weights and repeated rows draw different samples"
CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)

CASES = [
    Case(make=lambda: EnsembleSVC(5), expected_failures=dict.fromkeys(CHECKS, DRAWN)),
    # One machine on all rows draws nothing: weights are repetitions there.
    Case(
        make=lambda: EnsembleSVC(
            1, max_samples=1.0, replace=False, gamma=0.1, tol=1e-10, aggregation="mean"
        )
    ),
    Case(
        make=lambda: EnsembleSVC(5, sampling="balanced", aggregation="logistic", gamma=0.1),
        expected_failures=dict.fromkeys(CHECKS, DRAWN),
    ),
]
