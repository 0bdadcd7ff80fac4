"""Batches of transitions: what they hold, where they come from, and what they refuse."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.rl import LSTD, Transitions, importance_ratios, trace_weights
from tests.rl.batches import random_batch

TARGET = np.array([[0.5, 0.5], [0.0, 1.0]])
BEHAVIOUR = np.array([[0.75, 0.25], [0.5, 0.5]])


def test_trajectories_are_cut_at_their_ends():
    batch = Transitions.from_trajectories(
        [[[1.0], [2.0], [3.0]], [[4.0], [5.0]]], [[0.1, 0.2], [0.3]], ends=[True, False]
    )
    np.testing.assert_array_equal(batch.X[:, 0], [1, 2, 4])
    np.testing.assert_array_equal(batch.X_next[:, 0], [2, 0, 5])  # zero after a true end
    np.testing.assert_array_equal(batch.r, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(batch.start, [True, False, True])
    np.testing.assert_array_equal(batch.terminal, [False, True, False])
    assert batch.on_policy
    assert len(batch) == 3


def test_a_terminal_transition_begins_the_next_episode():
    batch = Transitions(np.ones((4, 1)), np.zeros(4), np.ones((4, 1)), terminal=[0, 1, 0, 0])
    np.testing.assert_array_equal(batch.start, [True, False, True, False])
    np.testing.assert_array_equal(batch.previous_rho, [0, 1, 0, 1])


def test_a_batch_cannot_be_changed_and_does_not_change_its_input():
    X = np.ones((3, 2))
    batch = Transitions(X, np.zeros(3), X, terminal=[False, False, True])
    assert X.all()
    with pytest.raises(ValueError, match="read-only"):
        batch.X[0, 0] = 5.0
    with pytest.raises(AttributeError):
        batch.r = np.ones(3)


def test_slices_chunks_concatenation_and_pickles():
    batch = random_batch(0, double=True)
    whole = Transitions.concatenate([batch[:10], batch[10:]])
    np.testing.assert_array_equal(whole.X, batch.X)
    np.testing.assert_array_equal(whole.rho2, batch.rho2)
    assert batch[5:].start[0]
    chunks = list(batch.chunks(7))
    assert sum(map(len, chunks)) == len(batch)
    np.testing.assert_array_equal(np.concatenate([c.start for c in chunks]), batch.start)
    again = pickle.loads(pickle.dumps(batch))
    np.testing.assert_array_equal(again.X_next2, batch.X_next2)
    with pytest.raises(TypeError, match="consecutive slices"):
        batch[::2]
    with pytest.raises(ValueError, match="at least one batch"):
        Transitions.concatenate([])


def test_sparse_features_stay_sparse_and_mix_with_dense_ones():
    batch = random_batch(1)
    one = Transitions(sp.csr_matrix(batch.X), batch.r, batch.X_next, terminal=batch.terminal)
    assert sp.issparse(one.X)
    assert sp.issparse(one.X_next)
    np.testing.assert_array_equal(one.X_next.toarray(), batch.X_next)
    twice = sp.csr_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    twice.has_canonical_format = False
    joined = Transitions.concatenate([one, batch])
    assert joined.X.shape == (2 * len(batch), 4)


# --- importance ratios --------------------------------------------------------------------------


def test_ratios_from_tables_functions_and_probabilities_agree():
    states, actions = np.array([0, 1, 0, 1]), np.array([1, 0, 0, 1])
    expected = np.array([2.0, 0.0, 2 / 3, 2.0])
    np.testing.assert_allclose(importance_ratios(states, actions, TARGET, BEHAVIOUR), expected)
    by_function = importance_ratios(
        states, actions, lambda s, a: TARGET[s, a], lambda s, a: BEHAVIOUR[s, a]
    )
    np.testing.assert_allclose(by_function, expected)
    given = importance_ratios(states, actions, TARGET[states, actions], BEHAVIOUR[states, actions])
    np.testing.assert_allclose(given, expected)


@pytest.mark.parametrize(
    ("states", "actions", "target", "behaviour", "words"),
    [
        ([0], [0], [[0.5, 0.5]], [[1.0, 0.0]], "no support: in state 0 it never takes action 1"),
        (
            [0],
            [1],
            [0.5],
            [0.0],
            "no support: it gives probability 0 to the action of transition 0",
        ),
        ([0, 0], [1], TARGET, BEHAVIOUR, "one length, got 2 and 1"),
        ([0.5], [1], TARGET, BEHAVIOUR, "must be integers"),
        ([2], [1], TARGET, BEHAVIOUR, "states reach 2"),
        ([0], [1], [[0.5, 0.6]], [[0.5, 0.5]], "must sum to 1"),
        ([0], [1], [-0.5], [0.5], "not negative"),
        ([0], [1], [np.nan], [0.5], "finite"),
    ],
)
def test_bad_policies(states, actions, target, behaviour, words):
    with pytest.raises(ValueError, match=words):
        importance_ratios(states, actions, target, behaviour)


def test_from_policies_and_fit_from_policies():
    from octavo.rl import FiniteMDP

    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(2), size=(2, 2))
    mdp = FiniteMDP(P, [1.0, 0.0], 0.5, features=np.eye(2))
    seen = mdp.simulate(300, BEHAVIOUR, random_state=0)
    batch = Transitions.from_policies(
        np.eye(2)[seen.states],
        seen.actions,
        seen.rewards,
        np.eye(2)[seen.next_states],
        TARGET,
        BEHAVIOUR,
        states=seen.states,
        start=seen.start,
        terminal=seen.terminal,
    )
    model = LSTD(0.5).fit(batch)
    other = LSTD(0.5).fit_from_policies(seen, TARGET, BEHAVIOUR, np.eye(2))
    third = LSTD(0.5).fit_from_policies(seen, TARGET, BEHAVIOUR, lambda s: np.eye(2)[s])
    np.testing.assert_array_equal(other.coef_, model.coef_)
    np.testing.assert_array_equal(third.coef_, model.coef_)


def test_trace_weights_are_traces_of_a_constant():
    batch = random_batch(2)
    weights, last = [], 0.0
    for i in range(len(batch)):
        last = 1 + 0.9 * 0.7 * batch.previous_rho[i] * last
        weights.append(batch.rho[i] * last)
    np.testing.assert_allclose(trace_weights(batch, 0.9, 0.7), weights)


# --- gymnasium ----------------------------------------------------------------------------------


def test_environments_are_data_sources():
    gymnasium = pytest.importorskip("gymnasium")
    kwargs = {"policy": lambda o, rng: rng.randint(2), "features": lambda o: np.append(o, 1.0)}
    batch = Transitions.from_env("CartPole-v1", n_steps=300, random_state=0, **kwargs)
    again = Transitions.from_env(
        gymnasium.make("CartPole-v1"), n_steps=300, random_state=0, **kwargs
    )
    np.testing.assert_array_equal(batch.X, again.X)
    assert len(batch) == 300
    assert batch.terminal.sum() > 3
    assert not batch.X_next[batch.terminal].any()
    inside = ~batch.start[1:]
    np.testing.assert_array_equal(batch.X[1:][inside], batch.X_next[:-1][inside])
    off = Transitions.from_env(
        "CartPole-v1",
        n_steps=50,
        random_state=0,
        target_prob=lambda o, a: 0.9 if a else 0.1,
        behaviour_prob=lambda o, a: 0.5,
        **kwargs,
    )
    assert set(off.rho.round(9)) == {0.2, 1.8}


class Corridor:
    """Three steps to the end of a corridor; the episode is cut off after ``limit``."""

    def __init__(self, limit):
        self.limit = limit

    def reset(self, seed=None):
        self.place = 0
        return np.array([0.0]), {}

    def step(self, action):
        self.place += 1
        return np.array([float(self.place)]), 1.0, self.place == 3, self.place == self.limit, {}


def test_truncated_episodes_are_not_terminal():
    kwargs = {"policy": lambda o, rng: 0, "features": lambda o: np.append(o, 1.0), "n_steps": 6}
    cut = Transitions.from_env(Corridor(2), **kwargs)
    np.testing.assert_array_equal(cut.start, [1, 0, 1, 0, 1, 0])
    assert not cut.terminal.any()
    ended = Transitions.from_env(Corridor(9), **kwargs)
    np.testing.assert_array_equal(ended.terminal, [0, 0, 1, 0, 0, 1])


def test_bad_runs():
    kwargs = {"policy": lambda o, rng: 0, "features": lambda o: o}
    with pytest.raises(ValueError, match="n_steps must be at least 1"):
        Transitions.from_env(Corridor(2), n_steps=0, **kwargs)
    with pytest.raises(ValueError, match="or neither"):
        Transitions.from_env(Corridor(2), n_steps=1, target_prob=lambda o, a: 1.0, **kwargs)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([], []), "at least one trajectory"),
        (([[[1.0], [2.0]]], [[1.0], [2.0]]), "features has 1 trajectories, rewards has 2"),
        (([[[1.0], [2.0]]], [[1.0, 2.0]]), "rewards of trajectory 0 must have one entry"),
    ],
)
def test_bad_trajectories(columns, words):
    with pytest.raises(ValueError, match=words):
        Transitions.from_trajectories(*columns)
