"""Newton's method over x ≥ 0 for smooth functions of some hundreds of unknowns, convex or not.

Each step minimises a quadratic model over the orthant exactly (`nonnegative_quadratic`), so that
bounds are hit, and left, by many unknowns at once; a line search between the iterate and the
model's minimiser makes the values fall. The model has the Hessian where it is positive definite,
and that of a convex bound on the function, or another metric, elsewhere. Unknowns at zero take part
only where the slope says that they should leave it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.proximal.nonnegative_least_squares import nonnegative_quadratic

_ARMIJO = 1e-4
_SMALLEST = 1e-9  # of the steps that a line search tries
_LAST_BITS = 0.1  # share of the expected fall that each unknown next to its bound may bring
_PATIENCE = 3  # steps within rounding that do not halve the violation either
_RIDGE = 1e-10  # relative, where a metric is singular


class CurvedFunction(Protocol):
    """A smooth function of x ≥ 0 with two derivatives."""

    def value(self, x: Floats) -> tuple[float, float, Any]:
        """Return the value, how large its rounding error may be, and what derivatives need."""

    def slopes(self, state: Any) -> tuple[Floats, Floats]:
        """Return the gradient, and the size of the terms that it is the difference of."""

    def curvature(self, state: Any, which: Indices) -> tuple[Floats, Floats]:
        """Return the Hessian and a positive semi-definite metric of some of the unknowns."""


class NonnegativeMinimum(NamedTuple):
    """Where Newton's method ended.

    ``violation`` is the largest violation of the conditions of optimality, each slope relative to
    the terms that it is the difference of; ``values`` holds the value at every iterate.
    """

    x: Floats
    value: float
    state: Any
    violation: float
    n_iter: int
    values: list[float]
    converged: bool


def kkt_violations(x: Floats, gradient: Floats) -> Floats:
    """Return by how much each slope violates optimality over x ≥ 0."""
    return np.where(x > 0.0, np.abs(gradient), np.maximum(-gradient, 0.0))


def _direction(
    function: CurvedFunction, state: Any, x: Floats, gradient: Floats, which: Indices
) -> Floats:
    """Return the step to the minimiser of the quadratic model in the unknowns named."""
    hessian, metric = function.curvature(state, which)
    sizes = metric.diagonal() + np.abs(hessian.diagonal()) + np.finfo(float).tiny
    # The Hessian, else the bound's metric, else its diagonal: the first that is positive definite.
    for matrix in (hessian, metric + np.diag(_RIDGE * sizes), np.diag(sizes)):
        try:
            cholesky(matrix, lower=True, check_finite=False)
            target = matrix @ x[which] - gradient[which]
            step = nonnegative_quadratic(matrix, target) - x[which]
        except LinAlgError:
            continue
        if gradient[which] @ step < 0.0:
            break
    full = np.zeros_like(x)
    full[which] = step
    return full


def _shortened(x: Floats, step: Floats, gradient: Floats, length: float) -> Floats:
    """Return x after a part of the step; the last bits of what goes to zero go there at once.

    Otherwise a short step would leave many unknowns just above the bound, step after step.
    """
    end = x + step
    if length == 1.0:
        return np.where(end > 0.0, end, 0.0)
    trial = x + length * step
    share = _LAST_BITS * length * abs(float(gradient @ step))
    trial[(end <= 0.0) & (gradient >= 0.0) & (gradient * x <= share)] = 0.0
    return trial


def nonnegative_newton(
    function: CurvedFunction,
    x: Floats,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    on_step: Callable[[], bool] | None = None,
) -> NonnegativeMinimum:
    """Minimise over x ≥ 0.

    Parameters
    ----------
    function : CurvedFunction
        The function with its derivatives.
    x : ndarray
        Where to start, at least 0.
    tol : float, default=1e-8
        Stop when no slope violates optimality by more than this part of its terms.
    max_iter : int, default=100
        Most steps.
    on_step : callable, optional
        Called after each step; returns whether to stop.

    Returns
    -------
    NonnegativeMinimum
        A stationary point; values fall from step to step up to rounding.
    """
    x = np.array(x, dtype=np.float64)
    value, rounding, state = function.value(x)
    values, n_iter, idle, best = [value], 0, 0, np.inf
    while True:
        gradient, terms = function.slopes(state)
        relative = kkt_violations(x, gradient) / np.where(terms > 0.0, terms, np.inf)
        violation = float(relative.max(initial=0.0))
        idle = 0 if violation < 0.5 * best else idle
        best = min(best, violation)
        if violation <= tol or n_iter >= max_iter or idle > _PATIENCE:
            break
        # At zero only what wants to grow; next to the tolerance an unknown would flutter.
        which = np.flatnonzero((x > 0.0) | (gradient < -0.1 * tol * terms))
        step = _direction(function, state, x, gradient, which)
        fall, length = float(gradient @ step), 1.0
        while length > _SMALLEST:
            trial = _shortened(x, step, gradient, length)
            found = function.value(trial)
            if found[0] <= value + _ARMIJO * length * fall + rounding:
                break
            length *= 0.5
        else:
            break  # rounding leaves nothing to gain
        idle += found[0] >= value - rounding  # where rounding rules, slopes decide
        stalled = np.array_equal(trial, x)
        x, (value, rounding, state) = trial, found
        values.append(value)
        n_iter += 1
        if stalled or (on_step is not None and on_step()):
            break
    return NonnegativeMinimum(x, value, state, violation, n_iter, values, violation <= tol)
