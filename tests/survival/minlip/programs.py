"""The machines of the paper as programs for cvxpy, written from its equations."""

import numpy as np

inf = np.inf


def sample(n=50, d=3, seed=0, kind="right", ties=False):
    """Return rows and lower and upper ends, on a clock of about one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    time = np.exp(X[:, 0] - 0.5 * X[:, -1] + 0.4 * rng.normal(size=n))
    if ties:
        time = np.ceil(4 * time) / 4
    lower, upper = time.copy(), time.copy()
    if kind in ("right", "mixed"):
        limit = rng.exponential(3.0, n)
        if ties:
            limit = np.ceil(4 * limit) / 4
        late = time > limit
        lower[late], upper[late] = limit[late], inf
    if kind in ("interval", "mixed"):
        rows = rng.random(n) < 0.5
        rows &= np.isfinite(upper)
        lower[rows], upper[rows] = lower[rows] * 0.8, upper[rows] * 1.15
        left = rows & (rng.random(n) < 0.3)
        lower[left] = 0.0
    return X, lower, upper


def all_pairs(lower, upper):
    n = len(lower)
    return [(i, j) for i in range(n) for j in range(n) if upper[j] < lower[i]]


def nearest_pairs(lower, upper):
    best = {}
    for i, j in all_pairs(lower, upper):
        best[i] = max(best.get(i, -inf), upper[j])
    return [(i, j) for i, j in all_pairs(lower, upper) if upper[j] == best[i]]


def minlip_primal(Phi, lower, upper, pairs, C, loss="l1"):
    """Return the optimal value and utilities of Eq. (16) (or (8)), by Clarabel."""
    import cvxpy as cp

    n, d = Phi.shape
    w, e = cp.Variable(d), cp.Variable(n)
    a = Phi @ w + e
    later, earlier = np.array(pairs).T
    held = [a[later] - a[earlier] >= lower[later] - upper[earlier]]
    value = 0.5 * cp.sum_squares(w)
    if C is None:
        held.append(e == 0)
    elif loss == "l1":
        value += C * cp.norm1(e)
    else:
        value += 0.5 * C * cp.sum_squares(e)
    problem = cp.Problem(cp.Minimize(value), held)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value, Phi @ w.value


def factor(K):
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-10 * values.max()
    return vectors[:, keep] * np.sqrt(values[keep])
