"""The alternating direction method for partial order embedding: exact, with a certificate.

The variables (W, s) are split from the graph s = A W. One half-step shrinks eigenvalues and losses,
each in closed form; the other projects onto the graph, for which a system with I + AAᵀ is solved:
by one Cholesky factorisation where comparisons are few, by warm conjugate gradients beyond.

References: N. Parikh and S. Boyd (2014), "Block splitting for distributed optimization", Section
3; the projection is the graph form of the program in Algorithm 4 of McFee and Lanckriet (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.metric.partial_order.programs import FullProgram, Solution

RELAX = 1.6
CHECK = 10  # steps between looks at the gap
FACTORED = 8000  # comparisons up to which I + AAᵀ is factorised
BALANCE_OF_BLOCKS = 1.5  # weight of s beside W, in units of A's mean length
PATIENCE = 1.3  # how much later the penalty may move again
BALANCE = 5.0  # ratio of residuals from which the penalty is moved


@njit(cache=True, nogil=True)
def _add_products(K, pairs, closer, farther, out):
    """Add ⟨A_c, A_e⟩ of one view for all c ≥ e; entries are squares of kernels of differences."""
    for c in range(closer.shape[0]):
        ci, cj = pairs[closer[c], 0], pairs[closer[c], 1]
        fi, fj = pairs[farther[c], 0], pairs[farther[c], 1]
        near, far = K[ci] - K[cj], K[fi] - K[fj]
        for e in range(c + 1):
            a, b = pairs[closer[e], 0], pairs[closer[e], 1]
            f, g = pairs[farther[e], 0], pairs[farther[e], 1]
            one, two = near[a] - near[b], near[f] - near[g]
            three, four = far[a] - far[b], far[f] - far[g]
            out[c, e] += one * one - two * two - three * three + four * four


def comparison_products(program: FullProgram) -> Floats:
    """Return the lower half of AAᵀ."""
    pairs, closer, farther = (np.asarray(a, dtype=np.int64) for a in program.compared)
    products = np.zeros((len(closer), len(closer)))
    for factor in program.factors:
        _add_products(factor @ factor.T, pairs, closer, farther, products)
    return products


def mean_square(program: FullProgram) -> float:
    """Return ‖A‖²_F / |C|, the mean squared length of a comparison's matrix."""
    pairs, closer, farther = program.compared
    (a, b), (f, g) = pairs[closer].T, pairs[farther].T
    total = 0.0
    for factor in program.factors:
        near, far = factor[a] - factor[b], factor[f] - factor[g]
        own = np.einsum("cr,cr->c", near, near) ** 2 + np.einsum("cr,cr->c", far, far) ** 2
        total += float((own - 2.0 * np.einsum("cr,cr->c", near, far) ** 2).sum())
    return total / program.n_comparisons


def _graph_solver(program: FullProgram, theta: float, tol: float) -> Callable[[Floats], Floats]:
    """Return the solver of (I + θ²AAᵀ) y = r."""
    if program.n_comparisons <= FACTORED:
        system = comparison_products(program)
        system *= theta * theta
        system[np.diag_indices_from(system)] += 1.0
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        return lambda r: cho_solve(factor, r, check_finite=False)
    last = np.zeros(program.n_comparisons)

    def iterate(r: Floats) -> Floats:
        def times(y: Floats) -> Floats:
            return y + theta * theta * program.differences(program.adjoint(y))

        y = last.copy()
        residual = r - times(y)
        direction, square = residual.copy(), float(residual @ residual)
        goal = (1e-4 * tol) ** 2 * float(r @ r)
        for _ in range(40):
            if square <= goal:
                break
            image = times(direction)
            step = square / float(direction @ image)
            y += step * direction
            residual -= step * image
            square, before = float(residual @ residual), square
            direction = residual + (square / before) * direction
        last[:] = y
        return y

    return iterate


def solve_admm(
    program: FullProgram,
    *,
    tol: float,
    max_iter: int,
    start: tuple[Floats, Floats] | None = None,
    on_step: Callable[[], Any] = lambda: None,
) -> Solution:
    """Solve a program until the duality gap is at most `tol` times the objective.

    Parameters
    ----------
    program : FullProgram
        The program.
    tol : float
        Relative gap.
    max_iter : int
        Most steps.
    start : tuple of ndarray, optional
        W and multipliers to start from.
    on_step : callable
        Called once a step.

    Returns
    -------
    Solution
        The best feasible point seen, and the best bound.
    """
    square = mean_square(program)
    if not square > 0.0:  # no comparison can be moved: W = 0
        eta, bound = program.bound(np.full(program.n_comparisons, program.slope))
        return Solution(np.zeros(program.size), program.beta, program.beta - bound, eta, 0, True)
    theta = BALANCE_OF_BLOCKS / float(np.sqrt(square))  # W and s in like units
    solve = _graph_solver(program, theta, tol)
    best_W, best = np.zeros(program.size), program.beta
    eta, bound = program.bound(
        np.full(program.n_comparisons, program.slope) if start is None else start[1]
    )
    best_eta = eta
    W, value = program.stretched(
        program.shrink(-program.adjoint(eta), 0.0) if start is None else start[0]
    )
    if value < best:
        best_W, best = W, value
    rho = 1.0 / max(float(np.linalg.norm(W)), 1.0 / program.n_items)
    Z, y = W, theta * program.differences(W)
    U, v = np.zeros_like(W), -eta / (theta * rho)
    k = patience = 0
    for k in range(1, max_iter + 1):
        W = program.shrink(Z - U, 1.0 / rho)  # projection, with the trace as part of it
        point = y - v
        # Proximal map of the hinge with its corner at -θ, slope β/(|C|θρ).
        pull = np.clip(point + theta, 0.0, program.slope / (theta * rho))
        s = point - pull
        mixed_W, mixed_s = RELAX * W + (1.0 - RELAX) * Z, RELAX * s + (1.0 - RELAX) * y
        right_W, right_s = mixed_W + U, mixed_s + v
        q = solve(right_s - theta * program.differences(right_W))  # onto {s = θ A W}
        Z_next, y_next = right_W + theta * program.adjoint(q), right_s - q
        U, v = right_W - Z_next, right_s - y_next
        primal = np.sqrt(np.sum((W - Z_next) ** 2) + np.sum((s - y_next) ** 2))
        dual = rho * np.sqrt(np.sum((Z_next - Z) ** 2) + np.sum((y_next - y) ** 2))
        Z, y = Z_next, y_next
        on_step()
        if k % CHECK == 0 or k == max_iter:
            trial, value = program.stretched(W)
            if value < best:
                best_W, best = trial, value
            eta, low = program.bound(theta * rho * pull)  # multipliers of the hinges, for the bound
            if low > bound:
                best_eta, bound = eta, low
            if best - bound <= tol * best:
                break
            if k < patience:
                continue
            size = max(float(np.linalg.norm(W)), float(np.linalg.norm(Z)), 1e-300)
            pull_size = rho * max(float(np.linalg.norm(U)), 1e-300)
            ratio = (primal / size) / max(dual / pull_size, 1e-300)
            if ratio > BALANCE or ratio < 1.0 / BALANCE:
                factor = float(np.clip(np.sqrt(ratio), 0.1, 10.0))
                rho *= factor
                U, v = U / factor, v / factor
                patience = int(PATIENCE * k)  # a penalty that never rests never converges
    gap = best - bound
    return Solution(best_W, best, gap, best_eta, k, bool(gap <= tol * best))


def _warmup() -> None:
    pairs, place = np.array([[0, 1], [0, 2]]), np.array([0])
    _add_products(np.eye(3), pairs, place, np.array([1]), np.zeros((1, 1)))
