"""Label sets that are certified are the best of all, and bounds bound."""

import itertools

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.engine.graphs.spanning import random_tree, rooted_forest
from octavo.structured import decode_over_trees, k_best_tree
from octavo.structured.label_trees.decoding import decode
from octavo.structured.label_trees.parities import best_of_all, label_pairs, parities


def every_set(n):
    return np.array(list(itertools.product((0, 1), repeat=n)))


@pytest.mark.parametrize("bonus", [0.0, 0.7])
@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_searches_agree_with_enumeration(n, bonus):
    random = np.random.RandomState(n)
    pairs, sets = label_pairs(n), every_set(n)
    coefficients = random.standard_normal((80, n + n * (n - 1) // 2)) * 0.4
    truth = random.randint(0, 2, (80, n))
    totals = coefficients @ parities(sets, pairs).T.astype(float)
    totals += bonus * (sets[None] != truth[:, None]).any(axis=2)
    best = totals.max(axis=1)
    labels, values = best_of_all(coefficients, pairs, bonus, truth)
    assert_allclose(values, best, atol=1e-10)
    for K in (1, n, 5 * n, "auto"):
        found = decode(coefficients, pairs, K, bonus=bonus, truth=truth)
        assert (found.bounds >= best - 1e-9).all()
        exact = found.bounds == found.values
        assert_allclose(found.values[exact], best[exact], atol=1e-9)
        own = np.einsum("kf,kf->k", coefficients, parities(found.labels, pairs))
        own += bonus * (found.labels != truth).any(axis=1)
        assert_allclose(own, found.values, atol=1e-9)
    assert exact.all()


def test_lists_certify_many_labels():
    """Beyond the labels that are enumerated; tree scores have known maxima by messages."""
    from octavo.engine.trees.messages import max_product

    random = np.random.RandomState(0)
    n, pairs = 20, label_pairs(20)
    tree = random_tree(n, random)
    coefficients = np.zeros((1, n + n * (n - 1) // 2))
    coefficients[0, :n] = random.standard_normal(n)
    J = np.zeros((n, n))
    J[tree[:, 0], tree[:, 1]] = random.standard_normal(n - 1)
    coefficients[0, n:] = J[pairs.first, pairs.second]
    found = decode(coefficients, pairs, "auto")
    parent, order = rooted_forest(n, tree)
    signs = np.array([-1.0, 1.0])
    scores = coefficients[0, :n, None, None] * np.ones((2, 1)) * signs
    for v in order[1:]:
        c = (J + J.T)[v, parent[v]]
        scores[v] += c * np.outer(signs, signs)
    assert found.bounds[0] == found.values[0]
    assert_allclose(found.values[0], max_product(parent, order, scores)[0])


@pytest.mark.parametrize("seed", range(40))
def test_certificates_over_weighted_trees_are_never_wrong(seed):
    random = np.random.RandomState(seed)
    n, n_trees = random.randint(2, 8), random.randint(1, 5)
    parents = np.array([rooted_forest(n, random_tree(n, random))[0] for _ in range(n_trees)])
    scores = random.standard_normal((n_trees, n, 2, 2))
    found = decode_over_trees(parents, scores, random.randint(1, 12))
    sets = every_set(n)
    totals = np.zeros(len(sets))
    for parent, score in zip(parents, scores):
        for v, p in enumerate(parent):
            totals += score[v, sets[:, p] if p >= 0 else 0, sets[:, v]]
    assert totals.max() <= found.bound + 1e-9
    if found.exact:
        assert_allclose(found.score, totals.max(), atol=1e-9)
    assert_allclose(totals[int(found.labels @ (1 << np.arange(n)[::-1]))], found.score, atol=1e-9)


def test_one_tree_lists_its_labellings_from_the_root():
    labels, scores = k_best_tree([1, -1], [[[0.0, 2.0], [1.0, 0.0]], [[0.5, 0.0], [9, 9]]], 10)
    assert labels.tolist() == [[1, 0], [0, 1], [0, 0], [1, 1]]
    assert scores.tolist() == [2.5, 1.0, 0.5, 0.0]


def test_number_of_trees_and_of_trees_with_an_edge():
    codes = itertools.product(range(5), repeat=3)
    trees = [nx.from_prufer_sequence(list(code)) for code in codes]
    assert len(trees) == 5**3
    assert sum(tree.has_edge(0, 1) for tree in trees) == 2 / 5 * 5**3


GOOD = np.zeros((3, 2, 2))


@pytest.mark.parametrize(
    ("parent", "scores", "K", "words"),
    [
        ([-1, 0, 1], GOOD, 0, "at least 1"),
        ([-1, 2, 1], GOOD, 1, "cycle"),
        ([1, 2, 0], GOOD, 1, "root"),
        ([-1, -1, 0], GOOD, 1, "2 roots"),
        ([-1, 0, 7], GOOD, 1, "from 0 to 2"),
        ([-1, 0], GOOD, 1, "edge_scores"),
        ([-1, 0, 1], GOOD * np.nan, 1, "NaN"),
        ([-1.5, 0, 1], GOOD, 1, "whole numbers"),
    ],
)
def test_bad_trees_are_named(parent, scores, K, words):
    with pytest.raises(ValueError, match=words):
        k_best_tree(parent, scores, K)


def test_trees_of_different_number_are_refused():
    with pytest.raises(ValueError, match="one entry per tree"):
        decode_over_trees([[-1, 0]], np.zeros((2, 2, 2, 2)), 1)
    with pytest.raises(TypeError, match="whole number"):
        k_best_tree([-1, 0, 1], GOOD, 1.5)
