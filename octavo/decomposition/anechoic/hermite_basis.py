"""An orthonormal basis of eigenvectors of the discrete Fourier transform, ordered as Hermite's.

Powers of the transform need eigenvectors that are told apart within its four eigenspaces. The
matrix of second differences and cosines that commutes with it has even and odd eigenvectors with
as many sign changes as their order; Hermite functions sampled on the grid, made orthonormal within
each eigenspace from the lowest order up, are then exact wherever the grid can hold them.

Reference: Candan, Kutay and Ozaktas (2000), "The discrete fractional Fourier transform", IEEE
Transactions on Signal Processing 48:1329-1337.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import eigh_tridiagonal

from octavo.engine.estimators.arrays import Floats, Ints

_LARGE = 1e100


def signed_index(n: int) -> Floats:
    """Return 0, 1, ..., -2, -1: times or frequencies of a circular grid, its origin first."""
    return np.fft.fftfreq(n, 1.0 / n).astype(np.float64)


def hermite_functions(n: int, orders: int) -> Floats:
    """Return Hermite functions of exp(-πt²) at t = signed index / √n, a row for each order."""
    u = np.sqrt(2.0 * np.pi / n) * signed_index(n)
    last, here, logs = np.zeros(n), np.ones(n), -0.5 * u * u
    rows = np.empty((orders, n))
    for k in range(orders):
        rows[k] = here * np.exp(logs)
        # Hermite's recurrence, scaled by √k!
        upper = np.sqrt(2.0 / (k + 1)) * u * here - np.sqrt(k / (k + 1)) * last
        last, here = here, upper
        huge = np.abs(here) > _LARGE  # far from the origin values grow from below 1e-308
        if huge.any():
            here[huge] /= _LARGE
            last[huge] /= _LARGE
            logs[huge] += np.log(_LARGE)
    return rows * (2.0 / n) ** 0.25


def _commuting_eigenvectors(n: int) -> tuple[Floats, Ints]:
    """Return eigenvectors of the commuting matrix, in columns, and their orders."""
    half = n // 2
    n_even, n_odd = half + 1, n - half - 1
    diagonal = 2.0 * np.cos(2.0 * np.pi * np.arange(n_even) / n) - 4.0
    vectors, orders = np.zeros((n, n)), np.empty(n, dtype=np.int64)
    # Even vectors, in the basis of (e_k + e_-k) / √2.
    side = np.ones(half)
    main = diagonal.copy()
    if half:
        side[0] = np.sqrt(2.0)
        if n % 2 == 0:
            side[-1] = np.sqrt(2.0) if half > 1 else 2.0
        else:
            main[-1] += 1.0  # the last neighbours itself across the seam
    even = eigh_tridiagonal(main, side)[1][:, ::-1] if n_even > 1 else np.ones((1, 1))
    scale = np.full(n_even, np.sqrt(0.5))
    scale[0] = 1.0
    if n % 2 == 0:
        scale[-1] = 1.0
    for k in range(n_even):
        vectors[k, :n_even] = vectors[-k % n, :n_even] = scale[k] * even[k]
    orders[:n_even] = 2 * np.arange(n_even)
    if n_odd:
        main = diagonal[1 : 1 + n_odd].copy()
        if n % 2:
            main[-1] -= 1.0
        odd = eigh_tridiagonal(main, np.ones(n_odd - 1))[1][:, ::-1]
        for k in range(n_odd):
            vectors[k + 1, n_even:] = np.sqrt(0.5) * odd[k]
            vectors[n - k - 1, n_even:] = -np.sqrt(0.5) * odd[k]
        orders[n_even:] = 2 * np.arange(n_odd) + 1
    return vectors, orders


@lru_cache(maxsize=8)
def hermite_basis(n: int) -> tuple[Floats, Ints]:
    """Return the basis, vectors in columns, and the orders k: F has the eigenvalues (-i)^k.

    Parameters
    ----------
    n : int
        Length of the transform.

    Returns
    -------
    basis : ndarray of shape (n, n)
        Orthonormal; for even n the order n - 1 is left out and n taken, as the transform has it.
    orders : ndarray of shape (n,)
        The order of each column.
    """
    vectors, orders = _commuting_eigenvectors(n)
    sampled = hermite_functions(n, int(orders.max()) + 1)
    for rest in range(4):  # each eigenspace of the transform apart
        members = np.flatnonzero(orders % 4 == rest)
        members = members[np.argsort(orders[members])]
        if not members.size:
            continue
        space = vectors[:, members]
        turn, triangle = np.linalg.qr(space.T @ sampled[orders[members]].T)
        vectors[:, members] = (space @ turn) * np.where(np.diag(triangle) < 0, -1.0, 1.0)
    vectors.flags.writeable = orders.flags.writeable = False
    return vectors, orders
