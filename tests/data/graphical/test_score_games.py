"""Simulated leagues with scores."""

import numpy as np
import pytest

from octavo.data import make_score_games


def test_scores_lie_around_skills():
    games, skill = make_score_games(2000, 12, n_teams=3, team_size=2, random_state=0)
    players = np.array([teams for teams, _ in games]).ravel()
    scores = np.array([values for _, values in games]).ravel()
    assert all(len({p for team in teams for p in team}) == 6 for teams, _ in games)
    gap = scores - skill[players]
    assert gap.mean() == pytest.approx(0.0, abs=0.2)
    assert gap.std() == pytest.approx(25 / 6, rel=0.05)
    again, _ = make_score_games(2000, 12, n_teams=3, team_size=2, random_state=0)
    assert again == games


def test_too_few_players():
    with pytest.raises(ValueError, match="need 4 players"):
        make_score_games(5, 3, team_size=2)
