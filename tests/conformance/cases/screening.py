"""ScreenedSearchCV needs an estimator and a space; ClauseLearner takes facts and examples."""

from sklearn.linear_model import Ridge

from octavo.search import ClauseLearner, ScreenedSearchCV
from tests.conformance.discovery import Case

FACTS = [("parent", "ann", "eve"), ("parent", "tom", "sue"), ("female", "eve"), ("female", "sue")]
GOOD = [("daughter", "eve", "ann"), ("daughter", "sue", "tom")]
BAD = [("daughter", "ann", "eve"), ("daughter", "sue", "ann")]

CASES = [
    Case(
        make=lambda: ScreenedSearchCV(
            Ridge(),
            {"alpha": (1e-1, 1e1, "log"), "tol": (1e-5, 1e-3)},
            cv=2,
            max_iter=2,
            random_state=0,
        ),
        iterative=False,
    ),
    Case(
        make=ClauseLearner,
        fit=lambda m: m.fit(FACTS, GOOD, BAD),
        query=lambda m: m.predict(GOOD + BAD),
        bad=[
            ("empty", lambda m: m.fit(FACTS, [], BAD), ValueError, "at least one"),
            ("shape", lambda m: m.fit(FACTS, GOOD, [("son", "a", "b")]), ValueError, "predicate"),
            ("type", lambda m: m.fit(3, GOOD, BAD), ValueError, "list of tuples"),
            ("NaN", lambda m: m.fit([("p", float("nan"))], GOOD, BAD), ValueError, "NaN"),
            (
                "option",
                lambda m: m.set_params(nodes=0).fit(FACTS, GOOD, BAD),
                ValueError,
                "'nodes'",
            ),
        ],
        unfitted=[lambda m: m.predict(GOOD)],
    ),
]
