"""Dynamic networks against ordinary ones on the augmented problem, and against the truth."""

import numpy as np
import pandas as pd
import pytest

from octavo.graphical import (
    BayesianNetworkStructureLearner,
    DynamicBNLearner,
    forbidden_arc,
    network_score,
    required_arc,
    two_slice_structure,
)


def make_sequences(seed, n_sequences=40, length=12):
    """Return sequences where b follows a, and c is b and its own past."""
    rng = np.random.default_rng(seed)
    sequences = []
    for _ in range(n_sequences):
        X = np.empty((length, 3), int)
        X[0] = rng.integers(0, 2, 3)
        for t in range(1, length):
            a = X[t - 1, 0] ^ (rng.random() < 0.3)
            b = X[t - 1, 0] ^ (rng.random() < 0.1)
            c = (b | X[t - 1, 2]) ^ (rng.random() < 0.05)
            X[t] = a, b, c
        sequences.append(X)
    return sequences


def pairs_of(sequences):
    return np.concatenate([np.hstack([X[:-1], X[1:]]) for X in sequences])


def test_the_transition_that_made_the_data_is_found():
    learner = DynamicBNLearner().fit(make_sequences(0, 200))
    assert learner.parents_ == [[(1, 0)], [(1, 0)], [(1, 2), (0, 1)]]
    assert learner.optimal_
    assert learner.duality_gap_ == 0.0


@pytest.mark.parametrize("self_arcs", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_transition_is_the_optimum_of_the_augmented_problem(seed, self_arcs):
    """Eq. (3): the first slice and the transition are scored apart."""
    sequences = make_sequences(seed)
    learner = DynamicBNLearner("bdeu", self_arcs=self_arcs).fit(sequences)
    pairs = pairs_of(sequences)
    plain = BayesianNetworkStructureLearner(
        "bdeu", constraints=two_slice_structure(3, self_arcs=self_arcs)
    ).fit(pairs)
    first = BayesianNetworkStructureLearner("bdeu").fit(np.stack([X[0] for X in sequences]))
    constant = network_score(pairs[:, :3], [()] * 3, "bdeu")
    assert learner.score_ == pytest.approx(first.score_ + plain.score_ - constant, rel=1e-9)
    if self_arcs:
        assert all((1, v) in of for v, of in enumerate(learner.parents_))
        free = DynamicBNLearner("bdeu").fit(sequences)
        assert learner.score_ <= free.score_ + 1e-9


def test_without_arcs_inside_a_slice_each_variable_is_on_its_own():
    sequences = make_sequences(1)
    learner = DynamicBNLearner(within_slice=False).fit(sequences)
    assert all(lag == 1 for of in learner.parents_ for lag, _ in of)


def test_hill_climbing_scores_the_same_two_networks():
    sequences = make_sequences(2)
    exact, greedy = (DynamicBNLearner(method=m).fit(sequences) for m in ("auto", "hc"))
    pairs = pairs_of(sequences)
    constant = network_score(pairs[:, :3], [()] * 3)
    expected = greedy.initial_.score + network_score(pairs, greedy.transition_.parents) - constant
    assert greedy.score_ == pytest.approx(expected, rel=1e-9)
    assert greedy.score_ <= exact.score_ + 1e-9


def test_constraints_name_the_slices():
    frames = [pd.DataFrame(X, columns=["a", "b", "c"]) for X in make_sequences(3)]
    rules = [forbidden_arc("a[t-1]", "b[t]"), required_arc("c[t]", "a[t]")]
    learner = DynamicBNLearner(constraints=rules).fit(frames)
    assert ("c[t]", "a[t]") in learner.dag_.edges
    assert ("a[t-1]", "b[t]") not in learner.dag_.edges
    assert list(learner.dag_.nodes)[:3] == ["a[t-1]", "b[t-1]", "c[t-1]"]


def test_likelihood_is_the_product_over_steps():
    sequences = make_sequences(4)
    learner = DynamicBNLearner().fit(sequences)
    X = sequences[0]
    first = learner.initial_model_.log_likelihood(X[:1])[0]
    model, rest = learner.transition_model_, 0.0
    for row in np.hstack([X[:-1], X[1:]]):
        rest += sum(
            np.log(model.tables[v][tuple(row[u] for u in (*model.parents[v], v))])
            for v in (3, 4, 5)
        )
    assert learner.log_likelihood([X])[0] == pytest.approx(first + rest)


def test_probabilities_of_all_sequences_add_to_one():
    from itertools import product

    learner = DynamicBNLearner().fit(make_sequences(5))
    everything = [np.array(cells).reshape(2, 3) for cells in product([0, 1], repeat=6)]
    assert np.exp(learner.log_likelihood(everything)).sum() == pytest.approx(1.0)


def test_samples_give_the_network_back():
    learner = DynamicBNLearner().fit(make_sequences(6, 200))
    drawn = learner.sample(300, 12, random_state=0)
    assert len(drawn) == 300
    assert drawn[0].shape == (12, 3)
    assert DynamicBNLearner().fit(drawn).parents_ == learner.parents_
    np.testing.assert_array_equal(learner.sample(2, 5, 1)[1], learner.sample(2, 5, 1)[1])


def test_a_single_sequence_starts_from_independent_variables():
    learner = DynamicBNLearner().fit(make_sequences(0, 1, 400))
    assert learner.initial_.parents == [(), (), ()]
    assert learner.parents_[1] == [(1, 0)]


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        ([], ValueError, "no sequence"),
        (np.zeros((5, 3)), TypeError, "list of sequences"),
        ([[[0, 1]], [[1, 0]]], ValueError, "two steps"),
        ([[[0, 1], [1, 0]], [[0], [1]]], ValueError, "Sequence 1 has 1 variables"),
        ([[[0, 1], [1, np.nan]]], ValueError, "Sequence 0: .*NaN"),
        ([[[0, 1], [1, 1]]], ValueError, "single state"),
        ([[[0.5, 1], [0.2, 0]]], ValueError, "continuous"),
    ],
)
def test_bad_input(X, error, words):
    with pytest.raises(error, match=words):
        DynamicBNLearner().fit(X)


def test_unknown_states_are_refused():
    learner = DynamicBNLearner().fit(make_sequences(0))
    with pytest.raises(ValueError, match="Column '0' holds unknown states"):
        learner.log_likelihood([[[7, 0, 0], [0, 0, 0]]])
    with pytest.raises(ValueError, match="expected 3"):
        learner.log_likelihood([[[0, 0], [0, 0]]])
