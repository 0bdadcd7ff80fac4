"""Linear features of a graph: ω(A) = [⟨Ω₁, A⟩, …, ⟨Ω_d, A⟩], Eq. (1), and their adjoint.

Features that are a projection of every node's links on r directions stand as a table of nodes
by directions: then one autoregression can serve all nodes.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import real_array
from octavo.engine.spectral.low_rank_sparse import truncated_svd
from octavo.network.autoregressive.snapshots import Snapshot, cumulative, dense, read_snapshot

NAMES = ("svd", "out_degree", "in_degree")


class FeatureMap(Protocol):
    """A linear map from matrices to features, which stand as `units` rows of `width` numbers."""

    units: int
    width: int

    def __call__(self, A: Any) -> Floats:
        """Return ω(A), of shape (units * width,)."""

    def adjoint(self, r: Floats) -> Floats:
        """Return Σ_j r_j Ω_j, of the shape of A."""

    def squared_norm(self) -> float:
        """Return the largest ‖ω(A)‖² of an A of norm 1."""

    def variances(self) -> tuple[float, float]:
        """Return v_op² and v_∞² of Eq. (7)."""


class RowProjection:
    """ω(A) = vec(A Ψ), row by row: each row's links projected on the columns of Ψ (m, r).

    Parameters
    ----------
    psi : ndarray of shape (m, r)
    n : int
        Rows of A.
    """

    def __init__(self, psi: Floats, n: int):
        self.psi, self.units, self.width = psi, n, psi.shape[1]

    def __call__(self, A: Any) -> Floats:
        return np.asarray(A @ self.psi).ravel()  # vec(AΨ), Section 4.2

    def adjoint(self, r: Floats) -> Floats:
        return r.reshape(self.units, self.width) @ self.psi.T

    def squared_norm(self) -> float:
        return float(np.linalg.norm(self.psi, 2) ** 2)

    def variances(self) -> tuple[float, float]:
        # The paper's closed forms (Section 4.2) miss a factor n and a square root; these are (7).
        n, r = self.units, self.width
        widest = max(float((self.psi**2).sum()), n * self.squared_norm())
        return widest / (n * r), float((self.psi**2).sum(axis=1).max()) / (n * r)


class ColumnProjection:
    """ω(A) = vec(Aᵀ Φ): each column's links projected on the columns of Φ (n, r)."""

    def __init__(self, phi: Floats, m: int):
        self.rows = RowProjection(phi, m)
        self.units, self.width = self.rows.units, self.rows.width

    def __call__(self, A: Any) -> Floats:
        return self.rows(A.T)

    def adjoint(self, r: Floats) -> Floats:
        return self.rows.adjoint(r).T

    def squared_norm(self) -> float:
        return self.rows.squared_norm()

    def variances(self) -> tuple[float, float]:
        return self.rows.variances()


class GeneralFeatures:
    """ω(A) = L vec(A) of any linear operator on the entries of A, row by row.

    Parameters
    ----------
    operator : LinearOperator of shape (d, n * m)
    shape : tuple of int
        Of A.
    """

    def __init__(self, operator: LinearOperator, shape: tuple[int, int]):
        self.operator, self.shape = operator, shape
        self.units, self.width = 1, operator.shape[0]

    def __call__(self, A: Any) -> Floats:
        return np.asarray(self.operator.matvec(dense(A).ravel()), dtype=np.float64)

    def adjoint(self, r: Floats) -> Floats:
        return np.asarray(self.operator.rmatvec(r), dtype=np.float64).reshape(self.shape)

    def squared_norm(self) -> float:
        # L Lᵀ is d x d; its norm by powers, with a margin, bounds the step
        r = np.random.RandomState(0).standard_normal(self.width)
        largest = 0.0
        for _ in range(100):
            length = float(np.linalg.norm(r))
            if length == 0.0:
                break
            r = self(self.adjoint(r / length))
            before, largest = largest, float(np.linalg.norm(r))
            if abs(largest - before) <= 1e-6 * largest:
                break
        return 1.01 * largest

    def variances(self) -> tuple[float, float]:
        n, m = self.shape
        left, right, squares = np.zeros((n, n)), np.zeros((m, m)), np.zeros((n, m))
        for j in range(self.width):
            omega = self.adjoint(np.eye(1, self.width, j)[0])
            left += omega @ omega.T
            right += omega.T @ omega
            squares += omega**2
        widest = max(np.linalg.norm(left, 2), np.linalg.norm(right, 2))  # v_op² and v_∞² of Eq. (7)
        return float(widest) / self.width, float(squares.max()) / self.width


def leading_directions(total: Snapshot, rank: int, rng: np.random.RandomState) -> Floats:
    """Return the first right singular vectors of a matrix; the largest entry of each is positive.

    Parameters
    ----------
    total : ndarray or csr_array of shape (n, m)
    rank : int
        At most min(n, m) are returned.
    rng : RandomState

    Returns
    -------
    V : ndarray of shape (m, r)
    """
    rank = min(rank, *total.shape)
    if max(total.shape) <= 500:
        V = np.linalg.svd(dense(total), full_matrices=False)[2][:rank].T
    else:
        V = truncated_svd(aslinearoperator(total), rank, tol=1e-8, rng=rng).V
    largest = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    return V * np.where(largest < 0.0, -1.0, 1.0)


def read_feature_map(
    feature_map: Any, matrices: list[Snapshot], rank: int, rng: np.random.RandomState
) -> FeatureMap:
    """Return a feature map from what a user may give.

    Parameters
    ----------
    feature_map : {"svd", "out_degree", "in_degree"}, array, LinearOperator or list of matrices
        An array of shape (m, r) is Ψ; of shape (d, n, m), or a list of d matrices, the Ω_j. A
        LinearOperator has shape (d, n * m) and acts on the entries of A row by row.
    matrices : list of snapshots
    rank : int
        Directions of "svd".
    rng : RandomState

    Returns
    -------
    FeatureMap
    """
    n, m = matrices[0].shape
    if isinstance(feature_map, str):
        if feature_map not in NAMES:
            raise ValueError(
                f"feature_map must be one of {', '.join(map(repr, NAMES))}, an array of shape "
                f"(m, r), a LinearOperator or a list of matrices; got {feature_map!r}."
            )
        if feature_map == "svd":
            return RowProjection(leading_directions(cumulative(matrices), rank, rng), n)
        if feature_map == "out_degree":
            return RowProjection(np.ones((m, 1)), n)
        return ColumnProjection(np.ones((n, 1)), m)
    if isinstance(feature_map, LinearOperator):
        if feature_map.shape[1] != n * m:
            raise ValueError(
                f"A LinearOperator of features must have shape (d, {n * m}), the entries of a "
                f"snapshot; got {feature_map.shape}."
            )
        return GeneralFeatures(feature_map, (n, m))
    if isinstance(feature_map, np.ndarray) and feature_map.ndim == 2:
        psi = real_array(feature_map, "feature_map")
        if psi.shape[0] != m or not psi.shape[1]:
            raise ValueError(
                f"feature_map must have a row for each of the {m} columns of a snapshot; got "
                f"shape {psi.shape}."
            )
        return RowProjection(psi, n)
    try:
        designs = list(feature_map)
    except TypeError:
        raise ValueError(
            "feature_map must be a name, an array of shape (m, r), a LinearOperator or a list of "
            f"matrices; got {type(feature_map).__name__}."
        ) from None
    rows = [read_snapshot(design, f"Feature {j}") for j, design in enumerate(designs)]
    if not rows or any(row.shape != (n, m) for row in rows):
        raise ValueError(
            f"feature_map must list one matrix or more of the snapshots' shape {(n, m)}; got "
            f"{[row.shape for row in rows[:5]]}."
        )
    stacked = sp.vstack([sp.csr_array(row).reshape((1, n * m)) for row in rows]).tocsr()
    return GeneralFeatures(aslinearoperator(stacked), (n, m))
