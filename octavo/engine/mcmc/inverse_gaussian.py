"""Inverse-Gaussian numbers in compiled sweeps: the law of a scale that a margin was split into.

The method is that of Michael, Schucany and Haas: the square of a normal number is a function of
the draw with two roots, of which one is taken by a coin. Both roots are written without a
difference of large numbers, so that they hold for means of 1e8 and more. The reciprocal of a draw
of mean 1/(c |ζ|) and shape 1 has the generalised inverse-Gaussian law GIG(1/2, 1, c² ζ²).

Reference: J. R. Michael, W. R. Schucany and R. W. Haas (1976), "Generating random variates using
transformations with multiple roots", The American Statistician 30.
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.mcmc.compiled_draws import draw_normal, draw_uniform


@njit(cache=True, error_model="numpy")
def draw_inverse_gaussian(state, mean, shape):
    """Return an inverse-Gaussian number; mean and shape are positive."""
    noise = draw_normal(state)
    a = 0.5 * noise * noise * mean / shape
    w = 1.0 + a + math.sqrt(a * (a + 2.0))  # the larger root over the mean; the other is 1 / w
    # the smaller root, mean / w, with chance w / (1 + w)
    return mean * w if draw_uniform(state) * (1.0 + w) > w else mean / w


@njit(cache=True, error_model="numpy")
def fill_inverse_gaussian(state, means, shape, out):
    """Fill a vector with draws of the means of another and of one shape."""
    for i in range(out.size):
        out[i] = draw_inverse_gaussian(state, means[i], shape)


def _warmup() -> None:
    fill_inverse_gaussian(np.ones(4, dtype=np.uint64), np.ones(1), 1.0, np.empty(1))
