"""Compiled passes over rows for margins with class distances: perceptron steps and dual steps.

Weights of K classes are stored feature by feature, so that one feature touches K neighbours.

References: Ni, Saunders, Szedmak and Niranjan (2011), JMLR 12, Table 2, for the perceptron; S. S.
Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh and C.-J. Lin (2008), "A sequential dual method
for large scale multi-class linear SVMs", KDD, for the dual steps.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.streams.passes import (
    JIT,
    LAG,
    ROUND,
    SCALE,
    WORD,
    as_rows,
    axpy_strided,
    borrowed_rows,
    dots,
    locked,
    new_clock,
    rescale,
    row_of,
    squared_norm,
)


@njit(**WORD)
def _dearest(price, scores):
    """Return the first class with the largest price plus score, and that sum."""
    best, value = 0, price[0] + scores[0]
    for c in range(1, scores.size):
        found = price[c] + scores[c]
        if found > value:
            best, value = c, found
    return best, value


@njit(**JIT)
def _three_scores(x, weights, out):
    first, second, third = 0.0, 0.0, 0.0
    for k in range(x.values.size):
        j = 3 * (k if x.dense else np.int64(x.indices[k]))
        value = x.values[k]
        first += value * weights[j]
        second += value * weights[j + 1]
        third += value * weights[j + 2]
    out[0], out[1], out[2] = first, second, third


@njit(**JIT)
def _five_scores(x, weights, out):
    first, second, third, fourth, fifth = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(x.values.size):
        j = 5 * (k if x.dense else np.int64(x.indices[k]))
        value = x.values[k]
        first += value * weights[j]
        second += value * weights[j + 1]
        third += value * weights[j + 2]
        fourth += value * weights[j + 3]
        fifth += value * weights[j + 4]
    out[0], out[1], out[2], out[3], out[4] = first, second, third, fourth, fifth


@njit(**WORD)
def _scores(x, weights, out):
    """Write the products of a row with all classes; sums of 3 or 5 classes stay in registers."""
    if out.size == 5:
        _five_scores(x, weights, out)
    elif out.size == 3:
        _three_scores(x, weights, out)
    else:
        dots(x, weights, out)


@njit(**JIT)
def _exchange(step, x, weights, drift, clock, n, own, rival):
    """Add a row to one class and take it from another, in one pass; `add` of the streams twice."""
    inner = step / clock[SCALE]
    # what the mean of past weights lacks of this step
    lagging = (clock[ROUND] - 1.0) * step - clock[LAG] * inner
    if drift.size > 0:
        for k in range(x.values.size):
            j = n * (k if x.dense else np.int64(x.indices[k]))
            change, late = inner * x.values[k], lagging * x.values[k]
            weights[j + own] += change
            weights[j + rival] -= change
            drift[j + own] += late
            drift[j + rival] -= late
    else:
        for k in range(x.values.size):
            j = n * (k if x.dense else np.int64(x.indices[k]))
            weights[j + own] += inner * x.values[k]
            weights[j + rival] -= inner * x.values[k]


@njit(**JIT)
def perceptron_pass(rows, order, codes, row_weights, distance, eta, shrink, weights, drift, clock):
    """Visit rows once (Table 2); return the weighted sum of the losses met, and the steps taken."""
    rows = borrowed_rows(rows)
    n_classes = distance.shape[0]
    scores = np.empty(n_classes)
    total, steps = 0.0, 0
    for k in range(order.size):
        i = order[k]
        own, size = codes[i], row_weights[i]
        x = row_of(rows, i)
        if size == 0.0:
            continue
        clock[ROUND] += 1.0
        _scores(x, weights, scores)
        for c in range(n_classes):
            scores[c] *= clock[SCALE]
        # o* of Table 2: the largest Δ(o_n, o') + w_{o'}·φ, the own class included
        rival, value = _dearest(distance[own], scores)
        loss = value - scores[own]  # ρ of Eq. (5)
        total += size * loss
        if shrink > 0.0:
            # the step of the penalty of Eq. (4), at the weights before the row
            rescale(max(1.0 - shrink * size, 1e-3), weights, drift, clock)
        if loss > 0.0:
            steps += 1
            # Table 2: w_{o_n} += η φ, w_{o*} -= η φ
            _exchange(eta * size, x, weights, drift, clock, n_classes, own, rival)
    return total, steps


@njit(**JIT)
def loss_sum(rows, codes, row_weights, distance, weights):
    """Return the weighted sum over rows of max over o of [price(y, o) + (w_o - w_y).x]."""
    rows = borrowed_rows(rows)
    scores = np.empty(distance.shape[0])
    total = 0.0
    for i in range(codes.size):
        _scores(row_of(rows, i), weights, scores)
        total += row_weights[i] * (_dearest(distance[codes[i]], scores)[1] - scores[codes[i]])
    return total


@njit(**JIT)
def _onto_simplex(point, total, work):
    """Project a few numbers in place onto the simplex with a given sum, by insertion sort.

    The largest is taken off first: beside numbers of 1e16 a sum of 1 would be lost in rounding.
    """
    n = point.size
    top = point[0]
    for c in range(1, n):
        top = max(top, point[c])
    for c in range(n):
        point[c] -= top  # from the largest: what is common to all cancels in the projection
        value, k = point[c], c
        while k > 0 and work[k - 1] < value:
            work[k] = work[k - 1]
            k -= 1
        work[k] = value
    running, threshold = 0.0, 0.0
    for c in range(n):
        running += work[c]
        candidate = (running - total) / (c + 1)
        if work[c] > candidate:
            threshold = candidate
    for c in range(n):
        point[c] = max(point[c] - threshold, 0.0)


@njit(**JIT)
def dual_pass(rows, order, codes, row_weights, norms, distance, strength, weights, mu):
    """Set the K dual variables of each row in turn to their optimum, the other rows held.

    With w_o = Σ_n (weight_n 1[o = y_n] - μ_no) φ_n / strength, strength = λ Σ weight_n, the best
    μ_n is the projection of μ_n + (Δ_n + s_n) strength / ‖φ_n‖² onto the simplex of sum weight_n.
    """
    rows = borrowed_rows(rows)
    n_classes = distance.shape[0]
    scores, new, work = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for k in range(order.size):
        i = order[k]
        size, own = row_weights[i], codes[i]
        if size == 0.0 or norms[i] == 0.0:
            continue
        x = row_of(rows, i)
        _scores(x, weights, scores)
        rate = strength / norms[i]
        for c in range(n_classes):
            # Newton's step: the row's curvature is ‖φ‖² / strength in each variable
            new[c] = mu[i, c] + (distance[own, c] + scores[c] - scores[own]) * rate
        _onto_simplex(new, size, work)
        for c in range(n_classes):
            change = new[c] - mu[i, c]
            if change != 0.0:
                # w = Σ_n (1[o = o_n] - μ_no) φ_n / strength
                axpy_strided(-change / strength, x, weights, n_classes, c)
                mu[i, c] = new[c]


@njit(**JIT)
def dual_weights(rows, codes, row_weights, strength, mu, weights):
    """Write the weights that dual variables stand for, free of the rounding of many steps."""
    rows = borrowed_rows(rows)
    weights[:] = 0.0
    n_classes = mu.shape[1]
    for i in range(codes.size):
        x = row_of(rows, i)
        for c in range(n_classes):
            change = (row_weights[i] if c == codes[i] else 0.0) - mu[i, c]
            if change != 0.0:
                axpy_strided(change / strength, x, weights, n_classes, c)


@njit(**JIT)
def row_norms(rows, out):
    """Write the squared norms of rows."""
    rows = borrowed_rows(rows)
    for i in range(out.size):
        out[i] = squared_norm(row_of(rows, i))


@njit(**JIT)
def regression_pass(rows, order, codes, norms, gram, C, weights, alpha):
    """Set each α_n to its optimum in [0, C] (Appendix B); return the largest violation met.

    ``weights`` holds V_o = Σ α_n φ_n over the rows of class o; the score of a row's own class is
    Σ_o κ(y, o) V_o.φ, and its margin should be 1.
    """
    rows = borrowed_rows(rows)
    n_classes = gram.shape[0]
    products = np.empty(n_classes)
    worst = 0.0
    for k in range(order.size):
        i = order[k]
        own = codes[i]
        curvature = gram[own, own] * norms[i]  # κ_out(o_n, o_n) κ_in(x_n, x_n)
        x = row_of(rows, i)
        dots(x, weights, products)
        slope = 1.0
        for c in range(n_classes):
            slope -= gram[own, c] * products[c]  # 1 - ⟨ψ(o_n), W φ(x_n)⟩
        if curvature <= 0.0:
            alpha[i] = C if slope > 0.0 else alpha[i]
            continue
        # the box of Appendix B: no equality constraint
        new = min(max(alpha[i] + slope / curvature, 0.0), C)
        change = new - alpha[i]
        if change != 0.0:
            blocked = (alpha[i] == 0.0 and slope < 0.0) or (alpha[i] == C and slope > 0.0)
            if not blocked:
                worst = max(worst, abs(slope))
            alpha[i] = new
            axpy_strided(change, x, weights, n_classes, own)
    return worst


def _warmup() -> None:
    """Compile all of the above."""
    rows = as_rows(np.array([[1.0, 2.0], [2.0, 1.0]]))
    order, codes = locked(np.arange(2)), locked(np.arange(2))
    ones, distance = locked(np.ones(2)), locked(1.0 - np.eye(2))
    weights, drift, mu, norms = np.zeros(4), np.zeros(4), np.eye(2), np.empty(2)
    perceptron_pass(rows, order, codes, ones, distance, 0.1, 0.0, weights, drift, new_clock())
    loss_sum(rows, codes, ones, distance, weights)
    row_norms(rows, norms)
    dual_pass(rows, order, codes, ones, norms, distance, 1.0, weights, mu)
    dual_weights(rows, codes, ones, 1.0, mu, weights)
    regression_pass(rows, order, codes, norms, distance, 1.0, weights, np.zeros(2))
