"""Sparse Cholesky factor and selected inverse of a precision matrix, for direct use.

References
----------
B. Cseke and T. Heskes. Approximate marginals in latent Gaussian models. JMLR 12, 2011, Appendix A.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.sparse_gaussian.factor import (
    SparseFactor,
    SupernodalLayout,
    analyze_precision,
    canonical_symmetric,
    selected_inverse_matrix,
)

__all__ = ["SparseCholesky", "selected_inverse", "sparse_cholesky"]


class SparseCholesky(NamedTuple):
    """L L' = Q[order][:, order], as `sparse_cholesky` returns it.

    L : sparse array of shape (n, n), lower triangular.
    order : array of shape (n,)
    log_det : float, the log-determinant of Q.
    """

    L: sp.csc_array
    order: Ints
    log_det: float
    factor: SparseFactor

    def solve(self, b: ArrayLike) -> Floats:
        """Return the solution of Q x = b for a vector or for the columns of a matrix.

        Parameters
        ----------
        b : array-like of shape (n,) or (n, k)
            Right-hand sides.

        Returns
        -------
        x : array of the shape of b
        """
        right = np.asarray(b, dtype=np.float64)
        if right.shape[:1] != self.order.shape:
            raise ValueError(f"b should have {self.order.size} rows, got shape {right.shape}.")
        return self.factor.solve(right)


def _precision(Q: Any) -> sp.csr_array:
    if not sp.issparse(Q):
        Q = np.asarray(Q, dtype=np.float64)
        if Q.ndim != 2 or 0 in Q.shape:
            raise ValueError(f"Q should be a square matrix, got shape {Q.shape}.")
    return canonical_symmetric(Q)


@checked
def sparse_cholesky(Q: Any, *, order: ArrayLike | None = None) -> SparseCholesky:
    """Return the sparse Cholesky factor of a symmetric positive definite matrix.

    Parameters
    ----------
    Q : array-like or sparse matrix of shape (n, n)
        The matrix.
    order : array-like of shape (n,), default=None
        An order of elimination; one that keeps the factor sparse is found if None.

    Returns
    -------
    factor : SparseCholesky
        With `L`, `order`, `log_det` and the method `solve`.

    Examples
    --------
    >>> from octavo.bayes import ar1, sparse_cholesky
    >>> factor = sparse_cholesky(ar1(1000, 0.9))
    >>> round(factor.log_det, 6)
    -1.660731
    """
    matrix = _precision(Q)
    chosen = None
    if order is not None:
        chosen = np.asarray(order, dtype=np.int64)
        if not np.array_equal(np.sort(chosen), np.arange(matrix.shape[0])):
            raise ValueError(f"order should hold each of 0 to {matrix.shape[0] - 1} once.")
    layout = SupernodalLayout(matrix, chosen)
    factor = layout.factor(matrix.data)
    return SparseCholesky(factor.lower(), layout.pattern.order, factor.log_det, factor)


@checked
def selected_inverse(Q: Any) -> sp.csr_array:
    """Return the inverse of a sparse matrix on the pattern of its factor (Takahashi).

    The diagonal and all entries at which Q is not zero are among them; the others, which a sparse
    array shows as zeros, are not computed.

    Parameters
    ----------
    Q : array-like or sparse matrix of shape (n, n)
        Symmetric, positive definite.

    Returns
    -------
    V : sparse array of shape (n, n)
        In the order of Q.

    Examples
    --------
    >>> from octavo.bayes import ar1, selected_inverse
    >>> V = selected_inverse(ar1(100_000, 0.6))
    >>> round(float(V[500, 500]), 6), V.nnz
    (1.5625, 299998)
    """
    matrix = _precision(Q)
    layout = analyze_precision(matrix)
    return selected_inverse_matrix(layout, layout.factor(matrix.data).inverse_values())
