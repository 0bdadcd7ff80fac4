"""A low-rank matrix plus a sparse one, never formed, and its leading singular vectors.

Iterations that shrink singular values keep their iterate as U Vᵀ and step along a gradient that is
zero outside the observed entries, so that the matrix whose singular vectors they need is U Vᵀ + S.
Multiplying by it costs the stored entries of U, V and S; the vectors of the last iterate are a
start that is nearly right.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from octavo.engine.estimators.arrays import Floats
from octavo.engine.spectral.block_lanczos import RitzPairs, block_lanczos

__all__ = ["LowRankPlusSparse", "TruncatedSVD", "entries_of_product", "truncated_svd"]

ROUNDING = 1e-14
BLOCKS, RESTARTS = 12, 30


class LowRankPlusSparse(LinearOperator):
    """The matrix ``U Vᵀ + S``.

    Parameters
    ----------
    U : ndarray of shape (n, rank)
    V : ndarray of shape (m, rank)
    S : sparse matrix of shape (n, m)
    """

    def __init__(self, U: Floats, V: Floats, S: Any):
        self.U, self.V, self.S = U, V, sp.csr_array(S)
        self.S_transposed = self.S.T.tocsr()
        super().__init__(np.float64, self.S.shape)

    def _matmat(self, X: Floats) -> Floats:
        return self.U @ (self.V.T @ X) + self.S @ X

    def _matvec(self, x: Floats) -> Floats:
        return self._matmat(x)

    def _rmatmat(self, X: Floats) -> Floats:
        return self.V @ (self.U.T @ X) + self.S_transposed @ X

    def _rmatvec(self, x: Floats) -> Floats:
        return self._rmatmat(x)

    def to_dense(self) -> Floats:
        """Return the matrix itself."""
        return self.U @ self.V.T + self.S.toarray()


class TruncatedSVD(NamedTuple):
    """Leading singular triples: U (n, k), values (k,) from the largest on, V (m, k).

    `residual` is the largest |Mᵀu - σv| of them.
    """

    U: Floats
    values: Floats
    V: Floats
    residual: float


def truncated_svd(
    matrix: LinearOperator,
    rank: int,
    *,
    start: Floats | None = None,
    tol: float = 1e-10,
    rng: np.random.RandomState | None = None,
    oversampling: int = 8,
) -> TruncatedSVD:
    """Return the leading singular values and vectors of a matrix that can only be multiplied.

    Parameters
    ----------
    matrix : LinearOperator of shape (n, m)
        With products from both sides, of blocks.
    rank : int
        How many, at most min(n, m).
    start : ndarray of shape (m, any), default=None
        Columns that nearly span the right singular vectors; the last iterate's, say.
    tol : float, default=1e-10
        Bound on |Mᵀu - σv| relative to the largest singular value.
    rng : RandomState, default=None
        Fills the start up; needed where `start` has fewer columns than `rank + oversampling`.
    oversampling : int, default=8
        Columns of a block beyond `rank`.

    Returns
    -------
    TruncatedSVD
    """
    n, m = matrix.shape
    rank = min(rank, n, m)
    width = rank + oversampling
    if m <= 4 * width:  # a few blocks are the whole space
        U, values, Vt = np.linalg.svd(matrix.matmat(np.eye(m)), full_matrices=False)
        return TruncatedSVD(U[:, :rank], values[:rank], Vt[:rank].T, 0.0)
    block = np.empty((m, 0)) if start is None else np.asarray(start, dtype=np.float64)[:, :width]
    if block.shape[1] < width:
        rng = np.random.RandomState(0) if rng is None else rng
        block = np.hstack([block, rng.standard_normal((m, width - block.shape[1]))])
    # the square of a matrix of very small or large entries would leave the doubles
    size = np.abs(matrix.matmat(block)).max() / max(np.abs(block).max(), 1e-300)
    unit = 2.0 ** -np.rint(np.log2(size)) if size > 0.0 else 1.0

    def finished(found: RitzPairs) -> bool:
        lengths = np.sqrt(np.maximum(found.values[:rank], 0.0))
        within = tol * lengths[0] * lengths  # |Mᵀu - σv| is the residual of MᵀM over σ
        return bool(np.all(found.residuals[:rank] <= within + ROUNDING * lengths[0] ** 2))

    def squared(X: Floats) -> Floats:
        # MᵀM, whose eigenvectors are the right singular ones
        return matrix.rmatmat(matrix.matmat(X) * unit) * unit

    for _ in range(RESTARTS):
        found = block_lanczos(squared, block, finished, max_columns=min(m, BLOCKS * width))
        if found.exhausted or finished(found):
            break
        block = found.vectors(width)
    image = matrix.matmat(found.vectors(rank))
    U, values, turn = np.linalg.svd(image, full_matrices=False)  # M itself, not its square
    V = found.vectors(rank) @ turn.T
    back = matrix.rmatmat(U) - V * values
    return TruncatedSVD(U, values, V, float(np.linalg.norm(back, axis=0).max(initial=0.0)))


def entries_of_product(U: Floats, V: Floats, pattern: Any) -> Any:
    """Return the entries of ``U Vᵀ`` where a sparse matrix has stored ones, as such a matrix.

    Parameters
    ----------
    U : ndarray of shape (n, rank)
    V : ndarray of shape (m, rank)
    pattern : csr_array of shape (n, m)

    Returns
    -------
    entries : csr_array of shape (n, m)
        With the index arrays of `pattern`.
    """
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    values = np.empty(pattern.indices.size)
    for first in range(0, values.size, 1 << 18):  # a block of gathered rows at a time
        part = slice(first, first + (1 << 18))
        values[part] = np.einsum("ij,ij->i", U[rows[part]], V[pattern.indices[part]])
    return sp.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)
