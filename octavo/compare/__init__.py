"""Try every method that fits on a table of one's own, beside the usual baselines.

``octavo compare DATA --target COLUMN`` at the command line; from Python::

    from octavo.compare import compare

    result = compare("data.csv", target="class")
    print(result)
    result.report("report.html")

This is no room: it holds no method, it runs those of the rooms. Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octavo.compare.methods.hazards import RidgeCox
    from octavo.compare.results.saved import SavedModel, load_model
    from octavo.compare.table.cleaning import Step
    from octavo.compare.table.problems import Problem, prepare
    from octavo.compare.table.reading import InputError, read_table
    from octavo.compare.workbench import Comparison, compare

_HOMES = {
    "Comparison": "workbench",
    "InputError": "table.reading",
    "Problem": "table.problems",
    "RidgeCox": "methods.hazards",
    "SavedModel": "results.saved",
    "Step": "table.cleaning",
    "compare": "workbench",
    "load_model": "results.saved",
    "prepare": "table.problems",
    "read_table": "table.reading",
}
__all__ = [
    "Comparison",
    "InputError",
    "Problem",
    "RidgeCox",
    "SavedModel",
    "Step",
    "compare",
    "load_model",
    "prepare",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'octavo.compare' has no attribute {name!r}")
    return getattr(importlib.import_module(f"octavo.compare.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
