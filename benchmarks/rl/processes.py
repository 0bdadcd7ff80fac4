"""Exact values and stationary distributions beside quantecon."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import FiniteMDP, make_random_mdp


def problem(n_states=400):
    made = make_random_mdp(n_states, 10, 5)
    return made.mdp, np.random.default_rng(0).integers(0, 10, n_states)


def octavo_value(data):
    mdp, actions = data
    return mdp.value(actions)


def quantecon_value(data):
    from quantecon.markov import DiscreteDP

    mdp, actions = data
    ddp = DiscreteDP(mdp.action_rewards(), np.transpose(mdp.P, (1, 0, 2)), mdp.gamma)
    return ddp.evaluate_policy(actions)


def numpy_value(data):
    """Value iteration to 1e-10."""
    mdp, actions = data
    rows = np.arange(mdp.n_states)
    P, R = mdp.P[actions, rows], mdp.action_rewards()[rows, actions]
    value = np.zeros(mdp.n_states)
    while True:
        new = R + mdp.gamma * P @ value
        if np.abs(new - value).max() < 1e-10 * (1 - mdp.gamma):
            return new
        value = new


def values_agree(data, answers):
    exact = answers["octavo"]
    gap = max(np.abs(answer - exact).max() for answer in answers.values())
    assert gap < 1e-8
    return f"Values differ by {gap:.0e} at most."


def octavo_stationary(data):
    mdp, actions = data
    return mdp.state_distribution(actions)


def quantecon_stationary(data):
    from quantecon import MarkovChain

    mdp, actions = data
    P = mdp.P[actions, np.arange(mdp.n_states)]
    return MarkovChain(P).stationary_distributions[0]


def octavo_walk(data):
    mdp, actions = data
    return mdp.simulate_states(100_000, actions, random_state=0)


def octavo_log(data):
    mdp, actions = data
    return mdp.simulate(100_000, actions, random_state=0).states


def quantecon_walk(data):
    from quantecon import MarkovChain

    mdp, actions = data
    P = mdp.P[actions, np.arange(mdp.n_states)]
    return MarkovChain(P).simulate(100_000, random_state=0)


def walks_agree(data, answers):
    mdp: FiniteMDP = data[0]
    exact = mdp.state_distribution(data[1])
    gaps = {
        name: np.abs(np.bincount(walk, minlength=mdp.n_states) / len(walk) - exact).sum()
        for name, walk in answers.items()
    }
    # Half of a multinomial's expected total variation, sqrt(2 n_states / (π n)), is 0.05.
    assert max(gaps.values()) < 0.1
    return "Frequencies differ from the exact ones by " + ", ".join(
        f"{gap:.3f} ({name})" for name, gap in gaps.items()
    )


CONTESTS = [
    Contest(
        name="value",
        problem="value of a policy in a dense MDP, 400 states, 10 actions",
        setup=problem,
        solvers={
            "octavo": octavo_value,
            "quantecon": quantecon_value,
            "value iteration": numpy_value,
        },
        agree=values_agree,
        target="Aim: no slower than quantecon.",
        limit="LAPACK: one solution of 400 x 400",
        flops=2 / 3 * 400**3,
    ),
    Contest(
        name="stationary distribution",
        problem="stationary distribution of a dense chain, 400 states",
        setup=problem,
        solvers={"octavo": octavo_stationary, "quantecon": quantecon_stationary},
        agree=values_agree,
        target="Aim: no slower than quantecon.",
        limit="LAPACK: one solution of 400 x 400",
        flops=2 / 3 * 400**3,
    ),
    Contest(
        name="simulation",
        problem="100,000 steps of a dense MDP, 400 states, 10 actions",
        setup=problem,
        solvers={
            "octavo, states only": octavo_walk,
            "octavo, with actions and rewards": octavo_log,
            "quantecon, states only": quantecon_walk,
        },
        agree=walks_agree,
        target="Aim: no slower than quantecon for states only.",
        limit="latency: a random number and a random place a step, in order",
    ),
]
