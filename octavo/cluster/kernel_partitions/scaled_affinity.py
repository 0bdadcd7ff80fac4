"""`symmetric_sinkhorn`: the doubly stochastic matrix of an affinity.

References: A. Shashua (2008), "Introduction to Machine Learning", section 6.3.2; R. Zass and
A. Shashua (2007), "Doubly stochastic normalization for spectral clustering".
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.kernels.gram import check_symmetric
from octavo.engine.transport.symmetric_scaling import has_total_support, symmetric_scaling

__all__ = ["symmetric_sinkhorn"]

NORMALIZATIONS = ("kl", "ncut", "l1", "none")


def read_affinity(K: Any, name: str = "K") -> Any:
    """Return a symmetric, non-negative matrix without an empty row: an array or CSR."""
    if sp.issparse(K):
        A = canonical_csr(K).astype(np.float64)
        if not np.isfinite(A.data).all():
            raise ValueError(f"{name} must hold finite numbers; it contains NaN or infinity.")
        values = A.data
    else:
        A = real_array(K, name)
        values = A
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.shape[0]:
        raise ValueError(f"{name} must be square, one row and column per node; got {A.shape}.")
    if values.size and values.min() < 0.0:
        raise ValueError(f"{name} must not be negative; its least entry is {values.min():g}.")
    if sp.issparse(A):
        apart = abs(A - A.T)
        if apart.nnz and apart.max() > 1e-8 * A.max():
            raise ValueError(f"{name} must be symmetric; K and its transpose differ.")
        A = (A + A.T) * 0.5
    else:
        check_symmetric(A, name)
        A = 0.5 * A + 0.5 * A.T
    sums = np.asarray(A.sum(axis=1)).ravel()
    empty = np.flatnonzero(sums <= 0.0)
    if empty.size:
        raise ValueError(
            f"{name} needs a positive entry in every row; row {empty[0]} has none"
            f"{'' if empty.size == 1 else f', nor have {empty.size - 1} others'}. Drop such rows, "
            "or join them to others."
        )
    return sp.csr_array(A) if sp.issparse(A) else A


def scaled_both_sides(A: Any, x: Any) -> Any:
    """Return diag(x) A diag(x), symmetric to the last bit."""
    if sp.issparse(A):
        scaled = A.copy()
        row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        scaled.data = A.data * (x[row] * x[A.indices])
        return scaled
    return A * np.outer(x, x)


def doubly_stochastic(A: Any, *, tol: float, max_iter: int, name: str = "K") -> tuple[Any, Any]:
    """Return the scaled matrix and the outcome of scaling; raise where there is none."""
    if not has_total_support(A):
        raise ValueError(
            f"{name} has no doubly stochastic scaling: some positive entry lies on no diagonal of "
            "positive entries (no total support). Give nodes a positive affinity to themselves."
        )
    # sizes far from one would leave the range of squares
    size = float(A.max())
    # the fixed point of Section 6.3.2's iteration
    found = symmetric_scaling(A / size, tol=tol, max_iter=max_iter)
    if found.residual > tol:
        warnings.warn(
            f"Row sums are still off by {found.residual:.3g} after {found.n_iter} products "
            f"(tol={tol:g}). Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return scaled_both_sides(A / size, found.x), found


@checked
def symmetric_sinkhorn(
    K: Any, *, tol: float = 1e-12, max_iter: int = 10_000, return_scaling: bool = False
) -> Any:
    """Return diag(x) K diag(x) whose rows and columns add up to one.

    The doubly stochastic matrix nearest to an affinity in relative entropy (§6.3.2). Works by
    products with K alone, so that sparse matrices stay sparse.

    Parameters
    ----------
    K : {array-like, sparse matrix} of shape (n, n)
        Symmetric, none negative, with total support: a positive diagonal is enough.
    tol : float, default=1e-12
        Largest deviation of a row sum from one.
    max_iter : int, default=10_000
        Most products with K.
    return_scaling : bool, default=False
        Return x too.

    Returns
    -------
    scaled : ndarray or csr_array of shape (n, n)
        Symmetric and doubly stochastic.
    x : ndarray of shape (n,)
        The scaling, only where asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.cluster import symmetric_sinkhorn
    >>> symmetric_sinkhorn(np.array([[2.0, 1.0], [1.0, 1.0]])).round(4)
    array([[0.5858, 0.4142],
           [0.4142, 0.5858]])
    """
    if not tol > 0.0 or max_iter < 1:
        raise ValueError(f"tol and max_iter must be positive; got {tol} and {max_iter}.")
    A = read_affinity(K)
    scaled, found = doubly_stochastic(A, tol=tol, max_iter=max_iter)
    if not return_scaling:
        return scaled
    return scaled, found.x / np.sqrt(float(A.max()))
