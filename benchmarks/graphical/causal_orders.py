"""SLIM's search for causal orders beside LiNGAM by FastICA, and beside the package lingam."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.decomposition import FastICA

from benchmarks.harness import Contest
from octavo.graphical import (
    SLIM,
    SLIMOrderSearch,
    deterministic_order,
    is_causal_order,
    make_linear_dag,
)

SETS = 5


def sets(d=5, n=500):
    return [make_linear_dag(d, n, random_state=seed) for seed in range(SETS)]


def wide():
    return [make_linear_dag(10, 1000, random_state=0)]


def by_search(problem):
    return [SLIMOrderSearch(random_state=0).fit(data.X).causal_order_ for data in problem]


def by_ica(problem):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in problem:
            ica = FastICA(whiten="unit-variance", max_iter=1000, random_state=0).fit(data.X)
            found.append(deterministic_order(ica.mixing_))
    return found


def by_lingam(problem):
    from lingam import DirectLiNGAM

    return [DirectLiNGAM().fit(data.X).causal_order_ for data in problem]


def whole_workflow(problem):
    return [SLIM(random_state=0, n_jobs=2).fit(data.X).causal_order_ for data in problem]


def right(problem, answers):
    rates = {
        name: np.mean([is_causal_order(o, data.B) for o, data in zip(found, problem, strict=True)])
        for name, found in answers.items()
    }
    return "Right orders: " + ", ".join(f"{k} {100 * v:.0f} %" for k, v in rates.items()) + "."


CONTESTS = [
    Contest(
        name="orders",
        problem=f"Causal orders of {SETS} tables of the paper's suite, 500 rows of 5 columns",
        setup=sets,
        solvers={
            "octavo SLIMOrderSearch, 15,000 sweeps": by_search,
            "scikit-learn FastICA with assignment": by_ica,
            "lingam DirectLiNGAM": by_lingam,
        },
        agree=right,
        repeats=1,
        target="Point estimates are far faster; the search ranks orders and has a model's draws.",
        limit="exponentials and normal draws of the sweeps",
    ),
    Contest(
        name="workflow",
        problem="1,000 rows of 10 columns: factor model, ten DAGs and their held-out densities",
        setup=wide,
        solvers={"octavo SLIM, two processes": whole_workflow},
        agree=right,
        repeats=1,
        target="Under a minute on two cores.",
        limit="exponentials and normal draws of the sweeps, 1,000 rows a sweep",
    ),
]
