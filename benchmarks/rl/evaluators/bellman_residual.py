"""BRM(λ) beside the recursion in numpy, and least squares on φ - γφ' in scikit-learn."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import BRM, Transitions

GAMMA, LAM, EPS = 0.95, 0.5, 1e3


def walk(n, p):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(n + 1, p))
    rho = rng.uniform(0.5, 1.5, size=n)
    return Transitions(states[:-1], rng.normal(size=n), states[1:], rho=rho)


def numpy_recursion(batch):
    """Algorithm 4 of Geist and Scherrer, with its 2 by 2 inverse."""
    p = batch.n_features
    C, theta, D, z, y, before = EPS * np.eye(p), np.zeros(p), np.zeros(p), 0.0, 0.0, 0.0
    for x, following, r, rho in zip(batch.X, batch.X_next, batch.r, batch.rho):
        e = GAMMA * LAM * before
        y = 1 + e * e * y
        root = np.sqrt(y)
        delta = x - GAMMA * rho * following
        u, v = root * delta, e / root * D
        U, V = np.column_stack([u + v, v]), np.vstack([u + v, -v])
        W = np.array([root * rho * r + e / root * z, -e / root * z])
        CU = C @ U
        B = CU @ np.linalg.inv(np.eye(2) + V @ CU)
        theta = theta + B @ (W - V @ theta)
        C -= B @ (V @ C)
        D, z, before = e * D + y * delta, e * z + y * rho * r, rho
    return theta


def octavo(solver):
    return lambda batch: (
        BRM(GAMMA, LAM, eps=EPS, off_policy="standard", solver=solver).fit(batch).coef_
    )


def ridge(batch):
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=1 / EPS, fit_intercept=False, solver="cholesky")
    return model.fit(batch.X - GAMMA * batch.X_next, batch.r, sample_weight=batch.rho).coef_


def same(data, answers):
    first = next(iter(answers.values()))
    gap = max(np.abs(other - first).max() for other in answers.values()) / np.abs(first).max()
    assert gap < 1e-7, gap
    return f"Coefficients agree to {gap:.1g}, relatively."


CONTESTS = [
    Contest(
        name="with traces",
        problem="BRM(0.5), 10,000 transitions, 100 features, importance ratios",
        setup=lambda: walk(10_000, 100),
        solvers={
            "octavo batch": octavo("batch"),
            "octavo recursive": octavo("recursive"),
            "numpy recursion": numpy_recursion,
        },
        agree=same,
        repeats=3,
        limit="BLAS: products of 10,000 transitions by 100 features",
        flops=2 * 10_000 * 100**2,
    ),
    Contest(
        name="without traces",
        problem="BRM(0), 100,000 transitions, 100 features, importance ratios",
        setup=lambda: walk(100_000, 100),
        solvers={
            "octavo batch": lambda batch: BRM(GAMMA, eps=EPS).fit(batch).coef_,
            "Ridge on φ - γφ' (scikit-learn)": ridge,
        },
        agree=same,
        repeats=3,
        target="Without traces it is a weighted ridge regression.",
        limit="BLAS: the normal equations",
        flops=2 * 100_000 * 100**2,
    ),
]
