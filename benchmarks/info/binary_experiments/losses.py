"""Risk curves beside scikit-learn's ROC curve and a hull by hand."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.info import risk_curve

COSTS = np.linspace(0, 1, 1001)


def scores():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1_000_000)
    return y, rng.normal(size=y.size) + y


def ours(problem):
    return risk_curve(*problem, 0.5)(COSTS)


def by_roc_curve(problem):
    """Every point of the ROC curve as a line, the least of them at each cost."""
    from scipy.spatial import ConvexHull
    from sklearn.metrics import roc_curve

    fpr, tpr, _ = roc_curve(*problem)
    hull = ConvexHull(np.column_stack([fpr, tpr])).vertices
    lines = np.outer(COSTS, fpr[hull]) + np.outer(1 - COSTS, 1 - tpr[hull])
    return 0.5 * lines.min(axis=1)


def same(problem, answers):
    first, second = answers.values()
    gap = float(np.abs(first - second).max())
    assert gap < 1e-9
    return f"They differ by at most {gap:.0e}."


CONTESTS = [
    Contest(
        name="risk curve",
        problem="Least risk at 1,001 costs from 1,000,000 scores",
        setup=scores,
        solvers={"octavo risk_curve": ours, "scikit-learn roc_curve, scipy hull": by_roc_curve},
        agree=same,
        repeats=3,
        limit="sorting a million scores",
    ),
]
