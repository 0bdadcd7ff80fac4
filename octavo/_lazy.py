"""Rooms whose names are imported on first use.

A room is a package such as `octavo.ranking`. Its ``__init__.pyi`` lists what it exports
(one ``from octavo.room.family.module import Name as Name`` per line); type checkers read that
file, and so does `exports_of_stub`, so that the list exists once. ``tools/sync.py`` writes the
stub from the modules' ``__all__``: adding a method edits no file but its own.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_EXPORT = re.compile(r"^from (\S+) import (\w+) as \w+$", re.MULTILINE)


def exports_of_stub(stub: Path) -> dict[str, str]:
    """Map each exported name to the module that defines it."""
    if not stub.exists():
        return {}
    return {name: module for module, name in _EXPORT.findall(stub.read_text(encoding="utf-8"))}


def lazy_exports(
    package: str, init_file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a room's ``__init__``."""
    exports = exports_of_stub(Path(init_file).with_suffix(".pyi"))
    names = sorted(exports)

    def __getattr__(name: str) -> Any:
        if name not in exports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(exports[name]), name)
        vars(importlib.import_module(package))[name] = value  # found at once from now on
        return value

    return __getattr__, lambda: names, names


def modules_below(package: str) -> list[str]:
    """Return the dotted names of all modules of a package, at every depth, without importing any.

    A package that holds none is an error: a walk that finds nothing must not pass for a search.
    """
    root = Path(str(importlib.import_module(package).__file__)).parent
    found = sorted(
        ".".join([package, *path.relative_to(root).with_suffix("").parts])
        for path in root.rglob("*.py")
        if path.name != "__init__.py"
    )
    if not found:
        raise LookupError(f"The package {package} holds no module.")
    return found
