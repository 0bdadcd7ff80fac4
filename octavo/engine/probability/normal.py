"""Moments of a normal variable that is known to lie beyond a threshold or in a window.

Z is standard normal throughout. The formulas stay accurate where the textbook ratios
φ/Φ underflow or cancel: far in the tail they go through the Mills ratio, and for a narrow
window through Gauss-Legendre quadrature of the density relative to its centre.
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.kernel_cache import njit

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_PI = math.sqrt(math.pi / 2.0)


@njit(cache=True, inline="always")
def normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x * _SQRT_HALF)


@njit(cache=True)
def _mills_ratio(x: float) -> float:
    """Return Φ(x)/φ(x), finite for every x below 38."""
    if x > -30.0:
        return _SQRT_HALF_PI * math.erfc(-x * _SQRT_HALF) * math.exp(0.5 * x * x)
    y = 1.0 / (x * x)  # asymptotic series; at x = -30 the first omitted term is 3e-16
    tail = 1.0 - 7.0 * y * (1.0 - 9.0 * y * (1.0 - 11.0 * y))
    return -(1.0 - y * (1.0 - 3.0 * y * (1.0 - 5.0 * y * tail))) / x


@njit(cache=True)
def above_threshold(x: float) -> tuple[float, float]:
    """Return the mean of Z given Z > -x, and one minus its variance."""
    mean = 1.0 / _mills_ratio(x) if x < 37.0 else 0.0
    if x > -30.0:
        return mean, mean * (mean + x)
    y = 1.0 / (x * x)  # mean + x = O(1/x) has lost its digits to cancellation
    return mean, 1.0 - y * (1.0 - y * (6.0 - y * (50.0 - 518.0 * y)))


@njit(cache=True)
def in_window(x: float, t: float) -> tuple[float, float]:
    """Return the mean of Z given |Z + x| < t, and one minus its variance."""
    if x < 0.0:
        mean, lost = in_window(-x, t)
        return -mean, lost
    if t <= 0.5 and t * x <= 2.0:
        # Z = U - x with U in (-t, t), whose density there is e^(xU - U²/2).
        m0, m1, m2 = 0.0, 0.0, 0.0
        for k in range(_NODES.shape[0]):
            u = t * _NODES[k]
            w = _WEIGHTS[k] * math.exp(x * u - 0.5 * u * u)
            m0 += w
            m1 += w * u
            m2 += w * u * u
        if m0 == 0.0:  # t = 0: a point
            return -x, 1.0
        m1 /= m0
        return m1 - x, 1.0 - (m2 / m0 - m1 * m1)
    a, b = t - x, -t - x
    if a > 37.0:  # the window holds all of the mass that a double can tell from one
        return 0.0, 0.0
    ratio = math.exp(-2.0 * t * x)  # φ(b)/φ(a)
    mass = _mills_ratio(a) - ratio * _mills_ratio(b)
    mean = -(1.0 - ratio) / mass
    return mean, (a - b * ratio) / mass + mean * mean


@njit(cache=True)
def sigmoid(x: float) -> float:
    e = math.exp(-abs(x))
    return (1.0 if x >= 0.0 else e) / (1.0 + e)  # a choice of numbers: nothing to predict


@njit(cache=True)
def log_add_exp(a: float, b: float) -> float:
    if a < b:
        a, b = b, a
    if b == -math.inf:
        return a
    return a + math.log1p(math.exp(b - a))


def _warmup() -> None:
    normal_cdf(0.0)
    above_threshold(0.0)
    in_window(0.0, 1.0)
    sigmoid(0.0)
    log_add_exp(0.0, 0.0)
