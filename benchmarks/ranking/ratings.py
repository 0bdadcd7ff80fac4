"""OnlineRanker beside openskill and trueskill."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_games
from octavo.ranking import OnlineRanker


def duels(n_games=2_000_000, n_players=100_000):
    rng = np.random.default_rng(0)
    first = rng.integers(0, n_players, n_games)
    second = (first + rng.integers(1, n_players, n_games)) % n_players
    players = np.stack([first, second], axis=1).ravel()
    return np.arange(2 * n_games + 1), players, np.tile([0.0, 1.0], n_games)


def battles(n_games=100_000, n_players=60_000, k=8):
    rng = np.random.default_rng(0)
    players = (rng.integers(0, n_players, (n_games, 1)) + 101 * np.arange(k)) % n_players
    ranks = rng.permuted(np.tile(np.arange(float(k)), (n_games, 1)), axis=1)
    pointer = np.arange(n_games * k + 1)
    return pointer, players.ravel(), ranks.ravel(), np.arange(0, n_games * k + 1, k)


def openskill_replay(log, n_games):
    from openskill.models import BradleyTerryFull

    team_ptr, players, ranks, *rest = log
    game_ptr = rest[0] if rest else np.arange(0, len(ranks) + 1, 2)
    league = BradleyTerryFull(tau=0.0)
    ratings: dict[int, object] = {}
    for g in range(n_games):
        teams = range(game_ptr[g], game_ptr[g + 1])
        ids = [int(players[team_ptr[t]]) for t in teams]
        groups = [[ratings.get(i) or league.rating()] for i in ids]
        places = [float(ranks[t]) for t in teams]
        for i, (new,) in zip(ids, league.rate(groups, ranks=places)):
            ratings[i] = new
    return ratings


def openskill_updates(games):
    from openskill.models import BradleyTerryFull

    league, ratings = BradleyTerryFull(tau=0.0), {}
    for teams, ranks in games:
        groups = [[ratings.get(p) or league.rating() for p in team] for team in teams]
        for team, new in zip(teams, league.rate(groups, ranks=ranks)):
            ratings.update(zip(team, new))
    return ratings


def trueskill_updates(games):
    import trueskill

    env, ratings = trueskill.TrueSkill(tau=0.0), {}
    for teams, ranks in games[:200]:
        groups = [[ratings.get(p) or env.create_rating() for p in team] for team in teams]
        for team, new in zip(teams, env.rate(groups, ranks=ranks)):
            ratings.update(zip(team, new))
    return ratings


def octavo_updates(games):
    ranker = OnlineRanker()
    for teams, ranks in games:
        ranker.update(teams, ranks)
    return {player: ranker.rating(player) for player in ranker.players_}


def same_ratings(_, answers):
    ours, theirs = answers["octavo update()"], answers["openskill"]
    gap = max(abs(ours[p].mu - theirs[p].mu) for p in theirs)
    assert gap < 1e-9
    return f"Ratings differ from openskill's by {gap:.1e} at most."


CONTESTS = [
    Contest(
        name="one-on-one replay",
        problem="Replay of 2,000,000 one-on-one games among 100,000 players, Bradley-Terry",
        setup=duels,
        solvers={
            "octavo fit()": lambda log: OnlineRanker().fit(*log),
            "openskill": lambda log: openskill_replay(log, 2_000),
        },
        work={"octavo fit()": 2_000_000, "openskill": 2_000},
        unit="game",
        target="Aim: at most 100 ns a game, and 200 times openskill.",
        limit="arithmetic and latency: three roots, two divisions and an exponential a game, "
        "two players at random places",
    ),
    Contest(
        name="free-for-all replay",
        problem="Replay of 100,000 free-for-alls of 8 players, Bradley-Terry full pairs",
        setup=battles,
        solvers={
            "octavo fit()": lambda log: OnlineRanker().fit(*log),
            "openskill": lambda log: openskill_replay(log, 1_000),
        },
        work={"octavo fit()": 100_000, "openskill": 1_000},
        unit="game",
        target="Aim: at most 2 µs a game, and 25 times openskill.",
        limit="arithmetic: 28 pairs of an exponential, a root and two divisions a game",
    ),
    Contest(
        name="live updates",
        problem="2,000 free-for-alls of 2 to 8 players, one call a game, Python ids",
        setup=lambda: make_games(2_000, 200, n_teams=(2, 8), random_state=0)[0],
        solvers={
            "octavo update()": octavo_updates,
            "openskill": openskill_updates,
            "trueskill": trueskill_updates,
        },
        agree=same_ratings,
        work={"octavo update()": 2_000, "openskill": 2_000, "trueskill": 200},
        unit="game",
        target="TrueSkill is another model; it is timed on the first 200 games.",
        no_limit="one call of Python a game: lists, a dictionary, one compiled call",
    ),
]
