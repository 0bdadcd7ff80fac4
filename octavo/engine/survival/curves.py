"""Step functions of time: Kaplan-Meier and Nelson-Aalen, from counts of those at risk.

References: E. L. Kaplan and P. Meier (1958), "Nonparametric Estimation from Incomplete
Observations"; O. Aalen (1978), "Nonparametric Inference for a Family of Counting Processes".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import real_array


class Steps(NamedTuple):
    """A step function: its value from each time on; ``before`` holds until the first."""

    times: Floats
    values: Floats
    before: float

    def __call__(self, t: Any, *, left: bool = False) -> Floats:
        """Return the values at times; ``left`` takes the limit from below."""
        t = real_array(t, "times", finite=False)
        if np.isnan(t).any():
            raise ValueError("times must be numbers; they contain NaN.")
        place = np.searchsorted(self.times, t, side="left" if left else "right")
        return np.concatenate([[self.before], self.values])[place]


def risk_counts(event: NDArray[np.bool_], time: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct times, how many are at risk, and how many events there are at each."""
    times, place = np.unique(time, return_inverse=True)
    at_risk = len(time) - np.searchsorted(np.sort(time), times, side="left")
    events = np.bincount(place, event, len(times)).astype(np.float64)
    return times, at_risk.astype(np.float64), events


def kaplan_meier(event: NDArray[np.bool_], time: Floats) -> Steps:
    """Return the product-limit (Kaplan-Meier) estimate of the survival function.

    Parameters
    ----------
    event : ndarray of bool
        Whether the event happened at `time`; otherwise the row is censored there.
    time : ndarray
        Times.

    Returns
    -------
    curve : Steps
        The share that is still without the event.
    """
    times, at_risk, events = risk_counts(event, time)
    return Steps(times, np.cumprod(1.0 - events / at_risk).astype(np.float64), 1.0)  # Π (1 - d/n)


def greenwood(event: NDArray[np.bool_], time: Floats) -> Steps:
    """Return the standard error of log(-log S) of the product-limit estimate (Greenwood)."""
    times, at_risk, events = risk_counts(event, time)
    left = at_risk - events
    with np.errstate(divide="ignore", invalid="ignore"):
        # Greenwood's Σ d/(n (n - d))
        variance = np.cumsum(np.where(left > 0, events / (at_risk * left), np.inf))
        log_survival = np.log(np.cumprod(1.0 - events / at_risk))
        error = np.sqrt(variance) / np.abs(log_survival)  # delta method for log(-log S)
    return Steps(times, np.where(np.isfinite(error), error, 0.0), 0.0)


def nelson_aalen(event: NDArray[np.bool_], time: Floats) -> Steps:
    """Return the cumulative hazard by the Nelson-Aalen estimate."""
    times, at_risk, events = risk_counts(event, time)
    return Steps(times, np.cumsum(events / at_risk), 0.0)  # Σ d/n
