"""Curves of a group without features: Kaplan-Meier and Nelson-Aalen, step functions to be called.

References: E. L. Kaplan and P. Meier (1958), "Nonparametric Estimation from Incomplete
Observations"; O. Aalen (1978), "Nonparametric Inference for a Family of Counting Processes".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.survival import curves
from octavo.engine.survival.curves import Steps

__all__ = ["kaplan_meier", "nelson_aalen"]


def checked_events(event: Any, time: Any) -> tuple[NDArray[np.bool_], Floats]:
    """Return event and time as vectors; refuse what cannot be times or events."""
    time = np.asarray(time)
    event = np.asarray(event)
    if time.ndim != 1 or event.shape != time.shape or not len(time):
        raise ValueError(
            "Events and times must be vectors of one length, at least one; got the shapes "
            f"{event.shape} and {time.shape}."
        )
    if time.dtype.kind not in "fiub" or event.dtype.kind not in "fiub":
        raise ValueError(
            f"Events must be booleans and times numbers; got {event.dtype} and {time.dtype}."
        )
    wrong = np.flatnonzero((event != 0) & (event != 1))
    if wrong.size:
        raise ValueError(f"Events must be 0 or 1; row {wrong[0]} has {event[wrong[0]]}.")
    time = time.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(time) & (time >= 0)))
    if wrong.size:
        raise ValueError(
            f"Times must be finite and at least zero; row {wrong[0]} has {time[wrong[0]]}."
        )
    return event.astype(bool), time


@checked
def kaplan_meier(event: Any, time: Any) -> Steps:
    """Return the product-limit estimate of the survival function.

    Parameters
    ----------
    event : array-like of bool of shape (n_samples,)
        Whether the event happened at `time`; otherwise the row is censored there.
    time : array-like of shape (n_samples,)
        Times.

    Returns
    -------
    curve : Steps
        The share that is still without the event, to be called with times.

    Examples
    --------
    >>> from octavo.survival import kaplan_meier
    >>> kaplan_meier([True, False, True], [1.0, 2.0, 3.0])([0.5, 1.0, 3.0]).round(3)
    array([1.   , 0.667, 0.   ])
    """
    return curves.kaplan_meier(*checked_events(event, time))


@checked
def nelson_aalen(event: Any, time: Any) -> Steps:
    """Return the Nelson-Aalen estimate of the cumulative hazard.

    Parameters
    ----------
    event : array-like of bool of shape (n_samples,)
        Whether the event happened at `time`; otherwise the row is censored there.
    time : array-like of shape (n_samples,)
        Times.

    Returns
    -------
    curve : Steps
        Events over those at risk, added up, to be called with times.

    Examples
    --------
    >>> from octavo.survival import nelson_aalen
    >>> nelson_aalen([True, False, True], [1.0, 2.0, 3.0])([0.5, 1.0, 3.0]).round(3)
    array([0.   , 0.333, 1.333])
    """
    return curves.nelson_aalen(*checked_events(event, time))
