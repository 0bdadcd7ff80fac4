"""Bounds beside a linear program, divergences beside scipy's."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.info import f_divergence, generalized_pinsker

PIS = np.array([0.2, 0.35, 0.5, 0.6, 0.8])
N_GRID = 2000


def tables():
    return np.random.default_rng(0).dirichlet(np.ones(100_000), size=2)


def by_scipy(pair):
    from scipy.special import rel_entr

    return float(rel_entr(*pair).sum())


def same_value(pair, answers):
    first, second = answers.values()
    assert abs(first / second - 1) < 1e-10
    return f"They differ by {abs(first / second - 1):.0e}, relative."


def risks():
    p, q = np.random.default_rng(1).dirichlet(np.full(6, 2.0), size=2)
    return np.minimum(np.outer(PIS, p), np.outer(1 - PIS, q)).sum(axis=1)


def by_program(values):
    """The least KL over concave curves on a grid, by HiGHS."""
    import scipy.sparse as sp
    from scipy.optimize import linprog

    grid = np.linspace(0, 1, N_GRID + 1)[1:-1]  # the priors are grid points
    mass = 1 / (N_GRID * grid**2 * (1 - grid))
    bends = sp.diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(grid.size - 2, grid.size))
    tent = np.minimum(grid, 1 - grid)
    low, high = np.zeros(grid.size), tent.copy()
    for pi, value in zip(PIS, values, strict=True):
        at = int(np.argmin(np.abs(grid - pi)))
        low[at] = high[at] = value
    found = linprog(
        -mass,
        A_ub=bends,
        b_ub=np.full(grid.size - 2, 1e-12),
        bounds=np.column_stack([low, high]),
        method="highs",
    )
    return float(mass @ tent + found.fun)


def same_bound(values, answers):
    first, second = answers.values()
    assert abs(first / second - 1) < 1e-2
    return f"They differ by {abs(first / second - 1):.0e}, relative, by the grid of the program."


CONTESTS = [
    Contest(
        name="kl",
        problem="KL of two distributions on 100,000 outcomes",
        setup=tables,
        solvers={"octavo f_divergence": lambda pair: f_divergence(*pair, "kl"), "scipy": by_scipy},
        agree=same_value,
        repeats=5,
        limit="logarithms: one an outcome",
    ),
    Contest(
        name="bound",
        problem="Least KL given the risk at 5 priors",
        setup=risks,
        solvers={
            "octavo generalized_pinsker": lambda v: generalized_pinsker("kl", PIS, v),
            "scipy linprog": by_program,
        },
        agree=same_bound,
        repeats=3,
        no_limit="a closed form of five numbers: calls of Python",
    ),
]
