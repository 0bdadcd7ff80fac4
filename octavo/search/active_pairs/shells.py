"""Regions of disagreement, and samples from shells of them (Section 3.1, 6.1.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.linear_programs.cone_facets import cone_facets
from octavo.search.active_pairs.asking import is_real
from octavo.search.active_pairs.sampling import PairSample

__all__ = ["disagreement_coefficient", "disagreement_region_linear"]

MOST_ITEMS = 60  # of a linear class: a layer looks at n² / 2 hyperplanes


def as_hypotheses(H: Any) -> Ints:
    """Return a table of zeros and ones, a row a hypothesis and a column a point."""
    table = getattr(H, "matrix", H)
    table = np.asarray(table.toarray() if sp.issparse(table) else table)
    if table.ndim != 2 or table.dtype.kind not in "biuf" or 0 in table.shape:
        raise ValueError("Hypotheses must be a table, a row a hypothesis and a column a point.")
    if not np.isin(table, (0, 1)).all():
        raise ValueError("Hypotheses must answer 0 or 1 about every point.")
    return table.astype(np.int8)


def disagreement_radii(H: Ints, h: int) -> Floats:
    """Return, for each point, the distance of the nearest hypothesis that disagrees with h on it.

    DIS(B(h, r)) is the set of points whose radius is at most r.
    """
    differs = H[h] != H
    distance = differs.mean(axis=1)
    order = np.argsort(distance, kind="stable")
    found = differs[order]
    first = found.argmax(axis=0)  # the nearest that differs
    # the smallest r with x in DIS(B(h, r))
    return np.where(found.any(axis=0), distance[order][first], np.inf)


@checked
def disagreement_coefficient(H: Any, mu: float = 0.0) -> float:
    """Return the uniform disagreement coefficient of a finite class (Equation 2).

    The largest, over hypotheses h and radii r > mu (or r = mu > 0), of the share of points on which
    some hypothesis within r of h disagrees with h, divided by r. Points are weighted alike.

    Parameters
    ----------
    H : array-like of shape (n_hypotheses, n_points)
        What each hypothesis answers about each point, 0 or 1.
    mu : float, default=0.0
        Smallest radius looked at (Remark 1).

    Returns
    -------
    theta : float
        The coefficient; 0 for a class of one.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import disagreement_coefficient
    >>> thresholds = np.tri(9, 8, -1, dtype=int)
    >>> print(disagreement_coefficient(thresholds), disagreement_coefficient(thresholds, 0.5))
    2.0 2.0
    """
    table = as_hypotheses(H)
    if not is_real(mu) or not 0 <= mu < np.inf:
        raise ValueError(f"mu must be a number of at least 0; got {mu!r}.")
    n = table.shape[1]
    best = 0.0
    for h in range(len(table)):
        radii = np.sort(disagreement_radii(table, h))
        share = np.arange(1, n + 1) / n  # Pr[DIS(B(h, r))], which jumps at these radii only
        at = np.isfinite(radii) & (radii >= mu) & (radii > 0.0)
        if at.any():
            # Eq. (2), over r >= μ as in Remark 1
            best = max(best, float((share[at] / radii[at]).max()))
        if mu > 0.0:
            # At r = μ itself no radius need lie, and the share below it counts.
            best = max(best, float((radii <= mu).mean() / mu))
    return best


def shell_sample(radii: Floats, mu: float, m: int, rng: Any) -> PairSample:
    """Draw m points from each shell X_i = DIS(B(h, μ 2^i)) less the one before, weights η_i / m.

    Weights are counts of points; a shell with no more than m points is taken whole.
    """
    # X_0 = DIS(B(h, μ)); X_i between μ 2^(i-1) and μ 2^i (Section 3.1)
    levels = np.where(radii <= mu, 0.0, np.ceil(np.log2(np.maximum(radii, 1e-300) / mu) - 1e-12))
    points, weights, cells = [], [], []
    for level in np.unique(levels[np.isfinite(levels)]):
        members = np.flatnonzero(levels == level)
        whole = len(members) <= m
        drawn = members if whole else members[rng.randint(0, len(members), size=m)]
        points.append(drawn)
        weights.append(np.full(len(drawn), 1.0 if whole else len(members) / m))  # η_i / m
        cells.append(np.full(len(drawn), -1 if whole else int(level)))
    if not points:
        return PairSample(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
    return PairSample(*(np.concatenate(part) for part in (points, weights, cells)))


def shell_inclusion(radii: Floats, mu: float, m: int, points: Ints) -> Floats:
    """Return how likely `shell_sample` is to draw each point."""
    levels = np.where(radii <= mu, 0.0, np.ceil(np.log2(np.maximum(radii, 1e-300) / mu) - 1e-12))
    levels = np.where(np.isfinite(levels), levels, -1.0)
    names, group, size = np.unique(levels, return_inverse=True, return_counts=True)
    chance = np.where(size <= m, 1.0, 1.0 - (1.0 - 1.0 / size) ** m)
    chance[names < 0.0] = 0.0
    return chance[group][points]


def peeled_layers(X: Floats, w: Floats, n_layers: int | None = None) -> tuple[Ints, Ints]:
    """Return pairs of items and the layer in which the hyperplane of each is peeled, from 1.

    Each layer holds the hyperplanes on the boundary of the cell of w among those left. Pairs of
    equal items, which no linear rule tells apart, are left out; 0 stands for "not peeled".
    """
    u, v = np.triu_indices(len(X), 1)
    normals = X[u] - X[v]
    length = np.linalg.norm(normals, axis=1)
    kept = length > 1e-12 * max(float(np.abs(X).max()), 1e-300)
    # A pair on whose hyperplane w lies has no side, and w no order.
    u, v, normals = u[kept], v[kept], normals[kept] / length[kept, None]
    side = normals @ w
    flat = np.abs(side) <= 1e-12 * np.linalg.norm(w)
    if flat.any():
        a, b = u[flat][0], v[flat][0]
        raise ValueError(f"w scores items {a} and {b} alike, so that it induces no ranking.")
    normals = normals * np.sign(side)[:, None]
    layer = np.zeros(len(u), dtype=np.int64)
    left, count = np.arange(len(u)), 0
    while len(left) and (n_layers is None or count < n_layers):
        count += 1
        # Section 6.1.2, Theorem 22: the boundary of the cell of w
        facets = cone_facets(normals[left], w / np.linalg.norm(w))
        layer[left[facets]] = count
        # Removing them leaves the next layer at distance 0.
        left = left[~facets]
    return np.column_stack([u, v]), layer


def as_features(X: Any, w: Any) -> tuple[Floats, Floats]:
    """Return items and a direction, each in units of its largest entry."""
    X = check_array(X, dtype=np.float64, input_name="X")
    w = np.asarray(w, dtype=np.float64)
    if w.shape != (X.shape[1],) or not np.isfinite(w).all():
        raise ValueError(f"w must be a vector of {X.shape[1]} finite numbers; got shape {w.shape}.")
    if not np.abs(w).max() > 0.0:
        raise ValueError("w must not be zero: it would rank nothing.")
    return X / (np.abs(X).max() or 1.0), w / np.abs(w).max()


@checked
def disagreement_region_linear(X: Any, w: Any, r: float) -> Ints:
    """Return pairs about which linear rankings close to that of w may disagree (Section 6.1.2).

    Hyperplanes on the boundary of the cell of w are peeled, N r / 2 times, N = n(n - 1): a ranking
    within r of that of w inverts no more pairs. All pairs of DIS(B(w, r)) are found; some that are
    found may be farther away.

    Parameters
    ----------
    X : array-like of shape (n_items, n_features)
        The items, at most 60.
    w : array-like of shape (n_features,)
        Scores are ``X @ w``; no two items may be scored alike.
    r : float
        Radius, between 0 and 1: the share of pairs that are ordered otherwise.

    Returns
    -------
    pairs : ndarray of shape (m, 2)
        Pairs (u, v), u < v.

    Examples
    --------
    >>> from octavo.search import disagreement_region_linear
    >>> X = [[0.0, 0.0], [1.0, 0.2], [2.0, 1.0]]
    >>> print(disagreement_region_linear(X, [1.0, 0.1], 0.4).tolist())
    [[0, 1], [1, 2]]
    """
    if not is_real(r) or not 0 <= r <= 1:
        raise ValueError(f"r must be a share between 0 and 1; got {r!r}.")
    X, w = as_features(X, w)
    n = len(X)
    if n > MOST_ITEMS:
        raise ValueError(f"At most {MOST_ITEMS} items are peeled; got {n}.")
    # The distance counts an inversion twice, in both orders: N r / 2 layers, where print says N r.
    pairs, layer = peeled_layers(X, w, int(np.floor(n * (n - 1) * r / 2.0 + 1e-9)))
    return pairs[layer > 0]
