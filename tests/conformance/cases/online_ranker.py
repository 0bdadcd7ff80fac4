"""OnlineRanker takes games, not a table."""

import numpy as np

from octavo.ranking import OnlineRanker
from tests.conformance.discovery import Case

TEAM_PTR, PLAYERS, RANKS = [0, 2, 3, 4, 5], [0, 1, 2, 2, 3], [1, 2, 1, 1]


def fit(ranker):
    return ranker.fit(TEAM_PTR, PLAYERS, RANKS)


def query(ranker):
    return np.concatenate([ranker.mu_, ranker.sigma_, ranker.predict_win([[0], [3]])])


CASES = [
    Case(
        make=OnlineRanker,
        fit=fit,
        query=query,
        bad=[
            ("NaN", lambda r: r.fit(TEAM_PTR, PLAYERS, [1, 2, np.nan, 1]), ValueError, "NaN"),
            ("empty", lambda r: r.update([]), ValueError, "at least two teams"),
            ("shape", lambda r: r.fit(TEAM_PTR, PLAYERS, [1, 2]), ValueError, "one per team"),
            ("type", lambda r: r.fit(TEAM_PTR, ["a"] * 5, RANKS), ValueError, "integers"),
            ("option", lambda r: fit(r.set_params(model="chess")), ValueError, "'model'"),
        ],
        unfitted=[lambda r: r.leaderboard(), lambda r: r.to_json(), lambda r: r.mu_],
    )
]
