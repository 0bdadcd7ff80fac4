"""Diagonal metrics as a linear program: landmarks come in when their price says so.

Of the n weights a view, few are above zero at the optimum. The program is solved with some of them,
its multipliers price the others (one sparse product for all), and those that would lower the
objective join. The last round proves that none would, so the solution is that of the whole program.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Section 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linprog

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.metric.partial_order.programs import DiagonalProgram, Solution

JOIN = 60  # landmarks that join a round
EXACT = 1e-9  # by how much a price may be off


def restricted_program(A: Floats, slope: float) -> tuple[Floats, Floats]:
    """Return weights of some columns, and multipliers, by HiGHS.

    The dual is solved, max Σ η subject to -Aᵀη ≤ 1 and 0 ≤ η ≤ β/|C|: it has as many rows as
    columns take part, the primal as many as comparisons.
    """
    found = linprog(
        -np.ones(len(A)),
        A_ub=-slope * A.T,
        b_ub=np.ones(A.shape[1]),
        bounds=(0.0, 1.0),
        method="highs-ds",
        options={"presolve": False},
    )
    if found.x is None or found.status != 0:
        raise ValueError(f"The linear program could not be solved: {found.message}")
    weights = np.maximum(-slope * found.ineqlin.marginals, 0.0)  # the dual's dual: the weights
    return weights, slope * np.clip(found.x, 0.0, 1.0)


def solve_landmark_lp(
    program: DiagonalProgram,
    *,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    on_step: Callable[[], Any] = lambda: None,
) -> Solution:
    """Solve a diagonal program by HiGHS, to the precision of its vertices.

    Parameters
    ----------
    program : DiagonalProgram
        The program.
    tol : float
        Relative gap that counts as converged where rounds run out; otherwise not used, since a
        vertex costs no more than an approximation.
    max_iter : int
        Most rounds.
    start : ndarray, optional
        Weights whose columns, where they are above zero, take part from the first round.
    on_step : callable
        Called once a round.

    Returns
    -------
    Solution
        A vertex of the whole program.
    """
    W, objective = np.zeros(program.size), program.beta
    eta, bound = program.bound(np.full(program.n_comparisons, program.slope))
    prices = program.adjoint(np.full(program.n_comparisons, program.slope))
    used = np.zeros(0, dtype=np.intp) if start is None else np.flatnonzero(start > 0.0)
    k = 0
    for round_ in range(1, max_iter + 1):
        k = round_
        used = np.concatenate([used, _joining(prices, used)])
        if not len(used):
            break
        own, multipliers = restricted_program(program.columns(used), program.slope)
        W = np.zeros(program.size)
        W[used] = own
        before, objective = objective, program.value(W)
        prices = program.adjoint(multipliers)
        trial, low = program.bound(multipliers)
        if low > bound:
            eta, bound = trial, low
        on_step()
        unused = np.ones(program.size, dtype=np.bool_)
        unused[used] = False
        if not (prices[unused] < -1.0 - EXACT).any():
            break
        if objective < before * (1.0 - EXACT):  # else dropping could go round in circles
            used = used[W[used] > 0.0]
    gap = objective - bound
    return Solution(W, objective, gap, eta, k, bool(gap <= max(tol, EXACT) * objective))


def _joining(prices: Any, used: Indices) -> Indices:
    """Return the weights whose prices are lowest, among those below minus one."""
    open_prices = prices.copy()
    open_prices[used] = 0.0
    candidates = np.argsort(open_prices, kind="stable")[:JOIN]
    return candidates[open_prices[candidates] < -1.0 - EXACT]
