"""Normal-inverse-gamma blocks: a linear regression with unknown noise, and a mean as its case.

β | σ² ~ N(mean, σ² precision⁻¹), 1/σ² ~ Gamma(shape, rate): the inverse gamma has a shape and a
*rate of 1/σ²*. A sample mean is the regression on a constant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from octavo.engine.estimators.arrays import Floats

LOG_2PI = float(np.log(2.0 * np.pi))


class NormalInverseGamma(NamedTuple):
    """The law of coefficients and noise variance.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        Of the coefficients.
    precision : ndarray of shape (d, d)
        Of the coefficients, times σ².
    shape, rate : float
        Of the gamma law of 1/σ².
    """

    mean: Floats
    precision: Floats
    shape: float
    rate: float


class StudentT(NamedTuple):
    """Location, squared scale and degrees of freedom of each predicted number."""

    location: Floats
    scale2: Floats
    dof: float


def nig_update(prior: NormalInverseGamma, X: Any, y: Any) -> NormalInverseGamma:
    """Return the posterior given rows X and responses y.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.conjugate.normal_inverse_gamma import NormalInverseGamma, nig_update
    >>> prior = NormalInverseGamma(np.zeros(1), np.eye(1), 2.0, 1.0)
    >>> posterior = nig_update(prior, np.ones((3, 1)), [1.0, 2.0, 3.0])
    >>> posterior.mean.tolist(), posterior.shape, posterior.rate
    ([1.5], 3.5, 3.5)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    away = y - X @ prior.mean
    precision = prior.precision + X.T @ X
    moved = np.linalg.solve(precision, X.T @ away)
    # b + ½ (rᵀr - rᵀX Ĉ⁻¹ Xᵀr), r = y - X β_0
    rate = prior.rate + 0.5 * float(away @ (away - X @ moved))
    return NormalInverseGamma(prior.mean + moved, precision, prior.shape + 0.5 * len(y), rate)


def nig_predictive(law: NormalInverseGamma, X: Any) -> StudentT:
    """Return the t law of a response at each row of X, each by itself."""
    X = np.asarray(X, dtype=np.float64)
    spread = 1.0 + np.einsum("nd,nd->n", X, np.linalg.solve(law.precision, X.T).T)  # 1 + x C⁻¹ xᵀ
    return StudentT(X @ law.mean, law.rate / law.shape * spread, 2.0 * law.shape)


def student_log_density(law: StudentT, y: Any) -> Floats:
    """Return the log density of each response under its t law."""
    half = 0.5 * law.dof
    away2 = (np.asarray(y) - law.location) ** 2 / (law.dof * law.scale2)
    const = gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(law.dof * np.pi * law.scale2)
    return const - (half + 0.5) * np.log1p(away2)


def nig_log_marginal(prior: NormalInverseGamma, X: Any, y: Any) -> float:
    """Return the log density of all responses at once, coefficients and noise integrated out."""
    after, n = nig_update(prior, X, y), len(np.atleast_1d(y))
    dets = [np.linalg.slogdet(law.precision)[1] for law in (prior, after)]
    value = -0.5 * n * LOG_2PI + 0.5 * (dets[0] - dets[1])  # ½ ln |C| - ½ ln |Ĉ| - n/2 ln 2π
    value += prior.shape * np.log(prior.rate) - after.shape * np.log(after.rate)  # a ln b - â ln b̂
    return float(value + gammaln(after.shape) - gammaln(prior.shape))


def nig_expected_log_density(law: NormalInverseGamma, X: Any, y: Any) -> Floats:
    """Return E log N(y; Xβ, σ²) over the law, for each row."""
    X = np.asarray(X, dtype=np.float64)
    spread = np.einsum("nd,nd->n", X, np.linalg.solve(law.precision, X.T).T)
    log_precision = digamma(law.shape) - np.log(law.rate)
    away2 = (np.asarray(y) - X @ law.mean) ** 2
    # E (y - xβ)² / σ² = x C⁻¹ xᵀ + (a / b) (y - x mean)²
    return 0.5 * (log_precision - LOG_2PI - spread - law.shape / law.rate * away2)


def nig_divergence(p: NormalInverseGamma, q: NormalInverseGamma) -> float:
    """Return the Kullback-Leibler divergence KL(p ‖ q)."""
    d, gap = len(p.mean), p.mean - q.mean
    dets = [np.linalg.slogdet(law.precision)[1] for law in (p, q)]
    trace = float(np.trace(np.linalg.solve(p.precision, q.precision)))
    normal = 0.5 * (dets[0] - dets[1] + trace - d)
    normal += 0.5 * p.shape / p.rate * float(gap @ q.precision @ gap)
    # KL of the gamma laws of 1/σ²
    gamma = q.shape * np.log(p.rate / q.rate) - gammaln(p.shape) + gammaln(q.shape)
    gamma += (p.shape - q.shape) * digamma(p.shape) + p.shape * (q.rate - p.rate) / p.rate
    return float(normal + gamma)
