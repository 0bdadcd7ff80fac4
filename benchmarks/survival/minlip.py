"""MinlipSurvival beside scikit-survival, on the same problem to the same objective."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.engine.survival.targets import survival_record
from octavo.survival import MinlipSurvival

C = 0.1


def patients(n=5_000, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    time = np.exp(X[:, 0] - 0.5 * X[:, 1] + 0.5 * rng.normal(size=n))
    limit = rng.exponential(3.0, n)
    y = survival_record(time <= limit, np.minimum(time, limit))
    return X, y


def ours(log, **options):
    X, y = log
    return MinlipSurvival(C=C, time_scale=None, **options).fit(X, y).predict(X)


def theirs(log):
    from sksurv.svm import MinlipSurvivalAnalysis

    X, y = log
    return MinlipSurvivalAnalysis(alpha=C, solver="ecos").fit(X, y).predict(X)


def objective(log, risk):
    """Eq. (16) at the utilities: ½‖w‖² by least squares, errors by L1 isotonic regression."""
    from octavo.engine.projections.isotonic import isotonic_forest
    from octavo.engine.smooth.isotonic_newton import ChainWithLeaves

    X, y = log
    w = np.linalg.lstsq(X - X.mean(axis=0), -(risk - risk.mean()), rcond=None)[0]
    times = np.unique(y["time"][y["event"]])
    level = np.where(y["event"], np.searchsorted(times, y["time"]), -1)
    above = np.searchsorted(times, y["time"], side="left") - 1
    chain = ChainWithLeaves(level, np.where(level < 0, above, -1))
    x = -risk - y["time"]
    free = (level < 0) & (above < 0)
    e = isotonic_forest(x, chain.parents(x), loss="l1").values - x
    return 0.5 * w @ w + C * np.abs(e[~free]).sum()


def same_objective(log, answers):
    values = {name: objective(log, risk) for name, risk in answers.items()}
    best = min(values.values())
    assert values["octavo"] <= best * (1 + 1e-6)
    return "Objectives: " + ", ".join(f"{name} {value:.6f}" for name, value in values.items()) + "."


CONTESTS = [
    Contest(
        name="linear, a thousand patients",
        problem="1,000 patients, 20 features, linear kernel, nearest pairs, absolute errors",
        setup=lambda: patients(1_000),
        solvers={"octavo": ours, "scikit-survival": theirs},
        agree=same_objective,
        unit="fit",
        target="Aim: 20 times scikit-survival at an equal objective.",
        limit="steps of an interior point or active set: a band's factor each",
    ),
    Contest(
        name="linear, five thousand patients",
        problem="5,000 patients, 20 features, linear kernel, nearest pairs, absolute errors",
        setup=lambda: patients(5_000),
        solvers={"octavo": ours, "scikit-survival": theirs},
        agree=same_objective,
        unit="fit",
        target="Aim: 20 times scikit-survival at an equal objective.",
        limit="steps of an interior point or active set: a band's factor each",
    ),
    Contest(
        name="a million patients",
        problem="1,000,000 patients, 20 features, squared errors, with survival curves",
        setup=lambda: patients(1_000_000),
        solvers={"octavo": lambda log: ours(log, loss="l2")},
        unit="fit",
        target="Aim: within two minutes on two cores; scikit-survival needs an n x n matrix.",
        limit="sorting, and BLAS: the normal equations of 20 features",
    ),
]
