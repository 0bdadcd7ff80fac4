"""parametric_simplex and solve_lp beside HiGHS."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from benchmarks.harness import Contest
from octavo.linear import parametric_simplex, solve_lp


def program(size):
    """A dense random program, feasible and bounded, with perturbations of both sides."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((size, size))
    b = A @ rng.uniform(size=size) + rng.uniform(size=size)
    c = A.T @ rng.uniform(size=size) - rng.uniform(size=size)
    return A, b, c, rng.uniform(0.1, 1, size), -rng.uniform(0.1, 1, size)


def highs_at(data, lams):
    A, b, c, b_star, c_star = data
    return np.array([-linprog(-(c + t * c_star), A_ub=A, b_ub=b + t * b_star).fun for t in lams])


def same_optima(data, answers):
    _, _, c, _, c_star = data
    path = answers["octavo, all λ"]
    ours = [(c + lam * c_star) @ path.at(lam) for lam in LAMBDAS]
    gap = np.abs((np.array(ours) - answers["HiGHS, 50 λ"]) / np.maximum(1, np.abs(ours))).max()
    assert gap < 1e-8
    return f"Optima differ by a relative {gap:.0e} at most."


def same_optimum(data, answers):
    gap = abs(answers["octavo"].fun / answers["HiGHS"] - 1.0)
    assert gap < 1e-8
    return f"Optima differ by a relative {gap:.0e}."


def single(data):
    A, b, c, *_ = data
    return -linprog(-c, A_ub=A, b_ub=b).fun


LAMBDAS = np.linspace(20.0, 0.0, 50)

CONTESTS = [
    Contest(
        name="path",
        problem="A parametric program with 60 rows and 60 variables: all λ, or 50 of them",
        setup=lambda: program(60),
        solvers={
            "octavo, all λ": lambda data: parametric_simplex(*data),
            "HiGHS, 50 λ": lambda data: highs_at(data, LAMBDAS),
        },
        agree=same_optima,
        target="One run instead of one per λ.",
        limit="LP pivots: a rank-one change of the basis each",
    ),
    Contest(
        name="one program",
        problem="One dense program with 100 rows and 100 variables",
        setup=lambda: program(100),
        solvers={"octavo": lambda data: solve_lp(*data[:3]), "HiGHS": single},
        agree=same_optimum,
        target="For a single program HiGHS is the tool; this is to show by how much.",
        limit="LP pivots: a rank-one change of the basis each",
    ),
]
