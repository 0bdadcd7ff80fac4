"""The exponential of non-positive numbers, written so that loops over it are vectorised.

`math.exp` is a call that a compiled loop makes once an element. This one is straight-line
arithmetic with one shift, which the compiler turns into vector instructions: about four times
as fast, with an error below one unit in the last place. Arguments below -690 give zero.
"""

from __future__ import annotations

import math

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from octavo.engine.compilation.kernel_cache import njit

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93145751953125e-1  # few bits, so that n * _LN2_HIGH is exact
_LN2_LOW = 1.42860682030941723212e-6
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
_LOWEST = -690.0  # beyond, products would be subnormal numbers, a hundred times as slow
(_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13) = (
    1.0 / math.factorial(k) for k in range(2, 14)
)


@intrinsic
def _bits_of(typing_context, x):
    """Reinterpret a double as a 64-bit integer."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), code


@intrinsic
def _double_of(typing_context, x):
    """Reinterpret a 64-bit integer as a double."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


@njit(cache=True, fastmath={"contract"})
def exp_nonpositive(x):
    """Return e**x for x <= 0, minus infinity included."""
    y = max(x, _LOWEST)
    t = y * _LOG2_E + _ROUND
    n = t - _ROUND
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW  # |r| <= ln(2) / 2; e**x = 2**n e**r
    r2 = r * r
    r4 = r2 * r2
    low = (_C2 + _C3 * r) + (_C4 + _C5 * r) * r2  # Taylor's series, in pairs rather than nested:
    middle = (_C6 + _C7 * r) + (_C8 + _C9 * r) * r2  # a shorter chain of dependent operations
    high = (_C10 + _C11 * r) + (_C12 + _C13 * r) * r2
    p = (low + middle * r4 + high * (r4 * r4)) * r2 + r  # the first term left out is 4e-18
    power = _double_of((_bits_of(t) + 1023) << 52)  # type: ignore[call-arg,var-annotated]
    value = power + power * p
    return value if x >= _LOWEST else 0.0


@njit(cache=True)
def _exp_into(x, out):
    """Fill ``out`` with the exponentials of the non-positive numbers ``x``."""
    for i in range(x.shape[0]):
        out[i] = exp_nonpositive(x[i])


def _warmup() -> None:
    import numpy as np

    exp_nonpositive(-1.0)
    _exp_into(np.array([-1.0]), np.empty(1))
