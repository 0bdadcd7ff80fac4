"""The dual of minimal relative entropy under linear constraints, and its minimum.

    min_p D(p‖p0)  s.t.  Σ p = 1, Fᵀp = b      is      - min_λ log Σ_i p0_i e^((F_i - b)·λ)

at p_i ∝ p0_i e^(F_i·λ), the Gibbs distribution (§2.3). The gradient is E_p[F] - b and the Hessian
the covariance of F. Where ‖Fᵀp - b‖ ≤ ε is enough, the dual has ε‖λ‖ more. Columns are shifted by
b and scaled before anything is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from octavo.engine.estimators.arrays import Floats
from octavo.info.max_entropy.feasibility import infeasible, separating_direction

CHUNK = 4096  # rows whose scaled copy stays in the cache
DEPENDENT = 1e-11  # eigenvalues of the features' covariance below this share of the largest are 0
ARMIJO = 1e-4


class Moments(NamedTuple):
    """A problem in scaled coordinates: G = (F - b)/scale where p0 is positive, and log p0."""

    G: Floats
    log_prior: Floats
    scale: Floats
    slack: float

    def penalty(self, mu: Floats) -> float:
        """Return ε‖λ‖ of scaled multipliers."""
        return self.slack * float(np.linalg.norm(mu / self.scale)) if self.slack else 0.0


class DualPoint(NamedTuple):
    """Scaled multipliers, the dual's value, probabilities, E_p[G], and the gradient."""

    mu: Floats
    value: float
    prob: Floats
    mean: Floats
    gradient: Floats


class DualSolution(NamedTuple):
    """The last point, how many iterations led there, and whether the gradient is below tol.

    ``hessian`` is that of the point before, from which no log-probability has moved by more than
    ``moved``; None where it was not computed.
    """

    point: DualPoint
    n_iter: int
    converged: bool
    hessian: Floats | None = None
    moved: float = np.inf


def column_scale(G: Floats) -> Floats:
    """Return the largest size of each column, 1 for a column of zeros."""
    scale = np.maximum(G.max(axis=0), -G.min(axis=0))
    return np.where(scale > 0.0, scale, 1.0)


def evaluate(problem: Moments, mu: Floats) -> DualPoint:
    """Return the dual and its gradient at scaled multipliers."""
    tilt = problem.G @ mu
    tilt += problem.log_prior
    top = float(tilt.max())
    tilt -= top
    prob = np.exp(tilt, out=tilt)
    total = float(prob.sum())
    prob /= total
    mean = problem.G.T @ prob
    gradient = mean
    if problem.slack and mu.any():
        lam = mu / problem.scale
        gradient = mean + problem.slack * lam / np.linalg.norm(lam) / problem.scale
    return DualPoint(mu, top + np.log(total) + problem.penalty(mu), prob, mean, gradient)


def covariance(G: Floats, prob: Floats, mean: Floats) -> Floats:
    """Return the covariance of the columns, by blocks of rows that stay in the cache."""
    root = np.sqrt(prob)[:, None]
    total, block = -np.outer(mean, mean), np.empty((CHUNK, G.shape[1]))
    for start in range(0, G.shape[0], CHUNK):
        rows = G[start : start + CHUNK]
        scaled = np.multiply(rows, root[start : start + CHUNK], out=block[: len(rows)])
        total += scaled.T @ scaled
    return total


def _hessian(problem: Moments, point: DualPoint) -> Floats:
    H = covariance(problem.G, point.prob, point.mean)
    if problem.slack and point.mu.any():
        lam = point.mu / problem.scale
        length = float(np.linalg.norm(lam))
        bend = (np.eye(lam.size) - np.outer(lam, lam) / length**2) / length
        H += problem.slack * bend / np.outer(problem.scale, problem.scale)
    return H


def _direction(H: Floats, gradient: Floats) -> Floats:
    """Return the Newton step; along what the features leave open, the shortest."""
    size = float(np.trace(H)) / H.shape[0]
    if size > 0.0:
        try:
            factor = cho_factor(H + np.finfo(float).eps * size * np.eye(H.shape[0]), lower=True)
            step = -cho_solve(factor, gradient)
            if np.isfinite(step).all() and step @ gradient < 0.0:
                return step
        except LinAlgError:
            pass
    values, vectors = np.linalg.eigh(H)
    kept = values > 1e-14 * max(values[-1], 0.0)
    return -(vectors[:, kept] / values[kept]) @ (vectors[:, kept].T @ gradient)


def _shortened(problem: Moments, point: DualPoint, step: Floats) -> DualPoint | None:
    """Return the point after a step that Armijo's rule allows, or None if there is none."""
    slope, length = float(step @ point.gradient), 1.0
    rounding = 1e-14 * (1.0 + abs(point.value))
    while length > 1e-12:
        trial = evaluate(problem, point.mu + length * step)
        if trial.value <= point.value + ARMIJO * length * slope + rounding:
            return trial
        length *= 0.5
    return None


def newton(problem: Moments, mu: Floats, *, tol: float, max_iter: int) -> DualSolution:
    """Minimise by Newton's method with Armijo's rule, until the gradient is within tol."""
    point, hessian, moved = evaluate(problem, mu), None, np.inf
    for n_iter in range(max_iter):
        size = float(np.abs(point.gradient).max())
        if size <= tol or is_unbounded(problem, point):
            return DualSolution(point, n_iter, size <= tol, hessian, moved)
        hessian = _hessian(problem, point)
        trial = _shortened(problem, point, _direction(hessian, point.gradient))
        if trial is None or (
            trial.value >= point.value and np.abs(trial.gradient).max() >= size
        ):  # rounding has the last word
            return DualSolution(point, n_iter, False, hessian, 0.0)
        moved = 2.0 * float(np.abs(trial.mu - point.mu).sum())  # as |G| ≤ 1
        point = trial
    done = bool(np.abs(point.gradient).max() <= tol)
    return DualSolution(point, max_iter, done, hessian, moved)


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
    zero = np.zeros(problem.G.shape[1])
    if not problem.slack:
        return zero
    mean = evaluate(problem, zero).mean * problem.scale  # E[F] - b
    if np.linalg.norm(mean) <= problem.slack:
        return zero  # the prior itself is allowed
    down = -mean / np.linalg.norm(mean) * problem.scale
    length = 1.0 / max(1.0, float(np.abs(problem.G @ down).max()))
    at_zero = evaluate(problem, zero).value
    while evaluate(problem, length * down).value >= at_zero and length > 1e-300:
        length *= 0.5
    return length * down


def spanned(F: Floats, b: Floats, problem: Moments) -> int:
    """Return the dimension that the points span; raise where b is off their plane."""
    G = problem.G
    mean = G.mean(axis=0)
    values, vectors = np.linalg.eigh(covariance(G, np.full(len(G), 1.0 / len(G)), mean))
    is_flat = values <= DEPENDENT * max(float(values[-1]), 1e-300)
    off = vectors[:, is_flat] @ (vectors[:, is_flat].T @ mean)
    # digits of F - b that rounding took: of the order of b itself
    lost = 1e-12 * float((np.abs(b) / problem.scale).max(initial=0.0))
    if np.linalg.norm(off) > 1e-7 + lost:
        raise infeasible(-off / problem.scale, F, b)
    return int((~is_flat).sum())


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
    near, moved = solution.hessian, solution.moved
    if near is None or moved > 1.0:
        near, moved = covariance(problem.G, point.prob, point.mean), 0.0
    least = float(np.linalg.eigvalsh(near)[-n_spanned]) * np.exp(-moved)
    radius = least / np.sqrt(problem.G.shape[1])  # |G| ≤ 1 in every column
    if np.linalg.norm(point.mean) < 1e-3 * radius:
        return
    direction = separating_direction(problem.G)
    if direction is not None:
        raise infeasible(direction / problem.scale, F, b)
