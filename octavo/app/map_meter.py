"""What steering costs and gains: neighbours that the map keeps, and classes that it tells apart.

Both are shares of the rows' 10 nearest neighbours on the map, and both are told beside those of
plain kernel PCA: a map that has been pulled into a handsome shape can have lost more than it shows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

NEIGHBOURS = 10
ASKED = 2_000  # rows whose neighbours are looked at; more are drawn from, once and at random


class Reading(NamedTuple):
    """Shares between 0 and 1: neighbours kept, and rows that their neighbours would name rightly
    (None where the table has no classes).
    """

    kept: float
    separation: float | None


class MapMeter:
    """Reads maps of one table.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        What the kernel sees: a row's neighbours are the nearest here, by Euclidean distance.
    n_neighbors : int, default=10
        Neighbours of a row; fewer on tables of fewer rows.
    asked : int, default=2000
        Rows that are looked at, at most; their neighbours are looked for among all.
    """

    def __init__(
        self, X: NDArray[np.float64], *, n_neighbors: int = NEIGHBOURS, asked: int = ASKED
    ) -> None:
        n = len(X)
        self.n_neighbors = min(n_neighbors, n - 1)
        rows = np.arange(n)
        if n > asked:
            rows = np.sort(np.random.default_rng(0).choice(n, asked, replace=False))
        self.rows = rows
        found = NearestNeighbors(n_neighbors=self.n_neighbors + 1, algorithm="brute").fit(X)
        self._near = without_self(found.kneighbors(X[rows], return_distance=False), rows)

    def read(self, Z: NDArray[np.float64], codes: NDArray[np.intp] | None = None) -> Reading:
        """Read a map.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, 2)
            The map.
        codes : ndarray of shape (n_rows,) or None, default=None
            Classes of the rows from 0 on; -1 where it is not known. Such rows count for neighbours
            but not for classes.

        Returns
        -------
        Reading
            `kept` is the mean share of a row's nearest rows that are among its nearest on the map,
            `separation` the share of rows whose neighbours' most frequent class is their own.
        """
        rows, k = self.rows, self.n_neighbors
        near = without_self(cKDTree(Z).query(Z[rows], k + 1)[1], rows)
        kept = float((near[:, :, None] == self._near[:, None, :]).any(axis=2).mean())
        if codes is None:
            return Reading(kept, None)
        known = codes[rows] >= 0
        if not known.any():
            return Reading(kept, None)
        votes = np.zeros((int(known.sum()), int(codes.max()) + 1), dtype=np.intp)
        named = codes[near[known]]
        at, nth = np.nonzero(named >= 0)
        np.add.at(votes, (at, named[at, nth]), 1)
        right = votes.argmax(axis=1) == codes[rows][known]  # of equal votes, the first class
        return Reading(kept, float(right.mean()))


def without_self(near: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return neighbours (m, k + 1) without the row itself, or without the last where it is not
    among them (more than k others lie in the same place).
    """
    itself = near == rows[:, None]
    itself[~itself.any(axis=1), -1] = True
    return near[~itself].reshape(len(near), -1).astype(np.intp)
