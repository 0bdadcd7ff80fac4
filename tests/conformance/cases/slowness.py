"""SFA fits in one pass; XSFA reports a step for each source.

Its default degree needs more rows than the small tables of scikit-learn's checks have.
"""

from octavo.decomposition import SFA, XSFA, PolynomialExpansion
from tests.conformance.discovery import Case

CASES = [
    Case(make=SFA, iterative=False),
    Case(make=PolynomialExpansion, iterative=False),
    Case(make=lambda: XSFA(expansion_degree=1, removal_degree=1, random_state=0)),
]
