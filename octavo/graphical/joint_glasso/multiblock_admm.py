"""The paper's own algorithms for node-based joint graphical lassos: more than two blocks.

Algorithms 1 and 2 of Mohan, London, Fazel, Witten and Lee (2014), "Node-based learning of multiple
Gaussian graphical models", JMLR 15:445-488, for any number of networks. They update one variable
after the other, and raise the penalty parameter as they go; that they converge is not proven, so
the duality gap is what tells. `octavo.engine.glasso.joint` has the method that is proven.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.glasso.joint import (
    CHECK_EVERY,
    MATRICES,
    JointProblem,
    JointState,
    Settings,
    expand,
    finished,
    node_slope,
)
from octavo.engine.glasso.penalties import PerturbedNodes, transposed
from octavo.engine.proximal.groups import soft_threshold

GROWTH = 5.0  # μ of section 4.2.3
LARGEST_RHO = 1e6  # μ^1000 would overflow long before the 1000 passes of the paper
MOST_PASSES = 1000


def solve_paper(problem: JointProblem, settings: Settings, start=None, on_check=None):
    """Solve one connected problem with Algorithm 1 (perturbed nodes) or 2 (co-hubs).

    Parameters
    ----------
    problem : JointProblem
        With a penalty on nodes.
    settings : Settings
        `rho` before the first pass, `tol` of the relative change of Θ within a pass and between
        passes, and `max_iter`, of all passes together.
    start : JointState, optional
        Ignored: the paper starts from identity matrices.
    on_check : callable, optional
        Called every few iterations; stops the solver when it returns True.

    Returns
    -------
    JointSolution
        With the same certificate as the default solver.
    """
    K, p, _ = problem.S.shape
    penalty: Any = problem.penalty
    Theta = np.repeat(np.eye(p)[None], K, axis=0)
    n_V = len(penalty.targets(Theta))
    one = np.repeat(np.eye(p)[None], n_V, axis=0)
    now = (Theta, Theta.copy(), one, one.copy())  # Θ, Z, V, W
    duals = (np.zeros_like(one), np.zeros_like(one), np.zeros_like(Theta))
    rho, n_iter, converged, stop = settings.rho, 0, False, False
    step = _perturbed_step if isinstance(penalty, PerturbedNodes) else _cohub_step
    for _ in range(MOST_PASSES):
        rho = min(GROWTH * rho, LARGEST_RHO)
        before = now[0]
        while n_iter < settings.max_iter and not stop:
            old = now[0]
            now, duals = step(problem, rho, now, duals)
            n_iter += 1
            stop = n_iter % CHECK_EVERY == 0 and on_check is not None and on_check()
            if _relative_change(now[0], old) <= settings.tol:
                break
        converged = _relative_change(now[0], before) <= settings.tol
        if converged or stop or n_iter >= settings.max_iter:
            break
    return _solution(problem, settings, now, duals, n_iter, converged)


def _relative_change(new, old):
    """Return the stopping criterion of section 4.2.3."""
    # max over networks, relative to the old ones
    change = np.sqrt(((new - old) ** 2).sum(axis=(1, 2)))
    return float((change / np.sqrt((old**2).sum(axis=(1, 2)))).max())


def _perturbed_step(problem, rho, now, duals):
    """Update all variables once, Algorithm 1; each Θ meets K − 1 differences and its Z."""
    S, n, weights, penalty = problem
    (Theta, Z, V, W), (F, G, Q), K = now, duals, len(S)
    Theta = Theta.copy()
    parts = V + W - F / rho
    for k in range(K):
        near = Z[k] - (Q[k] + n[k] * S[k]) / rho
        for part, one, other in zip(parts, *np.triu_indices(K, 1)):
            if one == k:
                near = near + Theta[other] + part
            elif other == k:
                near = near + Theta[one] - part
        # Algorithm 1: Expand with K rho in place of 2 rho
        Theta[k] = expand(near[None] / K, n[k : k + 1], K * rho)[0]
    Z = soft_threshold(Theta + Q / rho, weights / rho)  # T_1
    D = penalty.targets(Theta)  # Θ^1 - Θ^2, for every pair
    V = penalty.column_prox(  # T_q
        (transposed(W) - W + D) / 2.0 + (F - G) / (2.0 * rho), 1.0 / (2.0 * rho)
    )
    W = (transposed(V) - V + D) / 2.0 + (F + transposed(G)) / (2.0 * rho)
    duals = (F + rho * (D - V - W), G + rho * (V - transposed(W)), Q + rho * (Theta - Z))
    return (Theta, Z, V, W), duals


def _cohub_step(problem, rho, now, duals):
    """Update all variables once, Algorithm 2, with V that keep their unpenalised diagonals."""
    S, n, weights, penalty = problem
    (Theta, Z, V, W), (F, G, Q) = now, duals
    # Algorithm 2's body, from the Lagrangian (16).
    near = (V + W + Z) / 2.0 - (Q + n[:, None, None] * S + F) / (2.0 * rho)
    Theta = expand(near, n, 2.0 * rho)
    Z = soft_threshold(Theta + Q / rho, weights / rho)  # T_1
    C = (transposed(W) - W + Theta) / 2.0 + (F - G) / (2.0 * rho)
    V = penalty.column_prox(C, 1.0 / (2.0 * rho))  # T_q of the columns without diagonals
    i = np.arange(C.shape[-1])
    V[:, i, i] = C[:, i, i]  # Eq. (7) takes them out of the penalty
    W = (transposed(V) - V + Theta) / 2.0 + (F + transposed(G)) / (2.0 * rho)
    duals = (F + rho * (Theta - V - W), G + rho * (V - transposed(W)), Q + rho * (Theta - Z))
    return (Theta, Z, V, W), duals


def _solution(problem, settings, now, duals, n_iter, converged):
    (Theta, Z, V, _), (F, _, Q) = now, duals
    penalty = problem.penalty
    if not isinstance(penalty, PerturbedNodes):
        V = penalty.targets(V)  # without the diagonals, which are free
    dual_V = F + transposed(F)  # λ ∂‖V_j‖ ∋ F − G, and G = −Fᵀ at the optimum
    state = JointState(Z, Q, Q + penalty.spread(dual_V / 2.0, len(Q)), V, -dual_V)
    slope = node_slope(problem, Q, dual_V)
    done = finished(problem, settings, Theta, state, slope, n_iter, MATRICES)
    return done._replace(converged=converged and done.converged)
