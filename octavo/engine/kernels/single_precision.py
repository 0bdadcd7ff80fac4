"""Exponential and logarithm in single precision, written so that loops over them are vectorised.

As `exponential`, with half the bits: straight-line arithmetic and shifts of the number's own bits,
eight or sixteen elements at a time. Relative error of the exponential below 3e-7; absolute error
of the logarithm below 2e-7 where its argument lies between 1 and 1,000. Polynomials are those of
Cephes (Moshier 1992, `expf` and `logf`).
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from octavo.engine.compilation.kernel_cache import njit

_LOG2_E, _LN2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it leaves the nearest integer in the low bits
_LOWEST = np.float32(-87.0)
_ONE, _HALF = np.float32(1.0), np.float32(0.5)
_BIAS, _MANTISSA, _ROOT_HALF = np.int32(127), np.int32(23), np.int32(0x3F3504F3)
(_E2, _E3, _E4, _E5, _E6) = (np.float32(1.0 / math.factorial(k)) for k in range(2, 7))
(_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8) = (
    np.float32(c)
    for c in (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )
)  # fmt: skip


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
def exp_single(x):
    """Return e**x for x <= 0; e**-87, which is 2e-38, for all below."""
    y = max(x, _LOWEST)
    t = y * _LOG2_E + _ROUND
    n = t - _ROUND
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    p = ((((_E6 * r + _E5) * r + _E4) * r + _E3) * r + _E2) * r * r + r
    power = _single_of(np.int32((_bits_of(t) + _BIAS) << _MANTISSA))  # type: ignore[call-arg,var-annotated]
    return power + power * p


@njit(cache=True, fastmath={"contract"})
def log_single(x):
    """Return ln x for a positive normal number."""
    bits = _bits_of(x)  # type: ignore[call-arg,var-annotated]
    exponent = np.int32((bits - _ROOT_HALF) >> _MANTISSA)
    r = _single_of(np.int32(bits - np.int32(exponent << _MANTISSA))) - _ONE
    low = (((_L0 * r + _L1) * r + _L2) * r + _L3) * r + _L4
    p = ((((low * r + _L5) * r + _L6) * r + _L7) * r + _L8) * r
    return (p - _HALF) * (r * r) + r + np.float32(exponent) * _LN2


@njit(cache=True)
def _into(x, exps, logs):
    """Fill with exponentials of −x and logarithms of x, for x of at least 1."""
    for i in range(x.shape[0]):
        exps[i] = exp_single(-x[i])
        logs[i] = log_single(x[i])


def _warmup() -> None:
    row = np.ones(1, dtype=np.float32)
    exp_single(-row[0])
    log_single(row[0])
    _into(row, np.empty_like(row), np.empty_like(row))
