"""Ranks and the empirical copula: what is left of a sample when its margins are forgotten.

The pseudo-observations are u = rank / (n + 1). With that denominator they lie strictly
inside the unit cube, their mean is exactly 1/2, and u and 1 − u are exchangeable: reflecting
all variables exchanges lower and upper tail exactly. Statistics of rank / n differ by O(1/n).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata


def pseudo_observations(X: np.ndarray) -> np.ndarray:
    """Return rank / (n + 1) column by column; tied values share their mean rank."""
    X = np.asarray(X)
    if X.ndim != 2:
        return rankdata(X, axis=0) / (len(X) + 1)
    n, d = X.shape
    out = np.empty((d, n))  # a column after another: sorting and filling stay within a cache
    steps = np.arange(1, n + 1) / (n + 1)
    for j in range(d):
        column = np.ascontiguousarray(X[:, j])
        order = np.argsort(column)
        column = column[order]
        if (column[1:] > column[:-1]).all():
            out[j, order] = steps
        else:  # ties, or NaN
            out[j] = rankdata(X[:, j]) / (n + 1)
    return np.ascontiguousarray(out.T)


def grid_copula(U: np.ndarray, n_grid: int) -> np.ndarray:
    """Return the empirical copula at the points (i₁, …, i_d) / `n_grid`, 1 ≤ i ≤ `n_grid`.

    Parameters
    ----------
    U : ndarray of shape (n_samples, n_features)
        Pseudo-observations.
    n_grid : int
        Points an axis.

    Returns
    -------
    ndarray of shape (n_grid,) * n_features
        Shares of the sample that lie at or below each point in every coordinate. A coordinate
        is compared by its rank: u ≤ i / n_grid where rank / n ≤ i / n_grid.
    """
    n, d = U.shape
    # rank / n instead of rank / (n + 1), so that the last grid point holds the whole sample.
    ranks = U * (n + 1)
    cells = np.ceil(np.round(ranks * n_grid / n, 9)).astype(np.intp) - 1
    np.clip(cells, 0, n_grid - 1, out=cells)
    counts = np.bincount(
        np.ravel_multi_index(tuple(cells.T), (n_grid,) * d), minlength=n_grid**d
    ).reshape((n_grid,) * d)
    shares = counts / n
    for axis in range(d):
        np.cumsum(shares, axis=axis, out=shares)
    return shares


def copula_at(U: np.ndarray, points: np.ndarray, *, block: int = 256) -> np.ndarray:
    """Return the empirical copula at arbitrary points of the unit cube.

    Parameters
    ----------
    U : ndarray of shape (n_samples, n_features)
        Pseudo-observations; compared as rank / n, as in `grid_copula`.
    points : ndarray of shape (n_points, n_features)
        Where to evaluate it.
    block : int, default=256
        Points at a time, which bounds the memory.

    Returns
    -------
    ndarray of shape (n_points,)
        Shares of the sample at or below each point in every coordinate.
    """
    n = len(U)
    shares = U * (n + 1) / n
    found = np.empty(len(points))
    for start in range(0, len(points), block):
        part = points[start : start + block]
        inside = shares[:, 0] <= part[:, :1]
        for j in range(1, U.shape[1]):
            inside &= shares[:, j] <= part[:, j : j + 1]
        found[start : start + block] = inside.mean(axis=1)
    return found
