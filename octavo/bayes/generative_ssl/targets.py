"""Targets of which some are unknown: which rows have a label, and which class it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.classes import encode_classes, need_two_classes


class PartialLabels(NamedTuple):
    """Classes, and for each row its position among them, -1 where it is unknown."""

    classes: NDArray[Any]
    codes: Indices


def _is_unknown(label: Any, marker: Any) -> bool:
    if label is None or (isinstance(label, float) and np.isnan(label)):
        return True
    if marker is None:
        return False
    return bool(type(label) is not bool and label == marker)


def unlabelled_rows(y: NDArray[Any], marker: Any) -> NDArray[np.bool_]:
    """Return which entries of y stand for an unknown label: the marker, None or NaN.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    marker : object
        What stands for an unknown label; None when only None and NaN do.

    Returns
    -------
    unknown : ndarray of bool of shape (n,)
    """
    if y.dtype.kind == "O":
        return np.array([_is_unknown(label, marker) for label in y], dtype=bool)
    unknown = np.isnan(y) if y.dtype.kind == "f" else np.zeros(y.shape, dtype=bool)
    if marker is None:
        return unknown
    if y.dtype.kind in "US":  # a list of names with -1 among them becomes text
        return unknown | (y == str(marker))
    if isinstance(marker, str):
        return unknown
    return unknown | (y == marker)


def read_labels(y: Any, marker: Any, priors: Any = None, owner: Any = None) -> PartialLabels:
    """Read labels of which some may be unknown.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels, with the marker, None or NaN where a row has none.
    marker : object
        What stands for an unknown label.
    priors : mapping, array-like or None
        A mapping may name classes that no row of y has.
    owner : estimator, optional
        Whose name errors begin with.

    Returns
    -------
    labels : PartialLabels
        At least two classes and one labelled row.
    """
    if y is None:
        name = "A classifier" if owner is None else type(owner).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    values = column_or_1d(y, warn=True)
    unknown = unlabelled_rows(values, marker)
    if unknown.all():
        raise ValueError(
            f"y has no labelled row: all {len(values)} entries are the marker "
            f"({marker!r}), None or NaN. At least one row of each class needs its label."
        )
    known = values[~unknown]
    if known.dtype.kind == "f":
        assert_all_finite(known, input_name="y")
    if known.dtype.kind == "O":
        known = np.array(known.tolist())
    named = None
    if isinstance(priors, Mapping):
        named = np.array(sorted({*known.tolist(), *priors}))
    classes, found = encode_classes(known, classes=named, owner=owner)
    need_two_classes(classes, owner)
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[~unknown] = found
    return PartialLabels(classes, codes)


def read_priors(priors: Any, classes: NDArray[Any]) -> Floats | None:
    """Return class probabilities in the order of the classes, or None where they are not given."""
    if priors is None:
        return None
    if isinstance(priors, Mapping):
        absent = [label for label in classes.tolist() if label not in priors]
        if absent:
            raise ValueError(f"priors has no entry for the classes {absent}.")
        values = np.array([priors[label] for label in classes.tolist()], dtype=np.float64)
    else:
        values = np.asarray(priors, dtype=np.float64)
    if values.shape != (len(classes),):
        raise ValueError(
            f"priors must have one entry for each of the {len(classes)} classes "
            f"{classes.tolist()}; got shape {values.shape}. A class without a labelled row is "
            "named by a mapping of classes to probabilities."
        )
    if not (np.isfinite(values).all() and (values > 0).all() and abs(values.sum() - 1) < 1e-6):
        raise ValueError(f"priors must be positive and sum to one; got {values.tolist()}.")
    return values / values.sum()


def refuse_unlabelled_classes(labels: PartialLabels, *, allowed: bool) -> None:
    """Raise on classes without a labelled row, naming them, unless the caller can do without."""
    seen = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.classes))
    if (seen == 0).any() and not allowed:
        raise ValueError(
            f"The classes {labels.classes[seen == 0].tolist()} have no labelled row. That works "
            'only with objective="ml", priors that name them, and unlabelled rows.'
        )
