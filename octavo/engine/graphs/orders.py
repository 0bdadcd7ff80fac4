"""Distances of rankings: pairs that two of them put in opposite order, places that items move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["discordant_pairs", "footrule", "kendall_distance"]


@njit(cache=True, nogil=True)
def _strict_inversions(values):
    """Return how many pairs a < b have values[a] > values[b]; sorts `values` on the way."""
    n = values.shape[0]
    spare = np.empty_like(values)
    count = 0
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            left, right = low, middle
            for place in range(low, high):
                if left < middle and (right >= high or values[left] <= values[right]):
                    spare[place] = values[left]
                    left += 1
                else:
                    spare[place] = values[right]
                    right += 1
                    count += middle - left  # each that is still waiting on the left is larger
        values, spare = spare, values
        width *= 2
    return count


def _tied_pairs(*keys: Floats) -> int:
    """Return how many pairs are equal in all keys."""
    _, counts = np.unique(np.stack(keys), axis=1, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def discordant_pairs(first: Floats, second: Floats) -> tuple[int, int]:
    """Return the pairs in opposite order, and those that both rankings order strictly.

    Parameters
    ----------
    first, second : ndarray of shape (n_items,)
        Ranks (or scores); NaN where an item is missing.

    Returns
    -------
    discordant, comparable : int
        The second counts pairs in which neither ranking has a tie or a missing item.
    """
    both = ~(np.isnan(first) | np.isnan(second))
    a, b = first[both], second[both]
    pairs = a.size * (a.size - 1) // 2
    if pairs == 0:
        return 0, 0
    # inclusion and exclusion of ties
    comparable = pairs - _tied_pairs(a) - _tied_pairs(b) + _tied_pairs(a, b)
    # Where `first` ties, sorting by `second` leaves no inversion.
    inversions = _strict_inversions(b[np.lexsort((b, a))].copy())
    return int(inversions), comparable


@checked
def kendall_distance(
    first: ArrayLike, second: ArrayLike, *, normalize: bool = False
) -> int | float:
    """Return how many pairs of items two partial rankings put in opposite order.

    Pairs that one of the two leaves open, by a tie or a missing item, are not counted.

    Parameters
    ----------
    first, second : array-like of shape (n_items,)
        Ranks, 1 is best, NaN is missing.
    normalize : bool, default=False
        Whether to divide by the number of pairs that both order; 0 where there is none.

    Returns
    -------
    distance : int or float
        Between 0 and the number of pairs; with ``normalize`` between 0 and 1.

    Examples
    --------
    >>> from octavo.ranking import kendall_distance
    >>> kendall_distance([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 4.0])
    1
    >>> kendall_distance([1.0, 2.0, 3.0], [3.0, 2.0, float("nan")], normalize=True)
    1.0
    """
    a, b = (np.asarray(ranks, dtype=np.float64) for ranks in (first, second))
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            "Two rankings of the same items are needed, as vectors of equal length; got shapes "
            f"{a.shape} and {b.shape}."
        )
    if not isinstance(normalize, (bool, np.bool_)):
        raise ValueError(f"normalize must be True or False; got {normalize!r}.")
    discordant, comparable = discordant_pairs(a, b)
    if normalize:
        return discordant / comparable if comparable else 0.0
    return discordant


@checked
def footrule(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's footrule: how many places all items move from one ranking to another.

    With D inversions between two permutations it lies between D and 2 D (Diaconis and Graham
    1977).

    Parameters
    ----------
    first, second : array-like of shape (n_items,)
        Positions of the items in two rankings.

    Returns
    -------
    distance : float
        Σ |first - second|.

    Examples
    --------
    >>> from octavo.search import footrule
    >>> footrule([0, 1, 2, 3], [3, 1, 2, 0])
    6.0
    """
    a, b = (np.asarray(places, dtype=np.float64) for places in (first, second))
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            "Two rankings of the same items are needed, as vectors of equal length; got shapes "
            f"{a.shape} and {b.shape}."
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("Positions must be finite; got NaN or infinity.")
    return float(np.abs(a - b).sum())


def _warmup() -> None:
    _strict_inversions(np.array([2.0, 1.0]))
