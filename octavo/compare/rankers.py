"""Rankers of items as the runner needs them: ``fit(games)`` and ``predict_win(teams)``.

Baselines: how often an item won, and the Bradley-Terry model by ridge logistic regression.
`StreamRanker` gives octavo's rankers, which learn game by game, the same two methods.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

Games = list[tuple[list[list[Any]], list[float]]]


def pairs_of_games(games: Games) -> list[tuple[list[Any], list[Any], float]]:
    """Return (team, other team, 1 for a win, 0 for a loss, 0.5 for a tie) of all pairs."""
    return [
        (teams[a], teams[b], 0.5 if ranks[a] == ranks[b] else float(ranks[a] < ranks[b]))
        for teams, ranks in games
        for a, b in combinations(range(len(teams)), 2)
    ]


class WinRate(BaseEstimator):
    """Items by their share of won pairs, drawn to a half by some imagined games.

    Parameters
    ----------
    prior : float, default=1.0
        Imagined wins, and as many losses, of every item.

    Attributes
    ----------
    rate_ : dict
        The share of each item.
    """

    def __init__(self, prior: float = 1.0) -> None:
        self.prior = prior

    def fit(self, games: Games) -> WinRate:
        """Count."""
        won: dict[Any, float] = {}
        played: dict[Any, int] = {}
        for one, other, result in pairs_of_games(games):
            for team, score in ((one, result), (other, 1 - result)):
                for item in team:
                    won[item] = won.get(item, 0.0) + score
                    played[item] = played.get(item, 0) + 1
        self.rate_ = {i: (won[i] + self.prior) / (played[i] + 2 * self.prior) for i in won}
        return self

    def predict_win(self, teams: list[list[Any]]) -> NDArray[np.float64]:
        """Return each team's chance of winning, by the odds of its items."""
        odds = []
        for team in teams:
            rates = np.clip([self.rate_.get(item, 0.5) for item in team], 1e-6, 1 - 1e-6)
            odds.append(float(np.prod(rates / (1 - rates))))
        return np.array(odds) / sum(odds)


class BradleyTerry(BaseEstimator):
    """The Bradley-Terry model of all pairs at once, by ridge logistic regression.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty.

    Attributes
    ----------
    skill_ : dict
        The log-odds of each item.
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, games: Games) -> BradleyTerry:
        """Fit the skills; a tie is half a win and half a loss."""
        import scipy.sparse as sp

        pairs = pairs_of_games(games)
        place: dict[Any, int] = {}
        rows, columns, signs = [], [], []
        for row, (one, other, _) in enumerate(pairs):
            for team, sign in ((one, 1.0), (other, -1.0)):
                for item in team:
                    rows.append(row)
                    columns.append(place.setdefault(item, len(place)))
                    signs.append(sign)
        X = sp.csr_matrix((signs, (rows, columns)), shape=(len(pairs), len(place)))
        result = np.array([pair[2] for pair in pairs])
        # Each pair from both sides, so that ties and one-sided leagues have both classes.
        design = sp.vstack([X, -X, X, -X])
        y = np.repeat([1, 0, 0, 1], len(pairs))
        weight = np.concatenate([result, result, 1 - result, 1 - result]) / 2
        model = LogisticRegression(C=self.C, fit_intercept=False, max_iter=1000, tol=1e-6)
        model.fit(design[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
        self.skill_ = {item: float(model.coef_[0, k]) for item, k in place.items()}
        return self

    def predict_win(self, teams: list[list[Any]]) -> NDArray[np.float64]:
        """Return each team's chance of winning."""
        skill = np.array([sum(self.skill_.get(item, 0.0) for item in team) for team in teams])
        odds = np.exp(skill - skill.max())
        return odds / odds.sum()


class StreamRanker(BaseEstimator):
    """A ranker that learns game by game, with the interface of the others here.

    Parameters
    ----------
    ranker : estimator
        With ``partial_fit(games)`` and ``predict_win(teams)``.

    Attributes
    ----------
    ranker_ : estimator
        The fitted one.
    """

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    def fit(self, games: Games) -> StreamRanker:
        """Play the games in their order."""
        self.ranker_ = clone(self.ranker).partial_fit(games)
        return self

    def predict_win(self, teams: list[list[Any]]) -> NDArray[np.float64]:
        """Return each team's chance of winning."""
        return self.ranker_.predict_win(teams)
