"""The minimum-volume ellipsoid beside cvxpy."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.decomposition import min_volume_ellipsoid


def gaussian(m, d):
    return np.random.default_rng(0).standard_normal((m, d))


def by_cvxpy(points):
    """cvxpy with Clarabel at its own tolerance, 1e-8; linear in L, its faster form."""
    import cvxpy as cp

    shape = cp.Variable((points.shape[1],) * 2, PSD=True)
    inside = cp.sum(cp.multiply(points @ shape, points), axis=1) <= 1
    cp.Problem(cp.Maximize(cp.log_det(shape)), [inside]).solve(solver=cp.CLARABEL)
    return shape.value


def log_det(matrix):
    return np.linalg.slogdet(matrix)[1]


def same_volume(points, answers):
    ours = answers["octavo"]
    gap = abs(log_det(ours.L) - log_det(answers["cvxpy, Clarabel"]))
    assert gap < 1e-5
    return f"log det L differs by {gap:.0e}; octavo's duality gap is {ours.gap:.0e}."


def same_gap(points, answers):
    gaps = {name: answer.gap for name, answer in answers.items()}
    assert max(gaps.values()) <= 1e-7
    return "Duality gaps: " + ", ".join(f"{name} {gap:.0e}" for name, gap in gaps.items()) + "."


CONTESTS = [
    Contest(
        name="beside cvxpy",
        problem="Ellipsoid around ±2,000 Gaussian points in 10 dimensions",
        setup=lambda: gaussian(2_000, 10),
        solvers={"octavo": min_volume_ellipsoid, "cvxpy, Clarabel": by_cvxpy},
        agree=same_volume,
        repeats=3,
        target="Aim: 50 times cvxpy.",
        limit="BLAS: distances of the points that matter, an iteration",
    ),
    Contest(
        name="large",
        problem="Ellipsoid around ±100,000 Gaussian points in 20 dimensions, gap 1e-7",
        setup=lambda: gaussian(100_000, 20),
        solvers={
            "octavo": min_volume_ellipsoid,
            "octavo, Frank-Wolfe on all points": lambda P: min_volume_ellipsoid(P, method="fw"),
        },
        agree=same_gap,
        target="Aim: a second or two on one core.",
        limit="BLAS: distances of the points that matter, an iteration",
    ),
]
