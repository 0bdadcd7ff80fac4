"""The metric nearness problem: the semimetric nearest to a matrix of dissimilarities.

Reference: Cuturi and Avis (2014), Eq. (9); Brickell, Dhillon, Sra and Tropp (2008).
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares, real_array
from octavo.engine.projections.metric_cone import project_metric_cone, shortest_paths

__all__ = ["NearnessInfo", "metric_nearness"]

NORMS = ("l2", "l1", "linf")


class NearnessInfo(NamedTuple):
    """What is known of a nearest semimetric.

    ``objective`` is ½Σ_{i<j} w(m - h)² for "l2", Σ_{i<j} w|m - h| for "l1" and the largest w|m - h|
    for "linf"; ``duality_gap`` bounds what it is above the optimum. ``duals`` has a row for each
    i < j < k and a column for each side that may be too long (ij, ik, jk); None but for "l2".
    """

    objective: float
    duality_gap: float
    n_iter: int
    converged: bool
    duals: Floats | None


def _check_matrix(H: Any, name: str) -> Floats:
    H = real_array(H, name)
    if H.ndim != 2 or H.shape[0] != H.shape[1] or not H.size:
        raise ValueError(f"{name} must be a square matrix; got shape {H.shape}.")
    return H


def _check_weights(weights: Any, d: int) -> Floats | None:
    if weights is None:
        return None
    W = _check_matrix(weights, "weights")
    off = W[~np.eye(d, dtype=bool)] if len(W) == d else np.zeros(1)
    if len(W) != d or not np.array_equal(W, W.T) or (off <= 0.0).any():
        raise ValueError(
            f"weights must be a symmetric {d} x {d} matrix, positive off its diagonal."
        )
    W = W + np.diag(np.full(d, float(off.max(initial=1.0))) - W.diagonal())
    spread = float(W.max() / W.min())
    if spread > 1e12:
        raise ValueError(f"weights differ by a factor of {spread:.1e}; at most 1e12 are possible.")
    return W


def _violated(M: Floats, tol: float, most: int) -> Floats:
    """Return triangles (i, j, k) with m_ij > m_ik + m_kj, the worst first."""
    found = []
    for k in range(len(M)):
        excess = M - M[:, [k]] - M[[k], :]  # m_ij - m_ik - m_kj
        i, j = np.nonzero(np.triu(excess > tol, 1))
        found.append(np.column_stack([excess[i, j], i, j, np.full(i.size, k)]))
    rows = np.concatenate(found)
    return rows[np.argsort(-rows[:, 0], kind="stable")[:most], 1:].astype(np.int64)


def _triangle_rows(triangles: Floats, position: Any, n_columns: int) -> Any:
    i, j, k = triangles.T
    columns = np.column_stack([position[i, j], position[i, k], position[k, j]]).ravel()
    values = np.tile([1.0, -1.0, -1.0], len(triangles))
    rows = np.repeat(np.arange(len(triangles)), 3)
    return sp.csr_array((values, (rows, columns)), shape=(len(triangles), n_columns))


def _linear_program(
    H: Floats, W: Floats, norm: str, half: float | None, tol: float, max_rounds: int
) -> tuple[Floats, float, int, bool]:
    """Minimise Σ w|m - h| or its largest term; triangles enter when they are broken."""
    d = len(H)
    upper = np.triu_indices(d, 1)
    e = upper[0].size
    position = np.zeros((d, d), dtype=np.int64)
    position[upper] = np.arange(e)
    position = position + position.T
    h, w = H[upper], W[upper]
    n_bounds = e if norm == "l1" else 1  # one bound for each |m - h|, or one for the largest
    spread = sp.eye_array(e) if norm == "l1" else sp.csr_array(np.ones((e, 1)))
    scaled = sp.diags_array(w)
    sides = sp.vstack([sp.hstack([scaled, -spread]), sp.hstack([-scaled, -spread])])
    right = np.concatenate([w * h, -w * h])  # w (m - h) and w (h - m) lie below their bound
    cost = np.concatenate([np.zeros(e), np.ones(n_bounds)])
    equal: dict[str, Any] = {}
    if half is not None:
        equal = {
            "A_eq": sp.csr_array(np.concatenate([np.ones(e), np.zeros(n_bounds)])[None]),
            "b_eq": np.array([half]),
        }
    rows, seen, M, value, n_rounds, clean = sides, 0, np.zeros((d, d)), 0.0, 0, False
    while n_rounds < max_rounds and not clean:
        rhs = np.concatenate([right, np.zeros(seen)])
        found = linprog(cost, A_ub=rows, b_ub=rhs, bounds=(0, None), method="highs", **equal)
        if found.x is None:
            raise ValueError(f"HiGHS gave the linear program up: {found.message}")
        M = np.zeros((d, d))
        M[upper], value = found.x[:e], float(found.fun)
        M = M + M.T
        n_rounds += 1
        broken = _violated(M, tol, 10 * e)
        clean = not len(broken)
        if not clean:
            # 3 C(d, 3) inequalities would be too many at once
            rows = sp.vstack([rows, _triangle_rows(broken, position, e + n_bounds)])
            seen += len(broken)
    return M, value, n_rounds, clean


def _nearest_in_other_norm(
    H: Floats, norm: str, total: float | None, W: Floats, tol: float, max_sweeps: int
) -> tuple[Floats, NearnessInfo]:
    d, upper = len(H), np.triu_indices(len(H), 1)
    scale = max(float(np.abs(H[upper]).max(initial=0.0)), (total or 0.0) / max(d * (d - 1), 1))
    if scale == 0.0:
        return np.zeros((d, d)), NearnessInfo(0.0, 0.0, 0, True, None)
    half = None if total is None else 0.5 * total / scale
    rounds = _linear_program(H / scale, W, norm, half, max(tol, 1e-8), max_sweeps)
    M, value, n_rounds, clean = rounds
    M = shortest_paths(np.maximum(M, 0.0))
    if half is not None and M.any():
        M *= half / M[upper].sum()  # paths have shortened some sides
    terms = W[upper] * np.abs(M[upper] - H[upper] / scale)
    objective = float(terms.sum() if norm == "l1" else terms.max())
    # The program without the rest of the triangles is a bound
    gap = max(objective - value, 0.0) * scale
    return M * scale, NearnessInfo(objective * scale, gap, n_rounds, clean, None)


@checked
def metric_nearness(H, norm="l2", total=None, tol=1e-9, max_sweeps=10_000, *, weights=None):
    """Return the semimetric nearest to a matrix of dissimilarities.

    Parameters
    ----------
    H : array-like of shape (d, d)
        Dissimilarities, of any sign. The diagonal does not count. For "l2" the symmetric part is
        taken; other norms want a symmetric matrix.
    norm : {"l2", "l1", "linf"}, default="l2"
        What is least: the sum of squared, or of absolute differences, or the largest of them.
        "l2" corrects triangles in turn, the others are linear programs (HiGHS) to which triangles
        are added when they are broken; beyond a hundred bins those take minutes.
    total : float or None, default=None
        The sum of all entries that the semimetric must have.
    tol : float, default=1e-9
        Largest correction of a sweep at the end, relative to the largest entry; for linear programs
        the excess of a triangle, at least 1e-8.
    max_sweeps : int, default=10_000
        Most sweeps, or linear programs.
    weights : array-like of shape (d, d) or None, default=None
        Symmetric, positive off the diagonal; equal by default.

    Returns
    -------
    M : ndarray of shape (d, d)
        Symmetric with zero diagonal; every triangle inequality holds but for rounding.
    info : NearnessInfo
        Objective, duality gap, multipliers.

    Examples
    --------
    >>> from octavo.metric import metric_nearness
    >>> M, info = metric_nearness([[0, 1, 5], [1, 0, 1], [5, 1, 0]])
    >>> M.round(6).tolist(), round(info.objective, 6)
    ([[0.0, 2.0, 4.0], [2.0, 0.0, 2.0], [4.0, 2.0, 0.0]], 1.5)
    """
    H = _check_matrix(H, "H")
    check_squares(H, "H")
    if not isinstance(norm, str) or norm not in NORMS:
        raise ValueError(f"norm must be one of {', '.join(NORMS)}; got {norm!r}.")
    if not isinstance(tol, Real) or not float(tol) >= 0.0:
        raise ValueError(f"tol must be a number, not negative; got {tol!r}.")
    if not isinstance(max_sweeps, Integral) or max_sweeps < 1:
        raise ValueError(f"max_sweeps must be an int of at least 1; got {max_sweeps!r}.")
    d = len(H)
    if total is not None:
        if not isinstance(total, Real) or not 0.0 <= float(total) < np.inf:
            raise ValueError(f"total must be a finite number, not negative; got {total!r}.")
        total = float(total)
        if d < 2 and total > 0.0:
            raise ValueError(f"total={total:g} cannot be reached: one bin has no distances.")
    W, unit = _check_weights(weights, d), 1.0
    if W is not None:
        unit = float(W.max())
        W = W / unit
    if norm != "l2":
        if float(np.abs(H - H.T).max()) > 1e-8 * float(np.abs(H).max()):
            raise ValueError(f"norm={norm!r} wants a symmetric H; this one is not.")
        H = 0.5 * H + 0.5 * H.T
        W = np.ones((d, d)) if W is None else W
        M, info = _nearest_in_other_norm(H, norm, total, W, float(tol), int(max_sweeps))
    else:
        found = project_metric_cone(H, total, weights=W, tol=float(tol), max_sweeps=int(max_sweeps))
        M = found.M
        info = NearnessInfo(
            found.objective, found.duality_gap, found.n_sweeps, found.converged, found.duals
        )
    duals = None if info.duals is None else info.duals * unit
    info = info._replace(
        objective=info.objective * unit, duality_gap=info.duality_gap * unit, duals=duals
    )
    if not info.converged:
        warnings.warn(
            f"metric_nearness stopped after max_sweeps={max_sweeps} with a duality gap of "
            f"{info.duality_gap:.3g} at an objective of {info.objective:.3g}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return M, info
