"""Simulated leagues: players of unknown skill who meet in teams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_games"]

Games = list[tuple[list[list[int]], list[int]]]


@checked
def make_games(
    n_games: int = 1000,
    n_players: int = 100,
    *,
    n_teams: int | tuple[int, int] = 2,
    team_size: int = 1,
    skill_std: float = 25 / 3,
    beta: float = 25 / 6,
    draw_margin: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Games, NDArray[np.float64]]:
    """Simulate games between random teams of players with fixed skills.

    A player's skill is drawn from N(25, skill_std²); a team performs as the sum of its
    players' skills plus N(0, beta²), and teams are ranked by performance.

    Parameters
    ----------
    n_games, n_players : int
        How many games, and how many players there are to choose from.
    n_teams : int or pair of int, default=2
        Teams in a game; a pair is a range from which each game draws its number.
    team_size : int, default=1
        Players in a team.
    skill_std, beta : float
        Spread of the skills, and of a performance around them.
    draw_margin : float, default=0
        Neighbours in performance that are closer than this are tied.
    random_state : int, RandomState instance or None, default=None
        Seeds the simulation.

    Returns
    -------
    games : list of (teams, ranks)
        As `octavo.ranking.OnlineRanker.partial_fit` takes them.
    skill : ndarray of shape (n_players,)
        The true skills.

    Examples
    --------
    >>> from octavo.data import make_games
    >>> games, skill = make_games(3, 10, n_teams=4, random_state=0)
    >>> games[0]
    ([[6], [7], [8], [1]], [1, 4, 2, 3])
    """
    low, high = (n_teams, n_teams) if isinstance(n_teams, int) else n_teams
    if not 2 <= low <= high:
        raise ValueError(f"n_teams must be at least 2 and a range must not fall, got {n_teams}.")
    if high * team_size > n_players:
        raise ValueError(
            f"{high} teams of {team_size} need {high * team_size} players, got {n_players}."
        )
    rng = check_random_state(random_state)
    skill = rng.normal(25.0, skill_std, n_players)
    games: Games = []
    for _ in range(n_games):
        k = rng.randint(low, high + 1)
        # Drawing a few too many and dropping repeats costs less than permuting all players.
        wanted = k * team_size
        players = rng.randint(0, n_players, 2 * wanted + 8)
        players = players[np.sort(np.unique(players, return_index=True)[1])][:wanted]
        if players.size < wanted:
            players = rng.permutation(n_players)[:wanted]
        teams = players.reshape(k, team_size)
        performance = skill[teams].sum(axis=1) + beta * rng.normal(size=k)
        order = np.argsort(-performance)
        falls = -np.diff(performance[order]) > draw_margin
        place = np.concatenate([[0], np.where(falls, np.arange(1, k), 0)])
        ranks = np.empty(k, dtype=int)
        ranks[order] = np.maximum.accumulate(place) + 1
        games.append((teams.tolist(), ranks.tolist()))
    return games, skill
