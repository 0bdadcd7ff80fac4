"""The program of partial order embedding handed to cvxpy: the reference for small problems.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Algorithm 4.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from octavo.metric.partial_order.programs import FullProgram, PairProgram, Solution


def solve_sdp(program: PairProgram, *, tol: float, **unused: Any) -> Solution:
    """Solve a program by cvxpy with Clarabel; for few items and comparisons.

    Parameters
    ----------
    program : PairProgram
        Full or diagonal.
    tol : float
        Relative gap that counts as converged; the solver's own tolerances are its defaults.
    **unused : dict
        Options of other solvers.

    Returns
    -------
    Solution
        Feasible, with a bound from the solver's multipliers.
    """
    try:
        import cvxpy as cp
    except ImportError as error:
        raise ImportError(
            "solver='sdp' needs cvxpy, which is not installed; solver='auto' does without."
        ) from error
    pairs, closer, farther = program.compared
    slack = cp.Variable(program.n_comparisons, nonneg=True)
    if isinstance(program, FullProgram):
        matrices = [cp.Variable((r, r), PSD=True) for r in program.ranks]
        (a, b), (f, g) = pairs[closer].T, pairs[farther].T
        difference: Any = 0
        for M, factor in zip(matrices, program.factors, strict=True):
            near, far = factor[a] - factor[b], factor[f] - factor[g]
            difference = difference + cp.sum(cp.multiply(near @ M, near), axis=1)
            difference = difference - cp.sum(cp.multiply(far @ M, far), axis=1)
        regulariser = sum(cp.trace(M) for M in matrices)
    else:
        weights = cp.Variable(program.size, nonneg=True)
        difference = program.columns(np.arange(program.size)) @ weights  # type: ignore[attr-defined]
        regulariser = cp.sum(weights)
    margins = [slack >= 1 + difference]
    problem = cp.Problem(cp.Minimize(regulariser + program.slope * cp.sum(slack)), margins)
    with warnings.catch_warnings():  # of its accuracy: the gap below says more
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL)
    if isinstance(program, FullProgram):
        solved: list[Any] = [M.value for M in matrices]
        found = np.concatenate([0.5 * (M + M.T).ravel() for M in solved])
    else:
        found = np.asarray(weights.value)
    W, objective = program.stretched(program.shrink(found, 0.0))
    eta, bound = program.bound(np.asarray(margins[0].dual_value))
    gap = objective - bound
    iterations = int(problem.solver_stats.num_iters or 0)
    return Solution(W, objective, gap, eta, iterations, bool(gap <= tol * objective))
