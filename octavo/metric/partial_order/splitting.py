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
from octavo.metric.partial_order.programs import DiagonalProgram, FullProgram, PairProgram, Solution

RELAX = 1.6
CHECK = 10  # steps between looks at the gap
FACTORED = 6000  # comparisons up to which I + AAᵀ is factorised
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


def comparison_products(program: PairProgram) -> Floats:
    """Return AAᵀ, its lower half."""
    pairs, closer, farther = (np.asarray(a, dtype=np.int64) for a in program.compared)
    if isinstance(program, DiagonalProgram):
        A = program.columns(np.arange(program.size))
        return A @ A.T
    assert isinstance(program, FullProgram)
    products = np.zeros((len(closer), len(closer)))
    for factor in program.factors:
        _add_products(factor @ factor.T, pairs, closer, farther, products)
    return products


def operator_norm(program: PairProgram, n_iter: int = 12) -> float:
    """Return about the norm of A, by power iterations on AAᵀ."""
    y = np.random.default_rng(0).standard_normal(program.n_comparisons)
    norm = 0.0
    for _ in range(n_iter):
        length = float(np.linalg.norm(y))
        if not length > 0.0:
            return 0.0
        y = program.differences(program.adjoint(y / length))
        norm = float(np.linalg.norm(y))
    return float(np.sqrt(norm))


def _graph_solver(program: PairProgram, theta: float) -> Callable[[Floats], Floats]:
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
        goal = 1e-12 * float(r @ r)
        for _ in range(20):
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
    program: PairProgram,
    *,
    tol: float,
    max_iter: int,
    start: tuple[Floats, Floats] | None = None,
    on_step: Callable[[], Any] = lambda: None,
) -> Solution:
    """Solve a program until the duality gap is at most `tol` times the objective.

    Parameters
    ----------
    program : PairProgram
        Full or diagonal.
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
    norm = operator_norm(program)
    if not norm > 0.0:  # no comparison can be moved: W = 0
        zero = np.zeros(program.n_comparisons)
        return Solution(np.zeros(program.size), program.beta, 0.0, zero + program.slope, 0, True)
    theta = 1.0 / norm
    solve = _graph_solver(program, theta)
    eta = np.zeros(program.n_comparisons) + program.slope if start is None else start[1]
    eta, bound = program.bound(eta)
    W, best = program.stretched(-program.adjoint(eta) * 0.0 if start is None else start[0])
    best_W, best_eta = W, eta
    if start is None:
        push = program.shrink(-program.adjoint(eta), 0.0)
        W, value = program.stretched(push)
        if value < best:
            best_W, best = W, value
    rho = 1.0 / max(float(np.linalg.norm(W)), 1.0 / program.n_items)
    Z, y = W, theta * program.differences(W)
    U, v = np.zeros_like(W), -eta / (theta * rho)
    k = 0
    for k in range(1, max_iter + 1):
        W = program.shrink(Z - U, 1.0 / rho)
        point = y - v
        # Proximal map of the hinge with its corner at -θ, slope β/(|C|θρ).
        pull = np.clip(point + theta, 0.0, program.slope / (theta * rho))
        s = point - pull
        mixed_W, mixed_s = RELAX * W + (1.0 - RELAX) * Z, RELAX * s + (1.0 - RELAX) * y
        right_W, right_s = mixed_W + U, mixed_s + v
        q = solve(right_s - theta * program.differences(right_W))
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
            eta, low = program.bound(theta * rho * pull)
            if low > bound:
                best_eta, bound = eta, low
            if best - bound <= tol * best:
                break
            size_primal = max(np.linalg.norm(W), np.linalg.norm(Z), 1e-300)
            size_dual = rho * max(np.linalg.norm(U), 1e-300)
            ratio = (primal / size_primal) / max(dual / size_dual, 1e-300)
            if ratio > BALANCE or ratio < 1.0 / BALANCE:
                factor = float(np.clip(np.sqrt(ratio), 0.1, 10.0))
                rho *= factor
                U, v = U / factor, v / factor
    gap = best - bound
    return Solution(best_W, best, gap, best_eta, k, bool(gap <= tol * best))


def _warmup() -> None:
    pairs, place = np.array([[0, 1], [0, 2]]), np.array([0])
    _add_products(np.eye(3), pairs, place, np.array([1]), np.zeros((1, 1)))
