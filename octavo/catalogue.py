"""The catalogue: one record per paper, one per method, found by discovery.

A paper is a module in ``octavo/papers`` that binds ``PAPER = Paper(...)``. The records are
the only place where a method is listed: the README table, the documentation's index,
``octavo list``, ``octavo show`` and the conformance suite all read them here.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo._lazy import exports_of_stub
from octavo._names import UnknownNameError
from octavo.claims import Claim, Expectation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from octavo.claims import Run


@dataclass(frozen=True)
class Method:
    """What a user must know to choose a method.

    Parameters
    ----------
    name : str
        What the method is called here: usually its main class.
    room : str
        The package it lives in, below ``octavo``.
    family : str
        The sub-package of the room that holds it; its docs page, tests, benchmark and plots bear
        the same name.
    task : str
        What the user wants done, in a few words.
    summary : str
        What it does, in one sentence.
    use_when, avoid_when : str
        When it is the right choice, and when not.
    instead : str
        What scikit-learn offers for the same task.
    peers : tuple of str
        The packages that a user would otherwise pick; the benchmark runs beside them.
    plots : tuple of str
        The functions of `octavo.plot` that draw it.
    modules : tuple of str, default=()
        Where its public names are defined, as paths below the room: a module (``"crf.segments"``)
        or a whole family. Needed where a family holds several methods, or a method spreads over
        several families; the whole family by default, less what other methods name.
    """

    name: str
    room: str
    family: str
    task: str
    summary: str
    use_when: str
    avoid_when: str
    instead: str
    peers: tuple[str, ...]
    plots: tuple[str, ...]
    modules: tuple[str, ...] = ()

    @property
    def members(self) -> tuple[str, ...]:
        """Every public name that it brings, its own first, read from the room's exports."""
        owned = _members_of_room(self.room).get(self.name, ())
        return tuple(sorted(owned, key=lambda name: (name != self.name, name.lower())))

    def load(self, member: str) -> Any:
        """Import one of the members."""
        return getattr(importlib.import_module(f"octavo.{self.room}"), member)


@dataclass(frozen=True)
class PaperFigure:
    """A picture of a paper: its caption, the method that it shows, and what draws it."""

    caption: str
    method: str
    draw: Callable[[], Figure]


@dataclass
class Paper:
    """A published document, the methods that came from it, and its claims.

    Parameters
    ----------
    key : str
        Short name used on the command line.
    title, authors, venue : str
        The reference.
    year : int
        Year of publication.
    methods : tuple of Method
        The methods that octavo takes from it.
    """

    key: str
    title: str
    authors: str
    year: int
    venue: str
    methods: tuple[Method, ...]
    claims: list[Claim] = field(default_factory=list, init=False)
    figures: list[PaperFigure] = field(default_factory=list, init=False)

    @property
    def reference(self) -> str:
        """The reference in one line."""
        return f"{self.authors} ({self.year}). {self.title}. {self.venue}."

    def claim(
        self,
        *,
        says: str,
        where: str,
        published: float | str,
        expect: Expectation,
        seeds: tuple[int, ...] = (0,),
        full_seeds: tuple[int, ...] | None = None,
        method: str | None = None,
        unit: str = "",
    ) -> Callable[[Callable[[Run], float]], Callable[[Run], float]]:
        """Register the decorated function as the measurement of a claim."""

        def register(measure: Callable[[Run], float]) -> Callable[[Run], float]:
            self.claims.append(
                Claim(
                    name=measure.__name__.replace("_", "-"),
                    method=method or self.methods[0].name,
                    says=says,
                    where=where,
                    published=published,
                    expect=expect,
                    measure=measure,
                    seeds=seeds,
                    full_seeds=full_seeds or seeds,
                    unit=unit,
                )
            )
            return measure

        return register

    def figure(
        self, caption: str, *, method: str | None = None
    ) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
        """Register the decorated function as a picture for the report and a method's page."""

        def register(draw: Callable[[], Figure]) -> Callable[[], Figure]:
            self.figures.append(PaperFigure(caption, method or self.methods[0].name, draw))
            return draw

        return register


@functools.cache
def _members_of_room(room: str) -> dict[str, list[str]]:
    """Return the public names of a room by the method that brings them.

    A name belongs to the record that bears it, else to the record that names the longest part of
    the path of its module.
    """
    package = importlib.import_module(f"octavo.{room}")
    exports = exports_of_stub(Path(str(package.__file__)).with_suffix(".pyi"))
    records = [method for _, method in methods() if method.room == room]
    paths = {path: m.name for m in records for path in m.modules or (m.family,)}
    found: dict[str, list[str]] = {m.name: [] for m in records}
    for name, module in exports.items():
        parts = module.split(".")[2:]
        stems = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
        owner = name if name in found else next((paths[s] for s in stems if s in paths), None)
        if owner is not None:
            found[owner].append(name)
    return found


@functools.cache
def papers() -> tuple[Paper, ...]:
    """Return every paper that has landed, in alphabetical order of its key."""
    package = importlib.import_module("octavo.papers")
    modules = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    found = [importlib.import_module(f"octavo.papers.{name}").PAPER for name in modules]
    return tuple(sorted(found, key=lambda paper: paper.key))


def methods() -> Iterator[tuple[Paper, Method]]:
    """Yield every method with the paper it comes from, room by room."""
    pairs = [(paper, method) for paper in papers() for method in paper.methods]
    yield from sorted(pairs, key=lambda pair: (pair[1].room, pair[1].name))


def find_paper(key: str) -> Paper:
    """Return the paper with that key, whatever the case."""
    for paper in papers():
        if paper.key.lower() == key.lower():
            return paper
    raise UnknownNameError("paper", key, [paper.key for paper in papers()])


def find_method(name: str) -> tuple[Paper, Method]:
    """Return the method of that name, or the one that brings a member of that name."""
    for paper, method in methods():
        if name.lower() in {alias.lower() for alias in (method.name, *method.members)}:
            return paper, method
    known = sorted({alias for _, m in methods() for alias in (m.name, *m.members)})
    raise UnknownNameError("method", name, known)


def markdown_table() -> str:
    """Return the table of methods that the README shows."""
    rows = ["| method | room | what it does | paper |", "|---|---|---|---|"]
    rows += [
        f"| `{method.name}` | `octavo.{method.room}` | {method.summary} "
        f"| {paper.authors.split(',')[0].split(' and ')[0]} {paper.year} (`{paper.key}`) |"
        for paper, method in methods()
    ]
    return "\n".join(rows)
