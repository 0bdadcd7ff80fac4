"""Concordance: the share of comparable pairs that are ordered as their times, in O(n log n).

Row i is later than row j when its interval lies beyond that of j. A sweep over the ends, from the
last to the first, keeps the utilities of the rows that are later than the current one in a
Fenwick tree over their ranks.

References: F. E. Harrell and others (1984), "Regression modelling strategies for improved
prognostic prediction"; H. Uno and others (2011), "On the C-statistics for evaluating overall
adequacy of risk prediction procedures with censored survival data".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.survival.curves import kaplan_meier


class PairCounts(NamedTuple):
    """Weights of the comparable pairs: ordered right, with equal utilities, and all."""

    concordant: float
    tied: float
    comparable: float


@njit(cache=True, nogil=True)
def _sweep(starts, by_start, ends, by_end, rank, weight, n_ranks):
    """Count pairs (i later than j: starts[i] > ends[j]); both orders run from late to early."""
    tree = np.zeros(n_ranks + 1)
    same = np.zeros(n_ranks)
    good = equal = total = 0.0
    inserted, place = 0, 0
    for position in range(by_end.shape[0]):
        j = by_end[position]
        while place < by_start.shape[0] and starts[by_start[place]] > ends[j]:
            r = rank[by_start[place]]
            same[r] += 1.0  # later rows of this utility
            node = r + 1
            while node <= n_ranks:
                tree[node] += 1.0
                node += node & (-node)  # a Fenwick tree over ranks of the utility
            inserted += 1
            place += 1
        below = 0.0  # how many later rows have a utility of at most that of j
        node = rank[j] + 1
        while node > 0:
            below += tree[node]
            node -= node & (-node)
        total += weight[j] * inserted
        equal += weight[j] * same[rank[j]]
        good += weight[j] * (inserted - below)
    return good, equal, total


def interval_pairs(
    starts: NDArray[Any], ends: NDArray[Any], utility: Floats, weight: Floats | None = None
) -> PairCounts:
    """Count the pairs in which one row's start lies beyond the other's end.

    Parameters
    ----------
    starts, ends : ndarray of shape (n_samples,)
        Ends of the intervals; an infinite end is beyond all starts.
    utility : ndarray of shape (n_samples,)
        What was predicted: larger is later.
    weight : ndarray of shape (n_samples,), optional
        Weight of the pairs in which a row is the earlier one.

    Returns
    -------
    PairCounts
        Concordant, tied and comparable pairs.
    """
    values, rank = np.unique(utility, return_inverse=True)
    starts, ends = np.asarray(starts, np.float64), np.asarray(ends, np.float64)
    weight = np.ones(len(ends)) if weight is None else np.asarray(weight, np.float64)
    earlier = np.flatnonzero(ends < np.inf)
    by_end = earlier[np.argsort(-ends[earlier], kind="stable")]
    by_start = np.argsort(-starts, kind="stable")
    return PairCounts(
        *_sweep(starts, by_start, ends, by_end, rank.ravel().astype(np.int64), weight, len(values))
    )


def concordance(
    event: NDArray[np.bool_], time: Floats, risk: Floats, weight: Floats | None = None
) -> float:
    """Return the share of comparable pairs whose risks are ordered as their times.

    A pair is comparable when the earlier time is an event; of two equal times, when one is an
    event and the other censored. Equal risks count half.

    Parameters
    ----------
    event, time : ndarray
        What was observed.
    risk : ndarray
        What was predicted; larger is sooner.
    weight : ndarray, optional
        Weight of the pairs in which a row is the earlier one: none is Harrell's C.

    Returns
    -------
    share : float
        Between 0 and 1; a half where no pair is comparable.
    """
    place = 2 * np.unique(time, return_inverse=True)[1].ravel()
    starts = place + ~np.asarray(event, bool)  # censored rows outlive the events of their time
    ends = np.where(event, place, np.inf)
    found = interval_pairs(starts, ends, -np.asarray(risk, np.float64), weight)
    if not found.comparable:
        return 0.5
    return (found.concordant + 0.5 * found.tied) / found.comparable


def concordance_ipcw(train: Any, test: Any, risk: Floats) -> float:
    """Return Uno's concordance: pairs weighted by the chance of not being censored before.

    Parameters
    ----------
    train, test : records with fields event and time
        Rows that the censoring distribution is estimated from, and rows that are scored.
    risk : ndarray
        Predicted for the test rows.

    Returns
    -------
    share : float
        Between 0 and 1.
    """
    censoring = kaplan_meier(~train["event"], train["time"])
    free = censoring(test["time"], left=True)  # G(T-)
    weight = np.where(free > 0, 1 / np.maximum(free, 1e-12) ** 2, 0.0)  # Uno's 1/G²
    return concordance(test["event"], test["time"], risk, weight)


def _warmup() -> None:
    interval_pairs(np.array([0.0, 1.0]), np.array([0.0, np.inf]), np.array([0.0, 1.0]))
