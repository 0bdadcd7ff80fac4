"""Solvers of multiple kernel learning on kernel matrices that are held in memory.

`solve_wrapper` alternates a machine on the weighted sum of kernels with the closed form of the
weights (Algorithm 1). `Bounds` keeps the best solution of any solver, with its duality gap.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.kernel.mkl.machines import Machine, Solved
from octavo.kernel.mkl.weight_norms import FLOOR, NO_SIGNAL, WeightNorm

Step = Callable[[], bool]

_FIRST = 0.1  # precision of the first machine, relative to its penalty
_INNER = 0.1  # of the outer gap that a machine may leave


class MKLFit(NamedTuple):
    """Weights θ, the machines' solutions at θ, their s_m = a'K_m a, and how good they are.

    ``objective`` is the primal value, ``gap`` bounds its distance from the optimum, ``scale`` is
    the penalty that gaps are measured by. ``history`` has one row a machine call: primal
    objective, dual objective, gap.
    """

    theta: Floats
    solved: list[Solved]
    s: Floats
    objective: float
    gap: float
    scale: float
    n_iter: int
    converged: bool
    history: Floats


@njit(cache=True, nogil=True)
def _quadratic_forms(K, a, support, out):
    """Add a'K_m a for every kernel to `out`, from the rows and columns of the support."""
    for m in range(K.shape[0]):
        total = 0.0
        for x in range(support.shape[0]):
            i = support[x]
            row = K[m, i]
            inner = 0.0
            for z in range(x):
                j = support[z]
                inner += row[j] * a[j]
            total += a[i] * (2.0 * inner + row[i] * a[i])  # a symmetric K: each pair counts twice
        out[m] += total


def quadratic_forms(K: Floats, solved: Sequence[Solved]) -> Floats:
    """Return s_m = Σ a'K_m a over the machines, zero where an indefinite kernel makes it less."""
    s = np.zeros(len(K))
    for solution in solved:
        support = np.flatnonzero(solution.a)
        # With many support vectors a product of whole matrices is faster than their rows.
        if 3 * support.size > len(solution.a):
            n = len(solution.a)
            s += (K.reshape(-1, n) @ solution.a).reshape(len(K), n) @ solution.a
        else:
            _quadratic_forms(K, solution.a, support, s)
    return non_negative(s)


def non_negative(s: Floats) -> Floats:
    """Return s with negative entries set to zero, as the paper does; warn unless it is rounding."""
    below = np.flatnonzero(s < -1e-8 * np.abs(s).max(initial=0.0))
    if below.size:
        warnings.warn(
            f"Kernel(s) {below[:10].tolist()} are indefinite: a'Ka is {s[below].min():.3g} at the "
            "solution. They get no weight, and the problem is not convex.",
            UserWarning,
            stacklevel=2,
        )
    return np.maximum(s, 0.0)


@njit(cache=True, nogil=True)
def _add_triangles(K, theta, active, total):
    """Write Σ θ_m K_m of symmetric K_m from their lower triangles: half of what there is to read.

    Four kernels at a time, so that the sum itself is seldom read and written.
    """
    n, count = K.shape[1], active.size
    four = count - count % 4
    for i in range(n):
        out = total[i, : i + 1]
        for j in range(i + 1):
            out[j] = 0.0
        for at in range(0, four, 4):
            p, q, r, s = active[at], active[at + 1], active[at + 2], active[at + 3]
            a, b, c, d = K[p, i], K[q, i], K[r, i], K[s, i]
            ta, tb, tc, td = theta[p], theta[q], theta[r], theta[s]
            for j in range(i + 1):
                out[j] += (ta * a[j] + tb * b[j]) + (tc * c[j] + td * d[j])
        for at in range(four, count):
            row, weight = K[active[at], i], theta[active[at]]
            for j in range(i + 1):
                out[j] += weight * row[j]
    for top in range(0, n, 32):  # mirrored by tiles, so that lines of memory are used whole
        for left in range(0, top + 1, 32):
            for i in range(top, min(top + 32, n)):
                for j in range(left, min(left + 32, i)):
                    total[j, i] = total[i, j]


def weighted_sum(K: Floats, theta: Floats) -> Floats:
    """Return Σ θ_m K_m of symmetric matrices."""
    active = np.flatnonzero(theta > FLOOR * theta.max())
    total = np.empty(K.shape[1:])
    _add_triangles(K, theta, active, total)
    return total


class Bounds:
    """The best solution so far, and the bounds from both sides.

    Parameters
    ----------
    norm : WeightNorm
        Norm on the weights.
    """

    def __init__(self, norm: WeightNorm) -> None:
        self.norm = norm
        self.upper, self.lower = np.inf, -np.inf
        self.scale = 0.0
        self.best: tuple[Floats, list[Solved], Floats] | None = None
        self.rows: list[tuple[float, float, float]] = []

    def add(self, theta: Floats, solved: list[Solved], s: Floats) -> float:
        """Take note of a solution; return the gap."""
        value = sum(one.loss for one in solved) + self.norm.primal(theta, s)  # Eq. (14)
        self.scale = self.norm.dual(s)
        lower = sum(one.linear for one in solved) - self.scale  # Eq. (10)
        self.lower = max(self.lower, lower)
        if value <= self.upper:
            self.upper, self.best = value, (theta, solved, s)
        self.rows.append((value, lower, self.gap))
        return self.gap

    @property
    def gap(self) -> float:
        """The best primal value less the best dual one; rounding below zero is zero."""
        return max(self.upper - self.lower, 0.0)

    def result(self, n_iter: int, tol: float) -> MKLFit:
        """Return the best solution."""
        assert self.best is not None
        theta, solved, s = self.best
        if not self.scale > 1e-14 * abs(self.upper):
            raise ValueError(NO_SIGNAL)
        met = self.gap <= tol * self.scale
        history = np.array(self.rows)
        return MKLFit(
            theta, solved, s, self.upper, self.gap, self.scale, n_iter, bool(met), history
        )


def machine_tol(bounds: Bounds, tol: float, svm_tol: float) -> float:
    """Return the gap that the next machine may leave: tighter as the outer gap falls."""
    wanted = max(_INNER * bounds.gap, min(svm_tol, _INNER * tol) * bounds.scale)
    return max(wanted, 1e-13 * abs(bounds.upper))  # below lies rounding


def first_solution(
    total: Floats, machines: Sequence[Machine], start: Sequence[Solved] | None = None
) -> list[Solved]:
    """Solve once roughly, to learn how large the penalty is; then to a part of it."""
    solved: list[Solved] = []
    for k, machine in enumerate(machines):
        tol = np.inf
        one = None if start is None else start[k]
        for _ in range(60):
            one = machine.solve(total, one, tol)
            penalty = 0.5 * float(one.a @ total @ one.a)  # ½ Σ θ_m a'K_m a of Eq. (20)
            # its own gap: (loss + penalty) - (L(a) - penalty)
            left = one.loss + 2.0 * penalty - one.linear
            if left <= _FIRST * penalty or left <= 1e-12 * abs(one.loss):
                break
            tol = min(0.3 * left, max(_FIRST * penalty, 0.03 * left))
        assert one is not None
        solved.append(one)
    return solved


class WeightStep(Protocol):
    """What decides the next weights."""

    def next(self, theta: Floats, s: Floats, linear: float, bounds: Bounds) -> Floats:
        """Return weights after a solution with L(a) = linear and a'K_m a = s at theta."""


class ClosedForm:
    """The weights that are best for the blocks w_m that were found (Eq. 16).

    Parameters
    ----------
    norm : WeightNorm
        Norm on the weights.
    """

    def __init__(self, norm: WeightNorm) -> None:
        self.norm = norm

    def next(self, theta: Floats, s: Floats, linear: float, bounds: Bounds) -> Floats:
        """Return the closed form."""
        return self.norm.answer(theta, s)


def solve_wrapper(
    K: Floats,
    machines: Sequence[Machine],
    norm: WeightNorm,
    *,
    weights: WeightStep | None = None,
    tol: float = 1e-3,
    svm_tol: float = 1e-4,
    max_iter: int = 200,
    theta: Floats | None = None,
    solved: list[Solved] | None = None,
    step: Step | None = None,
) -> MKLFit:
    """Alternate machines on the weighted kernel with a step of the weights (Algorithm 1).

    Parameters
    ----------
    K : ndarray of shape (n_kernels, n_samples, n_samples)
        Kernel matrices.
    machines : sequence of Machine
        One, or several that share the weights.
    norm : WeightNorm
        Norm on the weights.
    weights : WeightStep, optional
        What decides the weights; the closed form by default.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the penalty at the solution.
    svm_tol : float, default=1e-4
        Gap that a machine may leave at the end, on the same scale.
    max_iter : int, default=200
        Most steps of the weights.
    theta, solved : optional
        Where to start: weights, and earlier solutions of the machines.
    step : callable, optional
        Called after every iteration; returns whether to stop.

    Returns
    -------
    MKLFit
        The solution.
    """
    weights = ClosedForm(norm) if weights is None else weights
    theta = norm.start(len(K)) if theta is None else theta
    bounds, n_iter = Bounds(norm), 0
    total = weighted_sum(K, theta)  # a pass over all kernels, as long as a machine
    solved = first_solution(total, machines, solved)
    s = quadratic_forms(K, solved)
    bounds.add(theta, solved, s)
    while n_iter < max_iter:
        n_iter += 1
        if n_iter > 1:
            total = weighted_sum(K, theta)  # line 3: a machine on Σ θ_m K_m, Eq. (20)
        allowed = machine_tol(bounds, tol, svm_tol)
        solved = [m.solve(total, one, allowed) for m, one in zip(machines, solved)]
        s = quadratic_forms(K, solved)  # of Eq. (21)
        gap = bounds.add(theta, solved, s)
        if gap <= tol * bounds.scale or (step is not None and step()):
            break
        # line 5: Eq. (16)
        theta = weights.next(theta, s, sum(one.linear for one in solved), bounds)
        if bounds.gap <= tol * bounds.scale:  # the step has found a better lower bound
            break
    return bounds.result(n_iter, tol)


def _warmup() -> None:
    _quadratic_forms(np.ones((1, 2, 2)), np.ones(2), np.array([0, 1]), np.zeros(1))
    weighted_sum(np.ones((1, 2, 2)), np.ones(1))
