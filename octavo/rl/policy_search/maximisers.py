"""Maximise a function of a box that is cheap for many points at once and has many peaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import direct

from octavo.engine.smooth.natural_gradient import climb_in_box

Objective = Callable[[np.ndarray], np.ndarray]

_CANDIDATES, _KEPT, _ROUNDS, _AROUND = 1000, 5, 6, 20
_DIRECT_CALLS, _XNES_CALLS = 600, 800


def _uniform(n: int, low: np.ndarray, high: np.ndarray, rng: Any) -> np.ndarray:
    return low + (high - low) * rng.random_sample((n, len(low)))


def multistart(
    f: Objective, low: np.ndarray, high: np.ndarray, rng: Any, near: np.ndarray
) -> np.ndarray:
    """Draw points, half about given ones where there are any; then narrow in on the best."""
    X = _uniform(_CANDIDATES, low, high, rng)
    if len(near):
        half = _CANDIDATES // 2
        off = rng.standard_normal((half, len(low))) * (high - low)
        sizes = 10.0 ** rng.uniform(-3, -0.5, (half, 1))
        X[:half] = np.clip(near[rng.randint(len(near), size=half)] + sizes * off, low, high)
    values = f(X)
    for k in range(_ROUNDS):
        top = np.argsort(-values, kind="stable")[:_KEPT]
        X, values = X[top], values[top]
        off = rng.standard_normal((_KEPT * _AROUND, len(low))) * (high - low) * 0.1 / 2.0**k
        more = np.clip(np.repeat(X, _AROUND, axis=0) + off, low, high)
        X, values = np.vstack([X, more]), np.concatenate([values, f(more)])
    return X[int(np.argmax(values))]


def by_direct(
    f: Objective, low: np.ndarray, high: np.ndarray, rng: Any, near: np.ndarray
) -> np.ndarray:
    """Divide rectangles (Jones and others 1993); up to some fifteen parameters."""
    bounds = list(zip(low, high))
    found = direct(
        lambda x: -float(f(x[None])[0]), bounds, maxfun=_DIRECT_CALLS, locally_biased=True
    )
    return np.clip(found.x, low, high)


def by_xnes(
    f: Objective, low: np.ndarray, high: np.ndarray, rng: Any, near: np.ndarray
) -> np.ndarray:
    """Follow the natural gradient from the best of a hundred points: the CMA-ES of this library."""
    first = _uniform(100, low, high, rng)
    first = np.vstack([first, near]) if len(near) else first
    start = first[int(np.argmax(f(first)))]
    width = high - low
    best = climb_in_box(
        lambda Z: f(low + width * Z),
        (start - low) / width,
        0.15,
        n_calls=_XNES_CALLS,
        popsize=24,
        rng=rng,
    )
    return np.clip(low + width * best, low, high)


MAXIMISERS = {"direct": by_direct, "xnes": by_xnes, "multistart": multistart}
