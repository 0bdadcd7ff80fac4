"""NESSearchCV needs an estimator and a space."""

from sklearn.linear_model import Ridge

from octavo.search import NESSearchCV
from tests.conformance.discovery import Case

CASES = [
    Case(
        make=lambda: NESSearchCV(
            Ridge(), {"alpha": (1e-3, 1e3, "log")}, n_generations=2, cv=2, random_state=0
        ),
        iterative=False,
    )
]
