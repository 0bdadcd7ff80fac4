"""Non-negative vectors whose sums over groups of entries are bounded: nearest points.

The rows of `project_l1_balls` have one length; groups here have any, and lie anywhere in the
vector. Each group is lowered by one threshold, which is found by dropping entries below the
threshold that the rest needs until none is left to drop, without sorting: exact after finitely many
passes.

Reference: C. Michelot (1986), A finite algorithm for finding the projection of a point onto the
canonical simplex of R^n, Journal of Optimization Theory and Applications 50.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

__all__ = ["Groups", "group_entries", "largest_of_groups", "project_group_balls"]


class Groups(NamedTuple):
    """Entries by group: those of group g are ``order[bounds[g]:bounds[g + 1]]``."""

    order: NDArray[np.int64]
    bounds: NDArray[np.int64]


def group_entries(numbers: Any) -> Groups:
    """Return which entries belong to each group.

    Parameters
    ----------
    numbers : array-like of int of shape (n,)
        The group of each entry; entries with a negative number are in none.

    Returns
    -------
    Groups
        Entries by group.
    """
    numbers = np.asarray(numbers)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(
            "Groups must be a vector with the number of each feature's group, got an array of "
            f"shape {numbers.shape} and type {numbers.dtype}."
        )
    numbers = numbers.astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    order = order[np.searchsorted(numbers[order], 0) :]
    _, starts = np.unique(numbers[order], return_index=True)
    return Groups(order, np.append(starts, order.size).astype(np.int64))


@njit(cache=True, nogil=True)
def _below_top(point, order, first, last, radius):
    """Return the threshold that leaves the radius to the largest entries of a group."""
    top, ties = 0.0, 0
    for k in range(first, last):
        value = point[order[k]]
        if value > top:
            top, ties = value, 1
        elif value == top:
            ties += 1
    return top - radius / ties


@njit(cache=True, nogil=True)
def _project(point, order, bounds, radius, out):
    """Write the nearest point with non-negative entries and group sums of at most the radius."""
    for g in range(bounds.shape[0] - 1):
        first, last = bounds[g], bounds[g + 1]
        total = 0.0
        count = 0
        for k in range(first, last):
            value = point[order[k]]
            if value > 0.0:
                total += value
                count += 1
        threshold = 0.0
        if total > radius:
            # The mean excess: too small while some entries fall below it
            threshold = (total - radius) / count
            while True:
                total = 0.0
                left = 0
                for k in range(first, last):
                    value = point[order[k]]
                    if value > threshold:
                        total += value
                        left += 1
                if left == 0:  # the radius was lost to rounding beside the largest entries
                    threshold = _below_top(point, order, first, last, radius)
                    break
                if left >= count:
                    break
                count = left
                # Rises from round to round, for fewer entries share
                threshold = (total - radius) / count
        for k in range(first, last):
            out[order[k]] = max(point[order[k]] - threshold, 0.0)


@njit(cache=True, nogil=True)
def _largest(values, order, bounds, out):
    for g in range(bounds.shape[0] - 1):
        top = 0.0
        for k in range(bounds[g], bounds[g + 1]):
            top = max(top, values[order[k]])
        out[g] = top


def project_group_balls(point: Floats, groups: Groups, radius: float) -> Floats:
    """Return the nearest non-negative vector whose sum over each group is at most a radius.

    Parameters
    ----------
    point : ndarray of shape (n,)
        What to project.
    groups : Groups
        From `group_entries`; entries in no group become zero.
    radius : float
        The largest sum, not negative.

    Returns
    -------
    ndarray of shape (n,)
        The projection.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.projections.group_balls import group_entries, project_group_balls
    >>> groups = group_entries([0, 1, 0])
    >>> project_group_balls(np.array([3.0, 0.5, 1.5]), groups, 2.0).tolist()
    [1.75, 0.5, 0.25]
    """
    out = np.zeros(point.size)
    _project(point, groups.order, groups.bounds, float(radius), out)
    return out


def largest_of_groups(values: Floats, groups: Groups) -> Floats:
    """Return the largest entry of each group, at least zero.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Entries.
    groups : Groups
        From `group_entries`.

    Returns
    -------
    ndarray of shape (n_groups,)
        In the order of the groups' numbers.
    """
    out = np.empty(groups.bounds.size - 1)
    _largest(values, groups.order, groups.bounds, out)
    return out


def _warmup() -> None:
    groups = group_entries(np.array([0, 0]))
    project_group_balls(np.ones(2), groups, 1.0)
    largest_of_groups(np.ones(2), groups)
