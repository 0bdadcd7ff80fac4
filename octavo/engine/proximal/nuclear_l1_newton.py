"""Newton's method for the proximal map of the nuclear norm and absolute values together.

The other dual of `nuclear_l1`: minimise ``φ(Q) = ½‖S(Y − Q)‖²`` over entries ``|q| <= γ`` (or
``q <= γ``, where no entry may be negative), S shrinking singular values by τ. Its slope
is ``-X = -S(Y − Q)`` and its curvature the derivative of S, four products of matrices by the
vectors in hand. Each step minimises the damped quadratic model within the bounds, by conjugate
gradients that are cut at the bounds (Dostál and Schöberl 2005, "Minimizing quadratic functions
subject to bound constraints"): a step that only held what the slope takes over a bound would find
the entries at bounds by decompositions, each of which takes as long as fifteen products with the
curvature. Steps are found in single precision, whose products take two thirds of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.copies import copy_table
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

__all__ = ["NewtonPoint", "newton_nuclear_l1"]

_LEAST_STEP = 1e-3
_DAMPING = 0.2  # times the share of the norm that is left, at most
_MOST_DAMPING = 0.1
_NEARLY_NOTHING = 1e-2  # of the norm of Y
_SINGLE = 1e-4  # steps in single precision are no more exact than this
_SMALL = 64  # up to here thin products take as long as whole ones
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


class _Derivative(NamedTuple):
    """The derivative of S at one matrix of norm 1, and room for products with it.

    With h' the divided differences of h between squared singular values, D goes to
    ``(D V h + M V (h' ∘ (A + A'))) V'``, ``A = (M V)' D V``. h' vanishes between values that are
    not kept: where few are, V and MV hold the columns of those alone, and the products are as thin
    as X.
    """

    V: Floats
    MV: Floats
    inwards: Floats
    outwards: Floats
    h: Floats
    divided: Floats
    pair: Floats
    turned: Floats
    both: Floats
    left: Floats
    right: Floats


def _derivative(at: _Shrunk, unit: float, dtype: Any) -> _Derivative:
    """Return the derivative of S at a matrix of norm `unit`."""
    few = 4 * len(at.left) <= len(at.values) > _SMALL
    k = at.below if few else 0
    MV, V = (at.MV / unit).astype(dtype, "C"), at.V.astype(dtype, "C")
    h, n = at.kept[k:].astype(dtype), len(MV)
    divided = _divided(at.values / unit, at.tau / unit, at.kept, at.below, k).astype(dtype)
    if few:
        inwards: Any = np.ascontiguousarray(np.hstack([MV.T, V.T]))
        outwards = np.vstack([MV, V])
        outwards[n:, k:] = 0.0  # what the kept give each other is in the upper half already
        MV, V = np.ascontiguousarray(MV[:, k:]), np.ascontiguousarray(V[:, k:])
        left, right = np.hstack([MV, MV]), np.ascontiguousarray(np.vstack([V.T, V.T]))
    else:
        inwards, outwards = np.ascontiguousarray(MV.T), MV
        left, right = np.empty_like(MV), np.ascontiguousarray(V.T)
    pair, both = np.empty((2, len(outwards), len(h)), dtype)
    turned = np.empty_like(divided)
    return _Derivative(V, MV, inwards, outwards, h, divided, pair, turned, both, left, right)


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


@njit(cache=True)
def _bend(D, at, damping, bent):
    """Fill `bent` with the derivative of S in the direction D, and D `damping` times."""
    V, MV, inwards, outwards, h, divided, pair, turned, both, left, right = at
    (n, m), kept = D.shape, len(h)
    few = kept < m
    np.dot(D, V, pair[:n])
    if few:
        np.dot(D.T, MV, pair[n:])
    np.dot(inwards, pair, turned)
    if few:
        for i in range(m):
            for j in range(kept):
                turned[i, j] *= divided[i, j]
    else:
        for i in range(m):
            for j in range(i + 1):
                total = turned[i, j] + turned[j, i]
                turned[i, j] = total * divided[i, j]
                turned[j, i] = total * divided[j, i]
    np.dot(outwards, turned, both)
    for i in range(n):
        for j in range(kept):
            left[i, j] = pair[i, j] * h[j] + both[i, j]
    if few:
        for i in range(m):
            for j in range(kept):
                right[kept + j, i] = both[n + i, j]
    np.dot(left, right, bent)
    for i in range(n):
        for j in range(m):
            bent[i, j] += damping * D[i, j]


@njit(cache=True, fastmath={"reassoc", "contract"})
def _inner(A, B):
    """Return the sum of products of entries."""
    n, m = A.shape
    total = A[0, 0] - A[0, 0]
    for i in range(n):
        for j in range(m):
            total += A[i, j] * B[i, j]
    return total


@njit(cache=True)
def _descend(way, along, length, low, high):
    """Add `along` `length` times to `way`, cut at the bounds; return whether it was cut."""
    n, m = way.shape
    cut = False
    for i in range(n):
        for j in range(m):
            ahead = way[i, j] + length * along[i, j]
            within = min(max(ahead, low[i, j]), high[i, j])
            cut |= within != ahead
            way[i, j] = within
    return cut


@njit(cache=True)
def _split(way, rest, low, high, inside, outside):
    """Part what is left of the slope into that of entries within bounds and that off them."""
    n, m = way.shape
    for i in range(n):
        for j in range(m):
            x, r = way[i, j], rest[i, j]
            is_low, is_high = x <= low[i, j], x >= high[i, j]
            inside[i, j] = r - r if is_low or is_high else r
            outside[i, j] = r if (is_low and r > 0.0) or (is_high and r < 0.0) else r - r


@njit(cache=True)
def _step_within(at, X, low, high, damping, accuracy, max_products, way, room):
    """Fill `way` with the damped Newton step within bounds.

    Conjugate gradients move the entries within bounds, and begin again wherever they were cut at a
    bound; where the slope off bounds is the larger, a step goes along that. `X` is minus the slope,
    and `room` holds five matrices.
    """
    n, m = way.shape
    real = way.dtype.type
    rest, along, bent, inside, outside = room
    whole, fresh, size = True, True, 1.0  # `rest` from all of `way`; no step before to conjugate
    for i in range(n):
        for j in range(m):
            way[i, j] = along[i, j] = min(max(X[i, j], low[i, j]), high[i, j])
    for _ in range(max_products):
        _bend(along, at, damping, bent)
        if whole:
            for i in range(n):
                for j in range(m):
                    rest[i, j] = X[i, j] - bent[i, j]
            whole, fresh = False, True
        else:
            curvature = _inner(along, bent)
            if not curvature > 0.0:  # lost in rounding
                break
            length = real(_inner(along, rest) / curvature)
            whole = _descend(way, along, length, low, high)
            if whole:
                copy_table(way, along)
                continue
            for i in range(n):
                for j in range(m):
                    rest[i, j] -= length * bent[i, j]
        _split(way, rest, low, high, inside, outside)
        before, size, off = size, _inner(inside, inside), _inner(outside, outside)
        if size + off <= accuracy * accuracy:
            break
        if off > size:
            copy_table(outside, along)
            fresh = True
            continue
        turn = real(0.0) if fresh else real(size / before)
        fresh = False
        for i in range(n):
            for j in range(m):
                along[i, j] = inside[i, j] + turn * along[i, j]


def _step(
    at: _Shrunk,
    Q: Floats,
    bounds: tuple[float, float],
    residual: float,
    damping: float,
    accuracy: float,
    max_products: int,
) -> Floats:
    """Return Q after the damped Newton step within bounds, to a share `accuracy` of `residual`."""
    unit = float(np.linalg.norm(at.values))
    single = at.tau > _SQUARED_ABOVE * unit
    dtype: Any = np.float32 if single else np.float64
    if single:
        accuracy = max(accuracy, _SINGLE)
    low, high = (((bound - Q) / residual).astype(dtype, "C") for bound in bounds)
    X = (at.X / residual).astype(dtype, "C")
    way, room = np.empty_like(X), np.empty((5, *X.shape), dtype)
    derivative = _derivative(at, unit, dtype)
    _step_within(derivative, X, low, high, dtype(damping), accuracy, max_products, way, tuple(room))
    ahead = Q + residual * way.astype(float)
    # exactly at their bounds, where rounding took entries off them
    return np.where(way <= low, bounds[0], np.where(way >= high, bounds[1], ahead))


def _towards_nothing(
    at: _Shrunk,
    Y: Floats,
    Q: Floats,
    bounds: tuple[float, float],
    damping: float,
    max_products: int,
) -> Floats:
    """Return Q after a step that aims as far below the threshold as values lie above it now.

    Where nothing is to be left, steps for the threshold itself leave ever less, and never nothing.
    """
    lower = _Shrunk(Y - Q, max(2.0 * at.tau - at.values[-1], 0.5 * at.tau))
    residual = float(np.linalg.norm(Q - np.clip(Q + lower.X, *bounds)))
    return _step(lower, Q, bounds, residual, damping, 0.1, max_products)


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
        share, wanted = residual / norm, 0.2 * limit / residual
        accuracy = min(0.1, np.sqrt(share))
        if accuracy < 50.0 * wanted:  # the last step: no further than it must
            accuracy = min(0.1, wanted)
        damping = min(_MOST_DAMPING, _DAMPING * share)
        if at.value < 0.5 * (_NEARLY_NOTHING * norm) ** 2:
            ahead = _towards_nothing(at, Y, Q, (low, gamma), damping, max_products)
            then, count = _Shrunk(Y - ahead, tau), count + 2
            if then.value == 0.0:
                Q, at = ahead, then
                continue
        end = _step(at, Q, (low, gamma), residual, damping, accuracy, max_products)
        way = end - Q
        length = 1.0
        while True:
            ahead = end if length == 1.0 else Q + length * way
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


def _warmup() -> None:
    for tau in (0.1, 1e-4):  # in single precision, and in double
        newton_nuclear_l1(np.eye(2), tau, 0.1, False, np.zeros((2, 2)), 0.0, max_iter=1)
