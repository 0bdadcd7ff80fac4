"""Forests of largest weight beside brute force, networkx and a mixed integer program."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.graphs.spanning import random_tree
from octavo.graphical import chow_liu_tree, t_restricted_forest, tree_partition


def random_weights(d, seed):
    W = np.random.RandomState(seed).normal(size=(d, d))
    return W + W.T


def weight_of(graph):
    return sum(w for _, _, w in graph.edges(data="weight"))


def largest_tree(edges):
    graph = nx.Graph(list(edges))
    return max(
        (graph.subgraph(c).number_of_edges() for c in nx.connected_components(graph)), default=0
    )


def best_weight(listed, t):
    """Brute force over all subsets of edges that are forests with trees of at most t edges."""
    best = 0.0
    for k in range(1, len(listed) + 1):
        for some in itertools.combinations(listed, k):
            graph = nx.Graph([(u, v) for u, v, _ in some])
            if nx.is_forest(graph) and largest_tree(graph.edges) <= t:
                best = max(best, sum(w for _, _, w in some))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_the_tree_is_networkxs_and_its_beginnings_are_best(seed):
    W = random_weights(5, seed)
    tree = chow_liu_tree(W)
    graph = nx.from_numpy_array(W - W.min() + 1)
    ours = {frozenset(edge) for edge in tree.edges}
    assert ours == {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
    listed = [(i, j, W[i, j]) for i, j in itertools.combinations(range(5), 2)]
    weights = sorted((w for _, _, w in tree.edges(data="weight")), reverse=True)
    for k in (1, 2, 3):
        forests = (
            sum(w for _, _, w in some)
            for some in itertools.combinations(listed, k)
            if nx.is_forest(nx.Graph([(u, v) for u, v, _ in some]))
        )
        assert sum(weights[:k]) == pytest.approx(max(forests))


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 8), t=st.integers(0, 5), seed=st.integers(0, 10_000))
def test_partition_equals_brute_force(n, t, seed):
    random = np.random.RandomState(seed)
    tree = nx.Graph()
    tree.add_nodes_from(range(n))
    for u, v in random_tree(n, random).tolist():
        tree.add_edge(u, v, weight=random.normal(loc=0.5))
    kept = tree_partition(tree, t)
    assert set(kept) <= set(tree.edges)
    assert largest_tree(kept) <= t
    listed = list(tree.edges(data="weight"))
    assert sum(tree.edges[e]["weight"] for e in kept) == pytest.approx(best_weight(listed, t))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("t", [1, 2, 3])
def test_restricted_forests_beside_the_best(seed, t):
    W = random_weights(5, 100 + seed)
    listed = [(i, j, W[i, j]) for i, j in itertools.combinations(range(5), 2) if W[i, j] > 0]
    best = best_weight(listed, t)
    exact = t_restricted_forest(W, t, exact=True)
    assert nx.is_forest(exact)
    assert largest_tree(exact.edges) <= t
    assert weight_of(exact) == pytest.approx(best)
    greedy = t_restricted_forest(W, t)
    assert nx.is_forest(greedy)
    assert largest_tree(greedy.edges) <= t
    assert weight_of(greedy) >= best / 4  # Theorem 16
    if t == 1:
        assert weight_of(greedy) == pytest.approx(best)


def test_a_large_t_gives_the_positive_part_of_the_tree():
    W = random_weights(30, 0)
    forest = t_restricted_forest(W, 29)
    tree = [(u, v) for u, v, w in chow_liu_tree(W).edges(data="weight") if w > 0]
    assert sorted(forest.edges) == sorted(tree)


def test_ties_and_forbidden_pairs():
    W = np.ones((4, 4))
    assert list(chow_liu_tree(W).edges) == [(0, 1), (0, 2), (0, 3)]
    W[0, 1:] = W[1:, 0] = -np.inf
    assert list(chow_liu_tree(W).edges) == [(1, 2), (1, 3)]
    assert t_restricted_forest(-np.ones((4, 4)), 3).number_of_edges() == 0
    assert t_restricted_forest(np.ones((4, 4)), 0).number_of_edges() == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: chow_liu_tree([[0, 1], [2, 0]]), "symmetric"),
        (lambda: chow_liu_tree([[0, np.nan], [np.nan, 0]]), "NaN"),
        (lambda: chow_liu_tree([[0, 1, 2], [1, 0, 2]]), "square"),
        (lambda: t_restricted_forest(np.ones((3, 3)), -1), "at least 0"),
        (lambda: t_restricted_forest(np.ones((3, 3)), 1.5), "at least 0"),
        (lambda: tree_partition(nx.cycle_graph(3), 1), "no cycle"),
    ],
)
def test_bad_input_is_met_by_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
