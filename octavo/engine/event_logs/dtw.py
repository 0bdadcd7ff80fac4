"""Dynamic time warping of short series: band, early abandoning, one against many, all pairs.

A warping path leads from the first samples of two series to their last by steps (1, 0), (0, 1)
and (1, 1); its cost is the sum of the differences of the samples that it matches, and the least
cost is found a row at a time. ``normalized`` divides that cost by the length of its path (of
several paths with the least sum, the shortest): this is not the least mean cost over paths.
Where a bound is known, a pair is left as soon as it must exceed it: before the first row by the
envelope of one series (Keogh), after a row by its cells and the envelope of the rows to come.

References: H. Sakoe and S. Chiba (1978), "Dynamic programming algorithm optimization for spoken
word recognition"; E. Keogh and C. A. Ratanamahatana (2005), "Exact indexing of dynamic time
warping".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints

ROUNDING = 1.0 + 1e-12  # a pair is left only when it exceeds its bound by more than this
CHUNK = 4096


class Warping(NamedTuple):
    """How two series are compared.

    ``band`` is the reach of the band as a share of the longer series (1: none); ``squared``
    squares the differences of samples; ``normalized`` divides by the length of the path;
    ``straight`` matches samples by position instead and takes the Euclidean distance.
    """

    band: float = 1.0
    squared: bool = False
    normalized: bool = False
    straight: bool = False


class Ragged(NamedTuple):
    """Series of several lengths, end to end; ``starts`` has one entry more than there are."""

    values: Floats
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def series(self, i: int) -> Floats:
        """Return one of them."""
        return self.values[self.starts[i] : self.starts[i + 1]]


def ragged(series: Sequence[Floats]) -> Ragged:
    """Lay series end to end."""
    lengths = np.fromiter((len(one) for one in series), dtype=np.int64, count=len(series))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    values = np.concatenate(list(series)) if len(series) else np.empty(0)
    return Ragged(np.ascontiguousarray(values, dtype=np.float64), starts)


@njit(cache=True, nogil=True)
def _reach(band, n, m):
    longer = max(n, m)
    if band >= 1.0:
        return longer
    # no narrower than the lengths differ, or no path ends
    return max(int(np.ceil(band * longer)), abs(n - m))


@njit(cache=True, nogil=True)
def _straight_cost(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += (x[i] - y[i]) ** 2
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def _sum_cost(x, y, reach, squared, bound, rest, row):
    """Return the least sum of differences, or infinity where it exceeds the bound."""
    n, m = x.shape[0], y.shape[0]
    for j in range(m):
        row[j] = np.inf
    for i in range(n):
        low, high = max(0, i - reach), min(m - 1, i + reach)
        diagonal = row[low - 1] if low > 0 else np.inf
        if i == 0:
            diagonal = 0.0  # the path begins at no cost
        left = least = np.inf
        for j in range(low, high + 1):
            up = row[j]
            best = min(min(left, up), diagonal)
            d = abs(x[i] - y[j])
            left = best + (d * d if squared else d)
            diagonal = up
            row[j] = left
            least = min(least, left)
        # Keogh's bound: what is left costs at least `rest`
        if least + rest[i + 1] > bound:
            return np.inf
    return row[m - 1]


@njit(cache=True, nogil=True)
def _path_cost(x, y, reach, squared, bound, rest, row, steps):
    """Return the least sum over the length of its shortest path, or infinity."""
    n, m = x.shape[0], y.shape[0]
    for j in range(m):
        row[j], steps[j] = np.inf, 0.0
    for i in range(n):
        low, high = max(0, i - reach), min(m - 1, i + reach)
        diagonal = row[low - 1] if low > 0 else np.inf
        diagonal_steps = steps[low - 1] if low > 0 else 0.0
        if i == 0:
            diagonal, diagonal_steps = 0.0, 0.0
        left, left_steps = np.inf, 0.0
        slack = -np.inf
        for j in range(low, high + 1):
            up, up_steps = row[j], steps[j]
            best, taken = diagonal, diagonal_steps
            if up < best or (up == best and up_steps < taken):  # of equal sums the shortest path
                best, taken = up, up_steps
            if left < best or (left == best and left_steps < taken):
                best, taken = left, left_steps
            d = abs(x[i] - y[j])
            left = best + (d * d if squared else d)
            left_steps = taken + 1.0
            diagonal, diagonal_steps = up, up_steps
            row[j], steps[j] = left, left_steps
            # what is left of the path has at most so many cells
            slack = max(slack, bound * (left_steps + (n - 1 - i) + (m - 1 - j)) - left)
        if slack < rest[i + 1]:
            return np.inf
    return row[m - 1] / steps[m - 1]


@njit(cache=True, nogil=True)
def _difference(x, y, how, bound, rest, row, steps):
    # what None stands for is not compiled until it is asked for
    if row is None:
        return _straight_cost(x, y)
    reach = _reach(how.band, x.shape[0], y.shape[0])
    if steps is None:
        return _sum_cost(x, y, reach, how.squared, bound, rest, row)
    return _path_cost(x, y, reach, how.squared, bound, rest, row, steps)


@njit(cache=True, nogil=True)
def _envelope(y, reach, size):
    """Return the least and the largest sample of y within the reach of each position."""
    low, high = np.empty(size), np.empty(size)
    m = y.shape[0]
    for i in range(size):
        low[i], high[i] = np.inf, -np.inf
        for j in range(max(0, i - reach), min(m, i + reach + 1)):
            low[i] = min(low[i], y[j])
            high[i] = max(high[i], y[j])
    return low, high


@njit(cache=True, nogil=True)
def _rest_costs(x, low, high, squared, rest):
    """Fill what the samples from each position on must cost at least; return the whole."""
    n = x.shape[0]
    rest[n] = 0.0
    for i in range(n - 1, -1, -1):
        d = max(0.0, max(x[i] - high[i], low[i] - x[i]))  # Keogh's bound: outside the envelope
        rest[i] = rest[i + 1] + (d * d if squared else d)
    return rest[0]


@njit(cache=True, nogil=True)
def _one_to_many(y, values, starts, first, last, how, bounds, rest, row, steps, out):
    """Compare y with series first to last - 1; those beyond their bound get infinity."""
    m, longest = y.shape[0], rest.shape[0] - 1
    prune = False
    for i in range(first, last):
        prune = prune or (bounds[i] < np.inf and not how.straight)
    low, high = np.empty(0), np.empty(0)
    if prune:
        widest = max(_reach(how.band, longest, m), _reach(how.band, 1, m))
        low, high = _envelope(y, widest, longest)
    for i in range(first, last):
        x = values[starts[i] : starts[i + 1]]
        bound = bounds[i] * ROUNDING
        if prune:
            least = _rest_costs(x, low, high, how.squared, rest)
            # a mean over a path of at most so many cells
            cells = x.shape[0] + m - 1 if how.normalized else 1
            if least > bound * cells:
                out[i] = np.inf
                continue
        out[i] = _difference(x, y, how, bound, rest, row, steps)


@njit(cache=True, nogil=True)
def _cross(values, starts, others, other_starts, how, rest, row, steps, out):
    for i in range(starts.shape[0] - 1):
        x = values[starts[i] : starts[i + 1]]
        for j in range(other_starts.shape[0] - 1):
            y = others[other_starts[j] : other_starts[j + 1]]
            out[i, j] = _difference(x, y, how, np.inf, rest, row, steps)


@njit(cache=True, nogil=True)
def _weighted_rows(values, starts, weights, groups, rows, other, how, rest, row, steps, out):
    """Fill rows of the weighted means over all pairs of members of two groups.

    Groups are runs of series. Group p of the rows is compared with groups from ``other`` on, or,
    where that is negative, with those from p on.
    """
    for place in range(rows.shape[0]):
        p = rows[place]
        for q in range(p if other < 0 else other, groups.shape[0] - 1):
            total = 0.0
            for i in range(groups[p], groups[p + 1]):
                x = values[starts[i] : starts[i + 1]]
                for j in range(groups[q], groups[q + 1]):
                    y = values[starts[j] : starts[j + 1]]
                    d = _difference(x, y, how, np.inf, rest, row, steps)
                    total += weights[i] * weights[j] * d
            out[p, q] = total


def _work(how: Warping, longest: int) -> tuple[Floats, Floats | None, Floats | None]:
    """Return room for one comparison at a time: rest of costs, a row, and its paths' lengths."""
    row = None if how.straight else np.empty(longest)
    steps = np.empty(longest) if how.normalized and not how.straight else None
    return np.zeros(longest + 1), row, steps


def _longest(*many: Ragged) -> int:
    return max(int(np.diff(some.starts).max(initial=1)) for some in many)


def in_threads(calls: Sequence[tuple[Any, ...]], kernel: Any, n_jobs: int | None) -> None:
    """Run a kernel that releases the lock on each set of arguments, in threads if asked."""
    from joblib import Parallel, delayed, effective_n_jobs

    if effective_n_jobs(n_jobs) == 1 or len(calls) == 1:
        for arguments in calls:
            kernel(*arguments)
        return
    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(kernel)(*a) for a in calls)


def warp(x: Floats, y: Floats, how: Warping, bound: float = np.inf) -> float:
    """Return the difference of two series; infinity where it exceeds the bound."""
    return float(one_to_many(y, ragged([x]), how, np.array([float(bound)]))[0])


def one_to_many(
    y: Floats, many: Ragged, how: Warping, bounds: Floats | None = None, n_jobs: int | None = None
) -> Floats:
    """Return the difference of one series to each of many.

    Parameters
    ----------
    y : ndarray of shape (length,)
        The one.
    many : Ragged
        The many.
    how : Warping
        How they are compared.
    bounds : ndarray, optional
        What is asked for up to a bound only; beyond it the answer is infinity, and comes sooner.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    differences : ndarray
        One for each of the many.
    """
    n = len(many)
    out = np.empty(n)
    limits = np.full(n, np.inf) if bounds is None else np.ascontiguousarray(bounds, np.float64)
    longest = max(len(y), _longest(many))
    calls = [
        (y, *many, first, min(first + CHUNK, n), how, limits, *_work(how, longest), out)
        for first in range(0, n, CHUNK)
    ]
    in_threads(calls, _one_to_many, n_jobs)
    return out


def cross(some: Ragged, others: Ragged, how: Warping) -> Floats:
    """Return the differences of all pairs."""
    out = np.empty((len(some), len(others)))
    _cross(*some, *others, how, *_work(how, _longest(some, others)), out)
    return out


def weighted_means(
    many: Ragged,
    weights: Floats,
    groups: Ints,
    how: Warping,
    rows: Ints | None = None,
    other: int = -1,
    n_jobs: int | None = None,
) -> Floats:
    """Return the weighted mean difference of all pairs of groups.

    Parameters
    ----------
    many : Ragged
        Members of all groups, one group after the other.
    weights : ndarray
        Weight of each member in its group.
    groups : ndarray of int
        Where each group begins among the members, and where the last ends.
    how : Warping
        How members are compared.
    rows : ndarray of int, optional
        Groups whose rows are asked for; by default all.
    other : int, default=-1
        The first group of the columns. By default all pairs are computed, each once.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    means : ndarray of shape (n_groups, n_groups)
        Zero where nothing was asked for.
    """
    n = len(groups) - 1
    out = np.zeros((n, n))
    rows = np.arange(n) if rows is None else rows
    longest = _longest(many)
    calls = [
        (*many, weights, groups, rows[i : i + 1], other, how, *_work(how, longest), out)
        for i in range(len(rows))
    ]
    in_threads(calls, _weighted_rows, n_jobs)
    return np.maximum(out, out.T) if other < 0 else out


def _warmup() -> None:
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.5, 2.0])
    many = ragged([x, y])
    how = Warping(0.5, False, True, False)
    one_to_many(y, many, how, np.array([1.0, 1.0]))
    warp(x, y, Warping())
    cross(many, many, how)
    weighted_means(many, np.ones(2), np.array([0, 1, 2]), how)
