"""The exact privacy audit beside the densities written down directly in numpy."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.linear import PrivateLogisticRegression, calibrate_perturbation, log_density_ratio

N, D, POINTS, ALPHA, EPSILON = 200, 10, 500, 0.01, 1.0


def neighbours():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = rng.choice([-1, 1], N)
    other = X.copy()
    other[-1] = -X[-1]
    return (X, y), (other, y), rng.normal(size=(POINTS, D))


def octavo_audit(problem):
    one, other, F = problem
    return log_density_ratio(PrivateLogisticRegression(EPSILON, alpha=ALPHA), one, other, F)


def by_determinants(problem):
    one, other, F = problem
    noise = calibrate_perturbation("objective", n_samples=N, alpha=ALPHA, epsilon=EPSILON)

    def density(X, y, f):
        s = 1 / (1 + np.exp(-y * (X @ f)))
        b = -N * ALPHA * f + X.T @ (y * (1 - s))
        A = N * ALPHA * np.eye(D) + (X * (s * (1 - s))[:, None]).T @ X
        return -np.linalg.norm(b) / noise.noise_scale + np.linalg.slogdet(A)[1]

    return np.array([density(*one, f) - density(*other, f) for f in F])


def same_ratios(_, answers):
    gap = np.abs(np.subtract(*answers.values())).max()
    assert gap < 1e-9
    return f"Log-quotients differ by {gap:.0e}."


CONTESTS = [
    Contest(
        name="density quotients",
        problem="Log-quotient of densities at 500 models, 200 records of 10 features",
        setup=neighbours,
        solvers={"octavo": octavo_audit, "numpy, two determinants a model": by_determinants},
        agree=same_ratios,
        work={"octavo": POINTS, "numpy, two determinants a model": POINTS},
        unit="model",
        target="There is no package to compare with; the second row is the formula as written.",
        limit="BLAS: products of 200 records with their outer products",
    ),
]
