"""Exact transport of many pairs beside POT, and a fit at the paper's size."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_grouped_histograms
from octavo.engine.transport.network_simplex import new_trees, transport_costs
from octavo.metric import GroundMetricLearner, metric_nearness


def histograms():
    """Return histograms of the paper's size, their pairs and a metric that is no special one."""
    X, y, _ = make_grouped_histograms(60, n_groups=32, group_size=4, random_state=0)
    H = np.random.default_rng(0).random((128, 128))
    M = metric_nearness(1.0 + H + H.T, tol=1e-6)[0]
    return X, np.column_stack(np.triu_indices(60, 1)), M


def ours(problem):
    X, pairs, M = problem
    return transport_costs(M, X, X, pairs, shared=True).costs


def pot(problem):
    import ot

    X, pairs, M = problem
    return np.array([ot.emd2(X[i], X[j], M) for i, j in pairs])


def same_costs(problem, answers):
    gap = max(float(np.abs(answer - answers["octavo"]).max()) for answer in answers.values())
    assert gap <= 1e-9
    return f"costs differ by {gap:.1e}."


def changed():
    """Return the same, with trees that were solved under a metric one percent off."""
    X, pairs, M = histograms()
    noise = np.random.default_rng(1).random(M.shape)
    other = metric_nearness(M * (1.0 + 0.01 * (noise + noise.T)), tol=1e-6)[0]
    trees = new_trees(len(pairs), len(M), True)
    transport_costs(M, X, X, pairs, trees=trees, shared=True)
    return X, pairs, other, trees


def restarted(problem):
    X, pairs, M, trees = problem
    return transport_costs(M, X, X, pairs, trees=trees.copy(), shared=True).costs


def pot_again(problem):
    return pot(problem[:3])


def task():
    X, y, _ = make_grouped_histograms(60, n_groups=32, group_size=4, random_state=0)
    with warnings.catch_warnings():  # kernels compile outside the clock
        warnings.simplefilter("ignore")
        GroundMetricLearner(max_outer=1, max_inner=1, min_inner=1, n_jobs=2).fit(
            X[:8], np.arange(8) % 2
        )
    return X, y


def fit(problem, **options):
    model = GroundMetricLearner(
        init="uniform",
        max_outer=4,
        min_inner=75,
        max_inner=75,
        outer_tol=0.0,
        random_state=0,
        **options,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*problem)


def fell(problem, answers):
    told = []
    for name, model in answers.items():
        assert model.objectives_[-1] < model.objectives_[0]
        told.append(f"{name}: {model.n_iter_} steps, criterion {model.objective_:.3g}")
    return "; ".join(told) + "."


CONTESTS = [
    Contest(
        name="pairs",
        problem="exact transport of the 1,770 pairs of 60 histograms, d = 128, one thread",
        setup=histograms,
        solvers={"octavo": ours, "POT": pot},
        agree=same_costs,
        repeats=2,
        limit="pivots of the network simplex",
    ),
    Contest(
        name="restart",
        problem="the same pairs after the metric has changed by a percent",
        setup=changed,
        solvers={"octavo": restarted, "POT": pot_again},
        agree=same_costs,
        repeats=2,
        limit="pivots of the network simplex",
    ),
    Contest(
        name="fit",
        problem="ground metric of the paper's size: n = 60, d = 128, 300 steps, two threads",
        setup=task,
        solvers={"octavo": lambda problem: fit(problem, n_jobs=2)},
        agree=fell,
        repeats=1,
        warm=False,
        target="under two minutes",
        limit="pivots of the network simplex, from the last basis",
    ),
]
