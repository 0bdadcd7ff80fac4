"""Proximal maps and balls of norms over groups: columns, or one entry of several matrices.

``shrink_columns(A, t, q)`` is the proximal map of t Σ_j ‖A_j‖_q for q in {1, 2, inf}: soft
thresholding, group shrinkage, and what is left of a column after its projection on an l1 ball.
``fuse`` and ``shrink_together`` act on one entry of K matrices at a time: the fused and the group
penalty, each with an l1 penalty beside it.

References: Duchi and Singer (2009), "Efficient online and batch learning using forward backward
splitting", JMLR 10:2899-2934, section 5; Danaher, Wang and Witten (2014), "The joint graphical
lasso", JRSS B 76:373-397, section 3.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

NORMS = (1, 2, np.inf)


def dual_exponent(q: float) -> float:
    """Return s with 1/s + 1/q = 1."""
    return {1: np.inf, 2: 2, np.inf: 1}[q]


def column_norms(A: Floats, q: float) -> Floats:
    """Return the q norms of the columns of one or several matrices."""
    if q == 1:
        return np.abs(A).sum(axis=-2)
    if q == 2:
        return np.sqrt(np.einsum("...ij,...ij->...j", A, A))
    return np.abs(A).max(axis=-2, initial=0.0)


def _ratio(radius: Floats | float, norms: Floats) -> Floats:
    """Return min(1, radius / norm); 1 for a norm of zero, where nothing needs to be scaled."""
    largest = np.maximum(norms, radius)
    return np.where(largest > 0.0, radius / np.where(largest > 0.0, largest, 1.0), 1.0)


def soft_threshold(A: Floats, threshold: Floats | float) -> Floats:
    """Return the proximal map of the weighted l1 norm; an infinite threshold gives zero."""
    return A - np.clip(A, -threshold, threshold)


def l1_ball_threshold(A: Floats, radius: Floats | float) -> Floats:
    """Return by column the θ for which soft thresholding at θ projects on the l1 ball.

    It is zero for columns inside the ball.
    """
    size = np.abs(A)
    ordered = -np.sort(-size, axis=-2)
    excess = np.cumsum(ordered, axis=-2) - radius
    count = np.arange(1, A.shape[-2] + 1)[:, None]
    last = np.maximum((ordered * count > excess).sum(axis=-2, keepdims=True), 1)
    # the θ at which what is above it sums to the radius
    theta = np.take_along_axis(excess, last - 1, axis=-2)[..., 0, :] / last[..., 0, :]
    return np.maximum(theta, 0.0)


def project_columns(A: Floats, radius: float, s: float) -> Floats:
    """Project every column on the ball of the s norm."""
    if s == np.inf:
        return np.clip(A, -radius, radius)
    if s == 2:
        return A * _ratio(radius, column_norms(A, 2))[..., None, :]
    return soft_threshold(A, l1_ball_threshold(A, radius)[..., None, :])


def shrink_columns(A: Floats, threshold: Floats | float, q: float) -> Floats:
    """Return T_q: the proximal map of threshold · Σ_j ‖A_j‖_q, by Moreau's decomposition."""
    if q == 1:
        return soft_threshold(A, threshold)
    if q == 2:
        # a ball of the dual norm, by Moreau
        return A * (1.0 - _ratio(threshold, column_norms(A, 2)))[..., None, :]
    theta = l1_ball_threshold(A, threshold)[..., None, :]
    return np.clip(A, -theta, theta)  # A less its projection on the l1 ball


def shrink_scaled_columns(A: Floats, thresholds: Floats, scales: Floats, q: float) -> Floats:
    """Return the proximal map of Σ_j t_j ‖A_j / d‖_q: columns whose rows have units of their own.

    Parameters
    ----------
    A : ndarray of shape (..., n_rows, n_columns)
        What is mapped.
    thresholds : ndarray of shape (n_columns,)
        The t_j, at least 0.
    scales : ndarray of shape (n_rows,)
        The d, positive; ones give `shrink_columns`.
    q : {1, 2, inf}
        The norm.

    Returns
    -------
    ndarray of the shape of A
        The minimiser of the penalty plus half the squared distance from A.
    """
    d = scales[:, None]
    if q == 1:
        return soft_threshold(A, thresholds / d)
    if q == 2:
        # a_i = x_i (1 + t / (d_i² τ)) with τ = ‖x / d‖: Σ (d_i a_i / (d_i² τ + t))² = 1
        tau = _secular_root(np.moveaxis(A * d, -2, -1), scales**2, thresholds)[..., None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(tau > 0.0, A * (d**2 * tau) / (d**2 * tau + thresholds), 0.0)
    level = _weighted_level(np.abs(A), thresholds, d)[..., None, :]
    return np.clip(A, -level * d, level * d)


def _secular_root(b: Floats, e: Floats, t: Floats) -> Floats:
    """Return the τ ≥ 0 with Σ_i (b_i / (e_i τ + t))² = 1, zero where the sum is below 1 at zero.

    1/√ of the sum is concave and increasing in τ: Newton's method from the left never passes the
    root, as in the trust-region problem. Axis -1 of b is summed over; axis -2 is that of t.
    """
    tau = np.zeros(b.shape[:-1])
    active = np.sqrt((b**2).sum(axis=-1)) > t
    t = np.broadcast_to(t, tau.shape)[active][:, None]
    b, found = b[active], np.zeros(int(active.sum()))
    # with t = 0 nothing shrinks, and any τ gives the right map; of the order of ‖b / e‖
    found = np.where(t[:, 0] > 0.0, found, np.sqrt((b**2).sum(axis=-1)))
    for _ in range(60):
        below = e * found[:, None] + t
        ratio = b / below
        size = np.sqrt((ratio**2).sum(axis=-1))
        slope = (ratio**2 * e / below).sum(axis=-1) / size**3  # of 1 / size
        step = np.maximum((1.0 - 1.0 / size) / slope, 0.0)
        found = found + step
        if (step <= 1e-15 * found).all():
            break
    tau[active] = found
    return tau


def _weighted_level(size: Floats, t: Floats, d: Floats) -> Floats:
    """Return by column the τ with Σ_i d_i (|a_i| − d_i τ)₊ = t, at least zero."""
    ends = size / d
    order = np.argsort(-ends, axis=-2)
    moved = np.cumsum(np.take_along_axis(size * d, order, axis=-2), axis=-2) - t
    weight = np.cumsum(np.take_along_axis(np.broadcast_to(d**2, size.shape), order, -2), axis=-2)
    inside = np.take_along_axis(ends, order, axis=-2) * weight > moved
    last = np.maximum(inside.sum(axis=-2, keepdims=True), 1) - 1
    level = np.take_along_axis(moved, last, -2) / np.take_along_axis(weight, last, -2)
    return np.maximum(level[..., 0, :], 0.0)


def scale_into_balls(G: Floats, radius: float, s: float) -> Floats:
    """Scale symmetric matrices so that their columns lie in a ball and they stay symmetric.

    `G` has shape (..., m, p, p); the m parts of a column together make its s norm. Entry ij is
    multiplied by the smaller of the factors that columns i and j need.
    """
    stacked = G.reshape(*G.shape[:-3], -1, G.shape[-1])
    factor = _ratio(radius, column_norms(stacked, s))
    both = np.minimum(factor[..., :, None], factor[..., None, :])
    return G * both[..., None, :, :]


def shrink_together(A: Floats, weights: Floats, group: Floats) -> Floats:
    """Return the proximal map of Σ w_k |a_k| + g ‖a‖₂ for each entry; axis 0 is the group."""
    Z = soft_threshold(A, weights)
    # the map of the sum is that of entries, then that of the group
    return Z * (1.0 - _ratio(group, np.sqrt(np.einsum("k...,k...->...", Z, Z))))


def fuse(A: Floats, weights: Floats, fusion: Floats) -> Floats:
    """Return the proximal map of Σ w_k |a_k| + f Σ_{k<l} |a_k − a_l| for each entry.

    Axis 0 is the group. The weights of one entry must be equal in all members for thresholding
    after fusing to be exact.

    Parameters
    ----------
    A : ndarray of shape (n_members, ...)
        What is mapped.
    weights : ndarray of the shape of A
        Weights of the l1 norm; infinite ones give zero.
    fusion : ndarray of the shape of A[0]
        Weight of the differences.

    Returns
    -------
    ndarray of the shape of A
        The minimiser plus half the squared distance from A.
    """
    flat = np.ascontiguousarray(A).reshape(len(A), -1)
    out = np.empty_like(flat)
    _fuse_entries(flat, np.ascontiguousarray(fusion).reshape(-1), out)
    return soft_threshold(out.reshape(A.shape), weights)


@njit(cache=True)
def _fuse_entries(A, fusion, out):
    """Fuse every column of A (members × entries).

    The differences of sorted values sum to Σ_i (2i − K + 1) a_(i), and the map keeps the order:
    what remains is the isotonic regression of a_(i) − f (2i − K + 1), i = 0 .. K − 1.
    """
    K, m = A.shape
    order = np.empty(K, np.int64)
    level = np.empty(K)
    size = np.empty(K, np.int64)
    for j in range(m):
        f = fusion[j]
        if K == 2:
            mean = 0.5 * (A[0, j] + A[1, j])
            half = 0.5 * (A[0, j] - A[1, j])
            # half of the difference loses f: both members move by f
            half = half - f if half > f else (half + f if half < -f else 0.0)
            out[0, j] = mean + half
            out[1, j] = mean - half
            continue
        for k in range(K):  # insertion sort
            i = k
            while i > 0 and A[order[i - 1], j] > A[k, j]:
                order[i] = order[i - 1]
                i -= 1
            order[i] = k
        n_levels = 0
        for i in range(K):  # pool adjacent violators
            # the sorted differences are linear where the order holds
            level[n_levels] = A[order[i], j] - f * (2 * i - K + 1)
            size[n_levels] = 1
            n_levels += 1
            while n_levels > 1 and level[n_levels - 2] >= level[n_levels - 1]:
                total = size[n_levels - 2] + size[n_levels - 1]
                level[n_levels - 2] = (
                    level[n_levels - 2] * size[n_levels - 2]
                    + level[n_levels - 1] * size[n_levels - 1]
                ) / total
                size[n_levels - 2] = total
                n_levels -= 1
        i = 0
        for b in range(n_levels):
            for _ in range(size[b]):
                out[order[i], j] = level[b]
                i += 1


def soft_threshold_tied(R: Floats, weights: Floats, alpha: float, beta: float) -> Floats:
    """Minimise ½ tᵀ(αI − β11ᵀ)t − rᵀt + Σ_k w_k |t_k| for each entry; axis 0 is the group.

    Needs α > β K > 0. Given s = Σ t the solution is t_k = soft(r_k + β s, w_k)/α, and s is the
    root of a decreasing, piecewise linear function of one variable.
    """
    flat = np.ascontiguousarray(R).reshape(len(R), -1)
    out = np.empty_like(flat)
    _tied_entries(flat, np.ascontiguousarray(weights).reshape(len(R), -1), alpha, beta, out)
    return out.reshape(R.shape)


@njit(cache=True)
def _tied_entries(R, weights, alpha, beta, out):
    """Find s by Newton's method, kept inside a bracket; in the right piece one step is exact."""
    K, m = R.shape
    for j in range(m):
        s, low, high = 0.0, -np.inf, np.inf
        for _ in range(100):
            total, size, count = 0.0, 0.0, 0
            for k in range(K):
                v = R[k, j] + beta * s
                w = weights[k, j]
                t = (v - w if v > w else (v + w if v < -w else 0.0)) / alpha
                out[k, j] = t
                total += t
                size += abs(t)
                count += t != 0.0
            if abs(total - s) <= 1e-15 * (size + abs(s)):
                break
            if total > s:
                low = s
            else:
                high = s
            s += (total - s) / (1.0 - beta * count / alpha)
            if s <= low or s >= high:
                s = 0.5 * (low + high)


def _warmup() -> None:
    fuse(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(1))
    soft_threshold_tied(np.zeros((2, 1)), np.zeros((2, 1)), 1.5, 0.25)
