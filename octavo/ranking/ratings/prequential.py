"""How well a ranker predicts each game before it learns from it (Section 6.1 of the paper)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.ranking.ratings.game_log import GameLog
from octavo.ranking.ratings.updates import RatingRules, win_matrix

__all__ = ["PrequentialTrace"]


class PrequentialTrace(NamedTuple):
    """What a ranker predicted of each pair of teams before it saw the result.

    Only pairs of teams with different ranks count, from the second game on; equal means are
    a wrong prediction. `wrong` and `probability` are about the team that finished ahead,
    `rank_gap` is the difference in place, `past_games` how many of the games the
    players of that game had played before, on average.
    """

    error: float
    log_loss: float
    wrong: NDArray[np.bool_]
    probability: NDArray[np.float64]
    rank_gap: NDArray[np.float64]
    past_games: NDArray[np.float64]


def _past_games(log: GameLog) -> NDArray[np.float64]:
    """Return, for each game, how many games its players had played before, on average."""
    played = np.zeros(log.players.max() + 1, dtype=np.int64)
    out = np.empty(log.game_ptr.size - 1)
    for g in range(out.size):
        slots = slice(log.team_ptr[log.game_ptr[g]], log.team_ptr[log.game_ptr[g + 1]])
        out[g] = played[log.players[slots]].mean()
        played[log.players[slots]] += 1
    return out


def pair_predictions(
    rules: RatingRules,
    log: GameLog,
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
) -> PrequentialTrace:
    """Return the trace of a log from each team's belief before its game."""
    past = _past_games(log)
    wrong, probability, rank_gap, past_games = [], [], [], []
    for g in range(1, log.game_ptr.size - 1):  # the first game is predicted by nothing
        teams = slice(log.game_ptr[g], log.game_ptr[g + 1])
        ranks = log.ranks[teams]
        # Section 6.1: pairs of different rank
        better, worse = np.nonzero(ranks[:, None] < ranks[None, :])
        if not better.size:
            continue
        win = win_matrix(rules, mean[teams], variance[teams], 0.0)
        places = np.searchsorted(np.sort(ranks), ranks)
        wrong.append(mean[teams][better] <= mean[teams][worse])  # equal μ count as wrong
        probability.append(win[better, worse])
        rank_gap.append((places[worse] - places[better]).astype(float))
        past_games.append(np.full(better.size, past[g]))
    if not wrong:
        raise ValueError("No game after the first has two teams of different rank.")
    given = np.concatenate(probability)
    return PrequentialTrace(
        float(np.concatenate(wrong).mean()),
        float(-np.log(np.maximum(given, np.finfo(float).tiny)).mean()),
        np.concatenate(wrong),
        given,
        np.concatenate(rank_gap),
        np.concatenate(past_games),
    )
