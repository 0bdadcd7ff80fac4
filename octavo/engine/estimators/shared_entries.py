"""`complete_docstring`: what many classes document alike stands once, with their base.

A class documents what is its own. Entries of parameters that its signature has and its docstring
leaves out come from the nearest base that documents them, in the order of the signature; of
fitted attributes those of all bases are taken that it does not document itself. So a parameter
of fourteen estimators is described in one place, and `help` still tells all of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

ENTRY = re.compile(r"(\w+(?:, \w+)*) :")
SECTIONS = ("Parameters", "Attributes")


def sections(doc: str) -> dict[str, list[str]]:
    """Return the lines of a docstring by section; what stands before the first is under ""."""
    found: dict[str, list[str]] = {"": []}
    lines = inspect.cleandoc(doc).splitlines()
    title = ""
    for line, below in zip(lines, [*lines[1:], ""]):
        if line and re.fullmatch(r"-{3,}", below) and len(below) == len(line):
            title = line
            found[title] = []
        elif not (title and not found[title] and re.fullmatch(r"-{3,}", line)):
            found[title].append(line)
    return found


def entries(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the names of each entry of a section and its lines."""
    start = None
    for at, line in enumerate([*lines, "end :"]):
        if ENTRY.match(line) or at == len(lines):
            if start is not None:
                entry = lines[start:at]
                while not entry[-1].strip():
                    entry.pop()
                yield ENTRY.match(entry[0])[1].split(", "), entry  # type: ignore[index]
            start = at


def by_name(parts: dict[str, list[str]], title: str) -> dict[str, list[str]]:
    """Return the entry of each name of a section."""
    return {name: entry for names, entry in entries(parts.get(title, [])) for name in names}


def complete_docstring(cls: type) -> None:
    """Put the entries of its bases into the docstring of a class that leaves them out."""
    if not cls.__doc__:
        return
    parts = sections(cls.__doc__)
    bases = [sections(base.__doc__ or "") for base in cls.__mro__[1:] if _is_ours(base)]
    whole = {}
    for title in SECTIONS:
        own = by_name(parts, title)
        shared: dict[str, list[str]] = {}
        for base in bases:
            shared = by_name(base, title) | shared
        if title == "Parameters":
            names = [name for name in inspect.signature(cls).parameters if name in own | shared]
        else:
            names = [*own, *(name for name in shared if name[-1] == "_" and name not in own)]
        if names and not own.keys() >= set(names):
            whole[title] = [(shared | own)[name] for name in names]
    if not whole:
        return
    for title, chosen in whole.items():
        lines = [
            line for at, entry in enumerate(chosen) if entry not in chosen[:at] for line in entry
        ]
        parts[title] = [*lines, ""]
    order = ["", *SECTIONS, *(title for title in parts if title not in SECTIONS and title)]
    cls.__doc__ = "\n".join(
        line
        for title in order
        if title in parts
        for line in ([title, "-" * len(title)] if title else []) + parts[title]
    )


def _is_ours(base: type) -> bool:
    return base.__module__.startswith("octavo.") and bool(base.__dict__.get("__doc__"))
