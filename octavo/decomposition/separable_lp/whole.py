"""The programs as they stand: all n² + mn variables to HiGHS, or as a cone program to cvxpy.

Slow, and what the other solvers are measured by: 2mn + n + n(n - 1) rows (Section 5.2).
"""

from __future__ import annotations

import importlib

import numpy as np
from scipy import sparse

from octavo.decomposition.separable_lp.normalized import (
    NormalizedProgram,
    Solved,
    make_feasible,
    objective,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.linear_programs.lazy_rows import LazyRows

__all__: list[str] = []


def _linking(n: int) -> sparse.csr_array:
    """Return the rows X_ij - X_ii ≤ 0, i ≠ j, for X column by column."""
    i, j = (index.ravel() for index in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    i, j = i[i != j], j[i != j]
    k = np.arange(len(i))
    entries = np.concatenate([np.ones(len(k)), -np.ones(len(k))])
    places = (np.concatenate([k, k]), np.concatenate([i + n * j, i + n * i]))
    return sparse.csr_array((entries, places), shape=(len(k), n * n))


def whole_program(program: NormalizedProgram, method: str) -> LazyRows:
    """Return the program with every row, for the ball "l1" or "linf"."""
    M, radii = program.M, program.radii
    m, n = M.shape
    l1 = program.ball == "l1"
    extra = m * n if l1 else 0
    cost = np.zeros(n * n + extra)
    cost[: n * n : n + 1] = program.costs
    upper = np.full(n * n + extra, np.inf)
    upper[: n * n : n + 1] = 1.0
    whole = LazyRows(cost, 0.0, upper, method=method)
    products, target = sparse.block_diag([M] * n, format="csr"), M.T.ravel()
    if l1:  # -U ≤ M - MX ≤ U, Σ_k U_kj ≤ β_j
        eye = sparse.eye_array(extra)
        whole.add_rows(sparse.hstack([products, eye]), lower=target)
        whole.add_rows(sparse.hstack([products, -eye]), upper=target)
        sums = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
        whole.add_rows(sparse.hstack([sparse.csr_array((n, n * n)), sums]), upper=radii)
    else:
        whole.add_rows(products, target - np.repeat(radii, m), target + np.repeat(radii, m))
    rest = sparse.csr_array((n * (n - 1), extra))
    whole.add_rows(sparse.hstack([_linking(n), rest]), upper=0.0)
    if program.trace is not None:
        row = np.zeros((1, n * n + extra))
        row[0, : n * n : n + 1] = 1.0
        whole.add_rows(row, program.trace, program.trace)
    return whole


def solve_whole(program: NormalizedProgram, method: str = "choose") -> Solved:
    """Give all of it to HiGHS: `method` as in `LazyRows`."""
    n = program.M.shape[1]
    found = whole_program(program, method).solve()
    if found.status != "optimal":
        X = np.eye(n)
        return Solved(X, np.ones(n), np.inf, -np.inf, found.n_iter, found.status)
    X = np.clip(found.x[: n * n].reshape(n, n).T, 0.0, 1.0)
    return _finish(program, X, found.objective, found.n_iter)


def solve_by_cvxpy(program: NormalizedProgram) -> Solved:
    """Give all of it to cvxpy, for any ball; needs the package."""
    try:
        cp = importlib.import_module("cvxpy")
    except ImportError:
        raise ImportError(
            "solver='cvxpy' needs the package cvxpy, which is not installed; 'first-order' solves "
            "the same programs."
        ) from None
    M, radii = program.M, program.radii
    n = M.shape[1]
    X = cp.Variable((n, n), nonneg=True)
    residual, diagonal = M - M @ X, cp.diag(X)
    rules = [cp.reshape(diagonal, (n, 1), order="C") @ np.ones((1, n)) >= X, diagonal <= 1.0]
    if program.ball == "frobenius":
        rules.append(cp.norm(residual @ np.diag(program.norms), "fro") <= radii[0])
    else:
        order = {"l1": 1, "l2": 2, "linf": "inf"}[program.ball]
        rules.append(cp.norm(residual, order, axis=0) <= radii)
    if program.trace is not None:
        rules.append(cp.sum(diagonal) == program.trace)
    problem = cp.Problem(cp.Minimize(program.costs @ diagonal), rules)
    problem.solve(solver="CLARABEL")
    if X.value is None:
        return Solved(np.eye(n), np.ones(n), np.inf, -np.inf, 0, "infeasible")
    steps = int(problem.solver_stats.num_iters or 0)
    return _finish(program, np.clip(X.value, 0.0, 1.0), float(problem.value), steps)


def _finish(program: NormalizedProgram, X: Floats, value: float, n_iter: int) -> Solved:
    X, diagonal = make_feasible(program, X)
    return Solved(X, diagonal, objective(program, diagonal), value, n_iter, "optimal")
