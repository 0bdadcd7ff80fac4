"""Fractional Brownian motion, exactly, by circulant embedding (Davies and Harte 1987)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["fbm"]


@checked
def fbm(
    n: int, hurst: float, random_state: Any = None, *, length: float = 1.0
) -> NDArray[np.float64]:
    """Return a path of fractional Brownian motion at equally spaced times.

    Its increments are correlated positively for a Hurst exponent above 1/2 (trends) and
    negatively below (returns to the mean); 1/2 is Brownian motion, and its exponential a model
    of prices.

    Parameters
    ----------
    n : int
        Number of increments.
    hurst : float
        Hurst exponent, between 0 and 1.
    random_state : int, RandomState instance or None, default=None
        Seed or generator.
    length : float, default=1.0
        Time at the end of the path, where the variance is ``length ** (2 * hurst)``.

    Returns
    -------
    path : ndarray of shape (n + 1,)
        The path, which begins at zero.

    References
    ----------
    .. [1] R. B. Davies and D. S. Harte (1987). "Tests for Hurst Effect". Biometrika 74.

    Examples
    --------
    >>> from octavo.data import fbm
    >>> fbm(1000, 0.8, random_state=0).shape
    (1001,)
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}.")
    if not 0 < hurst < 1:
        raise ValueError(f"hurst must lie between 0 and 1, got {hurst}.")
    if not length > 0:
        raise ValueError(f"length must be positive, got {length}.")
    generator = check_random_state(random_state)
    lag = np.arange(n + 1.0)
    covariance = 0.5 * (
        (lag + 1) ** (2 * hurst) - 2 * lag ** (2 * hurst) + np.abs(lag - 1) ** (2 * hurst)
    )
    circle = np.concatenate([covariance, covariance[n - 1 : 0 : -1]])
    power = np.maximum(np.fft.rfft(circle).real, 0.0)  # zero but for rounding, never below
    size = circle.size
    noise = generator.standard_normal((2, power.size))
    noise[1, 0] = 0.0
    noise[0, 0] *= np.sqrt(2.0)
    if size % 2 == 0:
        noise[1, -1] = 0.0
        noise[0, -1] *= np.sqrt(2.0)
    spectrum = np.sqrt(power * size / 2.0) * (noise[0] + 1j * noise[1])
    increments = np.fft.irfft(spectrum, size)[:n]
    path = np.concatenate([[0.0], np.cumsum(increments)])
    return path * (length / n) ** hurst
