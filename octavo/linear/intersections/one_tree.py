"""One intersection tree with all its nodes, to look at; `RandomIntersectionTrees` keeps leaves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from octavo.engine.discrete.draws import draw_below, draw_unit, word_seeds
from octavo.engine.estimators.checked import checked
from octavo.linear.intersections.binary_rows import binary_csr
from octavo.linear.intersections.classes import split_classes

__all__ = ["IntersectionTree", "intersection_tree"]


class IntersectionTree(NamedTuple):
    """An intersection tree: an entry a node, in the order in which they were made.

    Attributes
    ----------
    sets : list of tuple of int
        The columns that a node holds.
    parents : list of int
        The node above; -1 for the root.
    rows : list of int
        The row of X that was intersected with the parent's set.
    admissible : list of bool
        Whether at most a share `theta0` of the rows outside the target class hold the set.
    leaves : list of int
        The nodes that are collected.
    truncated : bool
        Whether a limit cut the tree.
    """

    sets: list[tuple[int, ...]]
    parents: list[int]
    rows: list[int]
    admissible: list[bool]
    leaves: list[int]
    truncated: bool


@checked
def intersection_tree(
    X: ArrayLike,
    y: ArrayLike,
    *,
    target: Any = None,
    branching: float = 4,
    depth: int | None = None,
    theta0: float | None = 0.01,
    root_single_child: bool = False,
    max_depth: int = 50,
    max_nodes: int = 5000,
    random_state: int | np.random.RandomState | None = None,
) -> IntersectionTree:
    """Grow one intersection tree by plain Python and keep all of it.

    It follows the law of `RandomIntersectionTrees` with exact prevalences.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_columns) or list of sets
        Zeros and ones, or the active columns of each row.
    y : array-like of shape (n_rows,)
        Classes.
    target : object, default=None
        The class of interest; the second of two by default.
    branching : float, default=4
        Children of a node; between two integers, one of both at random.
    depth : int or None, default=None
        Depth of the tree; None lets it grow until all branches have ended.
    theta0 : float or None, default=0.01
        Largest prevalence outside the target class at which a branch goes on; None for no limit,
        which needs a depth.
    root_single_child : bool, default=False
        Whether the root has one child alone.
    max_depth, max_nodes : int
        Limits of the tree; `max_depth` is one where there is no depth.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Returns
    -------
    tree : IntersectionTree
        The nodes.

    Examples
    --------
    >>> from octavo.linear import intersection_tree
    >>> rows = [{0, 1, 2}, {0, 1}, {0, 2}, {1, 2}]
    >>> tree = intersection_tree(rows, [1, 1, 0, 0], theta0=0.0, random_state=0)
    >>> sorted({tree.sets[leaf] for leaf in tree.leaves})
    [(0, 1)]
    """
    if depth is None and theta0 is None:
        raise ValueError("theta0=None has no rule that ends a branch: give a depth.")
    rows, y = binary_csr(BaseEstimator(), X, y, reset=True)
    inside = split_classes(y, target)[1]
    members = [frozenset(row.tolist()) for row in np.split(rows.indices, rows.indptr[1:-1])]
    own, others = np.flatnonzero(inside), [members[i] for i in np.flatnonzero(~inside)]
    limit = np.inf if theta0 is None else np.floor(theta0 * len(others) + 1e-9)
    state = word_seeds(random_state, 1)
    tree = IntersectionTree([], [], [], [], [], False)
    last = depth if depth is not None else max_depth
    cut = False

    def children(level: int) -> int:
        if level == 0 and root_single_child:
            return 1
        whole = int(branching)
        # F_B of Theorem 1: b or b + 1 children
        return whole + (branching > whole and draw_unit(state) < branching - whole)

    def visit(parent: int, level: int) -> bool:
        """Make a node and all below it; return whether it is admissible."""
        nonlocal cut
        i = int(own[draw_below(state, own.size)])
        # S_j = X_i(j) ∩ S_pa(j)
        held = members[i] if parent < 0 else members[i] & set(tree.sets[parent])
        node = len(tree.sets)
        # Algorithm 2, exactly counted
        fine = bool(held) and sum(held <= other for other in others) <= limit
        tree.sets.append(tuple(sorted(held)))
        tree.parents.append(parent)
        tree.rows.append(i)
        tree.admissible.append(fine)
        if level == last:
            if held and (depth is not None or fine):
                tree.leaves.append(node)
                cut = cut or depth is None
            return fine
        if not fine:
            return False
        fruitful = False
        for _ in range(children(level)):
            if len(tree.sets) >= max_nodes:
                cut = True
                break
            fruitful = visit(node, level + 1) or fruitful
        if depth is None and not fruitful:
            tree.leaves.append(node)
        return True

    visit(-1, 0)
    return tree._replace(truncated=cut)
