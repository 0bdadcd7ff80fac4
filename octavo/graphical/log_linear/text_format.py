"""Log-linear and dependency networks as text, in the manner of the Libra toolkit's files.

The first line has the number of states of each variable. Then ``MN {``, a line for each feature
with its weight and its tests (``+v3_1`` for X3 = 1, ``-v3_1`` for X3 != 1), and ``}``. A dependency
network has a block ``v3 {`` for the conditional of each variable instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.graphical.log_linear.conjunctions import Feature

__all__: list[str] = []

_TEST = re.compile(r"([+-])v(\d+)_(\d+)$")
_BLOCK = re.compile(r"(MN|v(\d+))\s*\{$")


class WrittenNetwork(NamedTuple):
    """What a file holds; `targets` is None unless it is a dependency network."""

    features: list[Feature]
    weights: Floats
    cardinalities: Ints
    targets: Ints | None


def format_network(
    features: Sequence[Feature], weights: Floats, cardinalities: Ints, targets: Ints | None = None
) -> str:
    """Return a network as text; weights are written exactly."""
    lines = [",".join(str(int(c)) for c in cardinalities)]
    groups = [(None, range(len(features)))] if targets is None else [
        (k, np.flatnonzero(targets == k).tolist()) for k in range(len(cardinalities))
    ]  # fmt: skip
    for k, members in groups:
        lines.append("MN {" if k is None else f"v{k} {{")
        for f in members:
            tests = [f"{'+' if s == '==' else '-'}v{j}_{v}" for j, s, v in features[f]]
            lines.append(" ".join([repr(float(weights[f])), *tests]))
        lines.append("}")
    return "\n".join(lines) + "\n"


def parse_network(text: str) -> WrittenNetwork:
    """Read a network; what is not understood is refused with its line."""
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    try:
        cardinalities = np.array([int(c) for c in lines[0][1].split(",")], np.int64)
    except (IndexError, ValueError):
        raise ValueError(
            "The first line must have the number of states of each variable, such as 2,2,3."
        ) from None
    features: list[Feature] = []
    weights: list[float] = []
    targets: list[int] = []
    block: str | None = None
    for n, line in lines[1:]:
        opening = _BLOCK.match(line)
        if opening:
            block = opening[2] or ""
        elif line == "}":
            block = None
        else:
            words = line.split()
            tests = [_TEST.match(word) for word in words[1:]]
            try:
                weight = float(words[0])
            except ValueError:
                weight = float("nan")
            if block is None or not np.isfinite(weight) or not all(tests):
                raise ValueError(f"Line {n} is no weight with its tests in a block: {line!r}.")
            signs = {"+": "==", "-": "!="}
            features.append(tuple((int(t[2]), signs[t[1]], int(t[3])) for t in tests if t))
            weights.append(weight)
            targets.append(int(block) if block else -1)
    of_targets = np.array(targets, np.int64)
    joint = not (of_targets >= 0).any()
    return WrittenNetwork(features, np.array(weights), cardinalities, None if joint else of_targets)
