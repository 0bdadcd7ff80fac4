"""One call for the linear programs (2), (3), (7) and (8), and for Remark 12's noise models.

Reference: Gillis and Luce (2014), "Robust near-separable nonnegative matrix factorization using
linear optimization", JMLR 15:1249-1280.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from octavo.decomposition.separable.anchor_factorization import SPARSE, dense_rows, refuse_extremes
from octavo.decomposition.separable_lp.cutting import solve_by_cuts
from octavo.decomposition.separable_lp.first_order import solve_by_splitting
from octavo.decomposition.separable_lp.normalized import (
    NOISES,
    NormalizedProgram,
    Solved,
    coupling_of,
    normalize,
)
from octavo.decomposition.separable_lp.whole import solve_by_cvxpy, solve_whole
from octavo.decomposition.separable_lp.working_set import solve_on_working_set
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sparse_rows import canonical_csr

__all__ = ["SeparableLPSolution", "solve_separable_lp", "trace_path"]

SOLVERS = ("auto", "cutting", "first-order", "highs", "highs-ipm", "cvxpy")
_CUTTING_ENTRIES = 30_000_000  # n² m of "linf": beyond, columns take longer than splitting
_CUTTING_TOL, _SPLITTING_TOL = 1e-8, 1e-4
_FEW = 150  # points up to which all are taken at once
_ENTRIES = 4e9  # n² times iterations of splitting: minutes


class SeparableLPSolution(NamedTuple):
    """A feasible point of the program, and how far from the optimum it is at most.

    `coupling` Y (n_points, n_points) has X ≈ Yᵀ X and `diagonal` on its diagonal; `objective` is
    what it costs, `lower_bound` what every feasible point costs at least. `status` is "optimal" or
    "limit", `n_iter` counts rounds of cuts or iterations.
    """

    coupling: np.ndarray
    diagonal: np.ndarray
    objective: float
    lower_bound: float
    status: str
    n_iter: int


def as_points(X) -> np.ndarray:
    """Return checked points as a dense array."""
    X = canonical_csr(check_array(X, accept_sparse=SPARSE, dtype=np.float64))
    refuse_extremes(X)
    return dense_rows(X, slice(None))


def _check(epsilon, rho, noise, solver):
    if not (np.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon must be a finite number that is not negative, got {epsilon!r}.")
    if not (np.isfinite(rho) and rho > 0):
        raise ValueError(f"rho must be a finite positive number, got {rho!r}.")
    if noise not in NOISES:
        raise ValueError(f"noise must be one of {NOISES}, got {noise!r}.")
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, got {solver!r}.")


def choose_solver(solver: str, program: NormalizedProgram) -> str:
    """Return which solver "auto" stands for, and refuse those that cannot take the noise."""
    linear = program.ball in ("l1", "linf")
    if solver == "auto":
        m, n = program.M.shape
        exact = linear and (
            program.ball == "l1" or m * n * n <= _CUTTING_ENTRIES or program.trace is not None
        )
        return "cutting" if exact else "first-order"
    if not linear and solver not in ("first-order", "cvxpy"):
        raise ValueError(
            f"solver={solver!r} takes linear programs, and noise in the l2 or Frobenius norm gives "
            "a cone program; use 'first-order' or 'cvxpy'."
        )
    if program.trace is not None and solver == "first-order":
        raise ValueError("solver='first-order' does not take a trace; use 'cutting'.")
    return solver


def _solve_at_once(
    program: NormalizedProgram, solver: str, step: Callable[[], bool] | None
) -> Solved:
    """Solve by cuts or by splitting, all points together."""
    if solver == "cutting":
        return solve_by_cuts(program, tol=_CUTTING_TOL, max_rounds=300, step=step)
    limit = int(np.clip(_ENTRIES / program.M.shape[1] ** 2, 1000, 20_000))
    return solve_by_splitting(program, tol=0.5 * _SPLITTING_TOL, max_iter=limit, step=step)


def solve_normalized(
    program: NormalizedProgram, solver: str, step: Callable[[], bool] | None = None
) -> Solved:
    """Solve by the solver named."""
    if solver in ("cutting", "first-order"):
        whole = program.ball != "l1" or program.trace is not None
        if whole or program.M.shape[1] <= _FEW:
            found = _solve_at_once(program, solver, step)
            if whole or found.status != "limit":
                return found
        tol = _CUTTING_TOL if solver == "cutting" else _SPLITTING_TOL
        return solve_on_working_set(
            program, lambda part: _solve_at_once(part, solver, step), tol=tol, step=step
        )
    if solver == "cvxpy":
        return solve_by_cvxpy(program)
    return solve_whole(program, {"highs": "choose", "highs-ipm": "ipm"}[solver])


@checked
def solve_separable_lp(
    X,
    epsilon,
    *,
    rho=1.0,
    noise="absolute",
    costs=None,
    trace=None,
    solver="auto",
    step: Callable[[], bool] | None = None,
) -> SeparableLPSolution:
    """Solve the linear program that weighs the rows of X by how much they are needed.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_features)
        Points; rows of zeros get no weight. Negative entries are allowed.
    epsilon : float
        The noise level ε: the largest l1 norm of the noise of a row (another norm by `noise`).
    rho : float, default=1.0
        Residuals are allowed up to ρε.
    noise : {"absolute", "relative", "l2", "linf", "frobenius"}, default="absolute"
        What is bounded by ρε: the l1 norm of each residual (program 8), the same over the l1 norm
        of its point (program 7; program 3 on scaled rows), its l2 or largest entry, or the
        Frobenius norm of all residuals (Remark 12).
    costs : array-like of shape (n_points,), optional
        p; ones by default. Positive, unless there is a trace.
    trace : int, optional
        Ask for tr Y = r: Hottopixx' program (2), with ``rho=2`` and ``noise="relative"``.
    solver : {"auto", "cutting", "first-order", "highs", "highs-ipm", "cvxpy"}, default="auto"
        "cutting" is exact (a relative gap of 1e-8), "first-order" stops at 1e-4 and takes every
        noise; in the l1 norm both solve more than 150 points through a few of them, with bounds
        that hold for all. "highs" and "highs-ipm" get the whole program as it stands, "cvxpy" as a
        cone program.
    step : callable, optional
        Called now and then; the solver ends early where it returns True.

    Returns
    -------
    SeparableLPSolution
        Coupling, diagonal, objective and bound.

    Examples
    --------
    >>> from octavo.decomposition import solve_separable_lp
    >>> found = solve_separable_lp([[1, 0], [0, 1], [0.5, 0.5]], 0.1)  # the paper's Example 1
    >>> found.diagonal.round(6).tolist()
    [0.9, 0.9, 0.0]
    """
    X = as_points(X)
    n = len(X)
    _check(epsilon, rho, noise, solver)
    costs = np.ones(n) if costs is None else np.asarray(costs, dtype=np.float64)
    if costs.shape != (n,) or not np.isfinite(costs).all():
        raise ValueError(f"costs must be {n} finite numbers, one for each row of X.")
    if trace is None and costs.min() <= 0:
        raise ValueError(
            f"costs must be positive, got {costs.min():.6g}: a row whose cost is not gets a weight "
            "of one whether it is needed or not."
        )
    if trace is not None and not 1 <= trace <= n:
        raise ValueError(f"trace must be between 1 and the number of rows {n}, got {trace!r}.")
    if not np.abs(X).sum() > 0:
        raise ValueError("All rows of X are zero: there is nothing to select.")
    program = normalize(X, float(epsilon), float(rho), noise, costs, trace)
    if trace is not None and trace > len(program.kept):
        raise ValueError(
            f"trace={trace} exceeds the {len(program.kept)} rows of X that are not zero."
        )
    solved = solve_normalized(program, choose_solver(solver, program), step)
    if solved.status == "infeasible":
        raise ValueError(
            f"No weights of trace {trace} leave residuals within {rho * epsilon:.6g}: the smallest "
            f"trace there is {_smallest_trace(program):.6g}. Raise epsilon or n_components, or use "
            "SeparableNMFLP, which needs no trace."
        )
    if solved.status != "optimal":
        warnings.warn(
            f"The separable program ended with a duality gap of {solved.upper - solved.lower:.3g} "
            f"at an objective of {solved.upper:.6g}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    diagonal = np.zeros(n)
    diagonal[program.kept] = solved.diagonal
    return SeparableLPSolution(
        coupling_of(program, solved.X, n),
        diagonal,
        solved.upper,
        min(solved.lower, solved.upper),
        solved.status,
        solved.n_iter,
    )


def _smallest_trace(program: NormalizedProgram) -> float:
    free = program._replace(costs=np.ones(len(program.kept)), trace=None)
    return solve_by_cuts(free, tol=1e-6, max_rounds=100).lower


@checked
def trace_path(X, epsilons, *, rho=1.0, noise="absolute", solver="auto") -> np.ndarray:
    """Return the trace of Y, how many rows are needed, for each noise level.

    A plateau says how many rows the data are made of, and over which levels that holds; ε is then
    chosen on it.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_features)
        Points.
    epsilons : array-like of shape (n_levels,)
        Noise levels.
    rho, noise, solver : float, str, str
        As in `solve_separable_lp`.

    Returns
    -------
    ndarray of shape (n_levels,)
        The least trace at each level.

    Examples
    --------
    >>> from octavo.decomposition import trace_path
    >>> trace_path([[1, 0], [0, 1], [0.5, 0.5]], [0.0, 0.1, 0.5]).round(6).tolist()
    [2.0, 1.8, 1.0]
    """
    levels = np.asarray(epsilons, dtype=np.float64)
    if levels.ndim != 1:
        raise ValueError(f"epsilons must have one dimension, got {levels.ndim}.")
    return np.array(
        [
            solve_separable_lp(X, float(level), rho=rho, noise=noise, solver=solver).objective
            for level in levels
        ]
    )
