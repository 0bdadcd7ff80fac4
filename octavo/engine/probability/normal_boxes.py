"""Distribution functions of normal vectors, row by row, with the same answer at every call.

One variable: Φ. Two: Plackett's integral over the angle of the correlation by Gauss-Legendre
nodes, or Owen's T function where the correlation is near one. Three: the same integral along a path
that begins where the first variable is independent of the others. More: Genz's chain of
conditional probabilities on a fixed lattice, about five digits.

References: R. L. Plackett (1954), "A reduction formula for normal multivariate integrals";
A. Genz (2004), "Numerical computation of rectangular bivariate and trivariate normal and t
probabilities"; A. Genz (1992), "Numerical computation of multivariate normal probabilities".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, owens_t

from octavo.engine.estimators.arrays import Floats

__all__ = ["log_normal_box", "normal_box"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_STEEP = 0.95  # beyond this correlation the angle's integrand is too sharp for the nodes
_FAR = 1e6  # standard deviations; infinite for every purpose here, with a finite square
_ROWS = 16384  # of two variables at a time, with all nodes at once
_LATTICE = 4096
_CELLS = 1 << 17  # rows times lattice points at a time
_PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31])


def _arc(h: Floats, k: Floats, over: Any) -> Floats:
    """Return the integrand of Plackett's formula at sines `over` of the angle."""
    cos2 = 1.0 - over * over
    return np.exp(-0.5 * (h * h + k * k - 2.0 * h * k * over) / cos2) / (2.0 * math.pi)


def _two(h: Floats, k: Floats, rho: float) -> Floats:
    if abs(rho) > _STEEP:
        return _two_steep(h, k, rho)
    angle = math.asin(rho)
    sines = np.sin(0.5 * angle * (_NODES + 1.0))[:, None]
    total = ndtr(h) * ndtr(k) + 0.5 * angle * (_WEIGHTS @ _arc(h, k, sines))
    return np.clip(total, 0.0, 1.0)


def _two_steep(h: Floats, k: Floats, rho: float) -> Floats:
    """Return the same by Owen's T, whose error is absolute."""
    root = math.sqrt(max((1.0 - rho) * (1.0 + rho), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        a_h = (k - rho * h) / (h * root)
        a_k = (h - rho * k) / (k * root)
    a_h = np.where(h == 0.0, np.where(k >= 0, np.inf, -np.inf), a_h)
    a_k = np.where(k == 0.0, np.where(h >= 0, np.inf, -np.inf), a_k)
    both = (h == 0.0) & (k == 0.0)
    beta = np.where((h * k < 0) | ((h * k == 0) & (h + k < 0)), 0.5, 0.0)
    total = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, a_h) - owens_t(k, a_k) - beta
    return np.clip(np.where(both, 0.25 + math.asin(rho) / (2 * math.pi), total), 0.0, 1.0)


def _three(z: Floats, corr: Floats) -> Floats:
    """Return Φ₃: correlations of the variable that leads grow from zero along the path."""
    pairs = {0: corr[1, 2], 1: corr[0, 2], 2: corr[0, 1]}
    lead = max(pairs, key=lambda v: abs(pairs[v]))  # the strongest pair is left as it is
    i, j = (v for v in range(3) if v != lead)
    h, k, m = z[lead], z[i], z[j]
    r12, r13, r23 = corr[lead, i], corr[lead, j], corr[i, j]
    total = ndtr(h) * _two(k, m, r23)
    for first, second, rho, other in ((k, m, r12, r13), (m, k, r13, r12)):
        angle = math.asin(rho)
        for node, weight in zip(_NODES, _WEIGHTS):
            a = math.sin(0.5 * angle * (node + 1.0))
            b = other * (a / rho) if rho != 0 else 0.0
            cos2 = 1.0 - a * a
            mean = ((b - a * r23) * h + (r23 - a * b) * first) / cos2
            rest = (1.0 - a * a - b * b - r23 * r23 + 2.0 * a * b * r23) / cos2
            share = ndtr((second - mean) / math.sqrt(max(rest, 1e-30)))
            total = total + 0.5 * angle * weight * _arc(h, first, a) * share
    return np.clip(total, 0.0, 1.0)


def _many(z: Floats, corr: Floats) -> Floats:
    """Return Φ_d by conditional probabilities on a lattice, folded at its middle."""
    d, n = z.shape
    order = np.argsort(z.mean(axis=1))  # the least likely first
    chol = np.linalg.cholesky(corr[np.ix_(order, order)])
    z = z[order]
    points = np.arange(1, _LATTICE + 1)[:, None] * np.sqrt(_PRIMES[: d - 1]) % 1.0
    points = np.abs(2.0 * points - 1.0)
    out = np.empty(n)
    block = max(1, _CELLS // _LATTICE)
    for start in range(0, n, block):
        part = z[:, start : start + block, None]
        edge = np.broadcast_to(ndtr(part[0] / chol[0, 0]), (part.shape[1], _LATTICE))
        chance = edge.copy()
        shift = np.zeros((d, part.shape[1], _LATTICE))  # what the variables before add to each
        for v in range(1, d):
            draw = ndtri(np.clip(points[:, v - 1] * edge, 1e-300, 1.0 - 1e-16))
            shift[v:] += chol[v:, v - 1, None, None] * draw
            edge = ndtr((part[v] - shift[v]) / chol[v, v])
            chance *= edge
        out[start : start + block] = chance.mean(axis=1)
    return out


def normal_box(Z: Floats, corr: Floats) -> Floats:
    """Return P(z₁ ≤ Z₁, ..., z_d ≤ Z_d) of standard normal variables for every column of Z.

    Parameters
    ----------
    Z : ndarray of shape (d, n)
        Upper ends; infinite ones are allowed.
    corr : ndarray of shape (d, d)
        Correlations, positive definite.

    Returns
    -------
    ndarray of shape (n,)
        Probabilities, exact to about 1e-15 up to three variables, to about 1e-5 beyond. The
        error is absolute: a small probability of negatively dependent variables has fewer digits.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.probability.normal_boxes import normal_box
    >>> float(normal_box(np.zeros((2, 1)), np.array([[1, 0.5], [0.5, 1]]))[0].round(6))
    0.333333
    """
    Z = np.clip(np.asarray(Z, dtype=float), -_FAR, _FAR)
    d = len(Z)
    if d == 0:
        return np.ones(Z.shape[1])
    if d == 1:
        return ndtr(Z[0])
    if d == 2:
        rho = float(corr[0, 1])
        parts = [Z[:, i : i + _ROWS] for i in range(0, max(Z.shape[1], 1), _ROWS)]
        return np.concatenate([_two(part[0], part[1], rho) for part in parts])
    return _three(Z, corr) if d == 3 else _many(Z, corr)


def log_normal_box(Z: Floats, corr: Floats) -> Floats:
    """Return the logarithm of `normal_box`; of one variable without underflow."""
    if len(Z) == 1:
        return log_ndtr(np.clip(Z[0], -_FAR, _FAR))
    with np.errstate(divide="ignore"):
        return np.log(normal_box(Z, corr))
