"""The largest eigenvalues of a normalised affinity where they crowd at 1: two levels, one block.

Neighbourhood graphs of many points have eigenvalues such as 1 - 1e-5, 1 - 1.1e-5, 1 - 7e-5: a
Krylov space needs thousands of products to tell them apart, and misses multiple ones. A coarse
graph, in which every node and its neighbours are one, has nearly the same leading eigenvectors. It
gives the first block and, factorised once, the preconditioner of LOBPCG, whose number of steps
then hardly depends on the size of the graph.

References: Knyazev (2001), "Toward the optimal preconditioned eigensolver", SIAM Journal on
Scientific Computing 23; Vanek, Mandel and Brezina (1996), "Algebraic multigrid by smoothed
aggregation", Computing 56.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints

RIDGE = 1e-8  # keeps the coarse matrix invertible: its trivial vectors are projected out anyway
SMOOTHING = 2  # products that smooth the first block
GUARDS = 4  # columns beyond those that are wanted: they converge first where eigenvalues crowd
DEPENDENT = 1e-12  # relative eigenvalue of a Gram matrix below which a direction is no new one
COARSE_ROW = 80.0  # entries of a coarse row above which a factorisation would fill up
DENSE = 600  # coarse nodes up to which all eigenvectors cost nothing

Projection = Callable[[Floats], Floats]


class Eigenpairs(NamedTuple):
    """Eigenvalues (k,), eigenvectors as columns (n, k), and residuals |Sv - λv| (k,)."""

    values: Floats
    vectors: Floats
    residuals: Floats


class CoarseGraph(NamedTuple):
    """Prolongation (n, m) with orthonormal columns, and what solves with I - PᵀSP."""

    prolongation: sp.csr_array
    matrix: sp.csr_array
    solve: Callable[[Floats], Floats]


@njit(cache=True)
def _aggregates(indptr, indices, order):
    """Return a number for every node: a free node and its free neighbours are one aggregate."""
    n = indptr.shape[0] - 1
    owner = np.full(n, -1, dtype=np.int64)
    count = 0
    for position in range(n):
        i = order[position]
        if owner[i] >= 0:
            continue
        owner[i] = count
        for q in range(indptr[i], indptr[i + 1]):
            if owner[indices[q]] < 0:
                owner[indices[q]] = count
        count += 1
    return owner


def aggregates(S: sp.csr_array, order: Ints) -> Ints:
    """Return the aggregate of every node, nodes taken in `order`."""
    return _aggregates(
        S.indptr.astype(np.int64), S.indices.astype(np.int64), np.asarray(order, dtype=np.int64)
    )


def coarse_graph(S: sp.csr_array, weights: Floats, order: Ints) -> CoarseGraph | None:
    """Return the graph of aggregates, or None where it would not pay.

    Parameters
    ----------
    S : csr_array of shape (n, n)
        Symmetric, with eigenvalues from -1 to 1.
    weights : ndarray of shape (n,)
        A vector that is locally like the leading eigenvectors, without zeros: the square roots of
        degrees. It lies in the coarse space.
    order : ndarray of int of shape (n,)
        Which nodes found aggregates first.

    Returns
    -------
    CoarseGraph or None
        None where there are more than half as many aggregates as nodes, or where their graph has
        rows too full to be factorised.
    """
    n = S.shape[0]
    owner = aggregates(S, order)
    m = int(owner.max()) + 1
    if m > n // 2:
        return None
    P = sp.csr_array((weights, (np.arange(n), owner)), shape=(n, m))
    length = np.sqrt(np.bincount(owner, weights**2, minlength=m))
    P.data /= length[owner]  # PᵀP = I
    coarse = sp.csr_array(P.T @ S @ P)
    if m > DENSE and coarse.nnz > COARSE_ROW * m:
        return None
    system = sp.csc_array((1.0 + RIDGE) * sp.eye_array(m) - coarse)
    factor = splu(system, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    return CoarseGraph(P, coarse, factor.solve)


def coarse_block(
    coarse: CoarseGraph, S: sp.csr_array, width: int, project: Projection, start: Floats
) -> Floats:
    """Return a smooth block (n, width): the leading coarse eigenvectors outside the known space."""
    P, m = coarse.prolongation, coarse.matrix.shape[0]
    if m <= max(DENSE, 3 * width):
        wide = min(m, width + 2 * GUARDS)
        inner = np.linalg.eigh(coarse.matrix.toarray())[1][:, ::-1]
        block = project(P @ inner)  # the trivial ones vanish
        block = block[:, np.linalg.norm(block, axis=0) > 1e-3][:, :wide]
    else:

        def inverse(v: Floats) -> Floats:
            return P.T @ project(P @ coarse.solve(P.T @ project(P @ v)))

        operator = LinearOperator((m, m), matvec=inverse, dtype=np.float64)
        inner = eigsh(operator, k=width, which="LA", tol=1e-4, v0=P.T @ start)[1]
        block = project(P @ inner)
    for _ in range(SMOOTHING):
        block = S @ block
    return project(block)


def two_level_eigenpairs(
    S: sp.csr_array,
    k: int,
    coarse: CoarseGraph,
    project: Projection,
    *,
    start: Floats,
    tol: float = 1e-7,
    max_iter: int = 100,
) -> Eigenpairs:
    """Return the k largest eigenpairs of S outside a known invariant space.

    Parameters
    ----------
    S : csr_array of shape (n, n)
        Symmetric.
    k : int
        How many.
    coarse : CoarseGraph
        Of S.
    project : callable
        Takes the known space out of a vector or a block.
    start : ndarray of shape (n,)
        A random vector.
    tol : float, default=1e-7
        Residual at which an eigenvector is good.
    max_iter : int, default=100
        The most steps; the caller looks at the residuals.

    Returns
    -------
    Eigenpairs
        From the largest on.
    """
    P = coarse.prolongation
    X = coarse_block(coarse, S, k + GUARDS, project, start)
    X = X @ _whitening(X.T @ X)
    SX = S @ X
    X, SX, values = _ritz(X, SX, min(k + GUARDS, X.shape[1]))[:3]
    moves, S_moves = X[:, :0], X[:, :0]
    for _ in range(max_iter):
        R = SX - X * values
        residuals = np.linalg.norm(R[:, :k], axis=0)
        if residuals.max() <= tol:
            break
        # the coarse correction of I − S, and the residual itself
        W = project(R + P @ coarse.solve(np.ascontiguousarray(P.T @ R)))
        W -= X @ (X.T @ W)
        W /= np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
        basis, S_basis = np.hstack([X, W, moves]), np.hstack([SX, S @ W, S_moves])
        width = X.shape[1]
        X, SX, values, mixing = _ritz(basis, S_basis, width)
        outside = mixing[width:]  # what is new in X: the conjugate direction of the next step
        moves, S_moves = basis[:, width:] @ outside, S_basis[:, width:] @ outside
        length = np.maximum(np.linalg.norm(moves, axis=0), np.finfo(float).tiny)
        moves, S_moves = moves / length, S_moves / length
    residuals = np.linalg.norm(SX - X * values, axis=0)
    return Eigenpairs(values[:k], X[:, :k], residuals[:k])


def _whitening(gram: Floats) -> Floats:
    """Return C with CᵀGC = I, without the directions in which the columns depend."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2.0)
    kept = values > DEPENDENT * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def _ritz(basis: Floats, S_basis: Floats, width: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the leading Ritz vectors, S times them, their values, and how they are mixed."""
    inner = _whitening(basis.T @ basis)
    projected = inner.T @ (basis.T @ S_basis) @ inner
    values, vectors = np.linalg.eigh((projected + projected.T) / 2.0)
    mixing = inner @ vectors[:, ::-1][:, :width]
    return basis @ mixing, S_basis @ mixing, values[::-1][:width], mixing


def _warmup() -> None:
    aggregates(sp.csr_array(np.eye(2)), np.arange(2))
