"""Random numbers on the device where they are needed.

NumPy draws on the host, torch and cupy with generators of their own on the device; any other
namespace is given NumPy's numbers. One seed makes all of them repeatable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.kernels.namespaces import namespace_of


class Draws:
    """Uniform and normal numbers of the type, the namespace and the device of an array.

    Parameters
    ----------
    seed : int
        Where the numbers start.
    like : array
        Whose namespace, device and floating type they have.
    """

    def __init__(self, seed: int, like: Any) -> None:
        self._xp, self._device, self._is_numpy = namespace_of(like)
        self._dtype = like.dtype
        name = "numpy" if self._is_numpy else self._xp.__name__
        self._torch = self._cupy = None
        if "torch" in name:
            import torch

            self._torch = torch
            self._generator: Any = torch.Generator(device=like.device)
            self._generator.manual_seed(int(seed))
        elif "cupy" in name:
            import cupy

            self._cupy = cupy.random.default_rng(int(seed))
        else:
            self._host = np.random.Generator(np.random.SFC64(int(seed)))

    def uniform(self, shape: tuple[int, ...]) -> Any:
        """Return numbers between 0 and 1."""
        if self._torch is not None:
            return self._torch.rand(
                shape, generator=self._generator, dtype=self._dtype, device=self._device
            )
        if self._cupy is not None:
            return self._cupy.random(shape, dtype=self._dtype)
        return self._placed(self._host.random(shape, dtype=self._host_type()))

    def normal(self, shape: tuple[int, ...]) -> Any:
        """Return standard normal numbers."""
        if self._torch is not None:
            return self._torch.randn(
                shape, generator=self._generator, dtype=self._dtype, device=self._device
            )
        if self._cupy is not None:
            return self._cupy.standard_normal(shape, dtype=self._dtype)
        return self._placed(self._host.standard_normal(shape, dtype=self._host_type()))

    def _host_type(self) -> Any:
        return np.float32 if self._dtype == self._xp.float32 else np.float64

    def _placed(self, numbers: np.ndarray) -> Any:
        if self._is_numpy:
            return numbers
        return self._xp.asarray(numbers, device=self._device)
