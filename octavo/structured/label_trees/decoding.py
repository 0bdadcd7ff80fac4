"""The label set with the largest score, from the K best labellings of spanning trees, certified.

A score over label pairs is cut into spanning trees whose scores add up to it (Section 4.4.8,
"trees for inference"). A labelling that is in no tree's list of K best scores at most the sum of
the lists' last entries, plus what the pairs in no tree could add (Lemmas 10 and 11 of the thesis):
where the best labelling met reaches that, it is the best of all.

Reference: S. Cousins (thesis, University College London), Sections 4.4.4, 4.4.6 and 4.4.8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.trees.k_best import fill_k_best, k_best_labellings
from octavo.structured.label_trees.parities import ENUMERATED, LabelPairs, best_of_all
from octavo.structured.label_trees.tree_polytope import heaviest_tree

__all__ = ["TreeDecoding", "decode_over_trees", "k_best_tree"]

LONGEST = 1024  # of the lists that "auto" grows to
_ROUNDING = 1e-10


class Decoded(NamedTuple):
    """Label sets with what is known of them.

    Attributes
    ----------
    labels : ndarray of shape (n_rows, n_labels), int8
        The best labellings found.
    values : ndarray of shape (n_rows,)
        Their scores.
    bounds : ndarray of shape (n_rows,)
        No labelling scores more; equal to the value where the labelling is certified.
    """

    labels: np.ndarray
    values: Floats
    bounds: Floats


class TreeDecoding(NamedTuple):
    """The best labelling of a sum of tree scores.

    Attributes
    ----------
    labels : ndarray of shape (n_labels,)
        The best labelling in the trees' lists.
    score : float
        Its score.
    bound : float
        No labelling scores more.
    exact : bool
        Whether the labelling is certainly the best.
    """

    labels: Indices
    score: float
    bound: float
    exact: bool


def _checked_tree(parent: ArrayLike, edge_scores: ArrayLike) -> tuple[Indices, Indices, Floats]:
    """Return parents, an order with parents before children, and scores; refuse what is no tree."""
    given = np.asarray(parent)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError(
            "parent must list whole numbers, one per vertex and -1 at the root, got shape "
            f"{given.shape} of {given.dtype}."
        )
    n = len(given)
    scores = np.asarray(edge_scores, dtype=np.float64)
    if scores.ndim != 3 or len(scores) != n or scores.shape[1] != scores.shape[2]:
        raise ValueError(
            f"edge_scores must have shape (n_vertices, n_labels, n_labels) with {n} vertices, got "
            f"{scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError("edge_scores contains NaN or infinity.")
    roots = np.flatnonzero(given == -1)
    if len(roots) != 1 or given.min() < -1 or given.max() >= n:
        raise ValueError(
            "parent must have -1 at one vertex, the root, and vertices from 0 to "
            f"{n - 1} elsewhere; got {len(roots)} roots and values from {given.min()} to "
            f"{given.max()}."
        )
    children: list[list[int]] = [[] for _ in range(n)]
    for v, p in enumerate(given.tolist()):
        if p >= 0:
            children[p].append(v)
    order = [int(roots[0])]
    for u in order:  # grows while it is read
        order += children[u]
    if len(order) < n:
        lost = sorted(set(range(n)) - set(order))
        raise ValueError(
            f"parent has a cycle: vertices {lost[:5]} do not lead to the root {roots[0]}."
        )
    return given.astype(np.int64), np.array(order, dtype=np.int64), scores


def _checked_length(K: int) -> int:
    if isinstance(K, (bool, np.bool_)) or not isinstance(K, (int, np.integer)):
        raise TypeError(f"K must be a whole number, got {K!r}.")
    if K < 1:
        raise ValueError(f"K must be at least 1, got {K}.")
    return int(K)


@checked
def k_best_tree(parent: ArrayLike, edge_scores: ArrayLike, K: int) -> tuple[Indices, Floats]:
    """Return the K labellings of a tree with the largest scores (Algorithm 6 on one tree).

    Parameters
    ----------
    parent : array-like of shape (n_vertices,)
        Parent of each vertex, -1 at the root.
    edge_scores : array-like of shape (n_vertices, n_labels, n_labels)
        ``edge_scores[v, a, b]`` is the score of label b at v under label a at its parent; the
        root's scores stand in ``edge_scores[root, 0]``.
    K : int
        How many labellings.

    Returns
    -------
    labels : ndarray of shape (n_found, n_vertices)
        Best first; fewer than K where there are not as many.
    scores : ndarray of shape (n_found,)
        Their scores.

    Examples
    --------
    >>> from octavo.structured import k_best_tree
    >>> chain = [[[0, 1], [0, 0]], [[2, 0], [0, 1]]]
    >>> labels, scores = k_best_tree([-1, 0], chain, 3)
    >>> labels.tolist(), scores.tolist()
    ([[0, 0], [1, 1], [1, 0]], [2.0, 2.0, 1.0])
    """
    parents, order, scores = _checked_tree(parent, edge_scores)
    return k_best_labellings(parents, order, scores, _checked_length(K))


@checked
def decode_over_trees(parents: ArrayLike, edge_scores: ArrayLike, K: int) -> TreeDecoding:
    """Maximise a sum of tree scores from the K best labellings of each tree (Lemma 10).

    Parameters
    ----------
    parents : array-like of shape (n_trees, n_vertices)
        Trees on the same vertices, as for `k_best_tree`.
    edge_scores : array-like of shape (n_trees, n_vertices, n_labels, n_labels)
        Scores of each tree, times its weight in the sum.
    K : int
        Length of each tree's list.

    Returns
    -------
    TreeDecoding
        The best labelling in the lists, a bound on all others and whether it is certified.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.structured import decode_over_trees
    >>> scores = np.random.default_rng(0).normal(size=(2, 3, 2, 2))
    >>> found = decode_over_trees([[-1, 0, 1], [2, 2, -1]], scores, 4)
    >>> found.labels.tolist(), round(found.score, 3), found.exact
    ([1, 1, 1], 2.533, True)
    """
    K = _checked_length(K)
    tables = np.asarray(edge_scores, dtype=np.float64)
    given = np.asarray(parents)
    if given.ndim != 2 or not len(given) or len(tables) != len(given):
        raise ValueError(
            "parents and edge_scores must have one entry per tree, got shapes "
            f"{given.shape} and {tables.shape}."
        )
    trees = [_checked_tree(parent, scores) for parent, scores in zip(given, tables)]
    lists = [k_best_labellings(*tree, K) for tree in trees]
    met = np.unique(np.vstack([labels for labels, _ in lists]), axis=0)
    totals = np.sum([tree_scores(tree[0], tree[2], met) for tree in trees], axis=0)
    best = int(np.argmax(totals))
    n, L = tables.shape[1:3]
    # the first list has every labelling: nothing is left out
    every = n * np.log2(max(L, 1)) < 40 and len(lists[0][1]) == L**n
    # θ of Lemma 10: no labelling outside all lists scores more
    rest = -np.inf if every else float(sum(scores[-1] for _, scores in lists))
    score = float(totals[best])
    scale = max(1.0, float(np.abs(tables).max()))
    exact = score >= rest - _ROUNDING * scale
    return TreeDecoding(met[best], score, score if exact else rest, bool(exact))


def tree_scores(parent: Indices, scores: Floats, labels: Indices) -> Floats:
    """Return the score of each row of labels on one tree."""
    vertices = np.arange(len(parent))
    above = np.where(parent >= 0, labels[:, parent], 0)
    return scores[vertices, above, labels].sum(axis=1)


@njit(cache=True, nogil=True)
def _cover(strength, tol, parents, orders, uses):
    """Write maximum spanning trees until the pairs in none of them are weak.

    Returns the number of trees and the sum of the strengths that are in none.
    """
    n = strength.shape[0]
    left = strength
    n_trees, rest = 0, 0.0
    for i in range(n):
        for j in range(i):
            rest += strength[i, j]
    while n_trees < parents.shape[0] and (n_trees == 0 or rest > tol):
        heaviest_tree(left, parents[n_trees], orders[n_trees])
        for v in range(1, n):
            u = parents[n_trees, v]
            uses[u, v] += 1
            uses[v, u] += 1
            rest -= left[u, v]  # ν of Lemma 11: what pairs in no tree can still add
            left[u, v] = 0.0
            left[v, u] = 0.0
        n_trees += 1
    return n_trees, max(rest, 0.0)


@njit(cache=True, nogil=True)
def _fill(h, n_trees, J, uses, parent, scores):
    """Write one tree's scores: its share of the labels' terms and of the pairs that it has."""
    n = h.shape[0]
    for v in range(n):
        p = parent[v]
        # an edge that several trees use is shared evenly among them
        pair = J[v, p] / uses[v, p] if p >= 0 else 0.0
        for b in range(2):
            s = 2.0 * b - 1.0
            scores[v, 0, b] = s * (h[v] / n_trees - pair)
            scores[v, 1, b] = s * (h[v] / n_trees + pair)


@njit(cache=True, nogil=True)
def _offer(h, J, labels, r, bonus, truth, kept, top):
    """Keep row r of the labels where it scores more than `top`; return the larger score."""
    n = h.shape[0]
    total = 0.0
    is_truth = True
    for i in range(n):
        inner = h[i]
        for j in range(i):
            inner += J[i, j] * (2.0 * labels[r, j] - 1.0)  # Σ_i s_i (h_i + Σ_{j<i} J_ij s_j)
        total += (2.0 * labels[r, i] - 1.0) * inner
        is_truth = is_truth and labels[r, i] == truth[i]
    if not is_truth:
        total += bonus
    if total <= top:
        return top
    for i in range(n):
        kept[i] = labels[r, i]
    return total


@njit(cache=True, nogil=True)
def _decode(coefficients, first, second, K, bonus, truth, labels, values, bounds):
    m, n = labels.shape
    most = 2 * n + 2
    J, strength, scores = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, 2, 2))
    parents, orders = np.zeros((most, n), dtype=np.int64), np.zeros((most, n), dtype=np.int64)
    uses, lists, totals = np.zeros((n, n), dtype=np.int64), np.zeros((K, n), np.int64), np.zeros(K)
    for k in range(m):
        h = coefficients[k, :n]
        size = 0.0
        for e in range(first.shape[0]):
            i, j, c = first[e], second[e], coefficients[k, n + e]
            J[i, j] = c
            J[j, i] = c
            strength[i, j] = abs(c)
            strength[j, i] = abs(c)
            uses[i, j] = 0
            uses[j, i] = 0
            size += abs(c)
        n_trees, outside = _cover(strength, 1e-12 * size, parents, orders, uses)
        for v in range(n):
            lists[0, v] = truth[k, v]
        top = _offer(h, J, lists, 0, bonus, truth[k], labels[k], -np.inf)
        outside += bonus  # a wrong labelling outside the lists may have the bonus too
        every = False
        for t in range(n_trees):
            _fill(h, n_trees, J, uses, parents[t], scores)
            found = fill_k_best(parents[t], orders[t], scores, K, lists, totals)
            outside += totals[found - 1]  # θ + ν of Lemma 11
            every = every or found < K
            for r in range(found):
                top = _offer(h, J, lists, r, bonus, truth[k], labels[k], top)
        values[k] = top
        # a list that ends early has every labelling
        bounds[k] = top if every or outside <= top + 1e-10 * (1.0 + abs(top)) else outside


def decode(
    coefficients: Floats,
    pairs: LabelPairs,
    k_best: int | str,
    *,
    bonus: float = 0.0,
    truth: np.ndarray | None = None,
) -> Decoded:
    """Return the best label set of each row, with a bound on all others.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rows, n_parities)
        Of the parities in the score.
    pairs : LabelPairs
        Which pair has which column.
    k_best : int or "auto"
        Length of the lists; ``"auto"`` compares all labellings where there are few labels, and
        doubles the lists of rows that are not certified elsewhere.
    bonus : float, default=0.0
        What every labelling but the true one gets.
    truth : ndarray of shape (n_rows, n_labels), default=None
        True label sets, for a bonus.

    Returns
    -------
    Decoded
        Labels, values, bounds.
    """
    n = pairs.n_labels
    if k_best == "auto" and n <= ENUMERATED:
        labels, values = best_of_all(coefficients, pairs, bonus, truth)
        return Decoded(labels, values, values)
    length = max(n, 2) if k_best == "auto" else int(k_best)
    m = len(coefficients)
    labels, values, bounds = np.zeros((m, n), dtype=np.int8), np.empty(m), np.empty(m)
    true = np.zeros((m, n), dtype=np.int8) if truth is None else np.asarray(truth, dtype=np.int8)
    todo = np.arange(m)
    while len(todo):
        some = np.zeros((len(todo), n), dtype=np.int64)
        value, bound = np.empty(len(todo)), np.empty(len(todo))
        rows = np.ascontiguousarray(coefficients[todo])
        _decode(
            rows,
            pairs.first,
            pairs.second,
            length,
            bonus,
            true[todo],
            some,
            value,
            bound,
        )
        labels[todo], values[todo], bounds[todo] = some, value, bound
        todo = todo[bound > value]
        length *= 2
        if k_best != "auto" or length > LONGEST:
            break
    return Decoded(labels, values, bounds)


def _warmup() -> None:
    pairs = LabelPairs(2, np.array([0]), np.array([1]))
    decode(np.ones((1, 3)), pairs, 1)
