"""Games as users hand them in, checked, and as the flat arrays that are replayed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.compilation.kernel_cache import njit

_LISTS, _PLAIN = frozenset([list]), frozenset([int, str])


class Game(NamedTuple):
    """A checked game: teams as lists of ids, all their players, flat weights or None."""

    teams: list[list[Hashable]]
    ranks: list[float]
    weights: list[float] | None
    players: list[Hashable]


def _shown(value: Any) -> str:
    """Return a value for a message, cut short: whole numbers may have hundreds of digits."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no more than 4,300 digits
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


def finite_float(value: Any, name: str) -> float:
    """Return a number as a float; whole numbers beyond every float are refused too."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {_shown(value)}.") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {_shown(value)}.")
    return number


def _checked_numbers(values: Any, name: str, n: int) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except OverflowError:
        raise ValueError(
            f"{name} must lie within the range of floats, got {_shown(values)}."
        ) from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a sequence of numbers, got {_shown(values)}.") from None
    if len(numbers) != n:
        raise ValueError(f"{name} must have one entry per team: {n} expected, got {len(numbers)}.")
    if math.isnan(sum(numbers)) and any(map(math.isnan, numbers)):
        raise ValueError(f"{name} must not contain NaN, got {values!r}.")
    return numbers


def _plain_players(teams: Any) -> list[Hashable] | None:
    """Return the players of lists of whole numbers and words, none of them twice; else None."""
    if type(teams) is not list or {*map(type, teams)} != _LISTS or not all(teams):
        return None
    flat = [*chain.from_iterable(teams)]
    if {*map(type, flat)} <= _PLAIN and len({*flat}) == len(flat):
        return flat
    return None


def checked_teams(teams: Any) -> list[list[Hashable]]:
    if _plain_players(teams) is not None:
        return teams
    if isinstance(teams, (str, bytes)) or not isinstance(teams, Iterable):
        raise TypeError(f"teams must be a list of lists of player ids, got {teams!r}.")
    checked: list[list[Hashable]] = []
    seen: set[Hashable] = set()
    n_players = 0
    for number, team in enumerate(teams):
        if isinstance(team, (str, bytes)) or not isinstance(team, Iterable):
            raise TypeError(
                f"Team {number} must be a list of player ids, got {team!r}; write [{team!r}]."
            )
        members = [player.item() if isinstance(player, np.generic) else player for player in team]
        if not members:
            raise ValueError(f"Team {number} is empty: a team needs at least one player.")
        for player in members:
            if player is None or player != player:
                raise ValueError(f"Team {number} has the player id {player!r}: not an identity.")
        seen.update(members)
        n_players += len(members)
        checked.append(members)
    if len(seen) != n_players:
        flat = [player for team in checked for player in team]
        twice = next(player for player in flat if flat.count(player) > 1)
        raise ValueError(f"Player {twice!r} appears twice in one game.")
    return checked


def _checked_weights(weights: Any, teams: list[list[Hashable]]) -> list[float]:
    sizes = [len(team) for team in teams]
    if len(weights) != len(sizes) or any(len(w) != n for w, n in zip(weights, sizes)):
        raise ValueError(f"weights must have the shape of teams, one list a team: sizes {sizes}.")
    flat = [finite_float(w, "each of weights") for team in weights for w in team]
    if not all(w >= 0 for w in flat) or any(not 0 < sum(w) < math.inf for w in weights):
        raise ValueError(f"weights must be finite, >= 0 and not all zero in a team, got {weights}.")
    return flat


def checked_game(teams: Any, ranks: Any, scores: Any, weights: Any) -> Game:
    if ranks is not None and scores is not None:
        raise ValueError("Give ranks (smaller is better) or scores (larger is better), not both.")
    if (players := _plain_players(teams)) is not None:
        members = teams
    else:
        members = checked_teams(teams)
        players = [*chain.from_iterable(members)]
    if len(members) < 2:
        raise ValueError(f"A game needs at least two teams, got {len(members)}.")
    if ranks is not None:
        places = _checked_numbers(ranks, "ranks", len(members))
    elif scores is not None:
        places = [-score for score in _checked_numbers(scores, "scores", len(members))]
    else:
        places = [*map(float, range(len(members)))]
    flat = None if weights is None else _checked_weights(weights, members)
    return Game(members, places, flat, players)


# --- flat arrays ------------------------------------------------------------------------------


class GameLog(NamedTuple):
    """Games as flat arrays: team t is ``players[team_ptr[t]:team_ptr[t + 1]]``."""

    game_ptr: NDArray[np.int64]
    team_ptr: NDArray[np.int64]
    players: NDArray[np.int64]
    weights: NDArray[np.float64]  # empty when every weight is one
    ranks: NDArray[np.float64]
    times: NDArray[np.float64]  # empty when games are counted instead


@njit(cache=True)
def _first_repeat(game_ptr, team_ptr, players, seen):
    """Return the first game in which a player appears twice, or -1.

    ``seen`` is zero for every player; it notes the last game of each, counted from one.
    """
    for g in range(game_ptr.shape[0] - 1):
        first, last = team_ptr[game_ptr[g]], team_ptr[game_ptr[g + 1]]
        if last - first == 2:
            if players[first] == players[first + 1]:
                return g
        else:
            for a in range(first, last):
                if seen[players[a]] == g + 1:
                    return g
                seen[players[a]] = g + 1
    return -1


@njit(cache=True)
def _in_order(game_ptr, team_ptr, ranks):
    """Whether every game has two teams, every team a player, and no rank is NaN."""
    fine = True
    for g in range(game_ptr.shape[0] - 1):
        fine &= game_ptr[g + 1] - game_ptr[g] >= 2
    for t in range(team_ptr.shape[0] - 1):
        fine &= (team_ptr[t + 1] > team_ptr[t]) & (ranks[t] == ranks[t])
    return fine


def _checked_pointer(pointer: ArrayLike, name: str, each: str) -> NDArray[Any]:
    array = np.asarray(pointer)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size < 1:
        raise ValueError(
            f"{name} must be a vector of integers with one more entry than there are {each}, "
            f"got shape {array.shape} of {array.dtype}."
        )
    if array[0] != 0:
        raise ValueError(f"{name} must begin with 0, got {array[0]}.")
    return array


def _checked_column(values: ArrayLike | None, name: str, n: int, each: str) -> NDArray[Any] | None:
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (n,) or array.dtype.kind not in "iufb":
        raise ValueError(
            f"{name} must be a vector of {n} numbers, one per {each}, got shape {array.shape} "
            f"of {array.dtype}."
        )
    return array


class FlatGames:
    """A log of games in flat arrays, possibly memory-mapped, checked a chunk at a time.

    Parameters
    ----------
    team_ptr, player_idx, ranks, game_ptr, weights, times
        As in `OnlineRanker.fit`.
    """

    def __init__(
        self,
        team_ptr: ArrayLike,
        player_idx: ArrayLike,
        ranks: ArrayLike,
        game_ptr: ArrayLike | None,
        weights: ArrayLike | None,
        times: ArrayLike | None,
    ) -> None:
        self.team_ptr = _checked_pointer(team_ptr, "team_ptr", "teams")
        n_teams = self.team_ptr.size - 1
        self.players = np.asarray(player_idx)
        n_slots = int(self.team_ptr[-1])
        if self.players.shape != (n_slots,) or self.players.dtype.kind not in "iu":
            raise ValueError(
                f"player_idx must be a vector of {n_slots} integers (the end of team_ptr), got "
                f"shape {self.players.shape} of {self.players.dtype}."
            )
        if n_slots and self.players.min() < 0:
            raise ValueError(f"player_idx must not be negative, got {self.players.min()}.")
        self.ranks = _checked_column(ranks, "ranks", n_teams, "team")
        self.game_ptr = None
        if game_ptr is not None:
            self.game_ptr = _checked_pointer(game_ptr, "game_ptr", "games")
            if self.game_ptr[-1] != n_teams:
                raise ValueError(
                    f"game_ptr must end with {n_teams} teams, got {self.game_ptr[-1]}."
                )
        elif n_teams % 2:
            raise ValueError(
                f"Without game_ptr every game has two teams, but there are {n_teams} teams."
            )
        self.n_games = n_teams // 2 if self.game_ptr is None else self.game_ptr.size - 1
        self.weights = _checked_column(weights, "weights", n_slots, "slot of player_idx")
        self.times = _checked_column(times, "times", self.n_games, "game")
        self.n_players = int(self.players.max()) + 1 if n_slots else 0

    def chunk(self, start: int, stop: int) -> GameLog:
        """Return games start..stop-1 as a log of its own, or say which of them is wrong."""
        if self.game_ptr is None:
            games = np.arange(2 * start, 2 * stop + 1, 2, dtype=np.int64)
        else:
            games = np.asarray(self.game_ptr[start : stop + 1], dtype=np.int64)
        first, last = int(games[0]), int(games[-1])
        teams = np.asarray(self.team_ptr[first : last + 1], dtype=np.int64)
        ranks = np.asarray(self.ranks[first:last], dtype=np.float64)  # type: ignore[index]
        if ranks.size != teams.size - 1 or not _in_order(games, teams, ranks):
            _refuse(np.diff(games) < 2, "game", start, "needs at least two teams")
            _refuse(np.diff(teams) < 1, "team", first, "is empty (team_ptr must increase)")
            _refuse(np.isnan(ranks), "team", first, "has the rank NaN")
        slots = slice(int(teams[0]), int(teams[-1]))
        weights = times = np.empty(0)
        if self.weights is not None:
            weights = np.asarray(self.weights[slots], dtype=np.float64)
            bad = ~(np.isfinite(weights) & (weights >= 0))
            _refuse(bad, "slot", slots.start, "has a weight that is negative or not finite")
            sums = np.add.reduceat(weights, teams[:-1] - slots.start)
            _refuse(sums <= 0, "team", first, "has no positive weight")
        if self.times is not None:
            times = np.asarray(self.times[start:stop], dtype=np.float64)
            _refuse(~np.isfinite(times), "game", start, "has a time that is not finite")
        players = np.asarray(self.players[slots], dtype=np.int64)
        log = GameLog(games - first, teams - slots.start, players, weights, ranks, times)
        seen = np.zeros(self.n_players, dtype=np.int64)
        twice = _first_repeat(log.game_ptr, log.team_ptr, log.players, seen)
        if twice >= 0:
            raise ValueError(f"Game {start + twice}: a player appears twice in one game.")
        return log


def indexed_pairs(
    winner: ArrayLike, loser: ArrayLike, draw: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[Hashable, int]]:
    """Return one-on-one games between labelled players as slots, ranks and an index of labels."""
    first = np.asarray(winner, dtype=object).ravel()
    second = np.asarray(loser, dtype=object).ravel()
    if first.size != second.size:
        raise ValueError(
            f"winner and loser must have one length, got {first.size} and {second.size}."
        )
    tie = np.zeros(first.size, dtype=bool) if draw is None else np.asarray(draw, dtype=bool)
    if tie.shape != first.shape:
        raise ValueError(f"draw must have {first.size} entries, got shape {tie.shape}.")
    labels = np.stack([first, second], axis=1).ravel()
    index: dict[Hashable, int] = {}
    places = np.empty(labels.size, dtype=np.int64)
    for slot, label in enumerate(labels):
        if isinstance(label, np.generic):
            label = label.item()  # as `checked_teams` has it, and JSON takes it
        if label is None or label != label:
            raise ValueError(f"Game {slot // 2} has the player label {label!r}.")
        places[slot] = index.setdefault(label, len(index))
    ranks = np.zeros(labels.size)
    ranks[1::2] = ~tie
    return places, ranks, index


def _refuse(bad: NDArray[np.bool_], what: str, offset: int, why: str) -> None:
    if bad.any():
        raise ValueError(f"{what.capitalize()} {offset + int(np.argmax(bad))} {why}.")


def _warmup() -> None:
    pointer = np.array([0, 2])
    _first_repeat(pointer, np.array([0, 1, 2]), pointer, np.zeros(3, dtype=np.int64))
    _in_order(pointer, np.array([0, 1, 2]), np.zeros(2))
