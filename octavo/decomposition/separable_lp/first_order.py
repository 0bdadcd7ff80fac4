"""The programs by splitting: two exact projections an iteration, and a certificate.

Graph-form ADMM: X is projected on {0 ≤ X_ij ≤ X_ii ≤ 1}, the residual R on its balls, and both on
R = M - MX, for which M M' is factored once. The multipliers of the residual give a lower bound, and
X moved into the feasible set an upper one, so that the gap is known at any time. An iteration costs
two products of (m, n) and (n, n) matrices and a pass over n² entries.

The paper leaves solvers for large problems open (Section 6); this one is octavo's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from octavo.decomposition.separable_lp.normalized import (
    NormalizedProgram,
    Solved,
    lower_bound,
    make_feasible,
    objective,
)
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

__all__: list[str] = []

_EVERY = 50  # iterations between certificates
_RELAXED = 1.7  # over-relaxation; 1.5 to 1.8 is usual
_L1, _LINF, _L2 = 0, 1, 2
_CODES = {"l1": _L1, "linf": _LINF, "l2": _L2}


@njit(cache=True, nogil=True, error_model="numpy")
def _project_rows(Z, shift, out):
    """Project each row i, with shift_i taken off z_ii, on {0 ≤ x_j ≤ x_i ≤ 1}.

    t = x_ii solves t = (z_ii + Σ_{z_ij > t} z_ij) / (1 + #{z_ij > t}): Newton's method from below
    on a concave increasing function, which ends after finitely many steps.
    """
    n = Z.shape[0]
    for i in range(n):
        own, t = Z[i, i] - shift[i], 0.0
        for _ in range(n + 1):
            total, count = own, 1
            for j in range(n):
                if Z[i, j] > t and j != i:
                    total += Z[i, j]
                    count += 1
            if total <= t * count:
                break
            t = total / count
            if t >= 1.0:
                t = 1.0
                break
        for j in range(n):
            out[i, j] = min(max(Z[i, j], 0.0), t)
        out[i, i] = t


@njit(cache=True, nogil=True, error_model="numpy")
def _project_columns(V, radii, code, out):
    """Project each column on the ball of its radius in the l1, l-infinity or l2 norm."""
    m, n = V.shape
    for j in range(n):
        size, low = 0.0, 0.0
        for k in range(m):
            size += V[k, j] * V[k, j] if code == _L2 else abs(V[k, j])
        if code == _L2:
            size = np.sqrt(size)
        scale = radii[j] / size if code == _L2 and size > radii[j] else 1.0
        if code == _L1 and size > radii[j]:
            for _ in range(m + 1):  # the threshold, from below
                total, count = -radii[j], 0
                for k in range(m):
                    if abs(V[k, j]) > low:
                        total += abs(V[k, j])
                        count += 1
                if total <= low * count:
                    break
                low = total / count
        high = radii[j] if code == _LINF else np.inf
        for k in range(m):
            out[k, j] = np.sign(V[k, j]) * min(max(abs(V[k, j]) - low, 0.0), high) * scale


def _project_frobenius(V: Floats, norms: Floats, radius: float) -> Floats:
    """Project on {Σ_j c_j² ||v_j||² ≤ radius²}: v_j / (1 + λ c_j²), λ by bisection."""
    weights, squares = norms**2, np.einsum("ij,ij->j", V, V)

    def excess(factor):
        return float((weights * squares / (1.0 + factor * weights) ** 2).sum()) - radius**2

    if radius == 0.0 or excess(0.0) <= 0.0:
        return np.zeros_like(V) if radius == 0.0 else V
    low, high = 0.0, 1.0 / weights.max()
    while excess(high) > 0.0:
        low, high = high, 4.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return V / (1.0 + high * weights)


def _scale_of(M: Floats) -> float:
    """Return the factor that brings the singular values of M, but the first, near one.

    Unit columns share a large mean, which the first one holds; the others are what is to be told
    apart.
    """
    values = np.linalg.svd(M, compute_uv=False)
    rest = float(np.sqrt(np.mean(values[1:] ** 2))) if len(values) > 1 else 0.0
    return 1.0 / max(rest, 1e-3 * float(values[0]))


def _regularized_inverse(A: Floats) -> Floats:
    """Return A'(I + A A')⁻¹ = (I + A'A)⁻¹ A', by the smaller of the two."""
    m, n = A.shape
    if m <= n:
        return np.ascontiguousarray(np.linalg.solve(np.eye(m) + A @ A.T, A).T)
    return np.asarray(np.linalg.solve(np.eye(n) + A.T @ A, A.T), dtype=np.float64)


class _Splitting:
    """The state of the iteration: X and R on the graph, their multipliers, and the penalty."""

    def __init__(self, program: NormalizedProgram):
        M = program.M
        m, n = M.shape
        self.program, self.scale = program, _scale_of(M)
        self.unit = float(np.abs(program.costs).mean()) or 1.0
        self.A = self.scale * M
        self.back = _regularized_inverse(self.A)
        self.X, self.R = np.zeros((n, n)), self.A.copy()
        self.x_dual, self.r_dual = np.zeros((n, n)), np.zeros((m, n))
        self.x_half, self.r_half = np.empty((n, n)), np.empty((m, n))
        self.penalty = 1.0

    def step(self) -> tuple[float, float]:
        """Go one iteration; return the primal and the dual residual."""
        program, A = self.program, self.A
        shift = program.costs / (self.unit * self.penalty)
        _project_rows(self.X - self.x_dual, shift, self.x_half)
        target = self.R - self.r_dual
        if program.ball == "frobenius":
            radius = self.scale * program.radii[0]
            self.r_half = _project_frobenius(target, program.norms, radius)
        else:
            radii = self.scale * program.radii
            _project_columns(target, radii, _CODES[program.ball], self.r_half)
        x_sum = _RELAXED * self.x_half + (1.0 - _RELAXED) * self.X + self.x_dual  # over-relaxed
        r_sum = _RELAXED * self.r_half + (1.0 - _RELAXED) * self.R + self.r_dual
        X = x_sum - self.back @ (r_sum - A + A @ x_sum)  # projection on R = A − AX
        R = A - A @ X  # the graph
        primal = np.hypot(_length(self.x_half - X), _length(self.r_half - R))
        dual = np.hypot(_length(X - self.X), _length(R - self.R))
        self.x_dual, self.r_dual, self.X, self.R = x_sum - X, r_sum - R, X, R  # multipliers
        return float(primal), float(dual)

    def multipliers(self) -> Floats:
        """Return U of the bound, in the units of the costs."""
        return self.r_dual * (-self.penalty * self.scale * self.unit)

    def balance(self, primal: float, dual: float) -> None:
        """Change the penalty where one residual is much larger than the other."""
        factor = 2.0 if primal > 5.0 * dual else 0.5 if dual > 5.0 * primal else 1.0
        self.penalty *= factor
        self.x_dual /= factor
        self.r_dual /= factor


def _length(X: Floats) -> float:
    return float(np.sqrt(np.einsum("ij,ij->", X, X)))


def solve_by_splitting(
    program: NormalizedProgram,
    *,
    tol: float = 1e-4,
    max_iter: int = 20_000,
    step: Callable[[], bool] | None = None,
) -> Solved:
    """Solve to a relative gap, without regard to `program.trace`.

    Parameters
    ----------
    program : NormalizedProgram
        What to solve.
    tol : float, default=1e-4
        Ends where the gap falls below this share of the objective.
    max_iter : int, default=20_000
        Most iterations.
    step : callable, optional
        Called with every certificate; ends where it returns True.

    Returns
    -------
    Solved
        The best feasible point with the best bound and its multipliers.
    """
    program = program._replace(trace=None)
    state = _Splitting(program)
    lower, U = 0.0 if (program.costs >= 0).all() else -np.inf, np.zeros(program.M.shape)
    X, diagonal = np.eye(program.M.shape[1]), np.ones(program.M.shape[1])
    upper, stop = objective(program, diagonal), False
    for n_iter in range(1, max_iter + 1):
        primal, dual = state.step()
        if n_iter % _EVERY and n_iter < max_iter:
            continue
        bound = lower_bound(program, multipliers := state.multipliers())
        if bound > lower:
            lower, U = bound, multipliers
        feasible, weights = make_feasible(program, state.x_half)
        if (value := objective(program, weights)) < upper:
            X, diagonal, upper = feasible, weights, value
        stop = step is not None and step()
        if upper - lower <= tol * max(abs(upper), abs(lower)) or stop:
            break
        state.balance(primal, dual)
    gap = upper - lower
    status = "optimal" if gap <= tol * max(abs(upper), abs(lower)) else "limit"
    return Solved(X, diagonal, upper, lower, n_iter, status, U)


def _warmup() -> None:
    """Compile every kernel of this module."""
    out = np.empty((2, 2))
    _project_rows(np.eye(2), np.zeros(2), out)
    _project_columns(np.eye(2), np.ones(2), _L1, out)
