"""Which labelings a family realises: shattering, growth functions, nets.

Reference: A. Shashua (2008), "Introduction to Machine Learning", chapters 8 and 9.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.discrete.shattering import is_shattered
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.linear_programs.lazy_rows import LazyRows
from octavo.teaching.cooperative.concepts import table_of

__all__ = ["growth_function", "is_epsilon_net", "sauer_bound", "shatters"]

FAMILIES = ("linear", "rectangle", "interval")
MOST_POINTS = 15  # 2^15 labelings
MOST_SUBSETS = 2_000_000


def read_points(points: Any, family: str) -> Floats:
    """Return points as rows, refusing what a family cannot label."""
    rows = real_array(points, "points")
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"points must be a table, one row per point; got shape {rows.shape}.")
    if family == "interval" and rows.shape[1] != 1:
        raise ValueError(
            f"Intervals label points on a line; these have {rows.shape[1]} coordinates. Use "
            "family='rectangle'."
        )
    return rows


def _linear_shatters(points: Floats) -> bool:
    """Try every labeling by HiGHS: is there w, c with s_i = w·x_i + c of the right sign?

    The s_i are variables of one program, and a labeling is their bounds: the program goes on from
    the basis of the labeling before, which differs in one sign (Gray's order).
    """
    m, d = points.shape
    scaled = points - points.mean(axis=0)
    size = np.abs(scaled).max(axis=0)
    scaled = scaled / np.where(size > 0.0, size, 1.0)
    # s_i = w·x_i + c as variables: a labeling changes their bounds only
    program = LazyRows(np.zeros(d + 1 + m), lower=-np.inf)
    program.add_rows(np.hstack([scaled, np.ones((m, 1)), -np.eye(m)]), 0.0, 0.0)
    for code in range(2 ** (m - 1)):  # the last sign may be fixed: -w, -c turn all of them
        # Gray code: one bound changes from labeling to labeling
        positive = ((code ^ (code >> 1)) >> np.arange(m)) & 1 == 1
        low = np.concatenate([np.full(d + 1, -np.inf), np.where(positive, 1.0, -np.inf)])
        high = np.concatenate([np.full(d + 1, np.inf), np.where(positive, np.inf, -1.0)])
        program.change_bounds(low, high)
        found = program.solve()
        if found.status == "infeasible":
            return False
        if found.status != "optimal":
            raise ValueError(
                f"HiGHS could not decide on these points ({found.status}); are they far apart in "
                "size?"
            )
    return True


def _boxes_shatter(points: Floats) -> bool:
    """Try every set of points: does its bounding box hold no other?"""
    m = len(points)
    for code in range(1, 2**m):
        chosen = (code >> np.arange(m)) & 1 == 1
        low, high = points[chosen].min(axis=0), points[chosen].max(axis=0)
        if ((points[~chosen] >= low) & (points[~chosen] <= high)).all(axis=1).any():
            return False
    return True


def family_shatters(points: Floats, family: str) -> bool:
    """Tell whether a family by name realises every labeling of points."""
    m, d = points.shape
    # d + 1 for half-spaces, 2d for boxes: more points are never shattered
    most = d + 1 if family == "linear" else 2 * d  # the VC dimensions
    if m > most or len(np.unique(points, axis=0)) < m:
        return False
    if m > MOST_POINTS:
        raise ValueError(
            f"{m} points have 2^{m} labelings; at most {MOST_POINTS} points are tried."
        )
    return _linear_shatters(points) if family == "linear" else _boxes_shatter(points)


def read_columns(points: Any, n_points: int, name: str = "points") -> Indices:
    """Return positions of columns of a table, each once."""
    given = np.atleast_1d(np.asarray(points))
    if given.size == 0:
        return np.zeros(0, np.intp)
    if given.dtype.kind == "b" and given.shape == (n_points,):
        return np.flatnonzero(given)
    fits = given.ndim == 1 and given.dtype.kind in "iu"
    if not fits or given.min() < 0 or given.max() >= n_points or len(set(given)) < len(given):
        raise ValueError(
            f"{name} must be different columns of the table, whole numbers from 0 to "
            f"{n_points - 1}; got {given.tolist()[:10]}."
        )
    return given.astype(np.intp)


@checked
def shatters(points: ArrayLike, family: Any) -> bool:
    """Tell whether a family labels points in every possible way.

    Parameters
    ----------
    points : array-like of shape (n_points, n_features) or (n_points,)
        Where `family` is a name: the points themselves, at most 15. Where it is a table: columns of
        it, by number.
    family : {"linear", "rectangle", "interval"} or array-like of shape (n_hypotheses, n_points)
        Half-spaces (by a linear program for each labeling), rectangles along the axes, intervals;
        or a table of zeros and ones, or an object with such a `matrix`.

    Returns
    -------
    shattered : bool
        True if every labeling occurs.

    Examples
    --------
    >>> from octavo.teaching import shatters
    >>> triangle = [[0, 0], [1, 0], [0, 1]]
    >>> shatters(triangle, "linear"), shatters([*triangle, [1, 1]], "linear")
    (True, False)
    >>> shatters([0, 2], [[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]])
    True
    """
    if isinstance(family, str):
        if family not in FAMILIES:
            raise ValueError(f"family must be one of {FAMILIES} or a table; got {family!r}.")
        return family_shatters(read_points(points, family), family)
    table = table_of(family)
    return bool(is_shattered(table, read_columns(points, table.shape[1])))


@checked
def growth_function(labelings: Any, m: int) -> int:
    """Return the largest number of labelings that hypotheses give any m points of a table.

    Parameters
    ----------
    labelings : ConceptClass or array-like of shape (n_hypotheses, n_points)
        Zeros and ones, or an object with such a `matrix`. Where the points are a sample of a larger
        space, the result is a lower bound for the space.
    m : int
        Number of points.

    Returns
    -------
    count : int
        Π(m): 2^m as long as some m points are shattered.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, growth_function
    >>> [growth_function(ConceptClass.intervals(6), m) for m in range(5)]
    [1, 2, 4, 7, 11]
    """
    table = np.unique(table_of(labelings), axis=0)
    n = table.shape[1]
    if isinstance(m, bool) or int(m) != m or not 0 <= m <= n:
        raise ValueError(f"m must be a whole number from 0 to the {n} points; got {m!r}.")
    if m == 0:
        return 1
    if comb(n, int(m)) > MOST_SUBSETS:
        raise ValueError(
            f"{n} points have {comb(n, int(m))} subsets of {m}, more than {MOST_SUBSETS}; take "
            "fewer."
        )
    most = min(len(table), 2**m)
    largest = 0
    for columns in combinations(range(n), int(m)):
        largest = max(largest, _n_distinct(table[:, columns]))
        if largest == most:
            break
    return largest


def _n_distinct(table: NDArray[np.bool_]) -> int:
    """Return the number of different rows."""
    packed = np.ascontiguousarray(np.packbits(table, axis=1))
    return len(np.unique(packed.view(np.dtype((np.void, packed.shape[1])))))


@checked
def sauer_bound(m: int, d: int) -> int:
    """Return Φ_d(m) = Σ_{i≤d} C(m, i), the most labelings of m points by a class of VC dimension d.

    Parameters
    ----------
    m : int
        Number of points.
    d : int
        VC dimension.

    Returns
    -------
    bound : int
        Exact; 2^m for d ≥ m, at most (em/d)^d for d ≤ m.

    Examples
    --------
    >>> from octavo.teaching import sauer_bound
    >>> sauer_bound(10, 4)
    386
    """
    for name, value in (("m", m), ("d", d)):
        if isinstance(value, bool) or int(value) != value or value < 0:
            raise ValueError(f"{name} must be a whole number, not negative; got {value!r}.")
    term = total = 1
    for i in range(min(int(m), int(d))):
        term = term * (int(m) - i) // (i + 1)  # C(m, i + 1) from C(m, i), whole at each step
        total += term
    return total


def _error_regions(table: NDArray[np.bool_], target: Any) -> NDArray[np.bool_]:
    """Return where each hypothesis differs from the target; the hypotheses themselves for None."""
    if target is None:
        return table
    z, n = table.shape
    if np.ndim(target) == 0:
        if isinstance(target, (bool, np.bool_)) or int(target) != target or not 0 <= target < z:
            raise ValueError(
                f"target must be a row of the table, 0 to {z - 1}, or {n} labels; got {target!r}."
            )
        return table ^ table[int(target)]
    labels = table_of(np.atleast_2d(np.asarray(target)))
    if labels.shape != (1, n):
        raise ValueError(f"target must have {n} labels; got {labels.shape[1]}.")
    return table ^ labels[0]


@checked
def is_epsilon_net(
    points: ArrayLike,
    labelings: Any,
    eps: float,
    *,
    target: Any = None,
    weights: ArrayLike | None = None,
) -> bool:
    """Tell whether points hit every region of weight eps or more.

    A sample that is an ε-net for the error regions of a target leaves no hypothesis consistent
    whose error is ε or more (Definition 9).

    Parameters
    ----------
    points : array-like of shape (n_chosen,)
        Columns of the table, by number.
    labelings : ConceptClass or array-like of shape (n_hypotheses, n_points)
        Regions, a row each; or hypotheses, where `target` is given.
    eps : float
        The least weight of a region that must be hit.
    target : int or array-like of shape (n_points,), default=None
        A row of the table, or labels: regions are where hypotheses differ from it. None takes the
        rows themselves as regions.
    weights : array-like of shape (n_points,), default=None
        Probabilities of the points, divided by their sum; None is uniform.

    Returns
    -------
    is_net : bool
        True if all are hit.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, is_epsilon_net
    >>> intervals = ConceptClass.intervals(10)
    >>> is_epsilon_net([2, 5, 8], intervals, 0.3), is_epsilon_net([2, 6], intervals, 0.3)
    (True, False)
    """
    if not 0.0 < eps <= 1.0:
        raise ValueError(f"eps must be a number above 0 and at most 1; got {eps!r}.")
    table = table_of(labelings)
    n = table.shape[1]
    chosen = read_columns(points, n)
    mass = np.ones(n) if weights is None else real_array(weights, "weights")
    if mass.shape != (n,) or (mass < 0.0).any() or not mass.any():
        raise ValueError(
            f"weights must be {n} numbers, none negative and not all zero; got shape {mass.shape}."
        )
    regions = _error_regions(table, target)
    # a region of weight eps in exact numbers must count although sums round
    heavy = regions @ (mass / mass.sum()) >= eps * (1.0 - 1e-12)
    return bool(regions[heavy][:, chosen].any(axis=1).all())
