"""scikit-learn's own checks on every estimator whose input is a table."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.conformance.discovery import table_cases

CASES = table_cases()
INSTANCES = [case.make() for case in CASES]
REASONS = {id(instance): case.expected_failures for instance, case in zip(INSTANCES, CASES)}


@parametrize_with_checks(INSTANCES, expected_failed_checks=lambda e: REASONS.get(id(e), {}))
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([case.full() for case in CASES if case.full])
def test_scikit_learn_check_in_the_usual_size(estimator, check):
    check(estimator)
