"""Sequential minimal optimisation: the dual problems of support vector machines, warm or cold.

Everything is solved in signed variables β_i = y_i α_i, where labels vanish from the inner loops:

    maximise  W(β) = linear'β − ½ β'Kβ   subject to  lower ≤ β ≤ upper  (and Σβ as it starts)

with K the Gram matrix. An SVM with hinge loss has linear = y and a box between 0 and y_i C_i; a
one-class SVM linear = 0; support vector regression has two variables a sample, one for each side
of the tube: give vectors of twice the length of K, and both copies share its columns.

`solve_sum_constrained` keeps Σβ fixed and moves pairs chosen by second-order information (Fan,
Chen and Lin 2005, "Working Set Selection Using Second Order Information for Training Support
Vector Machines", JMLR 6:1889-1918). `pair_dual` says the same in α and y. `solve_box` has no such
constraint; which variables it moves is told in `octavo.engine.duals.working_sets`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.duals.working_sets import (
    AHEAD,
    ALL_PAIRS,
    BLOCK,
    LARGE_BLOCK,
    LAST,
    NEEDS_MATRIX,
    SINGLE,
    ascend_box,
    box_gap,
    first_largest,
    gap_clipped,
    halves,
    kkt_violation,
    largest_entry,
    rare_strategies,
    room_for_pairs,
    step_by_columns,
    stop_value,
    subtract_row,
    update_gains,
)

Columns = NDArray[np.float64] | Callable[[int], NDArray[np.float64]]

_FLAT = 1e-12  # curvature below which a direction counts as flat
_REFRESH = 50  # updates a variable after which the gradient is computed afresh


class DualResult(NamedTuple):
    """A dual solution: variables, gradient, offset, both objectives, gaps, and how it was found.

    ``gradient`` is the derivative of the dual objective; ``duality_gap`` bounds the distance to
    the optimum from above. ``clipped_gap`` clips the slack of every sample at 2 and may be
    negative; it is nan where there is an equality constraint. ``trace`` has one row an iteration
    (dual objective, duality gap, clipped gap) if it was asked for.
    """

    alpha: NDArray[np.float64]
    gradient: NDArray[np.float64]
    bias: float
    dual_objective: float
    primal_objective: float
    duality_gap: float
    clipped_gap: float
    violation: float
    n_iter: int
    converged: bool
    trace: NDArray[np.float64] | None = None


# --- one equality constraint ----------------------------------------------------------------


@njit(cache=True, nogil=True)
def _violating_pair(beta, h, lower, upper, up, down):
    """Return the variable that wants most to grow, and how much more than the laziest."""
    for t in range(h.size):  # two loops: with fewer arrays each the compiler vectorises them
        up[t] = h[t] if beta[t] < upper[t] else -np.inf
    for t in range(h.size):
        down[t] = -h[t] if beta[t] > lower[t] else -np.inf
    first = first_largest(up)
    return first, up[first] + largest_entry(down)


@njit(cache=True, nogil=True)
def _score_partners(top, own, row, diagonal, beta, h, lower, score):
    """Write the second-order gain of shrinking each variable while another grows."""
    for t in range(row.size):
        difference = top - h[t] if beta[t] > lower[t] else 0.0
        curvature = own + diagonal[t] - 2.0 * row[t]
        difference = difference if difference > 0.0 else 0.0
        curvature = curvature if curvature > _FLAT else _FLAT
        # (h_i − h_j)²/(K_ii + K_jj − 2K_ij): twice the gain of the pair
        score[t] = difference * difference / curvature


@njit(cache=True, nogil=True)
def _second_order_partner(i, row, diagonal, beta, h, lower, score):
    """Return the variable that gains most when it shrinks as much as variable i grows."""
    n, top, own = row.size, h[i], diagonal[i % row.size]
    for start in range(0, h.size, n):  # slices: the compiler vectorises only plain indices
        part = slice(start, start + n)
        _score_partners(top, own, row, diagonal, beta[part], h[part], lower[part], score[part])
    return first_largest(score)


@njit(cache=True, nogil=True)
def _subtract_rows(h, step, row_i, row_j):
    for t in range(h.size):
        h[t] -= step * (row_i[t] - row_j[t])


@njit(cache=True, nogil=True)
def _exchange_pair(i, j, row_i, row_j, diagonal, beta, h, lower, upper, up, down):
    """Move the pair to its optimum and the gradient with it; return the next violating pair."""
    n = row_i.size
    # the constraint holds the sum: one rises by what the other falls
    curvature = max(diagonal[i % n] + diagonal[j % n] - 2.0 * row_i[j % n], _FLAT)
    step = min((h[i] - h[j]) / curvature, upper[i] - beta[i], beta[j] - lower[j])
    # a variable that is stopped by its bound is put exactly there
    beta[i] = upper[i] if step == upper[i] - beta[i] else beta[i] + step
    beta[j] = lower[j] if step == beta[j] - lower[j] else beta[j] - step
    for start in range(0, h.size, n):
        _subtract_rows(h[start : start + n], step, row_i, row_j)
    return _violating_pair(beta, h, lower, upper, up, down)


@njit(cache=True, nogil=True)
def _exchanges(K, diagonal, beta, h, lower, upper, tol, max_iter):
    """Exchange until no pair violates by more than `tol`; return the iterations and the rest."""
    n = K.shape[0]
    up, down = np.empty(h.size), np.empty(h.size)
    first, violation = _violating_pair(beta, h, lower, upper, up, down)
    done = 0
    while violation > tol and done < max_iter:
        row = K[first % n]
        j = _second_order_partner(first, row, diagonal, beta, h, lower, down)
        first, violation = _exchange_pair(
            first, j, row, K[j % n], diagonal, beta, h, lower, upper, up, down
        )
        done += 1
    return done, violation


def _exchanges_by_columns(columns, diagonal, beta, h, lower, upper, tol, max_iter):
    """Do the same with columns of K that are asked for one by one."""
    n = diagonal.size
    up, down = np.empty(h.size), np.empty(h.size)
    first, violation = _violating_pair(beta, h, lower, upper, up, down)
    done = 0
    while violation > tol and done < max_iter:
        row = columns(first % n)
        j = _second_order_partner(first, row, diagonal, beta, h, lower, down)
        first, violation = _exchange_pair(
            first, j, row, columns(j % n), diagonal, beta, h, lower, upper, up, down
        )
        done += 1
    return done, violation


def kernel_product(K: Columns, beta: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return Kβ, once for every copy of the samples, from the columns of nonzero variables."""
    weights = beta.reshape(-1, n).sum(axis=0)
    used = np.flatnonzero(weights)
    if callable(K):
        product = np.zeros(n)
        for i in used:
            product += weights[i] * K(int(i))
    elif 2 * used.size > n:
        product = K @ weights
    else:
        product = weights[used] @ K[used]
    return np.tile(product, beta.size // n)


def best_offset(
    beta: NDArray[np.float64],
    h: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> tuple[float, float]:
    """Return the offset that makes the duality gap smallest, and that gap.

    For every b the sum of  max over the box of (h_i − b)(β̃_i − β_i)  bounds the distance to the
    optimum; it is convex and piecewise linear in b with breakpoints h_i.
    """
    order = np.argsort(h, kind="stable")
    # slope of the sum at b: Σβ − Σ_{h > b} upper − Σ_{h < b} lower
    width = (upper - lower)[order]
    slope = beta.sum() - upper.sum() + np.concatenate([[0.0], np.cumsum(width)])
    slack = 1e-12 * (1.0 + np.abs(upper).sum() + np.abs(lower).sum())
    sorted_h = h[order]
    # b lies between the last breakpoint with a falling and the first with a rising slope
    left = min(int(np.searchsorted(slope, -slack)), h.size)
    right = min(int(np.searchsorted(slope, slack, side="right")), h.size)
    b = 0.5 * (sorted_h[max(left - 1, 0)] + sorted_h[min(max(right - 1, 0), h.size - 1)])
    reduced = h - b  # any b between both is optimal: the middle
    gap = np.where(reduced > 0, upper - beta, lower - beta) @ reduced
    return float(b), float(gap)


def solve_sum_constrained(
    K: Columns,
    linear: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    *,
    beta: NDArray[np.float64] | None = None,
    gradient: NDArray[np.float64] | None = None,
    diagonal: NDArray[np.float64] | None = None,
    tol: float = 1e-3,
    stopping: str = "violation",
    max_iter: int = -1,
) -> DualResult:
    """Maximise linear'β − ½ β'Kβ in a box, with Σβ what it is at the start.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples) or callable
        Gram matrix, or a function that returns its column i.
    linear, lower, upper : ndarray of shape (n_samples,) or (copies * n_samples,)
        Linear term and finite bounds. Variable t belongs to sample t modulo n_samples.
    beta : ndarray, default=None
        Where to start: within the bounds; it decides Σβ. Zeros by default.
    gradient : ndarray, default=None
        linear − Kβ at the start where it is known; saves computing it.
    diagonal : ndarray of shape (n_samples,), default=None
        Diagonal of K; needed only if K is a function.
    tol : float, default=1e-3
        When to stop.
    stopping : {"violation", "gap"}, default="violation"
        What must fall to `tol`: the largest violation of the optimality conditions by a pair,
        as in LIBSVM, or the duality gap.
    max_iter : int, default=-1
        Most exchanges of a pair; -1 for no limit.

    Returns
    -------
    DualResult
        ``alpha`` holds β. The decision function of a classifier is Σ β_i k(x_i, ·) + bias.
    """
    if callable(K) and diagonal is None:
        raise ValueError("diagonal must be given when K is a function.")
    diag = np.ascontiguousarray(K.diagonal() if diagonal is None else diagonal, dtype=float)  # type: ignore[union-attr]
    n, limit = diag.size, max_iter if max_iter >= 0 else np.iinfo(np.int64).max
    beta = np.zeros(linear.size) if beta is None else np.array(beta, dtype=float)
    _check_start(linear, lower, upper, beta, n)
    h = linear - kernel_product(K, beta, n) if gradient is None else np.array(gradient, dtype=float)
    run = _exchanges_by_columns if callable(K) else _exchanges
    done, since, accepted = 0, 0, tol
    while True:
        chunk = min(limit - done, _REFRESH * beta.size)
        count, violation = run(K, diag, beta, h, lower, upper, accepted, chunk)
        done, since = done + count, since + count
        finished = violation <= accepted
        if since >= _REFRESH * beta.size:  # rounding has piled up: compute it afresh
            h, since = linear - kernel_product(K, beta, n), 0
            if not finished:
                violation = _violating_pair(beta, h, lower, upper, h.copy(), h.copy())[1]
            finished = violation <= accepted
        bias, gap = best_offset(beta, h, lower, upper) if finished or done >= limit else (0.0, 0.0)
        if finished and stopping == "gap" and gap > tol and accepted > 1e-14 * np.abs(h).max():
            accepted = min(accepted, violation) * min(0.5, max(tol / gap, 0.01))
        elif finished or done >= limit:
            break
    value = 0.5 * float(beta @ (linear + h))  # linear'β − ½ β'(linear − h)
    reached = (gap if stopping == "gap" else violation) <= tol
    return DualResult(
        beta, h, bias, value, value + gap, gap, np.nan, max(violation, 0.0), done, bool(reached)
    )


def _check_start(linear, lower, upper, beta, n):
    sizes = {"linear": linear, "lower": lower, "upper": upper, "beta": beta}
    for name, vector in sizes.items():
        if vector.shape != linear.shape or vector.size % n or not np.isfinite(vector).all():
            raise ValueError(
                f"{name} must be finite with one entry a variable, a multiple of {n} samples; "
                f"got shape {vector.shape}."
            )
    if np.any(beta < lower) or np.any(beta > upper):
        worst = max(float((lower - beta).max()), float((beta - upper).max()))
        raise ValueError(f"The start must lie between the bounds; it is outside by {worst:.3g}.")


def pair_dual(
    K: Columns,
    y: NDArray[np.float64],
    C: NDArray[np.float64] | float,
    *,
    linear: NDArray[np.float64] | None = None,
    alpha: NDArray[np.float64] | None = None,
    gradient: NDArray[np.float64] | None = None,
    diagonal: NDArray[np.float64] | None = None,
    tol: float = 1e-3,
    stopping: str = "violation",
    max_iter: int = -1,
) -> DualResult:
    """Maximise linear'α − ½ Σ α_i α_j y_i y_j K_ij over 0 ≤ α ≤ C with y'α as at the start.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples) or callable
        Gram matrix k(x_i, x_j) without labels, or a function that returns its column i.
    y : ndarray of shape (n_samples,) or (copies * n_samples,)
        Signs, -1 or +1.
    C : float or ndarray like `y`
        Upper bounds.
    linear : ndarray like `y`, default=None
        Linear term; ones by default (hinge loss).
    alpha, gradient : ndarray like `y`, default=None
        Start, zeros by default, and linear − Qα there if it is known.
    diagonal : ndarray of shape (n_samples,), default=None
        Diagonal of K; needed only if K is a function.
    tol, stopping, max_iter
        As in `solve_sum_constrained`.

    Returns
    -------
    DualResult
        Its ``alpha`` and ``gradient`` are those of α, not signed.

    Notes
    -----
    Support vector regression with targets t and tube ε: ``y = [1..., -1...]`` of length 2n and
    ``linear = [t − ε, −t − ε]``; the coefficients are α[:n] − α[n:]. A one-class SVM: ``y = 1``,
    ``linear = 0`` and a start whose sum is ν n; its threshold ρ is −bias.
    """
    y = np.asarray(y, dtype=float)
    bound = y * np.broadcast_to(np.asarray(C, dtype=float), y.shape)
    result = solve_sum_constrained(
        K,
        y * (1.0 if linear is None else linear),
        np.minimum(bound, 0.0),
        np.maximum(bound, 0.0),
        beta=None if alpha is None else y * alpha,
        gradient=None if gradient is None else y * gradient,
        diagonal=diagonal,
        tol=tol,
        stopping=stopping,
        max_iter=max_iter,
    )
    return result._replace(alpha=y * result.alpha, gradient=y * result.gradient)


# --- a box alone ----------------------------------------------------------------------------

STOPPING = ("clipped_gap", "gap", "kkt")
OUT_OF_STEPS = 1
_SMALL = 500  # samples below which shrinking saves nothing
_LARGE = 1500  # samples from which halves are made of larger blocks


@njit(cache=True, nogil=True)
def square_part(K, chosen):
    """Return the rows and columns of K that are chosen."""
    part = np.empty((chosen.size, chosen.size))
    for a in range(chosen.size):
        row, out = K[chosen[a]], part[a]
        for b in range(chosen.size):
            out[b] = row[chosen[b]]
    return part


@njit(cache=True, nogil=True)
def subtract_rows_at(h, K, chosen, weights):
    """Subtract the weighted rows of K that are chosen; nothing is copied."""
    for a in range(chosen.size):
        if weights[a] != 0.0:
            subtract_row(h, weights[a], K[chosen[a]])


class BoxMemory(NamedTuple):
    """What a solver of the same samples may keep: halves, neighbours found, random numbers."""

    side: NDArray[np.bool_]
    nearby: NDArray[np.int64]
    state: NDArray[np.uint64]

    @classmethod
    def new(cls, n: int, n_neighbors: int = 10, *, shuffle: bool = True, seed: int = 0):
        """Split n samples in two halves, at random or where they lie, and know no neighbours."""
        n_blocks = -(-n // (BLOCK if n < _LARGE else LARGE_BLOCK))
        side = np.arange(n_blocks) >= n_blocks / 2
        if shuffle:
            side = np.random.default_rng(seed).permutation(side)
        return cls(side, np.full((n, n_neighbors), -2), np.array([seed], dtype=np.uint64))


def solve_box(
    K: Columns,
    linear: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    *,
    beta: NDArray[np.float64] | None = None,
    gradient: NDArray[np.float64] | None = None,
    diagonal: NDArray[np.float64] | None = None,
    working_set: int = 7,
    stopping: str = "clipped_gap",
    tol: float = 1e-3,
    max_iter: int = -1,
    memory: BoxMemory | None = None,
    shrinking: bool = True,
    trace: bool = False,
    watch: Callable[[], bool] | None = None,
) -> DualResult:
    """Maximise linear'β − ½ β'Kβ in a box.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples) or callable
        Gram matrix, or a function that returns its column i.
    linear, lower, upper : ndarray of shape (n_samples,)
        Linear term and finite bounds. A variable with equal bounds stays, and its gradient is
        kept up to date all the same: that of a sample held out is its target minus its value.
    beta, gradient : ndarray of shape (n_samples,), default=None
        Start, zeros by default, and linear − Kβ there if it is known.
    diagonal : ndarray of shape (n_samples,), default=None
        Diagonal of K; needed only if K is a function.
    working_set : int, default=7
        Sum of the strategies of `octavo.engine.duals.working_sets`; -1 moves one variable at a
        time.
    stopping : {"clipped_gap", "gap", "kkt"}, default="clipped_gap"
        What must fall to `tol`.
    tol : float, default=1e-3
        When to stop.
    max_iter : int, default=-1
        Most steps; -1 for no limit.
    memory : BoxMemory, default=None
        Halves, neighbours and random numbers to go on with.
    shrinking : bool, default=True
        Whether to go on among the variables that may still move, on a copy of their part of K,
        once they are fewer than half. Only with a matrix, and not with a trace.
    trace : bool, default=False
        Whether to keep objective and gaps of every step.
    watch : callable, default=None
        Called after every block of steps; ends the ascent by returning True.

    Returns
    -------
    DualResult
        ``alpha`` holds β, the bias is zero.
    """
    diag, beta, h = _box_problem(K, linear, lower, upper, beta, gradient, diagonal, working_set)
    ascent = BoxAscent(K, diag, working_set, stopping, memory or BoxMemory.new(diag.size))
    ascent.may_shrink &= shrinking and not trace
    done, rows = ascent.climb(linear, beta, h, lower, upper, tol, max_iter, trace, watch)
    met = bool(stop_value(ascent.rule, beta, h, lower, upper) <= tol)
    record = np.concatenate(rows) if trace else None
    return _box_result(linear, lower, upper, beta, h, done, met, record)


class BoxAscent:
    """A kernel matrix, a strategy and what it remembers, ready to climb from any start.

    Parameters
    ----------
    K, diagonal, working_set, stopping, memory
        As in `solve_box`; nothing is checked here.
    """

    def __init__(self, K, diagonal, working_set, stopping, memory):
        self.K, self.diagonal, self.mask, self.memory = K, diagonal, working_set, memory
        self.rule = STOPPING.index(stopping)
        self.may_shrink = not callable(K) and diagonal.size > _SMALL
        positive = diagonal > 0
        inverse = np.where(positive, 1.0 / np.where(positive, diagonal, 1.0), 1e300)
        # The kernels have a shorter form for ones.
        self.inverse = None if np.all(diagonal == 1.0) else inverse
        self.steps = np.array([-1, 0, 0, 0])

    def climb(self, linear, beta, h, lower, upper, tol, max_iter=-1, trace=False, watch=None):
        """Move β and h in place until the stopping rule is met; return the steps and the trace."""
        n, limit = h.size, max_iter if max_iter >= 0 else np.iinfo(np.int64).max
        self.steps[:] = -1, 0, 0, 0
        rows: list[NDArray[np.float64]] = []
        done = since = 0
        while True:
            many = 1000 if self.may_shrink or trace else min(_REFRESH * n, 50_000)
            chunk = min(limit - done, many)
            record = None
            if trace:
                record = np.zeros((chunk + 1, 3))
                record[0] = 0.5 * beta @ (linear + h), box_gap(beta, h, lower, upper), 0.0
                record[0, 2] = gap_clipped(beta, h, lower, upper)
            count, why = self.run(beta, h, lower, upper, tol, chunk, record)
            if record is not None:
                rows.append(record[: count + 1] if not rows else record[1 : count + 1])
            done, since = done + count, since + count
            if why != OUT_OF_STEPS or done >= limit or (watch is not None and watch()):
                return done, rows
            if self.may_shrink:
                count = self.run_shrunk(beta, h, lower, upper, tol, limit - done)
                done, since = done + count, since + count
            if since >= _REFRESH * n:  # rounding has piled up
                h[:], since = linear - kernel_product(self.K, beta, n), 0

    def run(self, beta, h, lower, upper, threshold, max_iter, record=None):
        """Ascend in place; return the number of steps and why it ended."""
        if callable(self.K):
            return self.run_by_columns(beta, h, lower, upper, threshold, max_iter, record)
        n, memory = h.size, self.memory
        return ascend_box(
            self.K, self.diagonal, self.inverse, beta, h, lower, upper, self.mask,
            rare_strategies(self.mask), self.rule or None, threshold, max_iter, memory.side,
            memory.nearby, self.steps, memory.state, np.empty(n), np.empty(n), self._pairs(n),
            record,
        )  # fmt: skip

    def run_by_columns(self, beta, h, lower, upper, threshold, max_iter, record=None):
        """Do what `ascend_box` does with columns of K that are asked for one by one."""
        n, memory, columns, none = h.size, self.memory, self.K, np.empty((0, 0))
        rare, gain, score, pairs = (
            rare_strategies(self.mask), np.empty(n), np.empty(n), self._pairs(n),
        )  # fmt: skip
        for done in range(max_iter + 1):
            update_gains(beta, h, lower, upper, self.diagonal, self.inverse, gain)
            if done and record is not None:
                record[done, 1] = box_gap(beta, h, lower, upper)
                record[done, 2] = gap_clipped(beta, h, lower, upper)
            if stop_value(self.rule, beta, h, lower, upper) <= threshold:
                return done, 0
            if done == max_iter:
                break
            i, other = halves(gain, memory.side)
            best, j, move = step_by_columns(
                i, other, columns(i), none, self.diagonal, beta, h, lower, upper, self.mask, rare,
                self.steps, score, pairs, memory.nearby, memory.state,
            )  # fmt: skip
            if not best > 0.0:
                return done, 2
            if j >= 0:
                subtract_row(h, move, columns(j))
            if record is not None:
                record[done + 1, 0] = record[done, 0] + best
        return max_iter, 1

    def _pairs(self, n):
        """Return room for the pairs that the strategy looks at."""
        return np.empty((room_for_pairs(self.mask, n, self.memory.nearby.shape[1]), 2), np.int64)

    def run_shrunk(self, beta, h, lower, upper, threshold, max_iter):
        """Ascend among the variables that may still move, if they are few; return the steps.

        Left out are those at a bound that press against it by more than the worst violation.
        Their share of the stopping value is what it was.
        """
        press = np.where(beta <= lower, -h, np.where(beta >= upper, h, -np.inf))
        press[lower == upper] = np.inf
        active = np.flatnonzero(press < kkt_violation(beta, h, lower, upper))
        if 2 * active.size > h.size or active.size < 2:
            return 0
        part = beta[active], h[active], lower[active], upper[active]
        here = stop_value(self.rule, *part)
        rest = stop_value(self.rule, beta, h, lower, upper) - here if self.rule < 2 else 0.0
        memory = BoxMemory.new(active.size, self.memory.nearby.shape[1], seed=active.size)
        small = BoxAscent(
            square_part(self.K, active),
            self.diagonal[active],
            self.mask,
            STOPPING[self.rule],
            memory,
        )
        count, _ = small.run(*part, max(threshold - rest, 0.1 * here), max_iter)
        change = part[0] - beta[active]
        beta[active] = part[0]
        subtract_rows_at(h, self.K, active, change)
        return count


def _box_problem(K, linear, lower, upper, beta, gradient, diagonal, working_set):
    """Check what was given and bring it in the form that the kernels take."""
    if callable(K) and diagonal is None:
        raise ValueError("diagonal must be given when K is a function.")
    if not SINGLE <= working_set < LAST:
        raise ValueError(f"working_set must lie between -1 and {LAST - 1}, got {working_set}.")
    afar = working_set == ALL_PAIRS or (working_set > 0 and working_set & NEEDS_MATRIX)
    if callable(K) and afar:
        raise ValueError(
            f"working_set={working_set} looks at entries all over the kernel matrix, which does "
            "not fit in the memory allowed; strategies 0, 16, 256 and 2048 need it whole."
        )
    diag = np.ascontiguousarray(K.diagonal() if diagonal is None else diagonal, dtype=float)
    beta = np.zeros(linear.size) if beta is None else np.array(beta, dtype=float)
    _check_start(linear, lower, upper, beta, diag.size)
    if gradient is None:
        h = linear - kernel_product(K, beta, diag.size)
    else:
        h = np.array(gradient, dtype=float)
    return diag, beta, h


def _box_result(linear, lower, upper, beta, h, n_iter, converged, trace):
    value, gap = 0.5 * float(beta @ (linear + h)), box_gap(beta, h, lower, upper)
    return DualResult(
        beta,
        h,
        0.0,
        value,
        value + gap,
        gap,
        gap_clipped(beta, h, lower, upper),
        kkt_violation(beta, h, lower, upper),
        n_iter,
        converged,
        trace,
    )


def _warmup() -> None:
    """Compile every kernel of this module."""
    K, y = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
    pair_dual(K, y, 1.0)
    pair_dual(lambda i: K[i], y, 1.0, diagonal=np.ones(2))
    low, high = np.minimum(y, 0.0), np.maximum(y, 0.0)
    solve_box(K, y, low, high)
    solve_box(lambda i: K[i], y, low, high, diagonal=np.ones(2))
    rare = AHEAD  # any strategy beyond the default ones compiles them all
    solve_box(K, y, low, high, working_set=rare)
    solve_box(lambda i: K[i], y, low, high, diagonal=np.ones(2), working_set=rare)
    square_part(K, np.array([0]))
    subtract_row(y.copy(), 0.0, K[0])
    subtract_rows_at(y, K, np.array([0]), np.zeros(1))
