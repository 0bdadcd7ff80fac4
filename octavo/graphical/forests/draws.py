"""Draws from a forest of kernel densities, whole rows or what is missing of them.

Whole rows are exact: a root has a row's kernel, and a child the kernel of a row that is chosen by
how near it is to the parent. What is missing of a row has, given the rest, a distribution on the
same forest: messages from the leaves upwards, on a grid of each missing column, tell a column
what lies below it, and the way down draws it, or gives its mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.graphical.forests.kernels import KernelSample, chunks, log_kernel

BEYOND = 4.0  # bandwidths by which the grid of a missing column exceeds the data
FINE = 3.0  # grid points a bandwidth
LARGEST_SUPPORT = 1024
ROWS = 256  # completed together


def draw_rows(sample: KernelSample, parent: Indices, order: Indices, n: int, random: Any) -> Floats:
    """Draw rows from the forest's density with the bandwidths of pairs, in the data's units."""
    values, h, sizes = sample.values, sample.h[1], sample.n_categories
    points = np.empty((n, values.shape[1]))
    for k in order.tolist():
        if parent[k] < 0:
            rows = random.randint(0, len(values), n)
        else:
            p = int(parent[k])
            rows = np.empty(n, dtype=np.intp)
            for at in chunks(n, len(values)):
                # p(x_k | x_p) is a mixture of the rows' kernels, weighted by nearness to x_p
                rows[at] = _choose(_weights(sample, p, points[at, p]), random)
        if sizes[k]:
            spread = random.random_sample(n) < h[k]
            points[:, k] = np.where(spread, random.randint(0, sizes[k], n), values[rows, k])
        else:
            points[:, k] = values[rows, k] + h[k] * random.standard_normal(n)
    return points * sample.span + sample.low


def _weights(sample: KernelSample, k: int, points: Floats) -> Floats:
    """Return the kernels of column k at points, the largest of each point as 1."""
    logs = log_kernel(sample, k, points, sample.h[1, k])
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def _choose(weights: Floats, random: Any) -> Indices:
    """Choose a column of each row by its weights."""
    total = weights.cumsum(axis=1)
    mark = random.random_sample(len(weights)) * total[:, -1]
    return np.minimum((total <= mark[:, None]).sum(axis=1), weights.shape[1] - 1)


class Support(NamedTuple):
    """The values that a missing column may take, and the kernels of the rows there."""

    points: Floats  # (m,)
    B: Floats  # (n, m)
    density: Floats  # (m,)
    cell: float


def support_of(sample: KernelSample, k: int, grid: int) -> Support:
    """Return the grid of a column, fine enough for its bandwidth, or its categories."""
    h = float(sample.h[1, k])
    if K := int(sample.n_categories[k]):
        points, cell = np.arange(K, dtype=float), 0.0
    else:
        width = 1.0 + 2 * BEYOND * h
        m = int(np.clip(np.ceil(FINE * width / h), grid, LARGEST_SUPPORT))
        points = np.linspace(-BEYOND * h, 1.0 + BEYOND * h, m)
        cell = width / (m - 1)
    B = np.exp(log_kernel(sample, k, points, h)).T
    return Support(points, B, B.mean(axis=0).clip(1e-300), cell)


def _normalized(weights: Floats, fallback: Floats) -> Floats:
    """Return rows that sum to one; a row without weight follows the column's density."""
    total = weights.sum(axis=1, keepdims=True)
    lost = ~(total > 0)
    return np.where(lost, fallback / fallback.sum(), weights / np.where(lost, 1.0, total))


def complete_rows(
    sample: KernelSample, parent: Indices, order: Indices, Z: Floats, grid: int, random: Any = None
) -> Floats:
    """Fill what is missing in rows given what is there: drawn with `random`, else by its mean.

    A category is filled by the most probable one instead of a mean.
    """
    needed = np.flatnonzero(np.isnan(Z).any(axis=0))
    supports = {int(k): support_of(sample, int(k), grid) for k in needed}
    points = np.where(np.isnan(Z), np.nan, sample.scaled(Z))
    for at in range(0, len(Z), ROWS):
        _complete(sample, parent, order, points[at : at + ROWS], supports, random)
    filled = points * sample.span + sample.low
    return np.where(np.isnan(Z), filled, Z)


def _upward(sample, parent, order, points, supports):
    """Return what the subtree below says of each missing column, and the messages that said it."""
    n = len(sample.values)
    beliefs = {k: np.ones((len(points), len(s.points))) for k, s in supports.items()}
    messages = {}
    for k in order[::-1].tolist():
        p = int(parent[k])
        if p not in supports:
            continue
        above = supports[p]
        message = np.empty((len(points), len(above.points)))
        missing = np.isnan(points[:, k])
        if (~missing).any():  # p(x_k | x_p) at the grid of p
            near = _weights(sample, k, points[~missing, k])
            # Σ_s K(x_k) K(x_p) / n over p(x_p)
            message[~missing] = near @ above.B / n / above.density
        if missing.any():
            joint = supports[k].B.T @ above.B / n
            # the same, summed over what lies below x_k
            message[missing] = beliefs[k][missing] @ joint / above.density
        message = _normalized(message, np.ones(len(above.points)))
        messages[k] = message
        beliefs[p] = _normalized(beliefs[p] * message, above.density)
    return beliefs, messages


def _complete(sample, parent, order, points, supports, random):
    """Fill one chunk of rows in place."""
    n = len(sample.values)
    beliefs, messages = _upward(sample, parent, order, points, supports)
    was_missing = np.isnan(points)
    marginals: dict[int, Floats] = {}
    for k in order.tolist():
        if k not in supports:
            continue
        own, p = supports[k], int(parent[k])
        rows = was_missing[:, k]
        prior = np.empty((len(points), len(own.points)))
        prior[:] = own.density
        if p >= 0:
            known = rows if random is not None else rows & ~was_missing[:, p]
            if known.any():
                prior[known] = _weights(sample, p, points[known, p]) @ own.B
            hidden = rows & ~known
            if hidden.any():  # all of p's distribution but what k itself told it
                above = supports[p]
                told = messages[k][hidden]
                # what k said of p must not come back to k
                rest = marginals[p][hidden] / np.where(told > 0, told, np.inf)
                prior[hidden] = (rest / above.density) @ (above.B.T @ own.B / n)
        marginals[k] = _normalized(prior * beliefs[k], own.density)
        if random is not None:
            chosen = own.points[_choose(marginals[k], random)]
            jitter = random.random_sample(len(points)) - 0.5
            # a draw within its cell of the grid
            points[rows, k] = (chosen + own.cell * jitter)[rows]
        elif own.cell:
            points[rows, k] = (marginals[k] @ own.points)[rows]
        else:
            points[rows, k] = own.points[marginals[k].argmax(axis=1)][rows]
