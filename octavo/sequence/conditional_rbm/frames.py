"""Frames of sequences: checked, standardised, in memory or on disk; and codes of styles.

Sequences are a list of (T, D) arrays or stacked rows with ``lengths``. Memory-mapped arrays stay
on disk and are read in blocks; arrays of another namespace stay on their device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.chains.sequences import check_lengths, locate
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy

BLOCK = 1 << 16  # frames of a memory-mapped array that are read at once


class Joined:
    """Arrays one after the other, read in slices without joining them."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts
        self._ends = np.cumsum([len(part) for part in parts])
        self.shape = (int(self._ends[-1]), parts[0].shape[1])
        self.dtype = np.result_type(*[part.dtype for part in parts])

    def __getitem__(self, place: tuple[slice, slice]) -> NDArray[Any]:
        first, last, _ = place[0].indices(self.shape[0])
        found = []
        for part, end in zip(self._parts, self._ends, strict=True):
            begin = int(end) - len(part)
            if begin < last and first < end:
                found.append(part[max(first - begin, 0) : last - begin])
        return np.concatenate(found) if found else np.zeros((0, self.shape[1]))


class Frames(NamedTuple):
    """Stacked rows, the length of each sequence, and whether the rows lie on disk."""

    rows: Any
    lengths: Ints
    on_disk: bool

    @property
    def n_rows(self) -> int:
        """Number of frames."""
        return int(self.rows.shape[0])

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """Yield first row and rows of the pieces that are read at once."""
        size = BLOCK if self.on_disk else max(self.n_rows, 1)
        for first in range(0, self.n_rows, size):
            yield first, self.rows[first : min(first + size, self.n_rows), :]


def _is_sequence_list(X: Any) -> bool:
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    return getattr(X[0], "ndim", None) == 2 or (
        isinstance(X[0], (list, tuple)) and len(X[0]) > 0 and np.ndim(X[0][0]) == 1
    )


def _one_array(X: Any, name: str) -> Any:
    xp, _, is_numpy = namespace_of(X) if hasattr(X, "dtype") else namespace_of(np.empty(0))
    rows = X if not is_numpy or isinstance(X, np.memmap) else np.asarray(X)
    if is_numpy and rows.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold rows of numbers, got {rows.dtype}; turn other things into numbers."
        )
    if not is_numpy and not xp.isdtype(rows.dtype, "numeric"):
        raise ValueError(f"{name} must hold rows of numbers, got {rows.dtype}.")
    if rows.ndim != 2:
        raise ValueError(
            f"{name} must hold rows of numbers, one for each frame, got an array of shape "
            f"{tuple(rows.shape)}; a single channel is a column."
        )
    return rows


def check_frames(
    X: Any,
    lengths: Any = None,
    *,
    n_features: int | None = None,
    allow_nan: bool = False,
    name: str = "X",
) -> Frames:
    """Return checked frames.

    Parameters
    ----------
    X : list of arrays (T, D), or array (n_rows, D)
        Sequences.
    lengths : array-like of int, optional
        Lengths of stacked sequences; one sequence by default.
    n_features : int, optional
        How many channels there must be.
    allow_nan : bool, default=False
        Whether NaN may mark missing values.
    name : str, default="X"
        What messages call the frames.

    Returns
    -------
    frames : Frames
        Rows of the dtype given.
    """
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if lengths is None and _is_sequence_list(X):
        parts = [_one_array(part, f"{name}: sequence {q}") for q, part in enumerate(X)]
        for q, part in enumerate(parts):
            if part.shape[0] == 0:
                raise ValueError(f"{name}: sequence {q} is empty; it needs at least one frame.")
            if part.shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"{name}: sequence {q} has {part.shape[1]} channels, sequence 0 has "
                    f"{parts[0].shape[1]}; all must have the same."
                )
        counts = np.array([part.shape[0] for part in parts], dtype=np.int64)
        on_disk = any(isinstance(part, np.memmap) for part in parts)
        xp = namespace_of(parts[0]).xp
        rows = Joined(parts) if on_disk else xp.concat(parts, axis=0)
        frames = Frames(rows, counts, on_disk)
    else:
        rows = _one_array(X, name)
        if rows.shape[0] == 0:
            raise ValueError(f"{name} is empty: found array with 0 sample(s), expected frames.")
        counts = check_lengths(lengths, int(rows.shape[0]), name=name)
        frames = Frames(rows, counts, isinstance(rows, np.memmap))
    if frames.rows.shape[1] == 0:
        raise ValueError(f"{name} has 0 feature(s), expected at least one channel.")
    if n_features is not None and frames.rows.shape[1] != n_features:
        raise ValueError(
            f"{name} has {frames.rows.shape[1]} channels, the model was fitted with {n_features}."
        )
    _check_values(frames, allow_nan, name)
    return frames


def _check_values(frames: Frames, allow_nan: bool, name: str) -> None:
    for first, rows in frames.blocks():
        xp, _, is_numpy = namespace_of(rows)
        if (is_numpy and rows.dtype.kind != "f") or (
            not is_numpy and not xp.isdtype(rows.dtype, "real floating")
        ):
            continue
        bad = xp.isinf(rows) if allow_nan else ~xp.isfinite(rows)
        if not bool(xp.any(bad)):
            continue
        row = first + int(np.flatnonzero(to_numpy(bad).any(axis=1))[0])
        what = "an infinite value" if allow_nan else "a value that is NaN or infinite"
        hint = (
            "" if allow_nan else " Missing values are filled in by impute, once a model is fitted."
        )
        raise ValueError(f"{name} has {what} at {locate(row, frames.lengths)}.{hint}")


def check_long_enough(frames: Frames, span: int, name: str = "X") -> None:
    """Refuse sequences that are too short for a past of ``span`` frames, by number."""
    short = np.flatnonzero(frames.lengths <= span)
    if short.size:
        named = ", ".join(f"{q} ({frames.lengths[q]} frames)" for q in short[:8])
        named += ", ..." if short.size > 8 else ""
        raise ValueError(
            f"{name}: sequences need at least {span + 1} frames for a model that looks "
            f"{span} frames back; too short: sequence {named}. Leave them out or choose a lower "
            "order."
        )


def target_rows(lengths: Ints, span: int) -> Ints:
    """Return the rows that have ``span`` frames before them in their own sequence."""
    starts = np.cumsum(lengths) - lengths
    return np.concatenate(
        [np.arange(s + span, s + n, dtype=np.int64) for s, n in zip(starts, lengths, strict=True)]
    )


class Scaling(NamedTuple):
    """Which channels vary (D,), means and scales of those, and the values of the others.

    ``size`` is the mean square of the frames in standard units. Where ``turn`` (D, D) is given,
    the channels are mixed by it after they are scaled, and ``back`` is its inverse.
    """

    kept: NDArray[np.bool_]
    mean: Floats
    scale: Floats
    constant: Floats
    low: Floats
    high: Floats
    size: float
    turn: Floats | None = None
    back: Floats | None = None

    @property
    def log_volume(self) -> float:
        """Return the log of the volume, in the units of the data, of a unit cube of frames."""
        volume = float(np.sum(np.log(self.scale)))  # log det of standardising and turning
        return volume if self.back is None else volume + float(np.linalg.slogdet(self.back)[1])

    def standard(self, rows: Any, dtype: Any = None) -> Any:
        """Return the varying channels in standard units."""
        return self.turned(self.scaled(rows, dtype))

    def turned(self, rows: Any) -> Any:
        """Return scaled channels in standard units."""
        return rows if self.turn is None else rows @ to_namespace(self.turn, rows)

    def unturned(self, rows: Any) -> Any:
        """Return scaled channels."""
        return rows if self.back is None else rows @ to_namespace(self.back, rows)

    def clipped(self, rows: Any) -> Any:
        """Return frames in standard units, each channel moved into the range of training."""
        xp = namespace_of(rows).xp
        low, high = (
            to_namespace((x - self.mean) / self.scale, rows) for x in (self.low, self.high)
        )
        return self.turned(xp.clip(self.unturned(rows), low, high))

    def along(self, missing: NDArray[np.bool_]) -> Floats:
        """Return a projection on the directions in which missing channels move frames."""
        assert self.turn is not None
        basis = np.linalg.qr(self.turn[missing].T)[0]
        return basis @ basis.T

    def scaled(self, rows: Any, dtype: Any = None) -> Any:
        """Return the varying channels with mean zero and variance one."""
        xp, _, is_numpy = namespace_of(rows)
        if is_numpy:
            kind = dtype or (np.float32 if rows.dtype == np.float32 else np.float64)
            rows = np.asarray(rows, dtype=kind)
            chosen = rows if self.kept.all() else rows[:, self.kept]
            return ((chosen - self.mean) / self.scale).astype(kind, copy=False)
        if not xp.isdtype(rows.dtype, "real floating"):
            rows = xp.astype(rows, xp.float64)
        if not self.kept.all():
            rows = xp.take(rows, to_namespace(np.flatnonzero(self.kept), rows), axis=1)
        return (rows - to_namespace(self.mean, rows)) / to_namespace(self.scale, rows)

    def original(self, rows: Any) -> Any:
        """Return rows in the units of the data, constant channels put back."""
        xp = namespace_of(rows).xp
        rows = self.unturned(rows)
        rows = rows * to_namespace(self.scale, rows) + to_namespace(self.mean, rows)
        if self.kept.all():
            return rows
        full = to_namespace(self.constant, rows)
        columns, place = [], 0
        for channel, is_kept in enumerate(self.kept):
            if is_kept:
                columns.append(rows[..., place])
                place += 1
            else:
                columns.append(xp.zeros_like(rows[..., 0]) + full[channel])
        return xp.stack(columns, axis=-1)


def learn_scaling(frames: Frames, standardize: bool) -> Scaling:
    """Return the scaling of training frames, in two passes over them."""
    n = frames.n_rows
    D = frames.rows.shape[1]
    total, low, high = np.zeros(D), np.full(D, np.inf), np.full(D, -np.inf)
    for _, rows in frames.blocks():
        block = np.asarray(to_numpy(rows), dtype=np.float64)
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
        total += (block / n).sum(axis=0)
    total = np.where(high > low, total, low)  # a constant channel comes back as it was
    squares = np.zeros(D)
    with np.errstate(over="ignore", under="ignore"):
        width = np.where(high > low, high - low, 1.0)
        for _, rows in frames.blocks():
            block = (np.asarray(to_numpy(rows), dtype=np.float64) - total) / width
            squares += (block**2 / n).sum(axis=0)
        scale = np.sqrt(squares) * width
    if not np.isfinite(scale).all():
        raise ValueError(
            "X holds numbers that are too large to be standardised in double precision, the "
            f"largest being {np.max(np.abs([low, high])):.3g}; scale the channels first."
        )
    kept = (high > low) & (scale > 16 * np.finfo(np.float64).eps * np.abs(total))
    if not kept.any():
        raise ValueError(
            "All channels of X are constant: there is nothing to model. Look for a wrong column "
            "or a recording that stands still."
        )
    if not standardize:
        ones = np.ones(int(kept.sum()))
        size = float(np.mean(scale[kept] ** 2 + total[kept] ** 2))
        return Scaling(kept, 0.0 * ones, ones, total, low[kept], high[kept], size)
    return Scaling(kept, total[kept], scale[kept], total, low[kept], high[kept], 1.0)


# --- styles ---------------------------------------------------------------------------------------


class StyleCode(NamedTuple):
    """How styles become rows of numbers: one-hot labels (``classes``) or the rows themselves."""

    classes: NDArray[Any] | None
    width: int

    def rows(self, y: Any, n_rows: int, *, name: str = "y", never_zero: bool = False) -> Floats:
        """Return a row of numbers for each frame; one style stands for all frames."""
        values = _style_array(y)
        # One row of numbers for all frames, a blend of labels, is no list of labels.
        blend = values.ndim == 1 and values.dtype.kind in "biuf" and self.width > 1
        blend = blend and values.size == self.width != n_rows
        of_labels = self.classes is not None and not blend
        if of_labels and (values.ndim < 2 or values.shape[1] != self.width):
            found = self._labels(np.ravel(values), name)
        else:
            found = self._numbers(values, n_rows, name)
        if found.shape[0] == 1 and n_rows != 1:
            found = np.repeat(found, n_rows, axis=0)
        if found.shape[0] != n_rows:
            raise ValueError(
                f"{name} has {found.shape[0]} styles, but there are {n_rows} frames; give one "
                "style for each frame, or a single one."
            )
        if never_zero and (~found.any(axis=1)).any():
            row = int(np.flatnonzero(~found.any(axis=1))[0])
            raise ValueError(
                f"{name} has an all-zero style at frame {row}, which would switch off every "
                "connection; code styles so that one entry at least is not zero (1, 2, 3)."
            )
        return found

    def _labels(self, values: NDArray[Any], name: str) -> Floats:
        assert self.classes is not None
        known = {label: k for k, label in enumerate(self.classes.tolist())}
        unknown = [v for v in dict.fromkeys(values.tolist()) if v not in known]
        if unknown:
            shown = ", ".join(repr(v) for v in unknown[:5])
            raise ValueError(
                f"{name} has styles that were not seen in training: {shown}; the model knows "
                f"{', '.join(repr(v) for v in list(known)[:12])}."
            )
        found = np.zeros((values.size, self.width))
        found[np.arange(values.size), [known[v] for v in values.tolist()]] = 1.0
        return found

    def _numbers(self, values: NDArray[Any], n_rows: int, name: str) -> Floats:
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{name} must hold rows of {self.width} numbers, got {values.dtype}.")
        found = np.asarray(values, dtype=np.float64)
        if found.ndim == 0:
            found = found[None, None]
        elif found.ndim == 1:
            one_row = found.size == self.width and (self.width > 1 or n_rows != found.size)
            found = found[None, :] if one_row else found[:, None]
        if found.ndim != 2 or found.shape[1] != self.width:
            raise ValueError(
                f"{name} must hold rows of {self.width} style numbers, got shape {values.shape}."
            )
        if not np.isfinite(found).all():
            raise ValueError(f"{name} has a style that is NaN or infinite; styles must be known.")
        return found


def _style_array(y: Any) -> NDArray[Any]:
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if hasattr(y, "dtype") and not isinstance(y, np.generic):
        return np.asarray(to_numpy(y))
    if isinstance(y, (list, tuple)) and len(y) and hasattr(y[0], "ndim") and y[0].ndim >= 1:
        return np.concatenate([np.asarray(to_numpy(part)) for part in y])
    return np.asarray(y)


def learn_styles(y: Any, n_rows: int, classes: Any = None) -> StyleCode:
    """Return the code of training styles.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or (n_rows, P)
        Labels, or rows of style numbers; a vector of numbers that are not integers is a column.
    n_rows : int
        Number of frames.
    classes : array-like, optional
        All labels that may come, where the first batch does not show them all.

    Returns
    -------
    code : StyleCode
        How styles become rows of numbers.
    """
    values = _style_array(y)
    if classes is not None:
        known = np.unique(np.asarray(classes))
        return StyleCode(known, known.size)
    if values.ndim not in (1, 2) or values.shape[0] != n_rows:
        raise ValueError(
            f"y must have one label or one row of style numbers for each of the {n_rows} frames, "
            f"got shape {values.shape}."
        )
    if values.ndim == 2 and values.shape[1] == 0:
        raise ValueError("y must hold at least one style number for each frame, got none.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("y has a style that is NaN or infinite; styles must be known.")
    if values.ndim == 2 or (values.dtype.kind == "f" and (values != np.round(values)).any()):
        return StyleCode(None, values.shape[1] if values.ndim == 2 else 1)
    known = np.unique(values)
    return StyleCode(known, known.size)
