"""CLIME refuses a λ that no solution meets."""

from octavo.graphical import CLIME
from tests.conformance.discovery import Case

CASES = [
    Case(
        make=CLIME,
        expected_failures={
            "check_array_api_input": "its data have as many features as samples, where the "
            "default alpha=0.1 is not feasible and fit says so"
        },
    )
]
