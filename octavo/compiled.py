"""Find and compile every numba kernel of octavo.

A module with kernels defines ``_warmup()``, which calls each of them once on tiny input.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from octavo._lazy import modules_below

NO_KERNELS = ("octavo.app.", "octavo.compare.", "octavo.papers.", "octavo.plot.")


def modules_with_kernels() -> Iterator[ModuleType]:
    """Yield every module of the rooms, the data and the engine that holds numba kernels."""
    for name in modules_below("octavo"):
        if name.count(".") > 1 and not name.startswith(NO_KERNELS):
            module = importlib.import_module(name)
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
