"""Eight doubles side by side as one number of a kernel, in the processor's vector registers.

Loops over an axis of length eight become vector instructions only where the compiler can tell that
no array overlaps another, which it mostly cannot; these functions say it. They read and write
C-contiguous arrays of doubles whose last axis has length eight, by the indices of the other axes,
which are not checked and do not count from the end. A kernel that is written with them has a
statement where it had a loop, and compiles in less time. They exist inside kernels only.

The same numbers come out on every processor but for the last bit of `plus_product`, which is
rounded once where there is an instruction for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

__all__ = [
    "EIGHT",
    "get",
    "larger",
    "plus",
    "plus_product",
    "put",
    "put_short",
    "quotient",
    "same",
    "times",
    "total",
]

EIGHT = 8
_VECTOR = ir.VectorType(ir.DoubleType(), EIGHT)
_NUMBER = ir.IntType(64)


class Eight(types.Type):
    """The type of eight doubles."""

    def __init__(self) -> None:
        super().__init__("eight_doubles")


eight = Eight()


@register_model(Eight)
class _EightModel(models.PrimitiveModel):
    """They are a vector, in registers as in memory."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _place(context: Any, builder: Any, kind: Any, array: Any, indices: Any) -> Any:
    """Return the address of the eight numbers at some indices."""
    view = context.make_array(kind)(context, builder, array)
    shape = cgutils.unpack_tuple(builder, view.shape, kind.ndim)
    at = indices[0]
    for extent, index in zip(shape[1:], [*indices[1:], _NUMBER(0)]):
        at = builder.add(builder.mul(at, extent), index)
    return builder.bitcast(builder.gep(view.data, [at]), _VECTOR.as_pointer())


def _readable(array: Any, indices: Any) -> bool:
    """Return whether a type is that of an array as the module says."""
    return (
        isinstance(array, types.Array)
        and array.layout == "C"
        and array.dtype == types.float64
        and array.ndim == len(indices) + 1
    )


def _get(typing_context, array, indices):
    """Return the eight numbers of an array at a tuple of indices."""
    if not _readable(array, indices):
        return None

    def codegen(context, builder, signature, arguments):
        where = cgutils.unpack_tuple(builder, arguments[1])
        place = _place(context, builder, signature.args[0], arguments[0], where)
        return builder.load(place, align=8)

    return eight(array, types.UniTuple(types.int64, len(indices))), codegen


def _put(typing_context, array, indices, numbers):
    """Write eight numbers into an array at a tuple of indices."""
    if not _readable(array, indices):
        return None

    def codegen(context, builder, signature, arguments):
        where = cgutils.unpack_tuple(builder, arguments[1])
        place = _place(context, builder, signature.args[0], arguments[0], where)
        builder.store(arguments[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.UniTuple(types.int64, len(indices)), eight), codegen


def _put_short(typing_context, array, indices, numbers):
    """Write eight whole numbers into an array of int16 whose last axis is a multiple of eight.

    The last index is that of the first of them.
    """
    if not isinstance(array, types.Array) or array.layout != "C" or array.dtype != types.int16:
        return None
    if array.ndim != len(indices):
        return None

    def codegen(context, builder, signature, arguments):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        shape = cgutils.unpack_tuple(builder, view.shape, kind.ndim)
        first, *others = cgutils.unpack_tuple(builder, arguments[1])
        for extent, index in zip(shape[1:], others):
            first = builder.add(builder.mul(first, extent), index)
        short = ir.VectorType(ir.IntType(16), EIGHT)
        place = builder.bitcast(builder.gep(view.data, [first]), short.as_pointer())
        builder.store(builder.fptosi(arguments[2], short), place, align=2)
        return context.get_dummy_value()

    return types.void(array, types.UniTuple(types.int64, len(indices)), eight), codegen


def _same(typing_context, number):
    """Return a number eight times."""

    def codegen(context, builder, signature, arguments):
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(nothing, arguments[0], ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), [0] * EIGHT)
        return builder.shuffle_vector(first, nothing, zeros)

    return eight(types.float64), codegen


def _number_by_number(operation: str) -> Callable[..., Any]:
    """Return what builds an operation on two eights."""

    def definition(typing_context, a, b):
        def codegen(context, builder, signature, arguments):
            return getattr(builder, operation)(*arguments)

        return eight(eight, eight), codegen

    return definition


def _plus_product(typing_context, total, a, b):
    """Return total + a b."""

    def codegen(context, builder, signature, arguments):
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        fused = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v8f64")
        total, a, b = arguments
        return builder.call(fused, [a, b, total])

    return eight(eight, eight, eight), codegen


def _larger(typing_context, a, b, yes, no):
    """Return yes where a > b, and no elsewhere, also where one of them is NaN."""

    def codegen(context, builder, signature, arguments):
        a, b, yes, no = arguments
        return builder.select(builder.fcmp_ordered(">", a, b), yes, no)

    return eight(eight, eight, eight, eight), codegen


def _total(typing_context, numbers):
    """Return the sum of eight numbers, from the first to the last."""

    def codegen(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), _VECTOR])
        name = "llvm.vector.reduce.fadd.v8f64"
        reduce = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(reduce, [ir.DoubleType()(0.0), arguments[0]])

    return types.float64(eight), codegen


# What numba makes of them has no type that mypy knows.
get: Any = intrinsic(_get)
put: Any = intrinsic(_put)
put_short: Any = intrinsic(_put_short)
same: Any = intrinsic(_same)
plus: Any = intrinsic(_number_by_number("fadd"))
times: Any = intrinsic(_number_by_number("fmul"))
quotient: Any = intrinsic(_number_by_number("fdiv"))
plus_product: Any = intrinsic(_plus_product)
larger: Any = intrinsic(_larger)
total: Any = intrinsic(_total)
