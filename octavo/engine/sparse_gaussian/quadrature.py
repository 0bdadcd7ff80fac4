"""One-dimensional integrals of a Gaussian times a term, all at once and in the log domain.

Nodes are placed where the product lies, not where the Gaussian does: about the product's mode, out
to where it has dropped by e⁻³⁶. A term that is log-concave has one mode, and both ends of that
interval are found by bisection; for others the caller names the places where something happens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats

LOG_2PI = float(np.log(2.0 * np.pi))
_DROP = 36.0  # e⁻³⁶ = 2e-16: what lies beyond is invisible beside the peak
_REACH = float(np.sqrt(2.0 * _DROP))  # a Gaussian has dropped by that much here


class Moments(NamedTuple):
    """Logarithm of the mass, mean and variance of an unnormalised density."""

    log_mass: Floats
    mean: Floats
    variance: Floats


@lru_cache
def legendre(n_quad: int) -> tuple[Floats, Floats]:
    """Return nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(n_quad)
    return 0.5 * (nodes + 1.0), 0.5 * weights


@lru_cache
def hermite(n_quad: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of the standard normal law."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_quad)
    # hermegauss has the weight exp(-x²/2), without 1/√(2π)
    return nodes, weights / np.sqrt(2.0 * np.pi)


def concave_mode(slopes: Callable[[Floats], tuple[Floats, Floats]], mean, var) -> Floats:
    """Return the mode of t(x) N(x; mean, var) for log-concave t by safeguarded Newton steps.

    `slopes` returns the first two derivatives of log t. The mode lies between the mean and
    mean + var (log t)'(mean), since that slope falls.
    """
    first, _ = slopes(mean)
    # one prior step along the slope bounds the mode: the slope of log t falls
    other = mean + var * np.clip(first, -1e12, 1e12)
    low, high = np.minimum(mean, other), np.maximum(mean, other)
    x = np.array(mean, dtype=np.float64)
    for _ in range(60):
        first, second = slopes(x)
        slope = np.clip(first, -1e200, 1e200) - (x - mean) / var
        low, high = np.where(slope > 0, x, low), np.where(slope > 0, high, x)
        step = x + slope / (1.0 / var - np.minimum(second, 0.0))
        inside = (step > low) & (step < high)
        # Newton where it stays inside, else half-way
        new = np.where(inside, step, 0.5 * (low + high))
        moved = np.abs(new - x)
        x = new
        # The mode only places the nodes: a part of the product's width is enough.
        if (moved <= 0.01 * np.sqrt(var / (1.0 - var * np.minimum(second, 0.0)))).all():
            break
    return x


def _ends(drop: Callable[[Floats], Floats], guess: Floats, var: Floats) -> Floats:
    """Return how far from the mode the product has dropped by e⁻³⁰ to e⁻⁴⁸.

    The root of the drop is a line for a Gaussian and bends upwards for a log-concave term, so
    that step ↦ step (wanted / drop)^{1/4} contracts; a bracket keeps it from running away. The
    Gaussian's own end is the outermost: beyond it nothing can lie.
    """
    high = _REACH * np.sqrt(var)
    low = np.zeros_like(high)
    step = np.minimum(guess, high)
    for _ in range(16):
        found = drop(step)
        enough = found > 30.0
        high, low = np.where(enough, step, high), np.where(enough, low, step)
        off = ~(enough & (found < 48.0))
        if not off.any():
            break
        # the drop grows as step² to step⁴: an exponent between
        new = step * np.sqrt(np.sqrt(_DROP / np.maximum(found, 1e-3)))
        middle = 0.5 * (low + high)
        step = np.where(off, np.where((new > low) & (new < high), new, middle), step)
    return high


def moments_at(log_density: Callable[[Floats], Floats], breaks: Floats, n_quad: int) -> Moments:
    """Return the moments of exp(log_density) over the panels between breaks (first axis)."""
    nodes, weights = legendre(n_quad)
    widths = np.diff(breaks, axis=0)
    tail = (1,) * (breaks.ndim - 1)
    x = breaks[:-1, None] + widths[:, None] * nodes.reshape(1, -1, *tail)
    x = x.reshape(x.shape[0] * x.shape[1], *breaks.shape[1:])
    weight = (widths[:, None] * weights.reshape(1, -1, *tail)).reshape(x.shape)
    log_f = log_density(x)
    peak = log_f.max(axis=0)
    f = np.exp(log_f - peak) * weight
    mass = f.sum(axis=0)
    mean = (f * x).sum(axis=0) / mass
    variance = (f * (x - mean) ** 2).sum(axis=0) / mass  # about the mean: no difference of squares
    return Moments(peak + np.log(mass), mean, variance)


def concave_moments(
    log_term: Callable[[Floats], Floats],
    slopes: Callable[[Floats], tuple[Floats, Floats]],
    mean: Floats,
    var: Floats,
    n_quad: int,
) -> Moments:
    """Return the moments of t(x) N(x; mean, var) for log-concave t: two panels at the mode."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mode = concave_mode(slopes, mean, var)

        def log_product(x: Floats) -> Floats:
            return log_term(x) - 0.5 * (x - mean) ** 2 / var - 0.5 * (LOG_2PI + np.log(var))

        top = log_product(mode)
        # where a Gaussian with the mode's curvature would have dropped so far
        guess = _REACH / np.sqrt(1.0 / var - np.minimum(slopes(mode)[1], 0.0))
        left = _ends(lambda step: top - log_product(mode - step), guess, var)
        right = _ends(lambda step: top - log_product(mode + step), guess, var)
        return moments_at(log_product, np.stack([mode - left, mode, mode + right]), n_quad)


def landmark_moments(
    log_term: Callable[[Floats], Floats],
    landmarks: Floats,
    mean: Floats,
    var: Floats,
    n_quad: int,
) -> Moments:
    """Return the moments of t(x) N(x; mean, var), with panels between landmarks of t as well.

    `landmarks` (first axis) are the places where t changes; the Gaussian adds its own.
    """
    sd = np.sqrt(var)
    # A term may pull the product out of the Gaussian's own range: panels go on to 20 sd.
    own = np.stack([mean + s * sd for s in (-20.0, -8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0, 20.0)])
    low, high = own[0], own[-1]
    breaks = np.sort(np.concatenate([own, np.clip(landmarks, low, high)]), axis=0)

    def log_product(x: Floats) -> Floats:
        return log_term(x) - 0.5 * (x - mean) ** 2 / var - 0.5 * (LOG_2PI + np.log(var))

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return moments_at(log_product, breaks, n_quad)
