"""The JSON form of a ranker: parameters, ids and ratings, exact and checked on reading."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.ranking.ratings.updates import RatingState

_FORMAT = 1
_ARRAYS = ("mu", "variance", "last_time")


def id_to_json(player: Hashable) -> Any:
    """Return a player's id as JSON that keeps 1 and "1" apart."""
    if isinstance(player, float) and math.isinf(player):
        return {"float": str(player)}  # strict JSON has no word for it
    if isinstance(player, (str, int, float)) and player == player:
        return player
    if isinstance(player, tuple):
        return {"tuple": [id_to_json(part) for part in player]}
    raise TypeError(
        f"Player id {player!r} is a {type(player).__name__}; JSON takes str, int, float and tuple."
    )


def _id_of_json(entry: Any) -> Hashable:
    if isinstance(entry, dict) and list(entry) == ["tuple"] and isinstance(entry["tuple"], list):
        return tuple(_id_of_json(part) for part in entry["tuple"])
    if isinstance(entry, dict) and list(entry) == ["float"] and entry["float"] in ("inf", "-inf"):
        return float(entry["float"])
    if isinstance(entry, (str, int, float)) and entry == entry:
        return entry
    raise ValueError(f"Not a player id: {entry!r}.")


def _times_to_json(times: NDArray[np.float64]) -> list[float | None]:
    """Return when players last played; null, which every parser reads, for never."""
    return [None if math.isnan(time) else time for time in times.tolist()]


def _numbers_of_json(content: dict[str, Any], name: str, n: int) -> NDArray[np.float64]:
    values = content[name]
    if name == "last_time" and isinstance(values, list):
        values = [math.nan if value is None else value for value in values]
    if not isinstance(values, list) or len(values) != n:
        raise ValueError(f"{name!r} must be a list of {n} numbers, one a player.")
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        raise ValueError(f"{name!r} must hold numbers only.")
    return np.array(values, dtype=np.float64)


class SavedRatings(NamedTuple):
    """What a JSON text holds."""

    parameters: dict[str, Any]
    ids: list[Hashable]
    state: RatingState
    n_games: int


def ratings_to_json(saved: SavedRatings) -> str:
    """Return the text; floats are written so that they read back exactly."""
    content = {
        "format": _FORMAT,
        "type": "OnlineRanker",
        "parameters": saved.parameters,
        "n_games": saved.n_games,
        "players": [id_to_json(player) for player in saved.ids],
    }
    arrays = {
        "mu": saved.state.mu.tolist(),
        "variance": saved.state.variance.tolist(),
        "last_time": _times_to_json(saved.state.last_time),
    }
    return json.dumps(content | arrays, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return a numpy number, as parameters may be, as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is a {type(value).__name__}, which JSON does not take.")


def ratings_of_json(text: str) -> SavedRatings:
    """Return what a text holds, or raise one ValueError that says what is wrong with it."""
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("type") != "OnlineRanker":
            raise ValueError('Expected an object with "type": "OnlineRanker".')
        if content.get("format") != _FORMAT:
            raise ValueError(f"Format {content.get('format')!r} is not {_FORMAT}.")
        parameters, n_games = content["parameters"], content["n_games"]
        if not isinstance(parameters, dict) or not isinstance(content["players"], list):
            raise ValueError("'parameters' must be an object and 'players' a list.")
        ids = [_id_of_json(entry) for entry in content["players"]]
        if len(set(ids)) != len(ids):
            raise ValueError("A player appears twice.")
        state = RatingState(*(_numbers_of_json(content, name, len(ids)) for name in _ARRAYS))
        if not (np.isfinite(state.mu).all() and (state.variance > 0).all()):
            raise ValueError("means must be finite and variances positive.")
        if np.isinf(state.variance).any() or np.isinf(state.last_time).any():
            raise ValueError("variances and times must not be infinite.")
        if not isinstance(n_games, int) or isinstance(n_games, bool) or not 0 <= n_games < 2**63:
            raise ValueError(f"'n_games' must be a count, got {n_games!r}.")
    except KeyError as error:
        raise ValueError(f"Not the JSON of an OnlineRanker: {error} is missing.") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"Not the JSON of an OnlineRanker: {error}") from None
    return SavedRatings(parameters, ids, state, n_games)
