"""The programs of many points by those of a few: points come when they object or would help.

A program on a subset S of the points is small, and says enough about the whole twice:

- its multipliers U, zero elsewhere, give a lower bound of the whole program, in which every point i
  is priced at p_i - Σ_j (m_i'u_j)₊; a negative price says that weight on i would help;
- its weights d, zero elsewhere, serve another point j where min_{0 ≤ x ≤ d} ||m_j - M x||₁ is
  within its radius, a program in as many variables as there are weights that are not zero.

Points with negative prices and points that are not served join S; where there are none, the two
bounds meet. Few weights are not zero, so that S stays a small share of the points.

The paper leaves solvers for large problems open (Section 6); this one is octavo's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr

from octavo.decomposition.separable_lp.cutting import l1_weights
from octavo.decomposition.separable_lp.normalized import (
    SLACK,
    NormalizedProgram,
    Solved,
    lower_bound,
    make_feasible,
    objective,
    residual_sizes,
)
from octavo.engine.estimators.arrays import Floats, Indices

__all__: list[str] = []

_FIRST, _MORE = 40, 40  # points at first, and of either kind in a round
_ZERO = 1e-12


def restrict(program: NormalizedProgram, points: Indices) -> NormalizedProgram:
    """Return the program of some points alone."""
    return program._replace(
        M=np.ascontiguousarray(program.M[:, points]),
        norms=program.norms[points],
        kept=program.kept[points],
        radii=program.radii[points],
        costs=program.costs[points],
    )


def _serve(program: NormalizedProgram, points: Indices, solved: Solved, before: Floats) -> Floats:
    """Return X (n, n): the columns of `solved`, and for other points the best that d allows."""
    X = np.zeros_like(before)
    X[np.ix_(points, points)] = solved.X
    some = solved.diagonal > _ZERO
    heavy, d = points[some], solved.diagonal[some]
    rest = np.setdiff1d(np.flatnonzero(program.radii < 1.0), points)  # beyond, x = 0 will do
    if not (len(rest) and len(heavy)):
        return X
    M = program.M[:, heavy]
    x = np.minimum(before[np.ix_(heavy, rest)], d[:, None])
    # what served in the last round, cut to the new weights, often still does
    late = np.abs(program.M[:, rest] - M @ x).sum(axis=0) > program.radii[rest]
    x[:, late] = l1_weights(M.T, program.M[:, rest[late]].T, d)
    X[np.ix_(heavy, rest)] = x
    return X


def solve_on_working_set(
    program: NormalizedProgram,
    solve: Callable[[NormalizedProgram], Solved],
    *,
    tol: float,
    max_rounds: int = 100,
    step: Callable[[], bool] | None = None,
) -> Solved:
    """Solve a program in the l1 norm without a trace to a relative gap.

    Parameters
    ----------
    program : NormalizedProgram
        What to solve.
    solve : callable
        Solves a program of fewer points; its answer has multipliers.
    tol : float
        Relative gap at which to end.
    max_rounds : int, default=100
        Most programs on subsets.
    step : callable, optional
        Called after every round; ends where it returns True.

    Returns
    -------
    Solved
        The best feasible point with the best bound of all rounds.
    """
    n = program.M.shape[1]
    pivots = qr(program.M, mode="r", pivoting=True)[1]  # in the order of successive projections
    points = np.sort(pivots[:_FIRST])
    served, best = np.zeros((n, n)), Solved(np.eye(n), np.ones(n), np.inf, -np.inf, 0, "limit")
    for n_rounds in range(1, max_rounds + 1):
        solved = solve(restrict(program, points))
        U = np.zeros(program.M.shape)
        U[:, points] = solved.U
        lower = max(best.lower, lower_bound(program, U))
        served = _serve(program, points, solved, served)
        X, diagonal = make_feasible(program, served)
        upper = objective(program, diagonal)
        if upper > best.upper:
            X, diagonal, upper = best.X, best.diagonal, best.upper
        best = Solved(X, diagonal, upper, lower, n_rounds, "limit", U)
        stop = step is not None and step()
        if upper - lower <= tol * max(1.0, abs(upper)):
            return best._replace(status="optimal")
        if len(points) == n:
            break
        left = program.M - program.M[:, points] @ served[points]
        # p_i − Σ_j (m_i'u_j)₊
        prices = program.costs - np.maximum(program.M.T @ U, 0.0).sum(axis=1)
        found = np.union1d(
            _worst(residual_sizes(program, left) - program.radii - SLACK, points),
            _worst(-prices - SLACK, points),
        )
        if stop:
            break
        # where nobody objects and the bounds still differ, all are asked
        points = np.union1d(points, found) if len(found) else np.arange(n)
    return best


def _worst(excess: Floats, known: Indices) -> Indices:
    """Return the points whose excess is positive and largest, but those that are known."""
    excess = excess.copy()
    excess[known] = -np.inf
    order = np.argsort(-excess)[:_MORE]
    return order[excess[order] > 0.0]
