"""LSTD beside the recursion that one writes in numpy, and Ridge on complete returns."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import LSTD, Transitions

GAMMA, LAM, EPS = 0.95, 0.5, 1e3


def walk(n, p, ends=None):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(n + 1, p))
    rho = rng.uniform(0.5, 1.5, size=n) if ends is None else None
    terminal = None if ends is None else np.arange(1, n + 1) % ends == 0
    return Transitions(states[:-1], rng.normal(size=n), states[1:], rho=rho, terminal=terminal)


def numpy_recursion(batch):
    """Recursive LSTD-TO(λ) in matrix-vector products."""
    p = batch.n_features
    M, theta, z, before = EPS * np.eye(p), np.zeros(p), np.zeros(p), 0.0
    for x, y, r, rho in zip(batch.X, batch.X_next, batch.r, batch.rho):
        z = GAMMA * LAM * before * z + x
        delta = x - GAMMA * y
        Mz = M @ z
        gain = rho * Mz / (1 + rho * (delta @ Mz))
        theta = theta + gain * (r - delta @ theta)
        M -= np.outer(gain, delta @ M)
        before = rho
    return theta


def octavo(solver):
    return lambda batch: LSTD(GAMMA, LAM, eps=EPS, solver=solver).fit(batch).coef_


def same(data, answers):
    first = next(iter(answers.values()))
    gap = max(np.abs(other - first).max() for other in answers.values()) / np.abs(first).max()
    assert gap < 1e-8, gap
    return f"Coefficients agree to {gap:.1g}, relatively."


def ridge_on_returns(batch):
    from sklearn.linear_model import Ridge

    returns, total = np.empty(len(batch)), 0.0
    for i in range(len(batch) - 1, -1, -1):
        total = batch.r[i] + (0.0 if batch.terminal[i] else GAMMA * total)
        returns[i] = total
    return Ridge(alpha=1 / EPS, fit_intercept=False).fit(batch.X, returns).coef_


CONTESTS = [
    Contest(
        name=f"off-policy, {p} features",
        problem=f"LSTD-TO(0.5), {n:,} transitions, {p} features, importance ratios",
        setup=lambda n=n, p=p: walk(n, p),
        solvers={
            "octavo batch": octavo("batch"),
            "octavo recursive": octavo("recursive"),
            "numpy recursion": numpy_recursion,
        },
        agree=same,
        repeats=3,
        target="Aim: at least ten times the numpy recursion.",
        limit="BLAS: the normal equations",
        flops=2 * n * p**2,
    )
    for n, p in ((20_000, 200), (50_000, 20))
] + [
    Contest(
        name="complete returns",
        problem="LSTD(1) on 2,000 complete episodes of 100 transitions, 50 features",
        setup=lambda: walk(200_000, 50, ends=100),
        solvers={
            "octavo batch": lambda batch: LSTD(GAMMA, 1.0, eps=EPS).fit(batch).coef_,
            "returns and Ridge (scikit-learn)": ridge_on_returns,
        },
        agree=same,
        repeats=3,
        target="With λ = 1 both solve one problem; only LSTD can also take λ < 1.",
        limit="BLAS: the normal equations",
        flops=2 * 200_000 * 50**2,
    )
]
