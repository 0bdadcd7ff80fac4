"""Orders that violate little preference, where few of all pairs carry one.

`octavo.engine.graphs.feedback_arcs` looks at all n² pairs. Here an item is moved by looking at its
own arcs alone: only the places next to its neighbours can be better than where it stands, and
running sums over the neighbours in the order of their places give the change at each. An item is
looked at again only after a neighbour has moved, since nothing else changes those sums.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.graphs.feedback_arcs import OrderedItems


def violated_arcs(weights: sp.csr_array, order: Indices) -> float:
    """Return the weight of the preferences that an order violates.

    Parameters
    ----------
    weights : sparse array of shape (n, n)
        How strongly each row is preferred to each column.
    order : ndarray of shape (n,)
        The items, best first.

    Returns
    -------
    weight : float
        Σ weights[j, i] over all i before j.
    """
    arcs = weights.tocoo()
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return float(arcs.data[position[arcs.coords[0]] > position[arcs.coords[1]]].sum())


@njit(cache=True, nogil=True)
def _insert_along_arcs(indptr, indices, net, order, position, slack, max_iter):
    """Move items past their neighbours until none gains; return the number of sweeps."""
    n = order.shape[0]
    waiting = np.ones(n, dtype=np.bool_)
    for sweep in range(max_iter):
        moved = False
        for item in range(n):
            if not waiting[item]:
                continue
            waiting[item] = False
            low, high = indptr[item], indptr[item + 1]
            places = position[indices[low:high]]
            sorting = np.argsort(places)
            here = position[item]
            split = 0
            while split < sorting.shape[0] and places[sorting[split]] < here:
                split += 1
            best, target, change = -slack, here, 0.0
            for k in range(split - 1, -1, -1):
                change += net[low + sorting[k]]  # what is lost by passing in front of it
                if change < best:
                    best, target = change, places[sorting[k]]
            change = 0.0
            for k in range(split, sorting.shape[0]):
                change -= net[low + sorting[k]]  # what is gained by passing behind it
                if change < best:
                    best, target = change, places[sorting[k]]
            if target == here:
                continue
            moved = True
            step = 1 if target > here else -1
            for place in range(here, target, step):
                order[place] = order[place + step]
                position[order[place]] = place
            order[target] = item
            position[item] = target
            for k in range(low, high):
                waiting[indices[k]] = True
        if not moved:
            return sweep + 1
    return max_iter


def net_wins(weights: sp.csr_array) -> Floats:
    """Return what each item wins less what it loses.

    Parameters
    ----------
    weights : sparse array of shape (n, n)
        How strongly each row is preferred to each column.

    Returns
    -------
    ndarray of shape (n,)
        Row sums less column sums.
    """
    return np.asarray(weights.sum(axis=1)).ravel() - np.asarray(weights.sum(axis=0)).ravel()


def sparse_feedback_arcs_local(
    weights: sp.csr_array, order: Indices | None = None, *, max_iter: int = 1000
) -> OrderedItems:
    """Return an order that no move of a single item improves.

    Parameters
    ----------
    weights : sparse array of shape (n, n)
        How strongly each row is preferred to each column.
    order : ndarray of shape (n,), optional
        Where to start; by default the items by what they win less what they lose.
    max_iter : int, default=1000
        Largest number of sweeps over the items.

    Returns
    -------
    ordered : OrderedItems
        The order, best first, and the weight it violates.
    """
    weights = sp.csr_array(weights)
    lost = sp.csr_array(weights.T - weights)  # entry (u, v): net weight of "v before u"
    lost.eliminate_zeros()
    if order is None:
        order = np.argsort(-net_wins(weights), kind="stable")
    order = np.array(order, dtype=np.int64)
    if order.size and lost.nnz:
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        # Moving u in front of v costs the net weight of "v before u".
        data = np.ascontiguousarray(lost.data, dtype=np.float64)
        slack = 1e-12 * np.abs(data).max()
        _insert_along_arcs(
            lost.indptr.astype(np.int64),
            lost.indices.astype(np.int64),
            data,
            order,
            position,
            slack,
            max_iter,
        )
    return OrderedItems(order, violated_arcs(weights, order))


def _warmup() -> None:
    sparse_feedback_arcs_local(sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]])))
