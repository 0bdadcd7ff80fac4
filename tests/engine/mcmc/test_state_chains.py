"""Chains over objects have the law that they are asked for."""

import numpy as np
import pytest

from octavo.engine.mcmc.chains import chain_generators
from octavo.engine.mcmc.enumeration import frequencies, total_variation
from octavo.engine.mcmc.state_chains import advance_chains, log_targets, start_chains

WORDS = ["a", "b", "c", "d", "e"]
WEIGHTS = np.array([1.0, 2.0, 3.0, 1.0, 5.0])
LAW = WEIGHTS / WEIGHTS.sum()


def log_weight(states):
    return np.log([WEIGHTS[WORDS.index(x)] for x in states])


class Independent:
    independent = True

    def __call__(self, state, rng):
        return WORDS[rng.integers(5)]


class Circle:
    """A symmetric walk, reversible for the uniform law."""

    def __call__(self, state, rng):
        if state is None:
            return WORDS[rng.integers(5)]
        return WORDS[(WORDS.index(state) + rng.choice([-1, 1])) % 5]


class Uneven(Circle):
    """Steps right with probability 0.8: its ratio has to be corrected."""

    def __call__(self, state, rng):
        if state is None:
            return "a"
        return WORDS[(WORDS.index(state) + (1 if rng.random() < 0.8 else -1)) % 5]

    def log_ratio(self, x, y):
        right = (WORDS.index(x) + 1) % 5 == WORDS.index(y)
        return np.log(0.2 / 0.8) if right else np.log(0.8 / 0.2)


@pytest.mark.parametrize("proposal", [Independent(), Circle(), Uneven()])
def test_chains_have_the_exact_law(proposal):
    rngs = chain_generators(0, 20)
    seen = []
    chains = start_chains(proposal, log_weight, rngs)
    chains = advance_chains(chains, proposal, log_weight, rngs, 100)
    chains = advance_chains(chains, proposal, log_weight, rngs, 2000, visit=seen.extend)
    # 40,000 dependent draws: TV has a standard error near 0.004, five of them below 0.02
    assert total_variation(frequencies(seen, WORDS), LAW) < 0.02
    assert chains.n_proposed == 20 * 2100
    assert 0 < chains.n_accepted < chains.n_proposed


def test_impossible_states_are_left_and_not_entered():
    def log_target(states):
        return np.array([0.0 if x in "ab" else -np.inf for x in states])

    rngs = chain_generators(0, 5)
    chains = start_chains(Independent(), log_target, rngs)
    chains = advance_chains(chains, Independent(), log_target, rngs, 60)
    assert set(chains.states) <= {"a", "b"}


def test_targets_that_are_no_numbers_are_refused():
    for wrong in (lambda s: [np.nan] * len(s), lambda s: [1.0], lambda s: "x", lambda s: [np.inf]):
        with pytest.raises(ValueError, match="log target"):
            log_targets(wrong, ["a", "b", "c"][: 3 if wrong("a") != [np.inf] else 1])
