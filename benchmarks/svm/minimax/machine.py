"""MinimaxProbabilityMachine beside scikit-learn's discriminant analysis and a cone program."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.svm import (
    MinimaxProbabilityMachine,
    class_moments,
    iterated_least_squares,
    minimax_hyperplane,
)


def two_classes(n_samples, n_features, apart=0.3):
    rng = np.random.default_rng(0)
    y = rng.random(n_samples) < 0.4
    X = rng.normal(size=(n_samples, n_features))
    X[y] = X[y] * rng.uniform(0.5, 2.0, n_features) + apart
    return X @ (np.eye(n_features) + 0.3 * rng.normal(size=(n_features, n_features))), y


def discriminant(data, solver):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver=solver).fit(*data)


def cone_program(moments):
    import cvxpy as cp

    zero, one = moments
    w = cp.Variable(len(zero.mean))
    spreads = [cp.norm(np.linalg.cholesky(m.cov).T @ w) for m in moments]
    program = cp.Problem(cp.Minimize(sum(spreads)), [w @ (one.mean - zero.mean) == 1])
    program.solve(solver="CLARABEL")
    return 1.0 / program.value


def same_kappa(_, answers):
    ours, *others = answers.values()
    gap = max(abs(other - ours) / ours for other in others)
    assert gap < 1e-6
    return f"The values of κ agree to {gap:.1e}."


CONTESTS = [
    Contest(
        name="fit",
        problem="Fit to 100,000 rows of 100 features (other models at the peers)",
        setup=lambda: two_classes(100_000, 100),
        solvers={
            "octavo": lambda data: MinimaxProbabilityMachine().fit(*data),
            "LinearDiscriminantAnalysis (svd)": lambda data: discriminant(data, "svd"),
            "LinearDiscriminantAnalysis (lsqr)": lambda data: discriminant(data, "lsqr"),
        },
        target="Aim: at most 5 times the faster discriminant analysis.",
        limit="BLAS: two covariances",
        flops=2 * 100_000 * 100**2,
    ),
    Contest(
        name="one program",
        problem="The hyperplane of two classes of 100 features from their moments, κ to 1e-6",
        setup=lambda: class_moments(*two_classes(5_000, 100)),
        solvers={
            "octavo": lambda moments: minimax_hyperplane(*moments).kappas[0],
            "iterated least squares": lambda moments: iterated_least_squares(
                *moments, delta=0.0, tol=1e-9
            ).kappas[0],
            "cvxpy (Clarabel)": cone_program,
        },
        agree=same_kappa,
        target="Iterated least squares need few steps here; separable classes take hundreds.",
        limit="LAPACK: an eigendecomposition of 100 x 100",
        flops=9 * 100**3,
    ),
]
