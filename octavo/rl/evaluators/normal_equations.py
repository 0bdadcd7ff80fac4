"""The linear system of least-squares policy evaluation, summed over blocks, and its solution.

A = Σ z_i Δφ_iᵀ and b = Σ z_i ρ_i r_i are sums over transitions, so that blocks of them add up
exactly and memory does not grow with the data. A block is a trace scan and one matrix product.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.streams.passes import JIT, SUM, locked
from octavo.rl.processes.traces import TraceTerms, dense_rows, scan_traces
from octavo.rl.processes.transitions import Transitions


def add_to_system(block: Transitions, terms: TraceTerms, z: Floats, A: Floats, b: Floats) -> None:
    """Add a block to A and b and move the trace ``z``, all in place."""
    if sp.issparse(block.X) and not terms.decay.any():
        delta = sp.diags_array(terms.own) @ block.X - sp.diags_array(terms.ahead) @ block.X_next
        A += (block.X.T @ delta).toarray()  # λ = 0: the trace is φ itself
        b += block.X.T @ terms.target
        z[:] = block.X[-1:].toarray()[0]
        return
    X, delta = dense_rows(block.X), differences(block, terms)
    if terms.decay.any():
        traces = np.empty(X.shape)
        scan_traces(X, terms.decay, z, traces)
    else:
        traces = X
        z[:] = X[-1]
    A += traces.T @ delta  # Eqs. (7) and (8) of Geist and Scherrer
    b += traces.T @ terms.target


def add_to_gram(block: Transitions, weights: Floats, gram: Floats) -> None:
    """Add Σ w_i φ_i φ_iᵀ to ``gram``."""
    if sp.issparse(block.X):
        gram += (block.X.T @ (sp.diags_array(weights) @ block.X)).toarray()
    else:
        gram += block.X.T @ (weights[:, None] * block.X)


def differences(block: Transitions, terms: TraceTerms) -> Floats:
    """Return the rows Δφ_i = own_i φ_i - ahead_i φ_{i+1}."""
    X, X_next = dense_rows(block.X), dense_rows(block.X_next)
    out = np.empty(X.shape)
    _differences(X, X_next, terms.own, terms.ahead, out)
    return out


@njit(**JIT)
def _differences(X, X_next, own, ahead, out):
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            # ρ weighs φ too where off-policy data are weighed by the transition (A6, A8)
            out[i, j] = own[i] * X[i, j] - ahead[i] * X_next[i, j]


def solve_system(A: Floats, b: Floats, eps: float | None, name: str) -> Floats:
    """Return (A + I/eps)⁻¹ b, or the solution of least norm, with a warning, if A is singular."""
    matrix = A if eps is None else A + np.eye(len(b)) / eps
    norm = np.abs(matrix).sum(axis=0).max()
    factor, pivots = la.lapack.dgetrf(matrix)[:2]
    rcond = la.lapack.dgecon(factor, norm)[0] if norm > 0 else 0.0
    if rcond > len(b) * np.finfo(float).eps:
        return la.lapack.dgetrs(factor, pivots, b)[0]
    solution, _, rank, _ = la.lstsq(matrix, b, lapack_driver="gelsd")
    warnings.warn(
        f"{name}: the system of {len(b)} equations has rank {rank} (reciprocal condition "
        f"{rcond:.2g}); the solution of least norm is returned. A finite eps regularises it, now "
        f"eps={eps}.",
        UserWarning,
        stacklevel=7,
    )
    return solution


def inverse_system(A: Floats, eps: float) -> Floats:
    """Return (A + I/eps)⁻¹, the pseudo-inverse if it is singular."""
    matrix = A + np.eye(len(A)) / eps
    try:
        inverse = la.inv(matrix)
    except la.LinAlgError:
        return la.pinv(matrix)
    return inverse if np.all(np.isfinite(inverse)) else la.pinv(matrix)


# --- compiled products; M is C-ordered ----------------------------------------------------------


@njit(**SUM)
def dot_row(row, v):
    total = 0.0
    for j in range(v.size):
        total += row[j] * v[j]
    return total


@njit(**JIT)
def right_and_left(M, v, u, right, left):
    """Write M v into ``right`` and uᵀ M into ``left``, in one pass over M."""
    left[:] = 0.0
    for i in range(M.shape[0]):
        right[i] = dot_row(M[i], v)
        s = u[i]
        for j in range(M.shape[1]):
            left[j] += s * M[i, j]


@njit(**JIT)
def two_right(M, u, v, Mu, Mv):
    """Write M u and M v in one pass over M."""
    for i in range(M.shape[0]):
        Mu[i] = dot_row(M[i], u)
        Mv[i] = dot_row(M[i], v)


@njit(**JIT)
def add_outer(M, step, u, v):
    """Add step u vᵀ to M."""
    for i in range(M.shape[0]):
        s = step * u[i]
        for j in range(M.shape[1]):
            M[i, j] += s * v[j]


def _warmup() -> None:
    one, square = np.ones(1), np.ones((1, 1))
    _differences(locked(np.ones((1, 1))), locked(np.ones((1, 1))), one, one, square)
    dot_row(square[0], one)
    right_and_left(square, one, one, np.ones(1), np.ones(1))
    two_right(square, one, one, np.ones(1), np.ones(1))
    add_outer(square, 0.0, one, one)


def zeros(n_features: int) -> tuple[Any, Any, Any]:
    """Return A, b and z before the first transition."""
    return np.zeros((n_features, n_features)), np.zeros(n_features), np.zeros(n_features)
