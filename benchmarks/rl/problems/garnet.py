"""Garnet problems: drawing them, walking through them, and tuning on them."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import LSTD, garnet_evaluators, garnet_study, make_garnet


def loop_garnet(_):
    """The definition, pair by pair."""
    rng = np.random.default_rng(0)
    P = np.zeros((4, 100, 100))
    for a in range(4):
        for s in range(100):
            successors = rng.choice(100, 3, replace=False)
            cuts = np.sort(rng.uniform(size=2))
            P[a, s, successors] = np.diff(cuts, prepend=0, append=1)
    return P


def definition_holds(_, answers):
    for answer in (answers["octavo"].P, answers["loops"]):
        assert ((answer > 0).sum(axis=2) == 3).all()
        assert np.abs(answer.sum(axis=2) - 1).max() < 1e-12
    return "Three successors a pair in both."


def chain():
    garnet = make_garnet(100, 4, 3, 20, random_state=0)
    return garnet, garnet.random_policy(0)


def octavo_walk(data):
    garnet, policy = data
    return garnet.simulate_states(100_000, policy, random_state=0)


def octavo_log(data):
    garnet, policy = data
    return garnet.simulate(100_000, policy, random_state=0).states


def quantecon_walk(data):
    from quantecon import MarkovChain

    garnet, policy = data
    return MarkovChain(garnet.transition_matrix(policy)).simulate(100_000, random_state=0)


def walks_agree(data, answers):
    garnet, policy = data
    exact = garnet.state_distribution(policy)
    gaps = [
        np.abs(np.bincount(walk, minlength=100) / len(walk) - exact).sum()
        for walk in answers.values()
    ]
    assert max(gaps) < 0.1
    return f"Frequencies are off by {max(gaps):.3f} at most, summed over states."


def octavo_study(n):
    methods = {"LSTD": (LSTD(0.95, off_policy="standard"), garnet_evaluators()["LSTD"][1])}
    return garnet_study("big", methods=methods, n_tune=n, n_test=0).tuning["LSTD"][0].mean


def numpy_study(n):
    """The same tuning of λ by the textbook recursion, transition by transition."""
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=n)
    totals = dict.fromkeys((0.0, 0.4, 0.7, 0.9, 1.0), 0.0)
    for seed in seeds:
        rng = np.random.RandomState(seed)
        garnet = make_garnet(100, 4, 3, 20, random_state=rng)
        policy = garnet.random_policy(rng)
        log, value = garnet.sample(10_000, policy, random_state=rng), garnet.value(policy)
        times = set(np.unique(np.linspace(9000, 10_000, 11).round().astype(int)))
        for lam in totals:
            M, theta, z, found = 1e3 * np.eye(20), np.zeros(20), np.zeros(20), []
            for i in range(10_000):
                z = 0.95 * lam * z + log.X[i]
                delta = log.X[i] - 0.95 * log.X_next[i]
                K = M @ z / (1 + delta @ M @ z)
                theta = theta + K * (log.r[i] - delta @ theta)
                M = M - np.outer(K, delta @ M)
                if i + 1 in times:
                    found.append(np.sqrt(np.mean((garnet.features @ theta - value) ** 2)))
            totals[lam] += np.mean(found) / n
    return min(totals.values())


def studies_agree(_, answers):
    gap = abs(answers["octavo"] - answers["numpy recursion"])
    assert gap < 1e-5
    return f"Best errors differ by {gap:.0e}."


CONTESTS = [
    Contest(
        name="drawing",
        problem="a big Garnet problem, 100 states, 4 actions, 3 successors",
        setup=lambda: None,
        solvers={
            "octavo": lambda _: make_garnet(100, 4, 3, 20, random_state=0),
            "loops": loop_garnet,
        },
        agree=definition_holds,
        target="Drawing must not count beside learning.",
        limit="random numbers: a permutation a state and action",
    ),
    Contest(
        name="walking",
        problem="100,000 steps through a big Garnet problem",
        setup=chain,
        solvers={
            "octavo, states only": octavo_walk,
            "octavo, with actions and rewards": octavo_log,
            "quantecon, states only": quantecon_walk,
        },
        agree=walks_agree,
        target="Aim: no slower than quantecon for states only.",
        limit="latency: a random number and a random place a step, in order",
    ),
    Contest(
        name="tuning",
        problem="λ of LSTD tuned on 2 big problems of 10,000 steps",
        setup=lambda: 2,
        solvers={"octavo": octavo_study, "numpy recursion": numpy_study},
        agree=studies_agree,
        repeats=3,
        target="Aim: 10 times the recursion in numpy.",
        limit="memory bandwidth within the cache: a 20 x 20 matrix is read and changed a "
        "transition",
    ),
]
