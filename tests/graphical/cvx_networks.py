"""Joint graphical lassos written down for cvxpy, and small covariances to try them on."""

from itertools import combinations

import numpy as np


def covariances(n_samples, p, seed=0):
    """Return sample covariances of correlated variables, one for each sample size."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((p, p)) / 2
    S = []
    for n in n_samples:
        X = rng.standard_normal((int(n), p)) @ (common + rng.standard_normal((p, p)) / 4)
        X = X - X.mean(axis=0)
        S.append(X.T @ X / len(X))
    return np.array(S)


def solve_by_cvxpy(S, n, alpha_l1, alpha_joint, kind, q=2, weights=None, solver="SCS"):
    """Return the solution and the value of the problem as the paper writes it.

    `weights` replaces alpha_l1 entry by entry; infinite ones become equality constraints.
    """
    import cvxpy as cp

    K, p, _ = S.shape
    off = 1.0 - np.eye(p)
    weights = np.full(S.shape, float(alpha_l1)) if weights is None else weights
    Theta = [cp.Variable((p, p), symmetric=True) for _ in range(K)]
    objective, constraints = 0.0, []
    for k in range(K):
        finite = np.where(np.isinf(weights[k]), 0.0, weights[k])
        objective += n[k] * (cp.trace(S[k] @ Theta[k]) - cp.log_det(Theta[k]))
        objective += cp.sum(cp.multiply(finite, cp.abs(Theta[k])))
        constraints += [Theta[k][i, j] == 0 for i, j in np.argwhere(np.isinf(weights[k]))]
    if kind == "perturbed":
        for k, other in combinations(range(K), 2):
            V = cp.Variable((p, p))
            constraints.append(Theta[k] - Theta[other] == V + V.T)
            objective += alpha_joint * sum(cp.norm(V[:, j], q) for j in range(p))
    elif kind == "cohub":
        V = [cp.Variable((p, p)) for _ in range(K)]
        constraints += [cp.multiply(off, Theta[k]) == V[k] + V[k].T for k in range(K)]
        stacked = cp.vstack(V)
        objective += alpha_joint * sum(cp.norm(stacked[:, j], q) for j in range(p))
    elif kind == "fused":
        for k, other in combinations(range(K), 2):
            objective += alpha_joint * cp.sum(cp.multiply(off, cp.abs(Theta[k] - Theta[other])))
    elif kind == "group":
        for i, j in np.argwhere(off):
            objective += alpha_joint * cp.norm(cp.hstack([T[i, j] for T in Theta]), 2)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    options = {"eps": 1e-10, "max_iters": 200_000} if solver == "SCS" else {}
    problem.solve(solver=solver, **options)
    assert problem.status == "optimal"
    return np.array([T.value for T in Theta]), problem.value
