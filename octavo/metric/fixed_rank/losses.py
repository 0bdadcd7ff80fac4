"""The loss of predictions ŷ = aᵀWa: squares of what is not satisfied.

Reference: Meyer, Bonnabel and Sepulchre (2011), Eq. (1) and Section 8.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import real_array

EQUAL, AT_MOST, AT_LEAST = 0, 1, -1


def residuals(predicted: Floats, y: Floats, relation: Ints | None) -> Floats:
    """Return ŷ - y where it counts, and zero where an inequality holds.

    Parameters
    ----------
    predicted, y : ndarray of shape (n,)
        ŷ and its target.
    relation : ndarray of shape (n,) or None
        0: ŷ = y is wanted; 1: ŷ ≤ y; -1: ŷ ≥ y. None stands for zeros.

    Returns
    -------
    ndarray of shape (n,)
        Of which the cost is half the mean square.
    """
    e = predicted - y
    if relation is None:
        return e
    return np.where(relation * e < 0.0, 0.0, e)  # ½ max(0, ρ(ŷ - y))², Section 8.2


def half_mean_square(e: Floats) -> float:
    """Return ½ mean e², infinity where it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = 0.5 * float(e @ e) / max(e.size, 1)
    return value if np.isfinite(value) else np.inf


def check_relation(relation: Any, n: int) -> Ints | None:
    """Return relations as integers, or None where all are equalities.

    Parameters
    ----------
    relation : array-like of shape (n,), int or None
        0, 1 or -1 each; one number stands for all rows.
    n : int
        How many there must be.

    Returns
    -------
    ndarray of int64 of shape (n,) or None
    """
    if relation is None:
        return None
    values = real_array(relation, "relation")
    if values.ndim == 0:
        values = np.full(n, values)
    if values.shape != (n,):
        raise ValueError(
            f"relation must have one entry for each of the {n} targets, got shape {values.shape}."
        )
    wrong = np.flatnonzero(~np.isin(values, (EQUAL, AT_MOST, AT_LEAST)))
    if wrong.size:
        raise ValueError(
            "relation must hold 0 (equal), 1 (at most) or -1 (at least); "
            f"entry {wrong[0]} is {values[wrong[0]]:g}."
        )
    return values.astype(np.int64) if values.any() else None
