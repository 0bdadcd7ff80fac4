"""What the page means: gestures in, actions of an `InteractiveSession` out, and what to draw.

Nothing here knows of browsers or of Bokeh. A gesture is a dictionary with a "kind"; `handle`
returns a `Reply` and never raises for what a user did.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo._outside_text import clause
from octavo.app.colours import FEW, LABELS, Colouring, class_codes, colour_by
from octavo.app.drawn_constraints import ARROWS, Drawing, arrow_of, draw_constraints
from octavo.app.exported_page import read_constraints, thumbnails, write_page
from octavo.app.map_meter import MapMeter, Reading
from octavo.app.map_tables import MapTable
from octavo.app.springs import why_short
from octavo.kernel.steered.constraints import MapConstraints, constraints_from_dict
from octavo.kernel.steered.interactive_session import InteractiveSession

STRENGTHS = {
    "lambda_place": "pins",
    "lambda_link": "links",
    "lambda_label": "labels",
    "anchor": "anchor",
}
# Gestures that leave the session alone.
ASKING = {"row", "code", "picture", "colour", "state", "meter", "why", "thumbnails", "page"}


@dataclass
class Reply:
    """What a gesture led to.

    Parameters
    ----------
    ok : bool
        Whether it could be done.
    message : str
        A sentence if it could not, or if there is something to say.
    action, detail : str
        What was done, and to what, in words for the log.
    moved, coloured : bool
        Whether the map, or its colours, have to be drawn anew.
    seconds : float
        Time spent here.
    result : object
        What was asked for, of gestures that ask for something.
    """

    ok: bool = True
    message: str = ""
    action: str = ""
    detail: str = ""
    moved: bool = False
    coloured: bool = False
    seconds: float = 0.0
    result: Any = None


@dataclass
class MapController:
    """One tab: its session, the colours it shows and the names of its classes.

    Parameters
    ----------
    table : MapTable
        The rows.
    session : InteractiveSession
        On the rows of `table`; this controller alone may change it.
    meter : MapMeter or None, default=None
        Of the rows of `table`; its own, made when it is first read, by default.
    """

    table: MapTable
    session: InteractiveSession
    column: str = ""
    meter: MapMeter | None = None
    colouring: Colouring = field(init=False)
    classes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _going_on: Any = None  # the drag or slide whose last step the session's last action is
    _read: dict[str, Any] = field(default_factory=dict)  # what the meter said last, and of what

    def __post_init__(self) -> None:
        columns = self.table.columns
        few = [name for name, values in columns.items() if values.dtype.kind != "f"]
        self.column = self.column or self.table.label or (few or list(columns))[0]
        self.colouring = self._colours(self.column)

    # --- gestures --------------------------------------------------------------------------------

    def handle(self, gesture: Any) -> Reply:
        """Do what a gesture asks for.

        Parameters
        ----------
        gesture : dict
            With the key "kind" and those that this kind needs.

        Returns
        -------
        Reply
            Also for gestures that make no sense: `ok` is then False and nothing has changed.
        """
        start = time.perf_counter()
        kind = gesture.get("kind") if isinstance(gesture, dict) else None
        do: Callable[[dict[str, Any]], Reply] | None = self._gestures().get(str(kind))
        if do is None:
            return Reply(False, f"The page sent a gesture that is not known: {kind!r}.")
        if not gesture.get("live") and kind not in ASKING:
            self._going_on = None
        try:
            reply = do(gesture)
        except (ValueError, LookupError, TypeError, OverflowError) as error:
            known = isinstance(error, ValueError)
            said = str(error) if known else f"The page sent an incomplete gesture ({error!r})."
            reply = Reply(False, said, str(kind))
        reply.seconds = time.perf_counter() - start
        return reply

    def _gestures(self) -> dict[str, Callable[[dict[str, Any]], Reply]]:
        return {
            "pin": self._pin,
            "release": self._release,
            "link": self._link,
            "unlink": self._unlink,
            "label": self._label,
            "unlabel": self._unlabel,
            "strength": self._strength,
            "undo": self._undo,
            "redo": self._redo,
            "clear": self._clear,
            "import": self._import,
            "colour": self._colour,
            "row": self._row,
            "code": self._code,
            "picture": self._picture,
            "page": self._page,
            "meter": self._meter,
            "why": self._why,
            "thumbnails": self._thumbnails,
            "state": lambda gesture: Reply(action="state", moved=True, coloured=True),
        }

    def _stepwise(self, token: Any, act: Callable[[], Any]) -> None:
        """Do a step of a drag or a slide; it takes the place of the step before."""
        again = token is not None and token == self._going_on
        if again:
            self.session.undo()
        try:
            act()
        except Exception:
            if again:
                self.session.redo()
            raise
        self._going_on = token

    def _pin(self, gesture: dict[str, Any]) -> Reply:
        i, at = gesture["index"], (gesture["x"], gesture["y"])
        exact = bool(gesture.get("exact"))
        token = ("pin", gesture["drag"]) if gesture.get("live") else None

        def act() -> None:
            pinned = any(p["point"] == i for p in self.session.constraints["placements"])
            if pinned and not exact:
                self.session.move(i, at)
            else:
                self.session.place(i, at, hard=exact)

        self._stepwise(token, act)
        return Reply(action="pin", detail=f"row {i}", moved=True)

    def _strength(self, gesture: dict[str, Any]) -> Reply:
        name, value = gesture["name"], gesture["value"]
        if name not in STRENGTHS:
            raise ValueError(f"There is no strength {name!r}; there are {sorted(STRENGTHS)}.")
        token = ("strength", name, gesture["drag"]) if gesture.get("live") else None
        self._stepwise(token, lambda: self.session.set_params(**{name: float(value)}))
        return Reply(action="strength", detail=f"{STRENGTHS[name]} {value:.3g}", moved=True)

    def _release(self, gesture: dict[str, Any]) -> Reply:
        rows = self._among(gesture, {p["point"] for p in self._listed("placements")}, "pinned")
        self._edit(rows, MapConstraints.released)
        return Reply(action="release", detail=_rows(rows), moved=True)

    def _link(self, gesture: dict[str, Any]) -> Reply:
        i, j = self._two(gesture)
        sign = gesture["sign"]
        self.session.link(i, j, sign)
        return Reply(action="link" if sign > 0 else "separate", detail=f"{i} · {j}", moved=True)

    def _unlink(self, gesture: dict[str, Any]) -> Reply:
        pair = self._two(gesture)
        meant = [k for k in self._listed("links") if sorted(k["points"]) == sorted(pair)]
        if not meant:
            raise ValueError(f"Rows {pair[0]} and {pair[1]} are not linked.")
        after = self._constraints
        for link in meant:
            after = after.unlinked(*pair, link["component"])
        self.session.load(after.to_dict())
        return Reply(action="unlink", detail=f"{pair[0]} · {pair[1]}", moved=True)

    def _label(self, gesture: dict[str, Any]) -> Reply:
        rows, name = gesture["indices"], str(gesture["name"]).strip()
        if not rows:
            raise ValueError("Select the points that belong to this class first.")
        code = self._code_of(name)
        self._edit(rows, lambda found, i: found.labelled(i, code))
        self.classes[name] = code
        return Reply(action="label", detail=f"{_rows(rows)} = {name}", moved=True)

    def _unlabel(self, gesture: dict[str, Any]) -> Reply:
        rows = self._among(gesture, {e["point"] for e in self._listed("labels")}, "labelled")
        self._edit(rows, lambda found, i: found.labelled(i, None))
        return Reply(action="unlabel", detail=_rows(rows), moved=True)

    def _undo(self, gesture: dict[str, Any]) -> Reply:
        self.session.undo()
        return Reply(action="undo", moved=True)

    def _redo(self, gesture: dict[str, Any]) -> Reply:
        self.session.redo()
        return Reply(action="redo", moved=True)

    def _clear(self, gesture: dict[str, Any]) -> Reply:
        self.session.clear()
        return Reply(action="clear", moved=True)

    def _import(self, gesture: dict[str, Any]) -> Reply:
        name = str(gesture.get("name", "the file"))
        text = gesture["text"]
        try:
            page = isinstance(text, str) and text.lstrip()[:9].lower() == "<!doctype"
            found = read_constraints(text) if page else json.loads(text)
        except (ValueError, RecursionError) as error:
            why = f"{name} holds no constraints ({clause(error)})."
            raise ValueError(f"{why} Import a file that this page exported.") from error
        try:
            self.session.load(found)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{name} was not imported. {error}") from error
        n = len(self._constraints)
        return Reply(action="import", detail=f"{n} constraint{'s' * (n != 1)}", moved=True)

    def _colour(self, gesture: dict[str, Any]) -> Reply:
        column = str(gesture["column"])
        if column not in self.table.columns:
            raise ValueError(f"There is no column {column!r}.")
        self.column, self.colouring = column, self._colours(column)
        return Reply(action="colour", detail=column, coloured=True)

    def _row(self, gesture: dict[str, Any]) -> Reply:
        i = gesture["index"]
        if not (isinstance(i, int) and 0 <= i < len(self.table)):
            raise ValueError(f"Rows are numbered 0 to {len(self.table) - 1}; got {i!r}.")
        return Reply(action="row", result=self.table.row(i))

    def _code(self, gesture: dict[str, Any]) -> Reply:
        return Reply(action="export", detail="code", result=self.code())

    def _picture(self, gesture: dict[str, Any]) -> Reply:
        from octavo.app.pictures import draw_picture

        found = draw_picture(self, gesture["format"], beside=bool(gesture.get("beside")))
        return Reply(action="export", detail=f"picture, {gesture['format']}", result=found)

    def _page(self, gesture: dict[str, Any]) -> Reply:
        return Reply(action="export", detail="page", result=write_page(self))

    def _meter(self, gesture: dict[str, Any]) -> Reply:
        return Reply(action="meter", result=self.metered())

    def _why(self, gesture: dict[str, Any]) -> Reply:
        start = (float(gesture["from"][0]), float(gesture["from"][1]))
        return Reply(action="why", result=why_short(self.session, gesture["index"], start))

    def _thumbnails(self, gesture: dict[str, Any]) -> Reply:
        return Reply(action="thumbnails", result=thumbnails(self.table))

    # --- what gestures are made of ---------------------------------------------------------------

    @property
    def _constraints(self) -> MapConstraints:
        return constraints_from_dict(self.session.constraints)

    def _listed(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.session.constraints[kind]
        return found

    def _edit(self, rows: list[int], change: Callable[[MapConstraints, int], Any]) -> None:
        """Change the constraints of several rows as one action."""
        after = self._constraints
        for i in rows:
            after = change(after, i)
        self.session.load(after.to_dict())

    def _among(self, gesture: dict[str, Any], found: set[int], what: str) -> list[int]:
        rows = [i for i in gesture["indices"] if i in found]
        if not rows:
            raise ValueError(f"Select points that are {what} first.")
        return rows

    @staticmethod
    def _two(gesture: dict[str, Any]) -> tuple[int, int]:
        rows = gesture["indices"]
        if len(rows) != 2:
            raise ValueError(f"Select two points first; {len(rows)} are selected.")
        return rows[0], rows[1]

    def _code_of(self, name: str) -> tuple[int, ...]:
        """Return the direction of a class; a new name takes the next that is free."""
        if not name:
            raise ValueError("Type the name of a class first.")
        if name in self.classes:
            return self.classes[name]
        fixed = {"+1": (1, 0), "-1": (-1, 0), **{arrow: code for code, arrow in ARROWS.items()}}
        if name in fixed:
            return fixed[name]
        taken = set(self.classes.values()) | self._codes_in_use()
        free = [code for code in ARROWS if code not in taken]
        if not free:
            raise ValueError(
                f"A map of two components tells {len(ARROWS)} classes apart, and that many have "
                "names; use one of them."
            )
        return free[0]

    def _few(self, column: str) -> int:
        return LABELS if column == self.table.label else FEW

    def _colours(self, column: str) -> Colouring:
        return colour_by(self.table.columns[column], few=self._few(column))

    def _codes(self, column: str) -> NDArray[np.intp] | None:
        return class_codes(self.table.columns[column], few=self._few(column))

    def _codes_in_use(self) -> set[tuple[int, ...]]:
        return {tuple(int(v) for v in entry["label"]) for entry in self._listed("labels")}

    # --- what there is to see --------------------------------------------------------------------

    @property
    def points(self) -> NDArray[np.float32]:
        """The map as the page gets it: (n, 2) in single precision."""
        return np.asarray(self.session.embedding, dtype=np.float32)

    @property
    def class_column(self) -> str | None:
        """The column whose classes the meter looks at: the label, or else the one in colour."""
        names = [self.table.label, self.column]
        return next((name for name in names if name and self._codes(name) is not None), None)

    def metered(self) -> dict[str, Any]:
        """Return what the map keeps and tells apart: now, before the last action, and plain."""
        if self.meter is None:
            self.meter = MapMeter(self.table.X)
        column, Z = self.class_column, self.session.embedding
        codes = None if column is None else self._codes(column)
        if self._read.get("column", self) != column:
            plain = self.meter.read(self.session.baseline, codes)
            self._read = {
                "column": column,
                "plain": plain,
                "now": plain,
                "before": plain,
                "of": None,
            }
        if self._read["of"] is not Z:
            now = self.meter.read(Z, codes)
            self._read |= {"before": self._read["now"], "now": now, "of": Z}
        told = {
            name: {when: getattr(self._read[when], name) for when in ("now", "before", "plain")}
            for name in Reading._fields
        }
        return {**told, "column": column, "rows": len(self.meter.rows)}

    def drawing(self) -> Drawing:
        """Return pins, threads, links and labels as columns."""
        names = {code: name for name, code in reversed(self.classes.items())}
        return draw_constraints(self.session.embedding, self.session.constraints, names)

    def state(self) -> dict[str, Any]:
        """Return everything else that the page shows, as JSON can hold it."""
        session = self.session
        nameless = sorted(self._codes_in_use() - set(self.classes.values()))
        named = {**self.classes, **{arrow_of(code): code for code in nameless}}
        return {
            "constraints": session.constraints,
            "can_undo": session.can_undo,
            "can_redo": session.can_redo,
            "strengths": {name: session.params[name] for name in STRENGTHS},
            "classes": [[name, arrow_of(code), list(code)] for name, code in named.items()],
            "column": self.column,
            "key": {"entries": self.colouring.entries, "ramp": self.colouring.ramp},
        }

    def code(self) -> str:
        """Return a script that reproduces the map."""
        return self.table.code + self.session.code()


def _rows(rows: list[int]) -> str:
    return f"row {rows[0]}" if len(rows) == 1 else f"{len(rows)} rows"
