"""Sequences given as a list of arrays or stacked with ``lengths``, as in hmmlearn.

Inside octavo sequences are always stacked: one array and the length of each sequence. Messages
about bad input name the sequence and the position in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Stacked(NamedTuple):
    """Sequences one after the other: their values, and the length of each."""

    values: NDArray[Any]
    lengths: NDArray[np.int64]


def stack_sequences(
    X: Any, lengths: ArrayLike | None = None, *, name: str = "X", columns: bool = False
) -> Stacked:
    """Return sequences as one stacked array and their lengths.

    Parameters
    ----------
    X : array-like, or list of array-like
        Stacked rows with ``lengths`` (without: one sequence), or a list of sequences. A flat
        list of scalars is one sequence; a list of lists is a list of sequences.
    lengths : array-like of int, optional
        Lengths of the stacked sequences; they must add up to the number of rows.
    name : str, default="X"
        What messages call the input.
    columns : bool, default=False
        Whether positions are rows of numbers; a vector is then made a column.

    Returns
    -------
    stacked : Stacked
        Values, of the dtype given, and lengths.
    """
    if lengths is None and isinstance(X, (list, tuple)) and len(X) and not _is_flat(X):
        parts = [np.asarray(part) for part in X]
        for q, part in enumerate(parts):
            if part.ndim == 0:
                raise ValueError(f"{name}: sequence {q} is a scalar, not an array: {part!r}.")
            if part.shape[0] == 0:
                raise ValueError(f"{name}: sequence {q} is empty.")
            if part.shape[1:] != parts[0].shape[1:]:
                raise ValueError(
                    f"{name}: sequence {q} has positions of shape {part.shape[1:]}, "
                    f"sequence 0 of shape {parts[0].shape[1:]}."
                )
        values = np.concatenate(parts)
        counts = np.array([len(part) for part in parts], dtype=np.int64)
    else:
        values = np.asarray(X)
        if values.ndim == 0:
            raise ValueError(f"{name} must be an array or a list of arrays, got {X!r}.")
        counts = check_lengths(lengths, values.shape[0], name=name)
    if columns and values.ndim == 1:
        values = values[:, None]
    return Stacked(values, counts)


def _is_flat(X: Sequence[Any]) -> bool:
    return all(np.ndim(x) == 0 for x in X)


def check_lengths(lengths: ArrayLike | None, n_rows: int, *, name: str = "X") -> NDArray[np.int64]:
    """Return lengths as integers after checking that they add up to the number of rows.

    Parameters
    ----------
    lengths : array-like of int or None
        Lengths of the sequences; None means one sequence.
    n_rows : int
        Number of stacked rows.
    name : str, default="X"
        What messages call the rows.

    Returns
    -------
    lengths : ndarray of int64
        One entry a sequence.
    """
    if lengths is None:
        if n_rows == 0:
            raise ValueError(f"{name} is empty; a sequence needs at least one position.")
        return np.array([n_rows], dtype=np.int64)
    counts = np.asarray(lengths)
    if counts.ndim != 1 or counts.size == 0 or counts.dtype.kind not in "iu":
        raise ValueError(f"lengths must be a vector of integers, got {lengths!r}.")
    counts = counts.astype(np.int64)
    if counts.min() < 1:
        q = int(np.argmin(counts))
        raise ValueError(
            f"Sequence {q} has length {counts[q]}; a sequence needs at least one position."
        )
    if counts.sum() != n_rows:
        raise ValueError(f"lengths add up to {counts.sum()}, but {name} has {n_rows} rows.")
    return counts


def split_sequences(values: NDArray[Any], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Return the sequences of a stacked array as a list of views."""
    return np.split(values, np.cumsum(lengths)[:-1])


def locate(row: int, lengths: NDArray[np.int64]) -> str:
    """Return where a stacked row stands, in words for a message."""
    ends = np.cumsum(lengths)
    q = int(np.searchsorted(ends, row, side="right"))
    return f"sequence {q}, position {int(row - (ends[q] - lengths[q]))}"
