"""Kernel features of the greedy thesis: sizes that suit the small tables of the checks."""

from octavo.kernel import (
    AlaCarteRegressor,
    GreedyFourierFeatures,
    GreedyFourierRegressor,
    NystroemLandmarks,
)
from tests.conformance.discovery import Case

CASES = [
    # More landmarks than rows are an error, and the checks fit tables of a few rows.
    Case(make=lambda: NystroemLandmarks(n_components=3), iterative=False),
    # The default asks for a hundred rows; the checks bring twenty.
    Case(make=lambda: GreedyFourierFeatures(2, 3, min_fold_size=1)),
    Case(make=lambda: GreedyFourierRegressor(2, 3, min_fold_size=1)),
    Case(make=lambda: AlaCarteRegressor(2, 8, 2, restart_iter=5, max_iter=20)),
]
