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
from octavo.engine.smooth.losses import HINGE, LOG, QUANTILE, SQUARED, SQUARED_HINGE, loss_slope

INVARIANT = ("log", "hinge", "squared_hinge", "squared", "quantile")
_FAR = 30.0  # beyond this margin the logistic loss bends by less than rounding


@njit(cache=True, nogil=True, error_model="numpy")
def _logistic_rise(z, t):
    """Return how far the margin rises from z: the δ with δ + e^z (e^δ - 1) = t, t = ηq.

    The equation is z + e^z = c of the Wright omega function, written for the difference so
    that a short step loses no digits.
    """
    if z > _FAR:
        return t * math.exp(-z)
    e = math.exp(z)
    if e == 0.0:  # far below: the loss is a straight line
        return t if z + t < -_FAR else t - _wright_omega(z + t)
    # The left side is convex in δ; both starts lie above the root, so that Newton descends to it.
    rise = min(t / (1.0 + e), math.log1p(t / e))
    for _ in range(20):
        grown = e * math.expm1(rise)
        change = (rise + grown - t) / (1.0 + e + grown)
        rise -= change
        if abs(change) <= 1e-15 * rise:
            break
    return rise


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


def _warmup() -> None:
    _logistic_rise(0.0, 1.0)
    _wright_omega(0.0)
    invariant_step(LOG, 0.5, 0.0, 1.0, 1.0, 0.5)
