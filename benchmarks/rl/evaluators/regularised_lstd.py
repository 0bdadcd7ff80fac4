"""Lasso-TD and D-LSTD beside iterated lassos and cvxpy."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Lasso

from benchmarks.harness import Contest
from octavo.rl import dantzig_td, lasso_td, lasso_td_path, make_garnet, td_statistics


def problem(p=100):
    garnet = make_garnet(200, 3, 4, p, random_state=0)
    log = garnet.sample(5000, garnet.random_policy(0), random_state=1)
    X, X_next, r = log.X - 0.5, log.X_next - 0.5, log.r - 0.5
    A, b = td_statistics(X, X_next, r, 0.95)
    return X, X_next, r, A, b, 0.1 * np.abs(b).max()


def by_path(data):
    return lasso_td(data[3], data[4], data[5])


def by_lcp(data):
    return lasso_td(data[3], data[4], data[5], solver="lcp")


def by_iteration(data):
    """Lassos on backed-up rewards until the coefficients settle within 1e-6."""
    X, X_next, r, _, _, alpha = data
    model = Lasso(alpha=alpha, fit_intercept=False, warm_start=True, tol=1e-9, max_iter=10_000)
    theta = np.zeros(X.shape[1])
    for _ in range(1000):
        new = model.fit(X, r + 0.95 * X_next @ theta).coef_.copy()
        if np.abs(new - theta).max() < 1e-6 * (1 - 0.95):
            return new
        theta = new
    return theta


def coefficients_agree(data, answers):
    exact = answers["octavo, homotopy"]
    gap = max(np.abs(answer - exact).max() for answer in answers.values())
    assert gap < 1e-4
    return f"Coefficients differ by {gap:.0e} at most, {np.count_nonzero(exact)} of them not zero."


def by_cvxpy(data):
    import cvxpy

    A, b, alpha = data[3], data[4], data[5]
    theta = cvxpy.Variable(len(b))
    program = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.norm1(theta)), [cvxpy.norm_inf(A @ theta - b) <= alpha]
    )
    program.solve(solver="HIGHS")
    return theta.value


def lengths_agree(data, answers):
    lengths = [np.abs(answer).sum() for answer in answers.values()]
    gap = abs(lengths[0] - lengths[1]) / lengths[1]
    assert gap < 1e-6
    return f"||θ||₁ differs by {gap:.0e}, relatively."


CONTESTS = [
    Contest(
        name="Lasso-TD",
        problem="Lasso-TD at a tenth of α_max, 100 features, 5,000 transitions",
        setup=problem,
        solvers={
            "octavo, homotopy": by_path,
            "octavo, complementarity": by_lcp,
            "scikit-learn Lasso, iterated": by_iteration,
        },
        agree=coefficients_agree,
        repeats=3,
        target="Aim: 10 times the iteration, which ends within 1e-6 of its fixed point.",
        limit="rank-one changes: a breakpoint each",
    ),
    Contest(
        name="path",
        problem="Lasso-TD for every α, 100 features; or for one",
        setup=problem,
        solvers={
            "octavo, all α": lambda data: lasso_td_path(data[3], data[4]),
            "octavo, complementarity, one α": by_lcp,
        },
        repeats=3,
        target="Both octavo's: the whole path beside one point of it.",
        limit="rank-one changes: a breakpoint each",
    ),
    Contest(
        name="D-LSTD",
        problem="D-LSTD at a tenth of α_max, 100 features",
        setup=problem,
        solvers={
            "octavo, scipy HiGHS": lambda data: dantzig_td(data[3], data[4], data[5]),
            "cvxpy, HiGHS": by_cvxpy,
        },
        agree=lengths_agree,
        repeats=3,
        target="Aim: no slower than the same solver behind a modelling language.",
        limit="LP pivots, in HiGHS",
    ),
]
