"""Spanning forests against brute force and networkx; random trees against their number."""

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from octavo.engine.graphs.spanning import maximum_forest, random_tree, rooted_forest


def symmetric(n, seed, levels=None):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n, n)) if levels is None else rng.integers(0, levels, (n, n))
    return np.triu(weights, 1) + np.triu(weights, 1).T.astype(float)


def heaviest_first(weights):
    """Kruskal as in a textbook: all pairs, the heaviest first, ties by number."""
    n = len(weights)
    pairs = sorted(itertools.combinations(range(n), 2), key=lambda e: (-weights[e], e))
    tree = nx.utils.UnionFind(range(n))
    kept = []
    for i, j in pairs:
        if tree[i] != tree[j]:
            tree.union(i, j)
            kept.append((i, j))
    return kept


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("levels", [None, 1, 2, 5])
def test_edges_and_order_are_kruskals(seed, levels):
    weights = symmetric(12, seed, levels)
    assert [tuple(edge) for edge in maximum_forest(weights)] == heaviest_first(weights)


@pytest.mark.parametrize("seed", range(3))
def test_every_beginning_is_the_best_forest_of_its_size(seed):
    n = 5
    weights = symmetric(n, seed)
    edges = maximum_forest(weights)
    pairs = list(itertools.combinations(range(n), 2))
    for k in range(1, n):
        best = max(
            sum(weights[e] for e in chosen)
            for chosen in itertools.combinations(pairs, k)
            if nx.is_forest(nx.Graph(chosen))
        )
        assert sum(weights[tuple(e)] for e in edges[:k]) == pytest.approx(best)


def test_floor_and_forbidden_pairs_leave_a_forest():
    weights = np.full((5, 5), -np.inf)
    for i, j, w in [(0, 1, 2.0), (1, 2, -1.0), (3, 4, 0.5)]:
        weights[i, j] = weights[j, i] = w
    assert maximum_forest(weights).tolist() == [[0, 1], [3, 4], [1, 2]]
    assert maximum_forest(weights, floor=0).tolist() == [[0, 1], [3, 4]]
    assert maximum_forest(np.zeros((1, 1))).shape == (0, 2)


def test_random_trees_are_uniform():
    draws, random = 3200, np.random.RandomState(0)
    seen = Counter(tuple(sorted(map(tuple, random_tree(4, random).tolist()))) for _ in range(draws))
    assert len(seen) == 16  # 4 ** 2 labelled trees
    expected = draws / 16
    assert sum((c - expected) ** 2 / expected for c in seen.values()) < 37.7  # 0.999 of chi2(15)
    for n in (1, 2, 9):
        assert nx.is_tree(nx.empty_graph(n)) or nx.is_tree(
            nx.Graph(random_tree(n, random).tolist())
        )


def test_roots_come_first_and_parents_are_neighbours():
    parent, order = rooted_forest(6, np.array([[4, 1], [1, 2], [0, 5]]))
    assert parent.tolist() == [-1, -1, 1, -1, 1, 0]
    place = np.argsort(order)
    assert all(place[parent[v]] < place[v] for v in range(6) if parent[v] >= 0)
