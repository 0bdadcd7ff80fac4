"""octavo: published machine-learning methods, scikit-learn compatible and proven.

Every submodule is imported when it is first used, so that ``import octavo`` costs next to
nothing: ``octavo.ranking.OnlineRanker`` loads the ranking room and no other.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_HERE = Path(__file__).parent
_SUBMODULES = sorted(
    [path.parent.name for path in _HERE.glob("*/__init__.py")]
    + [path.stem for path in _HERE.glob("[a-z]*.py")]
)
__all__ = ["__version__", *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"octavo.{name}")
    raise AttributeError(f"module 'octavo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
