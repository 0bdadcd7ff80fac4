"""Minimax probability machines on scikit-learn's check data.

Some of these data have classes of one distribution: there no hyperplane guarantees the default
accuracy of 0.8 to a class, and `BiasedMPM` raises. The instance here takes what is possible.
"""

from octavo.svm import (
    BiasedMPM,
    HighProbabilityMPM,
    HighProbabilityMPMCV,
    MinimaxProbabilityMachine,
    MinimumErrorMPM,
)
from tests.conformance.discovery import Case

CASES = [
    Case(make=MinimaxProbabilityMachine),
    Case(make=lambda: MinimaxProbabilityMachine(kernel="rbf")),
    Case(make=HighProbabilityMPM),
    Case(make=lambda: HighProbabilityMPM(kernel="rbf", bias="accuracy")),
    Case(make=lambda: HighProbabilityMPM(norm="l1")),
    Case(make=HighProbabilityMPMCV),
    Case(make=lambda: BiasedMPM(on_infeasible="warn")),
    Case(make=MinimumErrorMPM),
]
