"""The catalogue: one record per paper, one per method, found by discovery.

A paper is a module in ``octavo/papers`` that binds ``PAPER = Paper(...)``. The records are
the only place where a method is listed: the README table, the documentation's index,
``octavo list``, ``octavo show`` and the conformance suite all read them here.
"""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo._lazy import exports_of_stub
from octavo._names import UnknownNameError
from octavo.claims import (
    Claim,
    Expectation,
    Kind,
    NotMeasurable,
    Run,
    Words,
    holds,
    take_words,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A number that must be smaller than this is an identity, up to rounding.
IDENTITY = 1e-5
Measure = Callable[[Run], float]
Registers = Callable[[Measure], Measure]


@dataclass(frozen=True)
class Trial:
    """How `octavo compare` tries a class on a user's table.

    Parameters
    ----------
    grid : tuple of dict, optional
        Settings that the inner loop chooses from; by default values around the class's own.
    params : dict
        Settings that all of them share.
    row_limit : int, optional
        Training rows beyond which it learns from a random part.
    feature_limit : int, optional
        Columns beyond which it is not tried.
    cost : str, optional
        How its time grows, in words.
    rows_needed : int, default=0
        Rows below which it is not tried.
    simple : int, default=0
        Settings at the beginning of the grid that are preferred: of n rows, another must be better
        than the best of them by 0.2 / √n, about a standard error of a difference of concordances.
    """

    grid: tuple[dict[str, Any], ...] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    row_limit: int | None = None
    feature_limit: int | None = None
    cost: str | None = None
    rows_needed: int = 0
    simple: int = 0


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
    trials : dict of str to Trial
        How `octavo compare` tries its classes, by name, where the defaults do not serve.
    quadratic : bool, default=False
        Whether it may form an n x n matrix, so that `compare` gives it a part of many rows.
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
    trials: dict[str, Trial] = field(default_factory=dict, compare=False)
    quadratic: bool = False

    @functools.cached_property
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
    headlines : tuple of str
        One to three claims, by name, that a newcomer should see first: ``make demo`` runs them.
    tables : dict of str to str
        The paper's main tables and figures, each with the names of the claims that cover it
        (several separated by spaces; ``*`` stands for any letters), or with the reason why none
        does, in brackets.
    refutations : dict of str to str
        Names of claims that are refuted, written alike, each with a sentence on why, or on what
        is known.
    """

    key: str
    title: str
    authors: str
    year: int
    venue: str
    methods: tuple[Method, ...]
    headlines: tuple[str, ...] = ()
    tables: dict[str, str] = field(default_factory=dict)
    refutations: dict[str, str] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list, init=False)
    figures: list[PaperFigure] = field(default_factory=list, init=False)

    @property
    def reference(self) -> str:
        """The reference in one line."""
        return f"{self.authors} ({self.year}). {self.title}. {self.venue}."

    def why_refuted(self, name: str) -> str:
        """Return the sentence on a claim that is refuted, or nothing."""
        for names, sentence in self.refutations.items():
            if any(fnmatchcase(name, pattern) for pattern in names.split()):
                return sentence
        return ""

    def find_claim(self, name: str) -> Claim:
        """Return the claim of that name."""
        for claim in self.claims:
            if claim.name == name:
                return claim
        raise UnknownNameError(f"claim of {self.key}", name, [claim.name for claim in self.claims])

    def add_claim(
        self,
        measure: Measure,
        *,
        says: str,
        where: str,
        published: float | str,
        expect: Expectation,
        name: str | None = None,
        seeds: tuple[int, ...] = (0,),
        full_seeds: tuple[int, ...] | None = None,
        method: str | None = None,
        unit: str = "",
        kind: Kind | None = None,
        stand_in: str = "",
        random: bool | None = None,
    ) -> None:
        """Register a measurement; see `Claim` for the words. Several seeds mean random data."""
        if name is None:
            name = getattr(measure, "__name__", "").replace("_", "-")
        full_seeds = full_seeds or seeds
        placed = expect.placed(published)
        identity = placed.low == -math.inf and placed.high <= IDENTITY
        claim = Claim(
            name=name,
            method=method or self.methods[0].name,
            says=says,
            where=where,
            published=published,
            expect=placed,
            measure=measure,
            seeds=seeds,
            full_seeds=full_seeds,
            unit=unit,
            kind=kind or ("theorem" if placed.every_seed or identity else "figure"),
            stand_in=stand_in,
            random=len(full_seeds) > 1 if random is None else random,
        )
        self.claims.append(claim)

    def claim(self, says: str, *words: Any, **about: Any) -> Registers:
        """Register the decorated function as the measurement of a claim; see `Section.claim`."""
        return self.section().claim(says, *words, **about)

    def table(
        self, says: str | Mapping[str, str], *words: Any, **about: Any
    ) -> Callable[[Callable[..., float]], Callable[..., float]]:
        """Register one claim per row of a table; see `Section.table`."""
        return self.section().table(says, *words, **about)

    def section(self, **defaults: Any) -> Section:
        """Return a place where claims share what they have in common; see `Section`."""
        return Section(self, defaults)

    def not_measurable(self, name: str, why: str, *words: Any, **about: Any) -> None:
        """Register a claim that nobody can measure here; see `Section.not_measurable`."""
        self.section().not_measurable(name, why, *words, **about)

    def figure(
        self, caption: str, *, method: str | None = None
    ) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
        """Register the decorated function as a picture for the report and a method's page."""

        def register(draw: Callable[[], Figure]) -> Callable[[], Figure]:
            self.figures.append(PaperFigure(caption, method or self.methods[0].name, draw))
            return draw

        return register


@dataclass(frozen=True)
class Section:
    """Claims that share words: a place in the paper, seeds, a unit, a method, an expectation.

    ``table = PAPER.section(where="Table 2", unit="points", seeds=SEEDS)`` is used as
    ``@table.claim("what it says", 14.06)``, or for a whole table as ``@table.rows({...})``.
    """

    paper: Paper
    defaults: dict[str, Any]

    def section(self, **defaults: Any) -> Section:
        """Return a section of this one."""
        return Section(self.paper, self.defaults | defaults)

    def claim(
        self,
        says: str,
        published: float | str | None = None,
        where: str | None = None,
        **about: Any,
    ) -> Registers:
        """Register the decorated function as the measurement of one claim.

        Words may also stand below, each in its decorator: the published figure and its place
        (`stated`), how ours is measured (`measured`), and what would count as reproducing it
        (`at_least` and the like).
        """
        spoken = {"says": says, "published": published, "where": where}
        given = {word: value for word, value in spoken.items() if value is not None} | about

        def register(measure: Measure) -> Measure:
            below = take_words(measure)
            for word in below.keys() & given.keys():
                raise TypeError(f"The claim on `{measure.__name__}` has two values of `{word}`.")
            name = measure.__name__.replace("_", "-")
            words = self._require({"name": name} | self.defaults | below | given)
            self.paper.add_claim(measure, **words)
            return measure

        return register

    def table(
        self,
        says: str | Mapping[str, str],
        published: Mapping[str, float | str] | str | None = None,
        where: str | Mapping[str, str] | None = None,
        **about: Any,
    ) -> Callable[[Callable[..., float]], Callable[..., float]]:
        """Register one claim per row of a table; the function takes the run and the row's name.

        The published figures are a dict from rows to values, as is every word that differs from
        row to row; where all rows have one figure, what the paper says is. ``says``, ``where`` and
        ``name`` may hold ``{row}``, and ``says`` ``{published}``. The claim of a row is called
        ``<function>-<row>`` by default.
        """
        spoken = {"says": says, "published": published, "where": where}
        given = {word: value for word, value in spoken.items() if value is not None} | about

        def register(measure: Callable[..., float]) -> Callable[..., float]:
            below = take_words(measure)
            words = self.defaults | below | given
            columns = [words.get(word) for word in ("published", "says")]
            rows = next((column for column in columns if isinstance(column, Mapping)), None)
            if rows is None:
                name = measure.__name__
                raise TypeError(f"The table of `{name}` needs a dict of published figures by row.")
            for row in rows:
                self._add_row(measure, row, self.defaults, below, given)
            return measure

        return register

    def rows(
        self,
        rows: Mapping[str, float | str | tuple[str, float | str] | dict[str, Any]],
        prefix: str | None = None,
        **about: Any,
    ) -> Callable[[Callable[..., float]], Callable[..., float]]:
        """Register one claim per row of a table that is given by rows; see `table` for columns.

        A row is the published figure, or what the paper says with the figure, or a dict of words
        that differ from the section's. The claim is called ``<function>-<row>``, or
        ``<prefix><row>``.
        """

        def register(measure: Callable[..., float]) -> Callable[..., float]:
            stem = {} if prefix is None else {"name": prefix + "{row}"}
            below = take_words(measure)
            for row, given in rows.items():
                own = _words_of_row(given)
                self._add_row(measure, row, self.defaults, stem, below, about, own)
            return measure

        return register

    def _add_row(self, measure: Callable[..., float], row: str, *layers: dict[str, Any]) -> None:
        """Register the claim of one row; the last layer that has a word wins."""
        own: dict[str, Any] = {"name": measure.__name__.replace("_", "-") + "-{row}"}
        for layer in layers:
            own |= _column_at(layer, row)
        self._require(own)
        own["says"] = own["says"].format(row=row, published=own["published"])
        own["where"] = own["where"].format(row=row)
        own["name"] = own["name"].format(row=re.sub("[ _]", "-", row.lower()))
        self.paper.add_claim(_RowMeasure(measure, row), **own)

    def not_measurable(
        self, name: str, why: str, says: str = "", stands: Words | None = None, **about: Any
    ) -> None:
        """Register a claim whose data or hardware nobody can have here: says, `stated`, why."""

        def measure(run: Run) -> float:
            raise NotMeasurable(why)

        given = ({"says": says} if says else {}) | (stands.words if stands else {}) | about
        shown = {"expect": holds(because="it cannot be measured here"), "kind": "figure"}
        words = self._require(shown | self.defaults | given | {"name": name})
        self.paper.add_claim(measure, **words)

    def _require(self, words: dict[str, Any]) -> dict[str, Any]:
        """Return the words of a claim, or say which are missing."""
        absent = [f"`{w}`" for w in ("says", "where", "published", "expect") if w not in words]
        if absent:
            lacks = " and ".join(absent)
            raise TypeError(f"The claim `{words['name']}` of {self.paper.key} needs {lacks}.")
        return words


def _words_of_row(given: Any) -> dict[str, Any]:
    """Return a row of a table as words: a figure, or what the paper says with it, or a dict."""
    if isinstance(given, tuple):
        return dict(zip(("says", "published"), given))
    return given if isinstance(given, dict) else {"published": given}


def _column_at(words: dict[str, Any], row: str) -> dict[str, Any]:
    """Return words of one row: those that are dicts hold a value for each of some rows."""
    found = {}
    for word, value in words.items():
        if not isinstance(value, Mapping):
            found[word] = value
        elif row in value:
            found[word] = value[row]
    return found


class _RowMeasure:
    """A measurement of one row: a function that also wants to know which."""

    def __init__(self, measure: Callable[..., float], row: str) -> None:
        self.__wrapped__, self.row = measure, row

    def __call__(self, run: Run) -> float:
        return self.__wrapped__(run, self.row)


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


@functools.cache
def _by_room() -> tuple[tuple[Paper, Method], ...]:
    pairs = [(paper, method) for paper in papers() for method in paper.methods]
    return tuple(sorted(pairs, key=lambda pair: (pair[1].room, pair[1].name)))


def methods() -> Iterator[tuple[Paper, Method]]:
    """Yield every method with the paper it comes from, room by room."""
    yield from _by_room()


def find_paper(key: str) -> Paper:
    """Return the paper with that key, whatever the case."""
    for paper in papers():
        if paper.key.lower() == key.lower():
            return paper
    raise UnknownNameError("paper", key, [paper.key for paper in papers()])


@functools.cache
def _by_alias() -> dict[str, tuple[Paper, Method]]:
    """Return methods by their name and those of their members in small letters, the first first."""
    found: dict[str, tuple[Paper, Method]] = {}
    for pair in methods():
        for alias in (pair[1].name, *pair[1].members):
            found.setdefault(alias.lower(), pair)
    return found


def find_method(name: str) -> tuple[Paper, Method]:
    """Return the method of that name, or the one that brings a member of that name."""
    if name.lower() in _by_alias():
        return _by_alias()[name.lower()]
    known = sorted({alias for _, m in methods() for alias in (m.name, *m.members)})
    raise UnknownNameError("method", name, known)
