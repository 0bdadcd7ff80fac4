"""Draws of compiled sweeps beside the laws they should have."""

import numpy as np
import pytest
from scipy import stats

from octavo.engine.mcmc.compiled_draws import draw_state, fill_draws, next_word

LAWS = [
    (0, 1.0, 1.0, stats.uniform()),
    (1, 1.0, 1.0, stats.norm()),
    (2, 0.4, 1.0, stats.gamma(0.4)),
    (2, 7.0, 1.0, stats.gamma(7.0)),
    (3, 0.5, 9.5, stats.beta(0.5, 9.5)),
]


@pytest.mark.parametrize(("kind", "a", "b", "law"), LAWS)
def test_laws(kind, a, b, law):
    out = np.empty(200_000)
    fill_draws(draw_state(np.random.default_rng(12)), kind, a, b, out)
    assert stats.kstest(out, law.cdf).pvalue > 1e-4


def test_tails_of_the_normal():
    out = np.empty(2_000_000)
    fill_draws(draw_state(np.random.default_rng(5)), 1, 1.0, 1.0, out)
    for edge in (3.0, 3.442619855899, 4.0):  # on both sides of where the last layer begins
        expected = 2 * stats.norm.sf(edge) * out.size
        assert abs(np.sum(np.abs(out) > edge) - expected) < 5 * np.sqrt(expected)


def test_words_are_those_of_the_reference():
    # xoshiro256++ from the state 1, 2, 3, 4: the first words of the published generator
    state = np.array([1, 2, 3, 4], dtype=np.uint64)
    words = [int(next_word(state)) for _ in range(3)]
    assert words == [41943041, 58720359, 3588806011781223]


def test_states_of_one_generator_differ():
    rng = np.random.default_rng(0)
    one, two = draw_state(rng), draw_state(rng)
    assert not np.array_equal(one, two)
    assert np.array_equal(one, draw_state(np.random.default_rng(0)))
