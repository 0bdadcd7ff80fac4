"""Cholesky factors of small matrices inside compiled sweeps: factor, solve, rank-one changes.

numpy's linear algebra in a kernel takes seconds to compile and, for a dozen rows, longer to call
than the loops below take. Factors are lower triangles; the upper part is not read.
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.kernel_cache import njit


@njit(cache=True, error_model="numpy")
def factor_in_place(A):
    """Replace the lower triangle of A by its Cholesky factor; return log |A|, -inf if not
    positive definite.
    """
    d = A.shape[1]
    total = 0.0
    for i in range(d):
        for j in range(i + 1):
            value = A[i, j]
            for k in range(j):
                value -= A[i, k] * A[j, k]
            if i > j:
                A[i, j] = value / A[j, j]
            elif value > 0.0:
                A[i, i] = math.sqrt(value)
                total += math.log(value)
            else:
                return -np.inf
    return total


@njit(cache=True, error_model="numpy")
def solve_lower(L, b, out):
    """Fill out with L⁻¹ b."""
    for i in range(b.size):
        value = b[i]
        for k in range(i):
            value -= L[i, k] * out[k]
        out[i] = value / L[i, i]


@njit(cache=True, error_model="numpy")
def solve_upper(L, b):
    """Replace b by L⁻ᵀ b."""
    d = b.size
    for step in range(d):
        i = d - 1 - step
        value = b[i]
        for k in range(i + 1, d):
            value -= L[k, i] * b[k]
        b[i] = value / L[i, i]


@njit(cache=True, error_model="numpy")
def change_by_rank_one(L, x, sign, work):
    """Turn the factor of A into that of A + sign x xᵀ, for sign 1 or -1."""
    d = x.size
    for i in range(d):
        work[i] = x[i]
    for k in range(d):
        old = L[k, k]
        # a rotation for sign 1, a hyperbolic one for −1
        square = old * old + sign * work[k] * work[k]
        # a row that is taken out again leaves at least rounding of what was there before
        new = math.sqrt(max(square, 1e-14 * old * old))
        c, s = new / old, work[k] / old
        L[k, k] = new
        for i in range(k + 1, d):
            L[i, k] = (L[i, k] + sign * s * work[i]) / c
            work[i] = c * work[i] - s * L[i, k]


@njit(cache=True, error_model="numpy")
def small_cholesky_steps(A, x, out):
    """Factor A, add a row x and take it out again, and solve A out = x; for tests and warm-up."""
    log_det = factor_in_place(A)
    work = np.empty(x.size)
    change_by_rank_one(A, x, 1.0, work)
    change_by_rank_one(A, x, -1.0, work)
    solve_lower(A, x, out)
    solve_upper(A, out)
    return log_det


def _warmup() -> None:
    small_cholesky_steps(np.eye(2), np.ones(2), np.empty(2))
