"""Random draws inside compiled sweeps: uniform, normal, exponential, gamma, beta.

numpy's own generator can be handed to a kernel, but each of its methods takes seconds to compile
and ten nanoseconds a draw. Here a kernel carries four words, the state of xoshiro256++, which
`draw_state` takes from a `numpy.random.Generator`; normal numbers come from a ziggurat of 128
layers. A state is changed in place; two chains never share one.

References: D. Blackman and S. Vigna (2021), "Scrambled linear pseudorandom number generators", ACM
Transactions on Mathematical Software 47; J. A. Doornik (2005), "An improved ziggurat method to
generate normal random samples"; G. Marsaglia and W. W. Tsang (2000), "A simple method for
generating gamma variables", ACM Transactions on Mathematical Software 26.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit

LAYERS = 128
EDGE, AREA = 3.442619855899, 9.91256303526217e-3  # start of the tail, area of a layer
UNIT = 2.0**-53
SEVENTEEN, TWENTY_THREE, FORTY_FIVE = np.uint64(17), np.uint64(23), np.uint64(45)
ELEVEN, FORTY_ONE, NINETEEN = np.uint64(11), np.uint64(41), np.uint64(19)
LAYER_BITS, ONE = np.uint64(LAYERS - 1), np.uint64(1)


def _layers() -> tuple[Any, Any]:
    """Return the right ends of the layers, and the share of each that needs no look at the law."""
    ends = np.zeros(LAYERS + 1)
    # the lowest layer holds the tail too: a box of the same area at its height
    ends[0] = AREA / math.exp(-0.5 * EDGE * EDGE)
    ends[1] = EDGE
    for i in range(2, LAYERS):
        # every layer has the area x (f(next) - f(x))
        height = AREA / ends[i - 1] + math.exp(-0.5 * ends[i - 1] ** 2)
        ends[i] = math.sqrt(-2.0 * math.log(height))
    return ends, ends[1:] / ends[:-1]


ENDS, INNER = _layers()


def draw_state(rng: np.random.Generator) -> NDArray[np.uint64]:
    """Return the state of a stream for compiled draws, taken from a Generator."""
    return rng.integers(1, 2**64, 4, dtype=np.uint64)


@njit(cache=True, error_model="numpy")
def next_word(state):
    """Return 64 random bits: xoshiro256++."""
    total = state[0] + state[3]
    word = ((total << TWENTY_THREE) | (total >> FORTY_ONE)) + state[0]
    shifted = state[1] << SEVENTEEN
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = (state[3] << FORTY_FIVE) | (state[3] >> NINETEEN)
    return word


@njit(cache=True, error_model="numpy")
def draw_uniform(state):
    """Return a number of [0, 1)."""
    return np.float64(np.int64(next_word(state) >> ELEVEN)) * UNIT


@njit(cache=True, error_model="numpy")
def draw_normal(state):
    """Return a standard normal number."""
    while True:
        word = next_word(state)
        layer = word & LAYER_BITS
        u = np.float64(np.int64(word) >> 11) * (2.0 * UNIT)  # of [-1, 1)
        # inside the layer above it: no look at the density (97 % of draws)
        if abs(u) < INNER[layer]:
            return u * ENDS[layer]
        if layer == 0:  # the tail, by exponentials
            while True:
                # Marsaglia's tail: exponential in x, refused by a second exponential
                x = math.log(1.0 - draw_uniform(state)) / EDGE
                y = math.log(1.0 - draw_uniform(state))
                if -2.0 * y >= x * x:
                    return EDGE - x if u > 0.0 else x - EDGE
        x = u * ENDS[layer]
        low = math.exp(-0.5 * (ENDS[layer] * ENDS[layer] - x * x))
        high = math.exp(-0.5 * (ENDS[layer + ONE] * ENDS[layer + ONE] - x * x))
        # a point of the layer's height under the density
        if high + draw_uniform(state) * (low - high) < 1.0:
            return x


@njit(cache=True, error_model="numpy")
def draw_gamma(state, shape):
    """Return a gamma number of rate one; its shape is positive."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - draw_uniform(state)) ** (1.0 / shape)  # Γ(a) = Γ(a + 1) U^(1/a)
        shape += 1.0
    d = shape - 1.0 / 3.0  # Marsaglia and Tsang (2000): d (1 + c x)³ is nearly gamma
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = draw_normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - draw_uniform(state)
        # their exact test, without the squeeze before it
        if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


@njit(cache=True, error_model="numpy")
def draw_beta(state, a, b):
    """Return a beta number, by two gamma numbers."""
    x = draw_gamma(state, a)
    y = draw_gamma(state, b)
    return x / (x + y) if x + y > 0.0 else 0.5


@njit(cache=True, error_model="numpy")
def fill_draws(state, kind, a, b, out):
    """Fill an array with draws: uniform (0), normal (1), gamma (2) or beta (3)."""
    for i in range(out.size):
        if kind == 0:
            out[i] = draw_uniform(state)
        elif kind == 1:
            out[i] = draw_normal(state)
        elif kind == 2:
            out[i] = draw_gamma(state, a)
        else:
            out[i] = draw_beta(state, a, b)


def _warmup() -> None:
    fill_draws(np.ones(4, dtype=np.uint64), 0, 1.0, 1.0, np.empty(1))
