"""Weighted scatter matrices ΣwᵢxᵢxᵢT whose weights spread over many orders of magnitude.

M-estimators of scatter and of subspaces repeat one step: weigh the rows by what the current
precision ``Q = ZZᵀ`` says of them, sum the weighted scatter ``A``, invert it. Where some rows lie
on a subspace, A has a condition number of 1e12 and its inverse is noise. Here A is never formed:
rows are whitened first, ``y = Zᵀx``, and ``B = Σ w y yᵀ = ZᵀAZ`` is near a multiple of the
identity close to the fixed point, however ill-conditioned A is. With the Cholesky factor
``B = UᵀU`` the next factor is ``Z U⁻¹``. Upper triangular Z stay upper triangular, so that a
pass costs as much as the plain one: two triangular products and one symmetric update.

Rows come in blocks: a dense array, one mapped from a file, or a sparse matrix; nothing of the
size of the data is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk, dtrmm
from scipy.linalg.lapack import dpotrf, dtrcon, dtrtri
from scipy.sparse import issparse

from octavo.engine.estimators.arrays import Floats

Weight = Callable[[Floats], Floats]

BLOCK_BYTES = 1 << 19  # of one block of rows: a few of these fit into the cache of a core
TALL_BLOCK_BYTES = 1 << 23  # where every block is factorised together with a square matrix
# Below this ratio of the diagonal of a Cholesky factor, half of the digits are gone.
THIN = 1e-6


def row_blocks(X: Any, n_bytes: int | None = None) -> Iterator[tuple[slice, Any]]:
    """Yield slices of rows and the blocks they stand for, dense ones as float64.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows; sparse ones by rows (CSR).
    n_bytes : int, optional
        About how large a block is.

    Yields
    ------
    rows : slice
        Which rows these are.
    block : ndarray or sparse matrix
        The rows.
    """
    n_samples, n_features = X.shape
    step = max(256, (n_bytes or BLOCK_BYTES) // (8 * max(n_features, 1)))
    for start in range(0, n_samples, step):
        rows = slice(start, min(start + step, n_samples))
        block = X[rows]
        yield rows, block if issparse(block) else np.ascontiguousarray(block, dtype=np.float64)


def row_norms(X: Any) -> Floats:
    """Return the Euclidean norm of every row."""
    norms = np.empty(X.shape[0])
    for rows, block in row_blocks(X):
        squares = block.multiply(block).sum(axis=1) if issparse(block) else None
        if squares is None:
            norms[rows] = np.sqrt(np.einsum("ij,ij->i", block, block))
        else:
            norms[rows] = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    return norms


def whiten(block: Any, Z: Floats, triangular: bool) -> Floats:
    """Return ``Zᵀ x`` for the rows x of a block, as columns in Fortran order."""
    if issparse(block):
        return np.asarray(block @ Z, dtype=np.float64).T
    if triangular:
        return dtrmm(1.0, Z, block.T, trans_a=1)
    return (block @ Z).T


def whitened_scatter(
    X: Any, Z: Floats, weight: Weight, *, squared: bool = False, triangular: bool = True
) -> tuple[Floats, Floats]:
    """Return ``Σ w(r) y yᵀ`` of the whitened rows ``y = Zᵀ x``, and the residuals r.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows x.
    Z : ndarray of shape (n_features, n_features)
        A factor of the precision Q = ZZᵀ, in Fortran order.
    weight : callable
        From residuals to weights.
    squared : bool, default=False
        The residual is ``xᵀQx`` instead of ``‖Qx‖``.
    triangular : bool, default=True
        Whether Z is upper triangular.

    Returns
    -------
    B : ndarray of shape (n_features, n_features)
        The scatter; its upper triangle alone is filled.
    r : ndarray of shape (n_samples,)
        The residuals.
    """
    n_samples, n_features = X.shape
    B = np.zeros((n_features, n_features), order="F")
    residuals = np.empty(n_samples)
    for rows, block in row_blocks(X):
        Y = whiten(block, Z, triangular)
        if squared:
            residuals[rows] = np.einsum("ij,ij->i", Y.T, Y.T)
        else:
            R = dtrmm(1.0, Z, Y) if triangular else np.asfortranarray(Z @ Y)
            residuals[rows] = np.sqrt(np.einsum("ij,ij->i", R.T, R.T))
        Y *= np.sqrt(weight(residuals[rows]))
        B = dsyrk(1.0, Y, beta=1.0, c=B, overwrite_c=1)
    return B, residuals


def triangle(M: Floats) -> Floats:
    """Return the upper triangular factor of a QR decomposition."""
    return np.asarray(np.linalg.qr(M, mode="r"))


def scatter_factor(X: Any, Z: Floats, weights: Floats, *, triangular: bool = True) -> Floats:
    """Return the upper triangular U with ``UᵀU = Σ w y yᵀ`` by orthogonal factorisation.

    It squares no condition number, and serves where Cholesky's factor of `whitened_scatter` is
    thin. Columns of dependent data come out with zeros on the diagonal.
    """
    U = np.zeros((0, X.shape[1]))
    for rows, block in row_blocks(X, TALL_BLOCK_BYTES):
        Y = whiten(block, Z, triangular) * np.sqrt(weights[rows])
        U = triangle(np.vstack([U, Y.T]))
    return U


def upper_factor(B: Floats) -> Floats | None:
    """Return the upper triangular U with ``UᵀU = B``, or None where too few digits are left."""
    U, failed = dpotrf(B, lower=0, clean=1)
    if failed:
        return None
    diagonal = np.abs(np.diagonal(U))
    return U if diagonal.min() > THIN * diagonal.max() else None


def advance(Z: Floats, U: Floats, *, triangular: bool = True, unit_trace: bool = True) -> Floats:
    """Return ``Z U⁻¹``, scaled so that the next precision has trace one where that is asked for."""
    if triangular:
        inverse, singular = dtrtri(U)
        if singular:
            raise np.linalg.LinAlgError("The weighted rows do not span the space.")
        moved = np.triu(dtrmm(1.0, Z, inverse))
    else:
        moved = solve_triangular(U, Z.T, trans="T").T
    return np.asfortranarray(moved / np.linalg.norm(moved) if unit_trace else moved)


def off_identity(B: Floats, c: float) -> float:
    """Return ``‖B / c − I‖_F`` of a symmetric B of which the upper triangle is given."""
    scaled = B / c
    diagonal = np.einsum("ii->i", scaled)
    squares = float(((diagonal - 1.0) ** 2).sum())
    diagonal[:] = (
        0.0  # not subtracted from the sum of all squares, which would leave half the digits
    )
    return float(np.sqrt(2.0 * np.einsum("ij,ij->", scaled, scaled) + squares))


def symmetric(upper: Floats) -> Floats:
    """Return the symmetric matrix of which the upper triangle is given."""
    return np.triu(upper) + np.triu(upper, 1).T


def _well_conditioned(X: Any) -> bool:
    """Whether the Gram matrix, which squares the condition number, already says so."""
    gram = np.zeros((X.shape[1], X.shape[1]), order="F")
    for _, block in row_blocks(X):
        if issparse(block):
            gram += (block.T @ block).toarray()
        else:
            gram = dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=1)
    U = upper_factor(gram)
    return U is not None and bool(dtrcon(U, norm="1", uplo="U")[0] > THIN)


def span(X: Any, tol: float = 1e-10) -> Floats | None:
    """Return an orthonormal basis of what the rows span, or None where they span everything.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    tol : float, default=1e-10
        Singular values below this share of the largest count as zero.

    Returns
    -------
    basis : ndarray of shape (n_features, rank) or None
        Columns by decreasing singular value.
    """
    n_samples, n_features = X.shape
    if n_samples < n_features:
        dense = X.toarray() if issparse(X) else np.asarray(X, dtype=np.float64)
        values, vectors = np.linalg.svd(dense, full_matrices=False)[1:]
        return vectors[values > tol * values[0]].T
    if _well_conditioned(X):
        return None
    U = np.zeros((0, n_features))
    for _, block in row_blocks(X, TALL_BLOCK_BYTES):
        dense = block.toarray() if issparse(block) else block
        U = triangle(np.vstack([U, dense]))
    # The estimate is within a small factor; anything near the threshold is looked at closely.
    if len(U) == n_features and dtrcon(U, norm="1", uplo="U")[0] > 1e3 * tol:
        return None
    values, vectors = np.linalg.svd(U)[1:]
    kept = values > tol * values[0]
    return None if kept.all() else vectors[kept].T
