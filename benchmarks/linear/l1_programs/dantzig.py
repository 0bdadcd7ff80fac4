"""DantzigSelector beside one HiGHS program per λ."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from sklearn.linear_model import lasso_path

from benchmarks.harness import Contest
from octavo.linear import DantzigSelector

SHARES = np.geomspace(0.9, 0.05, 20)  # of the λ at which all coefficients are zero


def regression(n=100, d=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X[:, :10] @ rng.uniform(1, 3, 10) + rng.standard_normal(n)
    return X - X.mean(axis=0), y - y.mean()


def highest(X, y):
    return np.abs(X.T @ y).max() / len(X)


def octavo_path(data):
    X, y = data
    return DantzigSelector(alpha=SHARES[-1] * highest(X, y), fit_intercept=False).fit(X, y)


def highs(data, shares=SHARES[::5]):
    X, y = data
    S, g = X.T @ X / len(X), X.T @ y / len(X)
    A = np.block([[S, -S], [-S, S]])
    found = []
    for alpha in shares * highest(X, y):
        found.append(
            linprog(np.ones(A.shape[1]), A_ub=A, b_ub=np.concatenate([alpha + g, alpha - g])).fun
        )
    return np.array(found)


def lasso(data):
    X, y = data
    return lasso_path(X, y, alphas=SHARES * highest(X, y), tol=1e-10, max_iter=100_000)


def same_length(data, answers):
    alphas = SHARES[::5] * highest(*data)
    path = answers["octavo, all λ"].path_
    gap = max(
        abs(np.abs(path.at(alpha)).sum() - exact) / exact
        for alpha, exact in zip(alphas, answers["HiGHS, 20 λ"])
    )
    assert gap < 1e-8
    return f"||β||₁ differs from HiGHS by a relative {gap:.0e} at most."


CONTESTS = [
    Contest(
        name="path",
        problem="Dantzig selector, n = 100, d = 200: the whole path to λmax / 20, or 20 λ",
        setup=regression,
        solvers={
            "octavo, all λ": octavo_path,
            "HiGHS, 20 λ": highs,
            "scikit-learn lasso_path, 20 α": lasso,
        },
        agree=same_length,
        work={"octavo, all λ": 20, "HiGHS, 20 λ": 4, "scikit-learn lasso_path, 20 α": 20},
        unit="λ",
        repeats=3,
        target="HiGHS is timed on 4 of the 20. The lasso is another program, to 1e-10.",
        limit="LP pivots: a rank-one change of the basis each",
    ),
]
