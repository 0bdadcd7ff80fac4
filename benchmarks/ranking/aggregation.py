"""Rank aggregation beside choix, ranx and LightGBM."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_meta_search
from octavo.ranking import (
    CRFRankAggregator,
    MultinomialPreferenceModel,
    PairwisePreferences,
    bradley_terry,
    ndcg_at,
    plackett_luce,
    reciprocal_rank_fusion,
)

N_ITEMS = 1000


def duels(n_games=100_000):
    rng = np.random.default_rng(0)
    skill = rng.normal(size=N_ITEMS)
    first = rng.integers(0, N_ITEMS, n_games)
    second = (first + rng.integers(1, N_ITEMS, n_games)) % N_ITEMS
    wins = rng.random(n_games) < 1 / (1 + np.exp(skill[second] - skill[first]))
    pairs = np.where(wins[:, None], np.stack([first, second], 1), np.stack([second, first], 1))
    return [tuple(pair) for pair in pairs.tolist()]


def short_lists(n_lists=25_000, length=5):
    rng = np.random.default_rng(0)
    skill = rng.normal(size=N_ITEMS)
    items = rng.integers(0, N_ITEMS, (n_lists, 1)) + 101 * np.arange(length)
    items %= N_ITEMS
    order = np.argsort(-(skill[items] + rng.gumbel(size=items.shape)), axis=1)
    return [tuple(row) for row in np.take_along_axis(items, order, axis=1).tolist()]


def choix_duels(pairs):
    import choix

    return choix.ilsr_pairwise(N_ITEMS, pairs)


def choix_lists(lists):
    import choix

    return choix.ilsr_rankings(N_ITEMS, lists)


def same_scores(_, answers):
    ours, theirs = answers.values()
    gap = np.abs(ours - (theirs - theirs.mean())).max()
    assert gap < 1e-6
    return f"Scores differ by {gap:.0e} at most."


def sparse_ratings(n_ratings=1_000_000, n_items=4000, n_users=6000):
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    place = np.unique(rng.integers(0, n_items * n_users, n_ratings))
    values = rng.integers(1, 6, place.size).astype(float)
    return sp.csc_array((values, (place % n_items, place // n_items)), shape=(n_items, n_users))


def mean_ratings(L):
    return np.asarray(L.sum(axis=1)).ravel() / np.diff(L.tocsr().indptr)


def labelled():
    return make_meta_search(400, random_state=0)


def field(bundle):
    ranks, relevance, _ = bundle
    return CRFRankAggregator(random_state=0).fit(ranks[:200], relevance[:200]).predict(ranks[200:])


def lambdarank(bundle):
    import lightgbm

    ranks, relevance, _ = bundle
    model = lightgbm.LGBMRanker(n_estimators=100, verbose=-1)
    groups = [len(R) for R in ranks[:200]]
    model.fit(np.vstack(ranks[:200]), np.concatenate(relevance[:200]), group=groups)
    return [model.predict(R) for R in ranks[200:]]


def accuracies(bundle, answers):
    relevance = bundle[1][200:]
    found = {name: ndcg_at(relevance, scores, 5) for name, scores in answers.items()}
    return "NDCG@5: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()) + "."


def pages(n_queries=300):
    return make_meta_search(n_queries, n_noise=0, n_inverted=0, random_state=0)[0]


def ranx_runs(tables):
    from ranx import Run, fuse

    runs = []
    for engine in range(tables[0].shape[1]):
        scores = {}
        for q, R in enumerate(tables):
            seen = np.flatnonzero(~np.isnan(R[:, engine]))
            scores[f"q{q}"] = {f"d{i}": 1.0 / R[i, engine] for i in seen} or {"d0": 0.0}
        runs.append(Run(scores))
    return fuse(runs, method="rrf")


ALL_CONTESTS = [
    Contest(
        name="Bradley-Terry",
        problem="Bradley-Terry scores of 1,000 items from 100,000 comparisons, to 1e-6",
        setup=duels,
        solvers={
            "octavo": lambda pairs: bradley_terry(PairwisePreferences.from_pairs(pairs, N_ITEMS)),
            "choix": choix_duels,
        },
        agree=same_scores,
        repeats=3,
        target="Aim: 10 times choix.",
        limit="memory: a pass over the comparisons a step",
    ),
    Contest(
        name="Plackett-Luce",
        problem="Plackett-Luce scores of 1,000 items from 25,000 lists of five, to 1e-6",
        setup=short_lists,
        solvers={
            "octavo": lambda lists: plackett_luce(PairwisePreferences.from_lists(lists, N_ITEMS)),
            "choix": choix_lists,
        },
        agree=same_scores,
        repeats=3,
        target="Aim: 10 times choix.",
        limit="exponentials: one an entry of a list and step",
    ),
    Contest(
        name="a million ratings",
        problem="Multinomial preference model of 1,000,000 ratings of 4,000 items by 6,000 users",
        setup=sparse_ratings,
        solvers={
            "octavo": lambda L: (
                MultinomialPreferenceModel().fit(PairwisePreferences.from_ratings(L)).scores_
            ),
            "mean rating": mean_ratings,
        },
        repeats=3,
        target="Aim: a second. A mean rating is what a user would take instead.",
        limit="exponentials: one a rating and step",
    ),
    Contest(
        name="learned fusion",
        problem="Fusion of 25 engines learned from 200 queries, 200 more ranked",
        setup=labelled,
        solvers={"octavo CRFRankAggregator": field, "lightgbm lambdarank": lambdarank},
        agree=accuracies,
        repeats=3,
        target="Aim: an NDCG@5 not below LightGBM's.",
        limit="exponentials: one a pair of documents and step",
    ),
    Contest(
        name="reciprocal ranks",
        problem="Reciprocal rank fusion of 12 engines, 300 queries",
        setup=pages,
        solvers={
            "octavo": lambda tables: [reciprocal_rank_fusion(R) for R in tables],
            "ranx": ranx_runs,
        },
        repeats=3,
        target="Aim: within twice ranx.",
        limit="sorting the fused scores",
    ),
]
# LightGBM and ranx are heavy; without them the others still run.
NEEDS = {"learned fusion": "lightgbm", "reciprocal ranks": "ranx"}
CONTESTS = [c for c in ALL_CONTESTS if c.name not in NEEDS or find_spec(NEEDS[c.name])]
