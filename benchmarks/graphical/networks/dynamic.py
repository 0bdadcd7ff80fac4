"""The optimal transition network by three exact searches, and beside pgmpy's hill climbing."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.graphical import DynamicBNLearner, network_score


def sequences():
    rng = np.random.default_rng(0)
    parents = [rng.choice(8, 2, replace=False) for _ in range(8)]
    flip = rng.integers(0, 2, (8, 2, 2))
    drawn = []
    for _ in range(100):
        X = np.empty((30, 8), int)
        X[0] = rng.integers(0, 2, 8)
        for t in range(1, 30):
            for v, (a, b) in enumerate(parents):
                X[t, v] = flip[v, X[t - 1, a], X[t - 1, b]] ^ (rng.random() < 0.2)
        drawn.append(X)
    return drawn


def pairs_of(drawn):
    return np.concatenate([np.hstack([X[:-1], X[1:]]) for X in drawn])


def pgmpy_hill_climbing(drawn):
    """Hill climbing over two slices, arcs into the first one forbidden."""
    import pandas as pd
    from pgmpy.causal_discovery import ExpertKnowledge, HillClimbSearch

    frame = pd.DataFrame(pairs_of(drawn)).rename(columns=str).astype("category")
    before, names = list(frame)[:8], list(frame)
    knowledge = ExpertKnowledge(forbidden_edges=[(a, b) for a in names for b in before if a != b])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = HillClimbSearch(
            scoring_method="bic-d",
            expert_knowledge=knowledge,
            return_type="dag",
            show_progress=False,
        )
        return search.fit(frame).causal_graph_


def not_worse(drawn, answers):
    pairs = pairs_of(drawn)
    theirs = network_score(pairs, [
        tuple(sorted(int(p) for p in answers["pgmpy hill climbing"].predecessors(str(v))))
        for v in range(16)
    ])  # fmt: skip
    ours = network_score(pairs, answers["octavo, optimal"].transition_.parents)
    assert ours >= theirs - 1e-6
    return f"BIC of two slices: octavo {ours:.2f}, pgmpy {theirs:.2f}."


CONTESTS = [
    Contest(
        name="transition",
        problem="BIC, dynamic network of 8 variables, 100 sequences of 30 steps",
        setup=sequences,
        solvers={
            "octavo, optimal": lambda d: DynamicBNLearner().fit(d),
            "octavo, bnb": lambda d: DynamicBNLearner(method="bnb").fit(d),
            "pgmpy hill climbing": pgmpy_hill_climbing,
        },
        agree=not_worse,
        repeats=7,
        target="octavo also learns the first slice and all probabilities.",
        limit="cells of the tables of all sets of 16 variables: 3^16 sums and logs looked up",
    ),
]
