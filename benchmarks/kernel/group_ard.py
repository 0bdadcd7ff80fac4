"""Group ARD beside scikit-learn's ARDRegression, and group lasso beside cvxpy and celer."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.kernel import GroupARDRegression, GroupLassoEB, pard_kkt


def problem(n, p, k, n_active, seed=0, noise=2.0):
    """Independent columns; some groups have standard normal coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p * k))
    theta = np.zeros((p, k))
    theta[:n_active] = rng.normal(size=(n_active, k))
    y = X @ theta.ravel() + noise * rng.normal(size=n)
    return X - X.mean(axis=0), y - y.mean(), np.repeat(np.arange(p), k)


def sklearn_ard(data):
    from sklearn.linear_model import ARDRegression

    X, y, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ARDRegression(fit_intercept=False).fit(X, y)


def ours_at(solver):
    def fit(data):
        X, y, groups = data
        return GroupARDRegression(groups, solver=solver, fit_intercept=False, noise="ml").fit(X, y)

    return fit


def evidence(X, y, lam, sigma2):
    """Return log N(y; 0, σ²I + X diag(λ) Xᵀ) through the columns in use."""
    used = lam > 0
    root = X[:, used] * np.sqrt(lam[used])
    B = sigma2 * np.eye(used.sum()) + root.T @ root
    inner = np.linalg.solve(B, root.T @ y)
    n = len(y)
    logdet = (n - used.sum()) * np.log(sigma2) + np.linalg.slogdet(B)[1]
    fit = (y @ y - (root.T @ y) @ inner) / sigma2
    return -0.5 * (logdet + fit + n * np.log(2 * np.pi))


def no_worse(data, answers):
    X, y, _ = data
    theirs = answers["scikit-learn ARDRegression"]
    lam = np.where(theirs.coef_ != 0, 1 / theirs.lambda_, 0.0)
    value = evidence(X, y, lam, 1 / theirs.alpha_)
    ours = answers["octavo, Newton"]
    assert ours.log_marginal_likelihood_ >= value - 1e-6 * abs(value)
    return (
        f"Log evidence {ours.log_marginal_likelihood_:.2f} with {len(ours.active_groups_)} columns "
        f"(violation {ours.kkt_violation_:.1g}) against {value:.2f} with {(lam > 0).sum()}."
    )


def stationary(data, answers):
    X, y, groups = data
    model = answers["octavo"]
    violation = pard_kkt(model.lambda_, X, y, groups, model.sigma2_, 0.0)
    assert violation < 1e-6
    values = {name: answers[name].objective_ for name in answers}
    assert max(values.values()) - min(values.values()) < 1e-6 * abs(model.objective_)
    return f"Violation {violation:.1g}; all three end at the same objective."


def ours_grouped(solver):
    def fit(data):
        X, y, groups = data
        return GroupARDRegression(groups, solver=solver, fit_intercept=False).fit(X, y)

    return fit


GAMMA, SIGMA2 = 2000.0, 4.0


def ours_lasso(data):
    X, y, groups = data
    return GroupLassoEB(groups, GAMMA, SIGMA2, solver="newton", fit_intercept=False).fit(X, y)


def cvxpy_lasso(data):
    import cvxpy

    X, y, groups = data
    theta = cvxpy.Variable(X.shape[1])
    penalty = sum(cvxpy.norm(theta[groups == g]) for g in range(groups.max() + 1))
    loss = cvxpy.sum_squares(y - X @ theta) / (2 * SIGMA2)
    cvxpy.Problem(cvxpy.Minimize(loss + np.sqrt(2 * GAMMA) * penalty)).solve(solver="CLARABEL")
    return theta.value


def celer_lasso(data):
    from celer import GroupLasso

    X, y, groups = data
    columns = [np.flatnonzero(groups == g).tolist() for g in range(groups.max() + 1)]
    alpha = np.sqrt(2 * GAMMA) * SIGMA2 / len(y)
    return GroupLasso(columns, alpha=alpha, tol=1e-10, fit_intercept=False).fit(X, y).coef_


def same_coefficients(data, answers):
    ours = answers["octavo"].coef_
    gaps = {name: np.abs(a - ours).max() for name, a in answers.items() if name != "octavo"}
    assert all(gap < 1e-3 for gap in gaps.values()), gaps
    return ", ".join(f"{name} within {gap:.1g}" for name, gap in gaps.items()) + "."


def available(solvers):
    """Leave out the peers that are not installed."""
    import importlib.util

    needs = {"celer": "celer", "cvxpy": "cvxpy"}
    return {
        name: solver
        for name, solver in solvers.items()
        if name not in needs or importlib.util.find_spec(needs[name])
    }


CONTESTS = [
    Contest(
        name="columns of their own",
        problem="2000 columns, each its own group, 100 of them with effect, 4000 rows; noise "
        "estimated too",
        setup=lambda: problem(4000, 2000, 1, 100),
        solvers={"octavo, Newton": ours_at("newton"), "scikit-learn ARDRegression": sklearn_ard},
        agree=no_worse,
        repeats=1,
        warm=False,
        target="Aim: 5 times ARDRegression at an evidence no worse.",
        limit="BLAS: products with the columns, an iteration",
    ),
    Contest(
        name="groups",
        problem="1000 columns in 100 groups, 5 with effect, 5000 rows, least squares noise",
        setup=lambda: problem(5000, 100, 10, 5),
        solvers={
            "octavo": ours_grouped("lbfgs"),
            "octavo, Newton": ours_grouped("newton"),
            "octavo, fixed point": ours_grouped("fixed_point"),
        },
        agree=stationary,
        repeats=2,
        target="Aim: 5 s.",
        limit="BLAS: products with the columns, an iteration",
    ),
    Contest(
        name="group lasso",
        problem="200 columns in 40 groups, 1000 rows, the same penalty for all",
        setup=lambda: problem(1000, 40, 5, 5),
        solvers=available({"octavo": ours_lasso, "cvxpy": cvxpy_lasso, "celer": celer_lasso}),
        agree=same_coefficients,
        repeats=3,
        target="No aim: over variances the group lasso comes along.",
        limit="BLAS: products with the columns, an iteration",
    ),
]
