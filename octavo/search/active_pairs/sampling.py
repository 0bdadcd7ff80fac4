"""Which pairs to ask about, given a pivot: samples whose weighted sums stand for all pairs.

The weight of a draw says how many of the n(n - 1) *ordered* pairs it stands for, so that weights
add up to n(n - 1) on average. `inclusion` functions say how likely a pair is to be asked at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.search.active_pairs.asking import as_count

__all__ = ["PairSample", "band_sample", "bernoulli_sample", "cluster_sample", "uniform_sample"]

MOST = 10_000_000  # items: beyond, positions alone would fill a gigabyte


class _Drawn(NamedTuple):
    pairs: Ints
    weights: Floats


class PairSample(_Drawn):
    """Pairs that were drawn, and what each stands for.

    Parameters
    ----------
    pairs : ndarray of shape (m, 2)
        Items (u, v); a pair drawn twice stands twice.
    weights : ndarray of shape (m,)
        Ordered pairs that a draw stands for.
    cells : ndarray of shape (m,), optional
        Draws of one cell are drawn with replacement from the same pairs; -1 for pairs that are
        asked for certain. Without it each pair stands alone, drawn with probability 2 / weight.

    Examples
    --------
    >>> from octavo.search import PairSample
    >>> sample = PairSample([[0, 1], [2, 1]], [2.0, 4.0])
    >>> len(sample.pairs), sum(sample.weights)
    (2, 6.0)
    """

    cells: Ints | None

    def __new__(cls, pairs: Any, weights: Any, cells: Any = None) -> PairSample:
        self = super().__new__(cls, pairs, weights)
        self.cells = cells
        return self


def as_position(position: Any, name: str = "position") -> Ints:
    """Return positions that are a permutation of 0, ..., n - 1."""
    found = np.asarray(position)
    if found.ndim != 1 or found.dtype.kind not in "iuf" or found.size == 0:
        raise ValueError(f"{name} must be a vector with the place of each item, from 0.")
    if not np.array_equal(np.sort(found), np.arange(found.size)):
        raise ValueError(
            f"{name} must be a permutation of 0, ..., {found.size - 1}, each place once."
        )
    return found.astype(np.int64)


def as_labels(labels: Any, name: str = "labels") -> Ints:
    """Return cluster numbers, whole and not negative."""
    found = np.asarray(labels)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a vector with the cluster of each item, from 0.")
    if found.dtype.kind == "f" and not (np.isfinite(found).all() and (found % 1 == 0).all()):
        raise ValueError(f"{name} must be whole numbers; got fractions, NaN or infinity.")
    if found.min() < 0 or found.max() > MOST:
        raise ValueError(f"{name} must be numbers from 0; got {found.min():g} to {found.max():g}.")
    return found.astype(np.int64)


def _counted(sizes: Ints) -> tuple[Ints, Ints]:
    """Return, for sizes (2, 3): owners (0, 0, 1, 1, 1) and counts (0, 1, 0, 1, 2)."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


# --- rankings ---------------------------------------------------------------------------------


def _bands(n: int, p: int) -> list[tuple[int, int]]:
    """Return the bands (2^i - 1)p < distance <= (2^(i+1) - 1)p that are not empty."""
    ends, low = [], 0
    while low < n - 1:
        ends.append((low, 2 * low + p))
        # Algorithm 2, step 3; print's upper end, 2^(i+1) p, overlaps the next band
        low = 2 * low + p
    return ends


def _band_sizes(places: Ints, n: int, low: Any, high: Any) -> tuple[Ints, Ints]:
    """Return how many items stand in a band to the left and to the right of each place."""
    left = np.maximum(np.minimum(places, high) - low, 0)
    return left, np.maximum(np.minimum(n - 1 - places, high) - low, 0)


@checked
def band_sample(position: Any, p: int, random_state: Any = None) -> PairSample:
    """Draw p partners of every item from each band of distances (Algorithm 2).

    Bands are (2^i - 1)p < distance <= (2^(i+1) - 1)p; one with no more than p items is taken whole.

    Parameters
    ----------
    position : array-like of shape (n_items,)
        The place of each item under the pivot, from 0.
    p : int
        Draws, with replacement, from each band.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Returns
    -------
    sample : PairSample
        Ordered pairs with weights (size of the band) / p, or 1 in bands taken whole.

    Examples
    --------
    >>> from octavo.search import band_sample
    >>> sample = band_sample([0, 1, 2, 3, 4, 5, 6], 2, random_state=0)
    >>> len(sample.pairs), float(sample.weights.sum())
    (28, 42.0)
    """
    position = as_position(position)
    p = as_count(p, "p")
    rng = check_random_state(random_state)
    n = len(position)
    order, places = np.argsort(position), np.arange(n)
    pairs, weights, cells = [], [], []
    for band, (low, high) in enumerate(_bands(n, p)):
        left, right = _band_sizes(places, n, low, high)
        size = left + right
        whole = size <= p
        owner, count = _counted(np.where(whole, size, p))
        # Algorithm 2, step 5
        drawn = np.floor(rng.random_sample(len(owner)) * size[owner]).astype(np.int64)
        count = np.where(whole[owner], count, drawn)
        to_left = count < left[owner]
        partner = np.where(to_left, owner - low - 1 - count, owner + low + 1 + count - left[owner])
        pairs.append(np.column_stack([order[owner], order[partner]]))
        # |I_ui| / p; a band asked in full needs no factor
        weights.append(np.where(whole, 1.0, size / p)[owner])
        cells.append(np.where(whole, -1, band * n + places)[owner])
    if not pairs:
        return PairSample(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0, np.int64))
    return PairSample(*(np.concatenate(part) for part in (pairs, weights, cells)))


def band_inclusion(position: Ints, pairs: Ints, p: int) -> Floats:
    """Return how likely `band_sample` is to draw a pair from either end."""
    n = len(position)
    ends = np.array([high for _, high in _bands(n, p)])
    lows = np.array([low for low, _ in _bands(n, p)])
    places = position[pairs]
    band = np.searchsorted(ends, np.abs(places[:, 0] - places[:, 1]))
    missed = np.ones(len(pairs))
    for end in range(2):
        left, right = _band_sizes(places[:, end], n, lows[band], ends[band])
        size = left + right
        # p draws with replacement
        missed *= np.where(size <= p, 0.0, (1.0 - 1.0 / np.maximum(size, 1)) ** p)
    return 1.0 - missed


def _distinct_draws(counts: Ints, sizes: Ints, rng: Any) -> tuple[Ints, Ints]:
    """Return owners and distinct numbers below the owner's size: counts[i] of sizes[i], uniform."""
    owner = np.repeat(np.arange(len(counts)), counts)
    value = np.floor(rng.random_sample(len(owner)) * sizes[owner]).astype(np.int64)
    width = int(sizes.max(initial=1))
    while True:
        _, first = np.unique(owner * width + value, return_index=True)
        again = np.ones(len(owner), dtype=bool)
        again[first] = False
        if not again.any():
            return owner, value
        fresh = np.floor(rng.random_sample(again.sum()) * sizes[owner[again]]).astype(np.int64)
        value[again] = fresh


@checked
def bernoulli_sample(position: Any, p: int, random_state: Any = None) -> PairSample:
    """Draw each pair with probability min(1, p / distance under the pivot) (footnote 9).

    Parameters
    ----------
    position : array-like of shape (n_items,)
        The place of each item under the pivot, from 0.
    p : int
        Distance up to which every pair is drawn.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Returns
    -------
    sample : PairSample
        Pairs, the one that stands first under the pivot first, with weights 2 / probability: a pair
        stands for both of its orders.

    Examples
    --------
    >>> from octavo.search import bernoulli_sample
    >>> sample = bernoulli_sample([0, 1, 2, 3], 3, random_state=0)
    >>> len(sample.pairs), sample.weights.tolist()
    (6, [2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    """
    position = as_position(position)
    p = as_count(p, "p")
    rng = check_random_state(random_state)
    n = len(position)
    order = np.argsort(position)
    distance = np.arange(1, n)
    room = n - distance
    counts = np.where(distance <= p, room, rng.binomial(room, np.minimum(1.0, p / distance)))
    # Where more than half is drawn, drawing what is left out takes fewer tries.
    many = (2 * counts > room) & (distance > p)
    owner, start = _distinct_draws(
        np.where(distance <= p, 0, np.where(many, room - counts, counts)), room, rng
    )
    chosen = [np.column_stack([distance[owner[~many[owner]]], start[~many[owner]]])]
    owner_all, every = _counted(np.where((distance <= p) | many, room, 0))
    if many.any():
        width = n + 1
        out = np.isin(owner_all * width + every, owner[many[owner]] * width + start[many[owner]])
        owner_all, every = owner_all[~out], every[~out]
    chosen.append(np.column_stack([distance[owner_all], every]))
    found = np.concatenate(chosen)
    pairs = np.column_stack([order[found[:, 1]], order[found[:, 1] + found[:, 0]]])
    # 1 / π_uv, for both orders of a pair
    return PairSample(pairs, 2.0 / np.minimum(1.0, p / np.maximum(found[:, 0], 1)))


def bernoulli_inclusion(position: Ints, pairs: Ints, p: int) -> Floats:
    """Return how likely `bernoulli_sample` is to draw a pair."""
    distance = np.abs(position[pairs[:, 0]] - position[pairs[:, 1]])
    return np.minimum(1.0, p / distance)


# --- clusterings ------------------------------------------------------------------------------


@checked
def cluster_sample(labels: Any, q: int, random_state: Any = None) -> PairSample:
    """Draw q partners of every item from its own cluster and from each smaller one (Algorithm 3).

    A cluster with no more than q partners is taken whole. Of its own cluster an item draws others
    only: the paper's draws of an item with itself would carry no information.

    Parameters
    ----------
    labels : array-like of shape (n_items,)
        The cluster of each item under the pivot, from 0.
    q : int
        Draws, with replacement, from each cluster.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Returns
    -------
    sample : PairSample
        Pairs (u, v), u of the larger cluster, with weights (partners) / q within and twice that
        between clusters, which are drawn in one direction only (Equation 13).

    Examples
    --------
    >>> from octavo.search import cluster_sample
    >>> sample = cluster_sample([0, 0, 0, 0, 1, 1], 3, random_state=0)
    >>> len(sample.pairs), float(sample.weights.sum())
    (22, 30.0)
    """
    labels = as_labels(labels)
    q = as_count(q, "q")
    rng = check_random_state(random_state)
    clusters = _by_size(labels)  # Algorithm 3, step 2
    n = len(labels)
    pairs, weights, cells = [], [], []
    for i, own in enumerate(clusters):
        for j in range(i, len(clusters)):
            other = clusters[j]
            size = len(other) - (i == j)
            if size == 0:
                continue
            whole = size <= q
            take = size if whole else q
            owner = np.repeat(np.arange(len(own)), take)
            if whole:
                place = np.tile(np.arange(size), len(own))
            else:
                # Algorithm 3, step 5
                place = np.floor(rng.random_sample(len(owner)) * size).astype(np.int64)
            if i == j:
                # Step 5 may draw v = u, which costs nothing: the factor is then |V_i| - 1 in place
                # of |V_i|.
                place = place + (place >= owner)  # steps over the item itself
            pairs.append(np.column_stack([own[owner], other[place]]))
            weight = (1.0 if i == j else 2.0) * (1.0 if whole else size / q)  # Eq. (13)
            weights.append(np.full(len(owner), weight))
            cells.append(np.full(len(owner), -1) if whole else j * n + own[owner])
    if not pairs:
        return PairSample(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0, np.int64))
    return PairSample(*(np.concatenate(part) for part in (pairs, weights, cells)))


def _by_size(labels: Ints) -> list[Ints]:
    """Return the items of each cluster, largest first."""
    names, counts = np.unique(labels, return_counts=True)
    return [np.flatnonzero(labels == c) for c in names[np.argsort(-counts, kind="stable")]]


def cluster_inclusion(labels: Ints, pairs: Ints, q: int) -> Floats:
    """Return how likely `cluster_sample` is to draw a pair."""
    sizes = np.bincount(labels)[labels[pairs]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    partners = np.where(same, sizes[:, 0] - 1, sizes.min(axis=1))
    draws = np.where(same, 2 * q, q)  # within a cluster both may draw one another
    return np.where(partners <= q, 1.0, 1.0 - (1.0 - 1.0 / np.maximum(partners, 1)) ** draws)


# --- the baseline -----------------------------------------------------------------------------


@checked
def uniform_sample(n_items: int, n_pairs: int, random_state: Any = None) -> PairSample:
    """Draw pairs of items without regard to any pivot: what the schemes are compared with.

    Parameters
    ----------
    n_items : int
        Number of items.
    n_pairs : int
        Pairs to draw, all different; at most n_items (n_items - 1) / 2.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Returns
    -------
    sample : PairSample
        The pairs, each with weight n_items (n_items - 1) / n_pairs.

    Examples
    --------
    >>> from octavo.search import uniform_sample
    >>> sample = uniform_sample(4, 3, random_state=0)
    >>> len(sample.pairs), sample.weights.tolist()
    (3, [4.0, 4.0, 4.0])
    """
    n = as_count(n_items, "n_items", most=MOST)
    total = n * (n - 1) // 2
    m = as_count(n_pairs, "n_pairs", least=0, most=total)
    rng = check_random_state(random_state)
    if 2 * m > total and total > 50_000_000:
        raise ValueError(f"{m} of {total} pairs are too many to draw; ask about all of them.")
    if 2 * m > total:
        code = rng.permutation(total)[:m]
    else:
        code = _distinct_draws(np.array([m]), np.array([total]), rng)[1]
    # Pair number c of the lower triangle: row v, column u < v.
    v = np.floor((1.0 + np.sqrt(1.0 + 8.0 * code)) / 2.0).astype(np.int64)
    v += (v * (v + 1) // 2 <= code).astype(np.int64) - (v * (v - 1) // 2 > code)
    pairs = np.column_stack([code - v * (v - 1) // 2, v])
    return PairSample(pairs, np.full(m, n * (n - 1) / max(m, 1)))
