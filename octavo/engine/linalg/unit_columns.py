"""Columns of a table, centred and of length one, dense or sparse, behind the same questions.

Sparse entries are never centred: the means stay beside them and are subtracted from products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import EPS


class UnitColumns:
    """The columns of X less their means, divided by their lengths.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, p)
        Finite numbers. Huge and tiny columns are scaled before anything is squared.

    Attributes
    ----------
    mean, scale : ndarray of shape (p,)
        Column j is mean[j] + scale[j] times the unit column; scale is 1 where it is not usable.
    usable : ndarray of shape (p,)
        Whether a column is not constant, up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.linalg.unit_columns import UnitColumns
    >>> UnitColumns(np.array([[3.0, 1.0], [5.0, 1.0]])).column(0).round(3)
    array([-0.707,  0.707])
    """

    def __init__(self, X: Any) -> None:
        self.n, self.p = X.shape
        self._Z: Any
        self.sparse = sp.issparse(X)
        (self._from_sparse if self.sparse else self._from_dense)(X)

    def _from_dense(self, X: Floats) -> None:
        Z = np.array(X.T, dtype=np.float64, order="C")  # a row is a column of X
        peak = np.maximum(Z.max(axis=1), -Z.min(axis=1))
        peak[peak == 0.0] = 1.0
        Z /= peak[:, None]
        mean = np.zeros(self.p)
        for _ in range(2):  # the second time for what the first one rounded
            shift = Z.mean(axis=1)
            Z -= shift[:, None]
            mean += shift
        self._finish(np.sqrt(np.einsum("jn,jn->j", Z, Z)), mean, peak)
        Z /= self._length[:, None]
        Z[~self.usable] = 0.0
        self._Z = Z

    def _from_sparse(self, X: Any) -> None:
        Z = sp.csc_array(X, dtype=np.float64, copy=True)
        peak = np.asarray(abs(Z).max(axis=0).todense(), dtype=np.float64).ravel()
        peak[peak == 0.0] = 1.0
        counts = np.diff(Z.indptr)
        Z.data /= np.repeat(peak, counts)
        mean = np.asarray(Z.sum(axis=0)).ravel() / self.n
        left = Z.copy()
        left.data = (Z.data - np.repeat(mean, counts)) ** 2
        squares = np.asarray(left.sum(axis=0)).ravel() + (self.n - counts) * mean**2
        self._finish(np.sqrt(squares), mean, peak)
        Z.data /= np.repeat(self._length, counts)
        self._shift = mean / self._length
        self._Z = Z
        self._rows = Z.T.tocsr()  # shares the arrays of Z: products go row by row

    def _finish(self, length: Floats, mean: Floats, peak: Floats) -> None:
        self.usable = length > 8.0 * EPS * np.sqrt(self.n)
        self._length = np.where(self.usable, length, 1.0)
        self.mean, self.scale = mean * peak, self._length * peak

    def dot(self, V: Floats) -> Floats:
        """Return the products of the rows of V, each of length n, with all columns: (k, p)."""
        if not self.sparse:
            return V @ self._Z.T
        products = np.asarray(self._rows @ V.T).T - np.outer(V.sum(axis=1), self._shift)
        products[:, ~self.usable] = 0.0
        return products

    def column(self, j: int) -> Floats:
        """Return one unit column; zeros where it is not usable."""
        if not self.usable[j]:
            return np.zeros(self.n)
        if not self.sparse:
            return self._Z[j]
        column = np.full(self.n, -self._shift[j])
        stored = slice(self._Z.indptr[j], self._Z.indptr[j + 1])
        column[self._Z.indices[stored]] += self._Z.data[stored]
        return column

    def columns(self, chosen: Any) -> Floats:
        """Return chosen unit columns as rows: (k, n)."""
        return np.array([self.column(j) for j in chosen]).reshape(len(chosen), self.n)

    def table(self, chosen: Any) -> UnitColumns:
        """Return the unit columns of a part of the table; a sparse one stays sparse."""
        part = object.__new__(UnitColumns)
        part.n, part.p, part.sparse = self.n, len(chosen), self.sparse
        part.usable, part._length = self.usable[chosen], self._length[chosen]
        part.mean, part.scale = self.mean[chosen], self.scale[chosen]
        if self.sparse:
            part._Z, part._shift = self._Z[:, chosen], self._shift[chosen]
            part._rows = part._Z.T.tocsr()
        else:
            part._Z = self._Z[chosen]
        return part
