"""Gibbs distributions beside a general convex solver."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.info import i_projection


def problem(n=2000, k=10):
    rng = np.random.default_rng(0)
    F, prior = rng.normal(size=(n, k)), rng.dirichlet(np.ones(n))
    return prior, F, rng.dirichlet(np.ones(n)) @ F


def large():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(1_000_000, 20))
    return np.ones(len(F)), F, 0.3 * rng.normal(size=20)


def ours(data):
    return i_projection(*data)


def cvxpy(data):
    import cvxpy as cp

    prior, F, b = data
    p = cp.Variable(len(prior))
    goal = cp.Minimize(cp.sum(cp.rel_entr(p, prior)))
    cp.Problem(goal, [cp.sum(p) == 1, F.T @ p == b]).solve(solver=cp.CLARABEL)
    return p.value


def scipy_dual(data):
    """Minimise the dual by L-BFGS, as one writes it by hand."""
    from scipy.optimize import minimize

    prior, F, b = data
    G, logs = F - b, np.log(prior / prior.sum())

    def dual(lam):
        tilt = G @ lam + logs
        top = tilt.max()
        p = np.exp(tilt - top)
        total = p.sum()
        return top + np.log(total), G.T @ (p / total)

    options = {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 1000}
    found = minimize(dual, np.zeros(len(b)), jac=True, method="L-BFGS-B", options=options)
    p = np.exp(G @ found.x + logs)
    return p / p.sum()


def same(data, answers):
    F, b = data[1], data[2]
    off = {name: float(np.abs(p @ F - b).max()) for name, p in answers.items()}
    gap = max(float(np.abs(p - answers["octavo"]).max()) for p in answers.values())
    assert gap <= 1e-6
    return f"probabilities differ by {gap:.1e}; moments are off by {off}."


CONTESTS = [
    Contest(
        name="gibbs",
        problem="least relative entropy on 2,000 points under 10 moments",
        setup=problem,
        solvers={"octavo": ours, "cvxpy, Clarabel": cvxpy, "scipy L-BFGS": scipy_dual},
        agree=same,
        target="at least ten times cvxpy",
        limit="calls of small routines, those of reading, checks and proof among them",
    ),
    Contest(
        name="gibbs-large",
        problem="the same on a million points under 20 moments",
        setup=large,
        solvers={"octavo": ours, "scipy L-BFGS": scipy_dual},
        agree=same,
        repeats=3,
        target="under a second",
        limit="memory: the features are read six times, and some of their rows once more",
    ),
]
