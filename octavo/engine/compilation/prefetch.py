"""Rows of a table, and what their columns name, fetched into the cache before they are read.

The hardware follows a stream of numbers within a page of memory and stops at its end. A loop over
short rows, with some work at each, meets a page every few rows and waits there; naming entries a
few rows ahead takes an instruction for a line of the cache and spares the wait. The weights that
the columns of a coming row name no hardware can foresee. All is fetched into the second cache: the
first is too small for what is read that much later and would lose what is read now.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from octavo.engine.compilation.kernel_cache import njit

__all__ = ["coming", "fetch", "fetch_ahead"]

AHEAD = 1024  # entries: about ten rows of a hundred
SOON = 192  # entries: a row or two of a hundred


def _fetch(typing_context, array, index):
    """Ask for the line of the cache that holds an entry, which need not exist: nothing is read."""

    def codegen(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        (stride,) = cgutils.unpack_tuple(builder, view.strides)
        start = builder.bitcast(view.data, byte)
        entry = builder.gep(start, [builder.mul(stride, arguments[1])])
        builder.call(fetch, [entry, number(0), number(2), number(1)])  # to read, level 2, data
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


fetch: Any = intrinsic(_fetch)  # what numba makes of it has no type that mypy knows


@njit(cache=True, forceinline=True)
def fetch_ahead(array, first, last):
    """Ask for what lies `AHEAD` entries after ``first:last``, as lines of eight numbers."""
    for k in range(first, last, 8):
        fetch(array, k + AHEAD)


@njit(cache=True, forceinline=True)
def coming(indices, first, last):
    """Return as many indices as ``first:last`` names, `SOON` places further on or the last."""
    start = min(first + SOON, indices.size - (last - first))
    return indices[start : start + last - first]


def _warmup() -> None:
    import numpy as np

    fetch_ahead(np.zeros(1), 0, 1)
    coming(np.zeros(1, np.uint32), 0, 1)
