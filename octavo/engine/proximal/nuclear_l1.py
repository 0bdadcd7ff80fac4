"""The proximal map of the nuclear norm and the sum of absolute values together.

``argmin ½‖X − Y‖² + τ‖X‖_* + γ‖X‖₁`` has no closed form. Its dual minimises ``½‖cut(Y − P)‖²`` over
matrices P of spectral norm at most τ, where `cut` is the map of the second penalty (and of X >= 0);
an accelerated projected gradient with restarts needs one decomposition a step, and its two
primal matrices, one exactly of low rank and one exactly sparse, meet at the answer. Small matrices
that are not there after a few steps go on by Newton's method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.proximal.matrices import shrink_singular_values, soft_threshold
from octavo.engine.proximal.nuclear_l1_newton import newton_nuclear_l1
from octavo.engine.spectral.block_lanczos import RitzPairs, block_lanczos

__all__ = ["NuclearL1", "SingularShrinker", "cut_entries", "shrink_both"]

FULL_SIDE = 400  # below, all singular values cost less than a few of them
BLOCKS = 20
NEWTON_SIDE = 200  # up to here, after these numbers of accelerated steps
NEWTON_AFTER = (6, 60, 600)


class SingularShrinker:
    """Shrink singular values of one matrix after another, each near to the last.

    Parameters
    ----------
    svd : {"auto", "full", "randomized"}
        All singular values, or those above the threshold by a block Krylov space that begins at
        the last matrix's vectors; "auto" by size.
    rng : RandomState
        Fills the first block.
    """

    def __init__(self, svd: str = "auto", rng: np.random.RandomState | None = None):
        self.svd = svd
        self.rng = np.random.RandomState(0) if rng is None else rng
        self.start: Floats | None = None
        self.width = 10
        self.tol = 1e-11  # of squared singular values above the threshold

    def __call__(self, M: Floats, tau: float) -> tuple[Floats, Floats]:
        """Return the matrix with singular values shrunk by `tau`, and those that are left."""
        side = min(M.shape)
        if M.shape[0] < M.shape[1]:
            Z, values = self(M.T, tau)
            return Z.T, values
        small = self.svd == "full" or (self.svd == "auto" and side <= FULL_SIDE)
        if small or tau <= 0.0 or 4 * self.width >= side:
            return shrink_singular_values(M, tau)
        found = self._above(M, tau)
        while found is None:
            self.width = 2 * self.width
            if 4 * self.width >= side:
                return shrink_singular_values(M, tau)
            found = self._above(M, tau)
        V, values = found
        return ((M @ V) * (1.0 - tau / values)) @ V.T, values - tau

    def _above(self, M: Floats, tau: float) -> tuple[Floats, Floats] | None:
        """Return right vectors and singular values above `tau`; None where a block is too thin."""
        m, width = M.shape[1], self.width
        block = np.empty((m, 0)) if self.start is None else self.start[:, :width]
        block = np.hstack([block, self.rng.standard_normal((m, width - block.shape[1]))])
        unit = 1.0 / tau  # squares of small numbers stay doubles

        def finished(found: RitzPairs) -> bool:
            above = found.values > 1.0
            limit = self.tol * found.values[0] if above.any() else 0.0
            rest = found.values[~above]
            settled = not above.any() or bool(np.all(found.residuals[above] <= limit))
            # what lies below must lie there for sure: its Ritz value plus its residual
            return settled and (
                rest.size == 0 or bool(rest[0] + min(found.residuals[~above][0], 0.05) <= 1.05)
            )

        found = block_lanczos(
            lambda X: (M.T @ (M @ (X * unit))) * unit,
            block,
            finished,
            max_columns=min(m, BLOCKS * width),
        )
        above = int((found.values > 1.0).sum())
        if above >= width or not (found.exhausted or finished(found)):
            return None
        self.start = found.vectors(min(above + 4, width))
        return found.vectors(above), tau * np.sqrt(found.values[:above])


def cut_entries(M: Floats, gamma: float, nonneg: bool) -> Floats:
    """Shrink entries by `gamma`, and those below zero to zero where none may be negative."""
    return np.maximum(M - gamma, 0.0) if nonneg else soft_threshold(M, gamma)


class NuclearL1(NamedTuple):
    """Both faces of the answer and the dual matrix, with what they are apart.

    `low_rank` has the singular values `values` and no others; `sparse` has exact zeros (and no
    negative entry where none may be). `residual` is the norm of their difference.
    """

    low_rank: Floats
    sparse: Floats
    dual: Floats
    values: Floats
    residual: float
    n_iter: int


def shrink_both(
    Y: Floats,
    tau: float,
    gamma: float,
    nonneg: bool = False,
    *,
    dual: Floats | None = None,
    tol: float = 1e-10,
    max_iter: int = 5000,
    shrink: SingularShrinker | None = None,
) -> NuclearL1:
    """Return ``argmin ½‖X − Y‖² + tau ‖X‖_* + gamma ‖X‖₁``, over X >= 0 if `nonneg`.

    Parameters
    ----------
    Y : ndarray of shape (n, m)
    tau, gamma : float
        At least 0.
    nonneg : bool, default=False
    dual : ndarray of shape (n, m), default=None
        Where to begin; that of a problem nearby.
    tol : float, default=1e-10
        Bound on `residual`, relative to the norm of Y.
    max_iter : int, default=5000
    shrink : SingularShrinker, default=None

    Returns
    -------
    NuclearL1
    """
    shrink = SingularShrinker() if shrink is None else shrink
    if tau == 0.0:
        Z = cut_entries(Y, gamma, nonneg)
        few = min(Z.shape) <= FULL_SIDE
        values: Any = np.linalg.svd(Z, compute_uv=False) if few else np.empty(0)
        return NuclearL1(Z, Z, np.zeros_like(Y), values, 0.0, 1)
    if gamma == 0.0 and not nonneg:
        X, values = shrink(Y, tau)
        return NuclearL1(X, X, Y - X, values, 0.0, 1)
    limit = tol * float(np.linalg.norm(Y))
    shrink.tol = min(1e-6, max(1e-11, 1e-2 * tol))
    Y = np.ascontiguousarray(Y, dtype=np.float64)
    P = np.zeros(Y.shape) if dual is None else np.array(dual, order="C")
    Q, Z, M, ahead = P.copy(), np.empty(Y.shape), np.empty(Y.shape), np.empty(Y.shape)
    flat = [matrix.reshape(-1) for matrix in (Y, Q, Z, M)]
    t, residual = 1.0, np.inf
    for k in range(1, max_iter + 1):
        _cut(*flat, float(gamma), bool(nonneg))  # Z = cut(Y - Q), M = Q + Z
        X, values = shrink(M, tau)
        X = np.ascontiguousarray(X)
        # M - X is the projection of M on matrices of spectral norm tau
        apart, turned = _project(
            M.reshape(-1),
            X.reshape(-1),
            Z.reshape(-1),
            Q.reshape(-1),
            P.reshape(-1),
            ahead.reshape(-1),
        )
        residual = float(np.sqrt(apart))
        if residual <= limit:
            P = ahead
            break
        momentum = 0.0
        if turned > 0.0:
            t = 1.0
        else:
            further = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            momentum, t = (t - 1.0) / further, further
        _extrapolate(ahead.reshape(-1), P.reshape(-1), momentum, Q.reshape(-1))
        P, ahead = ahead, P
        if k in NEWTON_AFTER and min(Y.shape) <= NEWTON_SIDE:
            bounded = np.clip(Y - P, -np.inf if nonneg else -gamma, gamma)
            found = newton_nuclear_l1(Y, tau, gamma, nonneg, bounded, limit)
            P[:] = (Y - found.Q) - found.low_rank
            if found.residual <= limit:
                steps = k + found.n_decompositions
                return NuclearL1(
                    found.low_rank, found.sparse, P, found.values, found.residual, steps
                )
            t, Q[:] = 1.0, P
    return NuclearL1(X, Z, P, values, residual, k)


@njit(cache=True)
def _cut(Y, Q, Z, M, gamma, nonneg):
    """Shrink the entries of Y - Q into Z, and add Q again into M."""
    for i in range(Y.size):
        z = Y[i] - Q[i]
        if z > gamma:
            z -= gamma
        elif z < -gamma and not nonneg:
            z += gamma
        else:
            z = 0.0
        Z[i] = z
        M[i] = Q[i] + z


@njit(cache=True)
def _project(M, X, Z, Q, P, ahead):
    """Fill `ahead` with M - X; return |X - Z|² and how far the last step turned back."""
    apart, turned = 0.0, 0.0
    for i in range(M.size):
        new = M[i] - X[i]
        ahead[i] = new
        apart += (X[i] - Z[i]) ** 2
        turned += (Q[i] - new) * (new - P[i])
    return apart, turned


@njit(cache=True)
def _extrapolate(ahead, P, momentum, Q):
    """Fill Q with ahead + momentum (ahead - P)."""
    for i in range(Q.size):
        Q[i] = ahead[i] + momentum * (ahead[i] - P[i])


def _warmup() -> None:
    shrink_both(np.eye(2), 0.1, 0.1)
