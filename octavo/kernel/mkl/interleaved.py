"""Multiple kernel learning interleaved with the machine's own steps, for many samples and kernels.

Where a wrapper solves a machine to the end for weights that are still wrong, Algorithm 2 changes
the weights while the machine is being solved. It keeps the gradient of every kernel, M × n numbers,
and asks for the columns of a few samples at a time; no kernel matrix is ever formed.

A step is either a chunk (the samples that violate the optimality conditions most, solved among
themselves) or a change of the weights, whichever of the two errors is larger: the machine's own gap
at the present weights, or what the weights lack.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12, Section 4.3.2, Algorithm 2.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.duals.smo import best_offset, solve_sum_constrained
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.kernel.mkl.columns import ColumnSource
from octavo.kernel.mkl.machines import BoxMachine, Solved
from octavo.kernel.mkl.weight_norms import WeightNorm
from octavo.kernel.mkl.wrapper import Bounds, ClosedForm, MKLFit, Step, WeightStep, non_negative

NEWCOMERS = (64, 512)  # fewest and most variables that enter a chunk from their bounds
MOST = 2048  # variables that are solved together
_SOLVE_TO = 0.05  # of the present violation, within a chunk


def choose_chunk(beta: Floats, h: Floats, lower: Floats, upper: Floats) -> tuple[Indices, float]:
    """Return the variables to solve together, and the violation (line 3).

    They are those off their bounds, and as many again of those on their bounds that most want to
    leave them.
    """
    up, down = beta < upper, beta > lower
    rising, falling = np.where(up, h, -np.inf), np.where(down, h, np.inf)
    most, least = float(rising.max()), float(falling.min())
    middle = 0.5 * (most + least)
    # Between its bounds a variable can do both; how far it is from the middle says how much.
    wish = np.maximum(rising - middle, middle - falling)
    free = np.flatnonzero(up & down)
    if len(free) > MOST // 2:
        free = free[np.argsort(-wish[free], kind="stable")[: MOST // 2]]
    room = int(np.clip(len(free), *NEWCOMERS))
    growers = _largest(np.where(up & ~down, h - middle, -np.inf), room // 2)
    shrinkers = _largest(np.where(down & ~up, middle - h, -np.inf), room // 2)
    return np.unique(np.concatenate([free, growers, shrinkers])), most - least


def _largest(wish: Floats, count: int) -> Indices:
    """Return the indices of the largest positive entries, `count` at most."""
    if len(wish) > count:
        first = np.argpartition(-wish, count - 1)[:count]
    else:
        first = np.arange(len(wish))
    return first[wish[first] > 0.0]


class Interleaved:
    """The state of Algorithm 2: variables, gradients of all kernels, weights.

    Parameters
    ----------
    source : ColumnSource
        Columns of the kernels.
    machine : BoxMachine
        The machine.
    theta : ndarray of shape (n_kernels,)
        Weights to start with.
    beta : ndarray
        Variables to start with.
    """

    def __init__(
        self, source: ColumnSource, machine: BoxMachine, theta: Floats, beta: Floats
    ) -> None:
        self.source, self.machine, self.theta = source, machine, theta
        self.n = machine.n_samples
        self.beta = np.array(beta)
        self.a = self.beta.reshape(-1, self.n).sum(axis=0)
        self.G = np.zeros((source.n_kernels, self.n))
        used = np.flatnonzero(self.a)
        for start in range(0, len(used), NEWCOMERS[1]):
            part = used[start : start + NEWCOMERS[1]]
            source.add(self.G, part, self.a[part])
        self.f = theta @ self.G
        self.n_chunks = 0

    @property
    def h(self) -> Floats:
        """The gradient of the dual objective at the present weights."""
        return self.machine.linear - np.tile(self.f, self.beta.size // self.n)

    def forms(self) -> Floats:
        """Return s_m = a'K_m a (line 6), zero where an indefinite kernel makes it less."""
        used = np.flatnonzero(self.a)
        return non_negative(self.G[:, used] @ self.a[used])

    def solve_chunk(self) -> float:
        """Solve the worst variables among themselves (lines 3 to 5); return the violation."""
        machine = self.machine
        lower, upper = machine.lower, machine.upper
        chosen, violation = choose_chunk(self.beta, self.h, lower, upper)
        if len(chosen) < 2:
            return violation
        samples = chosen % self.n
        K = self.source.block(self.theta, samples)
        h, before = self.h[chosen], self.beta[chosen]
        result = solve_sum_constrained(
            K,
            h + K @ before,
            lower[chosen],
            upper[chosen],
            beta=before,
            gradient=h,
            tol=_SOLVE_TO * violation,
            max_iter=100 * len(chosen),
        )
        moved = np.flatnonzero(result.alpha != before)
        self.beta[chosen] = result.alpha
        self._move(samples[moved], (result.alpha - before)[moved])
        self.n_chunks += 1
        return violation

    def _move(self, samples: Indices, delta: Floats) -> None:
        """Carry a change of coefficients into the gradients of all kernels (line 5)."""
        if len(samples) == 0:
            return
        distinct, place = np.unique(samples, return_inverse=True)
        change: Floats = np.bincount(place, weights=delta).astype(np.float64)
        self.a[distinct] += change
        self.source.add(self.G, distinct, change)
        self.f = self.theta @ self.G

    def set_weights(self, theta: Floats) -> None:
        """Change the weights and with them the decision values (lines 9 and 13)."""
        self.theta = theta
        self.f = theta @ self.G

    def solution(self) -> Solved:
        """Return the machine's solution as it stands, with the best offset."""
        offset, _ = best_offset(self.beta, self.h, self.machine.lower, self.machine.upper)
        return self.machine.wrap(self.beta.copy(), self.f, offset)


def solve_interleaved(
    source: ColumnSource,
    machine: BoxMachine,
    norm: WeightNorm,
    *,
    weights: WeightStep | None = None,
    tol: float = 1e-3,
    max_iter: int = 200,
    theta: Floats | None = None,
    solved: list[Solved] | None = None,
    step: Step | None = None,
) -> MKLFit:
    """Solve multiple kernel learning by Algorithm 2.

    Parameters
    ----------
    source : ColumnSource
        Columns of the kernels.
    machine : BoxMachine
        A machine with hinge, ε-insensitive or one-class loss.
    norm : WeightNorm
        Norm on the weights.
    weights : WeightStep, optional
        What decides the weights; the closed form by default.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the penalty at the solution.
    max_iter : int, default=200
        Most changes of the weights; chunks are limited to 50 for each of them, and to as many as
        samples overall, whichever is more.
    theta, solved : optional
        Where to start.
    step : callable, optional
        Called after every change of the weights; returns whether to stop.

    Returns
    -------
    MKLFit
        The solution.
    """
    weights = ClosedForm(norm) if weights is None else weights
    theta = norm.start(source.n_kernels) if theta is None else theta
    beta = machine.start if solved is None else solved[0].variables
    state, bounds, n_iter = Interleaved(source, machine, theta, beta), Bounds(norm), 0
    most_chunks = max(50 * max_iter, machine.n_samples)
    while n_iter < max_iter and state.n_chunks < most_chunks:
        before = state.n_chunks
        state.solve_chunk()
        one, s = state.solution(), state.forms()
        gap = bounds.add(state.theta, [one], s)
        if gap <= tol * bounds.scale:
            break
        penalty = float(state.theta @ s)
        own = one.loss + penalty - one.linear  # the machine's gap at the present weights
        lacking = bounds.rows[-1][0] - bounds.rows[-1][1] - own  # what the weights add to it
        if own > lacking and state.n_chunks > before:
            continue
        n_iter += 1
        if step is not None and step():
            break
        state.set_weights(weights.next(state.theta, s, one.linear, bounds))
    return bounds.result(n_iter, tol)
