"""Draws of a standard normal variable that is known to lie above a point or between two.

Each region has a proposal whose acceptance is bounded away from zero: the normal itself where the
region holds much of its mass, an exponential or a uniform in the tails. Nothing is inverted, so
that draws a hundred standard deviations out are as exact as those at the centre.

Reference: C. P. Robert (1995), "Simulation of truncated normal variables", Statistics and
Computing 5.
"""

from __future__ import annotations

import math

from octavo.engine.compilation.kernel_cache import njit

_ROOT_2PI = math.sqrt(2.0 * math.pi)
_SWITCH = 0.45  # beyond this point the exponential is accepted more often than the normal


@njit(cache=True)
def draw_normal(rng):
    """Return a standard normal draw, by Marsaglia's polar method; it compiles in no time."""
    while True:
        x, y = 2.0 * rng.random() - 1.0, 2.0 * rng.random() - 1.0
        r = x * x + y * y
        if 0.0 < r < 1.0:
            return x * math.sqrt(-2.0 * math.log(r) / r)


@njit(cache=True)
def draw_above(rng, a):
    """Return a draw of Z given Z > a."""
    if a < _SWITCH:
        while True:
            z = draw_normal(rng)
            if z > a:
                return z
    rate = 0.5 * (a + math.sqrt(a * a + 4.0))
    while True:
        z = a - math.log1p(-rng.random()) / rate
        if rng.random() <= math.exp(-0.5 * (z - rate) ** 2):
            return z


@njit(cache=True)
def _draw_right(rng, a, b):
    """Return a draw of Z given a < Z < b with b > 0."""
    if a <= 0.0:
        if b - a > _ROOT_2PI:
            while True:
                z = draw_normal(rng)
                if a < z < b:
                    return z
        while True:
            z = a + (b - a) * rng.random()
            if rng.random() <= math.exp(-0.5 * z * z):
                return z
    root = math.sqrt(a * a + 4.0)
    if b == math.inf or b - a > 2.0 / (a + root) * math.exp(0.5 + 0.25 * a * (a - root)):
        while True:
            z = draw_above(rng, a)
            if z < b:
                return z
    while True:
        z = a + (b - a) * rng.random()
        if rng.random() <= math.exp(0.5 * (a - z) * (a + z)):
            return z


@njit(cache=True)
def draw_between(rng, a, b):
    """Return a draw of Z given a < Z < b; either end may be infinite."""
    if b <= 0.0:
        return -_draw_right(rng, -b, -a)
    return _draw_right(rng, a, b)


def _warmup() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    draw_above(rng, 0.0)
    draw_between(rng, 0.0, 1.0)
