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


@njit(cache=True)
def _descend(G, B, half, W, tol, max_sweeps):
    """Lower coordinates one by one, columns apart; return the sweeps of the slowest column."""
    groups, q, columns = B.shape
    most = 0
    for g in range(groups):
        for c in range(columns):
            slope = np.empty(q)  # G w of this column
            for j in range(q):
                total = 0.0
                for i in range(q):
                    total += G[g, j, i] * W[g, i, c]
                slope[j] = total
            for sweep in range(max_sweeps):
                moved = 0.0
                for j in range(q):
                    curve = G[g, j, j]
                    if curve <= 0.0:
                        W[g, j, c] = 0.0
                        continue
                    old = W[g, j, c]
                    pull = B[g, j, c] - slope[j] + curve * old
                    new = 0.0
                    if pull > half:
                        new = (pull - half) / curve
                    elif pull < -half:
                        new = (pull + half) / curve
                    step = new - old
                    if step != 0.0:
                        W[g, j, c] = new
                        for i in range(q):
                            slope[i] += step * G[g, i, j]
                        moved = max(moved, abs(step) * curve)
                most = max(most, sweep + 1)
                if moved <= tol:
                    break
    return most


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
    G, B = np.ascontiguousarray(G), np.ascontiguousarray(B)
    if alpha == 0.0:
        return np.linalg.pinv(G, rtol=None, hermitian=True) @ B
    W = np.zeros(B.shape) if start is None else np.array(start, dtype=np.float64, order="C")
    scale = float(np.abs(B).max(initial=0.0))
    _descend(G, B, alpha / 2.0, W, tol * max(scale, 1e-300), max_iter)
    return W


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
    off = np.where(
        W != 0.0, np.abs(slope + alpha * np.sign(W)), np.maximum(np.abs(slope) - alpha, 0.0)
    )
    return float(off.max(initial=0.0))


def _warmup() -> None:
    gram_lasso(np.ones((1, 1, 1)), np.ones((1, 1, 1)), 0.1)
