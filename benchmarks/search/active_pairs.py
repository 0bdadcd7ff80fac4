"""Pooled questions beside as many uniform pairs, sorting, and choix on the same pairs."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.search import (
    SRRARanker,
    noisy_preference_oracle,
    pair_error,
    quicksort_rank,
    uniform_rank,
)

N = 300


def tournament():
    truth = np.random.RandomState(0).permutation(N)
    return truth, SRRARanker(p=2, random_state=0).fit(N, oracle_of(truth))


def oracle_of(truth):
    return noisy_preference_oracle(truth, 1.0, random_state=0)


def by_choix(problem):
    """Fit Bradley and Terry's model to the pairs that octavo asked about."""
    import choix

    truth, model = problem
    answers = oracle_of(truth).peek(model.pairs_)
    wins = np.where(answers[:, None] > 0.5, model.pairs_, model.pairs_[:, ::-1])
    return np.argsort(-choix.ilsr_pairwise(N, wins.tolist(), alpha=0.01))


def errors(problem, answers):
    truth, model = problem
    oracle = oracle_of(truth)
    found = [
        f"{name} {pair_error(np.argsort(order), oracle):.4f}" for name, order in answers.items()
    ]
    share = 100.0 * model.n_queries_ / (N * (N - 1) / 2)
    return f"Errors with {share:.0f} % of the pairs: {', '.join(found)}."


CONTESTS = [
    Contest(
        name="a ranking from few answers",
        problem="300 items, errors with probability 1 / (2 distance); each with as many questions, "
        "quicksort with its own",
        setup=tournament,
        solvers={
            "octavo": lambda x: SRRARanker(p=2, random_state=0).fit(N, oracle_of(x[0])).ranking_,
            "choix": by_choix,
            "uniform pairs": lambda x: uniform_rank(
                N, oracle_of(x[0]), x[1].n_queries_, random_state=0
            ),
            "quicksort": lambda x: quicksort_rank(N, oracle_of(x[0]), random_state=0),
        },
        agree=errors,
        limit="coordinate steps of the ranking's program",
    ),
]
