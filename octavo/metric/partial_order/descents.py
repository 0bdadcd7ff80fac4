"""Two first-order solvers: the paper's projected subgradient, and an accelerated smooth descent.

Both work on full and diagonal programs. The subgradient method is what the paper used and is here
for comparison: it has no rule to stop but the duality gap, and reaches few digits. The accelerated
descent rounds the corner of the hinge off and sharpens it stage by stage.

References: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Appendix B; A. Beck
and M. Teboulle (2009), "A fast iterative shrinkage-thresholding algorithm for linear inverse
problems".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.metric.partial_order.landmark_weights import solve_landmark_lp
from octavo.metric.partial_order.programs import (
    DiagonalProgram,
    FullProgram,
    PairProgram,
    Solution,
)
from octavo.metric.partial_order.splitting import solve_admm

BLOCK = 64  # columns formed at once
CHECK = 10  # steps between looks at the gap
STAGE = 100  # steps before the corner is sharpened
SHARPEN = 4.0


def _nothing() -> None:
    return None


def subgradient(program: PairProgram, s: Floats) -> tuple[Floats, Floats]:
    """Return a subgradient of the loss, Aᵀη with its factor β/|C|, and η (Eq. 11)."""
    eta = np.where(1.0 + s > 0.0, program.slope, 0.0)  # β/|C|, which Appendix B's sum leaves out
    return program.adjoint(eta), eta


class Record:
    """The best feasible point and the best bound so far."""

    def __init__(self, program: PairProgram) -> None:
        self.program = program
        self.W, self.objective = np.zeros(program.size), program.beta
        start = np.full(program.n_comparisons, program.slope)
        self.eta, self.bound = program.bound(start)

    def look(self, W: Floats, eta: Floats) -> float:
        """Take in a point and multipliers; return the relative gap."""
        W, value = self.program.stretched(W)
        if value < self.objective:
            self.W, self.objective = W, value
        eta, bound = self.program.bound(eta)
        if bound > self.bound:
            self.eta, self.bound = eta, bound
        return (self.objective - self.bound) / self.objective

    def solution(self, n_iter: int, tol: float) -> Solution:
        gap = self.objective - self.bound
        return Solution(
            self.W, self.objective, gap, self.eta, n_iter, bool(gap <= tol * self.objective)
        )


def solve_subgradient(
    program: PairProgram,
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[[], Any] = _nothing,
) -> Solution:
    """Descend along subgradients and project, W → P(W - α∇f) (Appendix B).

    The paper does not say how long its steps are; Polyak's are taken, towards the best lower bound.

    Parameters
    ----------
    program : PairProgram
        Full or diagonal.
    tol : float
        Relative gap.
    max_iter : int
        Most steps.
    on_step : callable
        Called once a step.

    Returns
    -------
    Solution
        The best point seen.
    """
    seen = Record(program)
    W, mean_eta, k = np.zeros(program.size), np.zeros(program.n_comparisons), 0
    unit = program.shrink(np.zeros(program.size), -1.0)  # the regulariser's gradient
    for k in range(1, max_iter + 1):
        s = program.differences(W)
        pull, eta = subgradient(program, s)
        mean_eta += (eta - mean_eta) * (2.0 / (k + 1))
        slope = unit + pull
        square = float(slope @ slope)
        if (k % CHECK == 1 or k == max_iter) and seen.look(W, mean_eta) <= tol:
            break
        on_step()
        if not square > 0.0:
            break
        # Polyak: (f - f*)/‖∇f‖², with the bound for f*
        step = max(program.value(W, s) - seen.bound, 0.0) / square
        W = program.shrink(W - step * pull, step)  # P(W - α ∇f), the regulariser's step within
    seen.look(W, mean_eta)
    return seen.solution(k, tol)


def column_steps(program: PairProgram) -> Any:
    """Return what the step of each weight is multiplied with: one over the square of its column.

    Columns of A differ by orders of magnitude where views or landmarks do; a weight with a short
    column would hardly move with the steps of the longest. Full programs have one step, 1.
    """
    if not isinstance(program, DiagonalProgram):
        return 1.0
    squares = np.empty(program.size)
    for start in range(0, program.size, BLOCK):
        places = np.arange(start, min(start + BLOCK, program.size))
        squares[places] = (program.columns(places) ** 2).sum(axis=0)
    top = float(squares.max(initial=0.0))
    return 1.0 / np.maximum(squares, 1e-12 * top) if top > 0.0 else np.ones(program.size)


def operator_norm(program: PairProgram, shape: Any = 1.0, n_iter: int = 20) -> float:
    """Return about the norm of A S^½, S = diag(`shape`), by power iterations on ASAᵀ."""
    y = np.random.default_rng(0).standard_normal(program.n_comparisons)
    norm = 0.0
    for _ in range(n_iter):
        length = float(np.linalg.norm(y))
        if not length > 0.0:
            return 0.0
        y = program.differences(shape * program.adjoint(y / length))
        norm = float(np.linalg.norm(y))
    return float(np.sqrt(norm))


def solve_fista(
    program: PairProgram,
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[[], Any] = _nothing,
) -> Solution:
    """Descend on the rounded hinge with momentum, sharpening its corner; then polish.

    A full program is polished by splitting, a diagonal one by the linear program, which starts with
    the weights that the descent left above zero.

    Parameters
    ----------
    program : PairProgram
        Full or diagonal.
    tol : float
        Relative gap.
    max_iter : int
        Most steps of both together.
    on_step : callable
        Called once a step.

    Returns
    -------
    Solution
        The best point seen.
    """
    seen = Record(program)
    shape = column_steps(program)
    norm = 1.02 * operator_norm(program, shape)
    if not norm > 0.0:
        return seen.solution(0, tol)
    W, k, corner, last = seen.W, 0, 1.0, np.inf
    budget = max_iter // 2
    while k < budget:
        step = shape * (corner / (program.slope * norm**2))
        point, momentum = W, 1.0
        for inner in range(STAGE):
            k += 1
            # The derivative of the rounded hinge
            eta = program.slope * np.clip((1.0 + program.differences(point)) / corner, 0.0, 1.0)
            new = program.shrink(point - step * program.adjoint(eta), step)
            if float(((point - new) / shape) @ (new - W)) > 0.0:
                momentum = 1.0  # restart where momentum leads uphill
            ahead = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))  # Nesterov's momentum
            point, W, momentum = new + ((momentum - 1.0) / ahead) * (new - W), new, ahead
            on_step()
            if (inner + 1) % CHECK == 0 and seen.look(W, eta) <= tol:
                return seen.solution(k, tol)
            if k >= budget:
                break
        gap = seen.look(W, eta)
        if gap > 0.9 * last:
            break
        last, corner = gap, corner / SHARPEN
    left = max(max_iter - k, 1)
    if isinstance(program, FullProgram):
        polished = solve_admm(
            program, tol=tol, max_iter=left, start=(seen.W, seen.eta), on_step=on_step
        )
    elif isinstance(program, DiagonalProgram):
        polished = solve_landmark_lp(program, tol=tol, max_iter=left, start=seen.W, on_step=on_step)
    else:
        return seen.solution(k, tol)
    seen.look(polished.weights, polished.multipliers)
    return seen.solution(k + polished.n_iter, tol)
