"""The clock on which a transformation model is smooth: times divided by a scale, then mapped.

The model Y = h(u(X)) does not change under an increasing map of time; what changes is the prior,
that the map from utilities to *these* times is smooth.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.survival.targets import Intervals

TRANSFORMS = ("log", "rank")


def representative_times(ends: Intervals) -> Floats:
    """Return one time a row: its event, or where its censoring ends or begins."""
    return np.where(np.isinf(ends.upper), ends.lower, ends.upper)


def settled_scale(ends: Intervals, time_scale: float | str | None) -> float:
    """Return the number by which times are divided."""
    if time_scale is None:
        return 1.0
    if not isinstance(time_scale, str):
        return float(time_scale)
    times = representative_times(ends)
    middle = float(np.median(times))  # so that C means the same in days and in years
    return middle if middle > 0 else float(times.max()) or 1.0


def mapped_times(ends: Intervals, scale: float, time_transform: str | None) -> Intervals:
    """Return the ends on the model's clock.

    Parameters
    ----------
    ends : Intervals
        In the user's unit.
    scale : float
        What they are divided by.
    time_transform : {"log", "rank"} or None
        The logarithm (a time of zero counts as half the smallest positive one), or the rank among
        the distinct upper ends, divided by their number; a half more between two of them. Where
        times are exact or right-censored that counts events: when rows are lost to follow-up does
        not stretch the clock.

    Returns
    -------
    Intervals
        Finite ends mapped; infinite ones stay.
    """
    lower, upper = ends.lower / scale, ends.upper / scale
    if not np.isfinite(lower).all():
        raise ValueError(
            f"Times divided by a time_scale of {scale:.3g} overflow; give a larger one."
        )
    if time_transform is None:
        return Intervals(lower, upper)
    finite = np.isfinite(upper)
    if time_transform == "log":
        positive = np.concatenate([lower[lower > 0], upper[finite & (upper > 0)]])
        floor = 0.5 * float(positive.min()) if positive.size else 1.0
        mapped = upper.copy()
        mapped[finite] = np.log(np.maximum(upper[finite], floor))
        return Intervals(np.log(np.maximum(lower, floor)), mapped)
    known = np.unique(upper[finite]) if finite.any() else np.unique(lower)
    mapped = upper.copy()
    mapped[finite] = _places(known, upper[finite])
    return Intervals(_places(known, lower), mapped)


def _places(known: Floats, times: Floats) -> Floats:
    """Return how many known times come up to each time, a half more between two, as a share."""
    below, up_to = np.searchsorted(known, times), np.searchsorted(known, times, side="right")
    return (below + up_to + 1) / (2 * len(known))
