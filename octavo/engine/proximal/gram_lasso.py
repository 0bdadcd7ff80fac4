"""Least squares with a sum of absolute values, from second moments alone.

Each problem is ``wᵀGw − 2bᵀw + alpha‖w‖₁``; many share a Gram matrix G, and groups of them have
one each. Regressions whose target moves at every step of an outer method change b only, and the
last answer is a start.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

__all__ = ["gram_lasso", "gram_lasso_kkt"]


SWEEPS = 10  # over coordinates that are not zero, before their equations are solved
LEAPS = 60  # coordinates for which that is cheap


@njit(cache=True)
def _sweep(G, b, half, w, slope, members):
    """Lower the coordinates `members` one by one; `slope` is G w there. Return the largest move."""
    moved = 0.0
    for j in members:
        curve = G[j, j]
        if curve <= 0.0:
            w[j] = 0.0
            continue
        old = w[j]
        pull = b[j] - slope[j] + curve * old  # ½ of the slope that the other coordinates leave
        new = 0.0
        if pull > half:
            # soft threshold at alpha/2: the square has no ½
            new = (pull - half) / curve
        elif pull < -half:
            new = (pull + half) / curve
        step = new - old
        if step != 0.0:
            w[j] = new
            for i in members:
                slope[i] += step * G[j, i]
            moved = max(moved, abs(step) * curve)
    return moved


@njit(cache=True)
def _leap(G, b, half, w, members, L, way):
    """Go to the least value on the members with their signs, as far as no sign changes.

    The factor has a little on its diagonal: along a direction in which G is flat the way then is
    long, and ends where a coordinate vanishes. Returns whether nothing stood in the way. L and
    `way` are room to work in.
    """
    k = members.size
    for a in range(k):
        i = members[a]
        total = b[i] - (half if w[i] > 0.0 else -half)  # G w = b − ½ alpha sign(w) on the members
        for e in range(k):
            total -= G[i, members[e]] * w[members[e]]
        for e in range(a + 1):
            entry = G[i, members[e]] * (1.0 + 1e-11 if e == a else 1.0)
            for f in range(e):
                entry -= L[a, f] * L[e, f]
            if e < a:
                L[a, e] = entry / L[e, e]
            else:
                L[a, a] = np.sqrt(max(entry, 1e-12 * G[i, i]))
        for f in range(a):
            total -= L[a, f] * way[f]
        way[a] = total / L[a, a]
    for a in range(k - 1, -1, -1):
        for f in range(a + 1, k):
            way[a] -= L[f, a] * way[f]
        way[a] /= L[a, a]
    share, first = 1.0, -1
    for a in range(k):
        if way[a] * w[members[a]] < 0.0 and -w[members[a]] / way[a] < share:
            # as far as the first that would change its sign
            share, first = -w[members[a]] / way[a], a
    for a in range(k):
        w[members[a]] = 0.0 if a == first else w[members[a]] + share * way[a]
    return first < 0


@njit(cache=True)
def _not_zero(w, places):
    """Fill `places` with the coordinates that are not zero, and return them."""
    k = 0
    for j in range(w.size):
        if w[j] != 0.0:
            places[k] = j
            k += 1
    return places[:k]


@njit(cache=True)
def _descend(G, B, half, W, tol, max_sweeps, everyone, places, slope, L, way):
    """Lower all coordinates of a column, then those that are not zero, until all rest.

    `everyone` holds all coordinates; the last four are room to work in.
    """
    groups, columns, q = B.shape
    for g in range(groups):
        for c in range(columns):
            w = W[g, c]
            for _ in range(max_sweeps):
                for i in range(q):  # G w, afresh: rounding does not add up
                    slope[i] = 0.0
                for j in _not_zero(w, places):
                    for i in range(q):
                        slope[i] += w[j] * G[g, j, i]
                if _sweep(G[g], B[g, c], half, w, slope, everyone) <= tol:
                    break
                active = _not_zero(w, places)
                for _ in range(SWEEPS):
                    if _sweep(G[g], B[g, c], half, w, slope, active) <= tol:
                        break
                active = _not_zero(w, places)
                while 0 < active.size <= LEAPS:
                    if _leap(G[g], B[g, c], half, w, active, L, way):
                        break
                    active = _not_zero(w, places)


def gram_lasso(
    G: Floats,
    B: Floats,
    alpha: float,
    start: Floats | None = None,
    *,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> Floats:
    """Return W that minimises ``Σ wᵀGw − 2bᵀw + alpha‖w‖₁`` over columns w of W and b of B.

    Parameters
    ----------
    G : ndarray of shape (n_groups, q, q)
        Positive semidefinite.
    B : ndarray of shape (n_groups, q, n_columns)
    alpha : float
        At 0, the answer of least norm is taken from the pseudo-inverse.
    start : ndarray of shape (n_groups, q, n_columns), default=None
    tol : float, default=1e-10
        Largest violation of the optimality conditions, relative to the largest entry of B.
    max_iter : int, default=10000

    Returns
    -------
    W : ndarray of shape (n_groups, q, n_columns)
    """
    G = np.ascontiguousarray(G)
    if alpha == 0.0:
        return np.linalg.pinv(G, rcond=G.shape[-1] * np.finfo(float).eps, hermitian=True) @ B
    turned = np.ascontiguousarray(B.transpose(0, 2, 1))  # columns lie together
    W = np.zeros_like(turned)
    if start is not None:
        W[:] = start.transpose(0, 2, 1)
    scale = float(np.abs(B).max(initial=0.0))
    q, few = G.shape[-1], min(G.shape[-1], LEAPS)
    room = np.empty(q, dtype=np.int64), np.empty(q), np.empty((few, few)), np.empty(few)
    limit = tol * max(scale, 1e-300)
    _descend(G, turned, alpha / 2.0, W, limit, max_iter, np.arange(q), *room)
    return np.ascontiguousarray(W.transpose(0, 2, 1))


def gram_lasso_kkt(G: Floats, B: Floats, alpha: float, W: Floats) -> float:
    """Return how far the steepest subgradient of `gram_lasso`'s problem is from zero.

    Parameters
    ----------
    G, B, W : ndarray
        As for `gram_lasso`.
    alpha : float

    Returns
    -------
    violation : float
    """
    slope = 2.0 * (G @ W - B)
    off = np.where(  # the least subgradient
        W != 0.0, np.abs(slope + alpha * np.sign(W)), np.maximum(np.abs(slope) - alpha, 0.0)
    )
    return float(off.max(initial=0.0))


def _warmup() -> None:
    gram_lasso(np.ones((1, 1, 1)), np.ones((1, 1, 1)), 0.1)
