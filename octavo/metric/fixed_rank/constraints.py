"""From labels to pairs with bounds on their distances.

Reference: Meyer, Bonnabel and Sepulchre (2011), Sections 10.2.1 and 10.3.1; Davis et al. (2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.estimators.doubles import real_array
from octavo.metric.fixed_rank.losses import AT_LEAST, AT_MOST

MOST_PAIRS = 100_000  # of "auto"
_PAIRS_A_ROW = 10


def default_pairs(n_samples: int, n_classes: int) -> int:
    """Return 40 c (c - 1), the paper's number, or ten pairs a row where that is more."""
    by_rows = min(_PAIRS_A_ROW * n_samples, MOST_PAIRS)
    return max(40 * n_classes * (n_classes - 1), by_rows)


def label_pairs(codes: Indices, n_pairs: int, rng: np.random.RandomState) -> tuple[Indices, Ints]:
    """Draw pairs, half of one class and half of two.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes as 0, 1, ..., at least two of them.
    n_pairs : int
        How many.
    rng : RandomState
        Draws them.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
        Positions of rows.
    relation : ndarray of shape (n_pairs,)
        1 (at most) for the same class, -1 (at least) for two.
    """
    n = len(codes)
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    crowded = np.flatnonzero(sizes[codes] > 1)
    n_same = n_pairs // 2 if crowded.size else 0
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    pairs = np.empty((n_pairs, 2), dtype=np.intp)
    if n_same:
        i = crowded[rng.randint(crowded.size, size=n_same)]
        size, start = sizes[codes[i]], starts[codes[i]]
        # A shift of 1 to size - 1 around the ring of the class: never the row itself.
        shift = 1 + np.floor(rng.random_sample(n_same) * (size - 1)).astype(np.intp)
        pairs[:n_same] = np.column_stack([i, order[start + (place[i] - start + shift) % size]])
    i = rng.randint(n, size=n_pairs - n_same)
    size, start = sizes[codes[i]], starts[codes[i]]
    other = np.floor(rng.random_sample(n_pairs - n_same) * (n - size)).astype(np.intp)
    other = np.where(other >= start, other + size, other)  # over the class of i
    pairs[n_same:] = np.column_stack([i, order[other]])
    relation = np.full(n_pairs, AT_LEAST, dtype=np.int64)
    relation[:n_same] = AT_MOST
    return pairs, relation


def percentile_bounds(distances: Floats, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the two percentiles of squared distances; refuse two that are equal."""
    # Section 10.3.1: 5th and 95th, where print lists them the other way round
    low, high = (float(v) for v in np.percentile(distances, bounds))
    if not low < high:
        raise ValueError(
            f"The percentiles {bounds[0]:g} and {bounds[1]:g} of the squared distances are both "
            f"{low:g}: bounds must differ. The data hold few distinct values; choose bounds "
            "further apart, or give pairs with targets of your own."
        )
    return low, high


def check_pairs(pairs: Any, n_items: int) -> Indices:
    """Return pairs of positions; refuse shapes, fractions, and items that do not exist."""
    values = real_array(pairs, "pairs")
    if values.ndim != 2 or values.shape[1] != 2 or not len(values):
        raise ValueError(
            f"pairs must have shape (n_pairs, 2) and at least one row, got {values.shape}."
        )
    wrong = np.flatnonzero(
        ((values != np.floor(values)) | (values < 0) | (values >= n_items)).any(axis=1)
    )
    if wrong.size:
        i, j = values[wrong[0]]
        raise ValueError(
            f"pairs must hold positions 0 to {n_items - 1}; pair {wrong[0]} is ({i:g}, {j:g})."
        )
    same = np.flatnonzero(values[:, 0] == values[:, 1])
    if same.size:
        raise ValueError(
            f"pairs must name two items each; pair {same[0]} names item {values[same[0], 0]:g} "
            "twice."
        )
    return values.astype(np.intp)


def check_pair_targets(target: Any, n_pairs: int) -> Floats:
    """Return one target a pair; a single number stands for all."""
    values = real_array(target, "target")
    if values.ndim == 0:
        values = np.full(n_pairs, float(values))
    if values.shape != (n_pairs,):
        raise ValueError(
            f"target must have one entry for each of the {n_pairs} pairs, got shape {values.shape}."
        )
    return values.astype(np.float64)
