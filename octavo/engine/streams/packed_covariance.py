"""Covariances that absorb one measurement after the other, positive definite for ever.

Every second-order online learner changes its covariance Σ in the same way: it absorbs a
measurement of x·w with noise variance r,

    Σ  <-  Σ - Σ x xᵀ Σ / (xᵀ Σ x + r),

and the learners differ in r alone. Subtracting loses positive definiteness to rounding once
r is small, so the full Σ is kept as U D Uᵀ (U unit upper triangular, D positive diagonal,
both in one packed array) and the factors are updated: no cancellation can make D negative.
The diagonal form keeps the diagonal of Σ and touches the nonzeros of x only.

References
----------
G. J. Bierman. Factorization Methods for Discrete Sequential Estimation. Academic Press,
1977, chapter V: the update of U and D.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.streams.passes import JIT, SUM, WORD, as_rows, axpy, row_of

__all__ = ["Covariance", "new_covariance"]

NONE, DIAGONAL, FULL = 0, 1, 2
INNER_WORD: Any = {"error_model": "numpy", "forceinline": True}
_FLOOR = 1e-200  # smallest variance kept: its product with a squared feature is not yet zero


class Covariance(NamedTuple):
    """A covariance and the two vectors its products are computed in.

    ``values`` is empty, the diagonal, or the packed factor: column ``j`` of U above its
    diagonal, then ``D[j]``, starting at ``j (j + 1) / 2``. The vectors are None where there is
    no factor: their types tell the compiler which form of a kernel to compile.
    """

    kind: int
    values: np.ndarray
    projected: np.ndarray | None
    gain: np.ndarray | None


def new_covariance(kind: int, n_coordinates: int, variance: float) -> Covariance:
    """Return ``variance`` times the identity.

    Parameters
    ----------
    kind : {NONE, DIAGONAL, FULL}
        What to keep.
    n_coordinates : int
        Number of rows of the covariance.
    variance : float
        The variance of every coordinate.

    Returns
    -------
    covariance : Covariance
        A fresh covariance.
    """
    if kind == NONE:
        return Covariance(NONE, np.zeros(0), None, None)
    if kind == DIAGONAL:
        return Covariance(kind, np.full(n_coordinates, variance), None, None)
    values = np.zeros(n_coordinates * (n_coordinates + 1) // 2)
    values[np.cumsum(np.arange(1, n_coordinates + 1)) - 1] = variance
    return Covariance(kind, values, np.zeros(n_coordinates), np.zeros(n_coordinates))


def as_matrix(covariance: Covariance) -> np.ndarray:
    """Return the covariance itself: a vector if diagonal, else a symmetric matrix."""
    if covariance.gain is None:
        return covariance.values.copy()
    n = covariance.gain.size
    factor = np.zeros((n, n))
    factor[np.tril_indices(n)] = covariance.values  # row j of the transpose is column j of U
    variances = factor.diagonal().copy()
    np.fill_diagonal(factor, 1.0)
    matrix = (factor.T * variances) @ factor  # Σ = U D Uᵀ
    return (matrix + matrix.T) / 2


@njit(**SUM)
def _dense_variance(row, values):
    total = 0.0
    for k in range(row.size):
        total += values[k] * row[k] * row[k]
    return total


@njit(**WORD)
def _sparse_variance(indices, row, values):
    a, b, c, d = 0.0, 0.0, 0.0, 0.0  # none waits for another
    whole = row.size & ~3
    for k in range(0, whole, 4):
        a += values[indices[k]] * row[k] * row[k]
        b += values[indices[k + 1]] * row[k + 1] * row[k + 1]
        c += values[indices[k + 2]] * row[k + 2] * row[k + 2]
        d += values[indices[k + 3]] * row[k + 3] * row[k + 3]
    for k in range(whole, row.size):
        a += values[indices[k]] * row[k] * row[k]
    return (a + b) + (c + d)


@njit(**WORD)
def _variance_diagonal(x, values):
    total = 0.0
    if x.dense:
        total = _dense_variance(x.values, values)
    else:
        total = _sparse_variance(x.indices, x.values, values)
    if x.bias != 0.0:
        total += values[x.n_features] * x.bias * x.bias
    return total


@njit(**SUM)
def _variance_full(x, values, projected, scattered):
    """Write ``Uᵀ x`` and return ``Σ D (Uᵀ x)²``."""
    for j in range(scattered.size):
        scattered[j] = 0.0
    axpy(1.0, x, scattered)
    few = not x.dense and 4 * x.values.size < projected.size
    total = 0.0
    start = 0
    for j in range(projected.size):
        f = scattered[j]
        if few:  # the bias, where there is one, is the last coordinate: never above column j
            for k in range(x.values.size):
                if x.indices[k] < j:
                    f += values[start + x.indices[k]] * x.values[k]
        else:
            for i in range(j):
                f += values[start + i] * scattered[i]
        projected[j] = f
        total += values[start + j] * f * f
        start += j + 1
    return total


@njit(**WORD)
def variance(x, covariance):
    """Return ``xᵀ Σ x``. `absorb` and `gain` need it called first, on the same row."""
    return _variance_of(x, covariance.values, covariance.projected, covariance.gain)


# Of the two forms of a covariance only the one that is there is compiled. The plain function says
# what both overloads do, and names what they call for the key of the cache.
def _variance_of(x, values, projected, gain):
    if projected is None:
        return _variance_diagonal(x, values)
    return _variance_full(x, values, projected, gain)


@overload(_variance_of, jit_options=INNER_WORD)
def _variance_either(x, values, projected, gain):
    if isinstance(projected, types.NoneType):
        return lambda x, values, projected, gain: _variance_diagonal(x, values)
    return lambda x, values, projected, gain: _variance_full(x, values, projected, gain)


@njit(**JIT)
def _absorb_full(values, projected, gain, noise):
    """Update U and D, and write ``Σ x`` (of the old Σ) into ``gain``; Bierman 1977."""
    before = noise
    start = 0
    for j in range(projected.size):
        f = projected[j]
        gain[j] = 0.0
        if f != 0.0:
            g = values[start + j] * f
            after = before + f * g  # Bierman's α_j = α_j-1 + f_j g_j
            slope = -f / before
            # Never negative, whatever the rounding: a product of positive numbers
            values[start + j] = max(values[start + j] * (before / after), _FLOOR)
            for i in range(j):
                old = values[start + i]
                values[start + i] = old + gain[i] * slope
                gain[i] += old * g
            gain[j] = g
            before = after
        start += j + 1


@njit(**JIT)
def _gain_full(values, projected, gain):
    """Write ``Σ x = U D Uᵀ x`` into ``gain`` and leave Σ alone."""
    start = 0
    for j in range(projected.size):
        g = values[start + j] * projected[j]
        for i in range(j):
            gain[i] += values[start + i] * g
        gain[j] = g
        start += j + 1


@njit(**JIT)
def absorb_full(covariance, noise):
    """Absorb the row last given to `variance` and leave ``Σ x`` of the old Σ in ``gain``.

    An infinite ``noise`` leaves Σ as it is.
    """
    absorb_factor(covariance.values, covariance.projected, covariance.gain, noise)


@njit(**JIT)
def absorb_factor(values, projected, gain, noise):
    """Do what `absorb_full` says, with the parts of a covariance."""
    if noise == np.inf:
        _gain_full(values, projected, gain)
    else:
        _absorb_full(values, projected, gain, max(noise, _FLOOR))


@njit(**WORD)
def absorb_coordinate(sigma, j, value, v, noise, shrink):
    """Absorb coordinate ``j`` of a row into a diagonal ``sigma``; return ``(Σ x)[j]``.

    ``v`` is the variance of the row and ``shrink`` is 1 / (noise + v). The new variance is
    σ - (σ x)² / (v + r), written as a product of positive terms.
    """
    old = sigma[j]
    g = old * value
    if shrink > 0.0:  # not so for an infinite noise
        # Σ - Σx xᵀΣ/(v + r), on the diagonal
        sigma[j] = max(old * ((noise + max(v - g * value, 0.0)) * shrink), _FLOOR)
    return g


@njit(**JIT)
def inflate(covariance, factor):
    """Multiply Σ by ``factor``."""
    values = covariance.values
    if covariance.kind == DIAGONAL:
        for j in range(values.size):
            values[j] *= factor
    else:
        start = 0
        n = int(np.sqrt(2.0 * values.size))  # values.size is n (n + 1) / 2
        for j in range(n):
            values[start + j] *= factor
            start += j + 1


def _warmup() -> None:
    """Compile all of the above."""
    x = row_of(as_rows(np.array([[1.0, 2.0]])), 0)
    for kind in (DIAGONAL, FULL):
        covariance = new_covariance(kind, 2, 1.0)
        variance(x, covariance)
        inflate(covariance, 1.0)
    absorb_full(covariance, 1.0)
    absorb_coordinate(np.ones(2), 0, 1.0, 1.0, 1.0, 0.5)
    _absorb_full(covariance.values, covariance.projected, covariance.gain, 1.0)
    _gain_full(covariance.values, covariance.projected, covariance.gain)
    _variance_full(x, covariance.values, covariance.projected, covariance.gain)
    _variance_diagonal(x, np.ones(2))
    _dense_variance(np.ones(2), np.ones(2))
