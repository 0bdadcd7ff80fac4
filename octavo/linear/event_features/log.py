"""A click log in memory: coded columns, sorted once by entity and time.

Reference: R. Oentaryo et al. (2014), Detecting click fraud in online advertising: a data mining
approach, Section 2.1: the two tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Ints
from octavo.engine.event_logs.coding import Coded, Coder, code_integers
from octavo.engine.event_logs.reductions import canonical_places, placed

if TYPE_CHECKING:
    from octavo.linear import ClickLog as Self

__all__ = ["ClickLog"]

NEEDED = ("publisherid", "numericip", "clicktime")
CATEGORIES = ("deviceua", "campaignid", "usercountry", "referredurl", "channel")
CLICK_FIELDS = ("id", *NEEDED, *CATEGORIES)
PUBLISHER_FIELDS = ("publisherid", "bankaccount", "address", "status")
STATUSES = ("ok", "observation", "fraud")
DAY = 86_400


class ClickLog:
    """Clicks sorted by entity and time, with their columns as codes.

    Make one by `from_frame`, or by `from_chunks` where the log arrives in pieces; codes and
    features do not depend on the order of rows nor on the pieces.

    Parameters
    ----------
    time : ndarray of shape (n_clicks,)
        Seconds since 1970, by the clock on the wall.
    entity : ndarray of shape (n_clicks,)
        Position of each click's publisher among `entities`.
    entities : ndarray of shape (n_entities,)
        Publishers.
    columns : dict of str to Coded
        The other fields.
    start, end : int, optional
        The window in seconds; the whole days that the clicks lie in by default.
    publishers : dict of str to ndarray, optional
        What is known of the entities: ``bankaccount`` and ``address`` (whether there is one),
        ``status``, ``listed`` (whether it stays without clicks).
    entity_field : str, default="publisherid"
        Which field the entities are values of.

    Attributes
    ----------
    offsets : ndarray of shape (n_entities + 1,)
        Where each entity's clicks begin.

    Examples
    --------
    >>> from octavo.linear import ClickLog
    >>> clicks = {
    ...     "publisherid": ["b", "a", "b"],
    ...     "numericip": [7, 8, 7],
    ...     "clicktime": ["2012-02-09 00:00:05", "2012-02-09 00:01:00", "2012-02-09 00:00:01"],
    ... }
    >>> log = ClickLog.from_frame(clicks)
    >>> log
    ClickLog(3 clicks, 2 entities, 2012-02-09T00:00:00 to 2012-02-10T00:00:00)
    """

    def __init__(
        self,
        time: Ints,
        entity: NDArray[np.int32],
        entities: NDArray[Any],
        columns: dict[str, Coded],
        start: int | None = None,
        end: int | None = None,
        publishers: dict[str, NDArray[Any]] | None = None,
        entity_field: str = "publisherid",
    ) -> None:
        if start is None:
            start = int(time.min()) // DAY * DAY if len(time) else 0
        if end is None:
            end = (int(time.max()) // DAY + 1) * DAY if len(time) else start + DAY
        places = canonical_places(entity, time, [columns[name].codes for name in sorted(columns)])
        self.time = placed(time, places)
        self.entities = entities
        self.columns = {
            name: Coded(placed(column.codes, places), column.values)
            for name, column in columns.items()
        }
        self.start, self.end = start, end
        self.publishers = publishers or {}
        self.entity_field = entity_field
        counts = np.bincount(entity, minlength=len(entities))
        self.entity = np.repeat(np.arange(len(entities), dtype=np.int32), counts)
        self.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        first, last = np.array([self.start, self.end], dtype="datetime64[s]")
        return f"ClickLog({len(self)} clicks, {len(self.entities)} entities, {first} to {last})"

    @classmethod
    def from_frame(cls, clicks: Any, publishers: Any = None, mapping: Any = None) -> Self:
        """Read a log from a table of clicks and, optionally, one of publishers.

        Parameters
        ----------
        clicks : DataFrame or dict of arrays
            Columns ``publisherid``, ``numericip`` (integers) and ``clicktime``, and optionally
            ``id``, ``deviceua``, ``campaignid``, ``usercountry``, ``referredurl``, ``channel``.
        publishers : DataFrame or dict of arrays, optional
            Columns ``publisherid`` and optionally ``bankaccount``, ``address``, ``status``. Its
            publishers come first and in its order, with clicks or without.
        mapping : dict of str to str, optional
            The user's names of columns by the names above, or the other way round.

        Returns
        -------
        log : ClickLog
            The log.
        """
        return cls.from_chunks([clicks], publishers, mapping)

    @classmethod
    def from_chunks(
        cls, chunks: Iterable[Any], publishers: Any = None, mapping: Any = None
    ) -> Self:
        """Read a log from tables that arrive one after the other; only codes are kept of each.

        Parameters
        ----------
        chunks : iterable of DataFrame or dict of arrays
            As `from_frame` takes one.
        publishers : DataFrame or dict of arrays, optional
            As in `from_frame`.
        mapping : dict of str to str, optional
            As in `from_frame`.

        Returns
        -------
        log : ClickLog
            The same as from all chunks in one table.
        """
        coders = {name: Coder() for name in ("publisherid", *CATEGORIES)}
        times, sources, ids = [], [], []
        for chunk in chunks:
            table = _columns(chunk, CLICK_FIELDS, NEEDED, mapping, "clicks")
            n = len(table["publisherid"])
            if not n:
                continue
            times.append(_seconds(table["clicktime"]))
            sources.append(_addresses(table["numericip"]))
            for name, coder in coders.items():
                if name in table:
                    coder.add(table[name])
                else:
                    coder.add_missing(n)
            if "id" in table:
                ids.append(np.asarray(table["id"]))
        if not times:
            raise ValueError("A log needs at least one click; got none.")
        _refuse_duplicates(ids)
        columns = {name: coder.column() for name, coder in coders.items()}
        columns["numericip"] = code_integers(np.concatenate(sources))
        entity = columns.pop("publisherid")
        if len(entity.codes) and entity.codes.min() < 0:
            missing = int(np.sum(entity.codes < 0))
            raise ValueError(f"publisherid must not be missing; it is in {missing} clicks.")
        codes, labels, known = _with_publishers(entity, publishers, mapping)
        return cls(np.concatenate(times), codes, labels, columns, publishers=known)

    def window(self, start: Any, end: Any) -> Self:
        """Return the clicks from start to before end.

        Parameters
        ----------
        start, end : str, datetime or int
            The window; integers are seconds since 1970.

        Returns
        -------
        log : ClickLog
            Its entities are those with a click in the window, and all that the table of
            publishers lists.
        """
        first, last = _moment(start, "start"), _moment(end, "end")
        if first >= last:
            raise ValueError(f"start must lie before end; got {start!r} and {end!r}.")
        return self._part((self.time >= first) & (self.time < last), first, last)

    def by(self, field: str) -> Self:
        """Return the same clicks with another field as entity.

        Parameters
        ----------
        field : str
            One of the log's columns; clicks in which it is missing are left out.

        Returns
        -------
        log : ClickLog
            Without what is known of publishers.
        """
        if field == self.entity_field:
            return self
        if field not in self.columns:
            known = ", ".join((self.entity_field, *self.columns))
            raise ValueError(f"entity must be one of {known}; got {field!r}.")
        rows = self.columns[field].codes >= 0
        columns = {name: c.take(rows) for name, c in self.columns.items() if name != field}
        columns[self.entity_field] = Coded(self.entity[rows], self.entities)
        return type(self)(
            self.time[rows],
            self.columns[field].codes[rows],
            self.columns[field].values,
            columns,
            self.start,
            self.end,
            entity_field=field,
        )

    def parts(self, n: int) -> Iterable[Self]:
        """Yield the log in n pieces, each with all clicks of its entities.

        Parameters
        ----------
        n : int
            Number of pieces.

        Yields
        ------
        log : ClickLog
            A piece, with the whole log's window.
        """
        cuts = np.linspace(0, len(self), n + 1)[1:-1]
        ends = np.unique([0, *np.searchsorted(self.offsets, cuts), len(self.entities)])
        for low, high in pairwise(ends):
            rows = slice(self.offsets[low], self.offsets[high])
            yield type(self)(
                self.time[rows],
                self.entity[rows] - np.int32(low),
                self.entities[low:high],
                {name: column.take(rows) for name, column in self.columns.items()},
                self.start,
                self.end,
                {name: known[low:high] for name, known in self.publishers.items()},
                self.entity_field,
            )

    def labels(self, observation: str = "ok") -> NDArray[Any]:
        """Return what the entities are, by the table of publishers.

        Parameters
        ----------
        observation : {"ok", "fraud", "class"}, default="ok"
            Publishers under observation count as honest (the best of the paper's three), as
            fraudulent, or as a class of their own.

        Returns
        -------
        y : ndarray of shape (n_entities,)
            1 for fraud and 0 otherwise; with ``"class"`` "fraud", "observation" and "ok".
        """
        if observation not in ("ok", "fraud", "class"):
            raise ValueError(f'observation must be "ok", "fraud" or "class"; got {observation!r}.')
        if "status" not in self.publishers:
            raise ValueError("The log has no status: read it with a table of publishers.")
        status = self.publishers["status"]
        if (status == "").any():
            raise ValueError(
                f"status is not known of {int(np.sum(status == ''))} entities, the first of them "
                f"{self.entities[status == ''][0]!r}."
            )
        if observation == "class":
            return status.astype("U11")
        bad = ("fraud",) if observation == "ok" else ("fraud", "observation")
        return np.isin(status.astype("U11"), bad).astype(np.int64)

    def _part(self, rows: NDArray[np.bool_], start: int, end: int) -> Self:
        keep = np.bincount(self.entity[rows], minlength=len(self.entities)) > 0
        if "listed" in self.publishers:
            keep |= self.publishers["listed"]
        position = np.cumsum(keep) - 1
        return type(self)(
            self.time[rows],
            position[self.entity[rows]].astype(np.int32),
            self.entities[keep],
            {name: column.take(rows) for name, column in self.columns.items()},
            start,
            end,
            {name: known[keep] for name, known in self.publishers.items()},
            self.entity_field,
        )


def _names(table: Any) -> list[str]:
    for attribute in ("columns", "column_names"):  # pandas and polars; arrow
        if hasattr(table, attribute):
            return list(getattr(table, attribute))
    if isinstance(table, Mapping):
        return list(table)
    raise TypeError(f"A table must be a DataFrame or a dict of arrays; got {type(table).__name__}.")


def _columns(
    table: Any, fields: tuple[str, ...], needed: tuple[str, ...], mapping: Any, what: str
) -> dict[str, Any]:
    """Return the known fields of a table, by the paper's names."""
    if not hasattr(table, "columns") and hasattr(table, "__dataframe__"):
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Tables of this kind are read by pandas: install it.") from error
        table = pd.api.interchange.from_dataframe(table)
    given = _names(table)
    named = _direction(mapping, fields)
    found = {field: table[name] for field in fields if (name := named.get(field, field)) in given}
    if lacking := [named.get(field, field) for field in needed if field not in found]:
        raise ValueError(f"The table of {what} lacks {', '.join(lacking)}; it has {given}.")
    if len({len(column) for column in found.values()}) > 1:
        raise ValueError(f"The columns of {what} differ in length.")
    return found


def _direction(mapping: Any, fields: tuple[str, ...]) -> dict[str, str]:
    """Return the user's names by the paper's, whichever way they were given."""
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping):
        raise TypeError(f"mapping must be a dict; got {type(mapping).__name__}.")
    known = set(CLICK_FIELDS) | set(PUBLISHER_FIELDS)
    if set(mapping) <= known:
        return dict(mapping)
    if set(mapping.values()) <= known:
        return {field: name for name, field in mapping.items()}
    raise ValueError(f"mapping must name fields among {', '.join(sorted(known))}; got {mapping!r}.")


def _seconds(values: Any) -> Ints:
    """Return times as whole seconds by the clock on the wall."""
    if getattr(getattr(values, "dtype", None), "tz", None) is not None:
        values = values.dt.tz_localize(None)
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind in "OUS":
        array = _parsed_times(array)
    if array.dtype.kind != "M":
        raise ValueError(
            "clicktime must be dates with times, or whole seconds since 1970; got "
            f"{array.dtype} values."
        )
    if np.isnat(array).any():
        raise ValueError(f"clicktime must not be missing; it is in {np.isnat(array).sum()} clicks.")
    return array.astype("datetime64[s]").astype(np.int64)


def _parsed_times(array: NDArray[Any]) -> NDArray[Any]:
    try:
        try:
            import pandas as pd
        except ImportError:
            return np.array(array.tolist(), dtype="datetime64[s]")
        return np.asarray(pd.to_datetime(array))
    except (TypeError, ValueError) as error:
        raise ValueError(f"clicktime holds what is no time: {error}.".replace("..", ".")) from error


def _addresses(values: Any) -> Ints:
    """Return addresses as integers; floats are refused, for they may have lost their last bits."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        raise ValueError(
            "numericip must hold integers; got floats, which lose the last bits of an address and "
            "with them subnetworks. Read the column as integers."
        )
    if array.dtype.kind in "OUS":
        array = np.array([_address(value) for value in array.tolist()], dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"numericip must hold integers; got {array.dtype} values.")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= 2**63):
        raise ValueError("numericip must lie between 0 and 2^63.")
    return array.astype(np.int64)


def _address(value: Any) -> int:
    if isinstance(value, str):
        octets = value.split(".")
        if len(octets) == 4 and all(o.isdigit() and int(o) < 256 for o in octets):
            return int.from_bytes(bytes(map(int, octets)), "big")
        if value.isdigit() and len(value) < 19:
            return int(value)
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value < 2**63:
        return int(value)
    raise ValueError(f"numericip must hold integers or dotted addresses; got {value!r}.")


def _refuse_duplicates(ids: list[NDArray[Any]]) -> None:
    if not ids:
        return
    every = np.concatenate(ids) if len(ids) > 1 else ids[0]
    if every.dtype.kind in "iu" and (every[1:] > every[:-1]).all():  # as logs are numbered
        return
    if every.dtype.kind in "iuUS":
        ordered = np.sort(every)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        first = repeated[0].item() if len(repeated) else None
        n = len(repeated)
    else:
        times = Counter(every.tolist())
        twice = [value for value, count in times.items() if count > 1]
        n, first = len(twice), twice[0] if twice else None
    if n:
        raise ValueError(
            f"id must be different for all clicks; {n} are repeated, such as {first!r}. Drop them "
            "first."
        )


def _present(values: Any) -> NDArray[np.bool_]:
    coder = Coder()
    coder.add(values)
    return coder.column().codes >= 0


def _with_publishers(
    entity: Coded, publishers: Any, mapping: Any
) -> tuple[NDArray[np.int32], NDArray[Any], dict[str, NDArray[Any]]]:
    """Return entities with the listed ones first, and what the table says of them."""
    if publishers is None:
        return entity.codes, entity.values, {}
    table = _columns(publishers, PUBLISHER_FIELDS, ("publisherid",), mapping, "publishers")
    if nobody := int(np.sum(~_present(table["publisherid"]))):
        raise ValueError(f"publisherid must not be missing; it is in {nobody} publishers.")
    listed = np.asarray(table["publisherid"]).tolist()
    place = {label: k for k, label in enumerate(listed)}
    if len(place) < len(listed):
        raise ValueError(
            f"publisherid must be different for all publishers; {len(listed) - len(place)} are "
            "repeated."
        )
    others = [label for label in entity.values.tolist() if label not in place]
    n, more = len(listed), len(others)
    place |= {label: n + k for k, label in enumerate(others)}
    position = np.array([place[label] for label in entity.values.tolist()], dtype=np.int32)
    labels = np.empty(n + more, dtype=object)
    labels[:] = listed + others
    known: dict[str, NDArray[Any]] = {"listed": np.arange(n + more) < n}
    for name in ("bankaccount", "address"):
        if name in table:
            known[name] = np.append(_present(table[name]), np.zeros(more, dtype=bool))
    if "status" in table:
        known["status"] = np.append(_statuses(table["status"]), [""] * more)
    codes = position[entity.codes] if len(position) else entity.codes
    return codes, labels, known


def _statuses(values: Any) -> NDArray[Any]:
    coder = Coder()
    coder.add(values)
    column = coder.column()
    names = [str(value).lower() for value in column.values]
    if strange := [value for value, name in zip(column.values, names) if name not in STATUSES]:
        raise ValueError(f"status must be OK, Observation or Fraud; got {strange[0]!r}.")
    return np.array([*names, ""], dtype="U11")[column.codes]


def _moment(value: Any, name: str) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    try:
        moment = np.datetime64(value, "s")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a time or whole seconds; got {value!r}.") from error
    if np.isnat(moment):
        raise ValueError(f"{name} must be a time; got {value!r}.")
    return int(moment.astype(np.int64))
