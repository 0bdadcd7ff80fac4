"""The largest eigenvalues of a large symmetric matrix, and Krylov spaces, by block Lanczos.

Every step multiplies the matrix by a thin block, which reads it once however many columns the
block has: for a dense matrix that does not fit in the cache, a block of eight costs what a vector
costs. All blocks are kept and orthogonalised against each other twice, so that no ghost of a
converged eigenvalue appears. Arrays may be of any array-API namespace; what is small (the
projected matrix) is solved on the host.

Reference: Golub and Van Loan (2013), "Matrix Computations", 4th ed., Section 10.3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy


class RitzPairs(NamedTuple):
    """Eigenvalues (m,) from the largest on, their residuals |Kv - θv| (m,), weights (m, b).

    `inner` (m, m) has the eigenvectors in the basis; `basis` (n, m) is orthonormal. `weights` are
    the coordinates of the starting block in the eigenvectors.
    """

    values: Floats
    residuals: Floats
    inner: Floats
    weights: Floats
    basis: Any
    exhausted: bool

    def vectors(self, count: int | None = None) -> Any:
        """Return the first `count` eigenvectors as columns, in the namespace of the matrix."""
        inner = np.ascontiguousarray(self.inner[:, :count])
        return self.basis @ to_namespace(inner, self.basis)


def block_lanczos(
    multiply: Callable[[Any], Any],
    start: Any,
    finished: Callable[[RitzPairs], bool],
    *,
    max_columns: int,
    first_look: int = 1,
) -> RitzPairs:
    """Grow a block Krylov space until its eigenvalues are good enough.

    Parameters
    ----------
    multiply : callable
        Maps a block (n, b) to the symmetric matrix times it.
    start : array of shape (n, b)
        The first block, of full column rank.
    finished : callable
        Is shown the `RitzPairs` of the space so far and says whether to end.
    max_columns : int
        The largest dimension of the space.
    first_look : int, default=1
        Steps before the first question to `finished`; each later one comes after a sixth more
        steps, so that the small problems that it needs cost little.

    Returns
    -------
    RitzPairs
        Of the last space. `exhausted` says that the space is invariant: nothing outside it can be
        reached from the start.
    """
    xp = namespace_of(start).xp
    tiny = 100 * float(xp.finfo(start.dtype).eps)
    block, first = xp.linalg.qr(start)
    first = to_numpy(first).astype(np.float64)
    basis = block
    width = block.shape[1]
    projected = np.zeros((0, 0))
    scale, steps, look = 0.0, 0, first_look
    while True:
        image = multiply(block)
        overlap = basis.T @ image
        image = image - basis @ overlap
        again = basis.T @ image  # twice is enough (Kahan and Parlett)
        image = image - basis @ again
        column = to_numpy(overlap + again).astype(np.float64)
        projected = _bordered(projected, column, width)
        scale = max(scale, float(np.abs(column).max(initial=0.0)))
        following, corner = xp.linalg.qr(image)
        corner = to_numpy(corner).astype(np.float64)
        steps += 1
        exhausted = bool(np.abs(corner).max(initial=0.0) <= tiny * scale)
        full = basis.shape[1] + following.shape[1] > max_columns
        if exhausted or full or steps >= look:
            look = steps + max(1, steps // 6)
            found = _ritz(projected, corner, first, basis, exhausted)
            if exhausted or full or finished(found):
                return found
        # where the image has lost rank, QR leaves columns that may lie in the basis: what is
        # outside it takes their place
        for _ in range(2):
            following = xp.linalg.qr(following - basis @ (basis.T @ following))[0]
        block = following
        basis = xp.concat([basis, block], axis=1)


def _bordered(projected: Floats, column: Floats, width: int) -> Floats:
    """Return the projected matrix with the block column that a step has added."""
    m = column.shape[0]
    grown = np.zeros((m, m))
    grown[: m - width, : m - width] = projected
    grown[:, m - width :] = column
    grown[m - width :, :] = column.T
    last = grown[m - width :, m - width :]
    grown[m - width :, m - width :] = (last + last.T) / 2.0
    return grown


def _ritz(
    projected: Floats, corner: Floats, first: Floats, basis: Any, exhausted: bool
) -> RitzPairs:
    values, inner = np.linalg.eigh(projected)
    values, inner = values[::-1], inner[:, ::-1]
    width = corner.shape[1]
    # of Kv − θv only the last block is left
    residuals = np.linalg.norm(corner @ inner[-width:], axis=0)
    weights = inner[: first.shape[0]].T @ first
    return RitzPairs(values, residuals, inner, weights, basis, exhausted)
