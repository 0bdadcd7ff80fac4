"""What is drawn over the points: pins with threads to their points, links, names of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Drawing = dict[str, dict[str, Any]]


def draw_constraints(
    embedding: NDArray[np.float64], constraints: dict[str, Any], names: dict[tuple[int, ...], str]
) -> Drawing:
    """Return columns for the sources of the page.

    Parameters
    ----------
    embedding : ndarray of shape (n, 2)
        The map.
    constraints : dict
        Of the session.
    names : dict
        Names of classes by their codes.

    Returns
    -------
    dict
        "pins" (x, y, marker), "threads" (x0, y0, x1, y1), "together" and "apart" (the same),
        "labels" (x, y, text).
    """
    pins: dict[str, Any] = {"x": [], "y": [], "marker": []}
    threads: list[list[float]] = []
    for placement in constraints["placements"]:
        point = embedding[placement["point"]].tolist()
        at = [z if a is None else a for a, z in zip(placement["at"], point)]
        pins["x"].append(at[0])
        pins["y"].append(at[1])
        pins["marker"].append("square" if placement["hard"] else "circle")
        threads.append([*point, *at])
    links: dict[int, list[list[float]]] = {1: [], -1: []}
    for link in constraints["links"]:
        links[link["sign"]].append([float(v) for i in link["points"] for v in embedding[i]])
    labels: dict[str, Any] = {"x": [], "y": [], "text": []}
    for entry in constraints["labels"]:
        x, y = embedding[entry["point"]].tolist()
        code = tuple(int(v) for v in entry["label"])
        labels["x"].append(x)
        labels["y"].append(y)
        labels["text"].append(names.get(code, arrow_of(code)))
    return {
        "pins": pins,
        "threads": _segments(threads),
        "together": _segments(links[1]),
        "apart": _segments(links[-1]),
        "labels": labels,
    }


def _segments(rows: list[list[float]]) -> dict[str, Any]:
    columns = list(zip(*rows)) if rows else [()] * 4
    return {name: list(column) for name, column in zip(("x0", "y0", "x1", "y1"), columns)}


ARROWS: dict[tuple[int, ...], str] = {
    (1, 0): "→",
    (-1, 0): "←",
    (0, 1): "↑",
    (0, -1): "↓",
    (1, 1): "↗",
    (-1, -1): "↙",
    (-1, 1): "↖",
    (1, -1): "↘",
}


def arrow_of(code: tuple[int, ...]) -> str:
    """Return the direction in which a class is pulled."""
    return ARROWS.get(code, "•")
