"""Colours of the points: classes in hues that colour-blind readers tell apart, numbers on a scale.

The first ten hues are Paul Tol's "muted" scheme, the scale is matplotlib's cividis. Where there are
more classes, each further hue is the one farthest from all before it, so that every class keeps a
colour of its own.
"""

from __future__ import annotations

from functools import cache
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
OTHER = "#bbbbbb"  # classes beyond MANY, and everything that is missing
SCALE = "cividis"
FEW = 10  # numbers with at most so many values, all whole, are classes
LABELS = 30  # and so are those of the label with at most so many
MANY = 64  # classes that have a colour of their own


class Colouring(NamedTuple):
    """Colours of the rows, RGBA as bytes (n, 4), and the key to them.

    `entries` are (text, colour) pairs of classes; or of the ends of the scale, whose colours are
    in `ramp`.
    """

    rgba: NDArray[np.uint8]
    entries: list[tuple[str, str]]
    ramp: list[str]


def class_levels(values: NDArray[Any], *, few: int = FEW) -> tuple[NDArray[Any], list[str]] | None:
    """Return a column as text with its levels in order, or None for a column of numbers."""
    if values.dtype.kind != "f":
        return values, [str(level) for level in np.unique(values)]
    levels = np.unique(values[~np.isnan(values)])
    if len(levels) > few or not np.array_equal(levels, np.round(levels)):
        return None
    text = np.array(["–" if np.isnan(v) else f"{v:.0f}" for v in values])
    return text, [f"{v:.0f}" for v in levels]


def class_codes(values: NDArray[Any], *, few: int = FEW) -> NDArray[np.intp] | None:
    """Return classes as numbers from 0 on, -1 where it is missing; None where a column holds
    numbers, one class alone or more than `MANY`.
    """
    found = class_levels(values, few=few)
    if found is None or not 1 < len(found[1]) <= MANY:
        return None
    text, levels = found
    codes = np.full(len(text), -1, dtype=np.intp)
    for code, level in enumerate(levels):
        codes[text == level] = code
    return codes


def colour_by(values: NDArray[Any], *, few: int = FEW) -> Colouring:
    """Return the colours of a column, of classes or of numbers.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Text, or floats with NaN where one is missing.
    few : int, default=10
        Whole numbers of at most so many different values are classes.

    Returns
    -------
    Colouring
        One colour a class for up to `MANY`; of more, the most frequent keep theirs.
    """
    found = class_levels(values, few=few)
    if found is None:
        return _by_number(values, values[~np.isnan(values)])
    text, levels = found
    if len(levels) > MANY:
        names, counts = np.unique(text, return_counts=True)
        kept = np.sort(np.argsort(-counts, kind="stable")[: MANY - 1])
        levels = [str(name) for name in names[kept]]
    return _by_class(text, levels)


@cache
def class_hues(n: int) -> tuple[str, ...]:
    """Return n colours (at most `MANY`), the first ten of which never change."""
    if n <= len(HUES):
        return HUES[:n]
    axis = np.arange(0, 256, 17)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    seen = _oklab(grid)
    grid = grid[(seen[:, 0] > 0.38) & (seen[:, 0] < 0.86)]  # neither ink nor paper
    seen = _oklab(grid)
    fixed = np.array([_bytes(hue)[:3] for hue in (*HUES, OTHER)])
    far = np.linalg.norm(seen[:, None] - _oklab(fixed)[None], axis=2).min(axis=1)
    hues = list(HUES)
    while len(hues) < n:
        best = int(far.argmax())
        hues.append("#" + "".join(f"{v:02x}" for v in grid[best]))
        far = np.minimum(far, np.linalg.norm(seen - seen[best], axis=1))
    return tuple(hues)


def _oklab(rgb: NDArray[Any]) -> NDArray[np.float64]:
    """Return colours (n, 3) of bytes where equal distances look alike (Ottosson's Oklab)."""
    v = rgb / 255.0
    linear = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    cones = linear @ np.array(
        [
            [0.4122214708, 0.2119034982, 0.0883024619],
            [0.5363325363, 0.6806995451, 0.2817188376],
            [0.0514459929, 0.1073969566, 0.6299787005],
        ]
    )
    result: NDArray[np.float64] = np.cbrt(cones) @ np.array(
        [
            [0.2104542553, 1.9779984951, 0.0259040371],
            [0.7936177850, -2.4285922050, 0.7827717662],
            [-0.0040720468, 0.4505937099, -0.8086757660],
        ]
    )
    return result


def _by_class(text: NDArray[Any], levels: list[str]) -> Colouring:
    rgba = np.tile(_bytes(OTHER), (len(text), 1))
    entries = []
    for level, hue in zip(levels, class_hues(len(levels))):
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
