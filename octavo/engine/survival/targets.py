"""Survival targets: records of event and time, or the two ends of an interval, checked once.

An observation is an interval [lower, upper] that holds the time of its event. An event that was
seen has both ends equal, a right-censored row has an infinite upper end, a left-censored one a
lower end of zero. Records (event, time) are what scikit-survival takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import real_array

Bools = NDArray[np.bool_]


class Intervals(NamedTuple):
    """The ends between which each event lies."""

    lower: Floats
    upper: Floats

    @property
    def event(self) -> Bools:
        """Whether the time of the event is known exactly."""
        return self.lower == self.upper

    @property
    def right_censored(self) -> bool:
        """Whether every row is an event or right-censored."""
        return bool(np.all(self.event | np.isinf(self.upper)))


def survival_record(event: Any, time: Any) -> NDArray[Any]:
    """Return records with the fields ``event`` and ``time``."""
    y = np.empty(len(time), [("event", bool), ("time", float)])
    y["event"], y["time"] = event, time
    return y


def event_and_time(y: Any, n_samples: int | None = None) -> tuple[Bools, Floats]:
    """Return event and time of right-censored targets, whatever form they have.

    Parameters
    ----------
    y : records or array-like of shape (n_samples, 2)
        See `as_intervals`.
    n_samples : int, default=None
        Rows that are expected.

    Returns
    -------
    event : ndarray of bool
        Whether the event was seen.
    time : ndarray
        When, or until when the row was followed.

    Raises
    ------
    ValueError
        If a row is left- or interval-censored.
    """
    ends = as_intervals(y, n_samples)
    other = np.flatnonzero(~(ends.event | np.isinf(ends.upper)))
    if other.size:
        i = other[0]
        raise ValueError(
            "Events and right-censored rows are expected; row "
            f"{i} is known to lie in [{ends.lower[i]:g}, {ends.upper[i]:g}] "
            f"({other.size} such rows). MinlipSurvival takes intervals."
        )
    return ends.event, ends.lower


def as_intervals(y: Any, n_samples: int | None = None) -> Intervals:
    """Return the ends of every row's interval.

    Parameters
    ----------
    y : records or array-like of shape (n_samples, 2)
        Records with two fields of any names, one of them boolean (whether the event was seen) and
        the other a time; or lower and upper ends, where an infinite upper end says right-censored
        and a lower end of zero left-censored.
    n_samples : int, default=None
        Rows that are expected.

    Returns
    -------
    Intervals
        Lower and upper ends.
    """
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is not None:
        ends = _of_records(y, names)
    else:
        if (
            hasattr(y, "columns")
            and len(y.columns) == 2
            and any(getattr(kind, "kind", "") == "b" for kind in y.dtypes)
        ):
            return as_intervals(y.to_records(index=False), n_samples)
        ends = _of_columns(y)
    n = len(ends.lower)
    if n_samples is not None and n != n_samples:
        raise ValueError(f"X and y must have as many rows; got {n_samples} and {n}.")
    _check_ends(ends)
    return ends


def _of_records(y: Any, names: tuple[str, ...]) -> Intervals:
    y = np.asarray(y)
    if len(names) != 2 or y.ndim != 1:
        raise ValueError(
            "Survival records need two fields, event and time, one record a row; got "
            f"{list(names)} of shape {y.shape}."
        )
    flags = [name for name in names if y.dtype[name].kind == "b"]
    if len(flags) != 1:
        flags = [n for n in names if set(np.unique(y[n]).tolist()) <= {0, 1}][:1]
        if not flags:
            raise ValueError(
                "One field of the survival records must say whether the event was seen (a "
                f"boolean); got {[f'{n}: {y.dtype[n]}' for n in names]}."
            )
    event = y[flags[0]].astype(bool)
    (clock,) = (name for name in names if name != flags[0])
    if y.dtype[clock].kind not in "fiu":
        raise ValueError(f"Times must be numbers; the field {clock!r} holds {y.dtype[clock]}.")
    time = y[clock].astype(np.float64)
    if not np.isfinite(time).all():
        i = int(np.flatnonzero(~np.isfinite(time))[0])
        raise ValueError(f"Times must be finite; row {i} has {time[i]}.")
    return Intervals(time, np.where(event, time, np.inf))


def _of_columns(y: Any) -> Intervals:
    try:
        ends = real_array(y, "Targets", finite=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "Survival targets must be records of event and time, or an array of numbers of shape "
            f"(n_samples, 2) with lower and upper ends; got {type(y).__name__}."
        ) from error
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(
            "Survival targets must be records of event and time, or an array of shape "
            f"(n_samples, 2) with lower and upper ends; got the shape {ends.shape}."
        )
    return Intervals(ends[:, 0].copy(), ends[:, 1].copy())


def _check_ends(ends: Intervals) -> None:
    lower, upper = ends
    if not len(lower):
        raise ValueError("Survival targets need at least one row; got none.")
    for what, wrong in (
        ("NaN", np.isnan(lower) | np.isnan(upper)),
        ("a lower end that is infinite", np.isinf(lower)),
        ("a lower end above its upper end", lower > upper),
        ("a negative time", lower < 0),
    ):
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"Survival targets hold {what}: row {i} is [{lower[i]:g}, {upper[i]:g}] "
                f"({int(wrong.sum())} such rows)."
            )
