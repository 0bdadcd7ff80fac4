"""A threshold machine as a sparse program, for solvers that take matrices.

Variables are (w, e⁺, e⁻, v), or (w⁺, w⁻, e⁺, e⁻, v) where ‖w‖₁ takes the place of ½‖w‖².
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from octavo.engine.duals.sparse_qp import LPSolution, QPSolution, solve_lp, solve_qp
from octavo.engine.duals.threshold_qp import ThresholdProblem
from octavo.engine.estimators.arrays import Floats


class ThresholdRows(NamedTuple):
    """Rows ``A x ≥ b`` of a threshold machine, by groups of columns."""

    features: Any  # of w
    errors: Any  # of e = e⁺ - e⁻
    thresholds: Any  # of v
    b: Floats


def threshold_rows(problem: ThresholdProblem) -> ThresholdRows:
    """Return the constraints u + e - v_low ≥ lower, v_high - u - e ≥ -upper, v_k+1 - v_k ≥ 0."""
    below, above = np.flatnonzero(problem.low >= 0), np.flatnonzero(problem.high >= 0)
    terms = np.concatenate([below, above])
    sign = np.concatenate([np.ones(len(below)), -np.ones(len(above))])
    m, n, K = len(terms), len(problem.rows), problem.n_thresholds
    features = sp.csr_matrix(sign[:, None] * problem.features[problem.rows[terms]])
    errors = sp.csr_matrix((sign, (np.arange(m), terms)), (m, n))
    which = np.concatenate([problem.low[below], problem.high[above]])
    thresholds = sp.csr_matrix((-sign, (np.arange(m), which)), (m, K))
    b = np.concatenate([problem.lower[below], -problem.upper[above]])
    if problem.chain and K > 1:
        step = sp.diags([-np.ones(K - 1), np.ones(K - 1)], [0, 1], shape=(K - 1, K))
        features = sp.vstack([features, sp.csr_matrix((K - 1, features.shape[1]))])
        errors = sp.vstack([errors, sp.csr_matrix((K - 1, n))])
        thresholds = sp.vstack([thresholds, step])
        b = np.concatenate([b, np.zeros(K - 1)])
    return ThresholdRows(features.tocsr(), errors.tocsr(), thresholds.tocsr(), b)


def threshold_qp_by_splitting(
    problem: ThresholdProblem, C: float, *, loss: str = "l1", tol: float = 1e-8, max_iter: int
) -> QPSolution:
    """Solve ½‖w‖² + C Σ loss(e) by `solve_qp`; x holds (w, e⁺, e⁻, v)."""
    rows = threshold_rows(problem)
    n, K, d = len(problem.rows), problem.n_thresholds, problem.features.shape[1]
    squares = C if loss == "l2" else 0.0
    P = sp.diags(np.concatenate([np.ones(d), np.full(2 * n, squares), np.zeros(K)]))
    q = np.concatenate([np.zeros(d), np.full(2 * n, C if loss == "l1" else 0.0), np.zeros(K)])
    positive = sp.hstack(
        [sp.csr_matrix((2 * n, d)), sp.eye(2 * n), sp.csr_matrix((2 * n, K))], format="csr"
    )
    A = sp.vstack(
        [sp.hstack([rows.features, rows.errors, -rows.errors, rows.thresholds]), positive]
    )
    lower = np.concatenate([rows.b, np.zeros(2 * n)])
    return solve_qp(P, q, A, lower, np.full(len(lower), np.inf), tol=tol, max_iter=max_iter)


def threshold_lp(problem: ThresholdProblem, C: float) -> tuple[Floats, LPSolution]:
    """Minimise ‖w‖₁ + C‖e‖₁ (Eq. 10 of Van Belle and others 2011) by HiGHS.

    Parameters
    ----------
    problem : ThresholdProblem
        The terms.
    C : float
        Weight of the errors; infinite for none.

    Returns
    -------
    w : ndarray of shape (n_features,)
        The weights.
    solution : LPSolution
        Of the program with all its variables.
    """
    rows = threshold_rows(problem)
    d, n, K = problem.features.shape[1], len(problem.rows), problem.n_thresholds
    columns, cost = [rows.features, -rows.features], [np.ones(2 * d)]
    if np.isfinite(C):
        columns += [rows.errors, -rows.errors]
        cost.append(np.full(2 * n, C))
    columns.append(rows.thresholds)
    cost.append(np.zeros(K))
    c = np.concatenate(cost)
    lower = np.where(np.arange(len(c)) < len(c) - K, 0.0, -np.inf)
    found = solve_lp(c, sp.hstack(columns), rows.b, lower=lower)
    return found.x[:d] - found.x[d : 2 * d], found
