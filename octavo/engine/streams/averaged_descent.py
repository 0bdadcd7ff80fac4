"""Averaged stochastic gradient descent over a stream of rows, one step a row.

The recursion is θ_n = θ_{n-1} - γ_n f'_n(θ_{n-1}) with θ_0 = 0, and what is wanted is the mean
of θ_0, ..., θ_{n-1}: the newest iterate is not in it. Steps are γ_n = s_n / R^q, where s_n comes
from a schedule and R bounds the rows. The vector that is kept is R^q θ, to which a row adds
-s_n f'_n: when a longer row makes R larger, all steps of the past become what they would have
been with that R, at no cost. The mean is lazy: a step in round t of the mean's window adds t times
itself to a drift, and the mean is the vector minus drift / t, so that a sparse row costs its
nonzeros. Weight and drift of a coordinate stand side by side in memory.

Several vectors (classes) are stored coordinate by coordinate, as in `octavo.engine.streams.passes`.

References
----------
F. Bach. Adaptivity of Averaged Stochastic Gradient Descent to Local Strong Convexity for Logistic
Regression. Journal of Machine Learning Research 15, 2014: (A7), Section 2.2 and Section 3.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.smooth.losses import LOG, loss_slope
from octavo.engine.streams import passes as streams
from octavo.engine.streams.passes import JIT, SUM, WORD, Rows

DECAY, CONSTANT, DOUBLING = range(3)
# What a descent remembers: rounds seen, rounds in the mean's window, R, R when the window began,
# R^q, how many rows were longer than the R of their time, the last s_n, whether a score overflowed.
SEEN, WINDOW, RADIUS, FIRST_RADIUS, SCALE, LONGER, NUMERATOR, BROKEN = range(8)
# A row counts as longer than R beyond rounding.
SLACK = 1.0 + 1e-12


class Descent(NamedTuple):
    """A descent under way; the arrays are changed in place.

    ``pairs`` holds R^q θ and what its lazy mean needs, by turns; ``finished`` the mean of the last
    whole block (None unless the schedule is `DOUBLING`); ``clock`` the numbers named above.
    """

    pairs: np.ndarray
    finished: np.ndarray | None
    clock: np.ndarray


class StepRule(NamedTuple):
    """How long steps are: γ = s / R², or s / R; R is the longest row times a factor of the loss."""

    schedule: int
    c: float
    horizon: float
    squared: bool
    factor: float


def new_descent(n_coordinates: int, n_vectors: int, rule: StepRule, radius: float) -> Descent:
    """Return the state before the first row; a radius of 0 is found on the way."""
    size = n_coordinates * n_vectors
    clock = np.zeros(8)
    clock[RADIUS] = clock[FIRST_RADIUS] = radius
    clock[SCALE] = radius * radius if rule.squared else radius
    finished = np.zeros(size) if rule.schedule == DOUBLING else None
    return Descent(np.zeros(2 * size), finished, clock)


@njit(**WORD)
def numerator(rule, n):
    """Return s_n, the n-th step times R^q, where steps do not go by blocks."""
    # γ_n R²; Corollary 2 has c = 1/2 and N
    return rule.c / math.sqrt(n if rule.schedule == DECAY else rule.horizon)


@njit(**WORD)
def stretch(length, rule, clock):
    """Let R be no less than a length; return whether it has doubled, so that a new mean begins."""
    if length <= clock[RADIUS] * SLACK:
        return False
    if not math.isfinite(length):
        clock[BROKEN] = 1.0
    clock[LONGER] += 1.0
    clock[RADIUS] = length
    clock[SCALE] = length * length if rule.squared else length
    if length < 2.0 * clock[FIRST_RADIUS]:
        return False
    clock[FIRST_RADIUS] = length
    clock[WINDOW] = 0.0
    return True


@njit(**WORD)
def stretch_to_row(x, rule, pairs, clock):
    """Let R be no less than the length of a row, and forget the drift where a mean begins."""
    if stretch(rule.factor * math.sqrt(streams.squared_norm(x)), rule, clock):
        for k in range(1, pairs.size, 2):
            pairs[k] = 0.0


@njit(**WORD)
def close_block(n, pairs, finished, clock):
    """Keep the mean of a block [2^p, 2^(p+1)) that round n ends, and begin the next."""
    if 2.0 ** math.floor(math.log2(n + 1.0)) != n + 1.0:  # Section 3.1
        return
    for k in range(finished.size):
        # Section 2.1: θ̄ is the mean of θ_0 .. θ_n-1
        finished[k] = pairs[2 * k] - pairs[2 * k + 1] / clock[WINDOW]
        pairs[2 * k + 1] = 0.0
    clock[WINDOW] = 0.0


@njit(**SUM)
def _dense_dot(values, pairs):
    total = 0.0
    for k in range(values.size):
        total += values[k] * pairs[2 * k]
    return total


@njit(**WORD)
def pair_dot(x, pairs):
    """Return the product of a row with the weights."""
    if x.dense:
        total = _dense_dot(x.values, pairs)
    else:
        total, other = 0.0, 0.0  # two sums, so that one need not wait for the other
        even = x.values.size - x.values.size % 2
        for k in range(0, even, 2):
            total += x.values[k] * pairs[2 * np.int64(x.indices[k])]
            other += x.values[k + 1] * pairs[2 * np.int64(x.indices[k + 1])]
        if even < x.values.size:
            total += x.values[even] * pairs[2 * np.int64(x.indices[even])]
        total += other
    if x.bias != 0.0:
        total += x.bias * pairs[2 * x.n_features]
    return total


@njit(**WORD)
def move(step, lagging, x, pairs):
    """Add ``step`` times a row to the weights and ``lagging`` times it to the drift."""
    for k in range(x.values.size):
        j = 2 * (k if x.dense else np.int64(x.indices[k]))
        pairs[j] += step * x.values[k]
        pairs[j + 1] += lagging * x.values[k]
    if x.bias != 0.0:
        pairs[2 * x.n_features] += step * x.bias
        pairs[2 * x.n_features + 1] += lagging * x.bias


@njit(**JIT)
def _descend(rows, order, targets, code, rule, pairs, finished, clock):
    rows = streams.borrowed_rows(rows)
    for i in range(order.size):
        x = streams.row_of(rows, order[i])
        n = clock[SEEN] + 1.0
        s = numerator(rule, n)
        if finished is not None:
            # Section 3.1: one step for a block
            s = rule.c / math.sqrt(2.0 ** math.floor(math.log2(n)))
        stretch_to_row(x, rule, pairs, clock)
        t = clock[WINDOW] + 1.0
        if clock[RADIUS] > 0.0:
            p = pair_dot(x, pairs) / clock[SCALE]
            if not math.isfinite(p):
                clock[BROKEN] = 1.0
            step = -s * loss_slope(code, 0.5, p, targets[i])  # (A7)
            move(step, t * step, x, pairs)  # missing from t iterates of the mean
        clock[SEEN], clock[WINDOW], clock[NUMERATOR] = n, t, s
        if finished is not None:
            close_block(n, pairs, finished, clock)


def descend(
    rows: Rows,
    order: np.ndarray,
    targets: np.ndarray,
    code: int,
    rule: StepRule,
    descent: Descent,
) -> None:
    """Learn rows by one vector; targets are ±1 or real numbers, in the order of the visits."""
    _descend(rows, order, targets, code, rule, *descent)


@njit(**WORD)
def class_steps(scores, label, code, softmax):
    """Turn the scores of the classes into slopes of the loss."""
    if not softmax:
        for c in range(scores.size):
            scores[c] = loss_slope(code, 0.5, scores[c], 1.0 if c == label else -1.0)
        return
    largest, total = scores[0], 0.0
    for c in range(1, scores.size):
        largest = max(largest, scores[c])
    for c in range(scores.size):
        scores[c] = math.exp(scores[c] - largest)
        total += scores[c]
    for c in range(scores.size):
        scores[c] /= total
    scores[label] -= 1.0  # of multinomial regression, p - e_y


@njit(**JIT)
def _descend_classes(rows, order, labels, code, softmax, rule, pairs, finished, clock, scores):
    rows = streams.borrowed_rows(rows)
    width = scores.size
    for i in range(order.size):
        x = streams.row_of(rows, order[i])
        n = clock[SEEN] + 1.0
        s = numerator(rule, n)
        if finished is not None:
            s = rule.c / math.sqrt(2.0 ** math.floor(math.log2(n)))
        stretch_to_row(x, rule, pairs, clock)
        t = clock[WINDOW] + 1.0
        if clock[RADIUS] > 0.0:
            scores[:] = 0.0
            for k in range(x.values.size + (x.bias != 0.0)):
                value = x.bias if k == x.values.size else x.values[k]
                first = 2 * width * streams.coordinate(x, k)
                for c in range(width):
                    scores[c] += value * pairs[first + 2 * c]
            for c in range(width):
                scores[c] /= clock[SCALE]
                if not math.isfinite(scores[c]):
                    clock[BROKEN] = 1.0
            class_steps(scores, labels[i], code, softmax)
            for k in range(x.values.size + (x.bias != 0.0)):
                value = x.bias if k == x.values.size else x.values[k]
                first = 2 * width * streams.coordinate(x, k)
                for c in range(width):
                    step = -s * scores[c] * value  # (A7)
                    pairs[first + 2 * c] += step
                    pairs[first + 2 * c + 1] += t * step
        clock[SEEN], clock[WINDOW], clock[NUMERATOR] = n, t, s
        if finished is not None:
            close_block(n, pairs, finished, clock)


def descend_classes(
    rows: Rows,
    order: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    code: int,
    softmax: bool,
    rule: StepRule,
    descent: Descent,
) -> None:
    """Learn rows by a vector a class: softmax, or each class against the rest by a binary loss."""
    scores = np.zeros(n_classes)
    _descend_classes(rows, order, labels, code, softmax, rule, *descent, scores)


def newest(descent: Descent, n_vectors: int) -> np.ndarray:
    """Return θ_n, a row a vector."""
    return _unscaled(descent.pairs[::2], descent, n_vectors)


def averaged(descent: Descent, n_vectors: int) -> np.ndarray:
    """Return the mean of the iterates, a row a vector; of the last whole block when doubling."""
    if descent.finished is not None:
        return _unscaled(descent.finished, descent, n_vectors)
    # θ̄_n, θ_0 counted and θ_n not: Section 2.1
    mean = descent.pairs[::2] - descent.pairs[1::2] / max(descent.clock[WINDOW], 1.0)
    return _unscaled(mean, descent, n_vectors)


def _unscaled(flat: np.ndarray, descent: Descent, n_vectors: int) -> np.ndarray:
    scale = descent.clock[SCALE] or 1.0  # no row but zeros yet: so is the vector
    return np.ascontiguousarray(flat.reshape(-1, n_vectors).T) / scale


def last_step(descent: Descent) -> float:
    """Return γ_n."""
    return float(descent.clock[NUMERATOR] / (descent.clock[SCALE] or 1.0))


def _warmup() -> None:
    """Compile all of the above."""
    rows: Rows = streams.as_rows(np.ones((1, 2)), 1.0)
    order = streams.locked(np.zeros(1, dtype=np.int64))
    labels = streams.locked(np.ones(1, dtype=np.int64))
    for schedule in (DECAY, DOUBLING):
        rule = StepRule(schedule, 2.0, 1.0, True, 1.0)
        one, many = (new_descent(3, width, rule, 0.0) for width in (1, 2))
        _descend(rows, order, streams.locked(np.ones(1)), LOG, rule, *one)
        _descend_classes(rows, order, labels, LOG, True, rule, *many, np.zeros(2))
