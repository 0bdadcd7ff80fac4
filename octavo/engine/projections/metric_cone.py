"""The semimetric nearest to a matrix: all triangle inequalities, by Hildreth's method.

    min ½ Σ_{i<j} w_ij (m_ij - h_ij)²   subject to   m_ij ≤ m_ik + m_kj, and Σ_{i≠j} m_ij = total

Every inequality keeps a multiplier and is corrected in turn (Dykstra's algorithm for half-spaces,
"triangle fixing"). Between two full sweeps the few inequalities that bind are swept alone, which is
where most of the work would be wasted otherwise. Multipliers of one projection start the next.

Reference: J. Brickell, I. Dhillon, S. Sra and J. Tropp (2008), "The metric nearness problem",
Algorithm 3.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.doubles import reachable_tolerance

ACTIVE_PASSES = 20  # over what binds, for each pass over everything


class ConeProjection(NamedTuple):
    """The projection, its multipliers and the certificate.

    ``duals`` has a row for each i < j < k, in that order, and a column for each side that may be
    too long: ij, ik, jk. ``duality_gap`` is the objective at M less the dual value at ``duals``.
    """

    M: Floats
    duals: Floats
    objective: float
    duality_gap: float
    n_sweeps: int
    move: float
    converged: bool


@njit(cache=True, nogil=True, inline="always")
def _fix(m, duals, t, ij, ik, jk, cost):
    """Correct the three inequalities of one triangle; return the largest move."""
    a, b, c = m[ij], m[ik], m[jk]
    wa, wb, wc = cost[ij], cost[ik], cost[jk]
    step = 1.0 / (wa + wb + wc)  # 1/3 with unit weights
    largest = 0.0
    for side in range(3):
        if side == 0:
            excess = a - b - c
        elif side == 1:
            excess = b - a - c
        else:
            excess = c - a - b
        z = duals[t, side]
        s = max(-z, excess * step)  # the multiplier stays at least 0: Hildreth's correction
        if s != 0.0:
            duals[t, side] = z + s
            if side == 0:
                a, b, c = a - s * wa, b + s * wb, c + s * wc
            elif side == 1:
                a, b, c = a + s * wa, b - s * wb, c + s * wc
            else:
                a, b, c = a + s * wa, b + s * wb, c - s * wc
            largest = max(largest, abs(s))
    m[ij], m[ik], m[jk] = a, b, c  # one triangle is exact before the next
    return largest


@njit(cache=True, nogil=True)
def _shift(m, cost, half_total):
    """Move onto the plane of a given sum; return the size of the move."""
    excess, whole = -half_total, 0.0
    for e in range(m.size):
        excess += m[e]
        whole += cost[e]
    step = excess / whole
    for e in range(m.size):
        m[e] -= step * cost[e]  # along the plane's normal in the weighted norm
    return abs(step)


@njit(cache=True, nogil=True)
def _sweep(m, duals, cost, d, half_total, passes, active):
    """Sweep all triangles, then `passes` times those that bind; return the full sweep's move.

    m and cost (inverse weights) hold the upper triangle row by row. half_total < 0: no sum. The
    first count is of a full sweep alone, so that it certifies all inequalities.
    """
    largest, n_active, t = 0.0, 0, 0
    for i in range(d):
        row_i = i * d - i * (i + 1) // 2 - i - 1  # position of (i, j) is row_i + j
        for j in range(i + 1, d):
            row_j = j * d - j * (j + 1) // 2 - j - 1
            for k in range(j + 1, d):
                a, b, c = m[row_i + j], m[row_i + k], m[row_j + k]
                if (
                    a > b + c
                    or b > a + c
                    or c > a + b
                    or duals[t, 0] + duals[t, 1] + duals[t, 2] > 0.0
                ):
                    ij, ik, jk = row_i + j, row_i + k, row_j + k
                    largest = max(largest, _fix(m, duals, t, ij, ik, jk, cost))
                    if n_active < active.shape[0] and duals[t, 0] + duals[t, 1] + duals[t, 2] > 0.0:
                        active[n_active, 0], active[n_active, 1] = t, ij
                        active[n_active, 2], active[n_active, 3] = ik, jk
                        n_active += 1
                t += 1
    if half_total >= 0.0:
        largest = max(largest, _shift(m, cost, half_total))
    for _ in range(passes):
        moved = 0.0
        for e in range(n_active):
            t, ij, ik, jk = active[e, 0], active[e, 1], active[e, 2], active[e, 3]
            moved = max(moved, _fix(m, duals, t, ij, ik, jk, cost))
        if half_total >= 0.0:
            moved = max(moved, _shift(m, cost, half_total))
        if moved < 1e-4 * largest:
            break
    return largest


@njit(cache=True, nogil=True)
def _pull(m, duals, cost, d):
    """Add what the multipliers do to the matrix that is projected: m -= W⁻¹Aᵀz."""
    t = 0
    for i in range(d):
        row_i = i * d - i * (i + 1) // 2 - i - 1
        for j in range(i + 1, d):
            row_j = j * d - j * (j + 1) // 2 - j - 1
            for k in range(j + 1, d):
                x, y, z = duals[t, 0], duals[t, 1], duals[t, 2]
                m[row_i + j] -= (x - y - z) * cost[row_i + j]
                m[row_i + k] -= (y - x - z) * cost[row_i + k]
                m[row_j + k] -= (z - x - y) * cost[row_j + k]
                t += 1


@njit(cache=True, nogil=True)
def _close(M):
    """Replace entries by shortest paths (Floyd and Warshall), in place."""
    d = M.shape[0]
    for k in range(d):
        for i in range(d):
            through = M[i, k]
            for j in range(d):
                M[i, j] = min(M[i, j], through + M[k, j])


def shortest_paths(M: Floats) -> Floats:
    """Return the largest semimetric that is nowhere above M (symmetric, none negative).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.projections.metric_cone import shortest_paths
    >>> shortest_paths(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]]))[0].tolist()
    [0.0, 1.0, 3.0]
    """
    closed = np.array(M, dtype=np.float64, order="C")
    _close(closed)
    return closed


@njit(cache=True, nogil=True)
def _longest(M):
    """Return the largest excess of an entry over a path through one other bin."""
    d, worst = M.shape[0], 0.0
    for i in range(d):
        for k in range(d):
            through = M[i, k]
            for j in range(d):
                worst = max(worst, M[i, j] - through - M[k, j])
    return worst


def triangle_excess(M: Floats) -> float:
    """Return by how much the worst triangle inequality is broken; 0 for a semimetric.

    Non-negativity is one of them: m_ii = 0 ≤ m_ij + m_ji.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.projections.metric_cone import triangle_excess
    >>> triangle_excess(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]]))
    2.0
    """
    return float(_longest(np.ascontiguousarray(M, dtype=np.float64)))


def _square(m: Floats, upper: tuple[Indices, Indices], d: int) -> Floats:
    M = np.zeros((d, d))
    M[upper] = m
    return M + M.T


def project_metric_cone(
    H: Floats,
    total: float | None = None,
    *,
    weights: Floats | None = None,
    duals: Floats | None = None,
    tol: float = 1e-9,
    max_sweeps: int = 10_000,
) -> ConeProjection:
    """Return the semimetric nearest to H in weighted Euclidean norm.

    Parameters
    ----------
    H : ndarray of shape (d, d)
        Its symmetric part is projected; the diagonal does not count.
    total : float, optional
        The sum of all entries of the semimetric; d ≥ 2 then.
    weights : ndarray of shape (d, d), optional
        Symmetric and positive off the diagonal.
    duals : ndarray of shape (d(d-1)(d-2)/6, 3), optional
        Multipliers to start from; they are changed in place.
    tol : float, default=1e-9
        Largest move of a full sweep at the end, relative to the largest entry of H or to the mean
        entry that `total` asks for, whichever is larger; at least 1e-15.
    max_sweeps : int, default=10_000
        Most full sweeps.

    Returns
    -------
    ConeProjection
        A semimetric to the last bit but for rounding: what is left of triangles that are too long
        is cut off by shortest paths.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.projections.metric_cone import project_metric_cone
    >>> H = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    >>> project_metric_cone(H).M.round(6)[0].tolist()
    [0.0, 2.0, 4.0]
    """
    d = H.shape[0]
    upper = np.triu_indices(d, 1)
    h = 0.5 * (H[upper] + H.T[upper])
    half = -1.0 if total is None else 0.5 * total
    scale = max(float(np.abs(h).max(initial=0.0)), half / max(h.size, 1))
    if not scale > 0.0 or d < 2:
        M, unused = np.zeros((d, d)), np.zeros((0, 3))
        return ConeProjection(M, unused, 0.0, 0.0, 0, 0.0, True)
    cost = np.ones(h.size) if weights is None else 1.0 / weights[upper]
    cost_scale = float(cost.mean())
    h, half, cost = h / scale, half / scale, cost / cost_scale
    n_triangles = d * (d - 1) * (d - 2) // 6
    z = np.zeros((n_triangles, 3)) if duals is None else duals
    z *= cost_scale / scale
    m = h.copy()
    _pull(m, z, cost, d)
    if half >= 0.0:
        _shift(m, cost, half)
    if d == 2 and half < 0.0:
        m = np.maximum(m, 0.0)
    active = np.empty((min(n_triangles, max(4 * h.size, n_triangles // 8)), 4), dtype=np.int64)
    limit, move, n_sweeps = reachable_tolerance(tol, floor=1e-15), 0.0, 0
    while n_sweeps < max_sweeps:
        move = _sweep(m, z, cost, d, half, ACTIVE_PASSES, active)
        n_sweeps += 1
        if move <= limit:
            break
    # What is left of long sides is cut off: every result is a semimetric
    M = shortest_paths(_square(np.maximum(m, 0.0), upper, d))
    if half >= 0.0:
        held = float(M[upper].sum())
        M = M * (half / held) if held > 0.0 else _square(np.full(h.size, half / h.size), upper, d)
    dual = _dual_value(h, m, z, cost, half)
    objective = float(0.5 * np.sum((M[upper] - h) ** 2 / cost))
    unit = scale * scale / cost_scale
    z *= scale / cost_scale
    return ConeProjection(
        M * scale,
        z,
        objective * unit,
        max(objective - dual, 0.0) * unit,
        n_sweeps,
        move * scale,
        bool(move <= limit),
    )


def _dual_value(h: Floats, m: Floats, z: Floats, cost: Floats, half: float) -> float:
    """Return the dual value: m minimises the Lagrangian of its multipliers.

    With g = W(h - m) = Aᵀz + ν1 it is g·h - ½g·W⁻¹g - ν·half; ν follows from any entry of g.
    """
    g = (h - m) / cost
    if half < 0.0:
        return float(g @ h - 0.5 * g @ (g * cost))
    pulled = np.zeros_like(h)
    d = round(0.5 + np.sqrt(0.25 + 2 * h.size))
    _pull(pulled, z, np.ones_like(cost), d)
    nu = float(np.mean(g + pulled))
    return float(g @ h - 0.5 * g @ (g * cost) - nu * half)


def _warmup() -> None:
    project_metric_cone(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]]), 1.0)
    triangle_excess(np.zeros((3, 3)))
