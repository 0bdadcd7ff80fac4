"""The K labellings of a rooted tree with the largest scores, by lists that travel from the leaves.

`scores[v, a, b]` is the score of vertex v with label b under a parent with label a; the root reads
its row `[root, 0, :]`. Every vertex keeps, for each of its labels, the K best labellings of what
hangs below it; merging two sorted lists looks at pairs of ranks (r, s) with (r + 1)(s + 1) <= K
only, because a pair beyond them has K better ones. Equal scores are kept in the order in which
they are met, so that the answer is always the same.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices

__all__ = ["k_best_labellings"]


@njit(cache=True, nogil=True)
def _keep(values, first, second, n, K, value, a, b):
    """Put a value with two pointers into a sorted list of at most K; return its new length."""
    if n == K and value <= values[K - 1]:
        return n
    i = n if n < K else K - 1
    while i > 0 and values[i - 1] < value:
        values[i] = values[i - 1]
        first[i] = first[i - 1]
        second[i] = second[i - 1]
        i -= 1
    values[i] = value
    first[i] = a
    second[i] = b
    return min(n + 1, K)


@njit(cache=True, nogil=True)
def fill_k_best(parent, order, scores, K, labels, totals):
    """Write the K best labellings and their scores, best first; return how many there are."""
    n, L = scores.shape[0], scores.shape[1]
    best = np.zeros((n, L, K))  # of the subtree below v when v has that label
    count = np.ones((n, L), dtype=np.int64)
    sent = np.empty(K)  # the message of a child, for one label of its parent
    merged = np.empty(K)
    label_of = np.zeros((n, L, K), dtype=np.int32)  # own label and rank behind a message
    rank_of = np.zeros((n, L, K), dtype=np.int32)
    before = np.zeros((n, L, K), dtype=np.int32)  # ranks in the parent's list and in the message
    within = np.zeros((n, L, K), dtype=np.int32)
    for position in range(n - 1, 0, -1):
        v = order[position]
        p = parent[v]
        for a in range(L):
            n_sent = 0
            for b in range(L):
                for r in range(count[v, b]):
                    value = best[v, b, r] + scores[v, a, b]
                    if n_sent == K and value <= sent[K - 1]:
                        break
                    n_sent = _keep(sent, label_of[v, a], rank_of[v, a], n_sent, K, value, b, r)
            n_merged = 0
            for r in range(count[p, a]):
                # (r + 1)(s + 1) ≤ K: pairs beyond have K better ones
                for s in range(min(n_sent, K // (r + 1))):
                    value = best[p, a, r] + sent[s]
                    if n_merged == K and value <= merged[K - 1]:
                        break
                    n_merged = _keep(merged, before[v, a], within[v, a], n_merged, K, value, r, s)
            for r in range(n_merged):
                best[p, a, r] = merged[r]
            count[p, a] = n_merged
    root = order[0]
    top_label = np.zeros(K, dtype=np.int32)
    top_rank = np.zeros(K, dtype=np.int32)
    found = 0
    for b in range(L):
        for r in range(count[root, b]):
            value = best[root, b, r] + scores[root, 0, b]
            found = _keep(totals, top_label, top_rank, found, K, value, b, r)
    ranks = np.zeros(n, dtype=np.int32)
    for i in range(found):
        labels[i, root] = top_label[i]
        ranks[root] = top_rank[i]
        for position in range(1, n):  # siblings in the reverse of the order of their merging
            v = order[position]
            p = parent[v]
            a, r = labels[i, p], ranks[p]
            s = within[v, a, r]  # the last child merged is taken apart first
            ranks[p] = before[v, a, r]
            labels[i, v] = label_of[v, a, s]
            ranks[v] = rank_of[v, a, s]
    return found


def k_best_labellings(
    parent: Indices, order: Indices, scores: Floats, K: int
) -> tuple[Indices, Floats]:
    """Return the K labellings of a tree with the largest scores.

    Parameters
    ----------
    parent : ndarray of shape (n,)
        -1 at the root.
    order : ndarray of shape (n,)
        Parents before children.
    scores : ndarray of shape (n, L, L)
        Of each vertex under its parent, finite; of the root in ``[root, 0, :]``.
    K : int
        How many are wanted.

    Returns
    -------
    labels : ndarray of shape (min(K, L ** n), n)
        Best first.
    totals : ndarray of shape (min(K, L ** n),)
        Their scores.
    """
    n, L = scores.shape[:2]
    K = min(K, L**n) if n * np.log2(L) < 40 else K
    labels, totals = np.zeros((K, n), dtype=np.int64), np.zeros(K)
    found = fill_k_best(
        np.ascontiguousarray(parent, dtype=np.int64),
        np.ascontiguousarray(order, dtype=np.int64),
        np.ascontiguousarray(scores, dtype=np.float64),
        K,
        labels,
        totals,
    )
    return labels[:found], totals[:found]


def _warmup() -> None:
    k_best_labellings(np.array([-1, 0]), np.array([0, 1]), np.zeros((2, 2, 2)), 2)
