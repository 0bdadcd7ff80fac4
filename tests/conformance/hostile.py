"""Hostile values for everything public, found by discovery.

A valid call is taken from the docstring: its example is run with a spy in the place of the function
or class, and the first call that the spy sees is the one that is spoilt, an argument at a time.
What may happen: an answer, or a sentence (`ValueError`, `TypeError`, an error of octavo). What
may not: another exception, a message from deep inside a library, or NaN without a word.
"""

from __future__ import annotations

import contextlib
import copy
import doctest
import faulthandler
import functools
import importlib
import inspect
import io
import os
import re
import signal
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.raw_errors import is_raw
from tests.conformance.discovery import public_objects

SECONDS = 30  # after which a call counts as one that never ends
WRONG = {
    "object": object(),
    "word": "banana",
    "nan": float("nan"),
    "negative": -1,
    "fraction": 2.5,
    "nothing": None,
    "list": [],
    "complex": 1 + 2j,
    "tiny": 1e-308,
}


@dataclass
class Call:
    """One valid call of something public."""

    path: str
    thing: Any
    args: tuple
    kwargs: dict

    def arguments(self) -> dict[str, Any]:
        bound = inspect.signature(self.thing).bind(*self.args, **self.kwargs)
        return dict(bound.arguments)


@functools.cache
def _homes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for package, name, _ in public_objects():
        found.setdefault(name, []).append(package)
    return found


def homes(name: str) -> list[str]:
    """Return the packages that export a name: some generators stand in two."""
    return _homes()[name]


def valid_call(package: str, name: str, thing: Any) -> Call | None:
    """Return the first call of `thing` that its own docstring makes."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    rooms = [importlib.import_module(f"octavo.{room}") for room in homes(name)]
    seen: list[tuple[tuple, dict]] = []

    def spy(*args: Any, **kwargs: Any) -> Any:
        seen.append((copy.deepcopy(args), copy.deepcopy(kwargs)))
        return thing(*args, **kwargs)

    for room in rooms:
        vars(room)[name] = spy
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            names: dict[str, Any] = {}
            for example in examples:
                with contextlib.suppress(Exception):
                    exec(compile(example.source, name, "single"), names)
                if seen:
                    return Call(f"octavo.{package}.{name}", thing, *seen[0])
    finally:
        for room in rooms:
            vars(room)[name] = thing
    return None


def functions() -> list[tuple[str, str, Any]]:
    return [
        (package, name, thing)
        for package, name, thing in public_objects()
        if package != "plot" and inspect.isfunction(thing)
    ]


def rounds() -> int:
    """Return the number of random rounds that were asked for; 0 in the short form of the suite."""
    return int(os.environ.get("OCTAVO_FUZZ", "0"))


MOST_CASES = 6  # of each kind, in the short form


def chosen(name: str, cases: Iterable[tuple], one_in: int) -> list[tuple]:
    """Return the cases of the short form: always the same ones, spread over everything.

    The first entry of a case is its label.
    """
    if rounds() > 0:
        return list(cases)
    marks = [(zlib.crc32(f"{name}/{case[0]}".encode()), case) for case in cases]
    marked = [pair for pair in marks if pair[0] % one_in == 0]
    return [case for _, case in sorted(marked, key=lambda pair: pair[0])[:MOST_CASES]]


def spoilt(call: Call) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the call with one argument replaced by each wrong value, or one entry of an array.

    Arguments that the call leaves out are spoilt too.
    """
    arguments = call.arguments()
    for parameter, given in inspect.signature(call.thing).parameters.items():
        if given.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        value = arguments.get(parameter, given.default)
        for label, wrong in WRONG.items():
            yield f"{parameter}={label}", arguments | {parameter: wrong}
        array = as_array(value)
        if array is not None and array.dtype.kind == "f" and array.size:
            for label, entry in (("nan", np.nan), ("inf", np.inf), ("huge", 1e155)):
                changed = array.copy()
                changed.flat[0] = entry
                yield f"{parameter}[0]={label}", arguments | {parameter: changed}
            if array.ndim == 2:
                yield f"{parameter}=CSR", arguments | {parameter: sp.csr_array(array)}
            yield f"{parameter}=read-only", arguments | {parameter: read_only(array)}
            yield f"{parameter}=float32", arguments | {parameter: array.astype(np.float32)}


def as_array(value: Any) -> np.ndarray | None:
    try:
        return np.asarray(value) if isinstance(value, (list, np.ndarray)) else None
    except ValueError:  # rows of different lengths
        return None


def read_only(array: np.ndarray) -> np.ndarray:
    copied = array.copy()
    copied.flags.writeable = False
    return copied


class Endless(BaseException):
    """A use took longer than SECONDS."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    # Compiled code hears no alarm: a process that never comes back ends with a traceback.
    faulthandler.dump_traceback_later(6 * SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def complaint(call: Call, arguments: dict[str, Any]) -> str:
    """Run a spoilt call; return what is wrong with its outcome, or nothing."""
    positional, named = [], {}
    for name, parameter in inspect.signature(call.thing).parameters.items():
        if name in arguments:
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(arguments[name])
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                positional += list(arguments[name])
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                named |= arguments[name]
            else:
                named[name] = arguments[name]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with limited():
                call.thing(*positional, **named)
    except Endless:
        return f"it does not end within {SECONDS} seconds"
    except (ValueError, TypeError, NotImplementedError) as error:
        return "" if is_sentence(error) else f"{type(error).__name__}: {error}"
    except OSError:  # a file that is not there
        return ""
    except Exception as error:
        return "" if is_sentence(error) else f"{type(error).__name__}: {error}"
    return ""


def is_sentence(error: BaseException) -> bool:
    """Whether a message was written for a caller: by octavo, or by scikit-learn's checks."""
    if isinstance(error, (ArithmeticError, LookupError, np.linalg.LinAlgError, AssertionError)):
        return type(error).__module__.startswith("octavo")
    twice = re.search(r"[^.]\.\.$", str(error))  # a sentence put into another one
    return not is_raw(error) and len(str(error)) > 15 and not twice
