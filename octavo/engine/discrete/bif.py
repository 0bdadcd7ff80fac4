"""Bayesian networks in the Bayesian Interchange Format (BIF)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__: list[str] = []

_TOKEN = re.compile(r'"[^"]*"|[{}()\[\]|;,]|[^\s{}()\[\]|;,"]+')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class _Tokens:
    """The words and signs of a BIF text, taken one at a time."""

    def __init__(self, text: str) -> None:
        self.list = [t.strip('"') for t in _TOKEN.findall(_COMMENT.sub(" ", text))]
        self.at = 0

    def take(self, expected: str | None = None) -> str:
        if self.at >= len(self.list):
            raise ValueError(f"The text ends where {expected or 'more'!r} was expected.")
        token = self.list[self.at]
        if expected is not None and token != expected:
            near = " ".join(self.list[max(0, self.at - 3) : self.at + 3])
            raise ValueError(f"Expected {expected!r}, got {token!r} near '{near}'.")
        self.at += 1
        return token

    def until(self, end: str) -> Iterator[str]:
        while (token := self.take()) != end:
            if token != ",":
                yield token


def _read_variable(tokens: _Tokens, states: dict[str, list[str]]) -> None:
    name = tokens.take()
    tokens.take("{")
    while (token := tokens.take()) != "}":
        if token == "type":
            kind = tokens.take()
            if kind != "discrete":
                raise ValueError(f"Variable {name!r} is {kind}; only discrete variables are read.")
            tokens.take("[")
            count = int(tokens.take())
            tokens.take("]")
            tokens.take("{")
            states[name] = list(tokens.until("}"))
            if len(states[name]) != count:
                raise ValueError(f"{name!r} declares {count} states but names {states[name]}.")
            tokens.take(";")
        else:  # a property
            list(tokens.until(";"))


def _read_probability(
    tokens: _Tokens, states: dict[str, list[str]]
) -> tuple[str, list[str], NDArray[np.float64]]:
    tokens.take("(")
    name, *parents = [t for t in tokens.until(")") if t != "|"]
    for variable in (name, *parents):
        if variable not in states:
            raise ValueError(f"Probability of an unknown variable {variable!r}.")
    shape = [len(states[v]) for v in (*parents, name)]
    table = np.full(shape, np.nan)
    tokens.take("{")
    while (token := tokens.take()) != "}":
        if token == "table":  # the node's states vary slowest
            values = np.array([float(v) for v in tokens.until(";")])
            table = np.moveaxis(values.reshape([shape[-1], *shape[:-1]]), 0, -1)
        elif token == "default":
            table[np.isnan(table).any(axis=-1)] = [float(v) for v in tokens.until(";")]
        elif token == "(":
            named = list(tokens.until(")"))
            if len(named) != len(parents):
                raise ValueError(
                    f"A row of {name!r} names {named}, expected {len(parents)} states."
                )
            of = [states[p].index(s) for p, s in zip(parents, named)]
            table[tuple(of)] = [float(v) for v in tokens.until(";")]
        else:
            list(tokens.until(";"))
    if np.isnan(table).any():
        raise ValueError(f"The table of {name!r} is not complete.")
    return name, parents, table


def parse_bif(
    text: str,
) -> tuple[list[str], list[list[str]], list[tuple[int, ...]], list[NDArray[np.float64]]]:
    """Return names, states, parents and tables of a network in BIF text.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    names, states, parents, tables : lists
        One entry a variable; a table has an axis a parent and the node's last.
    """
    tokens = _Tokens(text)
    states: dict[str, list[str]] = {}
    found: dict[str, tuple[list[str], NDArray[np.float64]]] = {}
    while tokens.at < len(tokens.list):
        word = tokens.take()
        if word == "network":
            while tokens.take() != "{":
                pass
            list(tokens.until("}"))
        elif word == "variable":
            _read_variable(tokens, states)
        elif word == "probability":
            name, parents, table = _read_probability(tokens, states)
            found[name] = (parents, table)
        else:
            raise ValueError(f"Not BIF: unexpected {word!r}.")
    missing = [name for name in states if name not in found]
    if missing or not states:
        raise ValueError(
            f"Not a complete BIF network: no probabilities of {missing or 'anything'}."
        )
    names = list(states)
    of = [tuple(names.index(p) for p in found[name][0]) for name in names]
    return names, [states[name] for name in names], of, [found[name][1] for name in names]


def _word(value: Any) -> str:
    """Return a name as one word of BIF, quoted where it needs to be."""
    text = str(value)
    return text if re.fullmatch(r"[^\s{}()\[\]|;,\"]+", text) else f'"{text}"'


def format_bif(
    names: Sequence[str],
    states: Sequence[Sequence[Any]],
    parents: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.float64]],
) -> str:
    """Return a network as BIF text; probabilities are written exactly.

    Parameters
    ----------
    names, states, parents, tables : sequences
        As `parse_bif` returns them.

    Returns
    -------
    text : str
        The text.
    """
    lines = ["network unknown {", "}"]
    for name, of in zip(names, states):
        listed = ", ".join(map(_word, of))
        lines += [
            f"variable {_word(name)} {{",
            f"  type discrete [ {len(of)} ] {{ {listed} }};",
            "}",
        ]
    for node, (name, of) in enumerate(zip(names, parents)):
        given = f" | {', '.join(_word(names[p]) for p in of)}" if of else ""
        lines.append(f"probability ( {_word(name)}{given} ) {{")
        if of:
            for place in product(*(range(len(states[p])) for p in of)):
                key = ", ".join(_word(states[p][s]) for p, s in zip(of, place))
                lines.append(f"  ({key}) {_numbers(tables[node][place])};")
        else:
            lines.append(f"  table {_numbers(tables[node])};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _numbers(values: NDArray[np.float64]) -> str:
    return ", ".join(repr(float(v)) for v in values)
