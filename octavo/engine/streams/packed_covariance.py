"""Covariances that absorb one measurement after the other, positive definite for ever.

Every second-order online learner changes its covariance Σ in the same way: it absorbs a
measurement of x·w with noise variance r,

    Σ  <-  Σ - Σ x xᵀ Σ / (xᵀ Σ x + r),

and the learners differ in r alone. Subtracting loses positive definiteness to rounding once
r is small, so the full Σ is kept as U D Uᵀ (U unit upper triangular, D positive diagonal,
both in one array) and the factors are updated: no cancellation can make D negative.
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
from octavo.engine.streams.triangular_tiles import (
    SIDE,
    TILE,
    n_tiles,
    sweep,
    tile_matrix,
    transposed_product,
    unit_tiles,
)

__all__ = ["Covariance", "new_covariance"]

NONE, DIAGONAL, FULL = 0, 1, 2
INNER_WORD: Any = {"error_model": "numpy", "forceinline": True}
_STEEP = 1e300
_FLOOR = 1e-200  # smallest variance kept: its product with a squared feature is not yet zero


class Covariance(NamedTuple):
    """A covariance and the vectors its products are computed in.

    ``values`` is empty, the diagonal, or the factor: D, one number a row, up to a whole tile, then
    the tiles of U. ``projected`` holds Uᵀx, the steps, the slopes and the sums of an update one
    after the other, and ``gain`` ends with what fills a tile. Both are None where there is no
    factor: their types tell the compiler which form of a kernel to compile.
    """

    kind: int
    n_coordinates: int
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
        return Covariance(NONE, n_coordinates, np.zeros(0), None, None)
    if kind == DIAGONAL:
        return Covariance(kind, n_coordinates, np.full(n_coordinates, variance), None, None)
    size = SIDE * n_tiles(n_coordinates)
    values = np.concatenate((np.full(size, variance), unit_tiles(n_coordinates)))
    return Covariance(kind, n_coordinates, values, np.zeros(4 * size + 1), np.zeros(size))


def factor_size(n_coordinates: int) -> int:
    """Return how many numbers a full covariance holds."""
    m = n_tiles(n_coordinates)
    return SIDE * m + TILE * (m * (m + 1) // 2)


def as_matrix(covariance: Covariance) -> np.ndarray:
    """Return the covariance itself: a vector if diagonal, else a symmetric matrix."""
    if covariance.gain is None:
        return covariance.values.copy()
    n, size = covariance.n_coordinates, covariance.gain.size
    factor = tile_matrix(covariance.values[size:], n)
    matrix = (factor * covariance.values[:n]) @ factor.T  # Σ = U D Uᵀ
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


@njit(**JIT)
def _add_row(tiles, i, value, out):
    """Add ``value`` times row ``i`` of U to a vector."""
    row, m = i // SIDE, out.size // SIDE
    start = TILE * (row * m - row * (row - 1) // 2) + i % SIDE
    first = SIDE * row
    for j in range(first, out.size):
        out[j] += value * tiles[start + SIDE * (j - first)]


@njit(**SUM)
def _variance_full(x, values, projected, scattered):
    """Write ``Uᵀ x`` and return ``Σ D (Uᵀ x)²``."""
    size = scattered.size
    tiles, f = values[size:], projected[:size]
    if not x.dense and SIDE * x.values.size < size:
        f[:] = 0.0
        for k in range(x.values.size):
            _add_row(tiles, np.int64(x.indices[k]), x.values[k], f)
        if x.bias != 0.0:
            _add_row(tiles, x.n_features, x.bias, f)
    else:
        scattered[:] = 0.0
        axpy(1.0, x, scattered)
        transposed_product(tiles, scattered, f, size // SIDE)
    total = 0.0
    for j in range(size):
        total += values[j] * f[j] * f[j]
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
    """Update U and D, and write ``Σ x`` (of the old Σ) into ``gain``; Bierman 1977.

    An infinite ``noise`` writes ``Σ x`` alone.
    """
    size = gain.size
    f, steps = projected[:size], projected[size : 2 * size]
    slopes, sums = projected[2 * size : 3 * size], projected[3 * size :]
    for j in range(size):
        steps[j] = values[j] * f[j]
    sums[0] = noise
    for j in range(size):
        sums[j + 1] = sums[j] + f[j] * steps[j]  # Bierman's α_j = α_j-1 + f_j g_j
    if noise == np.inf:
        slopes[:] = 0.0
    else:
        for j in range(size):
            # finite where there is no sum to be added yet, however small the noise
            slopes[j] = max(min(-f[j] / sums[j], _STEEP), -_STEEP)
        for j in range(size):
            # Never negative, whatever the rounding: a product of positive numbers
            values[j] = max(values[j] * (sums[j] / sums[j + 1]), _FLOOR)
    sweep(values[size:], slopes, steps, gain, size // SIDE)


@njit(**JIT)
def absorb_full(covariance, noise):
    """Absorb the row last given to `variance` and leave ``Σ x`` of the old Σ in ``gain``.

    An infinite ``noise`` leaves Σ as it is.
    """
    absorb_factor(covariance.values, covariance.projected, covariance.gain, noise)


@njit(**JIT)
def absorb_factor(values, projected, gain, noise):
    """Do what `absorb_full` says, with the parts of a covariance."""
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
    variances = values.size if covariance.kind == DIAGONAL else covariance.n_coordinates
    for j in range(variances):
        values[j] *= factor


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
    _add_row(covariance.values[SIDE:], 0, 1.0, covariance.gain)
    _variance_full(x, covariance.values, covariance.projected, covariance.gain)
    _variance_diagonal(x, np.ones(2))
    _dense_variance(np.ones(2), np.ones(2))
