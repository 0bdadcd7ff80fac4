"""From the diagonal of Y to rows of X: thresholds, clusters, the better of two, and outliers.

Reference: Gillis and Luce (2014), "Robust near-separable nonnegative matrix factorization using
linear optimization", JMLR 15:1249-1280, Algorithms 2, 4, 5 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from octavo.data.decomposition.near_separable import make_swimmer
from octavo.decomposition.separable.anchor_factorization import fit_weights, residual_norm
from octavo.decomposition.separable_lp.cutting import l1_weights
from octavo.decomposition.separable_lp.programs import as_points
from octavo.engine.estimators.checked import checked

__all__ = [
    "OutlierSplit",
    "cluster_diagonal",
    "hybrid_selection",
    "l1_fit_share",
    "make_swimmer",
    "split_outliers",
]

_ROUNDING = 1e-6  # of a sum of weights: ⌈10.0000001⌉ is 10


class OutlierSplit(NamedTuple):
    """Rows that others are made of, rows that no other needs, and how much of others each makes."""

    selected: np.ndarray
    outliers: np.ndarray
    row_sums: np.ndarray


def count_from_weights(weights: np.ndarray) -> int:
    """Return r = ⌈Σ x⌉ (Algorithm 4, line 3)."""
    return max(int(np.ceil(weights.sum() - _ROUNDING)), 1)


def above_threshold(weights: np.ndarray, rho: float) -> np.ndarray:
    """Return the rows of Algorithm 2: x_k > 1 - min(1, ρ) / 2."""
    return np.flatnonzero(weights > 1.0 - min(1.0, rho) / 2.0)


def largest(weights: np.ndarray, n_components: int) -> np.ndarray:
    """Return the rows of the largest weights, heaviest first (Algorithm 1, line 2)."""
    return np.argsort(-weights, kind="stable")[:n_components]


def before_gap(weights: np.ndarray) -> np.ndarray:
    """Return the rows before the largest drop of the sorted weights (not in the paper)."""
    order = np.argsort(-weights, kind="stable")
    drops = weights[order] - np.append(weights[order][1:], 0.0)
    return order[: int(drops.argmax()) + 1]


def _check_weights(weights, n: int) -> np.ndarray:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or weights.min(initial=0.0) < 0:
        raise ValueError(f"weights must be {n} finite numbers that are not negative, one a row.")
    if not weights.sum() > 0:
        raise ValueError("All weights are zero: epsilon is so large that no row is needed.")
    return weights


@checked
def cluster_diagonal(X, weights, epsilon, n_components=None) -> np.ndarray:
    """Choose the centres of clusters of rows that together have a large weight: Algorithm 4.

    Where rows have near duplicates, the weight of a vertex is spread over them; balls of growing
    radius collect it. Line 14 of the paper prints a union for the intersection of two balls, and
    line 17 has ν and ν* in the wrong order.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_features)
        Points.
    weights : array-like of shape (n_points,)
        The diagonal of Y.
    epsilon : float
        The noise level.
    n_components : int, optional
        r; by default the sum of the weights, rounded up.

    Returns
    -------
    ndarray of int
        Indices of `n_components` centres; the heaviest, where more balls are heavy enough.

    Examples
    --------
    >>> from octavo.decomposition import cluster_diagonal
    >>> X = [[1, 0], [0.99, 0.01], [0, 1], [0.5, 0.5]]
    >>> sorted(cluster_diagonal(X, [0.5, 0.5, 1.0, 0.0], 0.01).tolist())
    [0, 2]
    """
    X = as_points(X)
    n = len(X)
    x = _check_weights(weights, n)
    if not (np.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon must be a finite number that is not negative, got {epsilon!r}.")
    if n_components is None:
        r = count_from_weights(x)
    elif 1 <= n_components <= n:
        r = int(n_components)
        x = r * x / x.sum()
    else:
        raise ValueError(f"n_components must be between 1 and {n}, got {n_components!r}.")
    distances = cdist(X, X, "cityblock")
    chosen, radius = _grow_balls(distances, x, float(epsilon), r)
    if len(chosen) < r:
        chosen = _heaviest_balls(distances, x, radius, r)
    return np.array(chosen[:r], dtype=np.intp)


def _heaviest(weight, x) -> int:
    """Return the ball of largest weight; of equal ones, that of the heaviest centre."""
    tied = weight >= weight.max() - 1e-12
    return int(np.where(tied, x, -np.inf).argmax())


def _grow_balls(D, x, epsilon, r) -> tuple[list[int], float]:
    """Return lines 7 to 20: centres, and the radius at which most were found."""
    enough = r / (r + 1)  # Algorithm 4
    positive = D[D > 0]
    # max{2ε, least positive distance}
    radius = best_radius = max(2.0 * epsilon, float(positive.min()) if positive.size else 0.0)
    heavy = np.flatnonzero(x > enough)  # K = {k: x_k > r/(r + 1)}
    chosen = best = heavy[np.argsort(-x[heavy], kind="stable")].tolist()
    furthest = float(D.max())
    while len(chosen) < r and radius < furthest:
        balls = radius >= D
        weight, chosen = balls @ x, []
        while weight.max() > enough:
            k = _heaviest(weight, x)
            chosen.append(k)
            # S_k ∩ S_i: print has the union, which would make weights negative
            weight = weight - (balls & balls[k]) @ x
        if len(chosen) > len(best):
            best, best_radius = chosen, radius  # ν* = ν: print has it turned round
        radius *= 2.0
    return best, best_radius


def _heaviest_balls(D, x, radius, r) -> list[int]:
    """Return lines 22 to 32, for data beyond Theorem 7: the heaviest balls, whatever they weigh."""
    furthest = float(D.max()) or 1.0
    balls = radius >= D
    weight, chosen = balls @ x, []
    # as printed: D is to the point removed
    nearness = np.maximum((furthest - D) / furthest, 0.0) ** 0.1 * x
    for _ in range(r):
        k = _heaviest(weight, x)
        chosen.append(k)
        weight = weight - (nearness * (balls & balls[k])).sum(axis=1)
        weight[chosen] = -np.inf  # the paper's zero could be chosen again
    return chosen


@checked
def hybrid_selection(X, weights, epsilon, n_components) -> np.ndarray:
    """Choose the largest weights or the clusters, whichever explains X better: Algorithm 6.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_features)
        Points.
    weights : array-like of shape (n_points,)
        The diagonal of Y.
    epsilon : float
        The noise level.
    n_components : int
        How many rows to choose.

    Returns
    -------
    ndarray of shape (n_components,)
        Indices, those of the smaller Frobenius norm of what non-negative combinations leave.

    Examples
    --------
    >>> from octavo.decomposition import hybrid_selection
    >>> X = [[1, 0], [0.99, 0.01], [0, 1], [0.5, 0.5]]
    >>> sorted(hybrid_selection(X, [0.6, 0.4, 1.0, 0.0], 0.01, 2).tolist())
    [0, 2]
    """
    X = as_points(X)
    clustered = cluster_diagonal(X, weights, epsilon, n_components)
    greedy = largest(_check_weights(weights, len(X)), n_components)
    if set(greedy.tolist()) == set(clustered.tolist()):
        return greedy
    return min((greedy, clustered), key=lambda rows: _left_over(X, rows))


def _left_over(X: np.ndarray, rows: np.ndarray) -> float:
    return residual_norm(X, fit_weights(X, X[rows]).weights, X[rows])


@checked
def l1_fit_share(X, indices) -> float:
    """Return 1 - min_{H ≥ 0} ||X - H X_K||_s / ||X||_s: the measure (9), 1 at best.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_features)
        Points.
    indices : array-like of int
        K, the rows chosen.

    Returns
    -------
    float
        The share of the sum of absolute entries that the chosen rows explain.

    Examples
    --------
    >>> from octavo.decomposition import l1_fit_share
    >>> round(l1_fit_share([[1, 0], [0, 1], [0.5, 0.5]], [0, 1]), 12)
    1.0
    """
    X = as_points(X)
    rows = X[np.asarray(indices, dtype=np.intp)]
    scale = float(np.abs(X).max()) or 1.0
    left = np.abs(X - l1_weights(rows / scale, X / scale).T @ rows).sum()
    total = np.abs(X).sum()  # Eq. (9)
    return float(1.0 - left / total) if total > 0 else 1.0


@checked
def split_outliers(X, coupling, *, refit=False) -> OutlierSplit:
    """Tell rows that others are made of from outliers: Algorithm 5, or its improvement.

    Both have a large weight; but what nobody needs is an outlier. Weights are those of rows scaled
    to unit l1 norm, X_ij = (c_i / c_j) Y_ij, so that the units of a row do not matter.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_features)
        Points.
    coupling : array-like of shape (n_points, n_points)
        Y.
    refit : bool, default=False
        Take the rows with a diagonal of at least ½, fit all rows by them with the least l1 error,
        and judge by those weights (Section 3): ε may then be (n - 1) / (r + t - 1) times as large.

    Returns
    -------
    OutlierSplit
        `selected`, `outliers`, and the sums of off-diagonal weights of all rows.

    Examples
    --------
    >>> from octavo.decomposition import solve_separable_lp, split_outliers
    >>> X = [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0.6, 0.4, 0], [0, 0, 1]]  # the last is alone
    >>> split = split_outliers(X, solve_separable_lp(X, 0.01, rho=2).coupling)
    >>> split.selected.tolist(), split.outliers.tolist()
    ([0, 1], [4])
    """
    X = as_points(X)
    norms = np.abs(X).sum(axis=1)
    Y = np.asarray(coupling, dtype=np.float64)
    if Y.shape != (len(X), len(X)) or not np.isfinite(Y).all():
        raise ValueError(f"coupling must be a finite matrix of {len(X)} rows and columns.")
    units = np.where(norms > 0, norms, 1.0)
    heavy = np.flatnonzero(np.diagonal(Y) >= 0.5)  # Algorithm 5
    shares = Y * units[:, None] / units  # X_ij of scaled columns
    if refit:
        rows = X / units[:, None]
        shares = np.zeros_like(Y)
        shares[heavy] = l1_weights(rows[heavy], rows)
    sums = shares.sum(axis=1) - np.diagonal(shares)
    needed = sums[heavy] >= 0.5  # who makes up half a row of others is no outlier
    return OutlierSplit(heavy[needed], heavy[~needed], sums)
