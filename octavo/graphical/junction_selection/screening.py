"""Pairs that cannot be edges: what is left is the graph H that a junction tree is built of.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, section 8; J. Fan and J. Lv (2008), "Sure independence screening for
ultrahigh dimensional feature space".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.graphical.junction_selection.independence import (
    check_order,
    pc_skeleton,
    weakest_partials,
)
from octavo.graphical.junction_selection.moments import CHUNK, Bools, edge_price, moments

N_FOLDS = 5


class FoldMoments(NamedTuple):
    """Of each fold: covariances of the other rows, and of its own rows about the others' means."""

    train: Floats
    test: Floats
    sizes: Floats


def fold_moments(X: Floats, n_folds: int = N_FOLDS) -> FoldMoments:
    """Return the moments of folds that take every fifth row, of standardised columns."""
    m = moments(X)
    Z = (X - m.location) / m.scale
    n = len(Z)
    n_folds = min(n_folds, n // 2)
    train, test, sizes = [], [], []
    for fold in range(n_folds):
        own = np.arange(n) % n_folds == fold
        mean = Z[~own].mean(axis=0)
        rest, held = Z[~own] - mean, Z[own] - mean
        train.append(rest.T @ rest / len(rest))
        test.append(held.T @ held / len(held))
        sizes.append(len(held))
    return FoldMoments(np.array(train), np.array(test), np.array(sizes, dtype=np.float64))


def held_out_gains(folds: FoldMoments, pairs: Indices, given: Indices) -> Floats:
    """Return the held-out log-likelihood that joining each pair gains, fold by fold.

    Both models regress the two variables on those given, from the training rows; one lets what is
    left of them correlate.
    """
    gains = np.empty((len(folds.sizes), len(pairs)))
    for begin in range(0, len(pairs), CHUNK):
        part = slice(begin, begin + CHUNK)
        for f, (C, M, size) in enumerate(zip(folds.train, folds.test, folds.sizes, strict=True)):
            c, m = _residual_moments(C, M, pairs[part], given[part])
            spread = np.sqrt(np.maximum(c[0], 1e-12) * np.maximum(c[1], 1e-12))
            r = np.clip(c[2] / spread, -1.0 + 1e-6, 1.0 - 1e-6)
            own = m[0] / np.maximum(c[0], 1e-12) + m[1] / np.maximum(c[1], 1e-12)
            left = 1.0 - r * r
            joined = own - 2.0 * r * m[2] / spread
            gains[f, part] = 0.5 * size * (own - joined / left - np.log(left))
    return gains


def _residual_moments(C: Floats, M: Floats, pairs: Indices, given: Indices):
    """Return variances and covariance of the residuals of both ends, in training and held out."""
    i, j = pairs.T
    if not given.shape[1]:
        return (C[i, i], C[j, j], C[i, j]), (M[i, i], M[j, j], M[i, j])
    s, e = given[:, :, None], pairs[:, None, :]
    among = C[s, given[:, None, :]] + 1e-9 * np.eye(given.shape[1])
    slopes = np.linalg.solve(among, C[s, e])
    found = []
    for A in (C, M):
        # (x_e - B x_s)(x_e - B x_s)' for both ends at once
        inner = slopes.swapaxes(1, 2) @ A[s, e]
        square = (
            A[pairs[:, :, None], pairs[:, None, :]]
            - inner
            - inner.swapaxes(1, 2)
            + slopes.swapaxes(1, 2) @ A[s, given[:, None, :]] @ slopes
        )
        found.append((square[:, 0, 0], square[:, 1, 1], square[:, 0, 1]))
    return found


def pc_screen(X: Floats, order: int, gamma: float = 0.5) -> Bools:
    """Return the pairs that no set of at most `order` variables separates, by cross-validation.

    The threshold of each pair is its own: joined, it must predict held-out rows better than apart,
    given the set that leaves it weakest, by what an edge costs in the smallest of regions, two
    variables: what does not earn that will not be chosen later.
    """
    R, folds = moments(X).R, fold_moments(X)
    check_order(order, len(X))
    price = edge_price(len(X), 2, gamma)

    def separated(H: Bools, pairs: Indices, k: int) -> Bools:
        gone = np.zeros(len(pairs), dtype=bool)
        least = weakest_partials(R, H, pairs, k)
        gains = held_out_gains(folds, pairs[least.which], least.given)
        gone[least.which] = 2.0 * gains.sum(axis=0) <= price
        return gone

    every = ~np.eye(len(R), dtype=bool)
    return pc_skeleton(every, every, order, separated)


def correlation_screen(X: Floats) -> Bools:
    """Return the pairs in which one is among the n / log n that correlate most with the other."""
    size = np.abs(moments(X).R)
    np.fill_diagonal(size, -1.0)
    d = len(size)
    most = min(max(int(len(X) / np.log(len(X))), 1), d - 1)
    kept = np.zeros((d, d), dtype=bool)
    if most > 0:
        nearest = np.argsort(-size, axis=1, kind="stable")[:, :most]
        np.put_along_axis(kept, nearest, True, axis=1)
    return kept | kept.T
