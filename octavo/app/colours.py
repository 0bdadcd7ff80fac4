"""Colours of the points: classes in hues that colour-blind readers tell apart, numbers on a scale.

The hues are Paul Tol's "muted" scheme, the scale is matplotlib's cividis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from numpy.typing import NDArray

HUES = (
    "#332288",
    "#cc6677",
    "#117733",
    "#88ccee",
    "#aa4499",
    "#ddcc77",
    "#44aa99",
    "#882255",
    "#999933",
    "#555555",
)
OTHER = "#bbbbbb"  # the tenth class that is not, and everything that is missing
SCALE = "cividis"
FEW = 10  # numbers with at most so many values, all whole, are classes


class Colouring(NamedTuple):
    """Colours of the rows, RGBA as bytes (n, 4), and the key to them.

    `entries` are (text, colour) pairs of classes; or of the ends of the scale, whose colours are
    in `ramp`.
    """

    rgba: NDArray[np.uint8]
    entries: list[tuple[str, str]]
    ramp: list[str]


def colour_by(values: NDArray[Any]) -> Colouring:
    """Return the colours of a column, of classes or of numbers."""
    if values.dtype.kind == "f":
        known = values[~np.isnan(values)]
        levels = np.unique(known)
        if len(levels) > FEW or not np.array_equal(levels, np.round(levels)):
            return _by_number(values, known)
        text = np.array(["–" if np.isnan(v) else f"{v:.0f}" for v in values])
        return _by_class(text, [f"{v:.0f}" for v in levels])
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) > len(HUES):
        levels = levels[np.sort(np.argsort(-counts, kind="stable")[: len(HUES) - 1])]
    return _by_class(values, [str(level) for level in levels])


def _by_class(text: NDArray[Any], levels: list[str]) -> Colouring:
    rgba = np.tile(_bytes(OTHER), (len(text), 1))
    entries = []
    for level, hue in zip(levels, HUES):
        rgba[text == level] = _bytes(hue)
        entries.append((level, hue))
    if not np.isin(text, levels).all():
        entries.append(("other", OTHER))
    return Colouring(rgba, entries, [])


def _by_number(values: NDArray[Any], known: NDArray[Any]) -> Colouring:
    # The ends are percentiles: one outlier must not make the rest one colour.
    low, high = np.percentile(known, [1, 99]) if len(known) else (0.0, 1.0)
    if low == high:
        low, high = float(known.min()), float(known.max())
    share = np.clip((np.nan_to_num(values, nan=low) - low) / max(high - low, 1e-300), 0.0, 1.0)
    rgba = (colormaps[SCALE](share) * 255).round().astype(np.uint8)
    rgba[np.isnan(values)] = _bytes(OTHER)
    ramp = [_hex(colormaps[SCALE](x)) for x in np.linspace(0.0, 1.0, 9)]
    entries = [(f"{low:.4g}", ramp[0]), (f"{high:.4g}", ramp[-1])]
    if np.isnan(values).any():
        entries.append(("missing", OTHER))
    return Colouring(rgba, entries, ramp)


def _bytes(colour: str) -> NDArray[np.uint8]:
    return np.array([*bytes.fromhex(colour[1:]), 255], dtype=np.uint8)


def _hex(rgba: Any) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgba[:3])
