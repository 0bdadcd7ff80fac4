"""What it costs to confuse two classes: equal prices, prices by rank, prices from a tree.

Reference: Y. Ni, C. Saunders, S. Szedmak and M. Niranjan (2011), "Exploitation of Machine Learning
Techniques in Modelling Phrase Movements for Machine Translation", Journal of Machine Learning
Research 12: Section 2.2.3 and Figure 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array

__all__ = ["class_distance_from_tree", "ordinal_class_distance"]

NAMED = ("uniform", "ordinal", "tree")


def _leaves(tree: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each class with the numbers of the branches that lead to it."""
    if isinstance(tree, (list, tuple)):
        if path and not tree:
            raise ValueError("A tree of classes must have a class on every branch; one is empty.")
        for branch, part in enumerate(tree):
            yield from _leaves(part, (*path, branch))
        return
    if isinstance(tree, (bool, np.bool_)) or not isinstance(tree, (int, np.integer)):
        raise ValueError(
            f"A tree of classes must be nested lists of class numbers, got a leaf {tree!r}."
        )
    yield int(tree), path


@checked
def class_distance_from_tree(tree: Any) -> Floats:
    """Return the prices of confusing the leaves of a tree.

    Two classes whose nearest common branching is at depth k of a tree with D levels of branchings
    cost 1 - k/D: 1 where only the root joins them, 0.5 for siblings in a tree of two levels.

    Parameters
    ----------
    tree : list
        Nested lists, whose leaves are the class numbers 0 to n_classes - 1, each once.

    Returns
    -------
    distance : ndarray of shape (n_classes, n_classes)
        Symmetric, zero on the diagonal.

    Examples
    --------
    >>> from octavo.structured import class_distance_from_tree
    >>> class_distance_from_tree([[0, 1], 2, [3, 4]])[0].tolist()
    [0.0, 0.5, 1.0, 1.0, 1.0]
    """
    if not isinstance(tree, (list, tuple)):
        raise ValueError(f"A tree of classes must be a nested list, got {tree!r}.")
    leaves = sorted(_leaves(tree))
    numbers = [number for number, _ in leaves]
    n = len(numbers)
    if numbers != list(range(n)) or n < 2:
        raise ValueError(
            f"The leaves of a tree must be the class numbers 0 to n - 1, each once and at least "
            f"two of them, got {numbers[:20]}."
        )
    levels = max(len(path) for _, path in leaves)
    distance = np.zeros((n, n))
    for i, a in leaves:
        for j, b in leaves:
            if i != j:
                shared = next(k for k, (p, q) in enumerate(zip(a, b)) if p != q)
                # Δ(o, o') of Section 2.2.3: the lower the first common branch, the less
                distance[i, j] = 1.0 - shared / levels
    return distance


@checked
def ordinal_class_distance(n: int) -> Floats:
    """Return prices that grow with the difference of ranks, up to 1 for the ends.

    Parameters
    ----------
    n : int
        Classes, at least two.

    Returns
    -------
    distance : ndarray of shape (n, n)
        |i - j| / (n - 1).

    Examples
    --------
    >>> from octavo.structured import ordinal_class_distance
    >>> ordinal_class_distance(3).tolist()
    [[0.0, 0.5, 1.0], [0.5, 0.0, 0.5], [1.0, 0.5, 0.0]]
    """
    if not isinstance(n, Integral) or n < 2:
        raise ValueError(
            f"Distances of ranks need at least two classes, a whole number of them, got n={n!r}."
        )
    ranks = np.arange(n)
    return np.abs(ranks[:, None] - ranks) / (n - 1.0)


def sides_tree(n: int) -> list[Any]:
    """Return the tree of Figure 5: the classes below the middle, the middle, those above it."""
    below, above = list(range(n // 2)), list(range((n + 1) // 2, n))
    sides = [side if len(side) > 1 else side[0] for side in (below, above) if side]
    return [sides[0], n // 2, *sides[1:]] if n % 2 else sides


def settle_class_distance(class_distance: Any, n_classes: int) -> Floats:
    """Return the table of prices that a name or a table means; refuse one that is none."""
    if isinstance(class_distance, str):
        if class_distance == "ordinal":
            return ordinal_class_distance(n_classes)
        if class_distance == "tree" and n_classes > 2:
            return class_distance_from_tree(sides_tree(n_classes))
        return 1.0 - np.eye(n_classes)
    table = real_array(class_distance, "class_distance")
    if table.shape != (n_classes, n_classes):
        raise ValueError(
            f"A class_distance for the {n_classes} classes of y must have shape "
            f"{(n_classes, n_classes)}, got {table.shape}."
        )
    if np.any(np.diagonal(table) != 0.0):
        raise ValueError(
            "The diagonal of class_distance must be zero, since a right answer costs nothing; got "
            f"{np.diagonal(table).tolist()[:10]}."
        )
    if table.min() < 0.0:
        raise ValueError(
            f"Entries of class_distance must not be negative, got {float(table.min())!r}."
        )
    if not table.any():
        raise ValueError("A class_distance of zeros asks for nothing; give positive prices.")
    return np.ascontiguousarray(table)
