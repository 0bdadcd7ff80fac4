"""The team ranker takes games with scores, not a table."""

import numpy as np

from octavo.graphical import CDNTeamRanker
from tests.conformance.discovery import Case

GAMES = [
    ([["a"], ["b"]], [[20.0], [31.0]]),
    ([["b"], ["c"], ["a"]], [[25.0], [12.0], [30.0]]),
]


def query(ranker):
    return np.array([*ranker.skills_.values(), *ranker.predict_scores([["a"], ["d"]])])


CASES = [
    Case(
        make=lambda: CDNTeamRanker(n_grid=41),
        fit=lambda m: m.fit(GAMES),
        query=query,
        bad=[
            ("NaN", lambda m: m.fit([([[0], [1]], [[1.0], [np.nan]])]), ValueError, "NaN"),
            ("empty", lambda m: m.fit([]), ValueError, "empty"),
            ("shape", lambda m: m.fit([([[0], [1]], [[1.0]])]), ValueError, "one score"),
            ("type", lambda m: m.fit(3), TypeError, "list of"),
            ("option", lambda m: m.set_params(rho=2.0).fit(GAMES), ValueError, "'rho'"),
        ],
        unfitted=[lambda m: m.skills_, lambda m: m.predict_order([[0], [1]])],
    )
]
