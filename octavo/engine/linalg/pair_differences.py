"""Products with rows, and with differences of rows that are never formed.

Whoever learns from pairs of items (a metric, an embedding, a map) multiplies the table of
differences x_i - x_j, one row a pair, with thin matrices. That table is the incidence matrix of the
pairs times the table of items: with m pairs of n items the product costs O(n d r + m r) here, and
O(m d r) when differences are formed. `TableRows` has the same face for rows that stand for
themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from octavo.engine.estimators.arrays import Floats, Indices

_FEW = 256  # pairs whose differences are cheaper to form than to avoid
_EXACT = 600  # the smaller side up to which principal directions come from a full decomposition


class TableRows:
    """The rows of a table, behind products alone.

    Parameters
    ----------
    A : {ndarray, sparse matrix} of shape (m, d)
        The rows.
    """

    def __init__(self, A: Any) -> None:
        self.A = A
        self.shape: tuple[int, int] = A.shape

    def dot(self, G: Floats) -> Floats:
        """Return A G: (m, r)."""
        return np.asarray(self.A @ G)

    def transposed_dot(self, V: Floats) -> Floats:
        """Return Aᵀ V: (d, r)."""
        return np.asarray(self.A.T @ V)

    def take(self, rows: Indices | slice) -> TableRows:
        """Return some of the rows."""
        return TableRows(self.A[rows])

    def squared_lengths(self) -> Floats:
        """Return the squared length of every row."""
        if sp.issparse(self.A):
            return np.asarray(self.A.multiply(self.A).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", self.A, self.A)

    def principal_directions(self, r: int) -> Floats:
        """Return the leading r eigenvectors of AᵀA: (d, r)."""
        return principal_directions(self.A, r)


class PairDifferences:
    """The rows x_i - x_j of pairs of items, behind products alone.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d) or int
        The items, or their number: item i is then the i-th unit vector.
    pairs : ndarray of shape (m, 2)
        Positions of the items.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.linalg.pair_differences import PairDifferences
    >>> rows = PairDifferences(np.array([[1.0, 2.0], [4.0, 0.0]]), np.array([[0, 1]]))
    >>> rows.dot(np.eye(2)).tolist()
    [[-3.0, 2.0]]
    """

    def __init__(self, X: Any, pairs: Indices) -> None:
        self.X = None if isinstance(X, (int, np.integer)) else X
        self.pairs = np.asarray(pairs, dtype=np.intp)
        n, d = (X, X) if self.X is None else X.shape
        self.n_items, self.shape = n, (len(self.pairs), d)
        m = self.shape[0]
        ones = np.repeat(np.array([[1.0, -1.0]]), m, axis=0).ravel()
        self._incidence = sp.csr_array(
            (ones, self.pairs.ravel(), np.arange(0, 2 * m + 1, 2)), shape=(m, n)
        ).T.tocsr()  # (n, m): sums over pairs run along rows

    def dot(self, G: Floats) -> Floats:
        """Return the rows (x_i - x_j)ᵀ G: (m, r)."""
        P = G if self.X is None else np.asarray(self.X @ G)
        return P[self.pairs[:, 0]] - P[self.pairs[:, 1]]

    def transposed_dot(self, V: Floats) -> Floats:
        """Return the sum over pairs of (x_i - x_j) v_pᵀ: (d, r)."""
        sums = np.asarray(self._incidence @ V)  # Σ (x_i − x_j)v' = Xᵀ(incidence V)
        return sums if self.X is None else np.asarray(self.X.T @ sums)

    def take(self, rows: Indices | slice) -> TableRows | PairDifferences:
        """Return some of the pairs: differences where they are few, else the items they name."""
        pairs = self.pairs[rows]
        if self.X is None:
            return PairDifferences(self.n_items, pairs)
        if len(pairs) <= _FEW:
            return TableRows(self.X[pairs[:, 0]] - self.X[pairs[:, 1]])
        items, places = np.unique(pairs, return_inverse=True)
        return PairDifferences(self.X[items], places.reshape(pairs.shape))

    def squared_lengths(self) -> Floats:
        """Return ‖x_i - x_j‖² of every pair, in blocks where the items are a table."""
        if self.X is None:
            return np.where(self.pairs[:, 0] == self.pairs[:, 1], 0.0, 2.0)
        lengths = np.empty(self.shape[0])
        block = max(1, 2**22 // max(1, self.shape[1]))
        for start in range(0, self.shape[0], block):
            i, j = self.pairs[start : start + block].T
            lengths[start : start + block] = TableRows(self.X[i] - self.X[j]).squared_lengths()
        return lengths

    def principal_directions(self, r: int) -> Floats:
        """Return the leading r principal directions of the items, less their mean: (d, r)."""
        if self.X is None:
            return np.eye(self.n_items)[:, :r]
        return principal_directions(self.X, r, center=True)


def _orthonormal(V: Floats, r: int) -> Floats:
    """Return V with columns of length zero, or lost to rounding, replaced: (d, r), orthonormal."""
    d = V.shape[0]
    if V.shape[1] < r:
        V = np.hstack([V, np.zeros((d, r - V.shape[1]))])
    weak = np.linalg.norm(V, axis=0) < 0.5
    if weak.any():  # fewer directions than asked for: unit vectors that are farthest from the rest
        V = V.copy()
        for j in np.flatnonzero(weak):
            others = V[:, np.flatnonzero(~weak | (np.arange(r) < j))]
            axis = int(np.argmin(np.einsum("ij,ij->i", others, others)))
            V[:, j] = -others @ others[axis]
            V[axis, j] += 1.0
            V[:, j] /= np.linalg.norm(V[:, j])
    return np.linalg.qr(V)[0]


def principal_directions(X: Any, r: int, *, center: bool = False) -> Floats:
    """Return the leading r right singular vectors of a table: (d, r).

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        The table. A sparse one is never centred in place.
    r : int
        How many, at most d; where the table has fewer, unit vectors are added.
    center : bool, default=False
        Whether column means are taken away first.

    Returns
    -------
    ndarray of shape (d, r)
        Orthonormal columns. Exact up to 600 rows or columns, by random projections with seven
        power iterations beyond.
    """
    n, d = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(d)
    if min(n, d) > _EXACT and r < min(n, d) // 4:
        _, values, Vt = _randomized(X, mean, r)
        V = np.where(values > 1e-12 * max(values[0], 1e-300), Vt.T, 0.0)
        return _orthonormal(V, r)
    if d <= n:
        if sp.issparse(X):
            gram = (X.T @ X).toarray() - n * np.outer(mean, mean)
        else:
            centred = X - mean if center else X
            gram = centred.T @ centred
        return np.ascontiguousarray(np.linalg.eigh(gram)[1][:, ::-1][:, :r])
    dense = (X.toarray() if sp.issparse(X) else X) - mean
    values, left = np.linalg.eigh(dense @ dense.T)
    values, left = values[::-1][:r], left[:, ::-1][:, :r]
    usable = values > 1e-13 * max(values[0], 1e-300)
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    return _orthonormal((dense.T @ left) * scale, r)


def _randomized(X: Any, mean: Floats, r: int) -> tuple[Floats, Floats, Floats]:
    if not sp.issparse(X):
        return randomized_svd(X - mean, r, n_iter=7, random_state=0)
    n, d = X.shape
    Q = np.random.RandomState(0).standard_normal((d, min(r + 10, d)))
    for _ in range(8):
        P = np.linalg.qr(np.asarray(X @ Q) - mean @ Q)[0]
        Q = np.linalg.qr(np.asarray(X.T @ P) - np.outer(mean, P.sum(axis=0)))[0]
    _, values, Vt = np.linalg.svd(np.asarray(X @ Q) - mean @ Q, full_matrices=False)
    return P, values[:r], (Vt @ Q.T)[:r]
