"""Correlation clustering: labels that disagree least with signed weights of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.search.active_pairs.asking import as_count
from octavo.search.active_pairs.sampling import as_labels

__all__ = ["correlation_cluster_exact", "correlation_cluster_local"]

ENUMERATED = 10  # items up to which all partitions are looked at
LARGEST = 25  # items up to which the integer program ends in reasonable time


def _as_signed(W: Any) -> sp.csr_array:
    """Return symmetric signed weights without a diagonal."""
    table = sp.csr_array(W, dtype=np.float64) if sp.issparse(W) else np.asarray(W, np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.shape[0] == 0:
        raise ValueError(
            f"W must be a square matrix, a row and a column an item; got {table.shape}."
        )
    values: Any = table.data if sp.issparse(table) else table
    if not np.isfinite(values).all() or (values.size and np.abs(values).max() > 1e150):
        raise ValueError("W must hold finite weights, none beyond 1e150.")
    table = sp.csr_array(table)
    table.sum_duplicates()
    gap = abs(table - table.T)
    if gap.nnz and gap.max() > 1e-9 * abs(table).max():
        raise ValueError("W must be symmetric: a pair has one weight.")
    table = sp.csr_array(table - sp.diags_array(table.diagonal()))
    table.eliminate_zeros()
    return table


def disagreement(W: sp.csr_array, labels: Ints) -> float:
    """Return Σ over pairs of W⁺ where they are apart and of W⁻ where they are together."""
    arcs = W.tocoo()
    together = labels[arcs.coords[0]] == labels[arcs.coords[1]]
    # every pair stands twice in W
    return float(np.abs(arcs.data[together == (arcs.data < 0.0)]).sum() / 2.0)


def _move_items(W: sp.csr_array, labels: Ints, k: int, slack: float) -> Ints:
    """Move single items to the best of k clusters until none gains."""
    n = len(labels)
    scores = np.zeros((n, k))
    arcs = W.tocoo()
    np.add.at(scores, (arcs.coords[0], labels[arcs.coords[1]]), arcs.data)
    moved = True
    while moved:
        moved = False
        for u in range(n):
            best = int(np.argmax(scores[u]))  # cluster by cluster, what u gains by being there
            if scores[u, best] > scores[u, labels[u]] + slack:
                own = slice(W.indptr[u], W.indptr[u + 1])
                scores[W.indices[own], labels[u]] -= W.data[own]
                scores[W.indices[own], best] += W.data[own]
                labels[u] = best
                moved = True
    return labels


def _merge(W: sp.csr_array, labels: Ints, k: int, slack: float) -> bool:
    """Merge the two clusters that gain most by it; False where none gains."""
    Z = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), (len(labels), k))
    between = (Z.T @ W @ Z).toarray()
    np.fill_diagonal(between, 0.0)
    # together minus apart, summed between two clusters
    a, b = np.unravel_index(int(np.argmax(between)), between.shape)
    if between[a, b] <= slack:
        return False
    labels[labels == b] = a
    return True


def settle(W: sp.csr_array, labels: Ints, k: int) -> Ints:
    """Move items and merge clusters until neither helps."""
    labels = np.array(labels, dtype=np.int64)
    slack = 1e-12 * (float(abs(W).max()) if W.nnz else 1.0)
    labels = _move_items(W, labels, k, slack)
    while _merge(W, labels, k, slack):
        labels = _move_items(W, labels, k, slack)
    return labels


def tidy(labels: Ints) -> Ints:
    """Return labels numbered by first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def best_settled(W: sp.csr_array, start: Ints | None, k: int, n_init: int, rng: Any) -> Ints:
    """Return the best of local searches from a start, from one cluster, and from random labels."""
    n = W.shape[0]
    starts = [np.zeros(n, dtype=np.int64)] if start is None else [start]
    starts += [rng.randint(0, k, size=n) for _ in range(n_init)]
    return min((settle(W, one, k) for one in starts), key=lambda x: disagreement(W, x))


@checked
def correlation_cluster_local(
    W: Any,
    n_clusters: int | None = None,
    *,
    start: Any = None,
    n_init: int = 4,
    random_state: Any = None,
) -> tuple[Ints, float]:
    """Cluster by signed weights: no move of an item and no merger of two clusters improves it.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_items, n_items)
        Symmetric; positive where two items should be together, negative where apart.
    n_clusters : int or None, default=None
        Most clusters; None for no limit (up to 1,000 items).
    start : array-like of shape (n_items,), optional
        Labels to start from; by default a single cluster.
    n_init : int, default=4
        Random starts besides.
    random_state : int, RandomState instance or None, default=None
        Source of the starts.

    Returns
    -------
    labels : ndarray of shape (n_items,)
        Clusters, numbered by first appearance.
    weight : float
        Weight of the pairs that are apart against a positive or together against a negative entry.

    Examples
    --------
    >>> from octavo.search import correlation_cluster_local
    >>> W = [[0, 2, -1], [2, 0, -1], [-1, -1, 0]]
    >>> labels, weight = correlation_cluster_local(W, 2, random_state=0)
    >>> print(labels, weight)
    [0 0 1] 0.0
    """
    table = _as_signed(W)
    n = table.shape[0]
    k = n if n_clusters is None else min(as_count(n_clusters, "n_clusters"), n)
    if n_clusters is None and n > 1000:
        raise ValueError(f"Without n_clusters at most 1000 items are taken; got {n}.")
    tries = as_count(n_init, "n_init", least=0, most=10_000)
    if start is not None:
        start = tidy(as_labels(start, "start"))
        if len(start) != n or start.max() >= k:
            raise ValueError(f"start must give each of {n} items one of at most {k} clusters.")
    labels = best_settled(table, start, k, tries, check_random_state(random_state))
    return tidy(labels), disagreement(table, labels)


def _all_partitions(n: int, k: int) -> Ints:
    """Return the partitions into at most k clusters, as labels by first appearance."""
    rows = np.zeros((1, 1), dtype=np.int64)
    for _ in range(n - 1):
        choices = np.minimum(rows.max(axis=1) + 2, k)
        owner = np.repeat(np.arange(len(rows)), choices)
        last = np.arange(len(owner)) - np.repeat(np.cumsum(choices) - choices, choices)
        rows = np.column_stack([rows[owner], last])
    return rows


def _by_program(W: Floats, k: int) -> Ints:
    """Return the best labels by an integer program: triangles of "together", k representatives.

    An item represents its cluster if no smaller one is together with it, which counts clusters.
    """
    n = len(W)
    u, v = np.triu_indices(n, 1)
    m = len(u)
    number = np.zeros((n, n), dtype=np.int64)
    number[u, v] = number[v, u] = np.arange(m)
    i, j, l = (np.array(x) for x in zip(*[
        (a, b, c) for a in range(n) for b in range(n) for c in range(b + 1, n) if a not in (b, c)
    ]))  # fmt: skip
    row = np.repeat(np.arange(len(i)), 3)
    column = np.column_stack([number[i, j], number[i, l], number[j, l]]).ravel()
    # together(i, j) + together(i, l) - together(j, l) <= 1
    triangles = sp.csr_array(
        (np.tile([1.0, 1.0, -1.0], len(i)), (row, column)), shape=(len(i), m + n)
    )
    # 1 - Σ_{w < u} together(w, u) <= representative(u), and at most k of these.
    heads = sp.csr_array(
        (
            np.concatenate([np.ones(m), np.ones(n)]),
            (np.concatenate([v, np.arange(n)]), np.concatenate([np.arange(m), m + np.arange(n)])),
        ),
        shape=(n, m + n),
    )
    count = sp.csr_array(np.concatenate([np.zeros(m), np.ones(n)])[None, :])
    scale = np.abs(W).max() or 1.0
    found = milp(
        np.concatenate([-W[u, v] / scale, np.zeros(n)]),
        integrality=np.ones(m + n),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(triangles, -np.inf, 1.0),
            LinearConstraint(heads, 1.0, np.inf),
            LinearConstraint(count, 0.0, k),
        ],
    )
    together = np.eye(n, dtype=bool)
    together[u, v] = together[v, u] = found.x[:m] > 0.5
    return tidy(np.argmax(together, axis=1))


@checked
def correlation_cluster_exact(W: Any, n_clusters: int | None = None) -> tuple[Ints, float]:
    """Return labels of the least disagreement with signed weights.

    Up to 10 items all partitions are looked at, up to 25 an integer program is solved.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_items, n_items)
        Symmetric; positive where two items should be together, negative where apart.
    n_clusters : int or None, default=None
        Most clusters; None for no limit.

    Returns
    -------
    labels : ndarray of shape (n_items,)
        Clusters, numbered by first appearance.
    weight : float
        Weight of the pairs that are apart against a positive or together against a negative entry.

    Examples
    --------
    >>> from octavo.search import correlation_cluster_exact
    >>> labels, weight = correlation_cluster_exact([[0, 2, 1], [2, 0, -1], [1, -1, 0]])
    >>> print(labels, weight)
    [0 0 0] 1.0
    """
    table = _as_signed(W)
    n = table.shape[0]
    k = n if n_clusters is None else min(as_count(n_clusters, "n_clusters"), n)
    if n > LARGEST:
        raise ValueError(
            f"The exact search takes at most {LARGEST} items; got {n}. Use "
            "correlation_cluster_local."
        )
    if n <= ENUMERATED:
        rows = _all_partitions(n, k)
        u, v = np.triu_indices(n, 1)
        kept = (rows[:, u] == rows[:, v]) @ table.toarray()[u, v]
        labels = rows[int(np.argmax(kept))]
    else:
        labels = _by_program(table.toarray(), k)
    return labels, disagreement(table, labels)
