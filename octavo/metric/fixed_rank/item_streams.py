"""The same mini-batch steps in coordinates of the items, for pairs of few items in many dimensions.

Every gradient is a combination of items, so that a point is G₀ + XᵀB, and XG is all that a step
reads: it changes by XXᵀ times the few coefficients of a batch. A step on b pairs of n items costs
O(n b r) and never touches the d features.

Reference: Meyer, Bonnabel and Sepulchre (2011), Eqs. (9) and (20).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.linalg.pair_differences import PairDifferences
from octavo.engine.manifolds.fixed_rank import polar_point
from octavo.metric.fixed_rank.losses import residuals
from octavo.metric.fixed_rank.streams import bounded_step

MOST_ITEMS = 4096  # whose Gram matrix is kept


def fits_items(rows: Any) -> bool:
    """Tell whether items are fewer than features and pairs, and their Gram matrix is small."""
    if not isinstance(rows, PairDifferences) or rows.X is None or sp.issparse(rows.X):
        return False
    return rows.n_items <= min(MOST_ITEMS, rows.shape[1], rows.shape[0])


class ItemPairs:
    """Pairs of items that are known by their Gram matrix."""

    def __init__(self, X: Floats, pairs: Indices, gram: Floats) -> None:
        self.X, self.pairs, self.gram = X, pairs, gram

    def take(self, rows: Any) -> ItemPairs:
        """Return some of the pairs."""
        return ItemPairs(self.X, self.pairs[rows], self.gram)


def item_pairs(rows: PairDifferences) -> ItemPairs:
    """Return the same pairs, with the Gram matrix of their items."""
    X: Any = rows.X
    return ItemPairs(X, rows.pairs, X @ X.T)


def pulls(rows: ItemPairs, e: Floats, Q: Floats) -> tuple[Indices, Floats, Floats]:
    """Return the items of pairs that are off, and C and XXᵀC for M·(XᵀQ) = XᵀC on a batch."""
    off = np.flatnonzero(e)  # a bound that holds pulls at nothing
    V = e[off, None] * Q[off]
    touched, C = rows.pairs[off].T.ravel(), np.vstack([V, -V])
    return touched, C, (C.T @ rows.gram[touched]).T  # rows of the Gram matrix are contiguous


class FlatItemStream:
    """Online descent on G = G₀ + XᵀB, Eq. (9)."""

    def __init__(self, X: Floats, G: Floats, B: Floats, XG: Floats) -> None:
        self.X, self.start, self.B, self.XG = X, G, B, XG

    def copy(self) -> FlatItemStream:
        """Return another that stands here."""
        return FlatItemStream(self.X, self.start, self.B.copy(), self.XG)

    def squared(self, rows: ItemPairs) -> Floats:
        """Return the squared distances of pairs."""
        P = self.XG[rows.pairs[:, 0]] - self.XG[rows.pairs[:, 1]]
        return np.einsum("ij,ij->i", P, P)

    def aim(self, rows: ItemPairs, y: Floats, relation: Ints | None) -> float:
        """Take the gradient XᵀC on a batch; return its norm."""
        P = self.XG[rows.pairs[:, 0]] - self.XG[rows.pairs[:, 1]]
        e = residuals(np.einsum("ij,ij->i", P, P), y, relation)
        self._touched, self._C, self._XC = pulls(rows, (2.0 / len(y)) * e, P)  # 2/p Σ e a aᵀG
        return float(np.sqrt(max(float(np.sum(self._C * self._XC[self._touched])), 0.0)))

    def move(self, step: float) -> None:
        """Go against the gradient."""
        np.subtract.at(self.B, self._touched, step * self._C)  # Eq. (9)
        self.XG = self.XG - step * self._XC

    def size(self) -> float:
        """Return ‖G‖²."""
        return float(np.sum(self.factor() ** 2))

    def factor(self) -> Floats:
        """Return G."""
        return self.start + self.X.T @ self.B


class PolarItemStream:
    """Online descent on U = U₀A + XᵀB and a form within it, Eq. (20)."""

    def __init__(
        self, X: Floats, U: Floats, R: Floats, lam: float, A: Any, B: Any, XU: Any
    ) -> None:
        self.X, self.start, self.R, self.lam = X, U, R, lam
        self.A, self.B, self.XU = A, B, XU

    def copy(self) -> PolarItemStream:
        """Return another that stands here."""
        held = (self.A, self.B, self.XU)
        return PolarItemStream(self.X, self.start, self.R, self.lam, *held)

    def squared(self, rows: ItemPairs) -> Floats:
        """Return the squared distances of pairs."""
        P = (self.XU[rows.pairs[:, 0]] - self.XU[rows.pairs[:, 1]]) @ self.R
        return np.einsum("ij,ij->i", P, P)

    def aim(self, rows: ItemPairs, y: Floats, relation: Ints | None) -> float:
        """Take the gradient on a batch, MU = XᵀC; return its norm."""
        Q = self.XU[rows.pairs[:, 0]] - self.XU[rows.pairs[:, 1]]
        P = Q @ self.R
        e = residuals(np.einsum("ij,ij->i", P, P), y, relation) / len(y)
        self._form = (1.0 - self.lam) * (P.T @ (e[:, None] * P))  # RᵀUᵀMUR
        # Eq. (17), the form's part
        slope = float(np.sum(self._form**2)) / max(1.0 - self.lam, 1e-300)
        self._C = None
        if self.lam > 0.0:
            self._touched, self._C, self._XC = pulls(rows, e, Q)
            self._UMU, self._S = Q.T @ (e[:, None] * Q), self.R @ self.R.T
            # The second factor of MU - UUᵀMU is orthogonal to U
            inner = self._C.T @ self._XC[self._touched] - self._UMU.T @ self._UMU
            self._square = self._S @ inner @ self._S  # of (MU - UUᵀMU)RRᵀ
            # Eq. (17), the subspace's part
            slope += 4.0 * self.lam * max(float(np.trace(self._square)), 0.0)
        return float(np.sqrt(slope))

    def move(self, step: float) -> None:
        """Go against the gradient; an exponent beyond e^10 shortens the step."""
        step, turn = bounded_step(self._form, step)  # Eq. (20), in coordinates of the items
        self.R = self.R @ turn
        if self._C is None:
            return
        along = 2.0 * self.lam * step
        # I + s² ξᵀξ, for Uᵀξ = 0
        square = np.eye(len(self.R)) + along**2 * 0.5 * (self._square + self._square.T)
        back = np.linalg.inv(np.linalg.cholesky(square).T)  # qf(U - sξ) = (U - sξ) T⁻¹
        # U of qf, from U (I + 2λs UᵀMU RRᵀ) - 2λs MU RRᵀ
        kept = (np.eye(len(self.R)) + along * self._UMU @ self._S) @ back
        pulled = along * self._S @ back
        self.A, self.XU = self.A @ kept, self.XU @ kept - self._XC @ pulled
        self.B = self.B @ kept
        np.subtract.at(self.B, self._touched, self._C @ pulled)

    def size(self) -> float:
        """Return 1: polar steps need no guard."""
        return 1.0

    def factor(self) -> Floats:
        """Return UR."""
        return (self.start @ self.A + self.X.T @ self.B) @ self.R


def start_item_stream(G: Floats, X: Any, geometry: str, lam: float) -> Any:
    """Return a stream that stands at GGᵀ."""
    r = G.shape[1]
    if geometry == "flat":
        return FlatItemStream(X, G, np.zeros((len(X), r)), X @ G)
    U, R = polar_point(G)
    return PolarItemStream(X, U, R, lam, np.eye(r), np.zeros((len(X), r)), X @ U)
