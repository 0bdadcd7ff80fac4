"""Orders of variables: those that a search has visited, and the one that a matrix says.

Section 3.3 of Henao and Winther (2011); the deterministic search is that of S. Shimizu, P. O.
Hoyer, A. Hyvärinen and A. Kerminen (2006), "A linear non-Gaussian acyclic model for causal
discovery", JMLR 7, which the paper calls DS.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.checked import checked

__all__ = ["OrderCandidate", "deterministic_order", "is_causal_order"]


class OrderCandidate(NamedTuple):
    """An order that a search has visited.

    Attributes
    ----------
    order : tuple of int
        Columns, causes before effects.
    frequency : float
        Share of the visits.
    """

    order: tuple[int, ...]
    frequency: float


def rank_orders(visited: Any, n_candidates: int) -> list[OrderCandidate]:
    """Return the orders that were visited most often, most frequent first."""
    rows = np.ascontiguousarray(visited)
    found, first, counts = np.unique(
        rows.view([("", rows.dtype)] * rows.shape[1]), return_index=True, return_counts=True
    )
    # the most frequent first, the first visited of equals
    best = np.lexsort((first, -counts))[:n_candidates]
    total = counts.sum()
    return [
        OrderCandidate(tuple(int(i) for i in rows[first[k]]), float(counts[k] / total))
        for k in best
    ]


def _as_order(order: Any, d: int) -> Ints:
    found = np.asarray(order)
    if found.shape != (d,) or sorted(found.tolist()) != list(range(d)):
        raise ValueError(
            f"order must hold each of the columns 0 to {d - 1} once, causes before effects; got "
            f"{found.tolist()}."
        )
    return found.astype(np.int64)


def check_order(order: Any, d: int) -> Ints:
    """Return an order of d columns as integers; refuse what is none."""
    try:
        return _as_order(order, d)
    except TypeError:
        raise ValueError(f"order must be a list of {d} columns; got {order!r}.") from None


@checked
def is_causal_order(order: Any, B: Any) -> bool:
    """Tell whether every cause stands before its effects.

    Parameters
    ----------
    order : array-like of shape (d,)
        Columns, first causes first.
    B : array-like of shape (d, d)
        Effects: B[i, j] is not zero where j acts on i.

    Returns
    -------
    right : bool
        Whether the order has B strictly lower triangular.

    Examples
    --------
    >>> from octavo.graphical import is_causal_order
    >>> B = [[0, 0, 2.0], [0.5, 0, 0], [0, 0, 0]]  # 2 acts on 0, and 0 on 1
    >>> is_causal_order([2, 0, 1], B), is_causal_order([0, 2, 1], B)
    (True, False)
    """
    B = check_array(B, dtype=np.float64)
    if B.shape[0] != B.shape[1]:
        raise ValueError(f"B must be square, got the shape {B.shape}.")
    place = np.argsort(check_order(order, len(B)))
    effects, causes = np.nonzero(B)
    return bool(np.all(place[causes] < place[effects]))


def _triangular_order(B: Any) -> list[int] | None:
    """Return an order in which B is strictly lower triangular, or None."""
    left, order = list(range(len(B))), []
    while left:
        roots = [i for i in left if not B[i, left].any()]
        if not roots:
            return None
        order.append(roots[0])
        left.remove(roots[0])
    return order


@checked
def deterministic_order(D: Any) -> tuple[int, ...]:
    """Return the causal order that a mixing matrix says, by assignment and pruning.

    Parameters
    ----------
    D : array-like of shape (d, d)
        The mixing matrix of x = Dz, columns in any order and scale: from independent components,
        or from a factor model.

    Returns
    -------
    order : tuple of int
        Columns of x, causes before effects.

    Notes
    -----
    With W the inverse of D, rows are assigned to variables so that no diagonal entry is small,
    rows are divided by it, and the smallest entries of I - W are put to zero until an order makes
    the rest triangular.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import deterministic_order
    >>> B = np.array([[0, 0, 2.0], [0.5, 0, 0], [0, 0, 0]])
    >>> D = np.linalg.inv(np.eye(3) - B)[:, [1, 2, 0]] * [3.0, -1.0, 0.5]
    >>> deterministic_order(D)
    (2, 0, 1)
    """
    D = check_array(D, dtype=np.float64)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"D must be square, got the shape {D.shape}.")
    d = len(D)
    scale = np.abs(D).max(axis=0)
    if scale.min() == 0.0 or np.linalg.matrix_rank(D / scale) < d:
        raise ValueError("D must have an inverse: a column is zero or follows from the others.")
    W = np.linalg.inv(D / scale)
    # the rows of W = D⁻¹ in the order with no zeros on the diagonal
    _, rows = linear_sum_assignment(1.0 / np.maximum(np.abs(W.T), 1e-300))
    W = W[rows]
    B = np.eye(d) - W / np.diag(W)[:, None]  # B = I - W, W scaled to ones on the diagonal
    np.fill_diagonal(B, 0.0)
    smallest = np.argsort(np.abs(B) + np.where(np.eye(d, dtype=bool), np.inf, 0.0), axis=None)
    for n_zeros in range(d * (d - 1) // 2, d * (d - 1) + 1):
        pruned = B.copy()
        # as many of the smallest effects as a triangle needs, then one more at a time
        pruned.flat[smallest[:n_zeros]] = 0.0
        order = _triangular_order(pruned)
        if order is not None:
            break
    return tuple(int(i) for i in order or range(d))
