"""Grouped kernel learning takes tables like any classifier."""

from octavo.kernel import VSKLClassifierCV
from tests.conformance.discovery import Case

CASES = [
    # A small grid: every check fits several times, and what a fit does is checked elsewhere.
    Case(make=lambda: VSKLClassifierCV(Cs=(10.0,), qs=(1, 2), cv=2)),
]
