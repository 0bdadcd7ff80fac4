"""Hottopixx needs a noise level at which its program has a solution on the tables of the checks."""

from octavo.decomposition import Hottopixx
from tests.conformance.discovery import Case

# 2ε = 1 of the norm of each row: any weights will do.
CASES = [Case(make=lambda: Hottopixx(2, 0.5, random_state=0))]
