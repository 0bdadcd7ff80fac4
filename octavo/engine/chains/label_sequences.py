"""Sequences of labels as integer codes: stacked, checked, and back.

Labels are anything hashable. Messages about bad input name the sequence and the position.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.chains.sequences import check_lengths, locate
from octavo.engine.estimators.arrays import Ints


class LabelStack(NamedTuple):
    """Labels of all sequences one after the other, and the length of each sequence."""

    labels: list[Hashable]
    lengths: Ints


def stack_labels(y: Any, lengths: ArrayLike | None = None, *, name: str = "y") -> LabelStack:
    """Return label sequences as one flat list and their lengths.

    With ``lengths``, y is flat; without, it is a list of sequences of labels, or one flat
    sequence of labels that are neither lists nor arrays.
    """
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise ValueError(f"{name} must be a list of label sequences, got {y!r}.")
    flat: list[Hashable]
    if lengths is None and len(y) and all(isinstance(part, (list, np.ndarray)) for part in y):
        counts = []
        flat = []
        for q, part in enumerate(y):
            if (isinstance(part, np.ndarray) and part.ndim == 0) or len(part) == 0:
                raise ValueError(f"{name}: sequence {q} is empty.")
            if isinstance(part, np.ndarray) and part.ndim != 1:
                raise ValueError(
                    f"{name}: sequence {q} must be a vector of labels, got shape {part.shape}."
                )
            flat += part.tolist() if isinstance(part, np.ndarray) else list(part)
            counts.append(len(part))
        sizes = np.array(counts, dtype=np.int64)
    else:
        if isinstance(y, np.ndarray) and y.ndim != 1:
            raise ValueError(f"{name} must be a vector of labels, got shape {y.shape}.")
        flat = y.tolist() if isinstance(y, np.ndarray) else list(y)
        sizes = check_lengths(lengths, len(flat), name=name)
    for row, label in enumerate(flat):
        complaint = _complaint(label)
        if complaint:
            raise ValueError(f"{name}: {locate(row, sizes)}: {complaint}.")
    return LabelStack([_plain(label) for label in flat], sizes)


def _plain(label: Any) -> Hashable:
    return label.item() if isinstance(label, np.generic) else label


def _complaint(label: Any) -> str:
    """Return what is wrong with a label, or nothing."""
    if isinstance(label, (str, int)):
        return ""
    try:
        hash(label)
    except TypeError:
        return f"labels must be hashable, got {label!r}"
    return f"{label!r} is not a label" if label is None or label != label else ""


def classes_of(labels: Iterable[Hashable]) -> NDArray[Any]:
    """Return the distinct labels in order: of one plain type, by value; else by type and text."""
    distinct = list(set(labels))
    kinds = {type(label) for label in distinct}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(sorted(distinct))  # type: ignore[type-var]
    return object_array(sorted(distinct, key=lambda label: (type(label).__name__, repr(label))))


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """Return a vector of Python objects; tuples stay tuples."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def encode_labels(
    stack: LabelStack, classes: NDArray[Any], *, name: str = "y", seen: str = "training"
) -> Ints:
    """Return the place of each label in classes; a label that is not there is an error."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([place.get(label, -1) for label in stack.labels], dtype=np.int64)
    if codes.size and codes.min() < 0:
        row = int(np.argmin(codes))
        raise ValueError(
            f"{name}: {locate(row, stack.lengths)}: label {stack.labels[row]!r} was never seen in "
            f"{seen}, which has {classes.size} labels."
        )
    return codes
