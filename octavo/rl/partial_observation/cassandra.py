"""Cassandra's text format of POMDPs.

Reference: Cassandra, "POMDP file grammar", pomdp.org.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.rl.partial_observation.pomdp import POMDP

__all__ = ["read_cassandra"]

_KEYS = ("discount", "values", "states", "actions", "observations", "start", "T", "O", "R")


class _Reader:
    """The words of a file, and the numbers of names."""

    def __init__(self, text: str, name: str) -> None:
        text = re.sub(r"#.*", " ", text)
        self.words = re.findall(r":|[^\s:]+", text)
        self.at, self.name = 0, name
        self.names: dict[str, list[str]] = {}

    def fail(self, why: str) -> ValueError:
        near = " ".join(self.words[max(0, self.at - 4) : self.at + 2])
        return ValueError(f"Cannot read {self.name}: {why} near {near!r}.")

    @property
    def ended(self) -> bool:
        return self.at >= len(self.words)

    def next(self) -> str:
        if self.ended:
            raise self.fail("it ends too early")
        self.at += 1
        return self.words[self.at - 1]

    def is_key(self, offset: int = 0) -> bool:
        """Whether a new entry begins here: a key and a colon, or "start include" and the like."""
        k = self.at + offset
        if k >= len(self.words) or self.words[k] not in _KEYS:
            return False
        following = self.words[k + 1 : k + 2]
        return following == [":"] or (
            self.words[k] == "start" and following in (["include"], ["exclude"])
        )

    def until_key(self) -> list[str]:
        words = []
        while not self.ended and not self.is_key():
            words.append(self.next())
        return words

    def number(self) -> float:
        word = self.next()
        try:
            return float(word)
        except ValueError:
            raise self.fail(f"expected a number, got {word!r}") from None

    def numbers(self, count: int) -> np.ndarray:
        return np.array([self.number() for _ in range(count)])

    def select(self, kind: str, word: str | None = None) -> list[int]:
        """Return the numbers that a name, a number or * stands for."""
        word = self.next() if word is None else word
        names = self.names.get(kind)
        if names is None:
            raise self.fail(f"{kind} must be declared first")
        if word == "*":
            return list(range(len(names)))
        if word in names:
            return [names.index(word)]
        if word.isdigit() and int(word) < len(names):
            return [int(word)]
        raise self.fail(f"{word!r} is none of the {kind}")

    def more(self) -> bool:
        """Whether another field of the same entry follows."""
        if not self.ended and self.words[self.at] == ":":
            self.at += 1
            return True
        return False

    def table(self, rows: int, columns: int, square: bool) -> np.ndarray:
        word = self.words[self.at] if not self.ended else ""
        if word == "uniform":
            self.at += 1
            return np.full((rows, columns), 1.0 / columns)
        if word == "identity" and square:
            self.at += 1
            return np.eye(rows)
        return self.numbers(rows * columns).reshape(rows, columns)


def _declared(words: list[str]) -> list[str]:
    if len(words) == 1 and words[0].isdigit():
        return [str(i) for i in range(int(words[0]))]
    return words


def _read_probabilities(
    reader: _Reader, table: np.ndarray, last: str, start: np.ndarray | None
) -> None:
    """Read an entry of T or O into an array (actions, states, states or observations).

    A row of T may be the word reset: the process begins anew.
    """
    S, width = table.shape[1:]
    actions = reader.select("actions")
    if not reader.more():
        table[actions] = reader.table(S, width, last == "states")
        return
    states = reader.select("states")
    if not reader.more():
        if last == "states" and not reader.ended and reader.words[reader.at] == "reset":
            reader.next()
            row = np.full(width, 1.0 / width) if start is None else start
        else:
            row = reader.table(1, width, False)[0]
        table[np.ix_(actions, states)] = row
        return
    columns = reader.select(last)
    table[np.ix_(actions, states, columns)] = reader.number()


def _read_reward(reader: _Reader, R: np.ndarray) -> None:
    """Read an entry of R into an array (actions, states, states, observations)."""
    S, Z = R.shape[2:]
    actions = reader.select("actions")
    reader.more()
    states = reader.select("states")
    if not reader.more():
        R[np.ix_(actions, states)] = reader.numbers(S * Z).reshape(S, Z)
        return
    ends = reader.select("states")
    if not reader.more():
        R[np.ix_(actions, states, ends)] = reader.numbers(Z)
        return
    seen = reader.select("observations")
    R[np.ix_(actions, states, ends, seen)] = reader.number()


def _read_start(reader: _Reader) -> np.ndarray:
    S = len(reader.names["states"])
    kind = "only"
    if reader.words[reader.at] in ("include", "exclude"):
        kind = reader.next()
    reader.next()
    words = reader.until_key()
    if words == ["uniform"]:
        return np.full(S, 1.0 / S)
    if kind == "only" and len(words) == S and S > 1:
        try:
            return np.array([float(word) for word in words])
        except ValueError:
            raise reader.fail("start must be probabilities, states or 'uniform'") from None
    chosen = np.zeros(S)
    for word in words:
        chosen[reader.select("states", word)] = 1.0
    chosen = 1.0 - chosen if kind == "exclude" else chosen
    if not chosen.any():
        raise reader.fail("start names no state")
    return chosen / chosen.sum()


@checked
def read_cassandra(path: str | os.PathLike) -> POMDP:
    """Read a model from a ``.POMDP`` file.

    Parameters
    ----------
    path : str or path
        The file. Costs (``values: cost``) are turned into rewards.

    Returns
    -------
    POMDP
        The model, with rewards in the mean over where actions lead and what is seen there.

    Examples
    --------
    >>> import os, tempfile
    >>> from octavo.rl import read_cassandra
    >>> text = "states: 2 actions: 1 observations: 1 T: 0 identity O: 0 uniform R: 0 : 1 : * : * 3"
    >>> path = os.path.join(tempfile.mkdtemp(), "small.POMDP")
    >>> with open(path, "w") as file:
    ...     _ = file.write(text)
    >>> read_cassandra(path).rewards().tolist()
    [[0.0], [3.0]]
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"Expected the path of a file, got {type(path).__name__}.")
    if not Path(path).is_file():
        raise ValueError(f"Expected the path of a file, and there is none at {str(path)!r}.")
    reader = _Reader(Path(path).read_text(encoding="utf-8-sig", errors="replace"), Path(path).name)
    gamma, sign, start = 0.95, 1.0, None
    tables: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    while not reader.ended:
        key = reader.next()
        if key not in _KEYS:
            raise reader.fail(f"unknown entry {key!r}")
        if key == "start":
            start = _read_start(reader)
            continue
        if reader.next() != ":":
            raise reader.fail(f"expected a colon after {key!r}")
        if key == "discount":
            gamma = reader.number()
        elif key == "values":
            sign = -1.0 if reader.next() == "cost" else 1.0
        elif key in ("states", "actions", "observations"):
            reader.names[key] = _declared(reader.until_key())
        else:
            if tables is None:
                if len(reader.names) < 3:
                    raise reader.fail("states, actions and observations must come first")
                S, A, Z = (len(reader.names[k]) for k in ("states", "actions", "observations"))
                if A * S * S * Z > 5e7:
                    raise ValueError(f"{reader.name} has {S} states: too many for dense tables.")
                tables = np.zeros((A, S, S)), np.zeros((A, S, Z)), np.zeros((A, S, S, Z))
            if key == "R":
                _read_reward(reader, tables[2])
            else:
                table, last = (tables[0], "states") if key == "T" else (tables[1], "observations")
                _read_probabilities(reader, table, last, start)
    if tables is None:
        raise ValueError(f"Cannot read {reader.name}: it has no T, O or R.")
    P, seen, R = tables
    rewards = sign * np.einsum("ast,atz,astz->sa", P, seen, R)
    named = {f"{k[:-1]}_names": tuple(v) for k, v in reader.names.items()}
    return POMDP(P, seen, rewards, gamma, start=start, **named)
