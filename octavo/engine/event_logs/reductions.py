"""Reductions of an event log that is sorted by entity and time.

Rows of one entity lie together (``offsets``), their bins of time never fall. A count of distinct
values then needs no sort: a table holds, for each code, the last group in which it was seen.
Means and spreads are running ones (Welford's update), so that constant series spread by zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints

__all__ = [
    "Groups",
    "Moments",
    "canonical_places",
    "category_counts",
    "count_keys",
    "distinct_counts",
    "distinct_within",
    "entropy_chao_shen",
    "entropy_plugin",
    "gap_series",
    "moments",
    "placed",
    "placed_counts",
    "run_shares",
    "segments",
    "series_summary",
    "taken",
]

JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
STATISTICS = ("count", "mean", "max", "sum", "sumsq", "std")


class Groups(NamedTuple):
    """Groups of rows: how many, the first row of each, and where each entity's groups begin."""

    counts: NDArray[np.int32]
    first: Ints
    offsets: Ints

    def where(self, keep: NDArray[np.bool_]) -> Groups:
        """Return some of the groups."""
        before = np.concatenate([[0], np.cumsum(keep)])
        return Groups(self.counts[keep], self.first[keep], before[self.offsets])


class Moments(NamedTuple):
    """Statistics of the values of each entity; zero where it has none."""

    n: Ints
    mean: Floats
    variance: Floats
    skewness: Floats
    max: Floats
    over: Floats


def canonical_places(
    entity: NDArray[np.int32], time: Ints, codes: Sequence[NDArray[np.int32]]
) -> NDArray[Any]:
    """Return the place of each row in the order of entity, then time, then codes.

    Rows that are equal in all of them are alike: whatever order they came in, the sorted log is
    the same, and so is every sum over it, to the last bit.

    Parameters
    ----------
    entity : ndarray of shape (n,)
        Codes of entities.
    time : ndarray of shape (n,)
        Seconds.
    codes : sequence of ndarray of shape (n,)
        Columns that order the rows of one entity and second; the last one first.

    Returns
    -------
    places : ndarray of shape (n,)
        Where each row goes, as `placed` takes them.
    """
    n = len(time)
    places = np.empty(n, dtype=np.int32 if n < 2**31 else np.int64)
    if not n:
        return places
    time = np.asarray(time, dtype=np.int64)
    span = int(time.max()) - int(time.min()) + 1
    n_entities = int(entity.max()) + 1
    if n_entities * span >= 2**62:
        places[np.lexsort((*codes, time, entity))] = np.arange(n)
        return places
    # logs mostly arrive in the order of time: then counting the entities' rows sorts them
    begin, last = np.zeros(n_entities + 1, dtype=np.int64), np.full(n_entities, -1, dtype=np.int64)
    tied = np.zeros(n, dtype=bool)
    if not _by_entity(entity, time, begin, last, places, tied):
        packed = entity.astype(np.int64) * span + (time - time.min())
        order = np.argsort(packed, kind="stable")
        places[order] = np.arange(n)
        same = np.diff(packed[order]) == 0
        tied[order[1:][same]] = tied[order[:-1][same]] = True
    rows = np.flatnonzero(tied)
    keys = (*(column[rows] for column in codes), time[rows], entity[rows])
    places[rows[np.lexsort(keys)]] = np.sort(places[rows])
    return places


def placed(column: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """Return a column with each row in its place.

    To write rows of one entity after the other to many places takes a third of the time of reading
    them from many: the places that come next are few.
    """
    out = np.empty(len(places), dtype=column.dtype)
    _place(column, places, out)
    return out


def taken(column: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Return some rows of a column, by numbers of 32 or 64 bits; -1 is the last one."""
    out = np.empty(len(rows), dtype=column.dtype)
    _take(column, rows, out)
    return out


@njit(**JIT)
def _place(column, places, out):
    for i in range(len(places)):
        out[places[i]] = column[i]


@njit(**JIT)
def _take(column, rows, out):
    for i in range(len(rows)):
        out[i] = column[rows[i]]


@njit(**JIT)
def _by_entity(entity, time, begin, last, places, tied):
    """Return whether rows are in the order of time, and fill `places` by entity if so.

    `tied` then marks the rows that share entity and second with another.
    """
    n = len(entity)
    for i in range(1, n):
        if time[i] < time[i - 1]:
            return False
    for i in range(n):
        begin[entity[i] + 1] += 1
    for e in range(len(begin) - 1):
        begin[e + 1] += begin[e]
    for i in range(n):
        e = entity[i]
        places[i] = begin[e]
        begin[e] += 1
        j = last[e]
        if j >= 0 and time[j] == time[i]:
            tied[i] = tied[j] = True
        last[e] = i
    return True


def segments(offsets: Ints, bins: Ints) -> tuple[Ints, Ints]:
    """Return where each (entity, bin) begins, and where each entity's segments begin.

    Parameters
    ----------
    offsets : ndarray of shape (n_entities + 1,)
        Where the rows of each entity begin.
    bins : ndarray of shape (n,)
        Bins of time, never falling within an entity.

    Returns
    -------
    starts : ndarray
        First rows.
    segment_offsets : ndarray of shape (n_entities + 1,)
        Positions among them.
    """
    new = np.ones(len(bins), dtype=bool)
    new[1:] = bins[1:] != bins[:-1]
    new[offsets[:-1][offsets[:-1] < len(bins)]] = True
    starts = np.flatnonzero(new)
    return starts, np.searchsorted(starts, offsets)


@njit(**JIT)
def _distinct(starts, n, own, codes, seen, found, of_entities):
    """Count the codes not yet seen in a segment, and those not yet seen in its entity."""
    for e in range(len(own) - 1):
        for s in range(own[e], own[e + 1]):
            stop = starts[s + 1] if s + 1 < len(starts) else n
            count = 0
            for i in range(starts[s], stop):
                c = codes[i]
                if c >= 0 and seen[c] != s:
                    of_entities[e] += seen[c] < own[e]  # first time in this entity, too
                    seen[c] = s
                    count += 1
            found[s] = count


def distinct_counts(starts: Ints, codes: NDArray[np.int32], size: int) -> Ints:
    """Return how many distinct values each segment of rows holds, missing ones apart.

    Parameters
    ----------
    starts : ndarray
        First rows of the segments, rising; a segment ends where the next begins.
    codes : ndarray of shape (n,)
        Codes from 0 to size - 1, or -1.
    size : int
        Number of codes.

    Returns
    -------
    counts : ndarray
        One per segment.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.reductions import distinct_counts
    >>> codes = np.array([0, 0, 1, -1, 1], dtype=np.int32)
    >>> distinct_counts(np.array([0, 3]), codes, 2)
    array([2, 1])
    """
    return distinct_within(starts, np.array([0, len(starts)]), codes, size)[0]


def distinct_within(
    starts: Ints, own: Ints, codes: NDArray[np.int32], size: int
) -> tuple[Ints, Ints]:
    """Return how many distinct values each segment holds, and each entity, in one pass.

    Parameters
    ----------
    starts : ndarray
        First rows of the segments, as in `distinct_counts`.
    own : ndarray of shape (n_entities + 1,)
        Where each entity's segments begin among them.
    codes : ndarray of shape (n,)
        Codes from 0 to size - 1, or -1.
    size : int
        Number of codes.

    Returns
    -------
    of_segments, of_entities : ndarray
        Counts.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.reductions import distinct_within
    >>> codes = np.array([0, 0, 1, -1, 1], dtype=np.int32)
    >>> distinct_within(np.array([0, 3]), np.array([0, 2]), codes, 2)
    (array([2, 1]), array([2]))
    """
    starts, own = np.asarray(starts, dtype=np.int64), np.asarray(own, dtype=np.int64)
    found, of_entities = np.zeros(len(starts), np.int64), np.zeros(len(own) - 1, np.int64)
    seen = np.full(max(size, 1), -1, dtype=np.int32 if len(starts) < 2**31 else np.int64)
    _distinct(starts, len(codes), own, codes, seen, found, of_entities)
    return found, of_entities


@njit(**JIT)
def _placed(offsets, codes, column_of_code, out):
    for e in range(len(offsets) - 1):
        for i in range(offsets[e], offsets[e + 1]):
            c = codes[i]
            out[e, column_of_code[c if c >= 0 else len(column_of_code) - 1]] += 1


def placed_counts(
    offsets: Ints, codes: NDArray[np.int32], column_of_code: Ints, n_columns: int
) -> Ints:
    """Count the rows of each entity by columns that codes fall into.

    Parameters
    ----------
    offsets : ndarray of shape (n_entities + 1,)
        Where the rows of each entity begin.
    codes : ndarray of shape (n,)
        Codes from 0 to size - 1, or -1.
    column_of_code : ndarray of shape (size + 1,)
        The column of each code, and last that of missing values.
    n_columns : int
        How many columns.

    Returns
    -------
    counts : ndarray of shape (n_entities, n_columns)
        Rows.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.reductions import placed_counts
    >>> codes = np.array([0, 1, 1, -1], dtype=np.int32)
    >>> placed_counts(np.array([0, 2, 4]), codes, np.array([0, 0, 1]), 2)
    array([[2, 0],
           [1, 1]])
    """
    out = np.zeros((len(offsets) - 1, n_columns), dtype=np.int64)
    _placed(offsets, codes, np.asarray(column_of_code, dtype=np.int64), out)
    return out


@njit(**JIT)
def _tally(offsets, chosen, codes, counts):
    for e in range(len(offsets) - 1):
        if chosen[e]:
            for i in range(offsets[e], offsets[e + 1]):
                if codes[i] >= 0:
                    counts[codes[i]] += 1


def category_counts(
    offsets: Ints, codes: NDArray[np.int32], size: int, chosen: NDArray[np.bool_]
) -> Ints:
    """Count the rows with each code among those of the chosen entities.

    Parameters
    ----------
    offsets : ndarray of shape (n_entities + 1,)
        Where the rows of each entity begin.
    codes : ndarray of shape (n,)
        Codes from 0 to size - 1, or -1.
    size : int
        Number of codes.
    chosen : ndarray of shape (n_entities,)
        Which entities.

    Returns
    -------
    counts : ndarray of shape (size,)
        Rows; missing values are not counted.
    """
    counts = np.zeros(size, dtype=np.int64)
    _tally(offsets, chosen, codes, counts)
    return counts


@njit(**JIT)
def _count_keys(offsets, bins, codes, seen, slot, counts, first, group_offsets):
    n_groups, segment = 0, -1
    for e in range(len(offsets) - 1):
        for i in range(offsets[e], offsets[e + 1]):
            if i == offsets[e] or bins[i] != bins[i - 1]:
                segment += 1
            c = codes[i]
            if seen[c] == segment:
                counts[slot[c]] += 1
            else:
                seen[c] = segment
                slot[c] = n_groups
                counts[n_groups] = 1
                first[n_groups] = i
                n_groups += 1
        group_offsets[e + 1] = n_groups
    return n_groups


def count_keys(offsets: Ints, bins: Ints, codes: NDArray[np.int32], size: int) -> Groups:
    """Count the rows of each (entity, bin, key) that occurs.

    Parameters
    ----------
    offsets : ndarray of shape (n_entities + 1,)
        Where the rows of each entity begin.
    bins : ndarray of shape (n,)
        Bins of time, never falling within an entity.
    codes : ndarray of shape (n,)
        Keys from 0 to size - 1.
    size : int
        Number of keys.

    Returns
    -------
    groups : Groups
        In the order of their first rows.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.reductions import count_keys
    >>> keys = np.array([0, 0, 1, 0], dtype=np.int32)
    >>> count_keys(np.array([0, 4]), np.array([0, 0, 0, 1]), keys, 2).counts
    array([2, 1, 1], dtype=int32)
    """
    n, size = len(codes), max(size, 1)
    counts, first = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
    own = np.zeros(len(offsets), dtype=np.int64)
    seen, slot = np.full(size, -1), np.zeros(size, dtype=np.int64)
    found = _count_keys(offsets, bins, codes, seen, slot, counts, first, own)
    return Groups(counts[:found].copy(), first[:found].copy(), own)


@njit(**JIT)
def _moments(values, offsets, more_than, out):
    for e in range(len(offsets) - 1):
        n = offsets[e + 1] - offsets[e]
        if n == 0:
            continue
        total, top, over = 0.0, values[offsets[e]] + 0.0, 0.0
        for i in range(offsets[e], offsets[e + 1]):
            total += values[i]
            top = max(top, values[i] + 0.0)
            if values[i] > more_than:
                over += values[i]
        mean = total / n
        second, third = 0.0, 0.0
        for i in range(offsets[e], offsets[e + 1]):
            d = values[i] - mean
            second += d * d
            third += d * d * d
        second /= n
        out[0, e] = mean
        out[1, e] = second
        if second > 1e-24 * mean * mean:  # else nothing but rounding
            out[2, e] = third / n / second**1.5  # the biased skewness of the population
        out[3, e] = top
        out[4, e] = over


def moments(values: NDArray[Any], offsets: Ints, more_than: float = 2) -> Moments:
    """Return the population's statistics of each entity's values.

    Parameters
    ----------
    values : ndarray
        Numbers, one entity after the other.
    offsets : ndarray of shape (n_entities + 1,)
        Where the values of each entity begin.
    more_than : float, default=2
        `Moments.over` is the sum of the values that are larger.

    Returns
    -------
    moments : Moments
        Number, mean, variance, skewness, maximum, sum of the larger values.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.reductions import moments
    >>> found = moments(np.array([5, 1, 1]), np.array([0, 3]))
    >>> float(found.over[0]), round(float(found.variance[0]), 3)
    (5.0, 3.556)
    """
    offsets = np.asarray(offsets, dtype=np.int64)
    out = np.zeros((5, len(offsets) - 1))
    if values.dtype.kind == "i":
        values = values.astype(np.int64, copy=False)  # one kind of integers is compiled
    _moments(values, offsets, float(more_than), out)
    return Moments(np.diff(offsets), *out)


@njit(**JIT)
def _entropies(counts, offsets, corrected):
    out = np.zeros(len(offsets) - 1)
    for e in range(len(out)):
        total, single = 0.0, 0.0
        for i in range(offsets[e], offsets[e + 1]):
            total += counts[i]
            if counts[i] == 1:
                single += 1
        if total == 0:
            continue
        if single == total:
            single = total - 1  # else the coverage is zero
        cover = 1.0 - single / total if corrected else 1.0  # Good and Turing's coverage
        for i in range(offsets[e], offsets[e + 1]):
            if counts[i] > 0:
                p = cover * counts[i] / total
                # Horvitz and Thompson: the chance that a code was met at all
                met = -np.expm1(total * np.log1p(-p)) if corrected and p < 1.0 else 1.0
                out[e] -= p * np.log(p) / met
    return out


def entropy_plugin(counts: NDArray[Any], offsets: Ints) -> Floats:
    """Return the entropy, in nats, of the shares of each entity's counts.

    Parameters
    ----------
    counts : ndarray
        Counts, one entity after the other.
    offsets : ndarray of shape (n_entities + 1,)
        Where each entity begins.

    Returns
    -------
    entropy : ndarray of shape (n_entities,)
        Zero where there are no counts.
    """
    return np.abs(_entropies(counts, np.asarray(offsets, dtype=np.int64), False))


def entropy_chao_shen(counts: NDArray[Any], offsets: Ints) -> Floats:
    """Return Chao and Shen's estimate of the entropy, in nats, from each entity's counts.

    Parameters
    ----------
    counts : ndarray
        Counts, one entity after the other.
    offsets : ndarray of shape (n_entities + 1,)
        Where each entity begins.

    Returns
    -------
    entropy : ndarray of shape (n_entities,)
        Zero where there are no counts.
    """
    return np.abs(_entropies(counts, np.asarray(offsets, dtype=np.int64), True))


@njit(**JIT)
def _add(sums, x):
    """Add a number to (count, first, max, sum, sum of squares, sum of squares about the first)."""
    n, first, top, total, square, about = sums
    if n == 0.0:
        first = x
    shift = x - first
    return n + 1.0, first, max(top, x), total + x, square + x * x, about + shift * shift


@njit(**JIT)
def _statistics(sums, out, e, k):
    """Write (count, mean, max, sum, sum of squares, standard deviation), number by number."""
    n, first, top, total, square, about = sums
    if n > 0.0:
        mean = total / n
        away = mean - first
        out[e, k, 0] = n
        out[e, k, 1] = mean  # about the first value: no cancellation where all are large
        out[e, k, 2] = top
        out[e, k, 3] = total
        out[e, k, 4] = square
        out[e, k, 5] = np.sqrt(max(about / n - away * away, 0.0))


@njit(**JIT)
def _series(values, bins, offsets, n_bins, out):
    none = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for e in range(len(offsets) - 1):
        begin, end = offsets[e], offsets[e + 1]
        own, rises, falls = none, none, none  # in registers, not in memory
        last, last_bin = 0.0, -1
        for i in range(begin, end):
            v, at = values[i] + 0.0, bins[i]
            if v != 0.0:
                own = _add(own, v)
            before = 0.0
            if i > begin and last_bin == at - 1:
                before = last
            elif last > 0.0:  # falls to zero in an empty bin
                falls = _add(falls, last)
            if at > 0:
                if v > before:
                    rises = _add(rises, v - before)
                elif v < before:
                    falls = _add(falls, before - v)
            last, last_bin = v, at
        if end > begin and last_bin < n_bins[e] - 1 and last > 0.0:
            falls = _add(falls, last)
        _statistics(own, out, e, 0)
        _statistics(rises, out, e, 1)
        _statistics(falls, out, e, 2)


def series_summary(values: Floats, bins: Ints, offsets: Ints, n_bins: Ints) -> Floats:
    """Summarise each entity's series and its rises and falls over their nonzero entries.

    The series is zero in the bins that are not listed; rises and falls are those between
    neighbouring bins, zeros included.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values of the bins that are listed, not negative.
    bins : ndarray of shape (n,)
        Their bins, rising within an entity, from 0.
    offsets : ndarray of shape (n_entities + 1,)
        Where each entity begins.
    n_bins : ndarray of shape (n_entities,)
        Lengths of the series.

    Returns
    -------
    summary : ndarray of shape (n_entities, 3, 6)
        For the series, its rises and its falls: count, mean, maximum, sum, sum of squares and
        standard deviation of the population.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.reductions import series_summary
    >>> bins, ends = np.array([1, 2]), np.array([0, 2])
    >>> series_summary(np.array([2.0, 5.0]), bins, ends, np.array([4]))[0, :, 3]  # 0 2 5 0
    array([7., 5., 5.])
    """
    out = np.zeros((len(offsets) - 1, 3, 6))
    _series(values, bins, offsets, n_bins, out)
    return out


@njit(**JIT)
def _gaps(offsets, time, gaps, positions, own):
    k = 0
    for e in range(len(offsets) - 1):
        for i in range(offsets[e] + 1, offsets[e + 1]):
            gaps[k] = time[i] - time[i - 1]
            positions[k] = i - offsets[e] - 1
            k += 1
        own[e + 1] = k


def gap_series(offsets: Ints, time: Ints) -> tuple[Floats, Ints, Ints]:
    """Return the seconds between consecutive rows of each entity as series of length C - 1.

    Parameters
    ----------
    offsets : ndarray of shape (n_entities + 1,)
        Where the rows of each entity begin.
    time : ndarray of shape (n,)
        Seconds, never falling within an entity.

    Returns
    -------
    gaps : ndarray
        Seconds.
    positions : ndarray
        0, 1, ... within an entity.
    own : ndarray of shape (n_entities + 1,)
        Where each entity begins among them: what `series_summary` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.reductions import gap_series
    >>> gap_series(np.array([0, 3, 4]), np.array([5, 8, 8, 2]))
    (array([3., 0.]), array([0, 1]), array([0, 2, 2]))
    """
    n = int(np.maximum(np.diff(offsets) - 1, 0).sum())
    gaps, positions = np.empty(n), np.empty(n, dtype=np.int64)
    own = np.zeros(len(offsets), dtype=np.int64)
    _gaps(offsets, time, gaps, positions, own)
    return gaps, positions, own


@njit(**JIT)
def _runs(offsets, time, codes, seen, out):
    tie = -1
    for e in range(len(offsets) - 1):
        begin, end = offsets[e], offsets[e + 1]
        same, last, i = 0, -1, begin
        while i < end:
            # Clicks of one second are in the order of their codes, whatever that of the rows.
            tie += 1
            low, high, different, j = codes[i], codes[i], 0, i
            while j < end and time[j] == time[i]:
                low, high = min(low, codes[j]), max(high, codes[j])
                if seen[codes[j]] != tie:
                    seen[codes[j]] = tie
                    different += 1
                j += 1
            same += j - i - different
            if low == last:
                same += 1
            last, i = high, j
        tie += 1
        kinds = 0
        for i in range(begin, end):
            if seen[codes[i]] != tie:
                seen[codes[i]] = tie
                kinds += 1
        if end > begin:
            out[0, e] = same / (end - begin)
            out[1, e] = (end - begin - kinds) / (end - begin)


def run_shares(
    offsets: Ints, time: Ints, codes: NDArray[np.int32], size: int
) -> tuple[Floats, Floats]:
    """Return the shares of rows whose next row has the same code.

    Parameters
    ----------
    offsets : ndarray of shape (n_entities + 1,)
        Where the rows of each entity begin.
    time : ndarray of shape (n,)
        Seconds, never falling within an entity.
    codes : ndarray of shape (n,)
        Codes from 0 to size - 1.
    size : int
        Number of codes.

    Returns
    -------
    by_time, by_code : ndarray of shape (n_entities,)
        With rows in the order of time and then code, and of code alone.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.event_logs.reductions import run_shares
    >>> codes = np.array([0, 0, 1, 0], dtype=np.int32)
    >>> run_shares(np.array([0, 4]), np.arange(4), codes, 2)
    (array([0.25]), array([0.5]))
    """
    out = np.zeros((2, len(offsets) - 1))
    _runs(offsets, time, codes, np.full(max(size, 1), -1), out)
    return out[0], out[1]


def _warmup() -> None:
    offsets, bins = np.array([0, 2]), np.array([0, 1])
    codes = np.zeros(2, dtype=np.int32)
    distinct_counts(offsets[:-1], codes, 1)
    placed_counts(offsets, codes, bins, 2)
    category_counts(offsets, codes, 1, np.ones(1, dtype=bool))
    gap_series(offsets, bins)
    placed(bins, placed(codes, taken(codes, codes)))
    groups = count_keys(offsets, bins, codes, 1)
    moments(groups.counts, groups.offsets)
    entropy_plugin(groups.counts, groups.offsets)
    series_summary(np.ones(2), bins, offsets, np.array([2]))
    run_shares(offsets, bins, codes, 1)
    canonical_places(codes, bins, [codes])
