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

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.kernels.pair_sums import PairKernel, cross_sum, kernel_rows, self_sum
from octavo.info.estimators import AssociationEstimator, MutualInformationEstimator
from octavo.info.point_kernels import exactly_two, not_constant, single_columns

__all__ = [
    "CenteredCorrentropy",
    "CenteredCorrentropyMetric",
    "Correntropy",
    "CorrentropyCoefficient",
    "CorrentropyIndependence",
    "CorrentropyMetric",
]


def correntropy(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Return the mean of k(xᵢ − yᵢ), k(r) = exp(−r²/2σ²)."""
    kernel = PairKernel("gaussian", bandwidth)
    return float(kernel_rows(kernel, x[:, None], y[:, None]).mean())


def centred_correntropy(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Return the mean of k(xᵢ − yᵢ) less the mean of k(xᵢ − yⱼ) over all pairs."""
    kernel = PairKernel("gaussian", bandwidth)
    # E E k(x - y) of independent x and y
    apart = cross_sum(kernel, x[:, None], y[:, None]) / len(x) ** 2
    return correntropy(x, y, bandwidth) - apart


def own_centred_correntropy(x: np.ndarray, bandwidth: float) -> float:
    """Return the centred correntropy of a variable with itself."""
    return 1.0 - self_sum(PairKernel("gaussian", bandwidth), x[:, None]) / len(x) ** 2  # k(0) = 1


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
    """Return the largest absolute coefficient of (a·x + b, y), a = ±1, b among `shifts`.

    The variables are independent when the parametric centred correntropy vanishes for all a
    and b; a few of them approximate the supremum. Both variables are standardised.
    """
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    own = own_centred_correntropy(x, bandwidth) * own_centred_correntropy(y, bandwidth)
    # sup over a, b in the definition
    found = [centred_correntropy(a * x + b, y, bandwidth) for a in (1.0, -1.0) for b in shifts]
    return float(np.abs(found).max() / np.sqrt(own))


BANDWIDTH: dict[str, Any] = {"bandwidth": [Interval(Real, 0, None, closed="neither")]}


class Correntropy(AssociationEstimator):
    """Correntropy E k(x − y): how close two variables are, whatever the far points do.

    1 for equal variables. A similarity in the units of the data, not a dependence: shifting or
    reflecting a variable changes it.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Standard deviation σ of the kernel k(r) = exp(−r²/2σ²), in the units of the variables.

    References
    ----------
    .. [1] Liu, Pokharel and Principe (2007). Correntropy: properties and applications in
       non-Gaussian signal processing. IEEE Transactions on Signal Processing 55:5286-5298.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import Correntropy
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> print(f"{Correntropy().estimate(x, x + 0.5 * noise):.2f}")
    0.89
    """

    measure, method = "correntropy", "gaussian"
    estimates = "E k(x - y)"
    cost = "O(N)"
    assumptions = "i.i.d.; two variables in the same units"
    dimensions = (2,)
    _parameter_constraints: ClassVar[dict[str, Any]] = BANDWIDTH

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def _estimate(self, X):
        return correntropy(X[:, 0], X[:, 1], self.bandwidth)


class CenteredCorrentropy(AssociationEstimator):
    """Centred correntropy: correntropy less that of independent variables of the same margins.

    A generalised covariance: zero for independent variables, but also for some dependent ones.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Standard deviation σ of the kernel k(r) = exp(−r²/2σ²), in the units of the variables.

    References
    ----------
    .. [1] Rao, Seth, Xu, Chen, Tagare and Principe (2011). A test of independence based on a
       generalized correlation function. Signal Processing 91:15-27.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CenteredCorrentropy
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> print(f"{CenteredCorrentropy().estimate(x, x + 0.5 * noise):.2f}")
    0.33
    """

    measure, method = "centered_correntropy", "gaussian"
    estimates = "E k(x - y) - E k(x - y'), y' an independent copy"
    cost = "O(N²)"
    assumptions = "i.i.d.; two variables in the same units"
    dimensions = (2,)
    _parameter_constraints: ClassVar[dict[str, Any]] = BANDWIDTH

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def _estimate(self, X):
        return centred_correntropy(X[:, 0], X[:, 1], self.bandwidth)


class CorrentropyCoefficient(AssociationEstimator):
    """Correntropy coefficient: centred correntropy rescaled to [−1, 1].

    A generalised correlation: 1 for equal variables, 0 for independent ones.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Standard deviation σ of the kernel k(r) = exp(−r²/2σ²), in the units of the variables.

    References
    ----------
    .. [1] Rao, Seth, Xu, Chen, Tagare and Principe (2011). A test of independence based on a
       generalized correlation function. Signal Processing 91:15-27.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CorrentropyCoefficient
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> print(f"{CorrentropyCoefficient().estimate(x, x + 0.5 * noise):.2f}")
    0.75
    """

    measure, method = "correntropy_coefficient", "gaussian"
    estimates = "centred correntropy / √(own of x · own of y)"
    cost = "O(N²)"
    assumptions = "i.i.d.; two variables in the same units"
    dimensions = (2,)
    _parameter_constraints: ClassVar[dict[str, Any]] = BANDWIDTH

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def _estimate(self, X):
        not_constant(X, "CorrentropyCoefficient")
        return correntropy_coefficient(X[:, 0], X[:, 1], self.bandwidth)


class CorrentropyMetric(AssociationEstimator):
    """Correntropy-induced metric √(k(0) − E k(x − y)): a distance that saturates at 1.

    Like ‖x − y‖ for close points and like a count of the far ones: robust to outliers.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Standard deviation σ of the kernel k(r) = exp(−r²/2σ²), in the units of the variables.

    References
    ----------
    .. [1] Liu, Pokharel and Principe (2007). Correntropy: properties and applications in
       non-Gaussian signal processing. IEEE Transactions on Signal Processing 55:5286-5298.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CorrentropyMetric
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> print(f"{CorrentropyMetric().estimate(x, x + 0.5 * noise):.2f}")
    0.33
    """

    measure, method = "correntropy_metric", "gaussian"
    estimates = "√(k(0) - E k(x - y))"
    cost = "O(N)"
    assumptions = "i.i.d.; two variables in the same units"
    dimensions = (2,)
    _parameter_constraints: ClassVar[dict[str, Any]] = BANDWIDTH

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def _estimate(self, X):
        return correntropy_metric(X[:, 0], X[:, 1], self.bandwidth)


class CenteredCorrentropyMetric(AssociationEstimator):
    """Distance that the centred correntropy U induces, √(U(x, x) + U(y, y) − 2U(x, y)).

    As the standard deviation of x − y comes from covariances; robust to outliers.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Standard deviation σ of the kernel k(r) = exp(−r²/2σ²), in the units of the variables.

    References
    ----------
    .. [1] Rao, Seth, Xu, Chen, Tagare and Principe (2011). A test of independence based on a
       generalized correlation function. Signal Processing 91:15-27.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CenteredCorrentropyMetric
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> print(f"{CenteredCorrentropyMetric().estimate(x, x + 0.5 * noise):.2f}")
    0.47
    """

    measure, method = "centered_correntropy_metric", "gaussian"
    estimates = "√(U(x, x) + U(y, y) - 2 U(x, y)), U centred correntropy"
    cost = "O(N²)"
    assumptions = "i.i.d.; two variables in the same units"
    dimensions = (2,)
    _parameter_constraints: ClassVar[dict[str, Any]] = BANDWIDTH

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def _estimate(self, X):
        return centred_correntropy_metric(X[:, 0], X[:, 1], self.bandwidth)


class CorrentropyIndependence(MutualInformationEstimator):
    """Approximate correntropy independence measure: the largest coefficient of (±x + b, y).

    Variables are independent when the centred correntropy of (a·x + b, y) vanishes for all a
    and b; the supremum is approximated by both signs of a and a few b. Both variables are
    standardised. Zero does not prove independence; `HSIC` and `DistanceCovariance` do, in the
    limit.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Standard deviation of the kernel, in standard deviations of the variables.
    shifts : tuple of float, default=(0.0,)
        The values of b.

    References
    ----------
    .. [1] Rao, Seth, Xu, Chen, Tagare and Principe (2011). A test of independence based on a
       generalized correlation function. Signal Processing 91:15-27.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CorrentropyIndependence
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> estimate = CorrentropyIndependence().estimate
    >>> print(f"{estimate(x, x**2):.2f} {estimate(x, noise):.2f}")
    0.17 0.04
    """

    measure, method = "correntropy_independence", "gaussian"
    estimates = "max over a, b of |correntropy coefficient of (a x + b, y)|"
    cost = "O(N²) for each shift"
    assumptions = "i.i.d.; two real variables"
    dimensions = (1,)
    _parameter_constraints: ClassVar[dict[str, Any]] = {**BANDWIDTH, "shifts": [tuple, list]}

    def __init__(self, bandwidth=1.0, shifts=(0.0,)):
        self.bandwidth = bandwidth
        self.shifts = shifts

    def _estimate(self, blocks):
        exactly_two(blocks, "CorrentropyIndependence")
        X = not_constant(single_columns(blocks, "CorrentropyIndependence"), type(self).__name__)
        shifts = np.asarray(self.shifts, dtype=np.float64)
        if shifts.ndim != 1 or not len(shifts) or not np.isfinite(shifts).all():
            raise ValueError(f"shifts must be some finite numbers, got {self.shifts!r}.")
        return correntropy_independence(X[:, 0], X[:, 1], self.bandwidth, tuple(shifts))
