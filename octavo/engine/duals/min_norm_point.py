"""Wolfe's algorithm: the point of a polytope that is nearest to the origin.

    min ‖x‖   such that   x = Σ w_i p_i,   w ≥ 0,   Σ w_i = 1

An active-set method that ends after finitely many steps: a corral of affinely independent points is
grown by the point that looks furthest towards the origin, and shrunk while its affine minimiser
lies outside its hull. The multiplier of a max-margin problem with a unit ball is x / ‖x‖.

Reference: Wolfe (1976), "Finding the nearest point in a polytope", Mathematical Programming 11.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["NearestPoint", "min_norm_point"]


class NearestPoint(NamedTuple):
    """The nearest point x, the weights of the points, ‖x‖² − min_i x'p_i, and the rounds."""

    point: np.ndarray
    weights: np.ndarray
    gap: float
    n_iter: int


def _affine_weights(Q: np.ndarray) -> np.ndarray:
    """Return the weights, summing to one, of the point of least norm in the affine hull of rows."""
    gram = Q @ Q.T
    n = len(Q)
    scale = max(float(np.trace(gram)) / n, 1e-300)
    system = np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), gram / scale]])
    return np.linalg.lstsq(system, np.eye(n + 1)[0], rcond=None)[0][1:]


def min_norm_point(points, *, tol: float = 1e-12, max_iter: int = 10_000) -> NearestPoint:
    """Return the point of the convex hull of the rows that is nearest to the origin."""
    P = np.asarray(points, dtype=np.float64)
    squares = np.einsum("ij,ij->i", P, P)
    corral, weights = [int(squares.argmin())], np.ones(1)
    x, largest, n_iter = P[corral[0]].copy(), max(float(squares.max()), 1e-300), 0
    while n_iter < max_iter:
        n_iter += 1
        along = P @ x
        new = int(along.argmin())
        gap = float(x @ x - along[new])
        if gap <= tol * largest or new in corral:
            break
        corral.append(new)
        weights = np.append(weights, 0.0)
        while True:
            affine = _affine_weights(P[corral])
            if (affine > 1e-14).all():
                weights = affine
                break
            falling = affine <= 1e-14
            steps = weights[falling] / np.maximum(weights[falling] - affine[falling], 1e-300)
            weights = weights + min(1.0, float(steps.min())) * (affine - weights)
            kept = weights > 1e-14
            if kept.all():
                kept[int(np.flatnonzero(falling)[steps.argmin()])] = False
            corral = [c for c, keep in zip(corral, kept) if keep]
            weights = weights[kept] / weights[kept].sum()
        x = weights @ P[corral]
    full = np.zeros(len(P))
    full[corral] = weights
    return NearestPoint(x, full, float(x @ x - (P @ x).min()), n_iter)
