"""Expected log-likelihood of a linear predictor that is Gaussian, with its two derivatives.

For eta ~ N(m, v) and a log-likelihood l(y, eta) these are E l, E l' and -E l''. They are all that a
Gaussian variational step needs of a family: dS/dmu = C'g - M mu and -2 dS/dSigma = C' diag(h) C + M
with g = E l' and h = -E l''. Poisson and Gaussian terms are closed forms; the others are integrals
over one variable by Gauss-Hermite quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln

from octavo.engine.estimators.arrays import Floats

UserTerms = Callable[[Floats, Floats], tuple[Floats, Floats]]
NARROW = 1e-4  # a standard deviation below this adds less than 1e-8 to an expectation


class ExpectedTerms(NamedTuple):
    """``value`` = E l, ``slope`` = E l' and ``curvature`` = -E l'', one entry per row."""

    value: Floats
    slope: Floats
    curvature: Floats


def hermite_rule(n_nodes: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of a standard normal variable: E f(Z) is their weighted sum."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weights / weights.sum()


def softplus_moments(m: Floats, v: Floats, n_nodes: int) -> tuple[Floats, Floats, Floats]:
    """Return E ln(1 + e^eta), E of the logistic function and E of its derivative.

    Parameters
    ----------
    m, v : ndarray of shape (n,)
        Mean and variance of eta.
    n_nodes : int
        Nodes of the quadrature.

    Returns
    -------
    softplus, logistic, slope : ndarray of shape (n,)
        The three expectations. The last is E(Z logistic(m + sd Z)) / sd: twice the derivative by v
        of the first as it was computed, so that steps climb the bound that is reported; and
        closer to the integral than nodes of the derivative itself.
    """
    nodes, weights = hermite_rule(n_nodes)
    spread = np.sqrt(v)
    softplus, logistic, slope = np.zeros_like(m), np.zeros_like(m), np.zeros_like(m)
    for node, weight in zip(nodes, weights):
        eta = m + spread * node
        chance = expit(eta)
        softplus += weight * np.logaddexp(0.0, eta)
        logistic += weight * chance
        slope += weight * node * chance
    narrow = spread < NARROW
    slope /= np.where(narrow, 1.0, spread)
    if narrow.any():
        slope[narrow] = (chance := expit(m[narrow])) * (1.0 - chance)
    return softplus, logistic, slope


def poisson_terms(y: Floats, m: Floats, v: Floats) -> ExpectedTerms:
    """Return the terms of y ~ Poisson(e^eta): w = exp(m + v/2) in Algorithm 1."""
    with np.errstate(over="ignore"):
        w = np.exp(m + 0.5 * v)
    return ExpectedTerms(y * m - w - gammaln(y + 1.0), y - w, w)


def binomial_terms(y: Floats, m: Floats, v: Floats, n_nodes: int) -> ExpectedTerms:
    """Return the terms of y ~ Bernoulli(1 / (1 + e^-eta)), or of a share of successes."""
    softplus, logistic, slope = softplus_moments(m, v, n_nodes)
    return ExpectedTerms(y * m - softplus, y - logistic, slope)


def negative_binomial_terms(
    y: Floats, m: Floats, v: Floats, dispersion: float, n_nodes: int
) -> ExpectedTerms:
    """Return the terms of counts with mean e^eta and variance e^eta + dispersion e^2eta.

    With size k = 1 / dispersion and x = eta - ln k the log-likelihood is ln C(y + k - 1, y) + y x -
    (y + k) ln(1 + e^x): the integrals are those of the binomial family.
    """
    size = 1.0 / dispersion
    x = m - np.log(size)
    softplus, logistic, slope = softplus_moments(x, v, n_nodes)
    constant = gammaln(y + size) - gammaln(size) - gammaln(y + 1.0)
    return ExpectedTerms(
        constant + y * x - (y + size) * softplus, y - (y + size) * logistic, (y + size) * slope
    )


def gaussian_terms(y: Floats, m: Floats, v: Floats, precision: float) -> ExpectedTerms:
    """Return -precision E(y - eta)^2 / 2 and its derivatives; the constant is left out."""
    value = -0.5 * precision * ((y - m) ** 2 + v)
    return ExpectedTerms(value, precision * (y - m), np.full_like(m, precision))


def quadrature_terms(
    y: Floats, m: Floats, v: Floats, log_likelihood: UserTerms, n_nodes: int
) -> ExpectedTerms:
    """Return the terms of a family given by (y, eta) -> (l, l'); l'' as in `softplus_moments`."""
    spread = np.sqrt(v)
    value, slope, curvature = np.zeros_like(m), np.zeros_like(m), np.zeros_like(m)
    for node, weight in zip(*hermite_rule(n_nodes)):
        log_density, derivative = log_likelihood(y, m + spread * node)
        value += weight * np.asarray(log_density, dtype=np.float64)
        slope += weight * np.asarray(derivative, dtype=np.float64)
        curvature -= weight * node * np.asarray(derivative, dtype=np.float64)
    narrow = spread < NARROW
    curvature /= np.where(narrow, 1.0, spread)
    if narrow.any():
        ends = [np.asarray(log_likelihood(y, m + d)[1]) for d in (-NARROW, NARROW)]
        curvature[narrow] = ((ends[0] - ends[1]) / (2.0 * NARROW))[narrow]
    return ExpectedTerms(value, slope, curvature)
