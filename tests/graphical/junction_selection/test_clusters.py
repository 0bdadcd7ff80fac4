"""Junction trees, merged clusters and marginal graphs."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.graphical import junction_tree, marginal_graph, merge_clusters


def random_graph(seed, low=4, high=12, density=0.3):
    rng = np.random.RandomState(seed)
    n = rng.randint(low, high + 1)
    upper = np.triu(rng.uniform(size=(n, n)) < density, 1)
    return upper | upper.T


def holds(tree, adjacency):
    """Every edge in a cluster, separators are intersections, and running intersection."""
    forest = nx.Graph()
    forest.add_nodes_from(range(len(tree.clusters)))
    forest.add_edges_from(tree.edges)
    assert nx.is_forest(forest)
    for (a, b), separator in zip(tree.edges, tree.separators, strict=True):
        assert separator == tree.clusters[a] & tree.clusters[b]
    for i, j in np.argwhere(adjacency):
        assert any({i, j} <= cluster for cluster in tree.clusters)
    for v in range(len(adjacency)):
        with_v = [a for a, cluster in enumerate(tree.clusters) if v in cluster]
        assert nx.is_connected(forest.subgraph(with_v))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 4), st.sampled_from(["min_fill", "min_degree"]))
def test_trees_stay_junction_trees_when_merged(seed, most, heuristic):
    adjacency = random_graph(seed)
    tree = junction_tree(adjacency, heuristic)
    holds(tree, adjacency)
    merged = merge_clusters(tree, most)
    holds(merged, adjacency)
    assert all(len(separator) <= most for separator in merged.separators)


def test_names_of_nodes_stay():
    graph = nx.relabel_nodes(nx.cycle_graph(4), dict(enumerate("abcd")))
    assert {len(cluster) for cluster in junction_tree(graph).clusters} == {3}
    assert frozenset().union(*junction_tree(graph).clusters) == frozenset("abcd")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_marginal_graph_by_paths(seed):
    adjacency = random_graph(seed, 4, 8)
    rng = np.random.RandomState(seed)
    graph = nx.from_numpy_array(adjacency)
    kept = sorted(rng.permutation(len(adjacency))[: rng.randint(2, len(adjacency) + 1)].tolist())
    expected = set()
    for i, j in combinations(kept, 2):
        inner = graph.subgraph([v for v in graph if v in (i, j) or v not in kept])
        if nx.has_path(inner, i, j):
            expected.add((i, j))
    assert {tuple(sorted(edge)) for edge in marginal_graph(graph, kept).edges} == expected


def test_figure_13():
    # Appendix A: (3, 4) is no edge of the marginal graph, (4, 5) is, by the path 4, 8, 5.
    graph = nx.Graph([(1, 2), (1, 3), (2, 4), (2, 5), (4, 8), (8, 5), (3, 6), (6, 7)])
    found = marginal_graph(graph, [1, 2, 3, 4, 5])
    assert found.has_edge(4, 5)
    assert not found.has_edge(3, 4)


def test_bad_input():
    with pytest.raises(ValueError, match="symmetric"):
        junction_tree(np.array([[0, 1], [0, 0]]))
    with pytest.raises(ValueError, match="heuristic"):
        junction_tree(np.zeros((2, 2)), "best")
    with pytest.raises(ValueError, match="no node of the graph"):
        marginal_graph(nx.path_graph(3), [0, 7])
    with pytest.raises(ValueError, match="max_separator"):
        merge_clusters(junction_tree(nx.path_graph(3)), -1)
