"""Momentum steps on parameters that lie in one vector.

All parameters of a machine are packed one after the other, so a step costs the same few array
operations whatever their number, on the host and on an accelerator. Gradients are clipped by
their root mean square.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.kernels.namespaces import to_namespace


class Layout(NamedTuple):
    """Names and shapes of the parameters, in the order in which they lie in the vector."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    def pack(self, arrays: Mapping[str, Any], xp: Any) -> Any:
        """Return the arrays as one vector."""
        return xp.concat([xp.reshape(arrays[name], (-1,)) for name in self.names])

    def unpack(self, vector: Any, xp: Any) -> dict[str, Any]:
        """Return the arrays that lie in a vector, without a copy where the namespace allows."""
        found, done = {}, 0
        for name, shape in zip(self.names, self.shapes, strict=True):
            size = int(np.prod(shape, dtype=np.int64))
            found[name] = xp.reshape(vector[done : done + size], shape)
            done += size
        return found

    def spread(self, numbers: Mapping[str, float], like: Any) -> Any:
        """Return a vector that holds one number for each parameter."""
        each = [
            np.full(int(np.prod(shape, dtype=np.int64)), numbers[name])
            for name, shape in zip(self.names, self.shapes, strict=True)
        ]
        return to_namespace(np.concatenate(each), like)


def layout_of(arrays: Mapping[str, Any]) -> Layout:
    """Return the layout of some arrays."""
    return Layout(tuple(arrays), tuple(tuple(value.shape) for value in arrays.values()))


class Rates(NamedTuple):
    """What a step multiplies: rates and shrinkage (rate x decay) of each entry, and momentum.

    ``bound`` is the largest root mean square of a gradient; longer ones are scaled to it.
    """

    rate: Any
    shrink: Any
    momentum: float
    bound: float


def momentum_step(
    vector: Any, speed: Any, gradient: Any, rates: Rates, xp: Any
) -> tuple[Any, Any, Any]:
    """Climb along a gradient with momentum, weight decay and clipping.

    Parameters
    ----------
    vector, speed, gradient : array of shape (size,)
        Parameters, the last step, and the direction of ascent.
    rates : Rates
        What multiplies them.
    xp : namespace
        Of the arrays.

    Returns
    -------
    vector, speed : array of shape (size,)
        After the step.
    clipped : array of shape ()
        One where the gradient was scaled down, else zero.
    """
    size = xp.sqrt(xp.mean(gradient * gradient))
    # the gradient shortened where its root mean square is above the bound
    factor = rates.bound / xp.maximum(size, xp.full_like(size, rates.bound))
    speed = (rates.momentum * speed + rates.rate * gradient * factor) - rates.shrink * vector
    return vector + speed, speed, xp.astype(factor < 1.0, vector.dtype)
