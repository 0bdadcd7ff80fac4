"""Low-rank factors of kernel matrices by the incomplete Cholesky decomposition.

K ≈ GG' with the pivot of the largest remaining diagonal taken greedily; the kernel matrix
is never formed, only the columns of the pivots. The trace of what is left, tr(K − GG'), is
known exactly and bounds every entry of it.

Reference: Fine and Scheinberg (2001), "Efficient SVM training using low-rank kernel
representations", JMLR 2:243-264, Figure 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.kernels.pair_sums import PairKernel, kernel_block, kernel_diagonal


class LowRankGram(NamedTuple):
    """A kernel matrix K ≈ ``factor`` @ ``factor.T``.

    ``factor`` has shape (n, rank), ``pivots`` are the rows whose columns are exact,
    ``residual`` is tr(K − GG') and ``trace`` tr(K).
    """

    factor: np.ndarray
    pivots: np.ndarray
    residual: float
    trace: float


def incomplete_cholesky(
    kernel: PairKernel, X: np.ndarray, *, tol: float = 1e-6, max_rank: int | None = None
) -> LowRankGram:
    """Return G with tr(K − GG') ≤ `tol` tr(K), or of rank `max_rank` if that comes first.

    Parameters
    ----------
    kernel : PairKernel
        A positive semidefinite kernel.
    X : ndarray of shape (n_samples, n_features)
        Points.
    tol : float, default=1e-6
        Share of the trace that may be missing.
    max_rank : int, default=None
        The largest number of columns; as many as points by default.

    Returns
    -------
    LowRankGram
        The factor, its pivots and what it misses.
    """
    n = len(X)
    limit = n if max_rank is None else min(n, max_rank)
    left = kernel_diagonal(kernel, X).astype(np.float64)
    if left.min() < 0.0 or kernel.name == "distance":
        raise ValueError(
            "An incomplete Cholesky decomposition needs a positive semidefinite kernel; "
            f"the kernel {kernel.name!r} has the diagonal minimum {left.min():g}."
        )
    trace = float(left.sum())
    factor = np.zeros((n, min(limit, 64)), order="F")
    pivots: list[int] = []
    while len(pivots) < limit and left.sum() > tol * trace:
        rank, pivot = len(pivots), int(left.argmax())
        if left[pivot] <= 1e-14 * trace:  # what is left is rounding
            break
        if rank == factor.shape[1]:
            wider = np.zeros((n, min(limit, 2 * rank)), order="F")
            wider[:, :rank] = factor
            factor = wider
        column = kernel_block(kernel, X, X[pivot : pivot + 1])[:, 0]
        column -= factor[:, :rank] @ factor[pivot, :rank]
        column /= np.sqrt(left[pivot])
        column[pivots] = 0.0  # exact already; only rounding could stand there
        factor[:, rank] = column
        left -= column**2
        np.maximum(left, 0.0, out=left)
        left[pivot] = 0.0
        pivots.append(pivot)
    used = factor[:, : len(pivots)]
    return LowRankGram(used, np.array(pivots, dtype=np.intp), float(left.sum()), trace)
