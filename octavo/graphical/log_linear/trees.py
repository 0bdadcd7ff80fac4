"""Probability trees (Algorithm 2): one variable predicted from tests of the others.

The best split of a node does not depend on κ, which says only whether it is taken. A tree is
therefore grown once, for the largest κ, with the gain of every split; the tree of a smaller κ is
what is left of it when splits whose gain does not pay for their parameters are closed.

Counts of a node are kept for every cell (variable, value) and target value. Those of the smaller
child are counted, row by row over the cells that are not 0, and the larger has what is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.graphical.log_linear.conjunctions import (
    Feature,
    Literal,
    canonical,
    canonical_set,
    cell_offsets,
)
from octavo.graphical.log_linear.state_codes import Codes

__all__: list[str] = []


class SplitTree(NamedTuple):
    """A tree of tests x[variable] == value; node 0 is the root, -1 marks a leaf.

    Attributes
    ----------
    target : int
        The variable that is predicted.
    variable, value : ndarray
        The test of each node.
    yes, no : ndarray
        The child where it holds, and the other.
    gain : ndarray
        What the split adds to the log-likelihood.
    counts : ndarray of shape (n_nodes, n_states)
        Rows of each value of the target.
    """

    target: int
    variable: NDArray[np.int32]
    value: NDArray[np.int32]
    yes: NDArray[np.int32]
    no: NDArray[np.int32]
    gain: Floats
    counts: Ints


class NonzeroRows(NamedTuple):
    """A table as the cells of each row that are not 0, beside its codes and row weights."""

    codes: Codes
    weights: Ints
    indptr: Ints
    cells: NDArray[np.int32]
    cardinalities: Ints


def nonzero_rows(codes: Codes, weights: Ints, cardinalities: Ints) -> NonzeroRows:
    """Return a table in the form that trees are grown from."""
    offsets = cell_offsets(cardinalities)
    row, column = np.nonzero(codes)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(codes)))])
    cells = (offsets[column] + codes[row, column]).astype(np.int32)
    return NonzeroRows(codes, weights.astype(np.int64), indptr, cells, cardinalities)


@njit(cache=True, nogil=True)
def _best_split(counts, totals, cards, offsets, target, min_leaf, own, both):
    """Return the cell of the best split, its variable and its gain; -1 where none is allowed."""
    n_states = totals.size
    n, whole = 0, 0.0
    for c in range(n_states):
        n += totals[c]
        # Σ N_v log(N_v + α), with `both` N log(N + lα): the log-likelihood of a leaf
        whole += own[totals[c]]
    whole -= both[n]
    best, variable, value = 0.0, -1, -1
    for k in range(cards.size):
        if k == target:
            continue
        # X = 0 and X = 1 are one split of a binary variable.
        for v in range(1 if cards[k] == 2 else 0, cards[k]):
            cell = offsets[k] + v
            inside = 0
            for c in range(n_states):
                inside += counts[cell, c]
            if inside < min_leaf or n - inside < min_leaf:
                continue
            gain = -both[inside] - both[n - inside] - whole  # LL(D_true) + LL(D_false) - LL(D)
            for c in range(n_states):
                gain += own[counts[cell, c]] + own[totals[c] - counts[cell, c]]
            if gain > best:
                best, variable, value = gain, k, v
    return variable, value, best


@njit(cache=True, nogil=True)
def _grow(
    codes, weights, indptr, cells, cards, offsets, target, min_leaf, least, own, both,
    order, pool, free, waiting, tests, gains, totals,
):  # fmt: skip
    """Grow a tree whose splits gain more than `least`; return its number of nodes.

    `pool` has room for the counts of nodes that wait, `free` its places, `waiting` (node, start,
    stop, place) of those nodes; `tests` is (variable, value, yes, no) of each node.
    """
    n_states = totals.shape[1]
    n_waiting, n_nodes, n_free = 1, 1, free.size - 1
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, 0, order.size
    waiting[0, 3] = free[n_free]
    while n_waiting:
        n_waiting -= 1
        node, start, stop = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
        place = waiting[n_waiting, 3]
        if node == 0:
            for at in range(start, stop):
                i = order[at]
                totals[0, codes[i, target]] += weights[i]
                for listed in range(indptr[i], indptr[i + 1]):
                    pool[place, cells[listed], codes[i, target]] += weights[i]
        for k in range(cards.size):
            if cards[k] > 2:  # rows that are not listed have the value 0
                for c in range(n_states):
                    rest = totals[node, c]
                    for v in range(1, cards[k]):
                        rest -= pool[place, offsets[k] + v, c]
                    pool[place, offsets[k], c] = rest
        k, v, gain = _best_split(
            pool[place], totals[node], cards, offsets, target, min_leaf, own, both
        )
        # the printed test starts from 0 and compares with log κ < 0: it would take any split
        if k < 0 or gain <= least:
            free[n_free] = place
            n_free += 1
            continue
        low, high = start, stop - 1
        while low <= high:  # rows that pass the test come first
            i = order[low]
            if codes[i, k] == v:
                low += 1
            else:
                order[low] = order[high]
                order[high] = i
                high -= 1
        yes, no = n_nodes, n_nodes + 1
        n_nodes += 2
        tests[node, 0], tests[node, 1], tests[node, 2], tests[node, 3] = k, v, yes, no
        gains[node] = gain
        # The smaller child is counted; the larger has the rest, and waits below it, so that few
        # ever wait.
        small_is_yes = low - start <= stop - low
        first, last = (start, low) if small_is_yes else (low, stop)
        child, sibling = (yes, no) if small_is_yes else (no, yes)
        n_free -= 1
        small = free[n_free]
        for cell in range(pool.shape[1]):
            for c in range(n_states):
                pool[small, cell, c] = 0
        for at in range(first, last):
            i = order[at]
            totals[child, codes[i, target]] += weights[i]
            for listed in range(indptr[i], indptr[i + 1]):
                pool[small, cells[listed], codes[i, target]] += weights[i]
        for cell in range(pool.shape[1]):
            for c in range(n_states):
                pool[place, cell, c] -= pool[small, cell, c]
        for c in range(n_states):
            totals[sibling, c] = totals[node, c] - totals[child, c]
        waiting[n_waiting, 0], waiting[n_waiting, 3] = sibling, place
        waiting[n_waiting, 1] = low if small_is_yes else start
        waiting[n_waiting, 2] = stop if small_is_yes else low
        n_waiting += 1
        waiting[n_waiting, 0], waiting[n_waiting, 3] = child, small
        waiting[n_waiting, 1], waiting[n_waiting, 2] = first, last
        n_waiting += 1
    return n_nodes


def split_cost(kappa: float, n_states: int) -> float:
    """Return what a split must gain: -(l - 1) log κ, by the prior κ^p over p parameters."""
    return -(n_states - 1) * float(np.log(kappa))  # κ^p of Section 4.1, p growing by l - 1


def grow_tree(
    rows: NonzeroRows, target: int, kappa: float, leaf_prior: float, min_samples_leaf: int
) -> SplitTree:
    """Grow the tree of a variable.

    Parameters
    ----------
    rows : NonzeroRows
        The table.
    target : int
        The variable.
    kappa : float
        The prior odds of a parameter.
    leaf_prior : float
        The Dirichlet prior of leaves.
    min_samples_leaf : int
        Fewest rows of a leaf.

    Returns
    -------
    tree : SplitTree
        With the gain of every split.
    """
    cards, n_states = rows.cardinalities, int(rows.cardinalities[target])
    offsets = cell_offsets(cards)
    n = np.arange(int(rows.weights.sum()) + 1, dtype=np.float64)
    own, both = n * np.log(n + leaf_prior), n * np.log(n + n_states * leaf_prior)
    n_rows, depth = len(rows.codes), int(np.log2(len(rows.codes) + 1)) + 4
    most = 2 * min(n_rows, int(n[-1]) // min_samples_leaf) + 1
    tests = np.full((most, 4), -1, np.int32)
    gains, totals = np.zeros(most), np.zeros((most, n_states), np.int64)
    pool = np.zeros((depth, int(offsets[-1]), n_states), np.int64)
    found = _grow(
        *rows, offsets, target, min_samples_leaf, split_cost(kappa, n_states), own, both,
        np.arange(n_rows), pool, np.arange(depth), np.zeros((depth, 4), np.int64),
        tests, gains, totals,
    )  # fmt: skip
    tests, gains, totals = tests[:found], gains[:found].copy(), totals[:found].copy()
    variable, value, yes, no = np.ascontiguousarray(tests.T)
    return SplitTree(target, variable, value, yes, no, gains, totals)


def closed_tree(tree: SplitTree, least: float = 0.0, max_depth: int | None = None) -> SplitTree:
    """Return what is left when splits that gain too little, or lie too deep, become leaves.

    Parameters
    ----------
    tree : SplitTree
        A tree.
    least : float
        Splits that gain no more are closed.
    max_depth : int or None
        Most tests on a path.

    Returns
    -------
    tree : SplitTree
        Numbered anew.
    """
    kept: list[int] = [0]
    depth = [0]
    new = [[-1, -1, -1, -1]]
    at = 0
    while at < len(kept):
        node = kept[at]
        deep = max_depth is not None and depth[at] >= max_depth
        if tree.variable[node] >= 0 and tree.gain[node] > least and not deep:
            first = len(kept)
            new[at] = [int(tree.variable[node]), int(tree.value[node]), first, first + 1]
            kept += [int(tree.yes[node]), int(tree.no[node])]
            depth += [depth[at] + 1] * 2
            new += [[-1, -1, -1, -1], [-1, -1, -1, -1]]
        at += 1
    variable, value, yes, no = np.array(new, np.int32).T
    inner = variable >= 0
    gain = np.where(inner, tree.gain[kept], 0.0)
    return SplitTree(tree.target, variable, value, yes, no, gain, tree.counts[kept])


def leaf_of(tree: SplitTree, codes: Codes) -> Ints:
    """Return the leaf that each row comes to."""
    node = np.zeros(len(codes), np.int64)
    rows = np.arange(len(codes))
    while True:
        inner = tree.variable[node] >= 0
        if not inner.any():
            return node
        at, here = rows[inner], node[inner]
        passes = codes[at, tree.variable[here]] == tree.value[here]
        node[inner] = np.where(passes, tree.yes[here], tree.no[here])


def leaf_log_probabilities(tree: SplitTree, leaf_prior: float) -> Floats:
    """Return log (N_v + α) / (N + l α) of every node and value."""
    counts = tree.counts + leaf_prior
    # Laplace's estimate for α = 1
    return np.log(counts) - np.log(counts.sum(axis=1, keepdims=True))


def path_literals(tree: SplitTree, cardinalities: Ints) -> list[Feature]:
    """Return the tests on the way to each node; X != v of a binary variable is the other value."""
    paths: list[list[Literal]] = [[] for _ in tree.variable]
    for node, (k, v) in enumerate(zip(tree.variable.tolist(), tree.value.tolist())):
        if k >= 0:
            other = (k, "==", 1 - v) if cardinalities[k] == 2 else (k, "!=", v)
            paths[tree.yes[node]] = [*paths[node], (k, "==", v)]
            paths[tree.no[node]] = [*paths[node], other]
    return [tuple(path) for path in paths]


def most_conditions(method: str) -> int | None:
    """Return k of "prune-k"; None where there is no limit."""
    if not method.startswith("prune-"):
        return None
    limit = method.removeprefix("prune-")
    if not limit.isdigit() or int(limit) < 1:
        raise ValueError(f'"prune-k" needs a whole number k of at least 1, got {method!r}.')
    return int(limit)


def check_method(method: str) -> None:
    """Raise unless a method of making features is known."""
    if method not in ("default", "prune", "nonzero") and not str(method).startswith("prune-"):
        raise ValueError(
            'The features of a tree are "default", "prune", "prune-k" with a number k or '
            f'"nonzero"; got {method!r}.'
        )
    most_conditions(method)


def node_features(
    tree: SplitTree, method: str, cardinalities: Ints
) -> list[tuple[int, int, Feature]]:
    """Return (node, value of the target, feature) of a tree for all methods but "nonzero".

    Parameters
    ----------
    tree : SplitTree
        A tree; for "prune-k" closed at k - 1 tests already.
    method : {"default", "prune", "prune-k"}
        Leaves alone, or every node.
    cardinalities : ndarray of int
        States of each variable.

    Returns
    -------
    features : list
        In the order of the nodes.
    """
    found = []
    for node, path in enumerate(path_literals(tree, cardinalities)):
        # PRUNE has a feature for every node, DEFAULT for leaves alone
        if method == "default" and tree.variable[node] >= 0:
            continue
        for v in range(int(cardinalities[tree.target])):
            made = canonical((*path, (tree.target, "==", v)), cardinalities)
            if made:
                found.append((node, v, made))
    return found


def features_of_tree(tree: SplitTree, method: str, cardinalities: Ints) -> list[Feature]:
    """Return the distinct features that a tree is turned into (Section 4.2)."""
    limit = most_conditions(method)
    if limit is not None:
        # a limit of k conditions with the target's own
        tree = closed_tree(tree, max_depth=limit - 1)
    made = [f for _, _, f in node_features(tree, "default" if method == "nonzero" else method,
                                           cardinalities)]  # fmt: skip
    if method == "nonzero":
        # NONZERO (Section 4.2)
        kept = [[lit for lit in f if lit[1] == "==" and lit[2] != 0] for f in made]
        return canonical_set(kept, cardinalities)
    return canonical_set(made, cardinalities)


def _warmup() -> None:
    """Compile the kernels."""
    codes = np.array([[0, 1], [1, 0]], np.int32)
    grow_tree(nonzero_rows(codes, np.ones(2, np.int64), np.array([2, 2])), 0, 0.5, 1.0, 1)
