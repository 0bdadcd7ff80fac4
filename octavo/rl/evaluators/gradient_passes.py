"""Compiled passes of the gradient methods over a block of transitions, dense or sparse.

A pass costs O(nonzeros) a transition where rows are sparse and traces are not used, and
O(coordinates touched since the episode began) with traces. Algorithm numbers are those of
M. Geist and B. Scherrer (2014), with A1-A13 for those of C. Dann, G. Neumann and J. Peters (2014).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.streams.passes import (
    JIT,
    WORD,
    as_rows,
    axpy,
    borrowed,
    borrowed_rows,
    dot,
    row_of,
)

GTD, GTD2, TDC = range(3)
# places in `clock`
ROUND, SMALLEST, SCALE, COUNT, SQUARES, ERRORS, COUNT2 = range(7)
DIVERGED = 1e12  # a norm of θ from which on the recursion is not coming back
_HUGE = 1e100


class GradientState(NamedTuple):
    """What a gradient method remembers between transitions."""

    theta: np.ndarray
    w: np.ndarray
    z: np.ndarray
    active: np.ndarray  # coordinates that the trace has touched, `clock[COUNT]` of them
    seen: np.ndarray
    z2: np.ndarray  # ζ of gBRM(λ), with a list of its own
    active2: np.ndarray
    seen2: np.ndarray
    drift: np.ndarray  # Σ (t - 1) times the step of time t; empty when no mean is kept
    clock: np.ndarray


def new_gradient_state(theta: np.ndarray, average: bool, step: float) -> GradientState:
    """Return a state at ``theta`` before the first transition."""
    p = theta.size
    clock = np.zeros(7)
    clock[SMALLEST], clock[SCALE] = step, 1.0
    flags = [np.zeros(p, dtype=np.uint8) for _ in range(2)]
    lists = [np.zeros(p, dtype=np.int64) for _ in range(2)]
    traces = [np.zeros(p) for _ in range(3)]
    drift = np.zeros(p if average else 0)
    return GradientState(
        theta, traces[0], traces[1], lists[0], flags[0], traces[2], lists[1], flags[1], drift, clock
    )


def second_vector(state: GradientState) -> np.ndarray:
    """Return w."""
    return state.clock[SCALE] * state.w


def mean_theta(state: GradientState) -> np.ndarray:
    """Return the mean of θ over the transitions so far."""
    return state.theta - state.drift / max(state.clock[ROUND], 1.0)


@njit(**WORD)
def _advance(e, scale, x, z, active, seen, count):
    """Make z ← e z + scale x and return how many coordinates the list now holds."""
    if x.dense:
        for j in range(z.size):
            z[j] = e * z[j] + scale * x.values[j]
        return 0
    if e == 0.0:
        for k in range(count):
            z[active[k]] = 0.0
            seen[active[k]] = 0
        count = 0
    else:
        for k in range(count):
            z[active[k]] *= e
    for k in range(x.values.size):
        j = x.indices[k]
        if seen[j] == 0:
            seen[j] = 1
            active[count] = j
            count += 1
        z[j] += scale * x.values[k]
    return count


@njit(**WORD)
def _add_trace(step, z, dense, active, count, out):
    if dense:
        for j in range(z.size):
            out[j] += step * z[j]
    else:
        for k in range(count):
            out[active[k]] += step * z[active[k]]


@njit(**WORD)
def _dot_trace(z, dense, active, count, w):
    total = 0.0
    if dense:
        for j in range(z.size):
            total += z[j] * w[j]
    else:
        for k in range(count):
            total += z[active[k]] * w[active[k]]
    return total


@njit(**JIT)
def _project(theta, drift, radius, lag):
    """Project θ to a ball; the mean of past θ is kept right."""
    norm = 0.0
    for j in range(theta.size):
        norm += theta[j] * theta[j]
    norm = np.sqrt(norm)
    if norm <= radius:
        return
    factor = radius / norm
    for j in range(drift.size):
        # The mean is θ - drift / rounds: a change now is missing from all rounds before.
        drift[j] += lag * (factor - 1.0) * theta[j]
    for j in range(theta.size):
        theta[j] *= factor


@njit(**JIT)
def _too_large(theta):
    total = 0.0
    for j in range(theta.size):
        total += theta[j] * theta[j]
    return not total < DIVERGED * DIVERGED


@njit(**WORD)
def _move_along_row(step, lag, x, theta, drift):
    """Add step x to θ; a mean of past θ, where one is kept, lags behind by ``lag`` steps."""
    axpy(step, x, theta)
    if drift.size > 0:
        axpy(lag * step, x, drift)


@njit(**WORD)
def _move_along_trace(step, lag, z, dense, active, count, theta, drift):
    """Add step z to θ."""
    _add_trace(step, z, dense, active, count, theta)
    if drift.size > 0:
        _add_trace(lag * step, z, dense, active, count, drift)


@njit(**WORD)
def _lost(delta, clock, theta):
    """Tell a recursion that is not coming back; θ is looked at once in a while."""
    every = max(64, theta.size)
    return not abs(delta) < _HUGE or (clock[ROUND] % every == every - 1 and _too_large(theta))


@njit(**WORD)
def _adapted(alpha, overshoot, adaptive, clock):
    """Return the step size; adapted, none may overshoot its own temporal difference."""
    if not adaptive:
        return alpha
    if overshoot * clock[SMALLEST] > 1.0:  # Dabney and Barto (2012): α ≤ 1 / zᵀΔφ
        clock[SMALLEST] = 1.0 / overshoot
    return clock[SMALLEST]


@njit(**JIT)
def _td_pass(rows, rows_next, terms, alphas, adaptive, radius, state):
    """Run TD(λ) over a block (Algorithm 5, A1); return how many transitions were used."""
    rows, rows_next = borrowed_rows(rows), borrowed_rows(rows_next)
    target, own, ahead = borrowed(terms[0]), borrowed(terms[1]), borrowed(terms[2])
    decay, theta, z = borrowed(terms[3]), borrowed(state.theta), borrowed(state.z)
    active, seen = borrowed(state.active), borrowed(state.seen)
    drift, clock = borrowed(state.drift), borrowed(state.clock)
    dense, count, n = rows.dense, np.int64(clock[COUNT]), target.size
    for i in range(n):
        x, y = row_of(rows, i), row_of(rows_next, i)
        # δ of A1, weighed by the transition or not
        delta = target[i] - own[i] * dot(x, theta) + ahead[i] * dot(y, theta)
        if _lost(delta, clock, theta):
            n = i
            break
        lag = clock[ROUND]
        clock[ROUND] = lag + 1.0
        # z = φ + γλρ z, Proposition 6: ρ enters with the next δ
        count = _advance(decay[i], 1.0, x, z, active, seen, count)
        overshoot = own[i] * dot(x, z) - ahead[i] * dot(y, z) if adaptive else 0.0
        alpha = _adapted(alphas[i], overshoot, adaptive, clock)
        # Algorithm 5: α z δ
        _move_along_trace(alpha * delta, lag, z, dense, active, count, theta, drift)
        if radius < np.inf:
            _project(theta, drift, radius, lag)
    clock[COUNT] = count
    return n


@njit(**JIT)
def _corrected_pass(
    rule, rows, rows_next, terms, gram, alphas, betas, lam, adaptive, radius, state
):
    """Run GTD, GTD2(λ) or TDC(λ) over a block; return how many transitions were used."""
    rows, rows_next = borrowed_rows(rows), borrowed_rows(rows_next)
    target, own, ahead = borrowed(terms[0]), borrowed(terms[1]), borrowed(terms[2])
    decay, theta, w, z = (
        borrowed(terms[3]),
        borrowed(state.theta),
        borrowed(state.w),
        borrowed(state.z),
    )
    active, seen = borrowed(state.active), borrowed(state.seen)
    drift, clock = borrowed(state.drift), borrowed(state.clock)
    dense, count, n = rows.dense, np.int64(clock[COUNT]), target.size
    for i in range(n):
        x, y = row_of(rows, i), row_of(rows_next, i)
        delta = target[i] - own[i] * dot(x, theta) + ahead[i] * dot(y, theta)
        if _lost(delta, clock, theta):
            n = i
            break
        lag = clock[ROUND]
        clock[ROUND] = lag + 1.0
        count = _advance(decay[i], 1.0, x, z, active, seen, count)
        overshoot = own[i] * dot(x, z) - ahead[i] * dot(y, z) if adaptive else 0.0
        alpha = _adapted(alphas[i], overshoot, adaptive, clock)
        beta = betas[i] * alpha if adaptive else betas[i]
        seen_w = clock[SCALE] * dot(x, w)
        if rule == TDC:  # Algorithm 6, A4
            _move_along_trace(alpha * delta, lag, z, dense, active, count, theta, drift)  # α zδ
        else:  # Algorithm 7, A2, A3
            _move_along_row(alpha * own[i] * seen_w, lag, x, theta, drift)  # α φ(φ'w)
        if rule == GTD:
            # A2: -αγρ φ_{i+1}(φ'w)
            _move_along_row(-alpha * ahead[i] * seen_w, lag, y, theta, drift)
            _shrink(1.0 - beta * gram[i], w, clock)  # A2: w - βρw
            axpy(beta * delta / clock[SCALE], x, w)  # A2: βρδφ
        else:
            back = ahead[i] * (1.0 - lam) * _dot_trace(z, dense, active, count, w)
            _move_along_row(-alpha * back, lag, y, theta, drift)  # -αγρ(1 - λ) φ_{i+1}(z'w)
            # w follows the temporal difference at the new θ, as in Algorithms 6 and 7
            delta = target[i] - own[i] * dot(x, theta) + ahead[i] * dot(y, theta)
            # β zδ; A4 prints a second ρ, which z holds already
            _add_trace(beta * delta, z, dense, active, count, w)
            axpy(-beta * gram[i] * seen_w, x, w)  # -β φ(φ'w)
        if radius < np.inf:
            _project(theta, drift, radius, lag)
    clock[COUNT] = count
    return n


@njit(**WORD)
def _shrink(factor, w, clock):
    """Multiply w = scale * stored by ``factor``, at no cost but a rare clean-up."""
    scale = clock[SCALE] * factor
    if 1e-100 < abs(scale) < 1e100:
        clock[SCALE] = scale
        return
    for j in range(w.size):
        w[j] *= scale
    clock[SCALE] = 1.0


@njit(**JIT)
def _residual_pass(rows, rows_next, rows_next2, r, weight, gamma, alphas, radius, state):
    """Run the residual gradient method without traces (A13); two draws of the next state."""
    rows, rows_next = borrowed_rows(rows), borrowed_rows(rows_next)
    rows_next2 = borrowed_rows(rows_next2)
    theta, drift, clock = borrowed(state.theta), borrowed(state.drift), borrowed(state.clock)
    for i in range(r.size):
        x, y, y2 = row_of(rows, i), row_of(rows_next, i), row_of(rows_next2, i)
        delta = r[i] - dot(x, theta) + gamma * dot(y, theta)
        if _lost(delta, clock, theta):
            return i
        lag = clock[ROUND]
        clock[ROUND] = lag + 1.0
        step = alphas[i] * weight[i] * delta
        _move_along_row(step, lag, x, theta, drift)
        # A13 with one draw, the method's own with two
        _move_along_row(-gamma * step, lag, y2, theta, drift)
        if radius < np.inf:
            _project(theta, drift, radius, lag)
    return r.size


@njit(**JIT)
def _residual_trace_pass(rows, rows_next, terms, lam, alphas, radius, state):
    """Run gBRM(λ), Algorithm 8, over a block."""
    rows, rows_next = borrowed_rows(rows), borrowed_rows(rows_next)
    target, ahead, decay = borrowed(terms[0]), borrowed(terms[2]), borrowed(terms[3])
    theta, z, zeta = borrowed(state.theta), borrowed(state.z), borrowed(state.z2)
    active, seen = borrowed(state.active), borrowed(state.seen)
    active2, seen2 = borrowed(state.active2), borrowed(state.seen2)
    drift, clock = borrowed(state.drift), borrowed(state.clock)
    dense, n = rows.dense, target.size
    count, count2 = np.int64(clock[COUNT]), np.int64(clock[COUNT2])
    for i in range(n):
        x, y, e = row_of(rows, i), row_of(rows_next, i), decay[i]
        delta = target[i] - dot(x, theta) + ahead[i] * dot(y, theta)
        if _lost(delta, clock, theta):
            n = i
            break
        lag = clock[ROUND]
        clock[ROUND] = lag + 1.0
        b = ahead[i] * (1.0 - lam)  # γρ(1 - λ)
        c = 1.0 + e * e * clock[SQUARES]  # c of Proposition 9
        d = delta * c + e * clock[ERRORS]  # d of Proposition 9
        clock[SQUARES], clock[ERRORS] = c, d
        count = _advance(e, 1.0, x, z, active, seen, count)
        count2 = _advance(e, b * c, y, zeta, active2, seen2, count2)  # ζ of Proposition 9
        step = alphas[i] * delta  # δ(z - ζ + bc φ_{i+1}) - d b φ_{i+1}, in three parts
        _move_along_trace(step, lag, z, dense, active, count, theta, drift)
        _move_along_trace(-step, lag, zeta, dense, active2, count2, theta, drift)
        _move_along_row(b * (step * c - alphas[i] * d), lag, y, theta, drift)
        if radius < np.inf:
            _project(theta, drift, radius, lag)
    clock[COUNT], clock[COUNT2] = count, count2
    return n


def _warmup() -> None:
    rows = as_rows(np.ones((1, 1)))
    one = np.ones(1)
    state = new_gradient_state(np.zeros(1), False, 1.0)
    terms = (one, one, one, one)
    _td_pass(rows, rows, terms, one, False, np.inf, state)
    _corrected_pass(GTD, rows, rows, terms, one, one, one, 0.0, False, np.inf, state)
    _residual_pass(rows, rows, rows, one, one, 0.5, one, np.inf, state)
    _residual_trace_pass(rows, rows, terms, 0.0, one, np.inf, state)
