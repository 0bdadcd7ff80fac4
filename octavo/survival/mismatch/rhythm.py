"""Risk from the rhythm of a heart: variability, turbulence after early beats, deceleration.

References: M. Malik and others (1996), "Heart rate variability: standards of measurement,
physiological interpretation, and clinical use"; G. Schmidt and others (1999), "Heart-rate
turbulence after ventricular premature beats as a predictor of mortality after acute myocardial
infarction"; A. Bauer and others (2006), "Deceleration capacity of heart rate as a predictor of
mortality after myocardial infarction".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.signal import welch

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array

__all__ = [
    "DecelerationCapacity",
    "HeartRateTurbulence",
    "HeartRateVariability",
    "deceleration_capacity",
    "heart_rate_turbulence",
    "hrv",
]

BIN = 1000.0 / 128.0  # milliseconds; the bins of the triangular index
RESAMPLED = 4.0  # a second, for the spectrum
LF, HF = (0.04, 0.15), (0.15, 0.4)  # hertz
AFTER = 15  # intervals in which the slope of turbulence is looked for
LONGEST = 1e7  # milliseconds
SHORTEST = 20.0  # milliseconds; a shrew's heart takes twice as long


class HeartRateVariability(NamedTuple):
    """Milliseconds, but for the index, the share and the ratio of powers."""

    sdnn: float
    sdann: float
    asdnn: float
    rmssd: float
    hrvi: float
    pnn50: float
    lf_hf: float


class HeartRateTurbulence(NamedTuple):
    """Onset in per cent, slope in milliseconds a beat, risk category and how many early beats."""

    onset: float
    slope: float
    category: int
    n_premature: int


class DecelerationCapacity(NamedTuple):
    """Milliseconds, risk category and how many anchors the mean is over."""

    capacity: float
    category: int
    n_anchors: int


def _checked_intervals(intervals: Any, least: int) -> Floats:
    rr = real_array(intervals, "intervals")
    if rr.ndim != 1 or len(rr) < least:
        raise ValueError(
            f"intervals must be a vector of at least {least} times between beats; got the shape "
            f"{rr.shape}."
        )
    wrong = np.flatnonzero(~((rr > 0) & (rr < LONGEST)))
    if wrong.size:
        raise ValueError(
            f"intervals must be milliseconds between 0 and {LONGEST:g}; entry {wrong[0]} is "
            f"{rr[wrong[0]]:g}."
        )
    if rr.max() < SHORTEST:
        raise ValueError(
            f"intervals must be milliseconds; the longest is {rr.max():g}, which looks like "
            "seconds. Multiply by 1000."
        )
    return rr


def band_powers(rr: Floats) -> tuple[float, float]:
    """Return the power of the intervals in the low and in the high band, by Welch's method."""
    t = np.cumsum(rr) / 1000.0
    grid = np.arange(t[0], t[-1], 1.0 / RESAMPLED)
    if len(grid) < 16:
        return 0.0, 0.0
    even = np.interp(grid, t, rr)
    frequency, power = welch(even - even.mean(), RESAMPLED, nperseg=min(len(even), 1024))
    low = power[(frequency >= LF[0]) & (frequency < LF[1])].sum()
    high = power[(frequency >= HF[0]) & (frequency < HF[1])].sum()
    return float(low), float(high)


@checked
def hrv(intervals: Any, segment: float = 300.0) -> HeartRateVariability:
    """Return the usual measures of heart rate variability.

    Parameters
    ----------
    intervals : array-like of shape (n_intervals,)
        Milliseconds between normal beats.
    segment : float, default=300
        Seconds of the pieces of which means (``sdann``) and deviations (``asdnn``) are taken.

    Returns
    -------
    measures : HeartRateVariability
        ``sdnn``, the deviation of all intervals; ``sdann``, of the means of pieces; ``asdnn``, the
        mean deviation within pieces; ``rmssd``, of successive differences; ``hrvi``, the triangular
        index; ``pnn50``, the share of differences above 50 ms; ``lf_hf``, the ratio of powers, cut
        at 0.95 in the paper.

    Examples
    --------
    >>> from octavo.survival import hrv
    >>> round(hrv([800, 810, 790, 870]).rmssd, 2)
    47.96
    """
    rr = _checked_intervals(intervals, 2)
    if not 0 < segment < np.inf:
        raise ValueError(f"segment must be a positive number of seconds; got {segment}.")
    piece = np.floor((np.cumsum(rr) - rr[0]) / (1000.0 * segment))
    _, code, count = np.unique(piece, return_inverse=True, return_counts=True)
    code = code.ravel()
    means = np.bincount(code, rr) / count
    several = count > 1
    squares = np.bincount(code, (rr - means[code]) ** 2)
    deviations = np.sqrt(squares[several] / (count[several] - 1))
    steps = np.diff(rr)
    # Bins of 7.8125 ms
    bins = np.bincount(np.unique(np.floor(rr / BIN), return_inverse=True)[1].ravel())
    low, high = band_powers(rr)
    return HeartRateVariability(
        sdnn=float(rr.std(ddof=1)),
        sdann=float(means.std(ddof=1)) if len(means) > 1 else 0.0,
        asdnn=float(deviations.mean()) if len(deviations) else 0.0,
        rmssd=float(np.sqrt(np.mean(steps**2))),
        hrvi=len(rr) / int(bins.max()),
        pnn50=float(np.mean(np.abs(steps) > 50.0)),  # more than 50 ms
        lf_hf=low / high if high > 0 else 0.0,
    )


def premature_beats(rr: Floats) -> Ints:
    """Return intervals that are 20 % shorter than the five before and followed by a long pause."""
    found = []
    for i in range(5, len(rr) - 1 - AFTER):
        usual = rr[i - 5 : i].mean()
        if rr[i] <= 0.8 * usual and rr[i + 1] >= 1.2 * usual:
            found.append(i)
    return np.array(found, dtype=np.int64)


@checked
def heart_rate_turbulence(intervals: Any, premature: Any = None) -> HeartRateTurbulence:
    """Return how a heart's rate answers to premature beats.

    Parameters
    ----------
    intervals : array-like of shape (n_intervals,)
        Milliseconds between beats, premature ones included.
    premature : array-like of int, default=None
        Which intervals end in a premature beat; by default those at least 20 % shorter than the
        five before that are followed by a pause at least 20 % longer.

    Returns
    -------
    turbulence : HeartRateTurbulence
        The onset, per cent, from the two intervals before and the two after the pause; the slope,
        milliseconds a beat, the steepest of a line through five of the fifteen after it, of the
        mean over premature beats; and the category: 0 if the onset is below 0 and the slope above
        2.5, 1 if one of both fails, 2 if both do.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import heart_rate_turbulence
    >>> after = 800 + np.concatenate([[-20, -20], 4.0 * np.arange(13)])
    >>> heart_rate_turbulence(np.concatenate([[800] * 6, [500, 1100], after]))
    HeartRateTurbulence(onset=-2.5, slope=8.0, category=0, n_premature=1)
    """
    rr = _checked_intervals(intervals, 6 + AFTER)
    if premature is None:
        beats = premature_beats(rr)
    else:
        beats = real_array(premature, "premature").ravel().astype(np.int64)
        if len(beats) and (beats.min() < 2 or beats.max() + 1 + AFTER >= len(rr)):
            raise ValueError(
                "premature must name intervals with two before and sixteen after; got "
                f"{beats.min()} to {beats.max()} of {len(rr)}."
            )
    if not len(beats):
        raise ValueError("Turbulence needs a premature beat with enough beats around; none is.")
    before = rr[beats - 2] + rr[beats - 1]
    # Turbulence onset: two intervals after the pause against two before
    onset = float(np.mean((rr[beats + 2] + rr[beats + 3] - before) / before)) * 100.0
    tail = np.mean([rr[b + 2 : b + 2 + AFTER] for b in beats], axis=0)
    line = np.arange(5) - 2.0
    # Slope of least squares over five intervals; Σ line² = 10
    slope = float(max(line @ tail[i : i + 5] for i in range(len(tail) - 4)) / 10.0)
    category = int(onset >= 0) + int(slope <= 2.5)  # 0 % and 2.5 ms: Section 5
    return HeartRateTurbulence(round(onset, 10), round(slope, 10), category, len(beats))


@checked
def deceleration_capacity(intervals: Any, largest_change: float = 0.05) -> DecelerationCapacity:
    """Return how much a heart can slow down from beat to beat.

    Parameters
    ----------
    intervals : array-like of shape (n_intervals,)
        Milliseconds between beats.
    largest_change : float, default=0.05
        A longer step than this share of an interval is an artefact and no anchor.

    Returns
    -------
    capacity : DecelerationCapacity
        (X0 + X1 - X-1 - X-2) / 4 of the intervals averaged around anchors, those that are longer
        than the one before; and the category: 0 above 4.5 ms, 1 from 2.5, 2 below.

    Examples
    --------
    >>> from octavo.survival import deceleration_capacity
    >>> deceleration_capacity([800, 800, 810, 810, 800, 800, 810, 810])
    DecelerationCapacity(capacity=5.0, category=0, n_anchors=2)
    """
    rr = _checked_intervals(intervals, 4)
    if not 0 < largest_change <= 10:
        raise ValueError(f"largest_change must lie in (0, 10]; got {largest_change}.")
    i = np.arange(2, len(rr) - 1)
    step = rr[i] - rr[i - 1]
    anchors = i[(step > 0) & (step <= largest_change * rr[i - 1])]
    if not len(anchors):
        raise ValueError("No interval is longer than the one before by less than largest_change.")
    mean = [rr[anchors + shift].mean() for shift in (-2, -1, 0, 1)]
    capacity = float(mean[2] + mean[3] - mean[1] - mean[0]) / 4.0  # (X0 + X1 - X-1 - X-2)/4
    category = int(capacity <= 4.5) + int(capacity < 2.5)
    return DecelerationCapacity(capacity, category, len(anchors))
