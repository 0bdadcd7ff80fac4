"""Smoothed transport plans of many pairs of histograms under one cost: Sinkhorn's iteration.

    G_ε(r, c; M) = min_{X} ⟨M, X⟩ + ε KL(X ‖ rcᵀ)   subject to   X1 = r, Xᵀ1 = c

is smooth and concave in M, and its gradient is the plan. As all pairs share K = exp(-M/ε), an
iteration of all of them is two products of matrices, and so is the sum of their plans; all is
written against the array API and runs where its arguments lie. Where K leaves the range of its
numbers, the same iteration is done on logarithms, pair by pair.

Reference: M. Cuturi (2013), "Sinkhorn distances: lightspeed computation of optimal transport".
"""

from __future__ import annotations

from typing import Any, NamedTuple

from octavo.engine.kernels.namespaces import namespace_of

LOOK = 10  # iterations between looks at the residual
MOST_CELLS = 4_000_000  # of the pairs whose logarithms are held at once
EMPTY = -1e30  # logarithm of an empty bin: finite, so that differences are


class EntropicBatch(NamedTuple):
    """Values G_ε and costs ⟨M, X⟩ of the pairs, logarithms of scalings, and how far they came.

    ``residual`` is the largest sum over bins of |X1 - r| of any pair; Xᵀ1 = c holds exactly.
    """

    values: Any
    costs: Any
    log_u: Any
    log_v: Any
    n_iter: int
    residual: float


def _range(xp: Any, dtype: Any) -> float:
    """Return the largest M/ε for which scalings and their products stay finite."""
    return 300.0 if float(xp.finfo(dtype).max) > 1e200 else 30.0


def _safe_log(xp: Any, values: Any) -> Any:
    some = values > 0.0
    return xp.where(some, xp.log(xp.where(some, values, 1.0)), EMPTY)


def _scale(xp: Any, K: Any, R: Any, C: Any, v: Any, tol: float, max_iter: int) -> Any:
    """Iterate on scalings; return both with the number of iterations and the residual."""
    residual, n_iter = float("inf"), 0
    u = R / (v @ K.T)
    while n_iter < max_iter:
        v = C / (u @ K)
        Kv = v @ K.T
        n_iter += 1
        if n_iter % LOOK == 0 or n_iter == max_iter:
            residual = float(xp.max(xp.sum(xp.abs(u * Kv - R), axis=1)))
            if residual <= tol:
                break
        if n_iter < max_iter:
            u = R / Kv
    return u, v, n_iter, residual


def _scale_logs(
    xp: Any, L: Any, log_r: Any, log_c: Any, log_v: Any, tol: float, max_iter: int
) -> Any:
    """Do the same on logarithms; L = -M/ε."""

    def log_sum(terms, axis):
        top = xp.max(terms, axis=axis, keepdims=True)
        return xp.log(xp.sum(xp.exp(terms - top), axis=axis)) + xp.squeeze(top, axis=axis)

    def rows(g):
        return log_r - log_sum(L[None, :, :] + g[:, None, :], 2)

    residual, n_iter, log_u = float("inf"), 0, rows(log_v)
    while n_iter < max_iter:
        log_v = log_c - log_sum(L[None, :, :] + log_u[:, :, None], 1)
        n_iter += 1
        fresh = rows(log_v)
        if n_iter % LOOK == 0 or n_iter == max_iter:
            held = xp.exp(log_r + log_u - fresh)  # X1
            residual = float(xp.max(xp.sum(xp.abs(held - xp.exp(log_r)), axis=1)))
            if residual <= tol:
                break
        if n_iter < max_iter:
            log_u = fresh
    return log_u, log_v, n_iter, residual


def entropic_transport(
    M: Any,
    R: Any,
    C: Any,
    reg: float,
    *,
    log_v: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> EntropicBatch:
    """Solve the smoothed problems of rows of R and rows of C, pair by pair.

    Parameters
    ----------
    M : array of shape (d, d)
        Cost, none negative; symmetric or not.
    R, C : array of shape (n_pairs, d)
        Histograms, of M's namespace and device.
    reg : float
        ε, in units of M.
    log_v : array of shape (n_pairs, d), optional
        Where to start, from an earlier batch of the same pairs.
    tol : float, default=1e-6
        Largest residual at the end.
    max_iter : int, default=1000
        Most iterations.

    Returns
    -------
    EntropicBatch
        In the namespace of M.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.transport.entropic import entropic_transport
    >>> M = 1.0 - np.eye(2)
    >>> R, C = np.array([[0.8, 0.2]]), np.array([[0.3, 0.7]])
    >>> entropic_transport(M, R, C, 0.02).costs.round(6).tolist()  # total variation as ε → 0
    [0.5]
    """
    xp, _, _ = namespace_of(M)
    log_r, log_c = _safe_log(xp, R), _safe_log(xp, C)
    if log_v is None:
        log_v = log_c
    if float(xp.max(M)) / reg <= _range(xp, M.dtype):
        K = xp.exp(-M / reg)
        u, v, n_iter, residual = _scale(xp, K, R, C, xp.exp(log_v), tol, max_iter)
        log_u, log_v = _safe_log(xp, u), _safe_log(xp, v)
        costs = xp.sum(u * (v @ (K * M).T), axis=1)
    else:
        log_u, log_v, costs, n_iter, residual = _by_parts(
            xp, M, log_r, log_c, reg, log_v, tol, max_iter
        )
    values = reg * (_mean_of(xp, R, log_u - log_r) + _mean_of(xp, C, log_v - log_c))  # dual
    return EntropicBatch(values, costs, log_u, log_v, n_iter, residual)


def _mean_of(xp: Any, weights: Any, logs: Any) -> Any:
    return xp.sum(xp.where(weights > 0.0, weights * logs, 0.0), axis=1)


def _by_parts(
    xp: Any, M: Any, log_r: Any, log_c: Any, reg: float, log_v: Any, tol: float, max_iter: int
) -> Any:
    """Work on logarithms, as many pairs at once as `MOST_CELLS` allows."""
    L = -M / reg
    step = max(1, MOST_CELLS // (M.shape[0] * M.shape[0]))
    us, vs, costs, n_iter, residual = [], [], [], 0, 0.0
    for start in range(0, log_r.shape[0], step):
        part = slice(start, min(start + step, log_r.shape[0]))
        u, v, spent, far = _scale_logs(
            xp, L, log_r[part, :], log_c[part, :], log_v[part, :], tol, max_iter
        )
        X = xp.exp(u[:, :, None] + L[None, :, :] + v[:, None, :])
        us.append(u)
        vs.append(v)
        costs.append(xp.sum(xp.sum(X * M[None, :, :], axis=2), axis=1))
        n_iter, residual = max(n_iter, spent), max(residual, far)
    return xp.concat(us), xp.concat(vs), xp.concat(costs), n_iter, residual


def entropic_plans(M: Any, reg: float, log_u: Any, log_v: Any, weights: Any) -> Any:
    """Return Σ weights[t] X_t, of shape (d, d), from the scalings of a batch.

    Parameters
    ----------
    M : array of shape (d, d)
        Cost.
    reg : float
        ε.
    log_u, log_v : array of shape (n_pairs, d)
        As `entropic_transport` returns them.
    weights : array of shape (n_pairs,)
        Weights of the plans.

    Returns
    -------
    array of shape (d, d)
        The sum.
    """
    xp, _, _ = namespace_of(M)
    if float(xp.max(M)) / reg <= _range(xp, M.dtype):
        return xp.exp(-M / reg) * ((xp.exp(log_u) * weights[:, None]).T @ xp.exp(log_v))
    L, step = -M / reg, max(1, MOST_CELLS // (M.shape[0] * M.shape[0]))
    G = xp.zeros_like(M)
    for start in range(0, log_u.shape[0], step):
        part = slice(start, min(start + step, log_u.shape[0]))
        X = xp.exp(log_u[part, :][:, :, None] + L[None, :, :] + log_v[part, :][:, None, :])
        G = G + xp.sum(weights[part][:, None, None] * X, axis=0)
    return G
