"""CLIME beside one HiGHS program per λ, ADMM, the dense dictionary and the graphical lasso."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import linprog
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import Contest
from octavo.graphical import clime_path, make_sparse_precision
from octavo.linear import parametric_simplex

LAMBDAS = np.geomspace(0.9, 0.1, 50)


def sample(d):
    """n = 200 and a random graph of mean degree 3, as in Table 1 of the paper."""
    return make_sparse_precision(d, 200, random_state=0).X


def highs_column(X, i=0):
    """The R package clime: one program per λ."""
    S = np.corrcoef(X.T)
    d = len(S)
    e = np.eye(d)[i]
    A = np.block([[S, -S], [-S, S]])
    return np.array(
        [
            linprog(np.ones(2 * d), A_ub=A, b_ub=np.concatenate([alpha + e, alpha - e])).fun
            for alpha in LAMBDAS
        ]
    )


def admm(X, tol=1e-5, rho=50.0, max_iter=3_000):
    """The R package flare (Li et al. 2012): linearised ADMM on all columns, warm from λ to λ.

    min ||B||₁ subject to R = I − SB, ||R||max ≤ λ. It stops when neither B changes nor the
    constraint R = I − SB is violated by more than `tol`; `rho` is the best of several.
    """
    S = np.corrcoef(X.T)
    identity, step = np.eye(len(S)), 1.0 / np.linalg.eigvalsh(S)[-1] ** 2
    B, SB, U = np.zeros_like(S), np.zeros_like(S), np.zeros_like(S)
    found = []
    for alpha in LAMBDAS:
        for _ in range(max_iter):
            R = np.clip(identity - SB - U, -alpha, alpha)
            moved = B - step * (S @ (SB + R + U - identity))
            new = np.sign(moved) * np.maximum(np.abs(moved) - step / rho, 0.0)
            change = np.abs(new - B).max()
            B, SB = new, S @ new
            residual = SB + R - identity
            U += residual
            if change < tol and np.abs(residual).max() < tol:
                break
        found.append(np.abs(B).sum(axis=0))
    return np.array(found)


def same_as_highs(X, answers):
    lengths = np.array(
        [np.abs(answers["octavo, all λ"].columns[0].at(alpha)).sum() for alpha in LAMBDAS]
    )
    gap = np.abs(lengths - answers["HiGHS, 50 λ"]).max()
    assert gap < 1e-8
    return f"||β||₁ differs from HiGHS by {gap:.0e} at most over the 50 λ."


def near_admm(X, answers):
    path = answers["octavo, all λ"]
    ours = np.array([np.abs(path.beta(alpha)).sum(axis=0) for alpha in LAMBDAS])
    gap = np.abs(ours - answers["ADMM, 50 λ"]).max()
    exact = np.abs(path.duality_gap(0.1)).max()
    assert gap < 0.01
    return (
        f"||β||₁ of ADMM is off by up to {gap:.0e} when it stops, octavo's by the duality gap of "
        f"{exact:.0e}."
    )


def dictionary_columns(X, columns=(0, 1)):
    """The parametric simplex method on the full dictionary, as the paper's equation (3) has it."""
    S = np.corrcoef(X.T)
    d = len(S)
    A = np.block([[S, -S], [-S, S]])
    paths = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for i in columns:
            e = np.eye(d)[i]
            b, c = np.concatenate([e, -e]), -np.ones(2 * d)
            paths.append(parametric_simplex(A, b, c, np.ones(2 * d), np.zeros(2 * d), 0.1, 49))
    return paths


def same_breakpoints(X, answers):
    ours, theirs = answers["octavo"], answers["dictionary"]
    gap = max(np.abs(ours.alphas_per_column[i][:49] - theirs[i].alphas[:49]).max() for i in (0, 1))
    assert gap < 1e-9
    return f"Breakpoints differ by {gap:.0e} at most."


def glasso(X):
    S = np.corrcoef(X.T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [graphical_lasso(S, alpha)[1] for alpha in np.geomspace(0.5, 0.1, 10)]


CONTESTS = [
    Contest(
        name="one program per λ",
        problem="CLIME, d = 100, n = 200: the whole path to λ = 0.1, or 50 λ by HiGHS",
        setup=lambda: sample(100),
        solvers={
            "octavo, all λ": lambda X: clime_path(X, 0.1, None),
            "HiGHS, 50 λ": highs_column,
        },
        agree=same_as_highs,
        work={"octavo, all λ": 100, "HiGHS, 50 λ": 1},
        unit="column",
        repeats=3,
        target="Aim: 100 times HiGHS, which is timed on one column.",
        limit="LP pivots: a rank-one change of the basis each",
    ),
    Contest(
        name="ADMM",
        problem="CLIME, d = 100, n = 200: the whole path to λ = 0.1, or 50 λ by ADMM to 1e-5",
        setup=lambda: sample(100),
        solvers={"octavo, all λ": lambda X: clime_path(X, 0.1, None), "ADMM, 50 λ": admm},
        agree=near_admm,
        repeats=2,
        target="ADMM as in the R package flare; the paper has 1.886 s against 0.928 s.",
        limit="LP pivots: a rank-one change of the basis each",
    ),
    Contest(
        name="dictionary",
        problem="CLIME, d = 400, n = 200: 50 breakpoints a column, exact",
        setup=lambda: sample(400),
        solvers={"octavo": lambda X: clime_path(X, 0.1, 50), "dictionary": dictionary_columns},
        agree=same_breakpoints,
        work={"octavo": 400, "dictionary": 2},
        unit="column",
        repeats=3,
        target="Both are octavo's: what the structure saves. The paper's 53 s are 133 ms a column.",
        limit="LP pivots: a rank-one change of the basis each",
    ),
    Contest(
        name="graphical lasso",
        problem="Sparse precision, d = 200, n = 200: the CLIME path to 0.1, or 10 graphical lassos",
        setup=lambda: sample(200),
        solvers={
            "octavo, all λ": lambda X: clime_path(X, 0.1, None),
            "scikit-learn graphical_lasso, 10 α": glasso,
        },
        repeats=3,
        target="Another estimator: what a user would otherwise pick. Aim: at most its time.",
        limit="LP pivots: a rank-one change of the basis each",
    ),
    Contest(
        name="Table 1",
        problem="CLIME, d = 800, n = 200: 50 breakpoints a column on one thread and on two",
        setup=lambda: sample(800),
        solvers={
            "octavo": lambda X: clime_path(X, 0.1, 50),
            "octavo, n_jobs=2": lambda X: clime_path(X, 0.1, 50, n_jobs=2),
        },
        repeats=3,
        target="The paper has 386.9 s.",
        limit="LP pivots: a rank-one change of the basis each",
    ),
]
