"""SVMs without offset along a grid of regularisations, for one kernel matrix and many folds.

A sample that is held out is a variable whose bounds are both zero: it never moves, but its
gradient y − f(x) is kept up to date, so that all folds share one kernel matrix without copies
and the values on the held-out samples come for free.

Reference: Steinwart, Hush and Scovel (2011), "Training SVMs Without Offset", JMLR 12:141-202,
sections 2.3 and 5.6; the order "hybrid" is what they suggest at its end and did not try.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.duals.smo import BoxAscent, BoxMemory
from octavo.engine.duals.working_sets import stop_value
from octavo.svm.no_offset.warm_starts import RULES, Start, kernel_rule, next_start, zeros

ORDERS = ("descending", "ascending", "hybrid")
COLD = ("I0", "I1")


class PathRules(NamedTuple):
    """How a path is followed: first start, warm start, order, and the solver's options."""

    first: str
    warm: str
    order: str
    working_set: int
    stopping: str
    tol: float
    max_iter: int
    n_neighbors: int
    shrinking: bool = True


class FoldPath(NamedTuple):
    """What a fold found at every λ: β, f on all samples, iterations, seconds, if it converged."""

    beta: NDArray[np.float64]
    values: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    seconds: NDArray[np.float64]
    converged: NDArray[np.bool_]


def parse_warm(warm: str, order: str) -> tuple[str, str]:
    """Return the two parts of a name such as "I1-W4"; refuse what contradicts the order."""
    first, _, rule = warm.partition("-")
    if first not in COLD or rule not in RULES:
        raise ValueError(
            f"warm must be one of {COLD} and one of {RULES} joined by a hyphen, such as 'I1-W4'; "
            f"got {warm!r}."
        )
    wrong = {"descending": ("W5", "W6"), "ascending": ("W2", "W3", "W4")}.get(order, ())
    if rule in wrong:
        other = "ascending" if order == "descending" else "descending"
        raise ValueError(
            f"warm={warm!r} starts a path whose λ is {other}, but order={order!r} was given."
        )
    return first, rule


def visits(n_alphas: int, order: str) -> list[tuple[int, int]]:
    """Return the places on a descending grid in the order of solving, each with its predecessor.

    The first has -1. "hybrid" begins in the middle and goes down from it, then up from it.
    """
    if order == "descending":
        return [(at, at - 1) for at in range(n_alphas)]
    if order == "ascending":
        return [(at, at + 1 if at + 1 < n_alphas else -1) for at in reversed(range(n_alphas))]
    middle = n_alphas // 2
    down = [(at, at - 1 if at > middle else -1) for at in range(middle, n_alphas)]
    return down + [(at, at + 1) for at in reversed(range(middle))]


def follow_path(
    K: NDArray[np.float64],
    y: NDArray[np.float64],
    weights: NDArray[np.float64],
    alphas: NDArray[np.float64],
    rules: PathRules,
    memory: BoxMemory | None = None,
    n_train: int | None = None,
) -> FoldPath:
    """Solve at every λ, each from the solution of its neighbour.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix of all samples, those held out included.
    y : ndarray of shape (n_samples,)
        Labels -1 or +1.
    weights : ndarray of shape (n_samples,)
        Weights of the loss; zero for samples that are held out.
    alphas : ndarray of shape (n_alphas,)
        The grid of λ, descending.
    rules : PathRules
        How to go.
    memory : BoxMemory, default=None
        Halves and neighbours to go on with; neighbours are the same for all widths of a
        Gaussian kernel.
    n_train : int, default=None
        The n of C = 1 / (2 λ n); by default the number of samples that are not held out.

    Returns
    -------
    FoldPath
        In the order of `alphas`.
    """
    n, n_train = y.size, n_train or int(np.count_nonzero(weights))
    diagonal = np.ascontiguousarray(K.diagonal())
    memory = memory or BoxMemory.new(n, rules.n_neighbors)
    ascent = BoxAscent(K, diagonal, rules.working_set, rules.stopping, memory)
    ascent.may_shrink &= rules.shrinking
    unit = y * weights / (2.0 * n_train)  # the bounds at λ = 1
    below, above, total = np.minimum(unit, 0.0), np.maximum(unit, 0.0), np.abs(unit).sum()
    beta, h = np.empty((len(alphas), n)), np.empty((len(alphas), n))
    n_iter, seconds = np.zeros(len(alphas), dtype=np.int64), np.zeros(len(alphas))
    converged = np.ones(len(alphas), dtype=bool)
    for at, before in visits(len(alphas), rules.order):
        clock, lam = time.perf_counter(), alphas[at]
        bound = unit / lam  # y_i C_i, C_i = w_i/(2λn)
        if before >= 0:
            old, r = Start(beta[before], h[before]), alphas[before] / lam  # r = C_new/C_old
            start = next_start(rules.warm, K, y, unit / alphas[before], bound, r, old)
        else:
            start = kernel_rule(K, y, bound) if rules.first == "I1" else zeros(y)
        beta[at], h[at] = start
        lower, upper = below / lam, above / lam
        tol = rules.tol if rules.stopping == "kkt" else rules.tol * total / lam  # ε Σ C_i
        n_iter[at], _ = ascent.climb(y, beta[at], h[at], lower, upper, tol, rules.max_iter)
        converged[at] = stop_value(ascent.rule, beta[at], h[at], lower, upper) <= tol
        seconds[at] = time.perf_counter() - clock
    return FoldPath(beta, y - h, n_iter, seconds, converged)  # h = y - f
