"""Probability trees against brute force, scikit-learn, and the paper's Figure 1."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from octavo.graphical import (
    DependencyNetwork,
    LogLinearMarkovNetwork,
    ProbabilityTree,
    tree_features,
)
from octavo.graphical.log_linear.trees import closed_tree, split_cost


def figure_1():
    """Return the tree of Figure 1: X1, and X2 where X1 is false, predict X4."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (2000, 4))
    chance = np.where(X[:, 0] == 1, 0.9, np.where(X[:, 1] == 1, 0.5, 0.1))
    X[:, 3] = rng.random(2000) < chance
    return ProbabilityTree(kappa=1e-4).fit(X, target=3)


T1, F1, T2, F2 = (0, "==", 1), (0, "==", 0), (1, "==", 1), (1, "==", 0)
T4, F4 = (3, "==", 1), (3, "==", 0)
DEFAULT = {(T1, T4), (T1, F4), (F1, T2, T4), (F1, T2, F4), (F1, F2, T4), (F1, F2, F4)}
ADDED = {(T4,), (F4,), (F1, T4), (F1, F4)}
NONZERO = {(T1, T4), (T1,), (T2, T4), (T2,), (T4,)}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("default", DEFAULT),
        ("prune", DEFAULT | ADDED),
        ("prune-2", {f for f in DEFAULT | ADDED if len(f) <= 2}),
        ("prune-5", DEFAULT | ADDED),
        ("nonzero", NONZERO),
    ],
)
def test_figure_1(method, expected):
    made = tree_features(figure_1(), method)
    assert len(made) == len(set(made))
    assert set(made) == expected
    assert [len(DEFAULT), len(DEFAULT | ADDED), len(NONZERO)] == [6, 10, 5]


def leaf_likelihood(y, n_states, prior):
    counts = np.bincount(y, minlength=n_states)
    return float(counts @ np.log((counts + prior) / (counts.sum() + n_states * prior)))


def test_the_root_is_the_best_split_of_all():
    rng = np.random.default_rng(1)
    cards = [3, 2, 4, 3]
    X = np.column_stack([rng.integers(0, c, 300) for c in cards])
    X[:, 3] = np.where(rng.random(300) < 0.6, X[:, 2] % 3, X[:, 3])
    tree = ProbabilityTree(kappa=0.5, leaf_prior=0.7).fit(X, target=3).tree_
    whole = leaf_likelihood(X[:, 3], 3, 0.7)
    gains = {}
    for k in range(3):
        for v in range(cards[k]):
            yes = X[:, k] == v
            if 10 <= yes.sum() <= 290:
                parts = [leaf_likelihood(X[side, 3], 3, 0.7) for side in (yes, ~yes)]
                gains[k, v] = sum(parts) - whole
    best = max(gains, key=gains.get)
    assert (tree.variable[0], tree.value[0]) == best
    assert tree.gain[0] == pytest.approx(gains[best], abs=1e-9)


def test_counts_of_children_are_those_of_their_rows():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (400, 5))
    X[:, 4] = (X[:, 0] + (X[:, 1] == 2) + (rng.random(400) < 0.2)) % 3
    tree = ProbabilityTree(kappa=1.0, min_samples_leaf=5).fit(X, target=4).tree_
    rows = {0: np.arange(400)}
    for node, k in enumerate(tree.variable):
        expected = np.bincount(X[rows[node], 4], minlength=3)
        np.testing.assert_array_equal(tree.counts[node], expected)
        if k >= 0:
            passes = X[rows[node], k] == tree.value[node]
            rows[tree.yes[node]], rows[tree.no[node]] = rows[node][passes], rows[node][~passes]
            assert min(passes.sum(), (~passes).sum()) >= 5
    assert tree.variable.size > 10


def test_splits_are_those_of_information_gain_when_nothing_is_smoothed():
    """With κ = 1 and a prior that vanishes the tree is scikit-learn's by entropy."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (500, 6))
    X[:, 5] = rng.random(500) < np.array([0.1, 0.4, 0.8, 0.6])[2 * X[:, 0] + X[:, 1]]
    ours = ProbabilityTree(kappa=1.0, leaf_prior=1e-9, min_samples_leaf=40).fit(X, target=5)
    peer = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=40).fit(X[:, :5], X[:, 5])
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X[:, :5]), atol=1e-8)


def test_a_tiny_kappa_leaves_the_marginal():
    X = figure_1_rows()
    tree = ProbabilityTree(kappa=1e-300).fit(X, target=3)
    assert tree.n_leaves_ == 1
    share = (X[:, 3].sum() + 1) / (len(X) + 2)
    assert tree.predict_proba(X[:1])[0, 1] == pytest.approx(share)


def figure_1_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1000, 4))
    X[:, 3] = X[:, 0] ^ (rng.random(1000) < 0.2)
    return X


def test_closing_the_largest_tree_is_growing_a_smaller_one():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (600, 8))
    X[:, 7] = (X[:, 0] & X[:, 1]) ^ (rng.random(600) < 0.2)
    large = ProbabilityTree(kappa=1.0).fit(X, target=7).tree_
    for kappa in (0.1, 0.01, 1e-4):
        small = ProbabilityTree(kappa=kappa).fit(X, target=7)
        closed = closed_tree(large, split_cost(kappa, 2))
        assert closed.variable.size == small.tree_.variable.size
        assert sorted(closed.gain) == sorted(small.tree_.gain)


def test_default_features_with_log_probabilities_are_the_tree():
    """One tree as a log-linear model has the tree's conditional, an algebraic identity."""
    tree = figure_1()
    made = tree_features(tree, "default")
    X = np.array([[a, b, c, 0] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    logs = {}
    for feature in made:
        row = np.zeros((1, 4), int)
        for k, _, v in feature:
            row[0, k] = v
        logs[feature] = tree.predict_log_proba(row)[0, row[0, 3]]
    network = LogLinearMarkovNetwork(list(logs), list(logs.values()), [2] * 4)
    found = network.conditional_marginals(X, [3], method="exact")[:, 0]
    np.testing.assert_allclose(found, tree.predict_proba(X), atol=1e-12)


def test_a_dependency_network_is_its_trees(tmp_path):
    X = figure_1_rows()
    network = DependencyNetwork(kappa=0.01).fit(X)
    trees = [ProbabilityTree(kappa=0.01).fit(X, target=k) for k in range(4)]
    rows = np.arange(len(X))
    expected = sum(t.predict_log_proba(X)[rows, X[:, k]] for k, t in enumerate(trees))
    np.testing.assert_allclose(network.pseudo_log_likelihood(X), expected, atol=1e-12)
    marginal = network.conditional_marginals(X[:2], [3], n_iter=200, random_state=0)[:, 0]
    np.testing.assert_allclose(marginal, trees[3].predict_proba(X[:2]), atol=1e-12)
    network.save(tmp_path / "a.dn")
    again = DependencyNetwork.load(tmp_path / "a.dn")
    assert again.score(X) == network.score(X)
    with pytest.raises(ValueError, match="no log_partition"):
        network.log_partition()
    with pytest.raises(ValueError, match="dependency network"):
        LogLinearMarkovNetwork.load(tmp_path / "a.dn")


def test_kappa_is_chosen_by_held_out_rows():
    X = figure_1_rows()
    network = DependencyNetwork(random_state=0).fit(X)
    scores = network.validation_scores_
    assert max(scores, key=scores.get) == ("kappa", network.kappa_)
    assert len(scores) == 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tree_features(figure_1(), "leaves"), "features of a tree are"),
        (lambda: tree_features(figure_1(), "prune-x"), "whole number"),
        (lambda: ProbabilityTree().fit(np.eye(30, dtype=int), target=40), "target must"),
        (lambda: DependencyNetwork().fit(np.zeros((8, 3), int) + [[0, 1, 0]]), "at least 20 rows"),
    ],
)
@pytest.mark.filterwarnings("ignore:Constant columns")
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
