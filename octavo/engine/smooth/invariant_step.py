"""Online steps that respect importance weights.

A gradient step of rate h·η on an example of weight h overshoots where two steps of rate η
would not. The invariant step is the limit of infinitely many infinitesimal ones: the prediction
moves as p - σq, where q is how much a unit step moves it, and

    dσ/dη = ℓ'(p - σq),   σ(0) = 0.

`invariant_step` solves this in closed form for each loss, so that a step of rate 2η equals two
of rate η, a squared loss never steps past its target and a hinge never past its margin.

References
----------
N. Karampatziakis and J. Langford. Online importance weight aware updates. In Uncertainty in
Artificial Intelligence, 2011.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import wrightomega

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.smooth.losses import (
    HINGE,
    LOG,
    QUANTILE,
    SQUARED,
    SQUARED_HINGE,
    loss_slope,
    loss_value,
)

INVARIANT = ("log", "hinge", "squared_hinge", "squared", "quantile")
_FAR = 30.0  # beyond this margin the logistic loss bends by less than rounding
_LOW = -650.0  # below it e^z is too small to divide by
_FUSED: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
}
_SHORT = 4e-3  # its seventh power is below rounding


@njit(**_FUSED)
def _series(h, k):
    """Return the c with c + k (e^c - 1 - c) = h for a small h: its series to h⁶."""
    c3 = k / 2.0 - 1.0 / 6.0
    c4 = (0.625 * k - 5.0 / 12.0) * k + 1.0 / 24.0
    c5 = ((0.875 * k - 0.875) * k + 5.0 / 24.0) * k - 1.0 / 120.0
    c6 = (((1.3125 * k - 1.75) * k + 49.0 / 72.0) * k - 7.0 / 90.0) * k + 1.0 / 720.0
    square = h * h
    return h - square * k * ((0.5 - h * c3) + square * ((c4 - h * c5) + square * c6))


def _roots() -> np.ndarray:
    """Return the u with u + e^u = c where c + 8 is an octave's `_NODES` equal parts, from 1 on."""
    parts = 1.0 + np.arange(_NODES) / _NODES
    c = np.append(np.ldexp(parts, np.arange(12)[:, None]).ravel(), 4096.0) - 8.0
    return c - wrightomega(c)


_NODES = 64
_ROOTS = _roots()


@njit(**_FUSED)
def _log_omega(c):
    """Return the u with u + e^u = c to 1e-3, from a table on c + 8 as a number is stored."""
    if c > 4000.0:
        u = math.log(c)
        return u - u / c
    bits = np.float64(max(c + 8.0, 1.0)).view(np.int64)
    node = (bits >> 46) - (1023 << 6)  # six digits after the leading one
    part = (bits & ((1 << 46) - 1)) * 2.0**-46
    return _ROOTS[node] + part * (_ROOTS[node + 1] - _ROOTS[node]) + min(c + 7.0, 0.0)


@njit(**_FUSED)
def _rise(s, a, b, start):
    """Return the δ with δ + a (e^δ - 1 - δ) = s, where a + b = 1; ``start`` is right to 1e-3.

    About any δ₀ the rest of the way solves an equation of the same form, in which s is the
    Newton step h and a the share k of a e^δ in the slope; where h is small its series is exact.
    δ₀ = log(1 + s), the answer at a = 1, needs no exponential and loses no digits of a small s.
    """
    if b * s * s <= 2.0 * _SHORT:  # b (s - log(1 + s)) is less than half of it
        e = 1.0 + s
        start = math.log(e)
        inverse = 1.0 / (1.0 + a * s)
        h = (b * (s - start) - a * ((e - 1.0) - s)) * inverse  # with what 1 + s was rounded by
    else:
        e = math.exp(start)
        inverse = 1.0 / (b + a * e)
        h = (s - start - a * (e - 1.0 - start)) * inverse
    return start + _series(h, a * e * inverse)


@njit(cache=True, nogil=True, error_model="numpy")
def _far_rise(z, t):
    """Return the δ with δ + e^(z + δ) = t, where e^z is nothing beside t."""
    if z + t < -_FAR:
        return t
    omega = _wright_omega(z + t)
    return math.log(omega) - z if omega > 1.0 else t - omega


@njit(**_FUSED)
def logistic_move(z, t):
    """Return the loss at margin z, its slope's size, and how far the margin rises; t = ηq.

    The rise is the δ with δ + e^z (e^δ - 1) = t, which is z + e^z = c of the Wright omega
    function, written for the difference so that a short step loses no digits. One exponential
    and two logarithms give all three where the step is not long.
    """
    e = math.exp(-abs(z))
    total = 1.0 + e
    near = 1.0 / total
    far = e * near
    loss = math.log(total) - ((total - 1.0) - e) * near - min(z, 0.0)
    if z > _FAR:
        return loss, far, t * e
    if z < _LOW:  # the loss is a straight line, at least at first
        return loss, near, _far_rise(z, t)
    right = z >= 0.0  # chosen without a branch, which would be guessed wrongly every few rows
    slope, rest = (far, near) if right else (near, far)
    power = 1.0 / e if right else e
    return loss, slope, _rise(t * slope, rest, slope, _log_omega(z + t + power) - z)


@njit(cache=True, nogil=True, error_model="numpy")
def _logistic_rise(z, t):
    """Return how far the margin rises from z."""
    return logistic_move(z, t)[2]


@njit(cache=True, nogil=True, error_model="numpy")
def _wright_omega(c):
    """Return the ω with ω + log ω = c."""
    omega = c if c > 1.0 else math.exp(c)
    for _ in range(50):
        change = (omega + math.log(omega) - c) * omega / (1.0 + omega)
        omega = max(omega - change, 0.1 * omega)
        if abs(change) <= 1e-16 * omega:
            break
    return omega


@njit(cache=True, nogil=True, error_model="numpy")
def invariant_step(code, h, p, y, q, eta):
    """Return σ; the weights move by -σ times the direction whose dot with x is q."""
    if q <= 0.0 or eta <= 0.0:
        return 0.0
    if code == LOG:
        return -y * _logistic_rise(y * p, eta * q) / q
    if code == SQUARED:
        return -(p - y) * math.expm1(-eta * q) / q
    if code == HINGE:
        return -y * min(eta, max(0.0, 1.0 - y * p) / q)
    if code == SQUARED_HINGE:
        return y * max(0.0, 1.0 - y * p) * math.expm1(-2.0 * eta * q) / q
    if code == QUANTILE:
        slope = loss_slope(code, h, p, y)
        return math.copysign(min(eta * abs(slope), abs(p - y) / q), slope)
    return eta * loss_slope(code, h, p, y)


@njit(cache=True, nogil=True, error_model="numpy")
def loss_and_step(code, h, p, y, q, eta):
    """Return the loss, its slope and σ; of the logistic loss they share an exponential."""
    if code == LOG and q > 0.0 and eta > 0.0:
        loss, slope, rise = logistic_move(y * p, eta * q)
        return loss, -y * slope, -y * rise / q
    slope = loss_slope(code, h, p, y)
    return loss_value(code, h, p, y), slope, invariant_step(code, h, p, y, q, eta)


def _warmup() -> None:
    _series(0.1, 0.5)
    _log_omega(0.0)
    _rise(0.1, 0.5, 0.5, 0.0)
    _far_rise(0.0, 1.0)
    logistic_move(0.0, 1.0)
    _logistic_rise(0.0, 1.0)
    loss_and_step(LOG, 0.5, 0.0, 1.0, 1.0, 0.5)
    _wright_omega(0.0)
    invariant_step(LOG, 0.5, 0.0, 1.0, 1.0, 0.5)
