"""Find and compile every numba kernel of octavo.

A module with kernels defines ``_warmup()``, which calls each of them once on tiny input.
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import octavo


def modules_with_kernels() -> Iterator[ModuleType]:
    """Yield every module of the rooms and the engine that holds numba kernels."""
    for package in pkgutil.iter_modules(octavo.__path__, "octavo."):
        if not package.ispkg or package.name in ("octavo.papers", "octavo.plot", "octavo.app"):
            continue
        path = importlib.import_module(package.name).__path__
        for info in pkgutil.iter_modules(path, f"{package.name}."):
            module = importlib.import_module(info.name)
            if kernels(module):
                yield module


def kernels(module: ModuleType) -> dict[str, Any]:
    """Return the compiled functions that a module defines itself."""
    from numba.core.registry import CPUDispatcher

    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, CPUDispatcher) and value.__module__ == module.__name__
    }


def warm_all() -> Iterator[tuple[str, float]]:
    """Compile every kernel, yielding each module's name and how long it took."""
    for module in modules_with_kernels():
        start = time.perf_counter()
        module._warmup()
        yield module.__name__, time.perf_counter() - start
