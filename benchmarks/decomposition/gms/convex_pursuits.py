"""Principal component pursuit beside the inexact augmented Lagrangian and cvxpy."""

from __future__ import annotations

import numpy as np

from benchmarks.decomposition.gms.estimator import inexact_alm
from benchmarks.harness import Contest
from octavo.data import OutlierSubspace
from octavo.decomposition import outlier_pursuit, principal_component_pursuit


def corrupted(n, m, rank):
    rng = np.random.default_rng(0)
    true = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))
    wrong = np.where(rng.uniform(size=true.shape) < 0.05, rng.uniform(-20, 20, true.shape), 0.0)
    return OutlierSubspace(true + wrong, np.ones(n, dtype=bool), true)  # basis holds the truth


def near_truth(data, answers):
    split, L = answers["octavo"], answers["inexact ALM"]
    scale = np.linalg.norm(data.basis)
    errors = [np.linalg.norm(part - data.basis) / scale for part in (split.low_rank, L)]
    gap = split.duality_gap / split.objective
    assert gap <= 1e-7
    assert errors[0] <= errors[1]  # at least as near to the truth as the peer
    return (
        f"Relative errors of the low rank {errors[0]:.0e} and {errors[1]:.0e}; octavo's relative "
        f"duality gap is {gap:.0e}."
    )


def cvxpy_value(X):
    import cvxpy as cp

    L = cp.Variable(X.shape)
    alpha = 0.8 * np.sqrt(X.shape[1] / X.shape[0])
    objective = cp.normNuc(L) + alpha * cp.sum(cp.norm(X - L, axis=1))
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver="CLARABEL")
    return problem.value


def same_value(X, answers):
    ours, theirs = answers["octavo"].objective, answers["cvxpy, Clarabel"]
    assert abs(ours - theirs) <= 1e-6 * theirs
    return f"Objectives agree to {abs(ours - theirs) / theirs:.0e}."


CONTESTS = [
    Contest(
        name="sparse errors",
        problem="Rank 5 plus 5 % wrong entries, 400 by 300: a relative duality gap of 1e-7, or "
        "L + S = X to 1e-7",
        setup=lambda: corrupted(400, 300, 5),
        solvers={
            "octavo": lambda data: principal_component_pursuit(data.X, tol=1e-7),
            "inexact ALM": inexact_alm,
        },
        agree=near_truth,
        repeats=9,
        target="The inexact ALM proves nothing of its answer; aim: its time, and no further off.",
        limit="LAPACK: a partial singular value decomposition an iteration",
    ),
    Contest(
        name="cvxpy",
        problem="Outlier pursuit, 30 by 10, relative duality gap of 1e-6",
        setup=lambda: np.random.default_rng(0).standard_normal((30, 10)),
        solvers={"octavo": lambda X: outlier_pursuit(X), "cvxpy, Clarabel": cvxpy_value},
        agree=same_value,
        repeats=3,
        limit="LAPACK: small decompositions, an iteration",
    ),
]
