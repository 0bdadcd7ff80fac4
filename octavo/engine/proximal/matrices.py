"""Proximal maps of matrix norms: entries, rows and singular values shrunk towards zero.

Each returns ``argmin ½‖Z − M‖²_F + τ ‖Z‖`` for its norm, in closed form.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from octavo.engine.estimators.arrays import Floats

# Squaring M to get its singular vectors loses those below this share of the largest.
SQUARE_ROOT_OF_ROUNDING = 1e-6


def soft_threshold(M: Floats, tau: float) -> Floats:
    """Shrink every entry by `tau`: the map of the sum of absolute values."""
    return M - np.clip(M, -tau, tau)


def shrink_rows(M: Floats, tau: float) -> Floats:
    """Shrink the norm of every row by `tau`: the map of the sum of the rows' norms."""
    norms = np.linalg.norm(M, axis=1, keepdims=True)
    return M * np.maximum(1.0 - tau / np.maximum(norms, np.finfo(float).tiny), 0.0)


def shrink_singular_values(M: Floats, tau: float) -> tuple[Floats, Floats]:
    """Shrink every singular value by `tau`: the map of the nuclear norm.

    Parameters
    ----------
    M : ndarray of shape (n, m)
        The matrix.
    tau : float
        The threshold.

    Returns
    -------
    Z : ndarray of shape (n, m)
        The matrix after shrinking.
    values : ndarray
        Its singular values that are not zero, increasing.
    """
    left, right, values = shrunk_factors(M, tau)
    return left @ right, values


def shrunk_factors(M: Floats, tau: float) -> tuple[Floats, Floats, Floats]:
    """Return `shrink_singular_values` as a product: left (n, k), right (k, m), and the values."""
    if M.shape[0] < M.shape[1]:
        left, right, values = shrunk_factors(M.T, tau)
        return right.T, left.T, values
    gram = M.T @ M
    bound = np.sqrt(np.linalg.norm(gram))  # at least the largest singular value
    if tau <= SQUARE_ROOT_OF_ROUNDING * bound:
        U, sigma, Vt = np.linalg.svd(M, full_matrices=False)
        kept = sigma > tau
        values = sigma[kept] - tau
        return U[:, kept] * values, Vt[kept], values[::-1]
    squares, V = eigh(gram, subset_by_value=(tau * tau, np.inf), driver="evr", check_finite=False)
    sigma = np.sqrt(squares)
    return (M @ V) * (1.0 - tau / sigma), V.T, sigma - tau
