"""Rankers of items as the runner needs them: ``fit(games)`` and ``predict_win(teams)``.

Baselines: how often an item won, and the Bradley-Terry model. `StreamRanker` gives octavo's rankers
that learn game by game, and `PreferenceRanker` its models of all preferences at once, the same two
methods.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from octavo.ranking import PairwisePreferences, bradley_terry

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


def preferences_of_games(games: Games) -> tuple[dict[Any, int], PairwisePreferences]:
    """Return the place of each item, and who was preferred to whom.

    A team's win over another is shared by all pairs of their members; a tie is half a win of each
    side.

    Parameters
    ----------
    games : list of (teams, ranks)
        The games.

    Returns
    -------
    place : dict
        Item to number.
    preferences : PairwisePreferences
        Of one expert.
    """
    place: dict[Any, int] = {}
    rows, weights = [], []
    for one, other, result in pairs_of_games(games):
        share = 1.0 / (len(one) * len(other))
        for a, b in product(one, other):
            i, j = (place.setdefault(item, len(place)) for item in (a, b))
            if i == j:
                continue
            rows += [(i, j), (j, i)]
            weights += [share * result, share * (1 - result)]
    kept = [n for n, weight in enumerate(weights) if weight > 0]
    pairs = [rows[n] for n in kept]
    made = PairwisePreferences.from_pairs(
        pairs, max(len(place), 2), weights=[weights[n] for n in kept]
    )
    return place, made


class _BatchRanker(BaseEstimator):
    """What rankers of all games at once share: skills, and chances by their mean in a team."""

    skill_: dict[Any, float]
    spread_: float  # log-odds of a unit of skill

    def _keep(self, place: dict[Any, int], scores: Any, spread: float) -> Any:
        self.skill_ = {item: float(scores[k]) for item, k in place.items()}
        self.spread_ = spread
        return self

    def predict_win(self, teams: list[list[Any]]) -> NDArray[np.float64]:
        """Return each team's chance of winning."""
        skill = np.array([np.mean([self.skill_.get(item, 0.0) for item in team]) for team in teams])
        odds = np.exp(self.spread_ * (skill - skill.max()))
        return odds / odds.sum()


class BradleyTerry(_BatchRanker):
    """The Bradley-Terry model of all pairs at once: `octavo.ranking.bradley_terry`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty on the summed loss.

    Attributes
    ----------
    skill_ : dict
        The log-odds of each item.
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, games: Games) -> BradleyTerry:
        """Fit the skills; a tie is half a win and half a loss."""
        place, prefs = preferences_of_games(games)
        alpha = 1.0 / (self.C * float(prefs.totals.sum()))
        return self._keep(place, bradley_terry(prefs, alpha=alpha), 1.0)


class PreferenceRanker(_BatchRanker):
    """A model of preferences between items, with the interface of the others here.

    Parameters
    ----------
    ranker : estimator
        With ``fit(preferences)``, ``scores_`` and ``pair_proba``.

    Attributes
    ----------
    ranker_ : estimator
        The fitted one.
    """

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    def fit(self, games: Games) -> PreferenceRanker:
        """Fit the scores to all pairs."""
        place, prefs = preferences_of_games(games)
        self.ranker_ = clone(self.ranker).fit(prefs)
        # The odds of a pair are exp(2 (s_i - s_j)); see `pair_proba`.
        return self._keep(place, self.ranker_.scores_, 2.0)


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
