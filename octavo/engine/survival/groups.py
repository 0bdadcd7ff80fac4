"""The log-rank test: observed less expected events of groups, with hypergeometric variance.

Reference: N. Mantel (1966), "Evaluation of survival data and two new rank order statistics
arising in its consideration".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from octavo.engine.estimators.arrays import Floats


def logrank(
    event: NDArray[np.bool_], time: Floats, group: NDArray[np.intp], n_groups: int
) -> tuple[float, float]:
    """Return the log-rank statistic of groups and its chance under chi-squared.

    Parameters
    ----------
    event, time : ndarray of shape (n_samples,)
        What was observed.
    group : ndarray of int of shape (n_samples,)
        Codes 0, ..., n_groups - 1.
    n_groups : int
        How many there are.

    Returns
    -------
    statistic, p_value : float
        With n_groups - 1 degrees of freedom.
    """
    times, place = np.unique(time, return_inverse=True)
    shape = (len(times), n_groups)
    cell = place.ravel() * n_groups + group
    died = np.bincount(cell, event, len(times) * n_groups).reshape(shape)
    left = np.bincount(cell, minlength=len(times) * n_groups).reshape(shape)
    at_risk = np.cumsum(left[::-1], axis=0)[::-1].astype(np.float64)
    deaths, n = died.sum(axis=1), at_risk.sum(axis=1)
    kept = deaths > 0
    died, at_risk, deaths, n = died[kept], at_risk[kept], deaths[kept], n[kept]
    share = at_risk / n[:, None]
    excess = (died - deaths[:, None] * share).sum(axis=0)  # Σ observed - expected
    # d (n - d)/(n - 1), the hypergeometric variance's factor
    factor = np.where(n > 1, deaths * (n - deaths) / np.maximum(n - 1, 1), 0.0)
    V = np.diag(factor @ share) - (factor[:, None] * share).T @ share
    d, V = excess[:-1], V[:-1, :-1]  # the groups' excesses add to zero: one is left out
    statistic = float(d @ np.linalg.pinv(V, rcond=len(V) * np.finfo(float).eps, hermitian=True) @ d)
    return statistic, float(chi2.sf(statistic, n_groups - 1))
