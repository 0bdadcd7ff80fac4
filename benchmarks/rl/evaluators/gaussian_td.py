"""GPTD beside the Kalman recursion that one writes in numpy."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import GPTD, Transitions

GAMMA = 0.95


def walk(n, p):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(n + 1, p))
    return Transitions(states[:-1], rng.normal(size=n), states[1:])


def numpy_recursion(batch):
    """Parametric GPTD of the survey (Algorithm 12), noise and prior variance 1."""
    n_features = batch.n_features
    P, theta = np.eye(n_features), np.zeros(n_features)
    p, d, c, s = np.zeros(n_features), 0.0, 0.0, 1.0
    for i, (x, y, r) in enumerate(zip(batch.X, batch.X_next, batch.r)):
        c = GAMMA / s if i else 0.0
        delta = x - GAMMA * y
        new = c * p + P @ delta
        d = c * d + r - delta @ theta
        s = 1 + GAMMA**2 - GAMMA * c + (new + c * p) @ delta
        theta = theta + new * d / s
        P -= np.outer(new, new) / s
        p = new
    return np.concatenate([theta, P.ravel()])


def octavo(solver):
    def solve(batch):
        model = GPTD(GAMMA, solver=solver).fit(batch)
        return np.concatenate([model.coef_, model.covariance_.ravel()])

    return solve


def same(data, answers):
    first = next(iter(answers.values()))
    gap = max(np.abs(other - first).max() for other in answers.values()) / np.abs(first).max()
    assert gap < 1e-8, gap
    return f"Means and covariances agree to {gap:.1g}, relatively."


CONTESTS = [
    Contest(
        name=f"{p} features",
        problem=f"GPTD, {n:,} transitions, {p} features, mean and covariance",
        setup=lambda n=n, p=p: walk(n, p),
        solvers={
            "octavo batch": octavo("batch"),
            "octavo recursive": octavo("recursive"),
            "numpy recursion": numpy_recursion,
        },
        agree=same,
        repeats=3,
        limit="BLAS: the normal equations",
        flops=2 * n * p**2,
    )
    for n, p in ((20_000, 200), (50_000, 20))
]
