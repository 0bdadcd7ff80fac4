"""FiniteMDP against quantecon, series, brute force and long simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.rl import FiniteMDP


def random_mdp(seed, n_states=7, n_actions=3, **settings):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n_states), size=(n_actions, n_states))
    return FiniteMDP(P, rng.normal(size=P.shape), 0.9, **settings)


def test_value_equals_the_discounted_series():
    mdp = random_mdp(0)
    pi = mdp.random_policy(1)
    P, R = mdp.transition_matrix(pi), mdp.expected_rewards(pi)
    total, term = np.zeros(7), R.copy()
    for _ in range(600):  # 0.9 ** 600 < 1e-27
        total, term = total + term, mdp.gamma * P @ term
    np.testing.assert_allclose(mdp.value(pi), total, rtol=1e-12)


def test_value_and_stationary_distribution_equal_quantecon():
    quantecon = pytest.importorskip("quantecon")
    mdp = random_mdp(1)
    actions = np.array([0, 2, 1, 1, 0, 2, 2])
    ddp = quantecon.markov.DiscreteDP(
        mdp.action_rewards(), np.transpose(mdp.P, (1, 0, 2)), mdp.gamma
    )
    np.testing.assert_allclose(mdp.value(actions), ddp.evaluate_policy(actions), rtol=1e-10)
    chain = quantecon.MarkovChain(mdp.transition_matrix(actions))
    np.testing.assert_allclose(
        mdp.state_distribution(actions), chain.stationary_distributions[0], rtol=1e-10
    )


def test_action_value_averages_to_value():
    mdp = random_mdp(2)
    pi = mdp.random_policy(3)
    np.testing.assert_allclose((pi * mdp.action_value(pi)).sum(axis=1), mdp.value(pi), rtol=1e-12)


def test_the_three_forms_of_rewards_agree():
    base = random_mdp(3)
    by_state = np.arange(7.0)
    by_action = np.repeat(by_state[:, None], 3, axis=1)
    by_step = np.broadcast_to(by_state[None, :, None], base.P.shape)
    values = [FiniteMDP(base.P, R, 0.9).value() for R in (by_state, by_action, by_step)]
    np.testing.assert_allclose(values[0], values[1])
    np.testing.assert_allclose(values[0], values[2])


def test_two_state_example_of_the_survey():
    mdp = FiniteMDP([[0.5, 0.5], [0.5, 0.5]], [-0.8, 1.2], gamma=0.8)
    np.testing.assert_allclose(mdp.value(), [0.0, 2.0], atol=1e-14)


def test_undiscounted_value_of_a_random_walk():
    # A symmetric walk on 0..6 that ends on either side with rewards 0 and 1: values are k / 6.
    P = np.zeros((7, 7))
    for s in range(1, 6):
        P[s, s - 1] = P[s, s + 1] = 0.5
    P[0, 0] = P[6, 6] = 1.0
    R = np.zeros((7, 7))
    R[5, 6] = 1.0
    mdp = FiniteMDP(P, R, 1.0, terminal=[0, 6])
    np.testing.assert_allclose(mdp.value(), [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 0], atol=1e-14)


@pytest.mark.parametrize(
    "shape", [{}, {"restart": 0.2}, {"terminal": [3]}, {"terminal": [0, 5], "restart": 0.05}]
)
def test_frequencies_of_a_long_log_approach_the_distribution(shape):
    mdp = random_mdp(4, **shape)
    pi, n = mdp.random_policy(5), 200_000
    walk = mdp.simulate(n, pi, double=True, random_state=6)
    seen = np.bincount(walk.states, minlength=7) / n
    # Standard errors are near sqrt(0.15 / n) = 9e-4 times a small correlation time; five of them.
    np.testing.assert_allclose(seen, mdp.state_distribution(pi), atol=6e-3)
    for actions, successors, rewards in (
        (walk.actions, walk.next_states, walk.rewards),
        (walk.actions2, walk.next_states2, walk.rewards2),
    ):
        np.testing.assert_array_equal(rewards, mdp.R[actions, walk.states, successors])
        one = walk.states == walk.states[0]
        chosen = np.bincount(actions[one], minlength=3) / one.sum()
        np.testing.assert_allclose(chosen, pi[walk.states[0]], atol=0.02)
    assert not mdp.terminal[walk.states].any()
    goes_on = ~walk.start[1:]
    np.testing.assert_array_equal(walk.states[1:][goes_on], walk.next_states[:-1][goes_on])
    assert walk.start[1:][walk.terminal[:-1]].all()


def test_impossible_transitions_are_never_drawn():
    P = np.array([[0.0, 1 / 3, 2 / 3, 0.0], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 1]])
    walk = FiniteMDP(P, np.zeros(4), start=[1.0, 0, 0, 0]).simulate(50_000, random_state=0)
    assert (P[walk.states, walk.next_states] > 0).all()
    assert not (walk.states == 3).any()


@pytest.mark.parametrize("sparse", [False, True])
def test_states_alone_are_the_inverse_of_the_cumulative_sums(sparse):
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.full(40, 0.05 if sparse else 1.0), size=40)
    if sparse:
        P[P < 1e-3] = 0.0
        P /= P.sum(axis=1, keepdims=True)
    mdp = FiniteMDP(P, np.zeros(40))
    draws = np.random.RandomState(5).uniform(size=5_000)
    state, sums = 7, np.cumsum(mdp.P[0], axis=1)
    expected = [state]
    for u in draws[1:]:
        state = int(np.searchsorted(sums[state], u, side="right"))
        expected.append(state)
    seen = mdp.simulate_states(5_000, state=7, random_state=5)
    assert seen.tolist() == expected


@pytest.mark.parametrize(
    "ends", [{}, {"restart": 0.2}, {"terminal": [0, 3]}, {"restart": 0.1, "terminal": [5]}]
)
def test_states_alone_are_visited_as_often_as_they_should_be(ends):
    mdp = random_mdp(6, **ends)
    pi = mdp.random_policy(1)
    n = 200_000
    seen = np.bincount(mdp.simulate_states(n, pi, random_state=0), minlength=7) / n
    np.testing.assert_allclose(seen, mdp.state_distribution(pi), atol=5e-3)
    with pytest.raises(ValueError, match="state must be one of"):
        mdp.simulate_states(5, pi, state=9)


def test_sample_carries_features_ratios_and_ends():
    mdp = random_mdp(7, terminal=[2])
    pi, pi0 = mdp.random_policy(0), mdp.random_policy(1)
    Phi = np.random.default_rng(0).normal(size=(7, 4))
    log = mdp.sample(500, pi, pi0, features=Phi, double=True, random_state=8)
    walk = mdp.simulate(500, pi0, double=True, random_state=8)
    np.testing.assert_array_equal(log.X, Phi[walk.states])
    np.testing.assert_allclose(log.rho, (pi / pi0)[walk.states, walk.actions])
    np.testing.assert_allclose(log.rho2, (pi / pi0)[walk.states, walk.actions2])
    assert not log.X_next[walk.terminal].any()
    assert log.terminal.sum() == walk.terminal.sum() > 0
    ended = mdp.terminal[walk.next_states2]
    assert (walk.terminal & ~ended).any()  # the draws end their episodes independently
    expected = np.where(ended[:, None], 0.0, Phi[walk.next_states2])
    np.testing.assert_array_equal(log.X_next2, expected)


def test_importance_ratios_average_to_one():
    mdp = random_mdp(8)
    pi, pi0 = mdp.random_policy(0), mdp.random_policy(1)
    ratios = mdp.importance_ratios(pi, pi0)
    np.testing.assert_allclose((pi0 * ratios).sum(axis=1), 1.0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.floats(-5, 5), shift=st.floats(-3, 3))
def test_value_is_linear_in_rewards(seed, scale, shift):
    mdp = random_mdp(seed)
    pi = mdp.random_policy(seed)
    other = FiniteMDP(mdp.P, scale * mdp.R + shift, mdp.gamma)
    expected = scale * mdp.value(pi) + shift / (1 - mdp.gamma)
    np.testing.assert_allclose(other.value(pi), expected, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_renaming_states_renames_everything(seed):
    mdp = random_mdp(seed)
    pi, order = mdp.random_policy(seed), np.random.default_rng(seed).permutation(7)
    other = FiniteMDP(mdp.P[:, order][:, :, order], mdp.R[:, order][:, :, order], mdp.gamma)
    np.testing.assert_allclose(other.value(pi[order]), mdp.value(pi)[order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        other.state_distribution(pi[order]), mdp.state_distribution(pi)[order], atol=1e-12
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_distribution_is_left_alone_by_a_step(seed):
    mdp = random_mdp(seed)
    pi = mdp.random_policy(seed)
    mu = mdp.state_distribution(pi)
    np.testing.assert_allclose(mu @ mdp.transition_matrix(pi), mu, atol=1e-13)


def test_transient_states_have_no_weight():
    mdp = FiniteMDP([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]], np.zeros(3))
    np.testing.assert_allclose(mdp.state_distribution(), [0, 0.5, 0.5], atol=1e-15)


GOOD = np.array([[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FiniteMDP([[0.5, 0.6], [0.5, 0.5]], [0, 0]), "sum to 1.*row .* sums to 1.1"),
        (lambda: FiniteMDP([[1.5, -0.5], [0.5, 0.5]], [0, 0]), "-0.5 < 0"),
        (lambda: FiniteMDP([[np.nan, 1], [0.5, 0.5]], [0, 0]), "NaN"),
        (lambda: FiniteMDP(np.ones((2, 3)), [0, 0]), "P must have shape"),
        (lambda: FiniteMDP(GOOD, [0, np.inf]), "R must be finite"),
        (lambda: FiniteMDP(GOOD, [0, 0, 0]), "R must have shape"),
        (lambda: FiniteMDP(GOOD, [0, 0], 1.5), r"gamma must lie in \[0, 1\], got 1.5"),
        (lambda: FiniteMDP(GOOD, [0, 0], terminal=[5]), "0..1"),
        (lambda: FiniteMDP(GOOD, [0, 0], terminal=[0, 1]), "All states are terminal"),
        (lambda: FiniteMDP(GOOD, [0, 0], start=[1, 0], terminal=[0]), "start must give terminal"),
        (lambda: FiniteMDP(GOOD, [0, 0], restart=2.0), "restart must hold probabilities"),
        (lambda: FiniteMDP(GOOD, [0, 0], features=np.ones((3, 1))), "one row for each of 2 states"),
        (lambda: FiniteMDP(GOOD, [0, 0], 1.0).value(), "gamma is 1 and some states never reach"),
        (lambda: FiniteMDP(np.eye(2), [0, 0]).state_distribution(), "2 recurrent classes"),
        (
            lambda: FiniteMDP(
                [[1, 0, 0], [0, 0, 1], [0, 0, 1.0]], np.zeros(3), terminal=[2]
            ).state_distribution(),
            "never end",
        ),
        (lambda: FiniteMDP(GOOD, [0, 0]).simulate(0), "n_steps must be at least 1"),
        (lambda: FiniteMDP(GOOD, [0, 0]).simulate(5, state=7), "state must be one of 0..1"),
        (lambda: FiniteMDP(GOOD, [0, 0]).value(np.ones((2, 3)) / 3), "policy must have shape"),
        (lambda: FiniteMDP(GOOD, [0, 0]).value(np.array([0, 3])), "Actions of policy"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_behaviour_without_support_is_refused():
    mdp = FiniteMDP(np.stack([GOOD, GOOD]), [0.0, 1.0])
    with pytest.raises(ValueError, match=r"has no support.*state 1 the target takes action 0"):
        mdp.sample(10, [[0, 1], [0.5, 0.5]], [[0.5, 0.5], [0, 1]])


def test_ratios_of_zero_are_welcome():
    mdp = FiniteMDP(np.stack([GOOD, GOOD]), [0.0, 1.0])
    log = mdp.sample(200, [[0, 1], [0, 1]], [[0.5, 0.5], [0.5, 0.5]], random_state=0)
    assert set(log.rho) == {0.0, 2.0}
