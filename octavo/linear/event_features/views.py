"""What families of features ask of a log: keys, bins, groups and shares, each computed once."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.event_logs.coding import Coded, joint_codes
from octavo.engine.event_logs.reductions import (
    Groups,
    count_keys,
    distinct_counts,
    distinct_within,
    placed_counts,
    segments,
)
from octavo.linear.event_features.log import ClickLog

Codes = NDArray[np.int32]
UNITS = {"s": 1, "sec": 1, "min": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400}


class Learned(NamedTuple):
    """What families take from the training log: categories, and the share of fraud a channel."""

    channels: tuple[Any, ...]
    countries: tuple[Any, ...]
    risk_countries: tuple[Any, ...]
    brands: tuple[str, ...]
    priors: dict[Any, float]
    prior: float


class Settings(NamedTuple):
    """What the user chose of the families."""

    bin_seconds: int
    source: str
    max_sources: int | None


def seconds_of(width: Any) -> int:
    """Return a bin's width in seconds, from a number of them or from words such as "5min"."""
    if isinstance(width, (int, np.integer)) and not isinstance(width, bool) and width >= 1:
        return int(width)
    found = re.fullmatch(r"(\d{0,9}) *([a-z]+)", width) if isinstance(width, str) else None
    if found is None or found[2] not in UNITS or (seconds := int(found[1] or 1)) < 1:
        raise ValueError(
            f'bin must be whole seconds or a width such as "1min", "5min", "1h"; got {width!r}.'
        )
    return seconds * UNITS[found[2]]


def brand_of(device: Any) -> str:
    """Return the letters with which the name of a device begins."""
    found = re.match(r"[^\W\d_]+", str(device))
    return found[0] if found else ""


class LogView:
    """A log with what was computed of it so far."""

    def __init__(self, log: ClickLog, source: str, grid: tuple[int, int] | None = None) -> None:
        self.log, self.source = log, source
        self.grid = grid  # bins that will be asked for: their counts come with those of entities
        self.offsets: Ints = log.offsets
        self.n_clicks = np.diff(log.offsets)
        self._keys: dict[tuple[str, ...], tuple[Codes, int]] = {}
        self._segments: dict[tuple[int, int], tuple[Ints, Ints, Ints]] = {}
        self._distinct: dict[str, Ints] = {}
        self._distinct_in: dict[str, Ints] = {}  # in the bins of the grid

    def column(self, field: str) -> Coded:
        """Return a field's codes; "source" is the field that was chosen for it."""
        field = self.source if field == "source" else field
        if field == self.log.entity_field:
            return Coded(self.log.entity, self.log.entities)
        if field not in self.log.columns:
            known = ", ".join((self.log.entity_field, *self.log.columns))
            raise ValueError(f"source must be one of {known}; got {field!r}.")
        return self.log.columns[field]

    def key(self, *fields: str) -> tuple[Codes, int]:
        """Return codes of a field or of several together, missing values a category."""
        if fields not in self._keys:
            if len(fields) == 1:
                self._keys[fields] = self._single_key(fields[0])
            else:
                self._keys[fields] = joint_codes(self.key(*fields[:-1]), self.key(fields[-1]))
        return self._keys[fields]

    def _single_key(self, field: str) -> tuple[Codes, int]:
        name, _, part = field.partition("//")  # "numericip//1000" is a subnetwork
        column = self.column(name)
        if not part:
            return column.with_missing()
        if column.values.dtype.kind not in "iu":
            raise ValueError(f"Subnetworks need integers as source; {self.source} has none.")
        found, inverse = np.unique(column.values // int(part), return_inverse=True)
        return inverse.astype(np.int32).ravel()[column.codes], len(found)

    def bins(self, seconds: int, origin: int = 0) -> Ints:
        """Return the bin of time of each click; from 1970 bins are those of clock and calendar."""
        return (self.log.time - origin) // seconds  # Section 7.1's windows

    def segments(self, seconds: int, origin: int = 0) -> tuple[Ints, Ints, Ints]:
        """Return first rows of each (entity, bin), where entities begin, and the bins."""
        if (seconds, origin) not in self._segments:
            bins = self.bins(seconds, origin)
            starts, own = segments(self.offsets, bins)
            self._segments[seconds, origin] = starts, own, bins[starts]
        return self._segments[seconds, origin]

    def groups(self, fields: tuple[str, ...], seconds: int | None) -> Groups:
        """Return how many clicks each (entity, bin, key) has; one bin for None."""
        codes, size = self.key(*fields)
        bins = np.zeros(len(codes), dtype=np.int64) if seconds is None else self.bins(seconds)
        return count_keys(self.offsets, bins, codes, size)

    def clicks_in(self, seconds: int, origin: int = 0) -> tuple[Ints, Ints]:
        """Return the clicks of each (entity, bin) that has some, and where entities begin."""
        starts, own, _ = self.segments(seconds, origin)
        return np.diff(np.append(starts, len(self.log))), own

    def distinct_in(self, field: str, seconds: int, origin: int = 0) -> Ints:
        """Return the distinct values of a field in each (entity, bin) that has clicks."""
        column = self.column(field)
        if (seconds, origin) == self.grid and field in self._distinct_in:
            return self._distinct_in.pop(field)  # asked for once
        return distinct_counts(self.segments(seconds, origin)[0], column.codes, column.size)

    def distinct(self, field: str) -> Ints:
        """Return the distinct values of each entity, missing ones apart."""
        if field not in self._distinct:
            column = self.column(field)
            if self.grid is None:
                found = distinct_counts(self.offsets[:-1], column.codes, column.size)
            else:
                starts, own, _ = self.segments(*self.grid)
                self._distinct_in[field], found = distinct_within(
                    starts, own, column.codes, column.size
                )
            self._distinct[field] = found
        return self._distinct[field]

    def share(self, mask: NDArray[np.bool_]) -> Floats:
        """Return the share of each entity's clicks that a mask holds."""
        count = np.bincount(self.log.entity[mask], minlength=len(self.n_clicks))
        return ratio(count, self.n_clicks)

    def share_missing(self, field: str) -> Floats:
        """Return the share of each entity's clicks in which a field is missing."""
        places = np.append(np.zeros(self.column(field).size, dtype=np.int64), 1)
        return self.shares(places, field, 2)[:, 1]

    def shares(self, column_of_code: Ints, field: str, n_columns: int) -> Floats:
        """Return shares of clicks by columns that categories, and last missing ones, fall into."""
        codes = self.column(field).codes
        count = placed_counts(self.offsets, codes, column_of_code, n_columns)
        return ratio(count, self.n_clicks[:, None])


def ratio(count: NDArray[Any], total: NDArray[Any]) -> Floats:
    """Return count / total, and zero where the total is zero."""
    count, total = np.broadcast_arrays(count, total)
    out = np.zeros(count.shape)
    np.divide(count, total, out=out, where=total > 0)
    return out


def channel_of_entities(view: LogView) -> NDArray[Any]:
    """Return the channel of each entity, the most frequent of its clicks; -1 where it has none."""
    column = view.column("channel")
    if not column.size:
        return np.full(len(view.n_clicks), -1)
    places = np.arange(column.size + 1)
    count = placed_counts(view.offsets, column.codes, places, column.size + 1)[:, :-1]
    # Section 4.1.4: one channel each
    return np.where(count.sum(axis=1) > 0, count.argmax(axis=1), -1)
