"""Minimise over the variances of groups: quasi-Newton, fixed point, re-weighting; then Newton.

Every solver goes its own way towards a stationary point, and Newton's method over λ ≥ 0
(`octavo.engine.smooth.nonnegative_newton`) takes the last steps: zeros are exact, groups that were
dropped too early come back, and the conditions of optimality hold to many digits.

The problem with log det is not convex: where a solver starts decides which stationary point it
finds. The paper starts from equal variances, the best ones among such.

References
----------
Aravkin, Burke, Chiuso and Pillonetto (2014), JMLR 15, Remark 6 and Section 4.2.
D. P. Wipf and S. Nagarajan (2007). A new view of automatic relevance determination. NIPS 20: the
fixed point and the re-weighted scheme.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.nonnegative_newton import nonnegative_newton
from octavo.kernel.group_ard.evidence import Evidence
from octavo.kernel.group_ard.objectives import Point, VarianceObjective
from octavo.kernel.group_ard.primal import primal_group_lasso

SOLVERS = ("lbfgs", "fixed_point", "reweighted", "newton")
_NEAR = 1e-5  # relative gain of a step below which Newton's method takes over
_PRUNE = 1e-8  # of the largest share of the variance of y: the fixed point never reaches zero
_EXTRA = 0.01
Step = Callable[[], bool]


class Solution(NamedTuple):
    """A stationary point: variances, noise, objective and its trace, certificate."""

    lam: Floats
    sigma2: float
    value: float
    point: Point
    violation: float  # relative to the terms of each slope
    n_iter: int
    values: list[float]
    converged: bool


def equal_variance(evidence: Evidence, sigma2: float) -> float:
    """Return κ̂: the minimiser of the ARD objective (6) among equal variances."""
    size = float(evidence.sizes.sum())
    if size <= 0.0 or evidence.energy <= 0.0:
        return 1.0
    alive = (evidence.sizes > 0.0).astype(np.float64)
    # E yᵀy = nσ² + κ tr ΣK_i says where to look.
    guess = max(evidence.energy - evidence.n * sigma2, 1e-3 * evidence.energy) / size

    def value(log_kappa: float) -> float:
        at = evidence.factored(np.exp(log_kappa) * alive, sigma2)
        return at.half_logdet + 0.5 * at.fit  # Eq. (6)

    middle = float(np.log(guess))
    found = minimize_scalar(
        value, bounds=(middle - 8.0, middle + 5.0), method="bounded", options={"xatol": 1e-4}
    )
    return float(np.exp(found.x))


def _quasi_newton(
    objective: VarianceObjective, x: Floats, max_iter: int, step: Step
) -> tuple[Floats, list[float]]:
    """Minimise by L-BFGS-B in units of the start: raw variances may differ by many powers."""
    scale = np.where(x > 0.0, x, x.max(initial=0.0))
    values: list[float] = []

    def both(u: Floats) -> tuple[float, Floats]:
        value, _, point = objective.value(scale * u)
        return value, scale * objective.slopes(point)[0]

    def after(intermediate_result) -> None:
        values.append(float(intermediate_result.fun))
        if step():
            raise StopIteration

    start = np.where(x > 0.0, 1.0, 0.0)
    bounds = [(0.0, None) if u > 0.0 else (0.0, 0.0) for u in start]
    found = minimize(
        both,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=after,
        options={"maxiter": max_iter, "ftol": _NEAR, "gtol": 0.0},
    )
    return scale * found.x, values


def _fixed_point(
    objective: VarianceObjective, x: Floats, max_iter: int, step: Step
) -> tuple[Floats, list[float]]:
    """Multiply variances by ‖G_iᵀWy‖ / √(tr(G_iᵀWG_i) + 2γ) until little is gained.

    Each update minimises a bound on the objective that touches it, so that it never rises.
    """
    value, _, point = objective.value(x)
    values = [value]
    while len(values) <= max_iter:
        gradient, terms = objective.slopes(point)
        growth = 0.5 * (terms + gradient)  # ½ tr + γ
        pull = 0.5 * (terms - gradient)  # ½ ‖G_iᵀWy‖²
        lam, sigma2 = objective.split(x)
        if objective.free_noise:
            sigma2 *= float(np.sqrt(pull[-1] / growth[-1]))
            growth, pull = growth[:-1], pull[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            # Eq. (8) is the fixed point
            lam = lam * np.where(growth > 0.0, np.sqrt(pull / growth), 0.0)
        share = lam * objective.evidence.sizes
        lam = np.where(share > _PRUNE * share.max(initial=0.0), lam, 0.0)
        x = objective.joined(lam, sigma2)
        value, _, point = objective.value(x)
        values.append(value)
        if step() or values[-2] - value <= _NEAR * max(1.0, abs(value)):
            break
    return x, values


def _reweighted(
    objective: VarianceObjective, x: Floats, max_iter: int, step: Step
) -> tuple[Floats, list[float]]:
    """Bound log det by its tangent and solve the weighted group lasso that results, repeatedly."""
    value, _, point = objective.value(x)
    values = [value]
    while len(values) <= max_iter:
        traces, energies = objective.parts(point)
        lam, sigma2 = objective.split(x)
        if objective.free_noise:
            sigma2 *= float(np.sqrt(energies[-1] / traces[-1]))
            traces = traces[:-1]
        # the slope of ½ log det at λ, by group
        costs = 0.5 * traces * objective.logdet + objective.costs
        # Eq. (12) with weights of its own
        convex = VarianceObjective(objective.evidence, costs, sigma2, logdet=False)
        lam = nonnegative_newton(convex, lam, tol=1e-6, max_iter=50).x
        x = objective.joined(lam, sigma2)
        value, _, point = objective.value(x)
        values.append(value)
        if step() or values[-2] - value <= _NEAR * max(1.0, abs(value)):
            break
    return x, values


_STAGES = {
    "lbfgs": _quasi_newton,
    "fixed_point": _fixed_point,
    "reweighted": _reweighted,
    "fista": primal_group_lasso,
}


def minimize_variances(
    objective: VarianceObjective,
    lam: Floats,
    sigma2: float,
    *,
    solver: str = "lbfgs",
    tol: float = 1e-8,
    max_iter: int = 500,
    on_step: Step | None = None,
) -> Solution:
    """Minimise Eq. (4), (6) or (12) from a start.

    Parameters
    ----------
    objective : VarianceObjective
        What is minimised.
    lam : ndarray of shape (n_groups,)
        Where to start. Groups of zeros, and all where y is zero, start and stay there.
    sigma2 : float
        Noise variance at the start; used where the objective leaves it free.
    solver : {"lbfgs", "fixed_point", "reweighted", "newton", "fista"}
        How to get near; all are followed by Newton's method. The last is for the group lasso of a
        linear model.
    tol : float
        Largest violation of a condition of optimality, relative to its terms.
    max_iter : int
        Most steps in all.
    on_step : callable, optional
        Called after every step; returns whether to stop.

    Returns
    -------
    Solution
        A stationary point.
    """
    alive = (objective.evidence.sizes > 0.0) & (objective.evidence.energy > 0.0)
    x = objective.joined(np.where(alive, lam, 0.0), sigma2)
    step = on_step or (lambda: False)
    values: list[float] = []
    if solver in _STAGES and x.any():
        x, values = _STAGES[solver](objective, x, max_iter, step)
        values = values[:-1]
    left = max(max_iter - len(values), 1)
    # One step more than asked for costs little and squares the violation.
    end = nonnegative_newton(objective, x, tol=_EXTRA * tol, max_iter=left, on_step=step)
    lam, sigma2 = objective.split(end.x)
    return Solution(
        lam,
        sigma2,
        end.value,
        end.state,
        end.violation,
        len(values) + end.n_iter,
        [*values, *end.values],
        end.violation <= tol,
    )


def starts(
    objective: VarianceObjective, kappa: float, sigma2: float, n_starts: int
) -> list[Floats]:
    """Return where to start: equal variances, the group lasso's, then random ones (seed 0).

    The second is the group lasso that bounds the objective at the first, one round of
    re-weighting; the others multiply κ by log-normal factors.
    """
    p = objective.evidence.n_groups
    found = [np.full(p, kappa)]
    if n_starts > 1 and objective.evidence.energy > 0.0:
        fixed = VarianceObjective(objective.evidence, objective.costs, sigma2)
        found.append(_reweighted(fixed, found[0], 1, lambda: False)[0])
    rng = np.random.RandomState(0)
    while len(found) < n_starts:
        found.append(kappa * np.exp(2.0 * rng.standard_normal(p)))
    return found
