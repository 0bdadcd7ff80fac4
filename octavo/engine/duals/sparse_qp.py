"""Sparse quadratic and linear programs with a certificate: one factorisation, then solves.

    min  ½xᵀPx + q·x   subject to   lower ≤ Ax ≤ upper

Quadratic programs go to the alternating direction method of multipliers with the splitting of
OSQP: the matrix of each step is factorised once, and again only when the penalty is far off. The
solution is polished: the constraints that are active are taken as equations, which gives the
digits that first-order methods lack. Linear programs go to HiGHS.

Reference: B. Stellato, G. Banjac, P. Goulart, A. Bemporad and S. Boyd (2020), "OSQP: an operator
splitting solver for quadratic programs", Algorithm 1, Sections 3.4 and 4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.linalg import splu

from octavo.engine.estimators.arrays import Floats

SIGMA = 1e-6
RELAX = 1.6  # over-relaxation
EQUATION = 1e3  # how much stiffer the penalty of an equation is
CHECK = 25  # iterations between looks at the residuals
REGULAR = 1e-9  # of the polished system, undone by refinement
FAR = 5.0  # ratio of penalties from which the matrix is factorised again


class QPSolution(NamedTuple):
    """Solution, multipliers (of the upper side positive) and the certificate.

    ``duality_gap`` is ½xᵀPx + q·x less the dual value at y; ``primal_residual`` and
    ``dual_residual`` are the largest violations of Ax in its bounds and of Px + q + Aᵀy = 0.
    """

    x: Floats
    y: Floats
    objective: float
    duality_gap: float
    primal_residual: float
    dual_residual: float
    n_iter: int
    n_factorizations: int
    converged: bool
    status: str  # "solved", "infeasible" or "max_iter"


class _Program(NamedTuple):
    P: Any
    q: Floats
    A: Any
    lower: Floats
    upper: Floats


def _scaled(program: _Program) -> tuple[_Program, Floats, Floats]:
    """Equilibrate rows and columns of the matrix of both conditions (Ruiz), ten times."""
    P, q, A, lower, upper = program
    n, m = len(q), len(lower)
    D, E = np.ones(n), np.ones(m)
    for _ in range(10):
        columns = np.maximum(_column_max(P), _column_max(A))
        rows = _column_max(A.T.tocsc())
        d = 1.0 / np.sqrt(np.clip(np.where(columns > 0, columns, 1.0), 1e-8, 1e8))
        e = 1.0 / np.sqrt(np.clip(np.where(rows > 0, rows, 1.0), 1e-8, 1e8))
        P = (sp.diags(d) @ P @ sp.diags(d)).tocsc()
        A = (sp.diags(e) @ A @ sp.diags(d)).tocsc()
        D, E = D * d, E * e
    return _Program(P, D * q, A, E * lower, E * upper), D, E


def _column_max(M: Any) -> Floats:
    return np.asarray(abs(M).max(axis=0).todense()).ravel() if M.shape[0] else np.zeros(M.shape[1])


def certificate(program: Any, x: Floats, y: Floats) -> tuple[float, float, float, float]:
    """Return objective, duality gap and the two residuals at a pair of points."""
    P, q, A, lower, upper = program
    Px, Ax = P @ x, A @ x
    objective = 0.5 * float(x @ Px) + float(q @ x)
    up, down = np.maximum(y, 0.0), np.minimum(y, 0.0)
    with np.errstate(invalid="ignore"):
        support = float(np.where(up > 0, up * upper, 0.0).sum())
        support += float(np.where(down < 0, down * lower, 0.0).sum())
    gap = float(x @ Px) + float(q @ x) + support
    primal = np.maximum(np.maximum(lower - Ax, Ax - upper), 0.0)
    dual = Px + q + A.T @ y
    return objective, gap, float(primal.max(initial=0.0)), float(np.abs(dual).max(initial=0.0))


def solve_qp(
    P: Any,
    q: Any,
    A: Any,
    lower: Any,
    upper: Any,
    *,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    polish: bool = True,
    start: tuple[Floats, Floats] | None = None,
) -> QPSolution:
    """Solve a convex quadratic program.

    Parameters
    ----------
    P : sparse matrix of shape (n, n)
        Positive semidefinite.
    q : array-like of shape (n,)
        Linear term.
    A : sparse matrix of shape (m, n)
        Constraints.
    lower, upper : array-like of shape (m,)
        Their bounds; infinite where there is none, equal for an equation.
    tol : float, default=1e-8
        What the residuals, and the gap relative to the objective, must fall to.
    max_iter : int, default=20000
        Iterations at most.
    polish : bool, default=True
        Whether active constraints are solved as equations at the end.
    start : tuple of ndarray, default=None
        x and y to start from.

    Returns
    -------
    QPSolution
        With status "infeasible" where a multiplier proves that no x satisfies the constraints.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from octavo.engine.duals.sparse_qp import solve_qp
    >>> found = solve_qp(sp.eye(2), [-1.0, -1.0], sp.eye(2), [0.0, 0.0], [0.5, np.inf])
    >>> found.x.round(6)
    array([0.5, 1. ])
    """
    original = _Program(
        sp.csc_matrix(P, dtype=np.float64),
        np.asarray(q, dtype=np.float64),
        sp.csc_matrix(A, dtype=np.float64),
        np.asarray(lower, dtype=np.float64),
        np.asarray(upper, dtype=np.float64),
    )
    n, m = len(original.q), len(original.lower)
    if original.P.shape != (n, n) or original.A.shape != (m, n) or len(original.upper) != m:
        raise ValueError(
            f"P must be {n} x {n} and A {m} x {n}; got {original.P.shape} and {original.A.shape}."
        )
    if (original.lower > original.upper).any():
        i = int(np.flatnonzero(original.lower > original.upper)[0])
        raise ValueError(f"Row {i} has a lower bound above its upper bound.")
    program, D, E = _scaled(original)
    x, y = np.zeros(n), np.zeros(m)
    if start is not None:
        x, y = start[0] / D, start[1] / E
    z = program.A @ x
    equation = program.lower == program.upper
    penalty, count = 0.1, 0
    solve, rho = _factorize(program, penalty, equation)
    count += 1
    status, k = "max_iter", 0
    best: Any = None
    for k in range(1, max_iter + 1):
        # Algorithm 1 of the reference, lines 3 to 7.
        right = np.concatenate([SIGMA * x - program.q, z - y / rho])
        both = solve(right)
        x_new, nu = both[:n], both[n:]
        z_tilde = z + (nu - y) / rho
        x_next = RELAX * x_new + (1.0 - RELAX) * x
        mixed = RELAX * z_tilde + (1.0 - RELAX) * z
        z_next = np.clip(mixed + y / rho, program.lower, program.upper)
        y_next = y + rho * (mixed - z_next)
        y_next = np.where(np.isinf(program.upper), np.minimum(y_next, 0.0), y_next)
        y_next = np.where(np.isinf(program.lower), np.maximum(y_next, 0.0), y_next)
        step = y_next - y
        x, z, y = x_next, z_next, y_next
        if k % CHECK and k != max_iter:
            continue
        here = certificate(original, D * x, E * y)
        if best is None or max(here[2:]) < max(best[1][2:]):
            best = ((D * x, E * y), here)
        if _infeasible(original, E * step):
            status = "infeasible"
            break
        close = max(here[2], here[3]) < 1e-3 * (1.0 + float(np.abs(original.q).max(initial=0.0)))
        trial = _polished(original, D * x, E * y) if polish and close else None
        if trial is not None:
            seen = certificate(original, *trial)
            if max(seen[2:]) < max(best[1][2:]) and abs(seen[1]) <= abs(here[1]):
                best = (trial, seen)
        if _done(original, best[1], tol):
            status = "solved"
            break
        wanted = penalty * _balance(program, x, z, y)
        if wanted > FAR * penalty or wanted < penalty / FAR:
            penalty = float(np.clip(wanted, 1e-6, 1e6))
            solve, rho = _factorize(program, penalty, equation)
            count += 1
    (x, y), (objective, gap, primal, dual) = best
    return QPSolution(x, y, objective, gap, primal, dual, k, count, status == "solved", status)


def _factorize(program: _Program, penalty: float, equation: Any) -> tuple[Any, Floats]:
    rho = np.where(equation, EQUATION * penalty, penalty)
    n = len(program.q)
    K = sp.bmat(
        [[program.P + SIGMA * sp.eye(n), program.A.T], [program.A, -sp.diags(1.0 / rho)]],
        format="csc",
    )
    return splu(K, permc_spec="COLAMD").solve, rho


def _done(program: _Program, seen: tuple[float, float, float, float], tol: float) -> bool:
    objective, gap, primal, dual = seen
    finite = np.concatenate([program.lower, program.upper])
    size = 1.0 + float(np.abs(finite[np.isfinite(finite)]).max(initial=0.0))
    slope = 1.0 + float(np.abs(program.q).max(initial=0.0))
    return (
        primal <= tol * size and dual <= tol * slope and abs(gap) <= tol * max(1.0, abs(objective))
    )


def _balance(program: _Program, x: Floats, z: Floats, y: Floats) -> float:
    """Return the factor by which the penalty is too small (Section 5.2 of the reference)."""
    Ax, Px, Aty = program.A @ x, program.P @ x, program.A.T @ y
    primal = np.abs(Ax - z).max(initial=0.0) / max(
        np.abs(Ax).max(initial=0.0), np.abs(z).max(initial=0.0), 1e-12
    )
    dual = np.abs(Px + program.q + Aty).max(initial=0.0) / max(
        np.abs(Px).max(initial=0.0), np.abs(Aty).max(initial=0.0), np.abs(program.q).max(), 1e-12
    )
    return float(np.sqrt(max(primal, 1e-12) / max(dual, 1e-12)))


def _infeasible(program: _Program, step: Floats) -> bool:
    """Tell whether a change of the multipliers proves that the constraints contradict."""
    size = float(np.abs(step).max(initial=0.0))
    if size <= 1e-10:
        return False
    step = step / size
    up, down = np.maximum(step, 0.0), np.minimum(step, 0.0)
    if (up[np.isinf(program.upper)] > 1e-6).any() or (down[np.isinf(program.lower)] < -1e-6).any():
        return False
    with np.errstate(invalid="ignore"):
        value = float(np.where(np.isinf(program.upper), 0.0, up * program.upper).sum())
        value += float(np.where(np.isinf(program.lower), 0.0, down * program.lower).sum())
    return float(np.abs(program.A.T @ step).max(initial=0.0)) <= 1e-8 and value < -1e-6


def _polished(program: _Program, x: Floats, y: Floats) -> tuple[Floats, Floats] | None:
    """Solve the constraints that are active as equations (Section 4 of the reference)."""
    Ax = program.A @ x
    low, high = (Ax - program.lower) < -y, (program.upper - Ax) < y
    active = low | high
    rows = np.flatnonzero(active)
    B = program.A[rows]
    target = np.where(high[rows], program.upper[rows], program.lower[rows])
    n, k = len(x), len(rows)
    exact = sp.bmat([[program.P, B.T], [B, None]], format="csc") if k else program.P
    shift = sp.diags(np.concatenate([np.full(n, REGULAR), np.full(k, -REGULAR)]))
    try:
        factor = splu((exact + shift).tocsc())
    except RuntimeError:
        return None
    right = np.concatenate([-program.q, target])
    found = factor.solve(right)
    for _ in range(5):
        found = found + factor.solve(right - exact @ found)
    if not np.isfinite(found).all():
        return None
    multipliers = np.zeros(len(y))
    multipliers[rows] = found[n:]
    wrong = np.where(high, np.minimum(multipliers, 0), np.maximum(multipliers, 0))
    return found[:n], multipliers - np.where(program.lower == program.upper, 0.0, wrong)


class LPSolution(NamedTuple):
    """Solution of a linear program, multipliers of its rows, and the gap."""

    x: Floats
    y: Floats
    objective: float
    duality_gap: float


def solve_lp(c: Any, A: Any, b: Any, *, lower: Any = 0.0, method: str = "highs") -> LPSolution:
    """Minimise c·x subject to Ax ≥ b and x ≥ lower, by HiGHS.

    Parameters
    ----------
    c : array-like of shape (n,)
        Costs.
    A : sparse matrix of shape (m, n)
        Rows.
    b : array-like of shape (m,)
        Their least values.
    lower : float or array-like of shape (n,), default=0.0
        0 where a variable is bounded below, minus infinity where it is free.
    method : {"highs", "highs-ds", "highs-ipm"}, default="highs"
        Which of its algorithms.

    Returns
    -------
    LPSolution
        y ≥ 0 with Aᵀy ≤ c on bounded columns, so that b·y is the dual value.

    Raises
    ------
    ValueError
        If there is no solution; the message says why.
    """
    c, b = np.asarray(c, dtype=np.float64), np.asarray(b, dtype=np.float64)
    bounds = np.column_stack([np.broadcast_to(lower, c.shape), np.full(len(c), np.inf)])
    found = linprog(c, A_ub=-sp.csr_matrix(A), b_ub=-b, bounds=bounds, method=method)
    if found.x is None or found.status != 0:
        raise ValueError(f"The linear program has no solution: {found.message}")
    y = -found.ineqlin.marginals
    return LPSolution(found.x, y, float(found.fun), float(found.fun - b @ y))
