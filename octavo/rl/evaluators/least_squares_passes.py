"""Compiled recursions of least-squares policy evaluation, O(n_features²) a transition.

Algorithm numbers are those of M. Geist and B. Scherrer (2014), with A5-A9 for those of C. Dann,
G. Neumann and J. Peters (2014). ``X`` and ``D`` hold the rows φ_i and Δφ_i; the remaining terms
are those of `octavo.rl.processes.traces.TraceTerms`.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.streams.passes import JIT, locked
from octavo.rl.evaluators.normal_equations import add_outer, dot_row, right_and_left, two_right

DIVERGED = 1e12  # a coefficient from which on a recursion is not coming back
OVERFLOWING = 1e150  # LSPE comes back from large values once A and N have settled
_SINGULAR = 1e-9  # a denominator this small beside its terms has lost its digits


@njit(**JIT)
def _decay_trace(z, e, row):
    for j in range(z.size):
        z[j] = e * z[j] + row[j]  # Eq. (6)


@njit(**JIT)
def _within(theta, bound):
    for j in range(theta.size):  # noqa: SIM110
        if not abs(theta[j]) < bound:
            return False
    return True


@njit(**JIT)
def lstd_pass(X, D, target, decay, first, M, theta, z):
    """Run recursive LSTD(λ) (Algorithm 1, A5, A6) from row ``first``.

    Return the first row whose denominator vanishes, before using it, or the number of rows.
    """
    p = theta.size
    Mz, left = np.empty(p), np.empty(p)
    for i in range(first, X.shape[0]):
        _decay_trace(z, decay[i], X[i])
        right_and_left(M, z, D[i], Mz, left)
        q = dot_row(left, z)  # 1 + Δφ'Mz, without the 1
        if not abs(1.0 + q) > _SINGULAR * (1.0 + abs(q)):
            return i
        error = (target[i] - dot_row(D[i], theta)) / (1.0 + q)
        for j in range(p):
            theta[j] += Mz[j] * error  # K(ρr - Δφ'θ), K = Mz / (1 + Δφ'Mz)
        # M - K(M'Δφ)', Eq. (27) of the survey by Dann et al.
        add_outer(M, -1.0 / (1.0 + q), Mz, left)
    return X.shape[0]


@njit(**JIT)
def lspe_pass(X, D, target, decay, gram, alphas, N, A, b, theta, z):
    """Run LSPE(λ) (Algorithm 2, A7, A8, with N, A and b of the current transition)."""
    p = theta.size
    residual, Nx, Nr = np.empty(p), np.empty(p), np.empty(p)
    for i in range(X.shape[0]):
        _decay_trace(z, decay[i], X[i])
        for k in range(p):
            for j in range(p):
                A[k, j] += z[k] * D[i, j]  # A_i, b_i
            b[k] += z[k] * target[i]
            residual[k] = b[k] - dot_row(A[k], theta)
        two_right(N, X[i], residual, Nx, Nr)
        shrink = gram[i] / (1.0 + gram[i] * dot_row(X[i], Nx))  # Eq. (11): Sherman-Morrison on φφ'
        back = shrink * dot_row(Nx, residual)  # N is symmetric
        for j in range(p):
            # θ + α N(b - Aθ) with the new N, A, b; A7 and A8 take those of one transition before
            theta[j] += alphas[i] * (Nr[j] - back * Nx[j])
        add_outer(N, -shrink, Nx, Nx)
        if not _within(theta, OVERFLOWING):
            return i
    return X.shape[0]


@njit(**JIT)
def fpkf_pass(X, D, target, decay, alphas, N, Z, theta, z):
    """Run FPKF(λ) (Algorithm 3, A9); a step size of 0 only gathers."""
    p = theta.size
    residual, Nx, Nr = np.empty(p), np.empty(p), np.empty(p)
    for i in range(X.shape[0]):
        e = decay[i]
        _decay_trace(z, e, X[i])
        for k in range(p):
            for j in range(p):
                # Algorithm 3: e on the old Z (the running text puts it on the new term)
                Z[k, j] = e * Z[k, j] + X[i, k] * theta[j]
            residual[k] = z[k] * target[i] - dot_row(Z[k], D[i])  # zρr - ZΔφ
        two_right(N, X[i], residual, Nx, Nr)
        shrink = 1.0 / (1.0 + dot_row(X[i], Nx))
        back = shrink * dot_row(Nx, residual)
        for j in range(p):
            theta[j] += alphas[i] * (Nr[j] - back * Nx[j])  # θ + α N(zρr - ZΔφ)
        add_outer(N, -shrink, Nx, Nx)
        if not _within(theta, DIVERGED):
            return i
    return X.shape[0]


def _warmup() -> None:
    X, D, one = locked(np.ones((1, 1))), np.ones((1, 1)), np.ones(1)
    _decay_trace(np.ones(1), 0.0, one)
    _within(one, 1.0)
    lstd_pass(X, D, one, one, 0, np.eye(1), np.zeros(1), np.zeros(1))
    lspe_pass(X, D, one, one, one, one, np.eye(1), np.eye(1), np.zeros(1), np.zeros(1), np.zeros(1))
    fpkf_pass(X, D, one, one, one, np.eye(1), np.eye(1), np.zeros(1), np.zeros(1))
