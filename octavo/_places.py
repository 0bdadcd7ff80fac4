"""Where octavo keeps what it may make again: fetched data, finished claims, compiled kernels."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder: OCTAVO_CACHE, else octavo's part of the platform's user cache."""
    if named := os.environ.get("OCTAVO_CACHE"):
        return Path(named).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local") / "octavo" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "octavo"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "octavo"
