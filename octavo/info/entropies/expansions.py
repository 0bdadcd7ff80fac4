"""Entropies of nearly normal distributions, from a few moments.

The entropy of the normal distribution with the same covariance, less what two nonlinear moments
(Hyvärinen 1998, one variable) or the third cumulants (van Hulle 2005, any number) tell of the
distance from it. They cost one pass over the data and have tiny variance; their error does not
vanish with N where the distribution is not close to normal.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.info.estimators import EntropyEstimator

__all__ = ["EdgeworthEntropy", "MaxEntEntropy1", "MaxEntEntropy2"]

_NORMAL = 0.5 * math.log(2.0 * math.pi * math.e)


def standardised(X: Floats) -> tuple[Floats, float]:
    """Return the sample with mean 0 and covariance 1, and the log determinant taken out."""
    centred = X - X.mean(axis=0)
    factor = np.linalg.cholesky(centred.T @ centred / X.shape[0])
    white = np.linalg.solve(factor, centred.T).T
    return white, float(np.log(np.diagonal(factor)).sum())


def negentropy_absolute(x: Floats) -> float:
    """Return the negentropy from the moments of x exp(-x²/2) and |x|."""
    odd = float((x * np.exp(-0.5 * x**2)).mean())
    even = float(np.abs(x).mean()) - math.sqrt(2.0 / math.pi)
    return 36.0 / (8.0 * math.sqrt(3.0) - 9.0) * odd**2 + even**2 / (2.0 - 6.0 / math.pi)


def negentropy_gaussian(x: Floats) -> float:
    """Return the negentropy from the moments of x exp(-x²/2) and exp(-x²/2)."""
    bell = np.exp(-0.5 * x**2)
    odd, even = float((x * bell).mean()), float(bell.mean()) - math.sqrt(0.5)
    k1 = 36.0 / (8.0 * math.sqrt(3.0) - 9.0)
    return k1 * odd**2 + 24.0 / (16.0 * math.sqrt(3.0) - 27.0) * even**2


def third_cumulants(white: Floats) -> Floats:
    """Return E x_i x_j x_k of a standardised sample, as a matrix (d², d)."""
    n, d = white.shape
    total = np.zeros((d * d, d))
    rows_at_once = max(1, (1 << 21) // (d * d))
    for start in range(0, n, rows_at_once):
        rows = white[start : start + rows_at_once]
        total += (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), d * d).T @ rows
    return total / n


class _MaxEntEntropy(EntropyEstimator):
    estimates = "H = -∫ p log p"
    cost = "O(N)"
    assumptions = "one variable, nearly normal"
    density = True
    dimensions = (1,)
    _parameter_constraints: ClassVar[dict[str, Any]] = {}


class MaxEntEntropy1(_MaxEntEntropy):
    """Shannon entropy of one nearly normal variable by maximum entropy, robust to outliers.

    The entropy of the flattest density with the measured moments of x exp(-x²/2) and abs(x),
    to first order. Use it to rank variables by how far they are from normal, as independent
    component analysis does; not for a number where the distribution is far from normal.

    References
    ----------
    .. [1] Hyvärinen (1998). New approximations of differential entropy for independent component
       analysis and projection pursuit. NIPS 10.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import MaxEntEntropy1
    >>> x = np.random.default_rng(0).logistic(size=5000)  # entropy 2
    >>> print(f"{MaxEntEntropy1().estimate(x):.2f}")
    2.01
    """

    measure, method = "shannon", "maxent1"

    def _estimate(self, X):
        white, log_scale = standardised(X)
        return _NORMAL + log_scale - negentropy_absolute(white[:, 0])


class MaxEntEntropy2(_MaxEntEntropy):
    """Shannon entropy of one nearly normal variable by maximum entropy, for sharp peaks.

    As `MaxEntEntropy1` with exp(-x²/2) in place of abs(x), which sees bimodal and peaked
    densities better. Not for a number where the distribution is far from normal.

    References
    ----------
    .. [1] Hyvärinen (1998). New approximations of differential entropy for independent component
       analysis and projection pursuit. NIPS 10.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import MaxEntEntropy2
    >>> x = np.random.default_rng(0).logistic(size=5000)  # entropy 2
    >>> print(f"{MaxEntEntropy2().estimate(x):.2f}")
    2.01
    """

    measure, method = "shannon", "maxent2"

    def _estimate(self, X):
        white, log_scale = standardised(X)
        return _NORMAL + log_scale - negentropy_gaussian(white[:, 0])


class EdgeworthEntropy(EntropyEstimator):
    """Shannon entropy of a nearly normal distribution from its third cumulants.

    The first term of Edgeworth's expansion: the entropy of the normal distribution with the same
    covariance, less a twelfth of the squared third cumulants of the whitened variables. It sees
    skewness only: symmetric departures from normality go unnoticed.

    References
    ----------
    .. [1] van Hulle (2005). Edgeworth approximation of multivariate differential entropy. Neural
       Computation 17.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import EdgeworthEntropy
    >>> X = np.random.default_rng(0).gamma(20.0, size=(5000, 1))  # entropy 2.900
    >>> print(f"{EdgeworthEntropy().estimate(X):.1f}")
    2.9
    """

    measure, method = "shannon", "edgeworth"
    estimates = "H = -∫ p log p"
    cost = "O(N d³)"
    assumptions = "nearly normal, N > d"
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def _estimate(self, X):
        n, d = X.shape
        if n <= d:
            raise ValueError(f"EdgeworthEntropy needs more rows than columns, got {n} and {d}.")
        white, log_scale = standardised(X)
        skewness = float((third_cumulants(white) ** 2).sum())
        return d * _NORMAL + log_scale - skewness / 12.0
