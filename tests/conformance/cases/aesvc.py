"""The machines of approximate extreme points on scikit-learn's check data.

A grid of 84 cells on every check would take minutes; two cells run the same code.
"""

from octavo.svm import AESVCCV
from tests.conformance.discovery import Case

CASES = [Case(make=lambda: AESVCCV([1.0, 32.0], [0.1], cv=2))]
