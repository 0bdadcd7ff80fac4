"""Brier scores of survival curves, weighted by the inverse chance of not being censored.

Reference: E. Graf, C. Schmoor, W. Sauerbrei and M. Schumacher (1999), "Assessment and comparison
of prognostic classification schemes for survival data".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.survival.curves import Steps

TINY = 1e-12


def brier_scores(
    event: NDArray[np.bool_], time: Floats, survival: Floats, times: Floats, censoring: Steps
) -> Floats:
    """Return the weighted squared error of S(t) at each time.

    Parameters
    ----------
    event, time : ndarray of shape (n_samples,)
        What was observed.
    survival : ndarray of shape (n_samples, n_times)
        Predicted chances of being without the event.
    times : ndarray of shape (n_times,)
        When.
    censoring : Steps
        Chance of not being censored: the product-limit curve of the censored rows of training.

    Returns
    -------
    scores : ndarray of shape (n_times,)
        0 is perfect, a quarter is what S = 1/2 gets without censoring.
    """
    dead = event[:, None] & (time[:, None] <= times)
    alive = time[:, None] > times
    # G(T-): who dies at T has not been censored before
    at_death = np.maximum(censoring(time, left=True), TINY)
    at_times = np.maximum(censoring(times), TINY)
    loss = dead * survival**2 / at_death[:, None] + alive * (1.0 - survival) ** 2 / at_times
    return loss.mean(axis=0)


def integrated(scores: Floats, times: Floats) -> float:
    """Return the mean of the scores over time, by the trapezoid rule."""
    if len(times) < 2:
        return float(scores.mean())
    return float(np.trapezoid(scores, times) / (times[-1] - times[0]))
