"""HighProbabilityMPM beside scikit-learn's linear classifiers and its own slower solvers."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from benchmarks.svm.minimax.machine import two_classes
from octavo.svm import HighProbabilityMPM, HighProbabilityMPMCV


def discriminant(data):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr").fit(*data)


def logistic(data):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(solver="newton-cholesky").fit(*data)


def shrunk_grid(data):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.model_selection import GridSearchCV

    shares = np.linspace(0.1, 0.9, 9)
    model = LinearDiscriminantAnalysis(solver="lsqr")
    return GridSearchCV(model, {"shrinkage": shares}, cv=5).fit(*data)


def plain_grid(data):
    """Search over the same machines with GridSearchCV, ν relative to that of all rows."""
    from sklearn.model_selection import GridSearchCV

    top = HighProbabilityMPM().fit(*data).nu_max_
    shares = {"uncertainty": [rho * top for rho in HighProbabilityMPMCV().rhos[:-1]]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GridSearchCV(HighProbabilityMPM(on_infeasible="warn"), shares, cv=5).fit(*data)


def same_kappa(_, answers):
    kappas = [model.kappa_ for model in answers.values()]
    gap = (max(kappas) - min(kappas)) / max(kappas)
    assert gap < 1e-6
    return f"The values of κ agree to {gap:.1e}."


CONTESTS = [
    Contest(
        name="fit",
        problem="Fit to 100,000 rows of 100 features (other models at the peers)",
        setup=lambda: two_classes(100_000, 100),
        solvers={
            "octavo": lambda data: HighProbabilityMPM().fit(*data),
            "LinearDiscriminantAnalysis (lsqr)": discriminant,
            "LogisticRegression": logistic,
        },
        repeats=3,
        target="Aim: at most 5 times discriminant analysis, and half a second.",
        limit="BLAS: two covariances",
        flops=2 * 100_000 * 100**2,
    ),
    Contest(
        name="solvers",
        problem="The optimum of (3.15) for 300 rows of 40 features, κ to 1e-6",
        setup=lambda: two_classes(300, 40),
        solvers={
            "octavo": lambda data: HighProbabilityMPM().fit(*data),
            "alternating (the thesis's)": lambda data: HighProbabilityMPM(solver="alternating").fit(
                *data
            ),
            "cvxpy in a bisection": lambda data: HighProbabilityMPM(solver="socp").fit(*data),
        },
        agree=same_kappa,
        limit="LAPACK: factors of 40 x 40, a step",
    ),
    Contest(
        name="cross-validation",
        problem="Five folds by nine strengths of regularisation, 300 rows of 40 features",
        setup=lambda: two_classes(300, 40),
        solvers={
            "octavo HighProbabilityMPMCV": lambda data: HighProbabilityMPMCV().fit(*data),
            "GridSearchCV(HighProbabilityMPM)": plain_grid,
            "GridSearchCV(LinearDiscriminantAnalysis)": shrunk_grid,
        },
        target="Discriminant analysis is another model, tuned by its shrinkage.",
        limit="LAPACK: factors of 40 x 40, a fold and strength",
    ),
]
