"""The loops behind learning from trajectories: propose a reward, plan for it, compare.

A planner takes coefficients and returns a policy with its feature expectation. The steps are the
maximum margin between feature expectations, which is a nearest point of a polytope (Algorithms 2
and 5), its projection onto a line (Algorithms 3 and 6), and the margin between values, a linear
program (Algorithms 1 and 4).

Reference: Abbeel and Ng (2004); Choi and Kim (2011), sections 3.2 and 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.duals.min_norm_point import min_norm_point
from octavo.engine.linear_programs.lazy_rows import LazyRows


class Plan(NamedTuple):
    """A policy and its feature expectation μ."""

    policy: Any
    mu: np.ndarray


class Learned(NamedTuple):
    """The best coefficients, their policy, and one record per iteration."""

    coef: np.ndarray
    policy: Any
    history: list[dict[str, float]]


def match_features(
    plan: Callable[[np.ndarray], Plan],
    mu_expert: np.ndarray,
    alpha0: np.ndarray,
    *,
    project: bool,
    tol: float,
    max_iter: int,
    step: Callable[[], bool] = lambda: False,
) -> Learned:
    """Return the reward whose policy comes closest to the expert's feature expectation.

    With `project` the nearest point moves along the line to the last μ, clipped to the segment so
    that it stays in the hull; else it is the nearest of the whole hull. It ends where the margin t
    is below `tol`, or where planning repeats a policy, after which nothing would change.
    """
    alpha, t = alpha0, np.inf
    found: list[tuple[float, np.ndarray, Any]] = []
    mus: list[np.ndarray] = []
    history: list[dict[str, float]] = []
    nearest = None
    for k in range(max_iter):
        new = plan(alpha)
        distance = float(np.linalg.norm(mu_expert - new.mu))
        repeated = any(np.abs(new.mu - mu).max() <= 1e-12 * (1 + np.abs(mu).max()) for mu in mus)
        found.append((distance, alpha, new.policy))
        mus.append(new.mu)
        history.append({"iteration": k, "distance": distance, "t": float(t)})
        if step() or t <= tol or distance <= tol or (repeated and not project):
            break
        if not project:
            # max t with α'(μ_E - μ(π)) >= t and ||α|| <= 1 is dual to the nearest point of the hull
            nearest = mu_expert - min_norm_point(mu_expert - np.array(mus)).point
        elif nearest is None:
            nearest = new.mu
        else:
            line = new.mu - nearest
            length = float(line @ line)
            if length == 0.0:
                break
            # Algorithms 3 and 6; print does not clip, and can leave the hull
            share = float(line @ (mu_expert - nearest)) / length
            nearest = nearest + min(1.0, max(0.0, share)) * line
        gap = mu_expert - nearest
        t = float(np.linalg.norm(gap))
        history[-1]["t"] = t
        if not t > 0.0:
            break
        alpha = gap / t  # α with ||α|| = 1
    # of all policies tried, the one nearest to the expert
    best = min(range(len(found)), key=lambda i: found[i][0])
    return Learned(found[best][1], found[best][2], history)


def value_weights(
    differences: np.ndarray, phi: np.ndarray, alpha: float, n_features: int
) -> np.ndarray:
    """Return α̂ that maximises Σ p(d'α̂) − λ ‖α̂'φ‖₁ with |α̂| ≤ 1, p(x) = min(x, 2x).

    `differences` are rows V̂^E(b) − V^π(b) in features, `phi` is (n_features, pairs).
    """
    m, d = len(differences), n_features
    pairs = np.unique(phi, axis=1, return_counts=True) if alpha > 0 else (np.zeros((d, 0)), [])
    columns, counts = pairs[0], np.asarray(pairs[1], dtype=float)
    q = columns.shape[1]
    scale = max(float(np.abs(differences).max()), 1e-300)
    D = differences / scale
    cost = np.concatenate([np.zeros(d), -np.ones(m), alpha / scale * counts])
    lower = np.concatenate([-np.ones(d), np.full(m, -np.inf), np.zeros(q)])
    upper = np.concatenate([np.ones(d), np.full(m + q, np.inf)])
    program = LazyRows(cost, lower, upper)
    zero = np.zeros((m, q))
    program.add_rows(np.hstack([D, -np.eye(m), zero]), 0.0)  # y ≤ x
    # with the row above: y <= p(x), since y is maximised
    program.add_rows(np.hstack([2 * D, -np.eye(m), zero]), 0.0)  # y ≤ 2x
    if q:
        for sign in (1.0, -1.0):
            # bounds on |α'φ|, for each value that φ takes
            rows = np.hstack([sign * columns.T, np.zeros((q, m)), np.eye(q)])
            program.add_rows(rows, 0.0)
    solution = program.solve()
    if solution.status != "optimal":
        raise ValueError(f"The linear program of the values ended as {solution.status!r}.")
    return solution.x[:d]


def match_values(
    plan: Callable[[np.ndarray], tuple[Any, np.ndarray]],
    earned: np.ndarray,
    alpha0: np.ndarray,
    phi: np.ndarray,
    *,
    alpha: float,
    tol: float,
    max_iter: int,
    step: Callable[[], bool] = lambda: False,
) -> Learned:
    """Return the reward by the margin between values at beliefs (Algorithm 4) or starts (1).

    `plan(α̂)` returns a policy and its features from each belief, at the node that is best for α̂;
    `earned` are those of the expert.
    """
    policy, theirs = plan(alpha0)
    rows, history, found = [earned - theirs], [], []
    for k in range(max_iter):
        weights = value_weights(np.concatenate(rows), phi, alpha, len(alpha0))
        if not weights.any():
            weights = alpha0
        policy, theirs = plan(weights)
        # Algorithms 1 and 4 stop on the largest difference of values
        worst = float(np.abs((earned - theirs) @ weights).max())
        size = max(1e-300, float(np.abs(weights).max()))
        found.append((worst / size, weights, policy))
        history.append({"iteration": k, "distance": worst, "t": worst})
        if step() or worst <= tol:
            break
        if any(np.abs(theirs - (earned - old)).max() <= 1e-12 for old in rows):
            break  # the policy is known: the program would not change
        rows.append(earned - theirs)
    best = min(range(len(found)), key=lambda i: found[i][0])
    return Learned(found[best][1], found[best][2], history)
