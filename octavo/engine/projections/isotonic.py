"""Isotonic regression on chains and rooted forests, least squares or least absolute deviations.

    min_z  Σ w_i ½(z_i - x_i)²   or   Σ w_i |z_i - x_i|   subject to   z_i ≥ z_parent(i)

A chain is the forest in which every node hangs on the one before it. Least squares merges blocks
from the leaves to the roots, each keeping the blocks that hang on it in a heap by their means:
O(n log n). Least absolute deviations halves the range of values: whether a node lies above or
below the middle is a minimum closure, which one pass over a forest finds; log n passes.

References: P. M. Pardalos and G. Xue (1999), "Algorithms for a class of isotonic regression
problems"; Q. F. Stout (2013), "Isotonic regression via partitioning".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats


class IsotonicFit(NamedTuple):
    """The projection, and for each node the root of its block (least squares) or its level."""

    values: Floats
    blocks: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _pool_chain(x, w, values, blocks):
    """Pool adjacent violators; blocks are named by their first node."""
    n = x.shape[0]
    mean, mass, first = np.empty(n), np.empty(n), np.empty(n, np.int64)
    top = -1
    for i in range(n):
        top += 1
        mean[top], mass[top], first[top] = x[i], w[i], i
        while top > 0 and mean[top - 1] > mean[top]:
            total = mass[top - 1] + mass[top]
            # The pooled mean, without a sum of large numbers
            mean[top - 1] += (mean[top] - mean[top - 1]) * (mass[top] / total)
            mass[top - 1] = total
            top -= 1
    end = n
    for block in range(top, -1, -1):
        for i in range(first[block], end):
            values[i] = mean[block]
            blocks[i] = first[block]
        end = first[block]


@njit(cache=True, nogil=True)
def _leaves_first(parents, order):
    """Fill an order in which every node comes before its parent; return how many it holds."""
    n = parents.shape[0]
    waiting = np.zeros(n, np.int64)
    for i in range(n):
        if parents[i] >= 0:
            waiting[parents[i]] += 1
    count = 0
    for i in range(n):
        if waiting[i] == 0:
            order[count] = i
            count += 1
    done = 0
    while done < count:
        p = parents[order[done]]
        done += 1
        if p >= 0:
            waiting[p] -= 1
            if waiting[p] == 0:
                order[count] = p
                count += 1
    return count


@njit(cache=True, nogil=True)
def _meld(a, b, key, left, right):
    """Join two skew heaps by their roots; the smallest key is on top."""
    if a < 0:
        return b
    if b < 0:
        return a
    if key[b] < key[a]:
        a, b = b, a
    root, here = a, a
    while True:
        below = right[here]
        right[here] = left[here]
        if below < 0:
            left[here] = b
            return root
        if key[b] < key[below]:
            below, b = b, below
        left[here] = below
        here = below


@njit(cache=True, nogil=True)
def _pool_forest(x, w, parents, order, values, blocks):
    """Merge each node with the lowest block that hangs on it until none lies below it."""
    n = x.shape[0]
    mean, mass = x.copy(), w.copy()
    left, right = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    hanging, taken_by = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for place in range(n):
        i = order[place]
        heap = hanging[i]
        # The lowest block beneath lies below its parent: pool
        while heap >= 0 and mean[heap] < mean[i]:
            low = heap
            total = mass[i] + mass[low]
            mean[i] += (mean[low] - mean[i]) * (mass[low] / total)
            mass[i] = total
            heap = _meld(left[low], right[low], mean, left, right)
            heap = _meld(heap, hanging[low], mean, left, right)
            taken_by[low] = i
        hanging[i] = heap
        left[i] = right[i] = -1
        p = parents[i]
        if p >= 0:
            hanging[p] = _meld(hanging[p], i, mean, left, right)
    for place in range(n - 1, -1, -1):
        i = order[place]
        if taken_by[i] < 0:
            values[i], blocks[i] = mean[i], i
        else:
            values[i], blocks[i] = values[taken_by[i]], blocks[taken_by[i]]


@njit(cache=True, nogil=True)
def _halve_forest(level, w, parents, order, low, high):
    """Narrow [low, high], a range of levels for each node, until it is a single one."""
    n = level.shape[0]
    above, below = np.empty(n), np.empty(n)  # cost of putting a node, with all beneath, there
    up = np.empty(n, np.bool_)
    while True:
        open_ranges = False
        for i in range(n):
            above[i] = below[i] = 0.0
        for place in range(n):
            i = order[place]
            if low[i] == high[i]:
                continue
            open_ranges = True
            middle = (low[i] + high[i]) // 2
            # Cost of "above the middle" less cost of "at most the middle"
            above[i] += w[i] if level[i] <= middle else -w[i]
            p = parents[i]
            if p >= 0 and low[p] == low[i] and high[p] == high[i]:
                above[p] += above[i]
                # Free beneath a node that is below, up beneath one above
                below[p] += min(above[i], below[i])
        if not open_ranges:
            return
        for place in range(n - 1, -1, -1):
            i = order[place]
            p = parents[i]
            forced = p >= 0 and low[p] == low[i] and high[p] == high[i] and up[p]
            up[i] = forced or above[i] < below[i]
        for i in range(n):
            if low[i] < high[i]:
                middle = (low[i] + high[i]) // 2
                if up[i]:
                    low[i] = middle + 1
                else:
                    high[i] = middle


def _checked(x: Any, weights: Any) -> tuple[Floats, Floats]:
    x = np.ascontiguousarray(x, dtype=np.float64)
    weights = np.ones(len(x)) if weights is None else np.ascontiguousarray(weights, np.float64)
    if x.ndim != 1 or weights.shape != x.shape:
        raise ValueError(
            f"x and weights must be vectors of one length; got {x.shape} and {weights.shape}."
        )
    if not (np.isfinite(x).all() and np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError("x must be finite, and weights finite and positive.")
    return x, weights


def isotonic_chain(x: Any, weights: Any = None, *, loss: str = "l2") -> IsotonicFit:
    """Return the non-decreasing sequence nearest to x.

    Parameters
    ----------
    x : array-like of shape (n,)
        What is projected.
    weights : array-like of shape (n,), default=None
        Positive; ones by default.
    loss : {"l2", "l1"}, default="l2"
        Squares or absolute values.

    Returns
    -------
    IsotonicFit
        Values, and blocks of equal values that were pooled.

    Examples
    --------
    >>> from octavo.engine.projections.isotonic import isotonic_chain
    >>> isotonic_chain([1.0, 3.0, 2.0, 4.0]).values
    array([1. , 2.5, 2.5, 4. ])
    """
    x, weights = _checked(x, weights)
    if loss == "l1":
        return isotonic_forest(x, np.arange(-1, len(x) - 1), weights, loss=loss)
    values, blocks = np.empty(len(x)), np.empty(len(x), np.int64)
    _pool_chain(x, weights, values, blocks)
    return IsotonicFit(values, blocks)


def isotonic_forest(x: Any, parents: Any, weights: Any = None, *, loss: str = "l2") -> IsotonicFit:
    """Return the nearest values that do not fall from a parent to its child.

    Parameters
    ----------
    x : array-like of shape (n,)
        What is projected.
    parents : array-like of int of shape (n,)
        The parent of each node; -1 for a root.
    weights : array-like of shape (n,), default=None
        Positive; ones by default.
    loss : {"l2", "l1"}, default="l2"
        Squares or absolute values.

    Returns
    -------
    IsotonicFit
        Values, and blocks of equal values that were pooled.
    """
    x, weights = _checked(x, weights)
    parents = np.ascontiguousarray(parents, dtype=np.int64)
    n = len(x)
    if parents.shape != (n,) or (n and (parents.min() < -1 or parents.max() >= n)):
        raise ValueError(f"parents must hold {n} numbers from -1 to {n - 1}, one a node.")
    order = np.empty(n, np.int64)
    if _leaves_first(parents, order) < n:
        raise ValueError("parents must form a forest; they run in a circle.")
    if loss == "l2":
        values, blocks = np.empty(n), np.empty(n, np.int64)
        _pool_forest(x, weights, parents, order, values, blocks)
        return IsotonicFit(values, blocks)
    distinct, level = np.unique(x, return_inverse=True)
    low, high = np.zeros(n, np.int64), np.full(n, max(len(distinct) - 1, 0), np.int64)
    _halve_forest(level.ravel().astype(np.int64), weights, parents, order, low, high)
    return IsotonicFit(distinct[low] if n else x, low)


def _warmup() -> None:
    x = np.array([1.0, 0.0])
    isotonic_chain(x)
    for loss in ("l1", "l2"):
        isotonic_forest(x, np.array([-1, 0]), loss=loss)
