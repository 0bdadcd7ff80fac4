"""Learned networks: optima, spans of features, recovery, tables of all kinds."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from octavo.graphical import (
    BLMMarkovNetwork,
    DellaPietraMarkovNetwork,
    DTPlusL1MarkovNetwork,
    DTSLMarkovNetwork,
    L1MarkovNetwork,
    LogLinearMarkovNetwork,
)
from octavo.graphical.log_linear.conjunctions import as_parts
from octavo.graphical.log_linear.pseudo_likelihood import (
    PseudoLikelihood,
    fit_weights,
    flat_plan,
    weighted_rows,
)
from octavo.graphical.log_linear_learners.feature_search import (
    best_weight,
    change_of,
    feature_terms,
    search_state,
    value_differences,
)
from octavo.graphical.log_linear_learners.tree_learning import grow_trees, tree_plan

FIXED = {"kappa": 0.1, "features": "prune", "weight_sd": 1.0}


def noisy_xor(seed=0, n=600, d=5):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d))
    X[:, 3] = (X[:, 0] ^ X[:, 1]) ^ (rng.random(n) < 0.1)
    X[:, 4] = X[:, 2] ^ (rng.random(n) < 0.2)
    return X


def three_states(seed=0, n=400):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 4))
    X[:, 3] = np.where(rng.random(n) < 0.8, (X[:, 0] + X[:, 1]) % 3, X[:, 3])
    return X


@pytest.mark.parametrize("method", ["default", "prune", "prune-3"])
@pytest.mark.parametrize("table", [noisy_xor, three_states])
def test_changes_of_trees_are_those_of_their_features(method, table):
    """The pseudo-likelihood by leaves is the one by single features, and so is its gradient."""
    X = table().astype(np.int32)
    rows = weighted_rows(X, X.max(axis=0) + 1)
    plan = tree_plan(grow_trees(rows, 1.0, 1.0, 10), method, rows.cardinalities)
    flat = flat_plan(plan.features, rows.cardinalities)
    assert flat.features == plan.features
    weights = np.random.default_rng(0).normal(size=len(plan.features))
    by_trees, by_features = PseudoLikelihood(rows, plan), PseudoLikelihood(rows, flat)
    assert by_trees.n_changes < by_features.n_changes
    one, other = by_trees(weights), by_features(weights)
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    np.testing.assert_allclose(one[1], other[1], atol=1e-9)
    model = LogLinearMarkovNetwork(plan.features, weights, rows.cardinalities)
    assert model.pseudo_log_likelihood(X).sum() == pytest.approx(one[0], rel=1e-12)


def test_threads_change_no_digit():
    rows = weighted_rows(noisy_xor().astype(np.int32), np.full(5, 2))
    plan = tree_plan(grow_trees(rows, 1.0, 1.0, 10), "prune", rows.cardinalities)
    weights = np.random.default_rng(0).normal(size=len(plan.features))
    alone, together = (PseudoLikelihood(rows, plan, jobs)(weights) for jobs in (1, 2))
    assert alone[0] == together[0]
    np.testing.assert_array_equal(alone[1], together[1])


def test_weights_are_the_optimum_of_an_independent_solver():
    X = noisy_xor(n=200)
    network = DTSLMarkovNetwork(**FIXED).fit(X)
    assert network.gradient_norm_ < 1e-6

    def cost(w):
        model = LogLinearMarkovNetwork(network.features_, w, [2] * 5)
        value = -model.pseudo_log_likelihood(X).sum() + 0.5 * w @ w
        return value / len(X), (-model.gradient(X) + w) / len(X)

    value, slope = cost(network.weights_)
    assert np.abs(slope).max() < 1e-6
    assert network.objective_ == pytest.approx(value, rel=1e-12)
    peer = minimize(cost, np.zeros(len(network.weights_)), jac=True, method="CG", tol=1e-6)
    np.testing.assert_allclose(network.weights_, peer.x, atol=1e-3)


def test_pairwise_weights_match_the_moments_of_the_pseudo_likelihood():
    """Without a prior, matched pairs are what the conditionals expect; independence gives 0."""
    rng = np.random.default_rng(1)
    listed = np.array([[a, b] for a in (0, 1) for b in (0, 1)])
    X = np.repeat(listed, [20, 30, 20, 30], axis=0)  # independent to the last row
    plan = flat_plan(
        [[(0, "==", 1)], [(1, "==", 1)], [(0, "==", 1), (1, "==", 1)]], np.array([2, 2])
    )
    rows = weighted_rows(X.astype(np.int32), np.array([2, 2]))
    fit = fit_weights(PseudoLikelihood(rows, plan), 1e6, tol=1e-10, start=rng.normal(size=3))
    np.testing.assert_allclose(fit.x, [0.0, np.log(60 / 40), 0.0], atol=1e-6)


def test_more_features_fit_the_training_rows_no_worse():
    X = noisy_xor(n=300)
    loose = {"weight_sd": 1e3, "tol": 1e-7, "max_iter": 5000}
    default = DTSLMarkovNetwork(0.1, features="default", **loose).fit(X).objective_
    prune = DTSLMarkovNetwork(0.1, features="prune", **loose).fit(X).objective_
    l1 = L1MarkovNetwork(C=0.1, **loose).fit(X).objective_
    both = DTPlusL1MarkovNetwork(kappa=0.1, features="prune", C=0.1, **loose).fit(X).objective_
    assert prune <= default + 1e-5
    assert both <= min(prune, l1) + 1e-5


def test_three_way_interactions_are_for_trees():
    X, held = noisy_xor(0, 800), noisy_xor(1, 800)
    trees = DTSLMarkovNetwork(random_state=0).fit(X)
    pairs = L1MarkovNetwork(random_state=0).fit(X)
    assert (0, 1) in trees.graph_.edges
    assert set(pairs.graph_.edges) == {(2, 4)}  # any two of 0, 1 and 3 are independent
    # A coin has the entropy log 2, one of two flips in five H(0.2): the mean of five columns, whose
    # standard error is 0.2 log 4 · 0.8 / √800 = 0.008. Trees know 0, 1 and 3 up to H(0.1).
    coin, fifth, tenth = (-q * np.log(q) - (1 - q) * np.log(1 - q) for q in (0.5, 0.2, 0.1))
    assert pairs.score(held) == pytest.approx(-(3 * coin + 2 * fifth) / 5, abs=4 * 0.008)
    assert trees.score(held) > pairs.score(held) + 0.5 * 3 * (coin - tenth) / 5


def test_l1_edges_are_those_of_liblinear():
    X = noisy_xor(2)
    X[:, 3] = X[:, 1] ^ (np.random.default_rng(0).random(len(X)) < 0.3)
    network = L1MarkovNetwork(C=0.05, rule="and", weight_sd=1.0, random_state=0).fit(X)
    named = np.zeros((5, 5), bool)
    for k in range(5):
        others = [j for j in range(5) if j != k]
        peer = LogisticRegression(l1_ratio=1.0, C=0.05, solver="liblinear", random_state=0)
        named[k, others] = peer.fit(X[:, others], X[:, k]).coef_[0] != 0
    np.testing.assert_array_equal(network.adjacency_, named & named.T)
    assert named.any()


def test_tuning_is_kept_and_repeats():
    X = noisy_xor(n=300)
    one, other = (DTSLMarkovNetwork(random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.weights_, other.weights_)
    scores = {k: v for k, v in one.validation_scores_.items() if k[0] != "kappa"}
    assert scores[one.feature_method_, one.weight_sd_] > max(scores.values()) - 1e-4
    rows = np.arange(0, 300, 5)
    given = DTSLMarkovNetwork(validation=rows).fit(X)
    again = DTSLMarkovNetwork(validation=rows).fit(X)
    np.testing.assert_array_equal(given.weights_, again.weights_)


def test_one_weight_alone_is_found_by_newton():
    X = three_states().astype(np.int32)
    rows = weighted_rows(X, np.full(4, 3))
    features = [((0, "==", 1),), ((3, "==", 2),)]
    state = search_state(rows, features, np.array([0.3, -0.4]))
    new = ((0, "!=", 1), (1, "==", 2), (3, "==", 2))
    terms = feature_terms(rows, new)

    def total(w):
        model = LogLinearMarkovNetwork([*features, new], [0.3, -0.4, w], [3] * 4)
        return model.pseudo_log_likelihood(X).sum()

    assert change_of(state.margins, terms, rows.weights, 0.7) == pytest.approx(
        total(0.7) - total(0)
    )
    weight, gain = best_weight(state.margins, terms, rows.weights, 2.0)
    values = [total(weight + e) - (weight + e) ** 2 / 8 for e in (-1e-3, 0.0, 1e-3)]
    assert values[1] == max(values)
    assert gain == pytest.approx(values[1] - total(0), abs=1e-8)


def test_value_differences_are_the_printed_sum():
    rows = weighted_rows(three_states().astype(np.int32), np.full(4, 3))
    X = np.repeat(rows.codes, rows.weights, axis=0)
    from octavo.graphical.log_linear_learners.feature_search import pair_counts

    feature = ((0, "==", 1), (1, "==", 0), (3, "==", 2))
    far = value_differences(as_parts([feature], np.full(4, 3)), pair_counts(rows), np.full(4, 3), 2)

    def p(c, h, k, v):
        return np.mean(X[X[:, k] == v, c] == h)

    for place, (k, _, v) in enumerate(feature):
        for u in range(3):
            expected = sum(
                (p(c, h, k, v) - p(c, h, k, u)) ** 2
                for c, _, _ in feature
                if c != k
                for h in range(3)
            )
            assert far[place, u] == pytest.approx(expected)


def test_generalising_never_lowers_the_score():
    X = noisy_xor(n=250)
    start = DTSLMarkovNetwork(**FIXED).fit(X)
    cost = 1e-3
    found = BLMMarkovNetwork(alpha=cost, **FIXED).fit(X)
    before = -start.objective_ - cost * sum(map(len, start.features_))
    after = -found.objective_ - cost * sum(map(len, found.features_))
    assert after > before
    assert found.n_initial_features_ == len(start.features_)
    examples = BLMMarkovNetwork("examples", max_sweeps=2).fit(X)
    assert examples.n_initial_features_ == len(np.unique(X, axis=0))
    assert max(map(len, examples.features_)) <= 5


def test_induction_adds_the_best_pair_first():
    X = noisy_xor(n=300)
    network = DellaPietraMarkovNetwork(3).fit(X)
    assert {k for k, _, _ in network.features_[10]} == {2, 4}
    assert len(network.gains_) <= 3
    assert network.gains_[0] > 10


def test_tables_of_all_kinds_are_one_table():
    X = noisy_xor(n=200)
    plain = DTSLMarkovNetwork(**FIXED).fit(X)
    frame = pd.DataFrame({f"c{k}": pd.Categorical(X[:, k], categories=[0, 1]) for k in range(5)})
    words = pd.DataFrame({f"c{k}": np.array(["no", "yes"])[X[:, k]] for k in range(5)})
    for table in (X.astype(bool), X.astype(np.float32), sp.csr_array(X), sp.csr_matrix(X), frame):
        other = DTSLMarkovNetwork(**FIXED).fit(table)
        np.testing.assert_array_equal(other.weights_, plain.weights_)
        assert other.score(table) == plain.score(X)
    named = DTSLMarkovNetwork(**FIXED).fit(words)
    np.testing.assert_array_equal(named.weights_, plain.weights_)
    assert named.categories_[0] == ("no", "yes")
    words.loc[0, "c1"] = None
    assert named.impute(words, random_state=0).shape == (200, 5)
    with pytest.raises(ValueError, match="unknown states"):
        named.score(words.fillna("maybe"))


@pytest.mark.filterwarnings("ignore:Weights not converged")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X[:15], "at least 20 rows"),
        (lambda X: X + 0.5, "must be integers"),
        (lambda X: np.where(X == 1, np.nan, X), "NaN"),
        (lambda X: X - 1, "between 0 and"),
        (lambda X: X * 100_000, "between 0 and"),
        (lambda X: 2 * sp.csr_array(X), "zeros and ones"),
        (lambda X: X[0], "2D array"),
    ],
)
def test_bad_tables(change, words):
    with pytest.raises(ValueError, match=words):
        DTSLMarkovNetwork(**FIXED).fit(change(noisy_xor(n=100)))


def test_a_constant_column_is_warned_of_and_has_no_edge():
    X = noisy_xor(n=200)
    X[:, 2] = 1
    with pytest.warns(UserWarning, match="Constant columns"):
        network = DTSLMarkovNetwork(**FIXED).fit(X)
    assert not network.adjacency_[2].any()
    with pytest.raises(ValueError, match="no known state"):
        network.score(X + 1)


def test_too_few_iterations_are_said():
    with pytest.warns(ConvergenceWarning, match="gradient is"):
        DTSLMarkovNetwork(**FIXED, max_iter=2).fit(noisy_xor())
