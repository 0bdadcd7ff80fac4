"""SFA beside sklearn-sfa and MDP, linear and of degree two."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.decomposition.slowness._mdp import with_mdp
from benchmarks.harness import Contest
from octavo.data import make_colored_noise
from octavo.decomposition import SFA


def series(T, d):
    rng = np.random.default_rng(0)
    S = make_colored_noise(T, np.geomspace(T / 200, T / 10, d), random_state=0)
    return S @ rng.normal(size=(d, d))


def ours(X, expansion=None):
    return SFA(expansion=expansion).fit(X).delta_values_


def sksfa(X):
    from sksfa import SFA as Peer

    return Peer(n_components=X.shape[1]).fit(X).delta_values_


def same_deltas(X, answers):
    found = answers["octavo"][:5]
    gaps = {
        name: float(np.abs(np.sort(np.ravel(other))[:5] / found - 1).max())
        for name, other in answers.items()
        if name != "octavo"
    }
    assert all(gap < 1e-3 for gap in gaps.values()), gaps
    told = ", ".join(f"{name} {gap:.0e}" for name, gap in gaps.items())
    return f"The five slowest Δ-values differ by at most: {told or 'no peer here'}."


def peers(task, also):
    return {"MDP": partial(with_mdp, task)} | also


CONTESTS = [
    Contest(
        name="linear",
        problem="linear, 500,000 times, 20 features, all outputs",
        setup=lambda: series(500_000, 20),
        solvers={"octavo": ours, **peers("linear", {"sklearn-sfa": sksfa})},
        agree=same_deltas,
        repeats=3,
        limit="BLAS: two covariances of 20 features",
        traffic=500_000 * 20 * 8,
        flops=2 * 2 * 500_000 * 20**2,
    ),
    Contest(
        name="linear, narrow",
        problem="linear, 100,000 times, 6 features, all outputs",
        setup=lambda: series(100_000, 6),
        solvers={"octavo": ours, **peers("linear", {})},
        agree=same_deltas,
        repeats=15,
        target="not slower than MDP",
        limit="passes over 5 MB: checks of the values, their range, two covariances",
        traffic=100_000 * 6 * 8,
    ),
    Contest(
        name="quadratic",
        problem="degree 2 of 10 features (65 functions), 100,000 times, all outputs",
        setup=lambda: series(100_000, 10),
        solvers={"octavo": partial(ours, expansion="poly2"), **peers("poly2", {})},
        agree=same_deltas,
        repeats=3,
        limit="BLAS: two covariances of 65 functions",
        flops=2 * 2 * 100_000 * 65**2,
    ),
]
