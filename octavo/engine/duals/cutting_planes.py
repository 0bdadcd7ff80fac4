"""Minimisation of a ridge penalty plus any convex function, by cutting planes, with a gap.

    min_x  F(x) = Σ_k x_k²/(2 σ_k²) + R(x)

R is known through its value and a subgradient g at points x; each is a plane that lies below R.
The minimum of the ridge plus the highest plane is a lower bound on F; its minimiser solves a
quadratic program in one weight a plane. Planes are cut at a point between that minimiser and the
best point so far, which saves most of the back and forth of the plain method (the idea of Franc
and Sonnenburg's optimised cutting planes).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from octavo.engine.duals.simplex_qp import simplex_qp
from octavo.engine.estimators.arrays import Floats

_TOWARDS = 0.1  # how far from the best point towards the model's minimiser a plane is cut
_IDLE = 30  # a plane without weight for that many iterations is dropped


class CutFit(NamedTuple):
    """The best point, F there, and how far F may be above its minimum; F after every iteration."""

    x: Floats
    objective: float
    gap: float
    n_iter: int
    trace: Floats


def minimize_by_cuts(
    risk: Callable[[Floats], tuple[float, Floats]],
    sigma: Floats,
    *,
    tol: float,
    max_iter: int,
    step: Callable[[], bool] | None = None,
) -> CutFit:
    """Minimise F to a gap of tol; see the module.

    Parameters
    ----------
    risk : callable
        Takes x, returns R(x) and a subgradient.
    sigma : ndarray
        Standard deviations of the ridge, finite.
    tol : float
        Gap to stop at.
    max_iter : int
        Most planes to cut.
    step : callable, optional
        Called after every iteration; returns whether to stop.

    Returns
    -------
    fit : CutFit
        The best point with its certificate.
    """
    variance = sigma**2
    planes, heights = np.empty((0, sigma.size)), np.empty(0)
    gram, weight, idle = np.empty((0, 0)), np.empty(0), np.empty(0, dtype=np.int64)
    best = target = np.zeros(sigma.size)
    value, gap, n_iter = np.inf, np.inf, 0
    trace: list[float] = []
    for n_iter in range(1, max_iter + 1):
        point = best + _TOWARDS * (target - best)
        height, slope = risk(point)
        cost = 0.5 * float(point @ (point / variance)) + height
        if cost < value:
            value, best = cost, point
        trace.append(value)
        cross = planes @ (variance * slope)
        own = float(slope @ (variance * slope))
        gram = np.block([[gram, cross[:, None]], [cross[None, :], np.array([[own]])]])
        planes = np.vstack([planes, slope])
        heights = np.append(heights, height - float(slope @ point))
        weight = np.append(weight, 1.0 if n_iter == 1 else 0.0)
        idle = np.append(idle, 0)
        slopes = np.empty(weight.size)
        simplex_qp(gram, heights, weight, slopes, 1e-3 * tol, 100_000, np.inf, -np.inf)
        target = -variance * (weight @ planes)
        bound = float(heights @ weight) - 0.5 * float(target @ (target / variance))
        gap = value - bound
        if gap <= tol or (step is not None and step()):
            break
        idle = np.where(weight > 0, 0, idle + 1)
        kept = idle <= _IDLE
        planes, heights, weight, idle = planes[kept], heights[kept], weight[kept], idle[kept]
        gram = gram[np.ix_(kept, kept)]
    return CutFit(best, value, gap, n_iter, np.array(trace))
