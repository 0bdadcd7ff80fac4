"""Proximal maps of matrix norms: entries, rows and singular values shrunk towards zero.

Each returns ``argmin ½‖Z − M‖²_F + τ ‖Z‖`` for its norm, in closed form. Singular values are shrunk
where the matrix lies: NumPy arrays or, under scikit-learn's array API dispatch, arrays of any
namespace and device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.namespaces import namespace_of

# Squaring M to get its singular vectors loses those below this share of the largest: 1e-6 in
# doubles, a fiftieth in single precision.
SQUARE_ROOTS_OF_ROUNDING = 67.0
FEW = 0.125  # share of the values above, up to which those alone are found sooner than all


def soft_threshold(M: Floats, tau: float) -> Floats:
    """Shrink every entry by `tau`: the map of the sum of absolute values."""
    return M - np.clip(M, -tau, tau)


def shrink_rows(M: Floats, tau: float) -> Floats:
    """Shrink the norm of every row by `tau`: the map of the sum of the rows' norms."""
    norms = np.linalg.norm(M, axis=1, keepdims=True)
    return M * np.maximum(1.0 - tau / np.maximum(norms, np.finfo(float).tiny), 0.0)


def shrink_singular_values(M: Any, tau: float, likely: int | None = None) -> tuple[Any, Any]:
    """Shrink every singular value by `tau`: the map of the nuclear norm.

    Parameters
    ----------
    M : array of shape (n, m)
        The matrix.
    tau : float
        The threshold.
    likely : int, default=None
        How many values a matrix nearby had above the threshold: for time alone.

    Returns
    -------
    Z : array of shape (n, m)
        The matrix after shrinking.
    values : array
        Its singular values that are not zero, increasing.
    """
    left, right, values = shrunk_factors(M, tau, likely)
    return left @ right, values


def shrunk_factors(M: Any, tau: float, likely: int | None = None) -> tuple[Any, Any, Any]:
    """Return `shrink_singular_values` as a product: left (n, k), right (k, m), and the values."""
    if M.shape[0] < M.shape[1]:
        left, right, values = shrunk_factors(M.T, tau, likely)
        return right.T, left.T, values
    is_numpy = isinstance(M, np.ndarray)  # to ask takes a tenth of a small decomposition
    xp: Any = np if is_numpy else namespace_of(M).xp
    gram = M.T @ M
    bound = float(xp.linalg.vector_norm(gram)) ** 0.5  # at least the largest singular value
    if tau <= SQUARE_ROOTS_OF_ROUNDING * float(xp.finfo(M.dtype).eps) ** 0.5 * bound:
        U, sigma, Vt = xp.linalg.svd(M, full_matrices=False)
        k = int(xp.count_nonzero(sigma > tau))  # the largest come first
        values = sigma[:k] - tau
        return U[:, :k] * values, Vt[:k, :], xp.flip(values)
    if is_numpy and likely is not None and likely <= FEW * M.shape[1]:
        above = {"subset_by_value": (tau * tau, np.inf), "driver": "evr"}
        squares, V = eigh(gram, check_finite=False, **above)
    else:
        squares, V = xp.linalg.eigh(gram)
        k = int(xp.count_nonzero(squares <= tau * tau))
        squares, V = squares[k:], V[:, k:]
    sigma = xp.sqrt(squares)
    return (M @ V) * (1.0 - tau / sigma), V.T, sigma - tau  # U(σ − τ) = M V(1 − τ/σ)
