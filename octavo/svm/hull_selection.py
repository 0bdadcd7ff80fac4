"""Distance of a point to a convex hull in kernel space, and the points that span a hull.

`distance_to_hull` finds the nearest point of a convex hull whose corners are known through their
kernel values; `approximate_extreme_points` selects, from one set of points with a Gram matrix,
few of them whose hull is within eps of all others (squared distance in kernel space).

Reference: Nandan, Khargonekar and Talathi (2014), "Fast SVM training using approximate extreme
points", JMLR 15:59-98, Section 4.3. Two corrections to the printed algorithm: the points found
in its step 3 join the set before the weights are computed (without that eps is not guaranteed),
and the first term of the squared distance is that of the point itself.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from octavo.engine.simplex_qp import _simplex_qp

__all__ = ["ExtremePoints", "approximate_extreme_points", "distance_to_hull"]

Floats = NDArray[np.float64]
BALL_TOL = 1e-3  # gap of the enclosing ball that starts a selection, relative to its radius²
HULL_TOL = 1e-2  # gap of the final weights, relative to eps
MAX_STEPS = 100_000


class ExtremePoints(NamedTuple):
    """Selected `indices`; convex `weights` on them, a row a point; squared `error` of each point.

    `n_undecided` counts points that were selected because the solver ran out of steps.
    """

    indices: NDArray[np.intp]
    weights: Floats
    error: Floats
    n_undecided: int


@numba.njit(cache=True, nogil=True)
def _start_of_ball(gram, weight):
    """Put half the weight on each of two far points; return a quarter of their distance²."""
    n = gram.shape[0]
    weight[:] = 0.0
    first, far = 0, 0.0
    for _ in range(2):  # the farthest from the first, then the farthest from that
        start, far = first, 0.0
        for k in range(n):
            apart = gram[start, start] + gram[k, k] - 2.0 * gram[start, k]
            if apart > far:
                first, far = k, apart
    weight[first] += 0.5
    weight[start] += 0.5
    return 0.25 * far


@numba.njit(cache=True, nogil=True)
def _enclose(gram, weight, slope, rel_tol, max_steps):
    """Solve the dual of the enclosing ball; return radius² and its gap.

    Afterwards slope_i is (||φ_i - c||² - ||c||²)/2: the order by slope is that by distance.
    """
    n = gram.shape[0]
    half = np.empty(n)
    for k in range(n):
        half[k] = 0.5 * gram[k, k]
    scale = _start_of_ball(gram, weight)
    value, gap, _ = _simplex_qp(
        gram, half, weight, slope, 0.5 * rel_tol * scale, max_steps, np.inf, -np.inf
    )
    return 2.0 * value, 2.0 * gap


@numba.njit(cache=True, nogil=True)
def _grow_hull(gram, order, corners, n_corners, corner_gram, mu, error, eps, max_steps):
    """Visit points in order; those farther than eps from the hull become corners (step 3).

    Row i of `mu` gets convex weights of point i on the corners, `error` its squared distance.
    Returns the number of corners, and how many points the solver could not decide.
    """
    n = gram.shape[0]
    linear, slope = np.empty(n), np.empty(n)
    undecided = 0
    for i in order:
        nearest, least = -1, np.inf
        for t in range(n_corners):
            c = corners[t]
            linear[t] = gram[i, c]
            apart = gram[i, i] + gram[c, c] - 2.0 * gram[i, c]
            if apart < least:
                nearest, least = t, apart
        mu[i, nearest] = 1.0
        if least > eps:
            enough = 0.5 * (gram[i, i] - eps)  # f ≤ eps where g reaches this, f = K_ii - 2 g
            value, gap, _ = _simplex_qp(
                corner_gram,
                linear[:n_corners],
                mu[i, :n_corners],
                slope,
                0.0,
                max_steps,
                enough,
                enough,
            )
            least = gram[i, i] - 2.0 * value
            if value < enough:
                undecided += value + gap >= enough and gap > 1e-12 * abs(gram[i, i])
                mu[i, :n_corners] = 0.0
                mu[i, n_corners] = 1.0
                corners[n_corners] = i
                for t in range(n_corners + 1):
                    corner_gram[n_corners, t] = gram[i, corners[t]]
                    corner_gram[t, n_corners] = gram[corners[t], i]
                n_corners += 1
                least = 0.0
        error[i] = max(least, 0.0)
    return n_corners, undecided


@numba.njit(cache=True, nogil=True)
def _nearest_in_hull(gram_diagonal, cross, corner_gram, mu, error, tol, max_steps):
    """Move each row of `mu` to the nearest point of the hull, up to a gap of tol (step 5).

    Returns the largest gap that is left.
    """
    n, m = mu.shape
    slope = np.empty(m)
    worst = 0.0
    for i in range(n):
        value, gap, _ = _simplex_qp(
            corner_gram, cross[i], mu[i], slope, 0.5 * tol, max_steps, np.inf, -np.inf
        )
        error[i] = max(gram_diagonal[i] - 2.0 * value, 0.0)
        worst = max(worst, 2.0 * gap)
    return worst


def select_extremes(
    gram: Floats, eps: float, *, resolve: bool = True, max_steps: int = MAX_STEPS
) -> ExtremePoints:
    """Return the approximate extreme points of a Gram matrix (DeriveAE, input not checked)."""
    n = len(gram)
    ball, slope = np.empty(n), np.empty(n)
    _enclose(gram, ball, slope, BALL_TOL, max_steps)
    start = np.flatnonzero(ball > 0)  # steps 1 and 2
    order = np.argsort(-slope, kind="stable")
    order = order[ball[order] == 0]
    corners = np.empty(n, dtype=np.intp)
    corners[: len(start)] = start
    corner_gram, mu, error = np.empty((n, n)), np.zeros((n, n)), np.zeros(n)
    corner_gram[: len(start), : len(start)] = gram[np.ix_(start, start)]
    mu[start, np.arange(len(start))] = 1.0
    m, undecided = _grow_hull(
        gram, order, corners, len(start), corner_gram, mu, error, eps, max_steps
    )
    indices, mu = corners[:m].copy(), mu[:, :m].copy()
    if resolve and m < n:
        others = np.ones(n, dtype=bool)
        others[indices] = False
        weights, found = mu[others], error[others]
        cross = gram[np.ix_(np.flatnonzero(others), indices)]
        diagonal = gram.diagonal()[others]
        _nearest_in_hull(diagonal, cross, corner_gram, weights, found, HULL_TOL * eps, max_steps)
        mu[others], error[others] = weights, found
    return ExtremePoints(indices, mu, error, int(undecided))


def _warmup() -> None:
    gram = np.exp(-np.subtract.outer(np.arange(4.0), np.arange(4.0)) ** 2)
    weight = np.empty(4)
    _start_of_ball(gram, weight)
    select_extremes(gram, 0.5)
