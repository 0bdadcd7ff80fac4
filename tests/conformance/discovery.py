"""Everything public, found by looking; and the cases that methods declare for themselves.

A method whose input is not a table, or that wants more than its default instance checked,
puts a module in ``tests/conformance/cases`` (any name) that binds ``CASES``, a list of `Case`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import octavo
from octavo._lazy import exports_of_stub
from octavo.catalogue import methods

PACKAGE = Path(octavo.__file__).parent
NOT_ROOMS = {"engine", "papers", "plot", "data", "app"}


@dataclass
class Case:
    """One estimator for the conformance suite.

    Parameters
    ----------
    make : callable
        Returns a new, unfitted instance.
    fit : callable
        Fits the instance it is given on small valid input and returns it. None for tables.
    query : callable
        Asks a fitted instance something; the answer must be equal for equal models.
    bad : list of (label, callable, exception type, words)
        What is done to an unfitted instance, what it must raise, and words in the message.
    unfitted : list of callable
        Uses of an instance that must raise NotFittedError before fit.
    expected_failures : dict of str to str
        Names of scikit-learn checks that cannot apply, each with its reason.
    iterative : bool
        Whether fit must report its steps to callbacks.
    full : callable
        Returns an instance of the usual size where that of ``make`` is small to save time;
        `make test-all` checks it as well.
    """

    make: Callable[[], Any]
    fit: Callable[[Any], Any] | None = None
    query: Callable[[Any], Any] | None = None
    bad: list[tuple[str, Callable[[Any], Any], type[Exception], str]] = field(default_factory=list)
    unfitted: list[Callable[[Any], Any]] = field(default_factory=list)
    expected_failures: dict[str, str] = field(default_factory=dict)
    iterative: bool = True
    full: Callable[[], Any] | None = None

    @property
    def name(self) -> str:
        return type(self.make()).__name__


def public_names(package: str) -> dict[str, str]:
    """Return the exports of one package and the modules that define them."""
    return exports_of_stub(PACKAGE / package / "__init__.pyi")


def rooms() -> list[str]:
    return sorted(
        p.parent.name for p in PACKAGE.glob("*/__init__.pyi") if p.parent.name not in NOT_ROOMS
    )


def public_objects() -> Iterator[tuple[str, str, Any]]:
    """Yield (package, name, object) for everything public, plots and data included."""
    for package in [*rooms(), "plot", "data"]:
        module = importlib.import_module(f"octavo.{package}")
        for name in public_names(package):
            yield package, name, getattr(module, name)


def estimators() -> list[type]:
    """Return every public estimator class of every room; those that fit nothing are no tables'."""
    from sklearn.base import BaseEstimator

    return [
        thing
        for package, _, thing in public_objects()
        if package not in NOT_ROOMS
        and inspect.isclass(thing)
        and issubclass(thing, BaseEstimator)
        and hasattr(thing, "fit")
        and not inspect.isabstract(thing)
    ]


def declared_cases() -> list[Case]:
    package = importlib.import_module("tests.conformance.cases")
    found: list[Case] = []
    for info in pkgutil.iter_modules(package.__path__):
        found += importlib.import_module(f"tests.conformance.cases.{info.name}").CASES
    return found


def table_cases() -> list[Case]:
    """Return declared table cases, and the default instance of every other table estimator."""
    declared = declared_cases()
    named = {case.name for case in declared}
    defaults = [
        Case(make=cls)
        for cls in estimators()
        if cls.__name__ not in named and not inspect.signature(cls).parameters.get("estimator")
    ]
    return [case for case in declared if case.fit is None] + defaults


def other_cases() -> list[Case]:
    return [case for case in declared_cases() if case.fit is not None]


def members_of_records() -> dict[str, str]:
    """Map every member of every record to its method's name."""
    return {member: method.name for _, method in methods() for member in method.members}
