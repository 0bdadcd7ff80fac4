"""The nearest points of simplices, capped simplices, l1 balls and Euclidean balls, row by row.

A row is lowered by one threshold until it fits; sorting the row gives the threshold exactly, so
every projection here ends after a known number of operations and needs no tolerance.

Reference: Held, Wolfe and Crowder (1974), Validation of subgradient optimization, for the simplex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats

__all__ = [
    "project_balls",
    "project_capped_simplex",
    "project_l1_balls",
    "project_simplex",
]


def _rows(points: Any) -> tuple[Floats, bool]:
    points = np.asarray(points, dtype=np.float64)
    return np.atleast_2d(points), points.ndim == 1


def _per_row(sizes: Any, n_rows: int) -> Floats:
    return np.broadcast_to(np.asarray(sizes, dtype=np.float64), (n_rows,))


def project_simplex(points: Any, total: Any = 1.0) -> Floats:
    """Return the nearest non-negative rows with a given sum.

    Parameters
    ----------
    points : array-like of shape (n, d) or (d,)
        What to project.
    total : float or array-like of shape (n,)
        The sum of each row, not negative.

    Returns
    -------
    ndarray of the shape of points
        The projections.

    Examples
    --------
    >>> from octavo.engine.projections.simplex import project_simplex
    >>> project_simplex([0.9, 0.5, -3.0]).round(9).tolist()
    [0.7, 0.3, 0.0]
    """
    rows, single = _rows(points)
    total = _per_row(total, len(rows))
    # a threshold near the largest entry keeps its digits, however large the entries are
    # The projection does not see a constant added to a row.
    rows = rows - rows.max(axis=1, keepdims=True)
    falling = -np.sort(-rows, axis=1)
    counts = np.arange(1, rows.shape[1] + 1)
    # The threshold if so many entries stay
    thresholds = (np.cumsum(falling, axis=1) - total[:, None]) / counts
    # The support is the largest prefix whose last entry stays above the threshold that it needs.
    last = np.maximum((falling > thresholds).sum(axis=1), 1) - 1
    projected = np.maximum(rows - thresholds[np.arange(len(rows)), last][:, None], 0.0)
    return projected[0] if single else projected


def project_l1_balls(points: Any, radius: Any = 1.0) -> Floats:
    """Return the nearest rows whose absolute values add up to at most a radius.

    Non-negative rows stay non-negative, which makes this the projection onto the set of
    non-negative rows with a bounded sum as well (clip at zero first).

    Parameters
    ----------
    points : array-like of shape (n, d) or (d,)
        What to project.
    radius : float or array-like of shape (n,)
        The largest sum of absolute values, not negative.

    Returns
    -------
    ndarray of the shape of points
        The projections; rows inside the ball as they are.

    Examples
    --------
    >>> from octavo.engine.projections.simplex import project_l1_balls
    >>> project_l1_balls([[3.0, -1.0], [0.2, 0.3]], radius=2.0).tolist()
    [[2.0, -0.0], [0.2, 0.3]]
    """
    rows, single = _rows(points)
    radius = _per_row(radius, len(rows))
    projected = rows.copy()
    outside = np.abs(rows).sum(axis=1) > radius
    if outside.any():  # signs apart, it is the simplex
        sizes = project_simplex(np.abs(rows[outside]), radius[outside])
        projected[outside] = np.sign(rows[outside]) * sizes
    return projected[0] if single else projected


def project_capped_simplex(points: Any, cap: Any = 1.0, total: Any = 1.0) -> Floats:
    """Return the nearest rows with entries in [0, cap] and a given sum.

    The sum of clip(row - t, 0, cap) falls in t along straight pieces whose ends are the entries
    and the entries less the cap; the piece that holds the total is found among the sorted ends.

    Parameters
    ----------
    points : array-like of shape (n, d) or (d,)
        What to project.
    cap : float or array-like of shape (n,)
        The largest entry of a row.
    total : float or array-like of shape (n,)
        The sum of each row, between 0 and d times the cap.

    Returns
    -------
    ndarray of the shape of points
        The projections.

    Examples
    --------
    >>> from octavo.engine.projections.simplex import project_capped_simplex
    >>> project_capped_simplex([2.0, 0.5, 0.1], cap=0.5).round(9).tolist()
    [0.5, 0.45, 0.05]
    """
    rows, single = _rows(points)
    n, d = rows.shape
    cap, total = _per_row(cap, n), _per_row(total, n)
    if np.any(total < 0.0) or np.any(total > d * cap * (1.0 + 1e-12)):
        raise ValueError(
            f"The sum of {d} entries in [0, cap] lies between 0 and {d} times the cap; "
            f"got a total of {total.max():g} with a cap of {cap.min():g}."
        )
    projected = np.empty_like(rows)
    for i, row in enumerate(rows):
        ends = np.sort(np.concatenate([row, row - cap[i]]))
        sums = np.clip(row - ends[:, None], 0.0, cap[i]).sum(axis=1)  # falls along the ends
        k = min(max(int(np.searchsorted(-sums, -total[i], side="right")) - 1, 0), 2 * d - 2)
        fall = sums[k] - sums[k + 1]
        share = (sums[k] - total[i]) / fall if fall > 0.0 else 0.0  # linear between the ends
        projected[i] = np.clip(row - (ends[k] + share * (ends[k + 1] - ends[k])), 0.0, cap[i])
    return projected[0] if single else projected


def project_balls(points: Any, radius: Any = 1.0) -> Floats:
    """Return the nearest rows of Euclidean norm at most a radius.

    Parameters
    ----------
    points : array-like of shape (n, d) or (d,)
        What to project.
    radius : float or array-like of shape (n,)
        The largest norm.

    Returns
    -------
    ndarray of the shape of points
        The projections; rows inside the ball as they are.

    Examples
    --------
    >>> from octavo.engine.projections.simplex import project_balls
    >>> project_balls([[3.0, 4.0], [0.3, 0.4]]).round(9).tolist()
    [[0.6, 0.8], [0.3, 0.4]]
    """
    rows, single = _rows(points)
    radius = _per_row(radius, len(rows))
    norms = np.linalg.norm(rows, axis=1)
    shrink = np.divide(radius, norms, out=np.ones_like(norms), where=norms > radius)
    projected = rows * shrink[:, None]
    return projected[0] if single else projected
