"""SFA fits in one pass; XSFA reports a step for each source, and the default counts them."""

from octavo.decomposition import SFA, XSFA, PolynomialExpansion
from tests.conformance.discovery import Case

CASES = [
    Case(make=SFA, iterative=False),
    Case(make=lambda: SFA(expansion="poly2", rank_tol=1e-9), iterative=False),
    Case(make=PolynomialExpansion, iterative=False),
    Case(make=lambda: XSFA(expansion_degree=1, removal_degree=1, random_state=0)),
]
