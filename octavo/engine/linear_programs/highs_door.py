"""The one door to HiGHS as a library, which scipy bundles and keeps private.

`scipy.optimize.linprog` solves one program and forgets it. What keeps a program, adds rows to it
and goes on from the last basis is HiGHS itself: scipy ships it (1.15 and later), and so does the
package highspy. It is imported here and nowhere else; where neither has it, or a release has moved
what is used, ``highs`` is None and callers solve from scratch by `linprog`.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["find_highs", "highs"]

_PLACES = ("scipy.optimize._highspy._core", "highspy._core")
_NEEDED = ("_Highs", "HighsLp", "HighsModelStatus", "MatrixFormat")
_METHODS = (
    "addRows",
    "changeColsBounds",
    "changeColsCost",
    "getBasis",
    "getInfo",
    "getModelStatus",
    "getSolution",
    "passModel",
    "run",
    "setBasis",
    "setOptionValue",
)


def find_highs(places: tuple[str, ...] = _PLACES) -> Any:
    """Return the first module that has all that is needed, or None."""
    for place in places:
        try:
            module = importlib.import_module(place)
        except ImportError:
            continue
        if all(hasattr(module, name) for name in _NEEDED) and all(
            hasattr(module._Highs, method) for method in _METHODS
        ):
            return module
    return None


highs = find_highs()
