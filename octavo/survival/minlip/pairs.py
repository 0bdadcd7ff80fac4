"""Which rows are comparable, as pairs and as thresholds between them (Sections 3.1 and 5.3-5.4).

Row i is later than row j when the interval of i begins after that of j has ended. A list of
pairs may be quadratic in the rows; thresholds are not: "every row that begins after t lies above
every row that ended at t" needs one threshold at t (the dummy observations of Section 4.1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.survival.targets import Intervals, as_intervals

__all__ = ["comparable_pairs"]

MODES = ("nearest", "next", "all")


class Thresholds(NamedTuple):
    """The threshold below and above each row (-1 for none), their number, and if they rise."""

    low: Indices
    high: Indices
    n_thresholds: int
    chain: bool


@checked
def comparable_pairs(lower: Any, upper: Any, mode: str = "nearest") -> Ints:
    """Return the pairs of rows whose order in time is known.

    Parameters
    ----------
    lower, upper : array-like of shape (n_samples,)
        Ends between which each event lies: equal for an event that was seen, an infinite upper
        end for a right-censored row, a lower end of zero for a left-censored one.
    mode : {"nearest", "next", "all"}, default="nearest"
        ``"all"``: every pair of which one ends before the other begins. ``"nearest"``: for
        every row, those that ended last before it begins (several where they tie). ``"next"``:
        the paper's D_c = RD, neighbours in the order of time, if they are comparable.

    Returns
    -------
    pairs : ndarray of int of shape (n_pairs, 2)
        Rows (later, earlier).

    Examples
    --------
    >>> from octavo.survival import comparable_pairs
    >>> inf = float("inf")
    >>> comparable_pairs([1, 2, 3, 4], [1, inf, 3, inf]).tolist()  # events at 1 and 3
    [[1, 0], [2, 0], [3, 2]]
    """
    begins, stops = _vector(lower, "lower"), _vector(upper, "upper")
    if len(begins) != len(stops):
        raise ValueError(
            f"lower and upper must have as many rows; got {len(begins)} and {len(stops)}."
        )
    ends = as_intervals(np.column_stack([begins, stops]))
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}; got {mode!r}.")
    if mode == "next":
        earlier, later = _neighbours(ends)
        return _rows(later, earlier)
    begins = ends.lower
    finite = np.flatnonzero(np.isfinite(ends.upper))
    by_end = finite[np.argsort(ends.upper[finite], kind="stable")]
    sorted_ends = ends.upper[by_end]
    stop = np.searchsorted(sorted_ends, begins, side="left")
    start = np.zeros(len(begins), np.intp)
    if mode == "nearest" and len(by_end):
        # The latest end before the row begins
        last = np.where(stop > 0, sorted_ends[np.maximum(stop - 1, 0)], -np.inf)
        start = np.where(stop > 0, np.searchsorted(sorted_ends, last, side="left"), 0)
    count = stop - start
    later = np.repeat(np.arange(len(begins)), count)
    place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return _rows(later, by_end[np.repeat(start, count) + place])


def _vector(values: Any, name: str) -> Floats:
    values = real_array(values, name, finite=False)
    if values.ndim != 1:
        raise ValueError(f"{name} must be a vector, one end a row; got the shape {values.shape}.")
    return values


def _rows(later: Indices, earlier: Indices) -> Ints:
    order = np.lexsort((earlier, later))
    return np.column_stack([later, earlier])[order].astype(np.int64)


def _neighbours(ends: Intervals) -> tuple[Indices, Indices]:
    """Return the earlier and the later row of each comparable pair of neighbours in time."""
    when = np.where(np.isinf(ends.upper), ends.lower, ends.upper)
    order = np.lexsort((np.isinf(ends.upper), when))
    # R of Section 5.4: neighbours that are comparable
    known = ends.upper[order[:-1]] < ends.lower[order[1:]]
    return order[:-1][known], order[1:][known]


def threshold_terms(ends: Intervals, mode: str) -> Thresholds:
    """Return the thresholds that say the same as the pairs of a mode.

    Parameters
    ----------
    ends : Intervals
        What was observed.
    mode : {"nearest", "next", "all"}
        See `comparable_pairs`.

    Returns
    -------
    Thresholds
        ``"all"`` is ``"nearest"`` with thresholds that rise in time; between exact times they
        do so anyway.
    """
    n = len(ends.lower)
    low, high = np.full(n, -1), np.full(n, -1)
    if mode == "next":
        earlier, later = _neighbours(ends)
        low[later] = high[earlier] = np.arange(len(later))
        return Thresholds(low, high, len(later), False)
    times = np.unique(ends.upper[np.isfinite(ends.upper)])
    if not times.size:
        return Thresholds(low, high, 0, False)
    low = np.searchsorted(times, ends.lower, side="left") - 1  # the last time before a row begins
    # The row's own end
    high = np.where(np.isfinite(ends.upper), np.searchsorted(times, ends.upper), -1)
    chain = mode == "all" and not ends.right_censored
    used = np.zeros(len(times), bool)
    if chain:
        used[: low.max(initial=-1) + 1] = True
    else:
        used[low[low >= 0]] = True
    number = np.where(used, np.cumsum(used) - 1, -1)
    low = np.where(low >= 0, number[np.maximum(low, 0)], -1)
    high = np.where(high >= 0, number[np.maximum(high, 0)], -1)
    return Thresholds(low, high, int(used.sum()), chain)
