"""A Bayes kernel classifier beside scikit-learn's SVC with Platt's scaling and its GP."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.kernel import SparseBayesKernelClassifier


def ringnorm(n: int, seed: int):
    """Breiman's data: N(0, 4I) against N(2/√20, I) in twenty dimensions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 20))
    return np.where(y[:, None] == 0, 2 * X, X + 2 / np.sqrt(20)), y


def problem():
    warnings.simplefilter("ignore")
    SparseBayesKernelClassifier(n_iter=10, burn_in=5, thin=1, k_max=5).fit(*ringnorm(30, 0))
    return *ringnorm(500, 0), *ringnorm(5_000, 1)


def scores(P, y):
    p = np.clip(P[:, 1], 1e-12, 1 - 1e-12)
    loss = -np.mean(np.where(y == 1, np.log(p), np.log1p(-p)))
    bins = np.minimum((p * 10).astype(int), 9)
    gaps = [abs(np.sum(y[bins == b] - p[bins == b])) for b in range(10)]
    return float(loss), float(np.sum(gaps) / len(y)), float(np.mean((p > 0.5) != y))


def ours(model):
    def solve(data):
        X, y, A, b = data
        fitted = SparseBayesKernelClassifier(model=model, k_max=200, random_state=0).fit(X, y)
        return scores(fitted.predict_proba(A), b)

    return solve


def platt(data):
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    X, y, A, b = data
    grid = {"C": np.logspace(-2, 3, 11), "gamma": np.logspace(-3, 0, 7)}
    search = GridSearchCV(SVC(), grid, cv=5).fit(X, y)
    sigmoid = CalibratedClassifierCV(search.best_estimator_, method="sigmoid", cv=5)
    return scores(sigmoid.fit(X, y).predict_proba(A), b)


def laplace(data):
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    X, y, A, b = data
    kernel = ConstantKernel(1.0) * RBF(4.0)
    return scores(GaussianProcessClassifier(kernel, random_state=0).fit(X, y).predict_proba(A), b)


def told(_, answers):
    listed = "; ".join(
        f"{name} {loss:.4f}, {ece:.4f}, {100 * error:.2f} %"
        for name, (loss, ece, error) in answers.items()
    )
    return f"Log-loss, calibration error and error on 5,000 rows: {listed}."


CONTESTS = [
    Contest(
        name="ringnorm",
        problem="ringnorm, 500 x 20 rows, 10,000 sweeps with k_max = 200, 5,000 test rows",
        setup=problem,
        solvers={
            "octavo fbgkm": ours("fbgkm"),
            "octavo bgkm": ours("bgkm"),
            "SVC, grid of 77, Platt": platt,
            "GaussianProcessClassifier": laplace,
        },
        agree=told,
        repeats=1,
        warm=False,
        target="10,000 sweeps in under 60 s on one core",
        limit="updates of a factor by one row or column, a sweep",
    ),
]
