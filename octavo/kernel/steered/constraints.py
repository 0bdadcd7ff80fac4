"""What an analyst says about a map: placements, links and labels, as one immutable value.

`MapConstraints` never changes; ``placed``, ``linked`` and their kin return a new one, so that a
history of them is a list and undoing is a step back. It goes to and from plain dictionaries that
JSON can hold.

Reference: D. Oglic, Constructive approximation and learning by greedy algorithms (thesis), Section
2.3.1.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

FORMAT = 1  # of the dictionaries
FARTHEST = 1e150  # coordinate of a placement: squares of larger ones overflow


class Placement(NamedTuple):
    """Where a point should be: a coordinate a component (nan: free), `hard`, its `weight`."""

    at: tuple[float, ...]
    hard: bool = False
    weight: float = 1.0


class Link(NamedTuple):
    """Two points, first < second, and the component that is meant (None: all of them)."""

    first: int
    second: int
    component: int | None = None


@dataclass(frozen=True)
class MapConstraints:
    """Placements by point, signs (+1 must, −1 cannot) by link, ±1 or 0 a component by label."""

    n_components: int
    placements: Mapping[int, Placement] = field(default_factory=dict)
    links: Mapping[Link, int] = field(default_factory=dict)
    labels: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.placements) + len(self.links) + len(self.labels)

    def placed(self, i: Any, at: Any, *, hard: bool = False, weight: float = 1.0) -> MapConstraints:
        """Return these and a placement, in the place of one that the point had."""
        i = as_point(i)
        placement = Placement(as_coordinates(at, self.n_components, i), bool(hard), float(weight))
        if not (math.isfinite(placement.weight) and placement.weight >= 0.0):
            raise ValueError(f"The weight of a placement must be >= 0 and finite, got {weight!r}.")
        return replace(self, placements={**self.placements, i: placement})

    def released(self, i: Any) -> MapConstraints:
        """Return these without the placement of a point."""
        i = as_point(i)
        if i not in self.placements:
            raise ValueError(f"Point {i} is not placed; placed are {sorted(self.placements)}.")
        return replace(self, placements={j: p for j, p in self.placements.items() if j != i})

    def linked(self, i: Any, j: Any, sign: Any, component: Any = None) -> MapConstraints:
        """Return these and a link, in the place of one that the pair had."""
        if sign not in (1, -1) or isinstance(sign, bool):
            raise ValueError(f"A link is +1 (must) or -1 (cannot), got {sign!r}.")
        link = self._link(i, j, component)
        return replace(self, links={**self.links, link: int(sign)})

    def unlinked(self, i: Any, j: Any, component: Any = None) -> MapConstraints:
        """Return these without a link."""
        link = self._link(i, j, component)
        if link not in self.links:
            raise ValueError(f"Points {link.first} and {link.second} are not linked.")
        return replace(self, links={k: s for k, s in self.links.items() if k != link})

    def labelled(self, i: Any, label: Any) -> MapConstraints:
        """Return these and a label of a point; None takes it away."""
        i = as_point(i)
        others = {j: v for j, v in self.labels.items() if j != i}
        if label is None:
            if i not in self.labels:
                raise ValueError(f"Point {i} has no label; labelled are {sorted(self.labels)}.")
            return replace(self, labels=others)
        return replace(self, labels={**others, i: as_label(label, self.n_components, i)})

    def _link(self, i: Any, j: Any, component: Any) -> Link:
        i, j = as_point(i), as_point(j)
        if i == j:
            raise ValueError(f"A link needs two points, got {i} twice.")
        if component is not None and not (
            isinstance(component, int | np.integer) and 0 <= component < self.n_components
        ):
            raise ValueError(
                f"The component of a link must be below {self.n_components}, got {component!r}."
            )
        return Link(min(i, j), max(i, j), None if component is None else int(component))

    def check_points(self, n: int) -> None:
        """Refuse points that are not among n."""
        points = {*self.placements, *self.labels}
        points |= {i for link in self.links for i in (link.first, link.second)}
        beyond = sorted(i for i in points if not 0 <= i < n)
        if beyond:
            raise ValueError(f"Points are numbered 0 to {n - 1}; got {beyond[0]}.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, lists and dictionaries."""

        def plain(at: tuple[float, ...]) -> list[float | None]:
            return [None if math.isnan(x) else x for x in at]

        return {
            "format": FORMAT,
            "n_components": self.n_components,
            "placements": [
                {"point": i, "at": plain(p.at), "hard": p.hard, "weight": p.weight}
                for i, p in sorted(self.placements.items())
            ],
            "links": [
                {"points": [k.first, k.second], "sign": s, "component": k.component}
                for k, s in sorted(self.links.items(), key=lambda item: (item[0][:2], str(item)))
            ],
            "labels": [{"point": i, "label": list(v)} for i, v in sorted(self.labels.items())],
        }


def constraints_from_dict(data: Any) -> MapConstraints:
    """Return what `MapConstraints.to_dict` wrote; a ValueError says what is wrong with it."""
    if not isinstance(data, Mapping):
        raise ValueError(f"Constraints must be a dictionary, got {type(data).__name__}.")
    unknown = set(data) - {"format", "n_components", "placements", "links", "labels"}
    if unknown:
        raise ValueError(f"Constraints have no field {sorted(map(str, unknown))[0]!r}.")
    if data.get("format", FORMAT) != FORMAT:
        raise ValueError(f"Constraints of format {data['format']!r}; this reads {FORMAT}.")
    n_components = data.get("n_components")
    if not isinstance(n_components, int) or isinstance(n_components, bool) or n_components < 1:
        raise ValueError(f"n_components must be a positive integer, got {n_components!r}.")
    found = MapConstraints(n_components)
    for entry in _entries(data, "placements", {"point", "at"}, {"hard", "weight"}):
        hard = entry.get("hard", False)
        if not isinstance(hard, bool):
            raise ValueError(f"A placement is hard (true) or not (false), got {hard!r}.")
        weight = as_number(entry.get("weight", 1.0), "The weight of a placement")
        found = found.placed(entry["point"], entry["at"], hard=hard, weight=weight)
    for entry in _entries(data, "links", {"points", "sign"}, {"component"}):
        pair = entry["points"]
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError(f"A link needs two points, got {pair!r}.")
        found = found.linked(pair[0], pair[1], entry["sign"], entry.get("component"))
    for entry in _entries(data, "labels", {"point", "label"}, set()):
        found = found.labelled(entry["point"], entry["label"])
    return found


def _entries(data: Any, name: str, needed: set[str], optional: set[str]) -> list[Any]:
    entries = data.get(name, [])
    if not isinstance(entries, list | tuple):
        raise ValueError(f"{name} must be a list, got {type(entries).__name__}.")
    for entry in entries:
        if not isinstance(entry, Mapping) or not needed <= set(entry) <= needed | optional:
            raise ValueError(
                f"An entry of {name} must have the fields {sorted(needed)} and may have "
                f"{sorted(optional)}, got {entry!r}."
            )
    return list(entries)


def as_point(i: Any) -> int:
    """Return an index that is a non-negative integer."""
    if isinstance(i, bool | np.bool_) or not isinstance(i, Integral) or i < 0:
        raise ValueError(f"A point is named by its row number, an integer >= 0; got {i!r}.")
    return int(i)


def as_number(x: Any, what: str) -> float:
    """Return a real number as a float."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Real):
        raise ValueError(f"{what} must be a number, got {x!r}.")
    return float(x)


def as_coordinates(at: Any, n_components: int, i: int) -> tuple[float, ...]:
    """Return one coordinate a component, nan for one that is free."""
    values = (at,) if isinstance(at, Real) else tuple(at) if _is_sequence(at) else None
    if values is None or len(values) != n_components:
        raise ValueError(
            f"Point {i} must be placed by {n_components} coordinate(s), None for one that is "
            f"free; got {at!r}."
        )
    given = tuple(math.nan if x is None else as_number(x, "A coordinate") for x in values)
    if any(math.isinf(x) for x in given) or all(math.isnan(x) for x in given):
        raise ValueError(
            f"Point {i} needs a finite coordinate, and none may be infinite; got {at!r}."
        )
    if any(abs(x) > FARTHEST for x in given):
        raise ValueError(f"Point {i} must be placed within {FARTHEST:g} of the origin; got {at!r}.")
    return given


def as_label(label: Any, n_components: int, i: int) -> tuple[float, ...]:
    """Return ±1 or 0 a component; one number labels along the first component."""
    values = tuple(label) if _is_sequence(label) else (label, *[0] * (n_components - 1))
    values = tuple(0 if v is None else v for v in values)
    allowed = len(values) == n_components and all(v in (-1, 0, 1) for v in values)
    if not allowed or any(isinstance(v, bool | np.bool_) for v in values) or not any(values):
        raise ValueError(
            f"The label of point {i} must be +1 or -1, or a sequence of +1, -1 and 0, one a "
            f"component and not all 0; got {label!r}."
        )
    return tuple(float(v) for v in values)


def _is_sequence(x: Any) -> bool:
    return isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.ndim == 1)


def read_constraints(
    placements: Any, links: Any, labels: Any, n: int, n_components: int
) -> MapConstraints:
    """Return the arguments of ``fit`` as one value.

    Parameters
    ----------
    placements : dict, tuple or None
        {point: coordinates}, or (points, coordinates[, hard[, weight]]) with arrays.
    links : iterable of (i, j, sign) or (i, j, sign, component), or None
        Links.
    labels : dict, array-like of shape (n,) or None
        {point: label}, or one label a point with 0 for none.
    n, n_components : int
        Numbers of points and components.

    Returns
    -------
    MapConstraints
        Checked.
    """
    found = MapConstraints(n_components)
    for i, at, hard, weight in _placements(placements):
        found = found.placed(i, at, hard=hard, weight=weight)
    for link in () if links is None else links:
        entry = list(link)
        if len(entry) not in (3, 4):
            raise ValueError(f"A link is (i, j, sign) or (i, j, sign, component), got {link!r}.")
        found = found.linked(*entry)
    for i, label in _labels(labels, n):
        found = found.labelled(i, label)
    found.check_points(n)
    return found


def _placements(placements: Any) -> Iterable[tuple[Any, Any, bool, float]]:
    if placements is None:
        return
    if isinstance(placements, Mapping):
        for i, at in placements.items():
            yield i, at, False, 1.0
        return
    if not isinstance(placements, tuple) or not 2 <= len(placements) <= 4:
        raise ValueError(
            "placements must be a dictionary {point: coordinates} or a tuple (points, "
            f"coordinates[, hard[, weight]]), got {type(placements).__name__}."
        )
    points = list(placements[0])
    places = np.asarray(placements[1], dtype=np.float64)
    places = places[:, None] if places.ndim == 1 else places
    extra: list[Any] = [np.asarray(part) for part in placements[2:]]
    hard = extra[0] if extra else np.zeros(len(points), dtype=bool)
    weight = extra[1] if len(extra) > 1 else np.ones(len(points))
    for name, part in (("hard", hard), ("weight", weight)):
        if np.ndim(part) != 1:
            raise ValueError(
                f"`{name}` of placements must have one entry a point ({len(points)}); got shape "
                f"{np.shape(part)}. A component that is free has nan among the coordinates."
            )
    lengths = (len(points), len(places), len(hard), len(weight))
    if len(set(lengths)) > 1:
        raise ValueError(f"placements has parts of different lengths: {lengths}.")
    if len(set(points)) < len(points):
        again = next(i for k, i in enumerate(points) if i in points[:k])
        raise ValueError(f"placements names point {again} twice.")
    for i, at, is_hard, w in zip(points, places, hard, weight):
        yield i, at.tolist(), bool(is_hard), float(w)


def _labels(labels: Any, n: int) -> Iterable[tuple[Any, Any]]:
    if labels is None:
        return
    if isinstance(labels, Mapping):
        yield from labels.items()
        return
    array = np.asarray(labels)
    if array.shape[:1] != (n,) or array.ndim > 2:
        raise ValueError(
            f"labels must be a dictionary or have one entry a sample ({n}), 0 for none; got "
            f"shape {array.shape}."
        )
    for i in np.flatnonzero(array.reshape(n, -1).any(axis=1)):
        yield int(i), array[i].tolist()
