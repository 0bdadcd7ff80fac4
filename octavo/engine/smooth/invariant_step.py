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
_SHORT = 4e-3  # its seventh power is below rounding


@njit(cache=True, nogil=True, error_model="numpy")
def _series(h, k):
    """Return the c with c + k (e^c - 1 - c) = h for a small h: its series to h⁶."""
    c3 = (3.0 * k - 1.0) / 6.0
    c4 = ((15.0 * k - 10.0) * k + 1.0) / 24.0
    c5 = (((105.0 * k - 105.0) * k + 25.0) * k - 1.0) / 120.0
    c6 = ((((945.0 * k - 1260.0) * k + 490.0) * k - 56.0) * k + 1.0) / 720.0
    square = h * h
    return h - square * k * ((0.5 - h * c3) + square * ((c4 - h * c5) + square * c6))


@njit(cache=True, nogil=True, error_model="numpy")
def _rise(s, a, b):
    """Return the δ with δ + a (e^δ - 1 - δ) = s, where a + b = 1.

    About any δ₀ the rest of the way solves an equation of the same form, in which s is the
    Newton step h and a the share k of a e^δ in the slope; where h is small its series is exact.
    δ₀ = log(1 + s), the answer at a = 1, needs no exponential.
    """
    grown = 1.0 + s
    rise = math.log(grown)
    inverse = 1.0 / (1.0 + a * s)
    h = (b * (s - rise) - a * ((grown - 1.0) - s)) * inverse  # with what 1 + s was rounded by
    if h > 0.25:
        rise = min(s, math.log(1.0 + s / a))  # above the answer too
        h = 1.0
    else:
        rise += _series(h, a * grown * inverse)
    for _ in range(20):
        if abs(h) <= _SHORT:
            break
        e = math.exp(rise)
        inverse = 1.0 / (b + a * e)
        h = (s - rise - a * (e - 1.0 - rise)) * inverse
        # a long step back is Newton's, which does not pass the root from above
        rise += _series(h, a * e * inverse) if abs(h) < 0.5 else h
    return rise


@njit(cache=True, nogil=True, error_model="numpy")
def _far_rise(z, t):
    """Return the δ with δ + e^(z + δ) = t, where e^z is nothing beside t."""
    if z + t < -_FAR:
        return t
    omega = _wright_omega(z + t)
    return math.log(omega) - z if omega > 1.0 else t - omega


@njit(cache=True, nogil=True, error_model="numpy")
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
    if z >= 0.0:
        return loss, far, _rise(t * far, near, far)
    if z < _LOW:  # the loss is a straight line, at least at first
        return loss, near, _far_rise(z, t)
    return loss, near, _rise(t * near, far, near)


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
    _rise(0.1, 0.5, 0.5)
    _far_rise(0.0, 1.0)
    logistic_move(0.0, 1.0)
    _logistic_rise(0.0, 1.0)
    loss_and_step(LOG, 0.5, 0.0, 1.0, 1.0, 0.5)
    _wright_omega(0.0)
    invariant_step(LOG, 0.5, 0.0, 1.0, 1.0, 0.5)
