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

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.duals.simplex_qp import simplex_qp
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.kernels.gram import check_gram

__all__ = ["ExtremePoints", "approximate_extreme_points", "distance_to_hull"]

BALL_TOL = 1e-3  # gap of the enclosing ball that starts a selection, relative to its radius²
HULL_TOL = 1e-1  # gap of the final weights, relative to eps
MAX_STEPS = 100_000
ROUNDING = 1e-12  # relative to the kernel values: a gap below is rounding, not lack of steps


class ExtremePoints(NamedTuple):
    """Selected `indices`; convex `weights` on them, a row a point; squared `error` of each point.

    `n_undecided` counts points that were selected because the solver ran out of steps.
    """

    indices: NDArray[np.intp]
    weights: Floats
    error: Floats
    n_undecided: int


@njit(cache=True, nogil=True)
def _start_of_ball(gram, weight):
    """Put half the weight on each of two far points; return a quarter of their distance²."""
    n = gram.shape[0]
    weight[:] = 0.0
    first, far = 0, 0.0
    for _ in range(2):  # the farthest from the first, then the farthest from that
        start, far = first, 0.0
        for k in range(n):
            apart = gram[start, start] + gram[k, k] - 2.0 * gram[start, k]  # ||φ - φ_k||²
            if apart > far:
                first, far = k, apart
    weight[first] += 0.5
    weight[start] += 0.5
    return 0.25 * far


@njit(cache=True, nogil=True)
def _enclose(gram, weight, slope, rel_tol, max_iter):
    """Solve the dual of the enclosing ball; return radius² and its gap.

    Afterwards slope_i is (||φ_i - c||² - ||c||²)/2: the order by slope is that by distance.
    """
    n = gram.shape[0]
    half = np.empty(n)
    for k in range(n):
        half[k] = 0.5 * gram[k, k]  # max Σ a K_ii - a'Ka is twice max ½ Σ a K_ii - ½ a'Ka
    scale = _start_of_ball(gram, weight)
    value, gap, _ = simplex_qp(
        gram, half, weight, slope, 0.5 * rel_tol * scale, max_iter, np.inf, -np.inf
    )
    return 2.0 * value, 2.0 * gap


@njit(cache=True, nogil=True)
def _grow_hull(gram, order, corners, n_corners, corner_gram, mu, error, eps, max_iter):
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
            apart = gram[i, i] + gram[c, c] - 2.0 * gram[i, c]  # a corner within eps settles it
            if apart < least:
                nearest, least = t, apart
        mu[i, nearest] = 1.0
        if least > eps:
            enough = 0.5 * (gram[i, i] - eps)  # f ≤ eps where g reaches this, f = K_ii - 2 g
            value, gap, _ = simplex_qp(
                corner_gram,
                linear[:n_corners],
                mu[i, :n_corners],
                slope,
                0.0,
                max_iter,
                enough,
                enough,
            )
            least = gram[i, i] - 2.0 * value  # Eq. (6): K_ii - 2 max [μ'k_i - ½ μ'Kμ]
            if value < enough:
                undecided += value + gap >= enough and gap > ROUNDING * gram[i, i]
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


@njit(cache=True, nogil=True)
def _nearest_in_hull(gram_diagonal, cross, corner_gram, mu, error, tol, max_iter):
    """Move each row of `mu` to the nearest point of the hull, up to a gap of tol (step 5).

    Returns the largest gap that is left.
    """
    n, m = mu.shape
    slope = np.empty(m)
    worst = 0.0
    for i in range(n):
        value, gap, _ = simplex_qp(
            corner_gram, cross[i], mu[i], slope, 0.5 * tol, max_iter, np.inf, -np.inf
        )
        error[i] = max(gram_diagonal[i] - 2.0 * value, 0.0)  # Eq. (6)
        worst = max(worst, 2.0 * gap)
    return worst


def select_extremes(
    gram: Floats, eps: float, *, resolve: bool = True, max_iter: int = MAX_STEPS
) -> ExtremePoints:
    """Return the approximate extreme points of a Gram matrix (DeriveAE, input not checked)."""
    n = len(gram)
    ball, slope = np.empty(n), np.empty(n)
    _enclose(gram, ball, slope, BALL_TOL, max_iter)
    start = np.flatnonzero(ball > 0)  # steps 1 and 2
    order = np.argsort(-slope, kind="stable")  # SphereSort: the farthest from the centre first
    order = order[ball[order] == 0]
    corners = np.empty(n, dtype=np.intp)
    corners[: len(start)] = start
    corner_gram, mu, error = np.empty((n, n)), np.zeros((n, n)), np.zeros(n)
    corner_gram[: len(start), : len(start)] = gram[np.ix_(start, start)]
    mu[start, np.arange(len(start))] = 1.0  # step 4: γ_tt = 1
    m, undecided = _grow_hull(
        gram, order, corners, len(start), corner_gram, mu, error, eps, max_iter
    )
    # step 3's union with X*, which the listing lacks: eps would not hold
    indices, mu = corners[:m].copy(), mu[:, :m].copy()
    if resolve and m < n:
        others = np.ones(n, dtype=bool)
        others[indices] = False
        weights, found = mu[others], error[others]
        cross = gram[np.ix_(np.flatnonzero(others), indices)]
        diagonal = gram.diagonal()[others]
        _nearest_in_hull(diagonal, cross, corner_gram, weights, found, HULL_TOL * eps, max_iter)
        mu[others], error[others] = weights, found
    return ExtremePoints(indices, mu, error, int(undecided))


@checked
def approximate_extreme_points(gram, eps=1e-2, *, resolve=True, max_iter=MAX_STEPS):
    """Select few points whose convex hull in kernel space is within eps of all the others.

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        Kernel values of all pairs, symmetric and positive semi-definite.
    eps : float, default=1e-2
        Largest squared distance of a point to the hull of the selected ones.
    resolve : bool, default=True
        Compute the weights of every point anew once all selected points are known. Otherwise
        keep the first weights that met eps: faster, still within eps, farther on average.
    max_iter : int, default=100_000
        Most steps of a quadratic program. A point that is not decided then is selected.

    Returns
    -------
    ExtremePoints
        ``indices`` of the selected points; ``weights`` of shape (n_samples, n_selected), each
        row at least 0 with sum 1; ``error``, the squared distances; ``n_undecided``.

    References
    ----------
    .. [1] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98.

    Examples
    --------
    A square of 11 x 11 points is spanned by its corners:

    >>> import numpy as np
    >>> from octavo.svm import approximate_extreme_points
    >>> X = np.stack(np.meshgrid(np.arange(11.0), np.arange(11.0)), axis=-1).reshape(-1, 2)
    >>> found = approximate_extreme_points(X @ X.T, eps=1e-6)
    >>> sorted(found.indices.tolist())
    [0, 10, 110, 120]
    >>> round(float(found.weights.sum()), 6)
    121.0
    """
    gram = check_array(gram, dtype=np.float64, order="C", input_name="gram")
    check_gram(gram, name="gram")
    if not eps > 0:
        raise ValueError(f"eps must be greater than 0, got {eps!r}.")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}.")
    found = select_extremes(gram, float(eps), resolve=resolve, max_iter=max_iter)
    warn_undecided(found.n_undecided, max_iter)
    return found


def warn_undecided(n_undecided: int, max_iter: int) -> None:
    """Say how many points were selected for want of steps."""
    if n_undecided:
        warnings.warn(
            f"{n_undecided} point(s) were not decided after max_iter={max_iter} steps and were "
            "selected; eps is still met, with more points than needed.",
            ConvergenceWarning,
            stacklevel=3,
        )


@checked
def distance_to_hull(K_xx, K_xR, K_RR, tol=1e-9, *, max_iter=MAX_STEPS):
    """Return the squared distances of points to a convex hull in kernel space.

    Parameters
    ----------
    K_xx : float or array-like of shape (n_points,)
        Kernel value of each point with itself.
    K_xR : array-like of shape (n_corners,) or (n_points, n_corners)
        Kernel values of the points with the corners of the hull.
    K_RR : array-like of shape (n_corners, n_corners)
        Kernel values of the corners.
    tol : float, default=1e-9
        How far the returned squared distance may be above the true one.
    max_iter : int, default=100_000
        Most steps for one point; a `ConvergenceWarning` tells the gap if they do not suffice.

    Returns
    -------
    dist2 : float or ndarray of shape (n_points,)
        Squared distances; a number if `K_xR` is one point.
    mu : ndarray of shape (n_corners,) or (n_points, n_corners)
        Convex weights of the nearest point of the hull.

    References
    ----------
    .. [1] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98, Equation (6).

    Examples
    --------
    The point (2, 1) and the triangle (0, 0), (1, 0), (0, 1):

    >>> import numpy as np
    >>> from octavo.svm import distance_to_hull
    >>> x, R = np.array([2.0, 1.0]), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> dist2, mu = distance_to_hull(x @ x, R @ x, R @ R.T)
    >>> round(dist2, 6), mu.round(6).tolist()
    (2.0, [0.0, 1.0, 0.0])
    """
    corner_gram = check_array(K_RR, dtype=np.float64, order="C", input_name="K_RR")
    check_gram(corner_gram, definite=False, name="K_RR")
    is_one = np.ndim(K_xR) == 1
    cross = check_array(np.atleast_2d(K_xR), dtype=np.float64, order="C", input_name="K_xR")
    own = check_array(np.atleast_1d(K_xx), dtype=np.float64, ensure_2d=False, input_name="K_xx")
    if cross.shape != (len(own), len(corner_gram)):
        raise ValueError(
            f"K_xR must have a row for each of the {len(own)} values of K_xx and a column for "
            f"each of the {len(corner_gram)} corners of K_RR; got shape {cross.shape}."
        )
    if not tol > 0:
        raise ValueError(f"tol must be greater than 0, got {tol!r}.")
    mu, error = np.zeros_like(cross), np.empty(len(own))
    apart = corner_gram.diagonal()[None, :] - 2.0 * cross
    mu[np.arange(len(own)), np.argmin(apart, axis=1)] = 1.0
    worst = _nearest_in_hull(own, cross, corner_gram, mu, error, tol, max_iter)
    if worst > tol and worst > ROUNDING * max(own.max(), corner_gram.diagonal().max()):
        warnings.warn(
            f"A distance to the hull may be {worst:.3g} too large: max_iter={max_iter} did not "
            f"reach tol={tol:.3g}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return (float(error[0]), mu[0]) if is_one else (error, mu)


def _warmup() -> None:
    gram = np.exp(-(np.subtract.outer(np.arange(4.0), np.arange(4.0)) ** 2))
    weight = np.empty(4)
    _start_of_ball(gram, weight)
    select_extremes(gram, 0.5)
    distance_to_hull(1.0, np.ones(4), gram)
