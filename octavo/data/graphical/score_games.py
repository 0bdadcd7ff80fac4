"""Simulated leagues in which every player's score is seen, and teams are ranked by their sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_score_games"]

ScoreGames = list[tuple[list[list[int]], list[list[float]]]]


@checked
def make_score_games(
    n_games: int = 500,
    n_players: int = 50,
    *,
    n_teams: int = 2,
    team_size: int = 1,
    skill_std: float = 25 / 3,
    beta: float = 25 / 6,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[ScoreGames, NDArray[np.float64]]:
    """Simulate games between random teams whose players score around their skills.

    A player's skill is drawn from N(25, skill_std²), a score from N(skill, beta²).

    Parameters
    ----------
    n_games, n_players : int
        How many games, and how many players there are to choose from.
    n_teams, team_size : int, default=2, 1
        Teams in a game, and players in a team.
    skill_std, beta : float
        Spread of the skills, and of scores around them.
    random_state : int, RandomState instance or None, default=None
        Seeds the simulation.

    Returns
    -------
    games : list of (teams, scores)
        Players of each team, and what each scored.
    skill : ndarray of shape (n_players,)
        The true skills.

    Examples
    --------
    >>> from octavo.data import make_score_games
    >>> games, skill = make_score_games(3, 10, random_state=0)
    >>> games[0][0]
    [[5], [2]]
    """
    if n_games < 1 or n_teams < 2 or team_size < 1:
        raise ValueError(
            "There must be a game or more, two teams or more and a player or more in each; got "
            f"n_games={n_games}, n_teams={n_teams}, team_size={team_size}."
        )
    if n_teams * team_size > n_players:
        raise ValueError(
            f"{n_teams} teams of {team_size} need {n_teams * team_size} players, got {n_players}."
        )
    if not 0 <= skill_std < 1e100 or not 0 <= beta < 1e100:
        raise ValueError("skill_std and beta must be finite and not negative.")
    random = check_random_state(random_state)
    skill = random.normal(25.0, skill_std, n_players)
    games: ScoreGames = []
    for _ in range(n_games):
        teams = random.choice(n_players, (n_teams, team_size), replace=False)
        scores = skill[teams] + beta * random.normal(size=teams.shape)
        games.append((teams.tolist(), scores.tolist()))
    return games, skill
