"""The recursion itself: gradient descent of kernel least squares, one Gram product a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from octavo.engine.kernels.namespaces import namespace_of


def descent(K: Any, y: Any, step_at: Callable[[int], float]) -> Iterator[Any]:
    """Yield c_0 = 0, c_1, c_2, ... without end.

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix, of any namespace.
    y : array of shape (n,) or (n, n_outputs)
        Targets.
    step_at : callable
        α_t for t = 0, 1, ...

    Yields
    ------
    array of the shape of y
        Coefficients: c_{t+1} = c_t - (α_t / n)(K c_t - y).
    """
    n = K.shape[0]
    c = namespace_of(y).xp.zeros_like(y)
    t = 0
    while True:
        yield c
        c = c - (step_at(t) / n) * (K @ c - y)
        t += 1
