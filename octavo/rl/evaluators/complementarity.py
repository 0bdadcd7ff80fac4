"""The linear complementarity problem, by Lemke's method.

Reference: Cottle, Pang and Stone (1992), "The linear complementarity problem", chapter 4. Lasso-TD
is such a problem (Johns, Painter-Wakefield and Parr, 2010, "Linear complementarity for regularized
policy evaluation and improvement").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked

__all__ = ["LCPSolution", "solve_lcp"]

_PIVOT = 1e-11


class LCPSolution(NamedTuple):
    """A solution of w = q + Mz, w ≥ 0, z ≥ 0, w'z = 0.

    `status` is "solved", "ray" (the method found no solution; for matrices it covers there is
    none) or "pivot limit"; `z` and `w` are nan unless solved. `residual` is the largest violation.
    """

    z: np.ndarray
    w: np.ndarray
    status: str
    n_pivots: int
    residual: float


def _leaving_row(table, entering, basis, artificial):
    """Return the row of the lexicographic minimum ratio; -1 if the column is unbounded."""
    n = len(table)
    column = table[:, entering]
    rows = np.flatnonzero(column > _PIVOT * max(1.0, np.abs(column).max()))
    if not rows.size:
        return -1
    # Ties are broken by the columns of the inverse basis, which are never all equal.
    for compared in (-1, *range(n)):
        ratio = table[rows, compared] / column[rows]
        least = ratio.min()
        rows = rows[ratio <= least + 1e-12 * max(1.0, abs(least))]
        if artificial in basis[rows]:
            return int(rows[basis[rows] == artificial][0])
        if rows.size == 1:
            break
    return int(rows[0])


def _pivot(table, row, column):
    table[row] /= table[row, column]
    factors = table[:, column].copy()
    factors[row] = 0.0
    table -= np.outer(factors, table[row])


@checked
def solve_lcp(M, q, *, max_iter=None):
    """Find z ≥ 0 with w = q + Mz ≥ 0 and w'z = 0 by Lemke's method.

    Parameters
    ----------
    M : array-like of shape (n, n)
        Matrix.
    q : array-like of shape (n,)
        Vector.
    max_iter : int, default=None
        Limit on the pivots; None stands for 50 n + 100.

    Returns
    -------
    LCPSolution
        The solution, or why there is none.

    Notes
    -----
    It is sure to end with a solution if M is a P-matrix (all principal minors positive), above all
    positive definite, or copositive-plus with a feasible problem. Dense: a pivot costs 2n² flops.

    References
    ----------
    .. [1] Cottle, Pang and Stone (1992). The linear complementarity problem. Academic Press.

    Examples
    --------
    >>> from octavo.rl import solve_lcp
    >>> solve_lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]).z.round(12).tolist()
    [1.333333333333, 2.333333333333]
    """
    M, q = np.asarray(M, dtype=np.float64), np.asarray(q, dtype=np.float64)
    n = q.size
    if M.shape != (n, n) or q.ndim != 1:
        raise ValueError(
            f"M must be square with one row for each entry of q, got {M.shape}, {q.shape}."
        )
    if not (np.isfinite(M).all() and np.isfinite(q).all()):
        raise ValueError("M and q must be finite, got NaN or infinity.")
    if q.min(initial=0.0) >= 0:
        return LCPSolution(np.zeros(n), q.copy(), "solved", 0, 0.0)
    # Columns: w, z, the artificial z0, the right-hand side; rows say w - Mz - z0 = q.
    table = np.hstack([np.eye(n), -M, -np.ones((n, 1)), q[:, None]])
    basis, artificial = np.arange(n), 2 * n
    row = int(q.argmin())
    limit = 50 * n + 100 if max_iter is None else max_iter
    entering, status, done = artificial, "pivot limit", 0
    while done < limit:
        done += 1
        leaving = basis[row]
        _pivot(table, row, entering)
        basis[row] = entering
        if leaving == artificial:
            status = "solved"
            break
        entering = leaving + n if leaving < n else leaving - n
        row = _leaving_row(table, entering, basis, artificial)
        if row < 0:
            status = "ray"
            break
    if status != "solved":
        nothing = np.full(n, np.nan)
        return LCPSolution(nothing, nothing.copy(), status, done, np.inf)
    z = np.zeros(n)
    inside = basis[(basis >= n) & (basis < artificial)] - n
    # The table has been pivoted many times; its basis gives the solution afresh.
    z[inside] = np.linalg.solve(M[np.ix_(inside, inside)], -q[inside]) if inside.size else 0.0
    w = q + M @ z
    residual = float(max(-w.min(), -z.min(), np.abs(w * z).max(), 0.0))
    return LCPSolution(z, w, status, done, residual)
