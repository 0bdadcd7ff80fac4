"""How far from the optimum moves can end: Eq. (12) for any convex d, M and length of intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.graphical.energies.problem import PairwiseMRF

__all__ = ["multiplicative_bound"]

MAX_LABELS = 1024


def expansion_bound(differences: Floats, truncation: float, interval: int) -> float:
    """Return the factor of Eq. (12) for a local minimum over all intervals.

    The right side of Eq. (12) is a sum over edges of a mean over r of overestimates that depend on
    the optimum's two labels alone; the largest ratio of that mean to min(d, M) is the factor.

    Parameters
    ----------
    differences : ndarray of shape (n_labels + 1,)
        d(0), d(1), ...
    truncation : float
        M.
    interval : int
        L, the number of labels of a whole interval.

    Returns
    -------
    factor : float
        At least 1.
    """
    d, n_labels = differences, len(differences) - 1
    length = min(interval, n_labels)
    labels = np.arange(n_labels)
    extra = d[1:] - d[:-1] - d[1]  # \hat d of Eq. (10), d(0) = 0
    outside = d[:-1] + extra + truncation  # e_a of a label x above its interval's first
    total = np.zeros((n_labels, n_labels))
    for r in range(length):
        # the interval of label x is [first, first + L - 1], as in I_r
        number = (labels - r - 1) // length  # -1: [0, r]
        first = np.where(number < 0, 0, r + 1 + number * length)
        single = outside[labels - first]
        same = number[:, None] == number
        within = d[np.abs(np.subtract.outer(labels, labels))]
        # Lemma 3: pairs within an interval, and pairs that it parts
        total += np.where(same, within, single[:, None] + single)
    x, y = np.triu_indices(n_labels, 1)
    if not len(x):
        return 1.0
    # over r, which is uniform: hence 1 / L
    return max(1.0, float((total[x, y] / (length * np.minimum(d[y - x], truncation))).max()))


def metric_bound(mrf: PairwiseMRF) -> float:
    """Return 2 max θ / min θ of alpha-expansion where pair costs are a metric, else infinity."""
    costs = mrf.pair_costs
    if mrf.n_labels < 2:
        return 1.0
    distances = costs[0, 1:]  # of differences 1, 2, ...
    for x in range(1, mrf.n_labels - 1):  # θ(x + y) <= θ(x) + θ(y)
        rest = distances[x:]
        if (rest > distances[x - 1] + distances[: len(rest)] + 1e-12 * distances.max()).any():
            return np.inf
    # 2 max θ / min θ, as of alpha-expansion
    return 2.0 * float(distances.max() / distances.min()) if distances.min() > 0 else np.inf


def best_interval(differences: Floats, truncation: float) -> int:
    """Return the length of intervals with the smallest factor, for any d."""
    n_labels = len(differences) - 1
    useful = int(np.searchsorted(differences, 2 * truncation, side="right"))
    tried = range(1, max(1, min(n_labels, useful, 64)) + 1)
    return min(tried, key=lambda length: expansion_bound(differences, truncation, length))


@checked
def multiplicative_bound(
    n_labels: int,
    truncation: float,
    *,
    d: str | Callable[[int], float] = "linear",
    interval: int | str = "auto",
) -> float:
    """Return the factor of the optimum that range expansion is proven to end within.

    It is the right side of Eq. (12), computed for the labels at hand, so that it is at most the
    2 + max(2M/L, L/M) of Lemma 4 for a linear d, and also holds for every other convex d. It
    needs unary costs of at least 0 and a run that ended in a local minimum.

    Parameters
    ----------
    n_labels : int
        Number of labels, at most 1024.
    truncation : float
        M, above 0.
    d : {"linear", "quadratic"} or callable, default="linear"
        The difference of labels, as for `PairwiseMRF`.
    interval : int or "auto", default="auto"
        L: labels of an interval. "auto" is √2 M for a linear d and √M for a quadratic one, rounded,
        and the length with the smallest factor for any other.

    Returns
    -------
    factor : float
        The energy is at most this many times the smallest.

    Examples
    --------
    >>> from octavo.graphical import multiplicative_bound
    >>> round(multiplicative_bound(20, 5), 3), round(multiplicative_bound(20, 5, interval=5), 3)
    (3.2, 3.6)
    """
    if isinstance(n_labels, bool) or not 1 <= int(n_labels) == n_labels <= MAX_LABELS:
        raise ValueError(f"n_labels must be an int of 1 to {MAX_LABELS}; got {n_labels!r}.")
    if not truncation < np.inf:
        raise ValueError(f"truncation must be a finite number above 0; got {truncation!r}.")
    mrf = PairwiseMRF(np.zeros((1, int(n_labels))), np.zeros((0, 2)), None, d, truncation)
    return expansion_bound(mrf.differences, mrf.truncation, expansion_interval(mrf, interval))


def expansion_interval(mrf: PairwiseMRF, interval: int | str) -> int:
    """Return L of range expansion: what was asked for, or the rule of Theorems 2 and 3."""
    if interval != "auto":
        return read_interval(interval, mrf.n_labels)
    M = mrf.truncation
    if np.isinf(M):
        return mrf.n_labels
    if mrf.d == "linear":
        length = round(min(np.sqrt(2.0) * M, mrf.n_labels))  # Theorem 2
    elif mrf.d == "quadratic":
        length = round(min(np.sqrt(M), mrf.n_labels))  # Theorem 3
    else:
        length = best_interval(mrf.differences, M)
    return int(np.clip(length, 1, mrf.n_labels))


def swap_interval(mrf: PairwiseMRF, interval: int | str) -> int:
    """Return L of range swap: what was asked for, or the longest without a truncated pair."""
    if interval != "auto":
        return read_interval(interval, mrf.n_labels)
    return int(np.clip((mrf.differences[:-1] <= mrf.truncation).sum(), 1, mrf.n_labels))


def read_interval(interval: int | str, n_labels: int) -> int:
    """Return a checked number of labels, at most all of them."""
    whole = isinstance(interval, (int, np.integer)) and not isinstance(interval, bool)
    if not whole or int(interval) < 1:
        raise ValueError(f"interval must be 'auto' or an int of at least 1; got {interval!r}.")
    return min(int(interval), n_labels)
