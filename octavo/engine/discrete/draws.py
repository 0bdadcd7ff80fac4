"""Random numbers inside kernels: a state of one 64-bit word, moved by splitmix64.

A kernel that takes its seed as an argument draws the same numbers in any thread, in any order of
the work and beside any other user of numpy's generators. `word_seeds` makes the seeds from a
``random_state``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.compilation.kernel_cache import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def word_seeds(random_state: Any, n: int) -> NDArray[np.uint64]:
    """Return n seeds of 64 bits."""
    rng = check_random_state(random_state)
    halves = rng.randint(0, 2**32, size=(n, 2), dtype=np.uint64)
    return halves[:, 0] << np.uint64(32) | halves[:, 1]


@njit(cache=True, nogil=True)
def mix_word(word):
    """Return 64 bits that depend on all bits of a word (the finaliser of splitmix64)."""
    z = word
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def draw_below(state, n):
    """Return an integer from 0 to n - 1; ``state[0]`` moves on. n is at most 2**32."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    # The upper half of a product of 32 bits by n: the bias is below n / 2**32.
    return np.int64(((mix_word(state[0]) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def draw_unit(state):
    """Return a number in [0, 1); ``state[0]`` moves on."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return (mix_word(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def _warmup() -> None:
    """Compile the kernels."""
    state = np.zeros(1, np.uint64)
    mix_word(state[0])
    draw_below(state, 3)
    draw_unit(state)
