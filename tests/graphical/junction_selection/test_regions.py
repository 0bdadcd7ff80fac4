"""Region graphs: the worked example of the paper, and which edges belong where."""

from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.graphical import JunctionTree, junction_tree, merge_clusters, region_graph
from octavo.graphical.junction_selection.regions import own_edges
from tests.graphical.junction_selection.test_clusters import random_graph


def sets(*groups):
    return {frozenset(group) for group in groups}


CLUSTERS = [{1, 3, 5}, {2, 3, 5, 6}, {2, 3, 4, 6}, {3, 4, 6, 7}, {3, 5, 6, 8}, {5, 6, 8, 9}]


def figure_4():
    edges = [(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)]
    clusters = tuple(frozenset(cluster) for cluster in CLUSTERS)
    return JunctionTree(clusters, tuple(clusters[a] & clusters[b] for a, b in edges), tuple(edges))


def test_figure_4():
    regions = region_graph(figure_4())
    assert [set(row) for row in regions.rows] == [
        sets(*CLUSTERS),
        sets({3, 5}, {3, 5, 6}, {2, 3, 6}, {3, 4, 6}, {5, 6, 8}),
        sets({3, 5}, {5, 6}, {3, 6}),
    ]
    assert regions.children[0, frozenset({2, 3, 4, 6})] == sets({2, 3, 6}, {3, 4, 6})
    assert regions.ancestors[0, frozenset({5, 6, 8, 9})] == set()
    assert regions.ancestors[1, frozenset({3, 5, 6})] == sets({3, 5, 6, 8}, {2, 3, 5, 6})
    assert regions.ancestors[2, frozenset({3, 6})] == sets(
        {3, 5, 6}, {2, 3, 6}, {3, 4, 6}, {2, 3, 5, 6}, {2, 3, 4, 6}, {3, 4, 6, 7}, {3, 5, 6, 8}
    )
    assert regions.closure[1, frozenset({3, 4, 6})] == {2, 3, 4, 6, 7}
    assert regions.closure[2, frozenset({3, 6})] == {2, 3, 4, 5, 6, 7, 8}
    H = np.zeros((10, 10), dtype=bool)
    for cluster in CLUSTERS:
        for i, j in combinations(cluster, 2):
            H[i, j] = H[j, i] = True

    def own(row, region):
        key = row, frozenset(region)
        return {tuple(edge) for edge in own_edges(key[1], regions.children[key], H).tolist()}

    assert own(1, {5, 6, 8}) == {(5, 8), (6, 8)}
    assert own(1, {3, 5, 6}) == set()
    assert own(0, {1, 3, 5}) == {(1, 3), (1, 5)}


def test_the_tree_of_the_chordal_graph_has_its_regions():
    graph = nx.Graph()
    for cluster in CLUSTERS:
        graph.add_edges_from(combinations(cluster, 2))
    rows = region_graph(junction_tree(graph)).rows
    assert [set(row) for row in rows] == [set(row) for row in region_graph(figure_4()).rows]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_closures_are_unions_of_clusters_and_edges_of_a_row_are_apart(seed, most):
    H = random_graph(seed)
    tree = merge_clusters(junction_tree(H), most)
    regions = region_graph(tree)
    for level, row in enumerate(regions.rows):
        seen: set = set()
        for region in row:
            around = [cluster for cluster in tree.clusters if region <= cluster]
            assert regions.closure[level, region] == frozenset().union(*around)
            mine = own_edges(region, regions.children[level, region], H)
            edges = {tuple(edge) for edge in mine.tolist()}
            assert not edges & seen
            seen |= edges
