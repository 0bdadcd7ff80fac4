"""Comparisons "i and j are more alike than k and l": checks, and how many a distance respects.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Section 2 and
Appendix C.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array

__all__ = ["gauc_score"]

MOST_ITEMS = 2**31  # pairs of items are numbered in 64 bits


def _listed(rows: Indices) -> str:
    shown = ", ".join(str(row) for row in rows[:5])
    return f"row{'s' * (len(rows) > 1)} {shown}{', ...' * (len(rows) > 5)}"


def check_comparisons(comparisons: Any, n_items: int | None = None) -> Indices:
    """Return comparisons as rows (i, j, k, l); a triplet (i, j, k) stands for (i, j, i, k).

    Parameters
    ----------
    comparisons : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
        Positions of items.
    n_items : int, optional
        How many items there are; by default one more than the largest position.

    Returns
    -------
    ndarray of shape (n_comparisons, 4)
        Positions.

    Raises
    ------
    ValueError
        If rows name no items, one item twice in a pair, or one pair on both sides; the message
        lists them.
    """
    values = real_array(comparisons, "comparisons")
    if values.ndim != 2 or values.shape[1] not in (3, 4) or not len(values):
        raise ValueError(
            "comparisons must have four columns (i, j, k, l) or three (i, j, k) and at least one "
            f"row, got shape {values.shape}."
        )
    if values.shape[1] == 3:
        values = values[:, [0, 1, 0, 2]]
    limit = MOST_ITEMS if n_items is None else n_items
    wrong = ((values != np.floor(values)) | (values < 0) | (values >= limit)).any(axis=1)
    if wrong.any():
        rows = np.flatnonzero(wrong)
        seen = ", ".join(f"{v:g}" for v in values[rows[0]])
        raise ValueError(
            f"comparisons must hold positions 0 to {limit - 1}; {_listed(rows)}: the first is "
            f"({seen})."
        )
    rows4 = values.astype(np.int64)
    twice = (rows4[:, 0] == rows4[:, 1]) | (rows4[:, 2] == rows4[:, 3])
    if twice.any():
        rows = np.flatnonzero(twice)
        raise ValueError(
            "comparisons must be of pairs of two items each; an item is paired with itself in "
            f"{_listed(rows)}, the first is {tuple(rows4[rows[0]].tolist())}."
        )
    left, right = np.sort(rows4[:, :2], axis=1), np.sort(rows4[:, 2:], axis=1)
    same = (left == right).all(axis=1)
    if same.any():
        rows = np.flatnonzero(same)
        raise ValueError(
            "comparisons must be of two different pairs; both sides are one pair in "
            f"{_listed(rows)}, the first is {tuple(rows4[rows[0]].tolist())}."
        )
    return rows4


class PairList(NamedTuple):
    """Distinct unordered pairs, and for each comparison the pair that is closer and the other."""

    pairs: Indices
    closer: Indices
    farther: Indices


def distinct_pairs(comparisons: Indices) -> PairList:
    """Return the pairs that comparisons name, each once whatever the order of its items."""
    # {i, j} and {j, i} are one
    left, right = np.sort(comparisons[:, :2], axis=1), np.sort(comparisons[:, 2:], axis=1)
    both = np.concatenate([left, right])
    span = int(both.max()) + 1
    codes, places = np.unique(both[:, 0] * span + both[:, 1], return_inverse=True)
    pairs = np.column_stack([codes // span, codes % span])
    return PairList(pairs, places[: len(left)], places[len(left) :])


def respected(D: Floats, comparisons: Indices) -> Any:
    """Return for each comparison whether the first distance is the smaller one."""
    i, j, k, l = comparisons.T
    return D[i, j] < D[k, l]


@checked
def gauc_score(D: ArrayLike, C: ArrayLike) -> float:
    """Return the share of comparisons whose first pair is strictly closer (generalised AUC).

    For comparisons (i, j, i, k) of all relevant j with all irrelevant k this is the area under the
    ROC curve of ranking by distance from i, averaged over queries with as many such pairs.

    Parameters
    ----------
    D : array-like of shape (n_items, n_items)
        Distances, squared or not.
    C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
        Rows (i, j, k, l): i and j are more alike than k and l; or (i, j, k) for (i, j, i, k).

    Returns
    -------
    float
        Between 0 and 1; a tie counts as wrong, as in Appendix C of the paper.

    References
    ----------
    .. [1] McFee and Lanckriet (2011). Learning Multi-modal Similarity. JMLR 12:491-523.

    Examples
    --------
    >>> from octavo.metric import gauc_score
    >>> D = [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    >>> gauc_score(D, [[0, 1, 2], [2, 0, 1]])
    0.5
    """
    distances = real_array(D, "D")
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise ValueError(f"D must be square, got shape {distances.shape}.")
    return float(respected(distances, check_comparisons(C, len(distances))).mean())
