"""Other ways to patterns, to compare with: brute force, leaves of a forest, a positive lasso."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.linear.intersections.binary_rows import binary_csr
from octavo.linear.intersections.classes import split_classes
from octavo.linear.intersections.patterns import count_patterns

__all__ = ["brute_force_patterns", "forest_patterns", "positive_lasso_patterns"]

MOST_SETS = 5_000_000


def _read(X: Any, y: Any, target: Any) -> tuple[Any, np.ndarray]:
    rows, y = binary_csr(BaseEstimator(), X, y, reset=True)
    return rows, split_classes(y, target)[1]


@checked
def brute_force_patterns(
    X: ArrayLike,
    y: ArrayLike,
    size: int = 2,
    *,
    theta0: float = 0.01,
    theta1: float = 0.1,
    target: Any = None,
) -> list[tuple[int, ...]]:
    """Return all patterns of a size that satisfy (1), by looking at each.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_columns) or list of sets
        Zeros and ones, or the active columns of each row.
    y : array-like of shape (n_rows,)
        Classes.
    size : int, default=2
        Number of columns.
    theta0, theta1 : float
        Largest prevalence outside the target class, least prevalence in it.
    target : object, default=None
        The class of interest; the second of two by default.

    Returns
    -------
    patterns : list of tuple of int
        In lexicographic order.

    Examples
    --------
    >>> from octavo.linear import brute_force_patterns
    >>> rows = [{0, 1, 2}, {0, 1}, {0, 2}, {1, 2}]
    >>> brute_force_patterns(rows, [1, 1, 0, 0], theta0=0.0, theta1=1.0)
    [(0, 1)]
    """
    rows, inside = _read(X, y, target)
    p = rows.shape[1]
    if isinstance(size, bool) or size != int(size) or size < 1:
        raise ValueError(f"size must be a positive number of columns, got {size!r}.")
    n_sets = math.comb(p, size)
    if n_sets > MOST_SETS:
        raise ValueError(
            f"{p} columns have {n_sets:,} sets of {size}; brute force stops at {MOST_SETS:,}."
        )
    members = np.fromiter(
        (k for s in combinations(range(p), size) for k in s), np.int32, n_sets * size
    )
    starts = np.arange(0, n_sets * size + 1, size)
    own = count_patterns(rows[inside], starts, members)
    others = count_patterns(rows[~inside], starts, members)
    n_own, n_others = inside.sum(), (~inside).sum()
    fits = (own >= theta1 * n_own - 1e-9) & (others <= theta0 * n_others + 1e-9)  # Eq. (1)
    return [tuple(s) for s in members.reshape(-1, size)[fits].tolist()]


@checked
def forest_patterns(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_trees: int = 100,
    max_depth: int = 4,
    target: Any = None,
    random_state: int | np.random.RandomState | None = None,
) -> list[tuple[int, ...]]:
    """Return the columns that must be present on the way to each node of a random forest.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_columns) or list of sets
        Zeros and ones, or the active columns of each row.
    y : array-like of shape (n_rows,)
        Classes.
    n_trees : int, default=100
        Trees of the forest.
    max_depth : int, default=4
        Their depth: the most columns of a pattern.
    target : object, default=None
        The class of interest; the second of two by default.
    random_state : int, RandomState instance or None, default=None
        Seeds the forest.

    Returns
    -------
    patterns : list of tuple of int
        Distinct sets, sorted. Columns that must be absent are not part of them.

    Examples
    --------
    >>> from octavo.linear import forest_patterns
    >>> rows = [{0, 1}, {0, 1}, {0}, {1}]
    >>> forest_patterns(rows, [1, 1, 0, 0], n_trees=20, random_state=0)
    [(0,), (0, 1), (1,)]
    """
    rows, inside = _read(X, y, target)
    forest = RandomForestClassifier(n_trees, max_depth=max_depth, random_state=random_state)
    forest.fit(canonical_csr(rows, narrow=True), inside)
    found: set[tuple[int, ...]] = set()
    for tree in forest.estimators_:
        nodes = tree.tree_
        stack: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
        while stack:
            node, held = stack.pop()
            if held:
                found.add(tuple(sorted(held)))
            if nodes.children_left[node] >= 0:
                stack.append((nodes.children_left[node], held))
                # Right: the column is 1
                stack.append((nodes.children_right[node], held | {int(nodes.feature[node])}))
    return sorted(found)


@checked
def positive_lasso_patterns(
    X: ArrayLike,
    y: ArrayLike,
    *,
    max_size: int = 4,
    n_alphas: int = 30,
    target: Any = None,
) -> list[tuple[int, ...]]:
    """Return the columns of logistic models with an l1 penalty and no negative coefficient.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_columns) or list of sets
        Zeros and ones, or the active columns of each row.
    y : array-like of shape (n_rows,)
        Classes.
    max_size : int, default=4
        Models of more columns end the path.
    n_alphas : int, default=30
        Penalties, from the one at which all coefficients vanish to a hundredth of it.
    target : object, default=None
        The class of interest; the second of two by default.

    Returns
    -------
    patterns : list of tuple of int
        The distinct supports along the path, in the order in which they appear.

    Examples
    --------
    >>> from octavo.linear import positive_lasso_patterns
    >>> rows = [{0, 1}, {0}, {0, 2}, {1}, {2}, {1, 2}]
    >>> positive_lasso_patterns(rows, [1, 1, 1, 0, 0, 0])
    [(0,)]
    """
    for name, value in (("max_size", max_size), ("n_alphas", n_alphas)):
        if isinstance(value, bool) or value != int(value) or not 1 <= value <= 10_000:
            raise ValueError(f"{name} must be a whole number in [1, 10000], got {value!r}.")
    rows, inside = _read(X, y, target)
    n, p = rows.shape
    truth, share = inside.astype(float), inside.mean()
    largest = float((rows.T @ (truth - share)).max() / n)  # beyond this alpha all weights are zero
    if largest <= 0:
        return []

    def objective(w: np.ndarray, alpha: float) -> tuple[float, np.ndarray]:
        margin = rows @ w[:p] + w[p]
        loss = np.mean(np.logaddexp(0.0, margin) - truth * margin) + alpha * w[:p].sum()
        slope = (expit(margin) - truth) / n
        return float(loss), np.append(rows.T @ slope + alpha, slope.sum())

    w = np.append(np.zeros(p), np.log(share / (1 - share)))
    bounds = [(0.0, None)] * p + [(None, None)]
    found: list[tuple[int, ...]] = []
    for alpha in largest * np.geomspace(0.99, 0.01, n_alphas):
        w = minimize(objective, w, (alpha,), "L-BFGS-B", jac=True, bounds=bounds).x
        support = tuple(np.flatnonzero(w[:p] > 1e-8).tolist())
        if len(support) > max_size:
            break
        if support and support not in found:
            found.append(support)
    return found
