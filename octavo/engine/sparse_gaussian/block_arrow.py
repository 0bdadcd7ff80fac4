"""Block-arrow matrices: many small blocks on the diagonal that meet in one shared corner.

    Q = [ D_1            B_1 ]
        [      ...       ... ]
        [           D_m  B_m ]
        [ B_1ᵀ ...  B_mᵀ  C  ]

is the precision of random effects of m groups (blocks of size k) and p shared coefficients. Factor,
solve, log-determinant and the blocks of the inverse take O(m k² (k + p) + p³) time, as products
over all groups at once; nothing of size m k x m k is ever formed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, lapack

from octavo.engine.estimators.arrays import Floats
from octavo.engine.sparse_gaussian.factor import NotPositiveDefinite


class BlockArrowInverse(NamedTuple):
    """Blocks of the inverse: `diagonal` (m, k, k), `border` (m, k, p) and `corner` (p, p)."""

    diagonal: Floats
    border: Floats
    corner: Floats


def _batched_cholesky(blocks: Floats) -> Floats:
    """Return the lower factors of a stack of small matrices; name the first that has none."""
    if blocks.shape[1] == 1:
        if not (blocks > 0).all():
            raise NotPositiveDefinite(int(np.flatnonzero(~(blocks.ravel() > 0))[0]))
        return np.sqrt(blocks)
    try:
        return np.asarray(np.linalg.cholesky(blocks), dtype=np.float64)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(blocks)[:, 0]
        bad = int(np.flatnonzero(~(smallest > 0))[0]) if (smallest <= 0).any() else 0
        raise NotPositiveDefinite(bad * blocks.shape[1]) from None


def _batched_inverse(roots: Floats) -> Floats:
    """Return L⁻¹ for a stack of lower factors, by substitution over their few rows."""
    m, k, _ = roots.shape
    inverse = np.zeros((m, k, k))
    for i in range(k):
        inverse[:, i, i] = 1.0
        if i:
            inverse[:, i, :i] = -np.einsum("mt,mtj->mj", roots[:, i, :i], inverse[:, :i, :i])
        inverse[:, i, : i + 1] /= roots[:, i, i, None]
    return inverse


class BlockArrowFactor:
    """The factor of a block-arrow matrix.

    Parameters
    ----------
    diagonal : array of shape (m, k, k)
    border : array of shape (m, k, p)
    corner : array of shape (p, p)
    """

    def __init__(self, diagonal: Floats, border: Floats, corner: Floats) -> None:
        roots = _batched_cholesky(np.asarray(diagonal, dtype=np.float64))
        self._inverse_roots = _batched_inverse(roots)
        self._whitened = self._inverse_roots @ border  # L_i⁻¹ B_i
        m, k, p = self._whitened.shape
        flat = self._whitened.reshape(m * k, p)
        self._schur, failed = lapack.dpotrf(corner - flat.T @ flat, lower=1)
        if failed > 0:
            raise NotPositiveDefinite(m * k + int(failed) - 1)
        self.log_det = 2.0 * float(
            np.log(np.einsum("mii->mi", roots)).sum() + np.log(np.diag(self._schur)).sum()
        )

    def solve(self, groups: Floats, shared: Floats) -> tuple[Floats, Floats]:
        """Return the solution for right-hand sides of shape (m, k) and (p,)."""
        white = np.einsum("mij,mj->mi", self._inverse_roots, groups)
        reduced = shared - np.einsum("mip,mi->p", self._whitened, white)
        x = np.asarray(cho_solve((self._schur, True), reduced))
        white = white - self._whitened @ x
        return np.einsum("mji,mj->mi", self._inverse_roots, white), x

    def inverse_blocks(self) -> BlockArrowInverse:
        """Return the inverse on the pattern of the matrix."""
        corner = np.asarray(cho_solve((self._schur, True), np.eye(self._schur.shape[0])))
        upper = np.swapaxes(self._inverse_roots, 1, 2)
        slope = upper @ self._whitened  # D_i⁻¹ B_i
        border = -slope @ corner
        diagonal = upper @ self._inverse_roots - border @ np.swapaxes(slope, 1, 2)
        return BlockArrowInverse(diagonal, border, corner)
