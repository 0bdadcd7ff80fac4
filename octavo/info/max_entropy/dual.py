"""The dual of minimal relative entropy under linear constraints, and its minimum.

    min_p D(p‖p0)  s.t.  Σ p = 1, Fᵀp = b      is      - min_λ log Σ_i p0_i e^((F_i - b)·λ)

at p_i ∝ p0_i e^(F_i·λ), the Gibbs distribution (§2.3). The gradient is E_p[F] - b and the Hessian
the covariance of F. Where ‖Fᵀp - b‖ ≤ ε is enough, the dual has ε‖λ‖ more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import EPS
from octavo.info.max_entropy.feasibility import infeasible, separating_direction
from octavo.info.max_entropy.table import (
    Moments,
    covariance,
    partial_covariance,
    tilted,
)

DEPENDENT = 1e-11  # eigenvalues of the features' covariance below this share of the largest are 0
ARMIJO = 1e-4
FAST = 0.01  # a step that leaves no more of the gradient than this needs no new Hessian


class DualPoint(NamedTuple):
    """Scaled multipliers, the dual's value, probabilities, E_p[G], gradient, perhaps cov[G]."""

    mu: Floats
    value: float
    prob: Floats
    mean: Floats
    gradient: Floats
    spread: Floats | None = None


class DualSolution(NamedTuple):
    """The last point, how many iterations led there, and whether the gradient is below tol."""

    point: DualPoint
    n_iter: int
    converged: bool


def evaluate(problem: Moments, mu: Floats, *, with_spread: bool = False) -> DualPoint:
    """Return the dual and its gradient at scaled multipliers."""
    # log Σ p0 e^((F − b)·λ)
    value, prob, mean, spread = tilted(problem, mu, with_spread=with_spread)
    gradient = mean  # E_p[F] − b
    if problem.slack and mu.any():
        lam = mu / problem.scale
        gradient = mean + problem.slack * lam / np.linalg.norm(lam) / problem.scale  # of ε‖λ‖
    return DualPoint(mu, value + problem.penalty(mu), prob, mean, gradient, spread)


def _hessian(problem: Moments, point: DualPoint, *, rough: bool) -> Floats:
    """Return the Hessian, or its estimate from some of the rows."""
    if rough and problem.some is not None:
        H, mass = partial_covariance(problem.some, point.prob)
        H /= mass
    else:
        H = covariance(problem, point.prob) if point.spread is None else point.spread
    if problem.slack and point.mu.any():
        lam = point.mu / problem.scale
        length = float(np.linalg.norm(lam))
        # the Hessian of ‖λ‖: nothing along λ
        bend = (np.eye(lam.size) - np.outer(lam, lam) / length**2) / length
        H = H + problem.slack * bend / np.outer(problem.scale, problem.scale)
    return H


def _direction(H: Floats, gradient: Floats) -> Floats:
    """Return the Newton step; along what the features leave open, the shortest."""
    size = float(np.trace(H)) / H.shape[0]
    if size > 0.0:
        try:
            # makes what the features leave open definite
            firm = H + np.diag(np.full(H.shape[0], EPS * size))
            np.linalg.cholesky(firm)  # raises unless it is positive definite
            step: Floats = np.negative(np.linalg.solve(firm, gradient), dtype=np.float64)
            if np.isfinite(step).all() and step @ gradient < 0.0:
                return step
        except np.linalg.LinAlgError:
            pass
    values, vectors = np.linalg.eigh(H)
    kept = values > 1e-14 * max(values[-1], 0.0)
    return -(vectors[:, kept] / values[kept]) @ (vectors[:, kept].T @ gradient)


def _shortened(
    problem: Moments, point: DualPoint, step: Floats, *, with_spread: bool
) -> DualPoint | None:
    """Return the point after a step that Armijo's rule allows, or None if there is none."""
    slope, length = float(step @ point.gradient), 1.0
    rounding = 1e-14 * (1.0 + abs(point.value) + float(np.abs(point.mu).sum()))
    while length > 1e-12:
        trial = evaluate(problem, point.mu + length * step, with_spread=with_spread)
        if trial.value <= point.value + ARMIJO * length * slope + rounding:
            return trial
        length *= 0.5
    return None


def _secant(H: Floats, step: Floats, change: Floats) -> Floats | None:
    """Return H changed so that H step = change (BFGS), or None where rounding hides the bend."""
    before = H @ step
    bend, old = float(step @ change), float(step @ before)
    if not (bend > 1e-3 * old > 0.0):
        return None
    # the update of Broyden, Fletcher, Goldfarb and Shanno
    return H + np.outer(change, change) / bend - np.outer(before, before) / old


def newton(problem: Moments, mu: Floats, *, tol: float, max_iter: int) -> DualSolution:
    """Minimise by Newton's method with Armijo's rule, until the gradient is within tol.

    Long tables are read for the gradient at every step, and for the Hessian only where it pays: at
    first some of the rows give it, then a step that was fast enough corrects it.
    """
    point, hessian = evaluate(problem, mu), None
    rough = problem.some is not None
    for n_iter in range(max_iter):
        size = float(np.abs(point.gradient).max())
        if size <= tol or is_unbounded(problem, point):
            return DualSolution(point, n_iter, size <= tol)
        if hessian is None:
            hessian, is_new = _hessian(problem, point, rough=rough), not rough
        step = _direction(hessian, point.gradient)
        trial = _shortened(problem, point, step, with_spread=rough)  # a rough step is not the last
        if trial is None or (trial.value >= point.value and np.abs(trial.gradient).max() >= size):
            if is_new:
                return DualSolution(point, n_iter, False)  # rounding has the last word
            hessian, rough = None, False
            continue
        hessian = (
            _secant(hessian, trial.mu - point.mu, trial.gradient - point.gradient)
            if np.abs(trial.gradient).max() <= FAST * size
            else None
        )
        point, is_new, rough = trial, False, False
    done = bool(np.abs(point.gradient).max() <= tol)
    return DualSolution(point, max_iter, done)


def lbfgs(problem: Moments, mu: Floats, *, tol: float, max_iter: int) -> DualSolution:
    """Minimise by L-BFGS, for constraints so many that their covariance is too large."""

    def value_and_gradient(at: Floats) -> tuple[float, Floats]:
        point = evaluate(problem, at)
        return point.value, point.gradient

    options = {"maxiter": max_iter, "gtol": tol, "ftol": 0.0, "maxcor": 30, "maxls": 50}
    found = minimize(value_and_gradient, mu, jac=True, method="L-BFGS-B", options=options)
    point = evaluate(problem, found.x)
    return DualSolution(point, int(found.nit), bool(np.abs(point.gradient).max() <= tol))


def is_unbounded(problem: Moments, point: DualPoint) -> bool:
    """Tell whether the dual is below what any feasible p allows: D(p‖p0) ≤ -log min p0."""
    # then (F_i - b)·λ + ε‖λ‖ < 0 for every i, and λ itself separates
    return point.value < float(problem.log_prior.min()) - 1e-9


def start_of(problem: Moments) -> Floats:
    """Return where to begin: 0, or with slack a little way down, where ‖λ‖ has a gradient."""
    zero = np.zeros(problem.scale.size)
    if not problem.slack:
        return zero
    mean = evaluate(problem, zero).mean * problem.scale  # E[F] - b
    if np.linalg.norm(mean) <= problem.slack:
        return zero  # the prior itself is allowed
    down = -mean / np.linalg.norm(mean) * problem.scale
    length = 1.0 / max(1.0, float(np.abs(problem.times(down)).max()))
    at_zero = evaluate(problem, zero).value
    while evaluate(problem, length * down).value >= at_zero and length > 1e-300:
        length *= 0.5
    return length * down


def spanned(F: Floats, b: Floats, problem: Moments) -> int:
    """Return the dimension that the points span; raise where b is off their plane."""
    n, d = problem.table.shape
    even, some = np.full(n, 1.0 / n), problem.some
    if some is not None:
        part, _ = partial_covariance(some, even)
        if np.linalg.eigvalsh(part)[0] > DEPENDENT * d:
            return d  # as |G| ≤ 1, no eigenvalue of all rows is above d
    mean = (problem.table.mean(axis=0) - problem.offset) / problem.unit
    values, vectors = np.linalg.eigh(covariance(problem, even))
    is_flat = values <= DEPENDENT * max(float(values[-1]), 1e-300)
    off = vectors[:, is_flat] @ (vectors[:, is_flat].T @ mean)
    # digits of F - b that rounding took: of the order of b itself
    lost = 1e-12 * float((np.abs(b) / problem.scale).max(initial=0.0))
    if np.linalg.norm(off) > 1e-7 + lost:
        raise infeasible(-off / problem.scale, F, b)
    return int((~is_flat).sum())


def _is_inside(spread: Floats, point: DualPoint, n_spanned: int) -> bool:
    """Tell whether the hull reaches b for certain, from (a part of) the covariance."""
    least = float(np.linalg.eigvalsh(spread)[-n_spanned])
    radius = least / np.sqrt(spread.shape[0])  # |G| ≤ 1 in every column
    return bool(np.linalg.norm(point.mean) < 1e-3 * radius)


def refuse_outside(
    F: Floats, b: Floats, problem: Moments, solution: DualSolution, n_spanned: int
) -> None:
    """Raise where b is outside the hull of the points, or on its boundary.

    p with the moments b + r is positive everywhere, so that b + r is inside. By Bhatia and Davis
    the hull reaches v/R around it, v the least variance of p along any direction that the points
    span and R their largest distance: where ‖r‖ is smaller, b is inside too. Else HiGHS decides.
    """
    point = solution.point
    if is_unbounded(problem, point):
        raise infeasible(point.mu / problem.scale, F, b, problem.slack)
    if problem.slack or n_spanned == 0:
        return
    if problem.some is not None:
        part, _ = partial_covariance(problem.some, point.prob)
        if _is_inside(part, point, n_spanned):
            return
    if _is_inside(covariance(problem, point.prob), point, n_spanned):
        return
    direction = separating_direction(problem.scaled())
    if direction is not None:
        raise infeasible(direction / problem.scale, F, b)
