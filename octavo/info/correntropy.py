"""Correntropy: how often two variables are close, its centred forms, metric and coefficient.

Correntropy is E k(x − y) for a Gaussian k: a correlation that counts only what happens within a
few bandwidths, and so ignores outliers. Centred, it subtracts what independent variables of
the same margins would give.

References: Santamaria, Pokharel and Principe (2006), "Generalized correlation function:
definition, properties, and application to blind equalization", IEEE Transactions on Signal
Processing 54:2187-2197; Liu, Pokharel and Principe (2007), "Correntropy: properties and
applications in non-Gaussian signal processing", ibid. 55:5286-5298; Rao, Seth, Xu, Chen,
Tagare and Principe (2011), "A test of independence based on a generalized correlation
function", Signal Processing 91:15-27.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.pair_sums import PairKernel, cross_sum, kernel_rows, self_sum


def correntropy(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Return the mean of k(xᵢ − yᵢ), k(r) = exp(−r²/2σ²)."""
    kernel = PairKernel("gaussian", bandwidth)
    return float(kernel_rows(kernel, x[:, None], y[:, None]).mean())


def centred_correntropy(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Return the mean of k(xᵢ − yᵢ) less the mean of k(xᵢ − yⱼ) over all pairs."""
    kernel = PairKernel("gaussian", bandwidth)
    apart = cross_sum(kernel, x[:, None], y[:, None]) / len(x) ** 2
    return correntropy(x, y, bandwidth) - apart


def own_centred_correntropy(x: np.ndarray, bandwidth: float) -> float:
    """Return the centred correntropy of a variable with itself."""
    return 1.0 - self_sum(PairKernel("gaussian", bandwidth), x[:, None]) / len(x) ** 2


def correntropy_coefficient(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Return the centred correntropy over the geometric mean of the variables' own; in [−1, 1]."""
    own = own_centred_correntropy(x, bandwidth) * own_centred_correntropy(y, bandwidth)
    return float(centred_correntropy(x, y, bandwidth) / np.sqrt(own))


def correntropy_metric(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Return √(k(0) − E k(x − y)): like ‖x − y‖ for near points, at most 1 for far ones."""
    return float(np.sqrt(max(0.0, 1.0 - correntropy(x, y, bandwidth))))


def centred_correntropy_metric(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Return the distance that the centred correntropy induces, √(U(x,x) + U(y,y) − 2U(x,y))."""
    own = own_centred_correntropy(x, bandwidth) + own_centred_correntropy(y, bandwidth)
    return float(np.sqrt(max(0.0, own - 2.0 * centred_correntropy(x, y, bandwidth))))


def correntropy_independence(
    x: np.ndarray, y: np.ndarray, bandwidth: float, shifts: tuple[float, ...] = (0.0,)
) -> float:
    """Return the largest |coefficient| of (a·x + b, y), a = ±1, b among `shifts`.

    The variables are independent when the parametric centred correntropy vanishes for all a
    and b; a few of them approximate the supremum. Both variables are standardised.
    """
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    own = own_centred_correntropy(x, bandwidth) * own_centred_correntropy(y, bandwidth)
    found = [centred_correntropy(a * x + b, y, bandwidth) for a in (1.0, -1.0) for b in shifts]
    return float(np.abs(found).max() / np.sqrt(own))
