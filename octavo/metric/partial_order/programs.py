"""The convex programs of partial order embedding, behind the few maps that solvers need.

With factors K^p = ΨΨᵀ and W̃ = Ψ⁺KWKΨ⁺ᵀ the program of Algorithm 4 is

    min  Σ_p tr(W̃^p) + (β/|C|) Σ_c max(0, 1 + s_c),   s = A W̃,   W̃^p ⪰ 0,

s_c = d(i, j) - d(k, l) for distances d(i, j) = Σ_p (ψ_i - ψ_j)ᵀ W̃^p (ψ_i - ψ_j), and features X in
place of Ψ give Algorithm 2. Diagonal matrices are a linear program of the same form: one weight a
column of a table. Variables are flat vectors, so that solvers see neither.

The dual is  max Σ η_c  subject to  0 ≤ η_c ≤ β/|C|  and  I + Aᵀη ⪰ 0.  Any η of the box becomes
feasible when it is divided by minus the lowest eigenvalue of Aᵀη where that is above one, because
Σ η_c shrinks with it: a lower bound for any solver.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Algorithms 2 to 4
and Appendix B, whose gradient lacks the factor β/|C|.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.metric.partial_order.comparisons import PairList


class Solution(NamedTuple):
    """A feasible point, its value, the best lower bound, multipliers and the number of steps."""

    weights: Floats
    objective: float
    duality_gap: float
    multipliers: Floats
    n_iter: int
    converged: bool


class PairProgram:
    """What full and diagonal programs share: comparisons, losses and bounds.

    Parameters
    ----------
    n_items : int
        Items.
    compared : PairList
        Distinct pairs, and the closer and the farther one of each comparison.
    beta : float
        Weight of the mean hinge loss.
    """

    size: int  # of the variable

    def __init__(self, n_items: int, compared: PairList, beta: float) -> None:
        self.n_items, self.compared, self.beta = n_items, compared, float(beta)
        self.n_comparisons = len(compared.closer)
        self.slope = self.beta / self.n_comparisons

    # What the two kinds of programs give.

    def pair_distances(self, W: Floats) -> Floats:
        """Return the squared distance of every pair under a symmetric W."""
        raise NotImplementedError

    def pull_back(self, M: Any) -> Floats:
        """Return ΨᵀMΨ, or its diagonal, for a weighted Laplacian M of the items."""
        raise NotImplementedError

    def shrink(self, V: Floats, step: float) -> Floats:
        """Return the feasible W nearest to V less `step` times the identity."""
        raise NotImplementedError

    def trace(self, W: Floats) -> float:
        """Return the regulariser."""
        raise NotImplementedError

    def lowest(self, G: Floats) -> float:
        """Return the lowest eigenvalue."""
        raise NotImplementedError

    # What follows from them.

    def differences(self, W: Floats) -> Floats:
        """Return s = A W: how much closer the closer pair is, negative where it is."""
        distances = self.pair_distances(W)
        # s + 1 > 0 is a violated margin of Eq. (11)
        return distances[self.compared.closer] - distances[self.compared.farther]

    def adjoint(self, eta: Floats) -> Floats:
        """Return Aᵀη = Ψᵀ (Σ_c η_c (E_ij - E_kl)) Ψ."""
        m = len(self.compared.pairs)
        weight = np.bincount(self.compared.closer, eta, m)
        weight -= np.bincount(self.compared.farther, eta, m)
        i, j = self.compared.pairs.T
        half = sp.csr_array((weight, (i, j)), shape=(self.n_items, self.n_items))
        degree = np.bincount(i, weight, self.n_items) + np.bincount(j, weight, self.n_items)
        # E = (e_i - e_j)(e_i - e_j)ᵀ, summed up
        return self.pull_back(sp.csr_array(sp.diags_array(degree) - half - half.T))

    def value(self, W: Floats, s: Floats | None = None) -> float:
        """Return the objective."""
        s = self.differences(W) if s is None else s
        return self.trace(W) + self.slope * float(np.maximum(1.0 + s, 0.0).sum())  # Algorithm 4

    def stretched(self, W: Floats) -> tuple[Floats, float]:
        """Return the best multiple of a feasible W, and its objective."""
        s, trace = self.differences(W), self.trace(W)
        if not trace > 0.0:
            return np.zeros_like(W), self.beta
        falling = np.flatnonzero(s < 0.0)
        # d/dα of α tr + slope Σ max(0, 1 + α s): terms with s < 0 stop at α = -1/s.
        ends = -1.0 / s[falling]
        order = np.argsort(ends)
        slopes = trace + self.slope * (float(s.sum()) - np.cumsum(s[falling][order]))
        first = trace + self.slope * float(s.sum())
        if first >= 0.0:
            return np.zeros_like(W), self.beta
        # Where the slope in α changes its sign
        best = float(ends[order[int(np.argmax(slopes >= 0.0))]])
        return best * W, self.value(best * W, best * s)

    def bound(self, eta: Floats) -> tuple[Floats, float]:
        """Return multipliers scaled to feasibility, and the lower bound that they prove."""
        eta = np.clip(eta, 0.0, self.slope)
        low = self.lowest(self.adjoint(eta))  # K^p + K^p (Σ η (E_ij - E_kl)) K^p ⪰ 0, in factors
        if low < -1.0:
            eta = eta / -low  # η is scaled until it is feasible
        return eta, float(eta.sum())  # Σ η, the dual's value


class FullProgram(PairProgram):
    """One positive semidefinite matrix a view.

    Parameters
    ----------
    factors : sequence of ndarray of shape (n_items, r_p)
        Ψ of each view; features for a linear one.
    compared : PairList
        As for `PairProgram`.
    beta : float
        As for `PairProgram`.
    """

    def __init__(self, factors: Sequence[Floats], compared: PairList, beta: float) -> None:
        super().__init__(len(factors[0]), compared, beta)
        self.factors = [np.ascontiguousarray(factor) for factor in factors]
        ranks = [factor.shape[1] for factor in factors]
        self.ends = np.cumsum([0, *(r * r for r in ranks)])
        self.size = int(self.ends[-1])
        self.ranks = ranks

    def split(self, W: Floats) -> list[Floats]:
        """Return the matrices of a flat variable, as views of it."""
        return [
            W[a:b].reshape(r, r)
            for a, b, r in zip(self.ends, self.ends[1:], self.ranks, strict=False)
        ]

    def _joined(self, matrices: Sequence[Floats]) -> Floats:
        return np.concatenate([M.ravel() for M in matrices])

    def pair_distances(self, W: Floats) -> Floats:
        """Return Σ_p (ψ_i - ψ_j)ᵀ W̃^p (ψ_i - ψ_j)."""
        inner = np.zeros((self.n_items, self.n_items))
        for factor, M in zip(self.factors, self.split(W), strict=True):
            if M.any():
                inner += (factor @ M) @ factor.T
        i, j = self.compared.pairs.T
        own = np.diagonal(inner)
        return own[i] + own[j] - inner[i, j] - inner[j, i]  # Eq. (10)

    def pull_back(self, M: Any) -> Floats:
        """Return ΨᵀMΨ of every view."""
        return self._joined([factor.T @ (M @ factor) for factor in self.factors])

    def shrink(self, V: Floats, step: float) -> Floats:
        """Return V - step I with eigenvalues below zero set to zero, view by view."""
        shrunk = np.zeros_like(V)
        for M, out in zip(self.split(V), self.split(shrunk), strict=True):
            if np.trace(M) <= 0.0 and np.linalg.norm(M) <= step:
                continue
            values, vectors = _above(M, step)  # the projection of Appendix B
            if len(values):
                root = vectors * np.sqrt(values - step)
                np.matmul(root, root.T, out=out)
        return shrunk

    def trace(self, W: Floats) -> float:
        """Return Σ tr W̃^p."""
        return float(sum(np.trace(M) for M in self.split(W)))

    def lowest(self, G: Floats) -> float:
        """Return the lowest eigenvalue over all views."""
        lows = [
            float(eigh(M, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0])
            for M in self.split(G)
            if len(M)
        ]
        return min(lows, default=0.0)


def _above(M: Floats, step: float) -> tuple[Floats, Floats]:
    """Return the eigenpairs above a threshold."""
    if len(M) < 25:
        values, vectors = eigh(M, check_finite=False)
        kept = values > step
        return values[kept], vectors[:, kept]
    return eigh(M, subset_by_value=(step, np.inf), driver="evr", check_finite=False)


class DiagonalProgram(PairProgram):
    """One weight a column of a table: landmarks of kernels, or features.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_columns)
        Columns K^p_t / √K^p_tt of all views side by side, or features.
    compared : PairList
        As for `PairProgram`.
    beta : float
        As for `PairProgram`.
    """

    def __init__(self, table: Floats, compared: PairList, beta: float) -> None:
        super().__init__(len(table), compared, beta)
        self.table = np.ascontiguousarray(table)
        self.size = table.shape[1]

    def columns(self, places: Indices) -> Floats:
        """Return columns of A: differences of squared distances, for some weights."""
        i, j = self.compared.pairs.T
        some = self.table[:, places]
        squares = (some[i] - some[j]) ** 2
        return squares[self.compared.closer] - squares[self.compared.farther]

    def pair_distances(self, W: Floats) -> Floats:
        """Return Σ_t w_t (b_it - b_jt)²."""
        used = np.flatnonzero(W)
        some = self.table[:, used]
        inner = (some * W[used]) @ some.T
        i, j = self.compared.pairs.T
        own = np.diagonal(inner)
        return own[i] + own[j] - 2.0 * inner[i, j]

    def pull_back(self, M: Any) -> Floats:
        """Return the diagonal of BᵀMB."""
        return np.einsum("it,it->t", self.table, M @ self.table)

    def shrink(self, V: Floats, step: float) -> Floats:
        """Return V - step, negative entries set to zero."""
        return np.maximum(V - step, 0.0)  # Section 4.4

    def trace(self, W: Floats) -> float:
        """Return the sum of the weights."""
        return float(W.sum())

    def lowest(self, G: Floats) -> float:
        """Return the lowest entry."""
        return float(G.min(initial=0.0))
