"""Newton's method for the proximal map of the nuclear norm and absolute values together.

The other dual of `nuclear_l1`: minimise ``φ(Q) = ½‖S(Y − Q)‖²`` over entries ``|q| <= γ`` (or
``q <= γ``, where no entry may be negative), S shrinking singular values by τ. Its slope
is ``-X = -S(Y − Q)`` and its curvature the derivative of S, four products of matrices by the
singular vectors in hand. Entries at a bound that the slope holds there are left alone, which leaves
the zeros of the answer (Bertsekas 1982, "Projected Newton methods for optimization problems with
simple constraints"); a step by conjugate gradients replaces tens of decompositions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats

__all__ = ["NewtonPoint", "newton_nuclear_l1"]

_LEAST_STEP = 1e-3
_DAMPING = 1e-3


class NewtonPoint(NamedTuple):
    """Q, X = S(Y − Q) with its singular values, the sparse face Z, and ‖X − Z‖."""

    Q: Floats
    low_rank: Floats
    values: Floats
    sparse: Floats
    residual: float
    n_decompositions: int


class _Shrunk:
    """S(M) for a tall M, and the derivative of S there."""

    def __init__(self, M: Floats, tau: float):
        self.U, self.s, self.Vt = np.linalg.svd(M, full_matrices=False)
        self.left = np.maximum(self.s - tau, 0.0)
        k = self.rank = int(np.count_nonzero(self.left))
        self.X: Floats = (self.U[:, :k] * self.left[:k]) @ self.Vt[:k]
        self.value = 0.5 * float(self.left @ self.left)

    def factors(self) -> tuple[Floats, Floats, Floats]:
        """Return what multiplies ``W = U' D V``, its transpose, and the rest of D outside U."""
        s, left = self.s, self.left
        total, apart = s[:, None] + s, s[:, None] - s
        alike = np.abs(apart) <= 1e-12 * s[0]
        above = left > 0.0
        even: Any = np.where(
            alike,
            above[:, None] & above,
            (left[:, None] - left) / np.where(alike, 1.0, apart),
        )
        odd = (left[:, None] + left) / np.where(total > 0.0, total, 1.0)
        outside = left / np.where(s > 0.0, s, 1.0)
        return 0.5 * (even + odd), 0.5 * (even - odd), outside

    def derivative(self, D: Floats, factors: tuple[Floats, Floats, Floats]) -> Floats:
        """Return the derivative of S in the direction D."""
        U, Vt = self.U, self.Vt
        same, turned, outside = factors
        turn = D @ Vt.T
        W = U.T @ turn
        inner = same * W + turned * W.T
        if U.shape[0] == U.shape[1]:
            return U @ inner @ Vt
        return (U @ (inner - W * outside) + turn * outside) @ Vt


def _direction(
    at: _Shrunk, free: Floats, damping: float, accuracy: float, max_products: int
) -> Floats:
    """Return the damped Newton step on free entries, by conjugate gradients, X elsewhere."""
    factors = at.factors()
    left = at.X * free
    step, along = np.zeros_like(left), left.copy()
    size = begun = float(np.vdot(left, left))
    for _ in range(max_products):
        if size <= accuracy**2 * begun:
            break
        bent = at.derivative(along, factors) * free + damping * along
        length = size / float(np.vdot(along, bent))
        step += length * along
        left -= length * bent
        before, size = size, float(np.vdot(left, left))
        along = left + (size / before) * along
    return step + at.X * (1.0 - free)


def newton_nuclear_l1(
    Y: Floats,
    tau: float,
    gamma: float,
    nonneg: bool,
    Q: Floats,
    limit: float,
    *,
    max_iter: int = 40,
    max_products: int = 100,
) -> NewtonPoint:
    """Go on from Q until X and its sparse face are within `limit`, or `max_iter` steps.

    Parameters
    ----------
    Y : ndarray of shape (n, m)
    tau, gamma : float
        More than 0; gamma may be 0 with `nonneg`.
    nonneg : bool
    Q : ndarray of shape (n, m)
        Within its bounds.
    limit : float
        Of the Frobenius norm of the difference.
    max_iter : int
        Most steps.
    max_products : int
        Most products with the curvature in a step.

    Returns
    -------
    NewtonPoint
        φ is never above what it was at Q, up to rounding.
    """
    if Y.shape[0] < Y.shape[1]:
        found = newton_nuclear_l1(
            Y.T, tau, gamma, nonneg, Q.T, limit, max_iter=max_iter, max_products=max_products
        )
        return found._replace(Q=found.Q.T, low_rank=found.low_rank.T, sparse=found.sparse.T)
    low, norm = -np.inf if nonneg else -gamma, float(np.linalg.norm(Y))
    at, count = _Shrunk(Y - Q, tau), 1
    for k in range(max_iter + 1):
        held = np.clip(Q + at.X, low, gamma)
        residual = float(np.linalg.norm(Q - held))
        if residual <= limit or k == max_iter:
            break
        X = at.X
        free = np.where(((gamma <= Q) & (X > 0.0)) | ((low >= Q) & (X < 0.0)), 0.0, 1.0)
        share = residual / norm
        way = _direction(
            at, free, _DAMPING * min(1.0, 100.0 * share), min(0.1, np.sqrt(share)), max_products
        )
        length = 1.0
        while True:
            ahead = np.clip(Q + length * way, low, gamma)
            then = _Shrunk(Y - ahead, tau)
            count += 1
            gained = 1e-4 * float(np.vdot(at.X, ahead - Q)) - 1e-15 * at.value
            if then.value <= at.value - gained or length <= _LEAST_STEP:
                break
            length *= 0.5
        if then.value > at.value * (1.0 + 1e-12):  # no descent: what follows does better
            break
        Q, at = ahead, then
    sparse = Q + at.X - np.clip(Q + at.X, low, gamma)
    values = at.left[: at.rank][::-1]  # increasing
    return NewtonPoint(Q, at.X, values, sparse, float(np.linalg.norm(at.X - sparse)), count)
