"""Optimal networks and hill climbing beside pgmpy on alarm; exact searches beside each other."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np

from benchmarks.harness import Contest
from octavo.graphical import (
    BayesianNetworkModel,
    BayesianNetworkStructureLearner,
    ParentSetCache,
    make_bayesian_network,
    network_score,
    solve_parent_sets,
)


def alarm():
    """10,000 rows of the alarm network, whose BIF file travels with pgmpy."""
    import pandas as pd
    import pgmpy

    path = Path(pgmpy.__file__).parent / "utils" / "example_models" / "alarm.bif.gz"
    model = BayesianNetworkModel.from_bif(gzip.decompress(path.read_bytes()).decode())
    frame = pd.DataFrame(model.sample(10_000, random_state=0), columns=model.names)
    return frame.astype("category")


def pgmpy_hill_climbing(frame):
    from pgmpy.causal_discovery import HillClimbSearch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = HillClimbSearch(
            scoring_method="bic-d", max_indegree=3, return_type="dag", show_progress=False
        )
        return search.fit(frame).causal_graph_


def ours(method):
    return lambda frame: BayesianNetworkStructureLearner(
        method=method, max_parents=3, random_state=0
    ).fit(frame)


def scores(frame, answers):
    theirs = network_score(frame, answers["pgmpy hill climbing"])
    found = {name: a.score_ for name, a in answers.items() if name != "pgmpy hill climbing"}
    for name, value in found.items():
        assert value >= theirs, name
        assert abs(value - network_score(frame, answers[name].dag_)) < 1e-6 * abs(value)
    listed = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
    return f"BIC: {listed}, pgmpy {theirs:.1f}."


def sparse_cache():
    X = make_bayesian_network(16, 24, random_state=0).sample(500, random_state=0)
    return ParentSetCache.build(X[:, [len(np.unique(c)) > 1 for c in X.T]])


def same_optimum(cache, answers):
    values = [answer.score for answer in answers.values()]
    assert np.ptp(values) < 1e-9 * abs(values[0])
    assert all(answer.optimal for answer in answers.values())
    return f"All prove the score {values[0]:.4f}."


CONTESTS = [
    Contest(
        name="alarm, optimal",
        problem="BIC, alarm, 37 variables, 10,000 rows, three parents: optimal against greedy",
        setup=alarm,
        solvers={"octavo, optimal": ours("auto"), "pgmpy hill climbing": pgmpy_hill_climbing},
        agree=scores,
        repeats=3,
        target="Aim: no more time for the proven optimum than pgmpy takes for a local one.",
        limit="counts of families: a pass over the rows for each set of parents",
    ),
    Contest(
        name="alarm, hill climbing",
        problem="BIC, alarm, 37 variables, 10,000 rows, three parents: hill climbing",
        setup=alarm,
        solvers={"octavo hc": ours("hc"), "pgmpy hill climbing": pgmpy_hill_climbing},
        agree=scores,
        repeats=3,
        target="Aim: 20 times pgmpy.",
        limit="counts of families: a pass over the rows for each set of parents",
    ),
    Contest(
        name="exact searches",
        problem="BIC, random network of 16 nodes, 500 rows: the search to the proven optimum",
        setup=sparse_cache,
        solvers={
            method: lambda cache, method=method: solve_parent_sets(cache, method, random_state=0)
            for method in ("dp", "bnb", "ilp")
        },
        agree=same_optimum,
        repeats=3,
        limit="subsets: 2^16 states of the dynamic program",
    ),
]
