"""Rows of a table fetched into the cache before they are read.

The hardware follows a stream of numbers within a page of memory and stops at its end. A loop over
short rows, with some work at each, meets a page every few rows and waits there; naming entries a
few rows ahead takes an instruction for a line of the cache and spares the wait.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from octavo.engine.compilation.kernel_cache import njit

__all__ = ["fetch_ahead"]

AHEAD = 1024  # entries: about ten rows of a hundred


def _fetch(typing_context, array, index):
    """Ask for the line of the cache that holds an entry, which need not exist: nothing is read."""

    def codegen(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        entry = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte)
        builder.call(fetch, [entry, number(0), number(3), number(1)])  # to read, data, keep it
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


fetch: Any = intrinsic(_fetch)  # what numba makes of it has no type that mypy knows


@njit(cache=True, forceinline=True)
def fetch_ahead(array, first, last):
    """Ask for what lies `AHEAD` entries after ``first:last``, as lines of eight numbers."""
    for k in range(first, last, 8):
        fetch(array, k + AHEAD)


def _warmup() -> None:
    import numpy as np

    fetch_ahead(np.zeros(1), 0, 1)
