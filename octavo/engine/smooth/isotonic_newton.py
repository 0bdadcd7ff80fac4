"""Ridge regression up to an unknown order-preserving correction, by a semismooth Newton method.

    min_w  ½‖w‖² + ½C dist²(Φw - t, K)

K is the cone of vectors that do not fall along a chain of levels, nor from a level to the leaves
that hang on it: events in the order of their times, with censored rows as leaves. The projection
onto K is isotonic regression, the gradient w + CΦᵀ(x - P(x)), and P is piecewise linear (it takes
means of blocks), so that Newton's method ends after finitely many steps at the exact solution.
Rows of one level are free among themselves: the projection sorts them (J. B. Kruskal 1964, the
primary approach to ties).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.projections.isotonic import isotonic_forest

ARMIJO = 1e-4


class ChainWithLeaves:
    """Levels in a row, each a set of rows, with leaves that lie above a level.

    Parameters
    ----------
    level : ndarray of int
        The level of each row of the chain; -1 for a leaf.
    above : ndarray of int
        For a leaf, the level that it lies above; -1 for none.
    """

    def __init__(self, level: Indices, above: Indices) -> None:
        self.n = len(level)
        self.chain = np.flatnonzero(level >= 0)
        self.leaves = np.flatnonzero((level < 0) & (above >= 0))
        self.level, self.above = level[self.chain], above[self.leaves]
        self.order = np.argsort(self.level, kind="stable")
        sizes = np.bincount(self.level, minlength=int(self.level.max(initial=-1)) + 1)
        self.ends = np.cumsum(sizes) - 1  # place in the chain where each level ends
        self.tied = bool((sizes > 1).any())
        self._parents = None if self.tied else self._link(self.order)

    def _link(self, order: Indices) -> Indices:
        rows = self.chain[order]
        parents = np.full(self.n, -1)
        parents[rows[1:]] = rows[:-1]
        parents[self.leaves] = rows[self.ends[self.above]]
        return parents

    def parents(self, x: Floats) -> Indices:
        """Return the forest that holds x's projection: rows of one level sorted by x."""
        if self._parents is not None:
            return self._parents
        return self._link(np.lexsort((x[self.chain], self.level)))


class IsotonicRidge(NamedTuple):
    """The solution; the gap is ½‖gradient‖², because the projection solves its own dual."""

    w: Floats
    errors: Floats
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool
    reason: str


def isotonic_ridge(
    features: Floats,
    target: Floats,
    order: ChainWithLeaves,
    C: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    on_step: Callable[[], bool] | None = None,
) -> IsotonicRidge:
    """Minimise ½‖w‖² + ½C dist²(Φw - target, K).

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Φ.
    target : ndarray of shape (n,)
        t.
    order : ChainWithLeaves
        K.
    C : float
        Weight of the distance.
    tol : float, default=1e-8
        The solver ends when the duality gap is below this part of the objective.
    max_iter : int, default=100
        Steps at most.
    on_step : callable, optional
        Called after each step; returns whether to stop.

    Returns
    -------
    IsotonicRidge
        With ``errors`` e = P(x) - x, the least that makes x + e lie in K.
    """
    gram = features.T @ features
    n, d = features.shape

    def look(w: Floats) -> tuple[float, Floats, Floats, Indices]:
        x = features @ w - target
        fit = isotonic_forest(x, order.parents(x))
        errors = fit.values - x
        value = 0.5 * float(w @ w) + 0.5 * C * float(errors @ errors)
        # the envelope: dist² has the gradient 2(x - P(x))
        return value, w - C * (features.T @ errors), errors, fit.blocks

    w = np.zeros(d)
    value, gradient, errors, blocks = look(w)
    reason, n_iter = "max_iter", 0
    for n_iter in range(max_iter + 1):
        gap = 0.5 * float(gradient @ gradient)
        if gap <= tol * max(value, 1e-300):
            reason = "gap"
            break
        if n_iter == max_iter:
            break
        _, place = np.unique(blocks, return_inverse=True)
        size = np.bincount(place)
        sums = sp.csr_matrix((np.ones(n), (place, np.arange(n)))) @ features
        # I - P' with P' the means of blocks, so that ΦᵀP'Φ is the sum of s sᵀ / size over blocks.
        H = C * (gram - sums.T @ (sums / size[:, None]))
        H[np.diag_indices_from(H)] += 1.0
        move = -cho_solve(cho_factor(H, check_finite=False), gradient, check_finite=False)
        slope, step = float(gradient @ move), 1.0
        while step > 1e-10:
            trial = look(w + step * move)
            if trial[0] <= value + ARMIJO * step * slope + 1e-15 * abs(value):
                break
            step *= 0.5
        else:
            reason = "rounding"
            break
        w = w + step * move
        value, gradient, errors, blocks = trial
        if on_step is not None and on_step():
            reason = "callback"
            break
    return IsotonicRidge(w, errors, value, gap, n_iter, reason == "gap", reason)
