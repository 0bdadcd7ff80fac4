"""Tables for the map: what is read, what becomes a coordinate of the kernel, what a row says.

Every column can colour the map and is shown when the mouse rests on a point; `MapTable.X` holds
those that the kernel sees: numbers to zero mean and unit variance, categories as indicators.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from octavo._names import UnknownNameError

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 20_000  # more are thinned out at random: the page would no longer answer at once
MAX_LEVELS = 30  # a column of text with more values than this names rows, it does not sort them
SHOWN = 12  # cells of a row that are shown
# Names of columns that are the pixels of a picture: pixel0, pixel 3 4, px_12, 28x28.
PIXEL = re.compile(r"(?:pixel|px)[ _]?\d+(?:[ ,_x]+\d+)?|\d+x\d+", re.IGNORECASE)
SIDE = 4  # pixels that a picture is wide, at least


@dataclass
class MapTable:
    """Rows of a map.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        What the kernel sees.
    columns : dict of str to ndarray of shape (n_rows,)
        What can be shown and coloured by: floats, or text.
    name : str
        Of the data, for the heading.
    code : str
        Python lines that define X.
    label : str or None
        The column that was kept from the kernel.
    notes : list of str
        What was left out or filled in.
    pixels : ndarray of shape (n_rows, height, width) or None
        Small pictures of the rows, from 0 to 1.
    guide : dict or None
        What the guided start shows on this table: "drag" (a row and where to), "apart" (two rows).
    """

    X: NDArray[np.float64]
    columns: dict[str, NDArray[Any]]
    name: str
    code: str
    label: str | None = None
    notes: list[str] = field(default_factory=list)
    pixels: NDArray[np.float64] | None = None
    guide: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.X)

    def row(self, i: int) -> dict[str, Any]:
        """Return what a row says: its first cells as text, and its picture if it has one."""
        shown = [name for name in self.columns if name != self.label]
        if self.pixels is not None:
            shown = [name for name in shown if not PIXEL.fullmatch(name)]
        if self.label is not None:
            shown.insert(0, self.label)
        cells = [[name, cell_text(self.columns[name][i])] for name in shown[:SHOWN]]
        picture = None if self.pixels is None else np.round(self.pixels[i], 3).tolist()
        return {"index": i, "cells": cells, "more": max(0, len(shown) - SHOWN), "pixels": picture}


def cell_text(value: Any) -> str:
    """Return a cell as a person would write it."""
    if isinstance(value, float | np.floating):
        return "–" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def load_table(path: str | Path | None = None, label: str | None = None) -> MapTable:
    """Read a table for the map.

    Parameters
    ----------
    path : str, Path or None, default=None
        A file; None stands for the handwritten digits of scikit-learn.
    label : str or None, default=None
        A column that the kernel must not see.

    Returns
    -------
    table : MapTable
        The rows. What cannot be used raises a ValueError (or a LookupError for a column that
        does not exist) that says what to do.
    """
    if path is None:
        return _digits(label)
    frame, notes, target = read_frame(Path(path))
    frame.columns = [str(name) for name in frame.columns]
    label = target if label is None else label
    if label is not None and label not in frame.columns:
        raise UnknownNameError("column", label, list(frame.columns))
    if len(frame) < 3:
        raise ValueError(f"{path} has {len(frame)} rows; a map needs at least 3.")
    if len(frame) > MAX_ROWS:
        notes.append(f"{MAX_ROWS:,} of {len(frame):,} rows, drawn at random")
        frame = frame.sample(MAX_ROWS, random_state=0).sort_index()
    columns, X = {}, []
    for name in frame.columns:
        values, features, note = _column(frame[name], name)
        if note:
            notes.append(note)
        if values is not None:
            columns[name] = values
            X += [] if name == label else features
    if not X:
        raise ValueError(
            f"{path} has no column that a map can be made of: it needs numbers, or text with at "
            f"most {MAX_LEVELS} different values."
        )
    named = f", label={label!r}" if label is not None else ""
    code = f"from octavo.app import load_table\n\nX = load_table({str(path)!r}{named}).X\n"
    name, pixels = Path(path).name, find_pixels(columns)
    return MapTable(np.column_stack(X), columns, name, code, label, notes, pixels)


def find_pixels(columns: dict[str, NDArray[Any]]) -> NDArray[np.float64] | None:
    """Return the rows as square pictures from 0 to 1, where columns are named as pixels are.

    Parameters
    ----------
    columns : dict of str to ndarray of shape (n_rows,)
        Of a table; those named such as ``pixel0`` or ``3x4`` are taken in their order.

    Returns
    -------
    ndarray of shape (n_rows, side, side) or None
        None unless they are numbers from 0 on, none missing, and as many as a square has.
    """
    found = [values for name, values in columns.items() if PIXEL.fullmatch(name)]
    side = round(len(found) ** 0.5)
    if side < SIDE or side * side != len(found) or any(v.dtype.kind != "f" for v in found):
        return None
    flat = np.column_stack(found)
    if not (np.isfinite(flat).all() and flat.min() >= 0.0 and flat.max() > 0.0):
        return None
    return (flat / flat.max()).reshape(-1, side, side)


def _digits(label: str | None) -> MapTable:
    from sklearn.datasets import load_digits

    digits = load_digits()
    X = digits.data / 16.0
    columns: dict[str, NDArray[Any]] = {"digit": digits.target.astype(str), "ink": X.mean(axis=1)}
    for k in range(X.shape[1]):
        columns[f"pixel {k // 8 + 1}, {k % 8 + 1}"] = X[:, k]
    if label not in (None, "digit"):
        raise UnknownNameError("column", str(label), ["digit"])
    code = "from sklearn.datasets import load_digits\n\nX = load_digits().data / 16.0\n"
    pixels = X.reshape(-1, 8, 8)
    # A five that strayed, and where most fives are; an eight and a one of which to pull them apart
    # looks tidy and costs much: what the guided start is to show.
    guide = {"drag": {"row": 1361, "to": [0.10, -0.06]}, "apart": [414, 99]}
    return MapTable(X, columns, "Handwritten digits", code, "digit", [], pixels, guide)


def read_frame(path: Path) -> tuple[pd.DataFrame, list[str], str | None]:
    """Return the columns of a file, what was guessed, and the target that its format names."""
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise ValueError(
            "Reading a table needs pandas, which is not installed: pip install 'octavo[app]'."
        ) from error
    from octavo.compare.table.reading import read_table

    table = read_table(path)
    if table.sparse is not None:
        raise ValueError(f"{path} is too wide for a map: {table.sparse.shape[1]:,} columns.")
    return table.frame, list(table.notes), table.target


def _column(series: pd.Series, name: str) -> tuple[Any, list[Any], str]:
    """Return what a column shows (None: nothing), its features, and a note on what was done."""
    import pandas as pd

    from octavo.compare.table.cleaning import as_numbers, as_text

    if series.dtype == object or pd.api.types.is_string_dtype(series.dtype):
        # Text in which every cell that is not missing is a number, as people write numbers.
        text, numbers = as_text(series), as_numbers(series)
        series = numbers if numbers.notna().sum() == text.notna().sum() else text
    missing = int(series.isna().sum())
    if missing == len(series):
        return None, [], f"{name}: empty, left out"
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        series = (series - series.min()).dt.total_seconds()
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        values = series.astype(float).to_numpy()
        values = np.where(np.isinf(values), np.nan, values)
        if np.isnan(values).all():
            return None, [], f"{name}: no finite number, left out"
        note = f"{name}: {missing:,} missing, filled with the median" if missing else ""
        filled = np.where(np.isnan(values), np.nanmedian(values), values)
        spread = filled.std()
        if not (np.isfinite(spread) and spread > 0.0):
            return values, [], f"{name}: always the same, shown only"
        return values, [(filled - filled.mean()) / spread], note
    text = series.astype(object).where(series.notna(), "–").astype(str).to_numpy()
    levels = np.unique(text)
    if len(levels) > MAX_LEVELS:
        return text, [], f"{name}: {len(levels):,} different texts, shown only"
    if len(levels) == 1:
        return text, [], f"{name}: always the same, shown only"
    return text, [(text == level).astype(float) for level in levels], ""
