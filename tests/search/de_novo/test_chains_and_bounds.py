"""Metropolis-Hastings against enumeration, and the bounds on its mixing time."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.mcmc.enumeration import frequencies, total_variation
from octavo.search import MetropolisHastings, coupling_burn_in, independence_burn_in

STATES = list(itertools.product((0, 1), repeat=4))
RHO = np.random.default_rng(0).dirichlet(np.ones(16))
P = np.random.default_rng(1).random(16)  # p(y* | x)
POSTERIOR = RHO * P / (RHO @ P)


def log_p(states):
    return np.log([P[STATES.index(x)] for x in states])


def draw(state, rng):
    return STATES[rng.choice(16, p=RHO)]


def test_draws_follow_the_posterior():
    chain = MetropolisHastings(draw, log_p, random_state=0)
    found = chain.sample(40_000, burn_in=50, n_chains=20)
    assert len(found) == 40_000
    # sampling alone gives 0.5 sum sqrt(2 p / (pi n)) < 0.008; correlation doubles it at most
    assert total_variation(frequencies(found, STATES), POSTERIOR) < 0.02
    # E min(1, p'/p) over the joint law of the state and the proposal
    rate = POSTERIOR @ np.minimum(1.0, P[None] / P[:, None]) @ RHO
    assert abs(chain.acceptance_ - rate) < 0.02


def test_law_after_t_steps_obeys_proposition_5_19():
    move = RHO[None] * np.minimum(1.0, P[None] / P[:, None])
    move[np.diag_indices(16)] += 1.0 - move.sum(axis=1)
    c = P.max() / (RHO @ P)
    for eps in (0.5, 0.1, 0.01, 1e-6):
        law = np.linalg.matrix_power(move, independence_burn_in(c, eps))
        assert np.abs(law - POSTERIOR).sum(axis=1).max() <= eps


@given(st.floats(1.0, 1e9), st.floats(1e-9, 0.9))
def test_bound_is_the_first_step_that_is_close_enough(c, eps):
    t = independence_burn_in(c, eps)
    log_shrink = np.log1p(-1.0 / c) if c > 1 else -np.inf
    assert np.log(2.0) + t * log_shrink <= np.log(eps) + 1e-6
    if t > 1:
        assert np.log(2.0) + (t - 1) * log_shrink >= np.log(eps) - 1e-6


def test_published_forms():
    assert independence_burn_in(1.0, 0.01) == 1
    assert independence_burn_in(2.0, 0.01) == int(np.ceil(np.log(200) / np.log(2)))
    assert coupling_burn_in(1.0, 0.5, 0.01) == int(np.ceil(np.log(0.01) / np.log(1 - np.exp(-2))))
    assert coupling_burn_in(3.0, 0.0, 0.01) == 1
    with pytest.raises(ValueError, match="nobody can run"):
        coupling_burn_in(1e5, 1e5, 0.1)


@pytest.mark.parametrize("wrong", [0.5, np.nan, np.inf, "x", None, True])
def test_ratios_below_one_are_refused(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        independence_burn_in(wrong, 0.1)
    for eps in (0.0, 1.0, np.nan, "x"):
        with pytest.raises(ValueError, match="between 0 and 1"):
            independence_burn_in(2.0, eps)


def test_seeds_and_first_states():
    one, two = (MetropolisHastings(draw, log_p, random_state=3).sample(50) for _ in range(2))
    assert one == two
    with pytest.raises(ValueError, match="integer of at least 1"):
        MetropolisHastings(draw, log_p).sample(0)
    with pytest.raises(ValueError, match="must be a function"):
        MetropolisHastings("x", log_p).sample(1)
    with pytest.raises(ValueError, match="one number for each"):
        MetropolisHastings(draw, lambda states: 1.0, random_state=0).sample(5, n_chains=2)


def test_chains_that_begin_where_the_target_is_zero_say_so():
    def even_only(states):
        return np.where(np.array(states) % 2 == 0, 0.0, -np.inf)

    nowhere = MetropolisHastings(lambda state, rng: 1, even_only, random_state=0)
    with pytest.warns(ConvergenceWarning, match="3 of 3 chains.*minus infinity"):
        nowhere.sample(6, n_chains=3)
    somewhere = MetropolisHastings(
        lambda state, rng: 1 if state is None else int(rng.integers(4)), even_only, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(state % 2 == 0 for state in somewhere.sample(20, burn_in=20, n_chains=2))
