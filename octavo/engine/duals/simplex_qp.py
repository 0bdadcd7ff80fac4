"""Maximum of a concave quadratic over the simplex, two weights at a time, with its gap.

    max_w  g(w) = l·w - ½ w·K·w   subject to   w ≥ 0,  Σ w = 1

With l = ½ diag(K) this is the dual of the smallest ball around the points of a Gram matrix K;
with l the kernel of a point with those points, it finds the nearest point of their convex hull.
The slope s = l - K w tells how far g(w) may be below its maximum: max_k s_k - s·w (the gap of
Frank and Wolfe). Each step moves weight towards the largest slope, from where that gains most.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit


@njit(cache=True, nogil=True)
def _simplex_slope(gram, linear, weight, slope):
    """Fill slope = linear - gram @ weight; return g at weight."""
    m = weight.shape[0]
    for k in range(m):
        slope[k] = linear[k]
    for j in range(m):
        if weight[j] != 0.0:
            for k in range(m):
                slope[k] -= weight[j] * gram[j, k]
    value = 0.0
    for k in range(m):
        value += 0.5 * weight[k] * (linear[k] + slope[k])
    return value


@njit(cache=True, nogil=True)
def _best_donor(gram, weight, slope, support, n_support, up):
    """Return the place in `support` from which moving weight to `up` gains most, and the gain."""
    place, best = -1, 0.0
    for s in range(n_support):
        k = support[s]
        rise = slope[up] - slope[k]
        if rise > 0.0:
            bend = gram[up, up] + gram[k, k] - 2.0 * gram[up, k]
            full = weight[k]  # all of it, where g does not bend down before
            gain = full * rise - 0.5 * full * full * bend
            if bend * full > rise:
                gain = 0.5 * rise * rise / bend
            if gain > best:
                place, best = s, gain
    return place, best


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _shift_slope(slope, move, to, away):
    """Subtract move * (to - away) from the slope; return its new maximum."""
    top = -np.inf
    for k in range(slope.shape[0]):
        slope[k] -= move * (to[k] - away[k])
        top = max(top, slope[k])
    return top


@njit(cache=True, nogil=True)
def simplex_qp(gram, linear, weight, slope, tol, max_steps, accept, reject):
    """Maximise g over the simplex from `weight`, in place; see the module.

    Only the leading block of `gram` as large as `weight` is used, so that a growing matrix may
    live in one buffer; `slope` is room for at least as many numbers. Stops at a gap of `tol`;
    as soon as g reaches `accept`; as soon as the maximum is known to be below `reject`; or after
    `max_steps`. Returns g, the gap and the number of steps.
    """
    m = weight.shape[0]
    slope = slope[:m]
    value = _simplex_slope(gram, linear, weight, slope)
    support, n_support = np.empty(m, dtype=np.intp), 0
    for k in range(m):
        if weight[k] > 0.0:
            support[n_support] = k
            n_support += 1
    top = slope[0]
    for k in range(1, m):
        top = max(top, slope[k])
    step = 0
    while True:
        mean = 0.0
        for s in range(n_support):
            mean += weight[support[s]] * slope[support[s]]
        gap = top - mean
        if gap <= tol or value >= accept or value + gap < reject or step == max_steps:
            return value, gap, step
        up = 0
        while up < m - 1 and slope[up] != top:
            up += 1
        place, gain = _best_donor(gram, weight, slope, support, n_support, up)
        if place < 0:  # rounding has eaten what was left to gain
            return value, gap, step
        down = support[place]
        rise = slope[up] - slope[down]
        bend = gram[up, up] + gram[down, down] - 2.0 * gram[up, down]
        if weight[up] == 0.0:
            support[n_support] = up
            n_support += 1
        move = weight[down]
        if bend * move > rise:
            move = rise / bend
            weight[down] -= move
        else:
            weight[down] = 0.0
            n_support -= 1
            support[place] = support[n_support]
        weight[up] += move
        value += gain
        top = _shift_slope(slope, move, gram[up], gram[down])
        step += 1


def _warmup() -> None:
    gram, weight, slope = np.eye(2), np.array([1.0, 0.0]), np.empty(2)
    _simplex_slope(gram, np.zeros(2), weight, slope)
    _shift_slope(slope, 0.0, gram[0], gram[1])
    _best_donor(gram, weight, slope, np.array([0]), 1, 1)
    simplex_qp(gram, np.zeros(2), weight, slope, 0.1, 10, np.inf, -np.inf)
