"""Values and policies of finite decision processes: policy iteration and value iteration.

    V(s) = max_a r(s, a) + γ Σ_t P[a](s, t) V(t)

Transitions are one matrix for each action, dense or sparse; rows may sum to less than one, where
the rest ends the episode or leads to a state whose value stands in r already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

__all__ = ["DecisionValues", "evaluate_choice", "iterate_policies", "iterate_values", "stack_rows"]

_TIE = 1e-12  # relative gain below which an action is not better than the one chosen


class DecisionValues(NamedTuple):
    """Values of shape (n,), actions of shape (n,), Q of shape (n, n_actions), rounds."""

    values: np.ndarray
    actions: np.ndarray
    action_values: np.ndarray
    n_iter: int


def stack_rows(P: Sequence[Any]) -> sp.csr_array:
    """Return the matrices one above the other: row a·n + s is P[a](s, ·)."""
    return sp.vstack([sp.csr_array(p) for p in P], format="csr")


def evaluate_choice(rows: sp.csr_array, r: np.ndarray, gamma: float) -> np.ndarray:
    """Solve V = r + γ P V; `rows` is P, `r` may have several columns."""
    system = (sp.eye_array(rows.shape[0], format="csc") - gamma * rows).tocsc()
    return splu(system, permc_spec="COLAMD").solve(np.ascontiguousarray(r))  # (I - γP) V = r


def iterate_policies(
    stacked: sp.csr_array, r: np.ndarray, gamma: float, *, actions=None, max_iter: int = 1000
) -> DecisionValues:
    """Policy iteration from `actions`, by default the best immediate reward.

    `stacked` is what `stack_rows` returns, `r` has shape (n, n_actions). An action is changed only
    for a gain beyond rounding, so that ties do not go in circles.
    """
    n, n_actions = r.shape
    chosen = r.argmax(axis=1) if actions is None else np.array(actions, dtype=np.int64)
    at = np.arange(n)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        values = evaluate_choice(stacked[chosen * n + at], r[at, chosen], gamma)
        Q = r + gamma * (stacked @ values).reshape(n_actions, n).T
        best = Q.argmax(axis=1)
        size = max(1e-300, float(np.abs(Q).max()))
        # Rounding in V grows as 1/(1 - γ)
        better = Q[at, best] > Q[at, chosen] + _TIE * size / max(1e-6, 1.0 - gamma)
        if not better.any():
            break
        chosen = np.where(better, best, chosen)
    return DecisionValues(values, chosen, Q, n_iter)


def iterate_values(
    stacked: sp.csr_array, r: np.ndarray, gamma: float, *, tol: float = 1e-10, max_iter=100_000
) -> DecisionValues:
    """Value iteration until the error is below `tol`, by ‖V_k − V_{k−1}‖ γ/(1 − γ) ≤ tol."""
    n, n_actions = r.shape
    values = np.zeros(n)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        Q = r + gamma * (stacked @ values).reshape(n_actions, n).T
        new = Q.max(axis=1)
        change, values = float(np.abs(new - values).max()), new
        if change * gamma <= tol * (1.0 - gamma):  # ‖V_k - V*‖ ≤ γ/(1 - γ) ‖V_k - V_k-1‖
            break
    Q = r + gamma * (stacked @ values).reshape(n_actions, n).T
    return DecisionValues(values, Q.argmax(axis=1), Q, n_iter)
