"""Draws of a cumulative distribution network, without and with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats

_HALVINGS = 200


def max_sample(network: Any, n: int, random: np.random.RandomState) -> Floats:
    """Return componentwise maxima of independent draws of the factors.

    P(max <= x) is the product of the factors' distribution functions, whatever the graph.
    """
    X = np.full((n, network.n_variables), -np.inf)
    for scope, factor in network.factors:
        # P(max <= x) = Π φ_s(x_s) = F(x)
        X[:, list(scope)] = np.maximum(X[:, list(scope)], factor.draw(n, random))
    steps = np.array([kind == "ordinal" for kind in network.kinds])
    X[:, steps] = np.maximum(np.ceil(X[:, steps]), 0.0)
    return X


def sequential_sample(network: Any, n: int, random: np.random.RandomState) -> Floats:
    """Draw one variable after another from F(x_k | x_1, ..., x_(k-1)), Example 8."""
    d = network.n_variables
    X = np.empty((n, d))
    # Ends of the search: what max draws reach, and far beyond; both widen while they must.
    scout = max_sample(network, 200, np.random.RandomState(0))
    for k in range(d):
        chance = random.uniform(size=n)
        given = {v: X[:, v] for v in range(k)}

        def below(
            x: Floats, k: int = k, given: dict[int, Floats] = given, chance: Floats = chance
        ) -> NDArray[np.bool_]:
            # Example 8's F(x_k | x_1, ..., x_(k-1))
            found = network.conditional_cdf({k: x}, given) if n else np.empty(0)
            return found < chance

        X[:, k] = (
            _ordinal(below, n)
            if network.kinds[k] == "ordinal"
            else _inverted(below, n, float(scout[:, k].min()), float(scout[:, k].max()))
        )
    return X


def _inverted(below: Any, n: int, low: float, high: float) -> Floats:
    """Return by bisection where a conditional distribution function passes the chance."""
    width = max(high - low, 1e-8 * max(abs(low), abs(high)), 1e-300)
    a, b = np.full(n, low), np.full(n, high)
    reach = width
    for _ in range(60):
        short = below(b)
        if not short.any():
            break
        b = np.where(short, b + reach, b)
        reach *= 2
    reach = width
    for _ in range(60):
        long = ~below(a)
        if not long.any():
            break
        a = np.where(long, a - reach, a)
        reach *= 2
    for _ in range(_HALVINGS):
        middle = 0.5 * (a + b)
        if ((middle == a) | (middle == b)).all() or (b - a).max(initial=0.0) < 1e-12 * width:
            break
        under = below(middle)
        a, b = np.where(under, middle, a), np.where(under, b, middle)
    return 0.5 * (a + b)


def _ordinal(below: Any, n: int) -> Floats:
    """Return the smallest whole number at which the distribution function reaches the chance."""
    high = np.zeros(n)
    step = 1.0
    for _ in range(60):
        short = below(high)
        if not short.any():
            break
        high = np.where(short, high + step, high)
        step *= 2
    low = np.full(n, -1.0)
    while (high - low > 1).any():
        middle = np.floor(0.5 * (low + high))
        under = below(np.maximum(middle, 0.0)) | (middle < 0)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return high
