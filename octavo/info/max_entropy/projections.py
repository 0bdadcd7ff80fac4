"""The distribution nearest to a given one among those with given moments.

Reference: A. Shashua (2008), "Introduction to Machine Learning", lecture 2; J. Darroch and
D. Ratcliff (1972), "Generalized iterative scaling for log-linear models".
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares, real_array
from octavo.info.max_entropy.dual import (
    DualSolution,
    evaluate,
    lbfgs,
    newton,
    refuse_outside,
    spanned,
    start_of,
)
from octavo.info.max_entropy.table import Features, Moments, moments_of, read_features

__all__ = ["i_projection", "iterative_scaling"]

SOLVERS = ("newton", "lbfgs", "gis")


class Projection(NamedTuple):
    """Probabilities, multipliers λ, the dual, iterations, and the largest |Fᵀp - b|/range."""

    prob: Floats
    multipliers: Floats
    dual: float
    n_iter: int
    residual: float
    converged: bool


def read_prior(p0: Any, n_points: int) -> Floats:
    """Return a prior as probabilities; None is uniform."""
    if p0 is None:
        return np.full(n_points, 1.0 / n_points)
    prior = real_array(p0, "The prior")
    if prior.shape != (n_points,):
        raise ValueError(
            f"The prior must have one entry per support point, ({n_points},); got {prior.shape}."
        )
    if (prior < 0.0).any() or not prior.any():
        raise ValueError(
            f"The prior must not be negative, nor zero throughout; its least entry is "
            f"{prior.min():g}."
        )
    prior = prior / prior.max()
    return prior / prior.sum()


def read_moments(b: Any, n_constraints: int) -> Floats:
    """Return the moments as a vector, one for each column of the features."""
    moments = np.atleast_1d(real_array(b, "b"))
    if moments.shape != (n_constraints,):
        raise ValueError(
            f"b must have one moment per column of the features, ({n_constraints},); got "
            f"{moments.shape}."
        )
    check_squares(moments, "b")
    return moments


def gis(problem: Moments, F: Floats, b: Floats, *, tol: float, max_iter: int) -> DualSolution:
    """Minimise by generalised iterative scaling, λ_j += (1/C) log(b_j / E_p[F_j]).

    Columns are shifted to start at 0 and scaled to end at 1, which changes no Gibbs distribution,
    and one more, C less the sum of the others, makes row sums constant.
    """
    low = F.min(axis=0)
    reach = np.maximum(F.max(axis=0) - low, 1e-300)
    T, target = (F - low) / reach, (b - low) / reach
    C = max(float(T.sum(axis=1).max()), 1e-300)  # the constant sum of a row that scaling needs
    rest = C - float(target.sum())
    if target.min() <= 0.0 or rest <= 0.0:
        raise ValueError("Iterative scaling has no positive targets here.")  # b outside: see caller
    lam, spare = np.zeros(F.shape[1]), C - T.sum(axis=1)
    point = evaluate(problem, np.zeros(F.shape[1]))
    for n_iter in range(max_iter):
        if np.abs(point.gradient).max() <= tol:
            return DualSolution(point, n_iter, True)
        with np.errstate(divide="ignore"):
            step = np.log(target / (T.T @ point.prob)) / C  # λ_j += (1/C) log(b_j / E_p[F_j])
            # and of the spare feature C − Σ F_j
            slack = np.log(rest / float(spare @ point.prob)) / C if spare.any() else 0.0
        if not np.isfinite(step).all() or not np.isfinite(slack):
            break
        lam += (step - slack) / reach  # the spare's λ, taken into the others
        point = evaluate(problem, lam * problem.scale)
    return DualSolution(point, max_iter, bool(np.abs(point.gradient).max() <= tol))


def project(
    prior: Floats,
    features: Features,
    b: Floats,
    *,
    solver: str = "newton",
    slack: float = 0.0,
    tol: float = 1e-12,
    max_iter: int = 200,
) -> Projection:
    """Return the Gibbs distribution of a prior with given moments; raise where there is none."""
    problem = moments_of(features, prior, b, slack)
    inside = prior > 0.0
    everywhere = len(problem.log_prior) == len(prior)
    points = features.table if everywhere else features.table[inside]
    n_spanned = b.size if slack else spanned(points, b, problem)
    if solver == "gis" and not slack:
        try:
            solution = gis(problem, points, b, tol=tol, max_iter=max_iter)
        except ValueError:
            solution = newton(problem, start_of(problem), tol=tol, max_iter=200)
    else:
        solve = lbfgs if solver == "lbfgs" else newton
        solution = solve(problem, start_of(problem), tol=tol, max_iter=max_iter)
    refuse_outside(points, b, problem, solution, n_spanned)
    point = solution.point
    prob = point.prob
    if not everywhere:
        prob = np.zeros(len(prior))
        prob[inside] = point.prob
    residual = float(np.abs(point.gradient).max())
    if slack and not point.mu.any():
        residual = 0.0
    reached = solution.converged or residual <= max(10.0 * tol, 1e-10)
    return Projection(
        prob, point.mu / problem.scale, point.value, solution.n_iter, residual, reached
    )


def warn_unless_reached(found: Projection, name: str, tol: float) -> None:
    """Warn with the residual where the iterations ended before tol."""
    if not found.converged:
        warnings.warn(
            f"{name} did not converge in {found.n_iter} iterations: a moment is still off by "
            f"{found.residual:.3g} of its feature's range (tol={tol:g}). Raise max_iter, or use "
            "solver='newton'.",
            ConvergenceWarning,
            stacklevel=3,
        )


@checked
def i_projection(p0: ArrayLike, F: ArrayLike, b: ArrayLike) -> Floats:
    """Return the distribution nearest to p0 in relative entropy among those with moments b.

    Minimises D(p‖p0) over Σp = 1 and Fᵀp = b by Newton's method on the dual (§2.3). Weights of zero
    in p0 stay zero.

    Parameters
    ----------
    p0 : array-like of shape (n_points,)
        Where to project from; weights are divided by their sum.
    F : array-like of shape (n_points, n_constraints)
        Features: a row per support point.
    b : array-like of shape (n_constraints,)
        The moments that p must have.

    Returns
    -------
    p : ndarray of shape (n_points,)
        Proportional to p0 exp(F λ).

    Raises
    ------
    InfeasibleConstraints
        If b is not in the relative interior of the convex hull of the rows of F.

    Examples
    --------
    >>> from octavo.info import i_projection
    >>> die = [[1], [2], [3], [4], [5], [6]]
    >>> i_projection([1, 1, 1, 1, 1, 1], die, [4.2]).round(5)
    array([0.08183, 0.10497, 0.13465, 0.17273, 0.22158, 0.28424])
    """
    features = read_features(F)
    prior = read_prior(p0, len(features.table))
    found = project(prior, features, read_moments(b, features.low.size))
    warn_unless_reached(found, "i_projection", 1e-12)
    return found.prob


@checked
def iterative_scaling(
    p0: ArrayLike, F: ArrayLike, b: ArrayLike, *, tol: float = 1e-10, max_iter: int = 100_000
) -> Floats:
    """Return the same distribution as `i_projection` by generalised iterative scaling.

    Each step multiplies weights by the ratio of wanted to present moments, λ_j += (1/C) log(b_j /
    E_p[F_j]) (Darroch and Ratcliff 1972). It needs no Hessian and very many more steps.

    Parameters
    ----------
    p0 : array-like of shape (n_points,)
        Where to project from; weights are divided by their sum.
    F : array-like of shape (n_points, n_constraints)
        Features; columns are shifted and scaled to lie between 0 and 1, and one is added that makes
        row sums constant.
    b : array-like of shape (n_constraints,)
        The moments that p must have.
    tol : float, default=1e-10
        Stop when no moment is off by more than this part of its feature's range.
    max_iter : int, default=100_000
        Most steps.

    Returns
    -------
    p : ndarray of shape (n_points,)
        Proportional to p0 exp(F λ).

    Raises
    ------
    InfeasibleConstraints
        If b is not in the relative interior of the convex hull of the rows of F.

    Examples
    --------
    >>> from octavo.info import iterative_scaling
    >>> iterative_scaling([1, 1, 1], [[1.0], [2.0], [3.0]], [2.5]).round(4)
    array([0.1162, 0.2676, 0.6162])
    """
    if not tol > 0.0 or max_iter < 1:
        raise ValueError(f"tol and max_iter must be positive; got {tol} and {max_iter}.")
    features = read_features(F)
    found = project(
        read_prior(p0, len(features.table)),
        features,
        read_moments(b, features.low.size),
        solver="gis",
        tol=tol,
        max_iter=max_iter,
    )
    warn_unless_reached(found, "iterative_scaling", tol)
    return found.prob
