"""Distances to nearest neighbours: one search shared by all who ask about the same points.

`neighbour_distances` searches a k-d tree, or all pairs by blocks of matrix products where there
are too many dimensions for trees. Trees and distances of the last few samples are kept, found again
by the contents of the arrays (never by their address), so that estimators that look at the same
sample pay for one search. `positive_distances` refuses ties or breaks them by jitter.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from octavo.engine.estimators.arrays import Floats

TREE_DIMENSIONS = 15  # above, all pairs by matrix products are faster than a tree
_BLOCK = 1 << 21  # distances in one block of pairs
_SPARE = 8  # candidates beyond k whose distances are computed again, exactly


class _Store:
    """The last few answers, by contents of the question; bounded in bytes, safe in threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        if size > self.limit:
            return
        with self._lock:
            if key in self._kept:
                self.used -= self._kept.pop(key)[1]
            self._kept[key] = (value, size)
            self.used += size
            while self.used > self.limit:
                self.used -= self._kept.popitem(last=False)[1][1]

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.used = 0


LEAF = 24  # points of a leaf of a tree: a fifth faster than 10, to build and to ask

_STORE = _Store(1 << 26)


def forget_neighbours() -> None:
    """Drop the trees and distances that are kept."""
    _STORE.clear()


def _contents(X: Floats) -> tuple[Hashable, ...]:
    """Return what tells arrays of different contents apart."""
    return X.shape, hashlib.sha1(np.ascontiguousarray(X).data, usedforsecurity=False).digest()


def _tree(Y: Floats, contents: tuple[Hashable, ...]) -> cKDTree:
    key = ("tree", contents)
    tree = _STORE.get(key)
    if tree is None:
        tree = cKDTree(Y, leafsize=LEAF)
        _STORE.put(key, tree, 3 * Y.nbytes)
    return tree


def _by_tree(
    X: Floats, tree: cKDTree, k: int, p: float, workers: int, own_tree: cKDTree | None
) -> Floats:
    ranks = range(1, k + 1)
    if own_tree is None:
        return tree.query(X, k=ranks, p=p, workers=workers)[0]
    order = own_tree.indices  # asking leaf by leaf finds the nodes in the processor's cache
    distances = np.empty((X.shape[0], k))
    distances[order] = tree.query(X[order], k=ranks, p=p, workers=workers)[0]
    return distances


def _by_blocks(X: Floats, Y: Floats, k: int, own: bool) -> Floats:
    """Return the k least distances of each x to the rows of Y; with `own`, itself comes first.

    |y|² - 2xy loses digits where points lie close together, so it only chooses candidates;
    their distances are then computed from differences.
    """
    center = Y.mean(axis=0)
    X, Y = X - center, Y - center
    squares = np.einsum("md,md->m", Y, Y)
    m = Y.shape[0]
    n_candidates = min(k + _SPARE, m)
    found = np.empty((X.shape[0], k))
    rows_at_once = max(1, _BLOCK // m)
    for start in range(0, X.shape[0], rows_at_once):
        rows = slice(start, min(start + rows_at_once, X.shape[0]))
        score = X[rows] @ (-2.0 * Y.T)
        score += squares
        if own:
            index = np.arange(rows.start, rows.stop)
            score[index - start, index] = -np.inf
        near = np.argpartition(score, n_candidates - 1, axis=1)[:, :n_candidates]
        gaps = X[rows, None, :] - Y[near]
        distances = np.sqrt(np.einsum("nkd,nkd->nk", gaps, gaps))
        distances.sort(axis=1)
        found[rows] = distances[:, :k]
    return found


def neighbour_distances(
    X: Floats, k: int, *, Y: Floats | None = None, p: float = 2.0, workers: int = 1
) -> Floats:
    """Return the distances of each row of X to its k nearest neighbours.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        The points that ask.
    k : int
        The number of neighbours; less than N, or at most M with `Y`.
    Y : ndarray of shape (M, d), default=None
        Where neighbours are searched; None for the other rows of X.
    p : float, default=2.0
        The Minkowski norm, inf for the largest difference of a coordinate.
    workers : int, default=1
        Threads of the tree search; -1 for all.

    Returns
    -------
    distances : ndarray of shape (N, k)
        Ascending along rows; not to be written to.
    """
    own = Y is None
    available = X.shape[0] - 1 if Y is None else Y.shape[0]
    if k > available:
        where = f"X has {X.shape[0]} rows" if own else f"Y has {available} rows"
        needed = k + 1 if own else k
        raise ValueError(f"n_neighbors={k} neighbours need at least {needed} rows, but {where}.")
    asked = _contents(X)
    searched = asked if Y is None else _contents(Y)
    key = ("distances", asked, searched, own, p)
    kept = _STORE.get(key)
    if kept is None or kept.shape[1] < k:
        target = X if Y is None else Y
        if X.shape[1] > TREE_DIMENSIONS and p == 2.0:
            kept = _by_blocks(X, target, k + own, own)
        else:
            tree = _tree(target, searched)
            kept = _by_tree(X, tree, k + own, p, workers, _STORE.get(("tree", asked)))
        kept = kept[:, own:]  # the nearest is the point itself, or its equal
        kept.flags.writeable = False
        _STORE.put(key, kept, kept.base.nbytes if kept.base is not None else kept.nbytes)
    return kept[:, :k]


def count_within(
    X: Floats, radii: Floats, *, Y: Floats | None = None, p: float = 2.0, workers: int = 1
) -> NDArray[np.int64]:
    """Return how many rows of Y lie no farther than radius_i from x_i; of X itself without it.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        The centres.
    radii : ndarray of shape (N,)
        Their radii; the next smaller float makes the balls open.
    Y : ndarray of shape (M, d), default=None
        The points that are counted; None for the other rows of X.
    p : float, default=2.0
        The Minkowski norm.
    workers : int, default=1
        Threads of the tree search; -1 for all.

    Returns
    -------
    counts : ndarray of int of shape (N,)
        Without the centre itself where `Y` is None.
    """
    target = X if Y is None else Y
    if X.shape[1] == 1:  # a sorted array does in one dimension what a tree does in more
        line = np.sort(target[:, 0])
        x = X[:, 0]
        low = _first_within(line, x, radii)
        high = -_first_within(-line[::-1], -x, radii) + line.size
        counts = high - low
    else:
        tree = _tree(target, _contents(target))
        counts = tree.query_ball_point(X, radii, p=p, return_length=True, workers=workers)
    return np.asarray(counts, dtype=np.int64) - (Y is None)


def _first_within(line: Floats, x: Floats, radii: Floats) -> NDArray[np.intp]:
    """Return the first position on a sorted line with x - line <= radius, as rounded."""
    position = np.searchsorted(line, x - radii)
    # x - radius is rounded: step over the one or two places where that decides otherwise.
    while True:
        inside = (position > 0) & (x - line[position - 1] <= radii)
        if not inside.any():
            break
        position = position - inside
    while True:
        capped = np.minimum(position, line.size - 1)
        outside = (position < line.size) & (x - line[capped] > radii)
        if not outside.any():
            return position
        position = position + outside


def jittered(X: Floats, amount: float) -> Floats:
    """Return X with normal noise of `amount` standard deviations of each column; reproducible."""
    noise = np.random.default_rng(0).standard_normal(X.shape)
    return X + amount * X.std(axis=0) * noise


def _n_distinct(X: Floats) -> int:
    return len(np.unique(X, axis=0))


def positive_distances(
    X: Floats,
    k: int,
    *,
    Y: Floats | None = None,
    jitter: float = 0.0,
    workers: int = 1,
    p: float = 2.0,
) -> Floats:
    """Return `neighbour_distances`, none of which may be zero at the k-th neighbour.

    Parameters
    ----------
    X, k, Y, workers, p : see `neighbour_distances`
        The points and the search.
    jitter : float, default=0.0
        Noise to break ties, in standard deviations of each column of X; 0 for none, and then
        a ValueError tells how many points are in the way.

    Returns
    -------
    distances : ndarray of shape (N, k)
        The last column is positive.
    """
    distances = neighbour_distances(X, k, Y=Y, p=p, workers=workers)
    if (distances[:, -1] > 0).all():
        return distances
    if jitter > 0:
        distances = neighbour_distances(jittered(X, jitter), k, Y=Y, p=p, workers=workers)
        if (distances[:, -1] > 0).all():
            return distances
    tied = int((distances[:, -1] == 0).sum())
    if Y is None:
        raise ValueError(
            f"{tied} of the {X.shape[0]} rows of X have {k} or more duplicates ({X.shape[0]} rows, "
            f"{_n_distinct(X)} of them distinct), so that the distance to neighbour k={k} is "
            "zero. Remove duplicates, raise k, or set jitter (such as 1e-10) to break the ties."
        )
    raise ValueError(
        f"{tied} of the {X.shape[0]} rows of X stand {k} or more times in Y, so that the distance "
        f"to neighbour k={k} is zero. Samples must be drawn apart: remove shared rows, raise k, "
        "or set jitter (such as 1e-10) to break the ties."
    )
