"""Designs whose precision matrix is a block arrow: many small blocks and one border.

Rows of a design meet one block each (a group's q coefficients, entries ``z``) and the border: p
coefficients that every row meets (``x``) and others of which a row meets a few (coefficients of
crossed or outer groups). With weights h the precision is C' diag(h) C + M. The blocks are
eliminated at once; what is left is a dense matrix of the border's size, so that a solution costs
the border cubed plus, for every block, the square of the border columns which it meets. Of the
inverse only what expectations need is formed: the border's, the diagonal blocks, and the variance
of each row's linear predictor.

Everything is a product of dense or sparse matrices, so that nothing is compiled; rows and blocks go
through in chunks, so that memory stays a small multiple of the design.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotri

from octavo.engine.estimators.arrays import Floats, Ints

CHUNK = 2**22  # entries of a temporary array


class ArrowDesign(NamedTuple):
    """A design whose rows meet one block each.

    ``block`` (n,) is the block of each row and ``z`` (n, q) its entries there; ``x`` (n, p) is the
    dense part of the border. A row's entries ``values`` (n, s) stand in the border columns
    ``columns`` (n, s), counted from the end of the dense part; ``extra`` is the same as a sparse
    matrix (n, e), and ``spread`` (n_blocks q, n) the transposed block part.
    """

    block: Ints
    z: Floats
    x: Floats
    columns: Ints
    values: Floats
    spread: Any
    extra: Any

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.spread.shape[0] // self.z.shape[1]

    @property
    def n_border(self) -> int:
        """Number of border columns, the dense ones first."""
        return self.x.shape[1] + self.extra.shape[1]


class ArrowSolution(NamedTuple):
    """A Gaussian of arrow form.

    Mean and covariance of the border; the mean (n_blocks, q) of each block; ``log_det`` of the
    precision. Given the border, block g is N(mean - T_g (border - its mean),
    ``conditional_cov[g]``), where T is ``link`` (n_blocks q, p) beside ``link_extra``.
    """

    border_mean: Floats
    border_cov: Floats
    block_mean: Floats
    log_det: float
    conditional_cov: Floats
    link: Floats
    link_extra: Any


def arrow_design(
    block: Ints, n_blocks: int, x: Floats, z: Floats, columns: Ints, values: Floats, n_extra: int
) -> ArrowDesign:
    """Return the design from its parts; see `ArrowDesign`.

    Parameters
    ----------
    block : ndarray of shape (n,)
        The block of each row.
    n_blocks : int
        How many there are; some may have no row.
    x, z : ndarray of shape (n, p), (n, q)
        The dense part of the border, and the entries in the block.
    columns, values : ndarray of shape (n, s)
        The other border columns that a row meets, from 0 to n_extra - 1, and their entries.
    n_extra : int
        How many other border columns there are.

    Returns
    -------
    design : ArrowDesign
        The design.
    """
    n, q = z.shape
    s = columns.shape[1]
    rows = np.arange(n)
    # Zᵀ as a sparse matrix: a row meets the q coefficients of its block
    where = (block[:, None] * q + np.arange(q)).ravel()
    spread = sp.csr_array(
        (z.ravel(), (where, np.repeat(rows, q))), shape=(n_blocks * q, n), dtype=np.float64
    )
    extra = sp.csr_array(
        (values.ravel(), columns.ravel(), np.arange(0, n * s + 1, s) if s else np.zeros(n + 1)),
        shape=(n, n_extra),
        dtype=np.float64,
    )
    return ArrowDesign(block, z, x, columns, values, spread, extra)


def _chunks(n: int, width: int) -> Iterator[slice]:
    step = max(1, CHUNK // max(width, 1))
    for low in range(0, n, step):
        yield slice(low, min(low + step, n))


def _assemble(
    design: ArrowDesign, h: Floats, t: Floats, block_prior: Floats, border_prior: Floats
) -> tuple[Floats, Floats, Any, Floats, Floats, Floats]:
    """Return A (blocks), E (blocks by border, dense and sparse), r, B (border) and its side."""
    p, q = design.x.shape[1], design.z.shape[1]
    B = np.array(border_prior, dtype=np.float64)
    # Zᵀ diag(h) Z + prior, block by block
    A = (design.spread @ (h[:, None] * design.z)).reshape(-1, q, q) + block_prior
    E = np.zeros((design.spread.shape[0], p))
    transposed = design.extra.T.tocsr() if design.extra.shape[1] else None
    for at in _chunks(len(h), p):
        weighted = h[at, None] * design.x[at]
        B[:p, :p] += weighted.T @ design.x[at]
        if len(weighted) == len(h):
            E += design.spread @ weighted
        else:
            E += design.spread[:, at] @ weighted
    link_extra = None
    if transposed is not None:
        weighted_extra = sp.csr_array(design.extra * h[:, None])
        link_extra = design.spread @ weighted_extra
        B[p:, :p] += weighted_extra.T @ design.x
        B[p:, p:] += (transposed @ weighted_extra).toarray()
    side = design.x.T @ t
    if transposed is not None:
        side = np.concatenate([side, transposed @ t])
    return A, E, link_extra, (design.spread @ t).reshape(-1, q), B, side


def _blocks_inverse(A: Floats) -> tuple[Floats, float] | None:
    """Return the inverse of every block and the sum of their log-determinants."""
    if A.shape[1] == 1:
        if not (np.isfinite(A).all() and (A > 0).all()):
            return None
        return 1.0 / A, float(np.log(A).sum())
    try:
        L = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return None
    half = np.linalg.inv(L)
    diagonal = np.diagonal(L, axis1=1, axis2=2)
    if not np.isfinite(half).all():
        return None
    return half.transpose(0, 2, 1) @ half, 2.0 * float(np.log(diagonal).sum())  # A⁻¹ = L⁻ᵀ L⁻¹


def _block_diagonal(blocks: Floats) -> Any:
    g, q = blocks.shape[:2]
    return sp.bsr_array((blocks, np.arange(g), np.arange(g + 1)), shape=(g * q, g * q))


def solve_arrow(
    design: ArrowDesign, h: Floats, t: Floats, block_prior: Floats, border_prior: Floats
) -> ArrowSolution | None:
    """Return the Gaussian of precision C' diag(h) C + M and mean (C' diag(h) C + M)^-1 C't.

    Parameters
    ----------
    design : ArrowDesign
        The design C.
    h, t : ndarray of shape (n,)
        Weights of the rows, and what the mean is made of.
    block_prior : ndarray of shape (q, q)
        M of every block.
    border_prior : ndarray of shape (n_border, n_border)
        M of the border.

    Returns
    -------
    solution : ArrowSolution or None
        None where the precision is not positive definite or not finite.
    """
    p, q = design.x.shape[1], design.z.shape[1]
    A, E, E_extra, r, B, side = _assemble(design, h, t, block_prior, border_prior)
    found = _blocks_inverse(A)
    if found is None:
        return None
    inverse, log_det = found
    T = (inverse @ E.reshape(-1, q, p)).reshape(-1, p)  # T = A⁻¹ E
    mean = (inverse @ r[:, :, None])[:, :, 0]
    B[:p, :p] -= E.T @ T  # the Schur complement B - Eᵀ A⁻¹ E
    side[:p] -= T.T @ r.ravel()
    T_extra = None
    if E_extra is not None:
        T_extra = sp.csr_array(_block_diagonal(inverse) @ E_extra)
        B[p:, :p] -= E_extra.T @ T
        B[p:, p:] -= (E_extra.T @ T_extra).toarray()
        side[p:] -= T_extra.T @ r.ravel()
    factor, cov = positive_inverse(B)
    if factor is None:
        return None
    # log |P| = Σ log |A_g| + log |Schur complement|
    log_det += 2.0 * float(np.log(np.diagonal(factor)).sum())
    border = cov @ side
    # block mean = A⁻¹ r - T border mean
    shift = T @ border[:p] + (0.0 if T_extra is None else T_extra @ border[p:])
    mean = mean - shift.reshape(-1, q)
    return ArrowSolution(border, cov, mean, log_det, inverse, T, T_extra)


def row_moments(design: ArrowDesign, solution: ArrowSolution) -> tuple[Floats, Floats, Floats]:
    """Return mean and variance of the rows' linear predictors, and the blocks' covariances.

    Parameters
    ----------
    design : ArrowDesign
        The rows: those of the solution, or others with the same blocks and border.
    solution : ArrowSolution
        The Gaussian of the coefficients.

    Returns
    -------
    mean, variance : ndarray of shape (n,)
        Of each row.
    block_cov : ndarray of shape (n_blocks, q, q)
        The diagonal blocks of the covariance.
    """
    p = design.x.shape[1]
    border, cov = solution.border_mean, solution.border_cov
    cross, pairs, block = _cross_covariances(
        design, solution.conditional_cov, solution.link, solution.link_extra, cov
    )
    mean = design.x @ border[:p]
    if design.extra.shape[1]:
        mean += design.extra @ border[p:]
    mean += np.einsum("ia,ia->i", design.z, solution.block_mean[design.block])
    return mean, _row_variances(design, cov, cross, pairs, block), block


def _cross_covariances(
    design: ArrowDesign, inverse: Floats, T: Floats, T_extra: Any, cov: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the blocks' covariances: with x, with the other border columns of each row, own."""
    p, q, s = design.x.shape[1], design.z.shape[1], design.columns.shape[1]
    cross = -(T @ cov[:p, :p])  # Cov(block, border) = -T Cov(border)
    pairs = np.zeros((len(design.block), q, s))
    if T_extra is None:
        # A⁻¹ + T Cov(border) Tᵀ
        own = inverse - cross.reshape(-1, q, p) @ T.reshape(-1, q, p).transpose(0, 2, 1)
        return cross, pairs, own
    cross -= T_extra @ cov[p:, :p]
    own = inverse - cross.reshape(-1, q, p) @ T.reshape(-1, q, p).transpose(0, 2, 1)
    order = np.argsort(design.block, kind="stable")
    start = np.searchsorted(design.block[order], np.arange(design.n_blocks + 1))
    for at in _chunks(design.n_blocks, q * design.extra.shape[1]):
        lines = slice(at.start * q, at.stop * q)
        dense = -(T[lines] @ cov[:p, p:] + T_extra[lines] @ cov[p:, p:])
        own_links = T_extra[lines].toarray().reshape(at.stop - at.start, q, -1)
        dense = dense.reshape(own_links.shape)
        own[at] -= dense @ own_links.transpose(0, 2, 1)
        rows = order[start[at.start] : start[at.stop]]
        for c in range(s):
            pairs[rows, :, c] = dense[design.block[rows] - at.start, :, design.columns[rows, c]]
    return cross, pairs, own


def _row_variances(
    design: ArrowDesign, cov: Floats, cross: Floats, pairs: Floats, own: Floats
) -> Floats:
    """Return the variance of every row's linear predictor."""
    p, q, s = design.x.shape[1], design.z.shape[1], design.columns.shape[1]
    variance = np.empty(len(design.block))
    for at in _chunks(len(variance), (1 + q) * p + q * q):
        x, z, block = design.x[at], design.z[at], design.block[at]
        columns, values = design.columns[at], design.values[at]
        # Var(x'b + z'u + values'b) term by term, each pair of parts once
        v = np.einsum("ij,ij->i", x @ cov[:p, :p], x)
        for a in range(q):
            both = np.einsum("ij,ij->i", cross[block * q + a], x)
            if s:
                both += np.einsum("ic,ic->i", pairs[at, a], values)
            v += 2.0 * z[:, a] * both
        v += np.einsum("ia,iab,ib->i", z, own[block], z)
        for c in range(s):
            v += 2.0 * values[:, c] * np.einsum("ij,ij->i", cov[p + columns[:, c], :p], x)
            for d in range(s):
                v += values[:, c] * values[:, d] * cov[p + columns[:, c], p + columns[:, d]]
        variance[at] = v
    return np.maximum(variance, 0.0)


def positive_inverse(lower: Floats) -> tuple[Floats | None, Floats]:
    """Return Cholesky factor and inverse of a matrix whose lower triangle is given.

    The matrix is scaled to a unit diagonal first: border columns have units of their own.
    """
    size = np.diagonal(lower)
    if not (np.isfinite(lower).all() and (size > 0).all()):
        return None, lower
    scale = 1.0 / np.sqrt(size)  # unit diagonal first: scales of columns differ by many orders
    factor, failed = dpotrf(scale[:, None] * lower * scale, lower=1, clean=1)
    if failed:
        return None, lower
    inverse = dpotri(factor, lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return factor / scale[:, None], scale[:, None] * inverse * scale
