"""A given network against enumeration of all its joint states."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.graphical import LogLinearMarkovNetwork, ncmll
from tests.graphical.log_linear.enumeration import (
    all_states,
    conditional,
    log_potentials,
    random_features,
)

EXACT = 1e-9


def random_network(seed, cardinalities, n):
    rng = np.random.default_rng(seed)
    features, weights = random_features(rng, cardinalities, n), rng.normal(size=n)
    states = all_states(cardinalities)
    logs = log_potentials(states, features, weights)
    return LogLinearMarkovNetwork(features, weights, cardinalities), states, logs


@pytest.fixture(scope="module", params=["binary", "mixed"])
def network(request):
    cards = [2] * 10 if request.param == "binary" else [2, 3, 2, 4, 3, 2]
    return random_network(1, cards, 30)


def test_partition_function_and_probabilities_are_those_of_enumeration(network):
    model, states, logs = network
    log_z = np.log(np.exp(logs).sum())
    assert model.log_partition() == pytest.approx(log_z, abs=EXACT)
    np.testing.assert_allclose(model.log_prob(states), logs - log_z, atol=EXACT)
    np.testing.assert_allclose(model.energy(states), -logs, atol=EXACT)


def test_pseudo_likelihood_is_the_sum_of_enumerated_conditionals(network):
    model, states, logs = network
    rows = states[:: len(states) // 20]
    width = int(model.cardinalities_.max())
    expected = [
        sum(
            np.log(conditional(states, logs, row, [k], width)[0, row[k]])
            for k in range(states.shape[1])
        )
        for row in rows
    ]
    np.testing.assert_allclose(model.pseudo_log_likelihood(rows), expected, atol=EXACT)
    assert model.score(rows) == pytest.approx(np.mean(expected) / states.shape[1], abs=EXACT)


def test_gradient_is_that_of_enumerated_conditionals(network):
    """∂PLL/∂w_f = Σ_i Σ_k f(x_i) - E[f(x with x_k drawn given the rest)]."""
    model, states, logs = network
    rows = states[:: len(states) // 12]
    expected = np.zeros(len(model.features_))
    for f, feature in enumerate(model.features_):
        value = log_potentials(states, [feature], [1.0])
        for row in rows:
            own = log_potentials(row[None], [feature], [1.0])[0]
            for k in range(states.shape[1]):
                rest = np.delete(np.arange(states.shape[1]), k)
                fits = (states[:, rest] == row[rest]).all(axis=1)
                mass = np.exp(logs[fits])
                expected[f] += own - mass @ value[fits] / mass.sum()
    np.testing.assert_allclose(model.gradient(rows), expected, atol=EXACT)


def test_exact_marginals_are_those_of_enumeration(network):
    model, states, logs = network
    width = int(model.cardinalities_.max())
    rows, query = states[:: len(states) // 5], [4, 0, 2]
    expected = [conditional(states, logs, row, query, width) for row in rows]
    found = model.conditional_marginals(rows, query, method="exact")
    assert found.shape == (len(rows), 3, width)
    np.testing.assert_allclose(found, expected, atol=EXACT)


def test_gibbs_sampling_comes_near_enumeration(network):
    """20,000 Rao-Blackwellised draws: the error of a probability is below 0.02."""
    model, states, logs = network
    rows, query = states[[3, len(states) // 2]], [0, 1, 2, 3]
    expected = [
        conditional(states, logs, row, query, int(model.cardinalities_.max())) for row in rows
    ]
    found = model.conditional_marginals(
        rows, query, n_chains=10, burn_in=100, n_iter=2100, random_state=0
    )
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_belief_propagation_is_exact_on_a_tree():
    rng = np.random.default_rng(2)
    pairs = [(0, 1), (1, 2), (1, 3), (3, 4)]
    features = [[(a, "==", v), (b, "==", w)] for a, b in pairs for v in (0, 1) for w in (0, 1)]
    # A table on an edge is four features on the same pair, which is a loop of factors; one
    # feature an edge is a tree.
    features = features[::4]
    model = LogLinearMarkovNetwork(features, 2 * rng.normal(size=4), [2] * 5)
    rows = [[0, 0, 1, 0, 1], [1, 1, 0, 0, 0]]
    exact = model.conditional_marginals(rows, [0, 1, 3], method="exact")
    found = model.conditional_marginals(rows, [0, 1, 3], method="bp")
    np.testing.assert_allclose(found, exact, atol=1e-8)


def test_mean_field_is_exact_without_interactions_and_a_fixed_point_with_them():
    alone = LogLinearMarkovNetwork([[(0, "==", 1)], [(1, "!=", 2)]], [1.5, -0.7], [2, 3])
    exact = alone.conditional_marginals([[0, 0]], [0, 1], method="exact")
    found = alone.conditional_marginals([[0, 0]], [0, 1], method="mean_field")
    np.testing.assert_allclose(found, exact, atol=1e-8)
    w = 0.8
    pair = LogLinearMarkovNetwork([[(0, "==", 1), (1, "==", 1)]], [w], [2, 2])
    q = pair.conditional_marginals([[0, 0]], [0, 1], method="mean_field")[0, :, 1]
    np.testing.assert_allclose(q, 1 / (1 + np.exp(-w * q[::-1])), atol=1e-8)


def test_missing_cells_are_summed_out():
    model, states, logs = random_network(3, [2, 2, 3, 2], 8)
    row = np.array([[1.0, np.nan, 2.0, 0.0]])
    found = model.conditional_marginals(row, [0], method="exact")[0, 0]
    fits = (states[:, [2, 3]] == [2, 0]).all(axis=1)
    mass = np.exp(logs[fits])
    expected = [mass[states[fits, 0] == v].sum() / mass.sum() for v in (0, 1)]
    np.testing.assert_allclose(found[:2], expected, atol=EXACT)
    filled = model.impute(row, method="exact")
    assert filled[0, [0, 2, 3]].tolist() == [1, 2, 0]


def test_samples_have_the_right_frequencies_listed_or_by_gibbs(monkeypatch):
    """4,000 draws: a frequency has a standard error below 0.008, five of them are allowed."""
    model, states, logs = random_network(4, [2, 2, 3], 8)
    p = np.exp(logs - np.log(np.exp(logs).sum()))
    number = {tuple(s): i for i, s in enumerate(states.tolist())}
    for limit in (2**16, 0):
        monkeypatch.setattr("octavo.graphical.log_linear.queries.ENUMERATED", limit)
        drawn = model.sample(4000, random_state=0)
        seen = np.bincount([number[tuple(r)] for r in drawn.tolist()], minlength=len(p)) / 4000
        np.testing.assert_allclose(seen, p, atol=0.04)


def test_a_file_brings_everything_back(tmp_path):
    model, states, _ = random_network(5, [2, 3, 2], 6)
    model.save(tmp_path / "a.mn")
    again = LogLinearMarkovNetwork.load(tmp_path / "a.mn")
    assert again.features_ == model.features_
    np.testing.assert_array_equal(again.weights_, model.weights_)
    (tmp_path / "b.mn").write_text("2,2\nMN {\nthree +v0_1\n}\n")
    with pytest.raises(ValueError, match="Line 3"):
        LogLinearMarkovNetwork.load(tmp_path / "b.mn")


def test_canonical_features_merge():
    same = [[(1, "==", 0), (0, "!=", 0)], [(0, "==", 1), (1, "==", 0)]]
    model = LogLinearMarkovNetwork(same, [1.0, 2.0], [2, 2])
    assert model.features_ == [((0, "==", 1), (1, "==", 0))]
    assert model.weights_.tolist() == [3.0]
    assert sorted(model.graph_.edges) == [(0, 1)]
    assert model.adjacency_.tolist() == [[False, True], [True, False]]
    three = LogLinearMarkovNetwork([[(0, "!=", 0), (0, "!=", 2)]], [1.0], [3])
    assert three.features_ == [((0, "==", 1),)]


def test_ncmll_is_the_enumerated_one():
    model, states, logs = random_network(6, [2] * 4, 8)
    rows = states[[1, 7, 12]]
    found = ncmll(model, rows, n_sets=2, method="exact", eps=0.0, random_state=3)
    total = 0.0
    for asked in np.array_split(np.random.RandomState(3).permutation(4), 2):
        for row in rows:
            table = conditional(states, logs, row, asked.tolist(), 2)
            total += sum(np.log(table[place, row[k]]) for place, k in enumerate(asked))
    assert found == pytest.approx(total / rows.size, abs=EXACT)


def test_sparse_rows_are_dense_rows():
    model, states, _ = random_network(7, [2] * 5, 10)
    np.testing.assert_array_equal(
        model.pseudo_log_likelihood(sp.csr_array(states)), model.pseudo_log_likelihood(states)
    )


def test_what_is_too_large_is_refused():
    pairs = [[(a, "==", 1), (b, "==", 1)] for a in range(40) for b in range(a)]
    model = LogLinearMarkovNetwork(pairs, np.ones(len(pairs)), [2] * 40)
    with pytest.raises(ValueError, match="Exact inference needs a table of"):
        model.log_partition()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.score([[0, 2]]), "Column 1 holds 2, which is no known state"),
        (lambda m: m.score([[0, 0.5]]), "must be integers; column 1 holds 0.5"),
        (lambda m: m.score([[0, np.nan]]), "contains NaN: column 1"),
        (lambda m: m.score([[0, -1]]), "between 0 and"),
        (lambda m: m.score([[0, 1, 1]]), "must have 2 columns"),
        (lambda m: m.conditional_marginals([[0, 1]], [2]), "columns from 0 to 1"),
        (lambda m: m.conditional_marginals([[0, 1]], [0], "vb"), "method must be one of"),
        (lambda m: m.sample(0), "at least 1"),
        (lambda m: LogLinearMarkovNetwork([[(0, "=", 1)]], [1.0], [2]), "A literal is"),
        (lambda m: LogLinearMarkovNetwork([[(3, "==", 1)]], [1.0], [2]), "beyond the 1"),
        (lambda m: LogLinearMarkovNetwork([[(0, "==", 2)]], [1.0], [2]), "2 states has not"),
        (lambda m: LogLinearMarkovNetwork([[(0, "==", 1)]], [np.inf], [2]), "finite"),
        (lambda m: LogLinearMarkovNetwork([[(0, "==", 1)]], [1.0, 2.0], [2]), "one number a"),
        (
            lambda m: LogLinearMarkovNetwork([[(0, "==", 1), (0, "==", 0)]], [1.0], [2]),
            "No row can match",
        ),
        (lambda m: ncmll(m, [[0, 1]], n_sets=5), "n_sets"),
    ],
)
def test_bad_input_is_met_by_a_sentence(call, words):
    model = LogLinearMarkovNetwork([[(0, "==", 1), (1, "==", 1)]], [1.0], [2, 2])
    with pytest.raises(ValueError, match=words):
        call(model)
