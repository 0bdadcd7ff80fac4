"""Junction trees: running intersection, chordal cover, and treewidth against brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest

from octavo.engine.graphs.junction_trees import elimination_cliques, junction_forest, members


def random_graph(n, chance, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < chance, 1)
    return upper | upper.T


def best_width(adjacency):
    """The smallest width over all orders of elimination."""
    n = len(adjacency)
    best = n
    for order in itertools.permutations(range(n)):
        graph = nx.from_numpy_array(adjacency)
        width = 0
        for v in order:
            around = list(graph[v])
            width = max(width, len(around))
            graph.add_edges_from(itertools.combinations(around, 2))
            graph.remove_node(v)
        best = min(best, width)
    return best


@pytest.mark.parametrize("heuristic", ["min_fill", "min_degree"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("chance", [0.1, 0.3, 0.6])
def test_clusters_cover_and_intersections_run(heuristic, seed, chance):
    n = 14
    adjacency = random_graph(n, chance, seed)
    tree = junction_forest(adjacency, heuristic)
    assert all(
        any({i, j} <= cluster for cluster in tree.clusters) for i, j in np.argwhere(adjacency)
    )
    skeleton = nx.Graph(tree.edges)
    skeleton.add_nodes_from(range(len(tree.clusters)))
    assert nx.is_forest(skeleton)
    graph = nx.from_numpy_array(adjacency)
    assert nx.number_connected_components(skeleton) == nx.number_connected_components(graph)
    for v in range(n):
        homes = [c for c, cluster in enumerate(tree.clusters) if v in cluster]
        assert homes
        assert nx.is_connected(skeleton.subgraph(homes))
    for (a, b), separator in zip(tree.edges, tree.separators, strict=True):
        assert separator == tree.clusters[a] & tree.clusters[b] != frozenset()
    chordal = nx.Graph()
    for cluster in tree.clusters:
        chordal.add_nodes_from(cluster)
        chordal.add_edges_from(itertools.combinations(cluster, 2))
    assert nx.is_chordal(chordal)
    assert set(tree.clusters) == {frozenset(c) for c in nx.find_cliques(chordal)}


@pytest.mark.parametrize("seed", range(5))
def test_width_is_near_the_best(seed):
    adjacency = random_graph(6, 0.5, seed)
    found, least = junction_forest(adjacency).width, best_width(adjacency)
    assert least <= found <= least + 1


def test_chordal_graphs_need_no_fill():
    cycle_with_chord = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    tree = junction_forest(nx.to_numpy_array(cycle_with_chord, nodelist=range(4)) > 0)
    assert set(tree.clusters) == {frozenset({0, 1, 2}), frozenset({0, 2, 3})}
    assert tree.separators == (frozenset({0, 2}),)
    assert tree.width == 2


def test_fill_counts_stay_right_while_vertices_go():
    """The next vertex is always one of least fill, recounted from the graph itself."""
    adjacency = random_graph(16, 0.25, 3)
    order, cliques = elimination_cliques(adjacency)
    graph = nx.from_numpy_array(adjacency)

    def fill(v):
        return sum(not graph.has_edge(a, b) for a, b in itertools.combinations(graph[v], 2))

    for v, clique in zip(order, cliques, strict=True):
        assert fill(v) == min(fill(u) for u in graph)
        assert set(members(clique)) == {v, *graph[v]}
        graph.add_edges_from(itertools.combinations(list(graph[v]), 2))
        graph.remove_node(v)


def test_no_vertices_and_no_links():
    assert junction_forest(np.zeros((0, 0), dtype=bool)).clusters == ()
    lonely = junction_forest(np.zeros((3, 3), dtype=bool))
    assert len(lonely.clusters) == 3
    assert lonely.edges == ()
