"""Small tasks, and the dual written out for an independent solver."""

import numpy as np
import pytest


def small_tasks(seed=0, n_tasks=3, n_rows=15, n_features=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_tasks * n_rows, n_features))
    task = np.repeat(np.arange(n_tasks), n_rows)
    w = rng.standard_normal((n_tasks, n_features)) * (np.arange(n_features) < 2)
    scores = np.einsum("ij,ij->i", X, w[task])
    y = (scores + 0.5 * rng.standard_normal(len(X)) > 0).astype(int)
    return X, y, task, scores


def root(K):
    """Return R with R'R = K."""
    values, vectors = np.linalg.eigh(K)
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


def oracle_dual(roots, signs, alpha, C, *, communal=None, margin=1.0, sigma2=None):
    """Return the maximum of J by cvxpy.

    ``roots[d][m]`` is R with R'R the kernel of switch d in task m, or None.
    """
    cp = pytest.importorskip("cvxpy")
    lam = [cp.Variable(len(y)) for y in signs]
    value, constraints = 0, []
    for one, y in zip(lam, signs):
        value += margin * cp.sum(one)
        constraints += [one >= 0, one <= C]
        if sigma2 is None:
            constraints.append(y @ one == 0)
        else:
            value -= 0.5 * sigma2 * cp.square(y @ one)
    for row in roots:
        parts = [R @ cp.multiply(y, one) for R, y, one in zip(row, signs, lam) if R is not None]
        energy = cp.sum_squares(cp.hstack(parts)) / 2
        if alpha == 0:
            value -= energy
        else:
            value -= cp.log_sum_exp(cp.hstack([np.log(alpha), energy])) - np.log1p(alpha)
    if communal is not None:
        value -= 0.5 * cp.sum_squares(
            communal @ cp.hstack([cp.multiply(y, one) for y, one in zip(signs, lam)])
        )
    problem = cp.Problem(cp.Maximize(value), constraints)
    problem.solve(
        solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10, max_iter=200
    )
    return float(problem.value)
