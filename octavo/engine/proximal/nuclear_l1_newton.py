"""Newton's method for the proximal map of the nuclear norm and absolute values together.

The other dual of `nuclear_l1`: minimise ``φ(Q) = ½‖S(Y − Q)‖²`` over entries ``|q| <= γ`` (or
``q <= γ``, where no entry may be negative), S shrinking singular values by τ. Its slope
is ``-X = -S(Y − Q)`` and its curvature the derivative of S, four products of matrices by the
vectors in hand. Entries that a step along the slope takes over a bound are held there; the rest,
the zeros of the answer, take a damped Newton step by conjugate gradients (Hintermüller, Ito and
Kunisch 2002, "The primal-dual active set strategy as a semismooth Newton method"). A decomposition
takes as long as fifty products of matrices, and a step replaces tens of decompositions. Steps that
need four digits at most are found in single precision, whose products take half the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy, saxpy

from octavo.engine.estimators.arrays import Floats

__all__ = ["NewtonPoint", "newton_nuclear_l1"]

_LEAST_STEP = 1e-3
_DAMPING = 3.0  # times the share of the norm that is left, at most
_MOST_DAMPING = 0.1
_NEARLY_NOTHING = 1e-2  # of the norm of Y
_SINGLE_ABOVE = (
    1e-4  # steps no more exact than this are found in single precision, in half the time
)
_SMALL = 64  # up to here thin products take as long in single precision
_SQUARED_ABOVE = 1e-3  # thresholds of this share of the norm outlive squaring to thirteen digits


class NewtonPoint(NamedTuple):
    """Q, X = S(Y − Q) with its singular values, the sparse face Z, and ‖X − Z‖."""

    Q: Floats
    low_rank: Floats
    values: Floats
    sparse: Floats
    residual: float
    n_decompositions: int


class _Shrunk:
    """S(M) = M h(M'M) for a tall M, h(x²) = max(0, 1 - τ/x), and the derivative of S there."""

    def __init__(self, M: Floats, tau: float):
        gram = M.T @ M
        if tau > _SQUARED_ABOVE * np.sqrt(np.linalg.norm(gram)):
            squares, V = np.linalg.eigh(gram)
            self.values, self.V = np.sqrt(np.maximum(squares, 0.0)), V
            self.MV = M @ V
        else:
            U, s, Vt = np.linalg.svd(M, full_matrices=False)
            self.values, self.V = s[::-1], Vt[::-1].T
            self.MV = U[:, ::-1] * self.values
        self.tau, self.below = tau, int(np.searchsorted(self.values, tau, side="right"))
        above = self.values[self.below :]
        self.left: Floats = above - tau
        self.kept = np.zeros(len(self.values))
        self.kept[self.below :] = self.left / above
        self.X: Floats = (self.MV[:, self.below :] * self.kept[self.below :]) @ self.V[
            :, self.below :
        ].T
        self.value = 0.5 * float(self.left @ self.left)


class _Derivative:
    """The derivative of S at one matrix of norm `unit`, in double or single precision.

    With h' the divided differences of h between squared singular values, D goes to
    ``(D V h + M V (h' ∘ (A + A'))) V'``, ``A = (M V)' D V``. h' vanishes between values that are
    not kept: where few are, the products are as thin as X.
    """

    def __init__(self, at: _Shrunk, unit: float, dtype: Any):
        few = 4 * len(at.left) <= len(at.values)
        self.below = k = at.below if few else 0
        MV, V = at.MV / unit, at.V
        if few:
            thin, shape = len(at.left), (len(MV), len(V))
            above = np.arange(len(V)) >= k
            self.MVk, self.Vk = MV[:, k:].astype(dtype, "C"), V[:, k:].astype(dtype, "C")
            self.inwards = np.hstack([MV.T, V.T]).astype(dtype)
            self.outwards = np.vstack([MV, np.where(above, 0.0, V)]).astype(dtype)
            self.pair = np.empty((sum(shape), thin), dtype)
            self.left = np.hstack([np.empty_like(self.MVk), self.MVk])
            self.right = np.vstack([self.Vk.T, np.empty_like(self.Vk.T)])
        else:
            self.MV, self.V = MV.astype(dtype), V.astype(dtype, "C")
            self.MVt, self.Vt = np.ascontiguousarray(self.MV.T), np.ascontiguousarray(self.V.T)
        self.few, self.kept = few, at.kept[k:].astype(dtype)
        self.divided = _divided(at.values / unit, at.tau / unit, at.kept, at.below, k).astype(dtype)
        self.turned = np.empty_like(self.divided)

    def __call__(self, D: Floats) -> Floats:
        """Return the derivative of S in the direction D."""
        if self.few:
            return self._of_few(D)
        DV = D @ self.V
        inner = self.MVt @ DV
        turned = np.add(inner, inner.T, out=self.turned)
        turned *= self.divided
        DV *= self.kept
        DV += self.MV @ turned
        bent: Floats = DV @ self.Vt
        return bent

    def _of_few(self, D: Floats) -> Floats:
        n, thin = len(D), len(self.kept)
        DV = np.matmul(D, self.Vk, out=self.pair[:n])
        np.matmul(D.T, self.MVk, out=self.pair[n:])
        turned = np.matmul(self.inwards, self.pair, out=self.turned)
        turned *= self.divided
        DV *= self.kept
        both = self.outwards @ turned
        np.add(DV, both[:n], out=self.left[:, :thin])
        self.right[thin:] = both[n:].T
        bent: Floats = self.left @ self.right
        return bent


def _divided(values: Floats, tau: float, h: Floats, below: int, first: int) -> Floats:
    """Return divided differences of h, a row for each value, a column for each from `first` on."""
    squares, slope = values**2, np.zeros(len(h))
    slope[below:] = 0.5 * tau / values[below:] ** 3
    apart: Any = squares[:, None] - squares[first:]
    alike = np.abs(apart) <= 1e-10 * (squares[:, None] + squares[first:])
    apart[alike] = 1.0
    quotient: Any = (h[:, None] - h[first:]) / apart
    quotient[alike] = (0.5 * (slope[:, None] + slope[first:]))[alike]
    return quotient


def _direction(
    at: _Shrunk, held: Floats, free: Floats, damping: float, accuracy: float, max_products: int
) -> Floats:
    """Return `held` and the damped Newton step on free entries, by conjugate gradients."""
    unit = float(np.linalg.norm(at.values))
    much = 4 * len(at.left) > len(at.values) or len(at.values) > _SMALL
    single = much and accuracy >= _SINGLE_ABOVE and at.tau > _SQUARED_ABOVE * unit
    dtype: Any = np.float32 if single else np.float64
    axpy = saxpy if single else daxpy
    derivative, free = _Derivative(at, unit, dtype), free.astype(dtype)
    left = (at.X / unit).astype(dtype) - derivative((held / unit).astype(dtype))
    left *= free
    size = float(np.vdot(left, left))
    if size == 0.0:
        return held
    scale = np.sqrt(size)  # of numbers that may be far below those single precision holds
    left /= dtype(scale)
    step, along = np.zeros_like(left), left.copy()
    flat_step, flat_left, flat_along = step.ravel(), left.ravel(), along.ravel()
    size = 1.0
    for _ in range(max_products):
        if size <= accuracy**2:
            break
        bent = derivative(along)
        bent *= free
        flat_bent = bent.ravel()
        axpy(flat_along, flat_bent, a=damping)
        curvature = float(flat_along @ flat_bent)
        if not curvature > 0.0:  # lost in rounding
            break
        length = size / curvature
        axpy(flat_along, flat_step, a=length)
        axpy(flat_bent, flat_left, a=-length)
        before, size = size, float(flat_left @ flat_left)
        along *= dtype(size / before)
        along += left
    return held + (unit * scale) * step


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
    most = {"max_iter": max_iter, "max_products": max_products}
    if Y.shape[0] < Y.shape[1]:
        found = newton_nuclear_l1(Y.T, tau, gamma, nonneg, Q.T, limit, **most)
        return found._replace(Q=found.Q.T, low_rank=found.low_rank.T, sparse=found.sparse.T)
    low, norm = -np.inf if nonneg else -gamma, float(np.linalg.norm(Y))
    at, count = _Shrunk(Y - Q, tau), 1
    for k in range(max_iter + 1):
        moved = Q + at.X
        clipped = np.clip(moved, low, gamma)
        residual = float(np.linalg.norm(Q - clipped))
        if residual <= limit or k == max_iter:
            break
        if k == 0:  # the slope changes by no more than Q does: a whole step along it is no rise
            Q = clipped
            at, count = _Shrunk(Y - Q, tau), count + 1
            continue
        free = (moved == clipped).astype(float)
        share, wanted = residual / norm, 0.2 * limit / residual
        accuracy = min(0.1, np.sqrt(share))
        if accuracy < 50.0 * wanted:  # the last step: no further than it must
            accuracy = min(0.1, wanted)
        way = _direction(
            at,
            (clipped - Q) * (1.0 - free),
            free,
            min(_MOST_DAMPING, _DAMPING * share),
            accuracy,
            max_products,
        )
        if at.value < 0.5 * (_NEARLY_NOTHING * norm) ** 2:
            # where nothing is to be left, a longer step leaves nothing and is the last
            ahead = np.clip(Q + 1.5 * way, low, gamma)
            then, count = _Shrunk(Y - ahead, tau), count + 1
            if then.value == 0.0:
                Q, at = ahead, then
                continue
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
    return NewtonPoint(Q, at.X, at.left, sparse, float(np.linalg.norm(at.X - sparse)), count)
