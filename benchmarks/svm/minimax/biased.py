"""BiasedMPM and MinimumErrorMPM beside cone programs in a line search."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from benchmarks.svm.minimax.machine import two_classes
from octavo.svm import (
    accuracy_to_kappa,
    biased_hyperplane,
    class_moments,
    minimum_error_hyperplane,
    worst_case_error,
)


def biased_by_cone_program(moments, accuracy):
    import cvxpy as cp

    zero, one = moments
    w = cp.Variable(len(zero.mean))
    roots = [np.linalg.cholesky(m.cov).T for m in moments]
    kappa = float(accuracy_to_kappa(accuracy))
    behind = w @ (one.mean - zero.mean) - kappa * cp.norm(roots[0] @ w) >= 1
    program = cp.Problem(cp.Minimize(cp.norm(roots[1] @ w)), [behind])
    program.solve(solver="CLARABEL")
    return 1.0 / program.value


def error_of(kappas, prior=0.4):
    zero, one = worst_case_error(np.array(kappas))
    return float((1 - prior) * zero + prior * one)


def line_search(moments):
    """Search over the accuracy of class 0, a cone program a step."""
    from scipy.optimize import minimize_scalar

    def error(accuracy):
        one = biased_by_cone_program(moments, accuracy)
        return error_of((accuracy_to_kappa(accuracy), one))

    zero, one = moments
    difference = one.mean - zero.mean
    largest = 1.0 - worst_case_error(np.sqrt(difference @ np.linalg.solve(zero.cov, difference)))
    bounds = 0.0, float(largest) - 1e-3
    return minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": 1e-4}).fun


def same_number(_, answers):
    ours, theirs = answers.values()
    gap = abs(theirs - ours) / ours
    assert gap < 1e-6
    return f"They agree to {gap:.1e}."


CONTESTS = [
    Contest(
        name="biased",
        problem="The best κ for one of two classes of 50 features, 0.4 guaranteed for the other",
        setup=lambda: class_moments(*two_classes(5_000, 50)),
        solvers={
            "octavo": lambda moments: biased_hyperplane(*moments, 0.4).kappas[1],
            "cvxpy (Clarabel)": lambda moments: biased_by_cone_program(moments, 0.4),
        },
        agree=same_number,
        limit="LAPACK: factors of 50 x 50",
    ),
    Contest(
        name="minimum error",
        problem="The least weighted worst-case error of two classes of 50 features, to 1e-6",
        setup=lambda: class_moments(*two_classes(5_000, 50, 0.6)),
        solvers={
            "octavo": lambda moments: error_of(minimum_error_hyperplane(*moments, 0.4).kappas),
            "line search with cvxpy": line_search,
        },
        agree=same_number,
        repeats=3,
        limit="LAPACK: factors of 50 x 50",
    ),
]
