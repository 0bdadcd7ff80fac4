"""Averaged stochastic gradient descent in a Hilbert space that is known by its kernel alone.

The iterate is θ_n = Σ_i α_i φ(x_i); row n adds one weight, which never changes again. Rows are met
in blocks: what earlier rows contribute to a block's scores is one matrix product, and within
the block the recursion is compiled. Steps, R and the mean are those of
`octavo.engine.streams.averaged_descent`; the weights kept are R^q α.

References
----------
F. Bach. Adaptivity of Averaged Stochastic Gradient Descent to Local Strong Convexity for Logistic
Regression. Journal of Machine Learning Research 15, 2014: Section 2.2, whose formula for α_n has
a stray x_n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.smooth.losses import LOG, loss_slope
from octavo.engine.streams.averaged_descent import (
    BROKEN,
    DECAY,
    DOUBLING,
    NUMERATOR,
    RADIUS,
    SCALE,
    SEEN,
    WINDOW,
    StepRule,
    class_steps,
    new_descent,
    numerator,
    stretch,
)
from octavo.engine.streams.passes import JIT

BLOCK_CELLS = 1 << 22  # kernel values held at a time: 32 MiB


class DualDescent(NamedTuple):
    """Weights of the rows that were kept, for the mean and for the newest iterate."""

    positions: np.ndarray
    averaged: np.ndarray
    newest: np.ndarray
    clock: np.ndarray
    n_dropped: int


@njit(**JIT)
def _dual_block(scores, own, lengths, targets, labels, code, softmax, rule, alpha, clock, finished):
    """Fill the weights of a block's rows; ``scores`` holds what earlier rows contribute.

    ``labels`` is None for one vector. ``finished`` are the rounds between which the last whole
    block of the schedule `DOUBLING` lies; None for others.
    """
    width = alpha.shape[1]
    row = np.empty(width)
    for i in range(own.shape[0]):
        n = clock[SEEN] + 1.0
        s = numerator(rule, n)
        if finished is not None:
            s = rule.c / math.sqrt(2.0 ** math.floor(math.log2(n)))
        stretch(rule.factor * lengths[i], rule, clock)
        for c in range(width):
            row[c] = scores[i, c]
            for j in range(i):
                row[c] += own[i, j] * alpha[j, c]
            row[c] /= clock[SCALE] if clock[SCALE] > 0.0 else 1.0
            if not math.isfinite(row[c]):
                clock[BROKEN] = 1.0
        if labels is None:
            row[0] = loss_slope(code, 0.5, row[0], targets[i])
        else:
            class_steps(row, labels[i], code, softmax)
        for c in range(width):
            # Section 2.2; its formula has a stray x_n
            alpha[i, c] = -s * row[c] if clock[RADIUS] > 0.0 else 0.0
        clock[SEEN] = n
        clock[WINDOW] += 1.0
        clock[NUMERATOR] = s
        if finished is not None:  # noqa: SIM102 - alone, it is dropped for None
            if 2.0 ** math.floor(math.log2(n + 1.0)) == n + 1.0:
                finished[0] = n - clock[WINDOW]
                finished[1] = n
                clock[WINDOW] = 0.0


def _kept(alpha: np.ndarray, lengths: np.ndarray, budget: int | None) -> np.ndarray:
    """Return which rows stay: all, or the ``budget`` whose terms are longest, in their order."""
    if budget is None or len(alpha) <= budget:
        return np.arange(len(alpha))
    size = np.linalg.norm(alpha, axis=1) * lengths  # the norm of each α_i φ(x_i)
    return np.sort(np.argsort(-size, kind="stable")[:budget])


def dual_descent(
    gram: Callable[[np.ndarray, np.ndarray], np.ndarray],
    lengths: np.ndarray,
    targets: np.ndarray,
    n_vectors: int,
    code: int,
    softmax: bool,
    rule: StepRule,
    radius: float,
    *,
    budget: int | None = None,
    watch: Callable[[], bool] = lambda: False,
) -> DualDescent:
    """Run over all rows once.

    Parameters
    ----------
    gram : callable
        Takes positions of rows, in the order of the visits, and of columns; returns kernel values.
    lengths : ndarray of shape (n_rows,)
        √k(x, x), in the order of the visits.
    targets : ndarray of shape (n_rows,)
        ±1 for one vector, else numbers of classes.
    n_vectors : int
        1, or the number of classes.
    code : int
        The loss.
    softmax : bool
        Whether classes share one loss.
    rule : StepRule
        The steps.
    radius : float
        R; 0 to find it on the way.
    budget : int, optional
        Rows that are kept from block to block: those whose terms α_i φ(x_i) are longest.
    watch : callable, optional
        Called after each block; True stops.

    Returns
    -------
    DualDescent
        Positions of the rows kept, their weights in the mean and in the newest iterate.
    """
    clock = new_descent(0, 1, rule, radius).clock
    finished = np.zeros(2) if rule.schedule == DOUBLING else None
    values = targets.astype(np.float64)
    members = np.zeros(0, dtype=np.intp)
    weights = np.zeros((0, n_vectors))
    n, start, dropped = len(targets), 0, 0
    while start < n:
        size = min(max(16, min(512, BLOCK_CELLS // max(1, len(members)))), n - start)
        block = np.arange(start, start + size)
        own = np.ascontiguousarray(gram(block, block), dtype=np.float64)
        earlier = gram(block, members) @ weights if len(members) else np.zeros((size, n_vectors))
        alpha = np.zeros((size, n_vectors))
        _dual_block(
            np.ascontiguousarray(earlier, dtype=np.float64), own, lengths[block], values[block],
            None if n_vectors == 1 else targets[block].astype(np.int64),
            code, softmax, rule, alpha, clock, finished,
        )  # fmt: skip
        members, weights = np.r_[members, block], np.vstack([weights, alpha])
        kept = _kept(weights, lengths[members], budget)
        dropped += len(members) - len(kept)
        members, weights = members[kept], weights[kept]
        start += size
        if watch():
            break
    scale = clock[SCALE] or 1.0
    end = clock[SEEN]
    first, last = (end - clock[WINDOW], end) if finished is None else finished
    # x_i, of round i = position + 1, is part of θ_i .. θ_{N-1}: N - i of the N iterates of the mean
    share = np.clip(last - (members + 1), 0.0, last - first) / max(last - first, 1.0)
    newest = weights / scale
    return DualDescent(members, share[:, None] * newest, newest, clock, dropped)


def _warmup() -> None:
    rule = StepRule(DECAY, 2.0, 1.0, True, 1.0)
    one, clock = np.ones((1, 1)), new_descent(0, 1, rule, 0.0).clock
    for labels in (None, np.zeros(1, dtype=np.int64)):
        for finished in (None, np.zeros(2)):
            _dual_block(
                one.copy(), one, np.ones(1), np.ones(1), labels, LOG, False, rule, one.copy(),
                clock, finished,
            )  # fmt: skip
