"""Powers of two and logarithms to base two in single precision, in loops that are vectorised.

As `exponential`, with half the bits: straight-line arithmetic and shifts of the number's own bits,
eight or sixteen elements at a time. Base two spares a product either way; who wants base e scales
once, before and after. Relative error of the power below 3e-7; absolute error of the logarithm
below 5e-7 where its argument lies between 1 and 100. Polynomials interpolate at Chebyshev's points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.polynomial import Chebyshev, Polynomial

from octavo.engine.compilation.kernel_cache import njit

_ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it leaves the nearest integer in the low bits
_ONE = np.float32(1.0)
_MANTISSA, _ROOT_HALF = np.int32(23), np.int32(0x3F3504F3)


def _polynomial(function: Any, low: float, high: float, degree: int) -> list[np.float32]:
    """Return the coefficients of an interpolating polynomial, the constant first."""
    made = Chebyshev.interpolate(function, degree, domain=[low, high])
    return [np.float32(c) for c in made.convert(kind=Polynomial).coef]


# (2**f − 1)/f and log2(1 + r)/r, at an even number of points, so that zero is none of them
_E0, _E1, _E2, _E3, _E4, _E5 = _polynomial(lambda f: np.expm1(np.log(2) * f) / f, -0.5, 0.5, 5)
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7 = _polynomial(
    lambda r: np.log1p(r) / np.log(2) / r, np.sqrt(0.5) - 1, np.sqrt(2) - 1, 7
)


@intrinsic
def _bits_of(typing_context, x):
    """Reinterpret a single as a 32-bit integer."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), code


@intrinsic
def _single_of(typing_context, x):
    """Reinterpret a 32-bit integer as a single."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), code


@njit(cache=True, fastmath={"contract"})
def exp2_single(x):
    """Return 2**x for x from -125 to 125."""
    t = x + _ROUND
    f = x - (t - _ROUND)
    p = (((((_E5 * f + _E4) * f + _E3) * f + _E2) * f + _E1) * f + _E0) * f + _ONE
    return _single_of(np.int32(_bits_of(p) + np.int32(_bits_of(t) << _MANTISSA)))  # type: ignore[call-arg]


@njit(cache=True, fastmath={"contract"})
def log2_single(x):
    """Return the logarithm to base two of a positive normal number."""
    bits = _bits_of(x)  # type: ignore[call-arg,var-annotated]
    exponent = np.int32((bits - _ROOT_HALF) >> _MANTISSA)
    r = _single_of(np.int32(bits - np.int32(exponent << _MANTISSA))) - _ONE
    high = ((_L7 * r + _L6) * r + _L5) * r + _L4
    return ((((high * r + _L3) * r + _L2) * r + _L1) * r + _L0) * r + np.float32(exponent)


@njit(cache=True)
def _into(x, powers, logs):
    """Fill with powers 2**−x and logarithms of x, for x from 1 to 125."""
    for i in range(x.shape[0]):
        powers[i] = exp2_single(-x[i])
        logs[i] = log2_single(x[i])


def _warmup() -> None:
    row = np.ones(1, dtype=np.float32)
    exp2_single(-row[0])
    log2_single(row[0])
    _into(row, np.empty_like(row), np.empty_like(row))
