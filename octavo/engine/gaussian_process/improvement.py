"""What an evaluation is expected to gain over the best so far."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, ndtr

from octavo.engine.estimators.arrays import Floats

_ROOT_HALF, _ROOT_TWO_PI = np.sqrt(0.5), np.sqrt(2 * np.pi)


def improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """Return E[max(f − best, 0)] of normal variables; max(mean − best, 0) without deviation.

    σ(uΦ(u) + φ(u)) with u = (μ − best)/σ. Below u = −3 its two terms nearly cancel, and Mills'
    ratio takes their place: φ(u)(1 + u Φ(u)/φ(u)).
    """
    mean, std = np.broadcast_arrays(np.asarray(mean, float), np.asarray(std, float))
    certain = std <= 0
    gain = mean - best
    with np.errstate(over="ignore"):
        u = np.clip(gain / np.where(certain, 1.0, std), -1e8, 1e8)
    density = np.exp(-0.5 * u**2) / _ROOT_TWO_PI
    low = np.minimum(u, -3.0)
    # `erfcx` is Mills' ratio up to a constant: no difference of two small numbers
    tail = density * (1.0 + low * np.sqrt(np.pi / 2) * erfcx(-low * _ROOT_HALF))
    plain = u * ndtr(u) + density  # uΦ(u) + φ(u)
    found = std * np.where(u < -3.0, tail, plain)
    return np.where(certain, np.maximum(gain, 0.0), np.maximum(found, 0.0))


def log_improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """Return the logarithm of `improvement`, also where that is too small for a double."""
    mean, std = np.broadcast_arrays(np.asarray(mean, float), np.asarray(std, float))
    u = np.clip((mean - best) / std, -1e8, 1e8)
    low = np.minimum(u, -3.0)
    mills = 1.0 + low * np.sqrt(np.pi / 2) * erfcx(-low * _ROOT_HALF)
    # From u = -1e3 the difference has lost half of its digits, and 1/u² is as good.
    rest = np.where(low < -1e3, 1.0 / low**2, np.maximum(mills, 1e-300))
    tail = np.log(std) - 0.5 * low**2 - np.log(_ROOT_TWO_PI) + np.log(rest)
    plain = std * (u * ndtr(u) + np.exp(-0.5 * u**2) / _ROOT_TWO_PI)
    return np.where(u < -3.0, tail, np.log(np.maximum(plain, 1e-300)))
