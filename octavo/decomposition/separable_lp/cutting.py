"""The programs column by column: a small master in d, to which columns add rows when they object.

Given d, column j asks whether f_j(d) = min_{0 ≤ x ≤ d} ||m_j - M x|| is within its radius. By
duality f_j(d) = max u'm_j - Σ_i d_i (u'm_i)₊ over u in the unit ball of the dual norm, so that each
u gives a row

    Σ_i (u'm_i)₊ d_i ≥ u'm_j - β_j

that every feasible d obeys. The master has n variables and those rows that were needed; the columns
are linear programs of their own that go on from where they last ended. Rows of the multipliers of
`first_order` are a good beginning, and points between the master's answer and a feasible one give
deeper rows than the answer alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from octavo.decomposition.separable_lp.first_order import solve_by_splitting
from octavo.decomposition.separable_lp.normalized import (
    NormalizedProgram,
    Solved,
    lift_diagonal,
    lower_bound,
    make_feasible,
    objective,
)
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.linear_programs.lazy_rows import LazyRows, LinearSolution, Rows, solve_lazily

__all__: list[str] = []

_OUTWARD = 0.7  # share of the master's answer in the point where rows are sought
_NEAR = 1e-4  # columns so near to their radius give rows too: they will be needed
_OWN = 3_000_000  # entries of all columns' programs together
_CLEAR = 1e-9  # what HiGHS can tell from zero


class ColumnPrograms:
    """min ||m_j - M x|| over 0 ≤ x ≤ upper for any j, by programs whose bounds alone change.

    With z = x - e_j the rows are the same for all columns: M z + s = 0. Each column has a program
    of its own where memory allows, else one program serves all and is told the basis of each.
    """

    def __init__(self, M: Floats, ball: str):
        m, self._n = M.shape
        self._M, self._ball = M, ball
        self._lower = np.zeros(self._n + (2 * m if ball == "l1" else 1))
        self._upper = np.full(len(self._lower), np.inf)
        self._shared = None if M.size * self._n <= _OWN else self._program()
        self._programs: dict[int, LazyRows] = {}
        self._bases: dict[int, object] = {}

    def _program(self) -> LazyRows:
        M, m = self._M, len(self._M)
        if self._ball == "l1":
            eye = sparse.eye_array(m)
            program = LazyRows(np.r_[np.zeros(self._n), np.ones(2 * m)])
            program.add_rows(sparse.hstack([sparse.csr_array(M), eye, -eye]), 0.0, 0.0)
            return program
        one = np.ones((m, 1))
        program = LazyRows(np.r_[np.zeros(self._n), 1.0])
        program.add_rows(np.hstack([M, one]), lower=0.0)
        program.add_rows(np.hstack([M, -one]), upper=0.0)  # |M x − m_j| ≤ t in every feature
        return program

    def solve(self, j: int, upper: Floats) -> tuple[Floats, Floats]:
        """Return x and the multipliers u of column j."""
        if self._shared is None:
            program = self._programs.get(j) or self._programs.setdefault(j, self._program())
        else:
            program = self._shared
            program.start_from(self._bases.get(j))
        self._upper[: self._n] = upper
        self._lower[j] = -1.0
        self._upper[j] -= 1.0  # x_j enters as x_j − 1: all columns ask with the right side zero
        program.change_bounds(self._lower, self._upper)
        self._lower[j] = 0.0
        found = program.solve()
        if found.status != "optimal":
            raise RuntimeError(f"HiGHS ended a column of the program with {found.status!r}.")
        if self._shared is not None:
            self._bases[j] = program.basis()
        x = found.x[: self._n].copy()
        x[j] += 1.0
        return np.clip(x, 0.0, upper), self._unit(found.row_duals)

    def _unit(self, duals: Floats) -> Floats:
        """Return multipliers inside the unit ball of the dual norm, rounding apart."""
        if self._ball == "l1":
            return np.clip(duals, -1.0, 1.0)
        u = duals.reshape(2, -1).sum(axis=0)
        return u / max(1.0, np.abs(u).sum())


def l1_weights(points: Floats, targets: Floats, most: Floats | None = None) -> Floats:
    """Return Z ≥ 0 (n_points, n_targets) with the least l1 residual of each target.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Rows to combine.
    targets : ndarray of shape (n_targets, n_features)
        Rows to approximate.
    most : ndarray of shape (n_points,), optional
        Bounds on the weights of each row.
    """
    n, m = points.shape
    Z, eye = np.zeros((n, len(targets))), sparse.eye_array(m)
    if n == 0:
        return Z
    # Targets enter as the bounds of m fixed variables, so that no row changes.
    program = LazyRows(np.r_[np.zeros(n), np.ones(2 * m), np.zeros(m)])
    program.add_rows(sparse.hstack([sparse.csr_array(points.T), eye, -eye, -eye]), 0.0, 0.0)
    lower, upper = np.zeros(n + 3 * m), np.full(n + 3 * m, np.inf)
    upper[:n] = np.inf if most is None else most
    for k, target in enumerate(targets):
        lower[-m:] = upper[-m:] = target
        program.change_bounds(lower, upper)
        Z[:, k] = np.clip(program.solve().x[:n], 0.0, upper[:n])
    return Z


class _Cuts:
    """Which rows the master has asked for, and the best feasible point so far."""

    def __init__(self, program: NormalizedProgram, X: Floats, inner: Floats, tol: float):
        self.program, self.tol, self.X = program, tol, X
        self.columns = ColumnPrograms(program.M, program.ball)
        self.asking = np.flatnonzero(program.radii < 1.0)  # beyond, x = 0 will do
        self.inner, self.upper = inner, objective(program, inner)
        self.lower, self.n_rounds, self.U = -np.inf, 0, np.zeros(program.M.shape)
        self.owners: list[Indices] = []
        self.multipliers: list[Floats] = []

    def rows(self, js: Indices, U: Floats) -> Rows:
        """Return the rows that multipliers U (n_features, len(js)) give for columns js."""
        self.owners.append(js)
        self.multipliers.append(U)
        M, radii = self.program.M, self.program.radii
        least = np.einsum("ij,ij->j", U, M[:, js]) - radii[js]
        # Σ_i d_i (u'm_i)₊ ≥ u'm_j − β_j
        return Rows(np.maximum(M.T @ U, 0.0).T, least, np.full(len(js), np.inf))

    def bound(self, duals: Floats) -> None:
        """Raise the lower bound to that of the master's multipliers, computed from the data."""
        U = np.zeros(self.program.M.shape)
        weights = np.maximum(duals[len(duals) - sum(map(len, self.owners)) :], 0.0)
        np.add.at(
            U.T, np.concatenate(self.owners), weights[:, None] * np.hstack(self.multipliers).T
        )
        if (lower := lower_bound(self.program, U)) > self.lower:
            self.lower, self.U = lower, U

    def separate(self, solution: LinearSolution) -> Rows | None:
        """Ask all columns at the master's answer, or between it and the best feasible point."""
        self.bound(solution.row_duals)
        for outward in (_OUTWARD, 1.0) if self.n_rounds % 2 == 0 else (1.0,):
            at = np.clip(outward * solution.x + (1.0 - outward) * self.inner, 0.0, 1.0)
            rows = self._ask(at, outward == 1.0)
            if self.upper - self.lower <= self.tol * max(1.0, abs(self.upper)):
                return None
            if rows is not None:
                break
        self.n_rounds += 1
        return rows

    def _ask(self, at: Floats, exact: bool) -> Rows | None:
        M, n = self.program.M, len(at)
        X, U = np.zeros((n, n)), np.zeros(M.shape)
        for j in self.asking:
            X[:, j], U[:, j] = self.columns.solve(int(j), at)
        # how far the row cuts off the point
        depth = np.einsum("ij,ij->j", U, M) - np.maximum(M.T @ U, 0.0).T @ at - self.program.radii
        feasible, diagonal = make_feasible(self.program, X)
        if (value := objective(self.program, diagonal)) <= self.upper:
            self.X, self.inner, self.upper = feasible, diagonal, value
        wanted = depth > (_CLEAR if exact else -_NEAR)
        js = self.asking[wanted[self.asking]]
        return self.rows(js, U[:, js]) if len(js) else None


def solve_by_cuts(
    program: NormalizedProgram,
    *,
    tol: float = 1e-8,
    max_rounds: int = 1000,
    step: Callable[[], bool] | None = None,
) -> Solved:
    """Solve to a gap of `tol` times the objective; the ball must be "l1" or "linf".

    Parameters
    ----------
    program : NormalizedProgram
        What to solve, with or without a trace.
    tol : float, default=1e-8
        Relative gap.
    max_rounds : int, default=1000
        Most rounds of rows.
    step : callable, optional
        Called after each certificate and each round; ends where it returns True.

    Returns
    -------
    Solved
        A status of "infeasible" where the trace is too small.
    """
    n = program.M.shape[1]
    # Rows do not depend on the costs: those of the smallest trace serve (2) too.
    plain = program if program.trace is None else program._replace(costs=np.ones(n), trace=None)
    begun = solve_by_splitting(plain, tol=1e-3, max_iter=1000, step=step)
    U: Any = begun.U
    if program.trace is not None and begun.lower > program.trace + 1e-7:
        return begun._replace(status="infeasible")
    inner = begun.diagonal
    if program.trace is not None and (rest := program.trace - inner.sum()) > 0:
        inner = inner + rest * (1.0 - inner) / (1.0 - inner).sum()
    cuts = _Cuts(program, lift_diagonal(begun.X, inner), inner, tol)
    master = LazyRows(program.costs, 0.0, 1.0)
    if program.trace is not None:
        master.add_rows(np.ones((1, n)), program.trace, program.trace)
    sizes = np.abs(U).max(axis=0) if program.ball == "l1" else np.abs(U).sum(axis=0)
    some = np.flatnonzero(sizes > 0)
    master.add_rows(*cuts.rows(some, U[:, some] / sizes[some]))
    outcome = solve_lazily(master, cuts.separate, max_rounds=max_rounds, step=step)
    if outcome.solution.status == "infeasible":
        return Solved(cuts.X, cuts.inner, np.inf, np.inf, outcome.n_rounds, "infeasible")
    gap = cuts.upper - cuts.lower
    status = "optimal" if gap <= max(tol, 1e-7) * max(1.0, abs(cuts.upper)) else "limit"
    return Solved(cuts.X, cuts.inner, cuts.upper, cuts.lower, outcome.n_rounds, status, cuts.U)
