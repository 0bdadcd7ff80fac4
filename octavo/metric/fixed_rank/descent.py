"""Descent with Armijo's step and the stopping rules of Section 7.

Reference: Meyer, Bonnabel and Sepulchre (2011), Sections 7.4.1 and 7.5. The condition (22) is
printed without the step and with the wrong sign; here it is f(new) ≤ f - c s ‖grad‖².
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import reachable_tolerance
from octavo.metric.fixed_rank.last_steps import newton_end
from octavo.metric.fixed_rank.losses import half_mean_square, residuals
from octavo.metric.fixed_rank.walks import ConjugateWalk, FlatWalk, LogWalk, PolarWalk, Walk

_HALVINGS = 200
_EXACT = 1e-8  # a tolerance below it is one that Newton's steps reach sooner
_SLOW = 1e-5  # they take over where a change is below it
_SETTLED, _ENDLESS = "the change is below tol", "max_iter steps were taken"
FIXED_RANK = ("flat", "polar")
FULL_RANK = ("affine", "affine_first_order", "log_euclidean", "log_euclidean_gradient")
GEOMETRIES = FIXED_RANK + FULL_RANK


class Descent(NamedTuple):
    """How a descent went: the cost at every iterate, and why it ended."""

    costs: list[float]
    n_iter: int
    converged: bool
    reason: str


def start_walk(
    rows: Any,
    G: Floats,
    geometry: str,
    lam: float = 0.5,
    precondition: Callable[[Floats], Floats] | None = None,
) -> Walk:
    """Return a walk that stands at GGᵀ.

    Parameters
    ----------
    rows : TableRows or PairDifferences
        The data.
    G : ndarray of shape (d, r)
        Square for the geometries of full rank.
    geometry : str
        One of `GEOMETRIES`, or "conjugate": "flat" with a memory of the last direction.
    lam : float, default=0.5
        Weight of the subspace, for "polar".
    precondition : callable, default=None
        For "conjugate", which see.

    Returns
    -------
    Walk
        FlatWalk, ConjugateWalk, PolarWalk or LogWalk.
    """
    if geometry == "flat":
        return FlatWalk(rows, G)
    if geometry == "conjugate":
        return ConjugateWalk(rows, G, precondition)
    if geometry == "polar":
        return PolarWalk(rows, G, lam)
    if geometry.startswith("affine"):
        # The whole space is the subspace: W - sWMW and W^½ exp(-s W^½MW^½) W^½ on it.
        return PolarWalk(rows, G, 0.0, first_order=geometry == "affine_first_order")
    return LogWalk(rows, G, mirror=geometry == "log_euclidean")


def descend(
    walk: Walk,
    y: Floats,
    relation: Ints | None = None,
    *,
    tol: float = 1e-5,
    max_iter: int = 1000,
    c: float = 0.5,
    s0: float = 100.0,
    on_step: Callable[[float], bool] = lambda cost: False,
) -> Descent:
    """Walk downhill until Eq. (24) holds.

    Parameters
    ----------
    walk : Walk
        Where to start; it is moved.
    y : ndarray of shape (n,)
        Targets.
    relation : ndarray of shape (n,), default=None
        0 for ŷ = y, 1 for ŷ ≤ y, -1 for ŷ ≥ y.
    tol : float, default=1e-5
        Ends when the cost is below `tol` times that of W = 0, or when the relative change of
        the cost or of the factor is below `tol`. With a `tol` between 0 and 1e-8 a walk that is
        free to go anywhere ("flat", "polar") ends by Newton's steps, from where a change is below
        1e-5.
    max_iter : int, default=1000
        Most steps.
    c, s0 : float
        Armijo's constant, and the longest step in units of 1/‖grad‖.
    on_step : callable
        Is told the cost after each step; ends the walk by True.

    Returns
    -------
    Descent
        Costs, with that of the start first.
    """
    tol = reachable_tolerance(tol, floor=0.0)
    enough = tol * half_mean_square(residuals(np.zeros_like(y), y, relation))
    rules = (y, relation, enough, max_iter, c, s0, on_step)
    if not (0.0 < tol < _EXACT and _has_last_steps(walk)):
        return _first_order(walk, tol, *rules)
    found = _first_order(walk, _SLOW, *rules)
    if found.reason != _SETTLED:
        return found
    G, costs, reason = newton_end(
        walk.rows,
        walk.factor(),
        y,
        relation,
        tol=tol,
        enough=enough,
        max_iter=max_iter - found.n_iter,
        on_step=on_step,
    )
    walk.stand_at(G)
    n_iter = found.n_iter + len(costs)
    return Descent(found.costs + costs, n_iter, bool(reason), reason or _ENDLESS)


def _has_last_steps(walk: Walk) -> TypeGuard[FlatWalk | PolarWalk]:
    """Tell whether a walk goes wherever its factor can: no frozen part, no metric of its own."""
    if isinstance(walk, PolarWalk):
        return 0.0 < walk.lam < 1.0
    return isinstance(walk, FlatWalk) and not isinstance(walk, ConjugateWalk)


def _first_order(
    walk: Walk,
    tol: float,
    y: Floats,
    relation: Ints | None,
    enough: float,
    max_iter: int,
    c: float,
    s0: float,
    on_step: Callable[[float], bool],
) -> Descent:
    e = residuals(walk.predictions(), y, relation)
    cost = half_mean_square(e)
    costs = [cost]
    if not np.isfinite(cost):
        return Descent(costs, 0, False, "the cost of the start is not finite")
    last = np.inf
    for n_iter in range(max_iter):
        if cost <= enough or cost == 0.0:
            return Descent(costs, n_iter, True, "the cost is below tol")
        slope = walk.aim(e / y.size)  # grad f(W_t), with e/n for the mean of Eq. (1)
        if not np.isfinite(slope) or slope <= 0.0:
            return Descent(costs, n_iter, bool(slope == 0.0), "the gradient is zero")
        # s_max = s0/‖grad f‖; four times the last step saves halvings
        found = _armijo(walk, y, relation, cost, slope, min(4.0 * last, s0 / slope**0.5), c)
        if found is None:
            return Descent(costs, n_iter, True, "no step lowers the cost in doubles")
        if isinstance(walk, ConjugateWalk):
            found = _nearer(walk, y, relation, cost, slope, found)
        last, e, lower = found
        change = walk.move(last)
        fall, cost = cost - lower, lower
        costs.append(cost)
        if on_step(cost):
            return Descent(costs, n_iter + 1, True, "a callback ended it")
        if fall <= tol * costs[-2] or change <= tol:  # Eq. (24)
            return Descent(costs, n_iter + 1, True, _SETTLED)
    return Descent(costs, max_iter, cost <= enough, _ENDLESS)


def _nearer(
    walk: Walk,
    y: Floats,
    relation: Ints | None,
    cost: float,
    slope: float,
    found: tuple[float, Floats, float],
) -> tuple[float, Floats, float]:
    """Return a step nearer to the lowest point: conjugate directions rest on being there.

    Twice the lowest point of the parabola through what is known.
    """
    for _ in range(2):
        step, _, lower = found
        bend = lower - cost + step * slope
        if not bend > 0.0:
            break
        other = 0.5 * slope * step**2 / bend  # the parabola through value, slope and value
        e = residuals(walk.predictions_at(other), y, relation)
        if not (reached := half_mean_square(e)) < lower:
            break
        found = other, e, reached
    return found


def _armijo(
    walk: Walk,
    y: Floats,
    relation: Ints | None,
    cost: float,
    slope: float,
    step: float,
    c: float,
) -> tuple[float, Floats, float] | None:
    """Return the first of the halved steps with enough descent, Eq. (22), or None."""
    step = min(step, walk.max_step)
    for _ in range(_HALVINGS):
        e = residuals(walk.predictions_at(step), y, relation)
        lower = half_mean_square(e)  # infinity, where it is no number: another halving
        if lower <= cost - c * step * slope:  # Eq. (22) with its signs: ‖grad‖² is subtracted
            return step, e, lower
        step *= 0.5  # divided by 2: Section 7.4.1
        if step * slope <= 1e-17 * cost:
            break
    return None
