"""RandomIntersectionTrees beside plain Python trees, and beside frequent itemsets of mlxtend."""

from __future__ import annotations

import functools
import random

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_trigger_corpus
from octavo.linear import MinHashPrevalence, RandomIntersectionTrees

N_PLAIN = 20  # trees that plain Python grows
N_HASHES, THETA0 = 200, 0.005


def texts(n=23_000, p=2_500):
    """A table of the size of the paper's: one topic of twenty, about 75 words a text."""
    corpus = make_trigger_corpus(n, p, 20, length=130, random_state=0)
    X, y = corpus.X, corpus.Y[:, 0]
    hashes = MinHashPrevalence(N_HASHES, random_state=0).fit(X[y == 0]).hashes_.tolist()
    return {"X": X, "y": y, "hashes": hashes}


def grown(d, n_trees=1000):
    model = RandomIntersectionTrees(n_trees, 5, 4, theta0=THETA0, random_state=0)
    return model.fit(d["X"], d["y"])


def plain(d):
    """Grow the same trees by sets and lists of Python; the hashes are given."""
    rows = [frozenset(row.tolist()) for row in np.split(d["X"].indices, d["X"].indptr[1:-1])]
    own = [rows[i] for i in np.flatnonzero(d["y"] == 1)]
    hashes, n = d["hashes"], int((d["y"] == 0).sum())
    rng = random.Random(0)

    def admitted(held):
        columns = [hashes[k] for k in held]
        ties = sum(min(places) == max(places) for places in zip(*columns)) / N_HASHES
        if ties == 0.0:
            return True
        mean = sum(min(places) for places in zip(*columns)) / N_HASHES
        return ties * (n + 1) / n * (1 / mean - 1 / (n + 1)) <= THETA0

    def below(held, depth):
        if depth == 4:
            return [held] if held else []
        n_nodes[0] += 1
        if not held or not admitted(held):
            return []
        return [s for _ in range(5) for s in below(held & rng.choice(own), depth + 1)]

    n_nodes = [0]
    leaves = [below(rng.choice(own), 0) for _ in range(N_PLAIN)]
    return leaves


def sets_told(d, answers):
    trees = len(answers[f"plain Python, {N_PLAIN} trees"])
    return f"{answers['octavo, 1,000 trees'].n_nodes_:,} nodes; Python grew {trees} trees."


def baskets(n=4000, p=120, size=8):
    """Rows of the class hold one of three sets of eight columns half of the time."""
    rng = np.random.default_rng(0)
    X = rng.random((n, p)) < 0.15
    y = np.arange(n) % 2
    for first in (0, 10, 20):
        held = np.flatnonzero((y == 1) & (rng.random(n) < 0.3))
        X[np.ix_(held, np.arange(first, first + size))] = True
    wanted = [tuple(range(first, first + size)) for first in (0, 10, 20)]
    return {"X": X, "y": y, "wanted": wanted}


def intersected(d):
    model = RandomIntersectionTrees(200, 2.5, theta0=0.001, prevalence="exact", random_state=0)
    return set(model.fit(d["X"].astype(np.int8), d["y"]).patterns_)


def itemsets(support):
    def mine(d):
        import pandas as pd
        from mlxtend.frequent_patterns import fpgrowth

        own = pd.DataFrame(d["X"][d["y"] == 1])
        found = fpgrowth(own, min_support=support)
        others = d["X"][d["y"] == 0]
        return {
            tuple(sorted(s))
            for s in found["itemsets"]
            if len(s) > 1 and others[:, sorted(s)].all(axis=1).mean() <= 0.001
        }

    return mine


def all_planted(d, answers):
    for name, found in answers.items():
        assert set(d["wanted"]) <= found, name
    told = ", ".join(f"{name} {len(found)}" for name, found in answers.items())
    return f"All planted sets are found; patterns returned: {told}."


CONTESTS = [
    Contest(
        name="trees",
        problem="23,000 x 2,500 sparse rows, trees of depth 4 with five branches",
        setup=texts,
        solvers={"octavo, 1,000 trees": grown, f"plain Python, {N_PLAIN} trees": plain},
        agree=sets_told,
        work={"octavo, 1,000 trees": 1000, f"plain Python, {N_PLAIN} trees": N_PLAIN},
        unit="trees",
        repeats=1,
        target="octavo's time holds hashing and exact counts; Python is given the hashes.",
        limit="intersections of sorted rows: comparisons of indices",
    ),
    *(
        Contest(
            name=f"itemsets-of-{size}",
            problem=f"4,000 x 120, three planted sets of {size} columns: patterns of one class",
            setup=functools.partial(baskets, size=size),
            solvers={
                "octavo": intersected,
                "mlxtend fpgrowth, support 0.25": itemsets(0.25),
                "mlxtend fpgrowth, support 0.1": itemsets(0.1),
            },
            agree=all_planted,
            repeats=1,
            target="Longer sets and lower supports mean more subsets for fpgrowth to list.",
            limit="intersections of sorted rows: comparisons of indices",
        )
        for size in (5, 8, 10)
    ),
]
