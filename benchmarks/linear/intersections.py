"""RandomIntersectionTrees beside plain Python trees, and beside frequent itemsets of mlxtend."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_trigger_corpus
from octavo.linear import RandomIntersectionTrees, intersection_tree

N_PLAIN = 3  # trees that plain Python grows


def texts(n=23_000, p=2_500):
    """A table of the size of the paper's: one topic of twenty, about 75 words a text."""
    corpus = make_trigger_corpus(n, p, 20, length=130, random_state=0)
    return {"X": corpus.X, "y": corpus.Y[:, 0]}


def grown(d, n_trees=1000):
    model = RandomIntersectionTrees(n_trees, 5, 4, theta0=0.005, random_state=0)
    return model.fit(d["X"], d["y"])


def plain(d):
    trees = [
        intersection_tree(d["X"], d["y"], branching=5, depth=4, theta0=0.005, random_state=seed)
        for seed in range(N_PLAIN)
    ]
    return trees


def nodes_told(d, answers):
    ours = answers["octavo, 1,000 trees"].n_nodes_ / 1000
    theirs = np.mean([len(tree.sets) for tree in answers["plain Python, 3 trees"]])
    return f"Nodes a tree: {ours:.0f} with hashes, {theirs:.0f} in Python with exact counts."


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
        solvers={"octavo, 1,000 trees": grown, "plain Python, 3 trees": plain},
        agree=nodes_told,
        work={"octavo, 1,000 trees": 1000, "plain Python, 3 trees": N_PLAIN},
        unit="trees",
        repeats=1,
        target="octavo's time holds hashing and exact counts.",
    ),
    Contest(
        name="itemsets",
        problem="4,000 x 120, three planted sets of eight columns: patterns of one class",
        setup=baskets,
        solvers={
            "octavo": intersected,
            "mlxtend fpgrowth, support 0.25": itemsets(0.25),
            "mlxtend fpgrowth, support 0.05": itemsets(0.05),
        },
        agree=all_planted,
        repeats=1,
        target="The lower the support, the more subsets of every set fpgrowth lists.",
    ),
]
