"""Stopped gradient descent beside a grid search over penalties of kernel ridge regression."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.kernel import KernelGDRegressor, StoppedKernelRidge


def diabetes():
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import scale

    X, y = load_diabetes(return_X_y=True)
    parts = train_test_split(scale(X), y, test_size=0.2, random_state=0)
    KernelGDRegressor().fit(parts[0][:20], parts[2][:20])
    return parts


def smooth_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=4000)
    return X[:2000], X[2000:], y[:2000], y[2000:]


def many_rows():
    rng = np.random.default_rng(0)
    X = rng.random((6000, 5))
    y = np.sin(4 * X[:, 0]) + np.abs(X[:, 1:] - 0.5).sum(axis=1) + 0.5 * rng.normal(size=6000)
    return X[:5000], X[5000:], y[:5000], y[5000:]


def every_rule(solver):
    def solve(parts):
        with warnings.catch_warnings(action="ignore"):
            first = KernelGDRegressor(constant=1.0, solver=solver, random_state=0)
            first.fit(parts[0], parts[2])
            others = [first.stopped_by(rule) for rule in ("sure", "holdout", "cv")]
            return min(error(model, parts) for model in (first, *others))

    return solve


def error(model, parts):
    return float(((model.predict(parts[1]) - parts[3]) ** 2).mean())


def ours(make, **options):
    def solve(parts):
        with warnings.catch_warnings(action="ignore"):
            return error(make(**options).fit(parts[0], parts[2]), parts)

    return solve


class Centred:
    """KernelRidge has no intercept: the mean of y is taken off for it."""

    def __init__(self, model, mean):
        self.model, self.mean = model, mean

    def predict(self, X):
        return self.model.predict(X) + self.mean


def grid_search(parts, alphas=20):
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": np.logspace(-3, 3, alphas)}, cv=5)
    mean = parts[2].mean()
    return error(Centred(search.fit(parts[0], parts[2] - mean), mean), parts)


def errors_told(_, answers):
    peer = next(value for name, value in answers.items() if name.startswith("GridSearchCV"))
    best = min(value for name, value in answers.items() if name.startswith("octavo"))
    assert best <= 1.02 * peer
    return "Test errors: " + ", ".join(f"{name} {value:.4g}" for name, value in answers.items())


SOLVERS = {
    "octavo rule, constant 1": ours(KernelGDRegressor, constant=1.0),
    "octavo SURE": ours(KernelGDRegressor, stopping="sure"),
    "octavo stopped ridge": ours(StoppedKernelRidge, constant=1.0),
    "GridSearchCV(KernelRidge), 5 x 20": grid_search,
}
LARGE = {
    "octavo rule, constant 1, lanczos": ours(KernelGDRegressor, constant=1.0, solver="lanczos"),
    **SOLVERS,
}
RULES = {
    "octavo, all four rules": every_rule("auto"),
    "octavo, all four rules, eigh": every_rule("eigh"),
    "GridSearchCV(KernelRidge), 5 x 4": lambda parts: grid_search(parts, 4),
}

CONTESTS = [
    Contest(
        name="diabetes",
        problem="diabetes, 353 x 10 rows, one kernel: when to stop or how much to penalise",
        setup=diabetes,
        solvers=SOLVERS,
        agree=errors_told,
        work=dict.fromkeys(SOLVERS, 1),
        unit="fit",
        repeats=3,
        target="Aim: twenty times as fast as the search, at no worse test error.",
        limit="LAPACK: one eigendecomposition of 353 x 353",
        flops=9 * 353**3,
    ),
    Contest(
        name="rows",
        problem="2,000 x 5 rows, smooth function with noise",
        setup=smooth_rows,
        solvers=LARGE,
        agree=errors_told,
        work=dict.fromkeys(LARGE, 1),
        unit="fit",
        repeats=1,
        warm=False,
        target="Aim: twenty times as fast as the search.",
        limit="memory bandwidth: a product of the kernel with a vector a Lanczos step",
    ),
    Contest(
        name="rules",
        problem="5,000 x 5 rows: the times of all four rules, or four penalties in five folds",
        setup=many_rows,
        solvers=RULES,
        agree=errors_told,
        work=dict.fromkeys(RULES, 1),
        unit="problem",
        repeats=1,
        warm=False,
        target="Aim: all rules in 10 s on two cores.",
        limit="memory bandwidth: a product of the kernel with a vector a Lanczos step",
    ),
]
