"""A page on which a map is steered by hand: drag, link, label, compare, undo.

``octavo app [DATA]`` at the command line serves it, to this machine alone. This is no room: it
holds no method, it shows `octavo.kernel.InteractiveSession`. Names are imported on first use, so
that reading a table does not need Bokeh.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octavo.app.controller import MapController
    from octavo.app.map_server import MapServer
    from octavo.app.map_tables import MapTable, load_table

_HOMES = {
    "MapController": "controller",
    "MapServer": "map_server",
    "MapTable": "map_tables",
    "load_table": "map_tables",
}
__all__ = ["MapController", "MapServer", "MapTable", "load_table"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'octavo.app' has no attribute {name!r}")
    return getattr(importlib.import_module(f"octavo.app.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
