"""Acyclic subsets, reductions and closures against networkx and brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest

from octavo.engine.graphs.acyclic import (
    acyclic_subset,
    larger_sides,
    redundant_edges,
    strong_components,
    topological_levels,
    transitive_closure,
)


def random_edges(n, m, seed, acyclic=False):
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, m))
    if acyclic:
        tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
    edges = np.unique(np.column_stack([tails, heads])[tails != heads], axis=0)
    names = rng.permutation(n)  # the order of the vertices is no topological one
    edges = names[edges]
    return edges[:, 0], edges[:, 1], rng


def graph(n, tails, heads):
    made = nx.DiGraph()
    made.add_nodes_from(range(n))
    made.add_edges_from(zip(tails.tolist(), heads.tolist(), strict=True))
    return made


@pytest.mark.parametrize(("n", "m"), [(2, 4), (6, 20), (30, 60), (30, 400), (150, 500)])
@pytest.mark.parametrize("seed", range(4))
def test_the_subset_is_what_one_search_per_edge_keeps(n, m, seed):
    tails, heads, rng = random_edges(n, m, seed)
    order = rng.permutation(len(tails))
    kept = acyclic_subset(n, tails, heads, order)
    slow, labels = nx.DiGraph(), strong_components(n, tails, heads)
    slow.add_nodes_from(range(n))
    inner = [e for e in order if labels[tails[e]] == labels[heads[e]]]
    expected = labels[tails] != labels[heads]
    for e in inner:
        if not nx.has_path(slow, heads[e], tails[e]):
            slow.add_edge(tails[e], heads[e])
            expected[e] = True
    np.testing.assert_array_equal(kept, expected)
    assert nx.is_directed_acyclic_graph(graph(n, tails[kept], heads[kept]))


@pytest.mark.parametrize(("n", "m"), [(1, 0), (5, 8), (40, 200), (130, 300), (1100, 2500)])
def test_reductions_closures_and_levels_are_those_of_networkx(n, m):
    tails, heads, _ = random_edges(n, m, n, acyclic=True)
    kept = ~redundant_edges(n, tails, heads)
    reference = graph(n, tails, heads)
    ours = set(zip(tails[kept].tolist(), heads[kept].tolist(), strict=True))
    assert ours == set(nx.transitive_reduction(reference).edges)
    closed = transitive_closure(n, tails, heads)
    assert set(zip(*map(np.ndarray.tolist, closed), strict=True)) == set(
        nx.transitive_closure_dag(reference).edges
    )
    order, levels = topological_levels(n, tails, heads)
    place = np.argsort(order)
    assert len(order) == n
    assert (place[tails] < place[heads]).all()
    generations = {
        v: depth for depth, of in enumerate(nx.topological_generations(reference)) for v in of
    }
    assert levels.tolist() == [generations[v] for v in range(n)]


def test_the_larger_sides_keep_half_of_the_weight():
    for seed in range(30):
        tails, heads, rng = random_edges(6, 18, seed)
        weights = rng.uniform(size=len(tails))
        kept = larger_sides(6, tails, heads, weights, rng.permutation(6))
        assert nx.is_directed_acyclic_graph(graph(6, tails[kept], heads[kept]))
        best = max(
            weights[np.argsort(p)[tails] < np.argsort(p)[heads]].sum()
            for p in itertools.permutations(range(6))
        )
        assert weights[kept].sum() >= 0.5 * weights.sum() - 1e-12
        assert weights[kept].sum() >= 0.5 * best - 1e-12


def test_a_cycle_has_no_reduction():
    with pytest.raises(ValueError, match="3 of its 4 vertices"):
        redundant_edges(4, np.array([0, 1, 2, 3]), np.array([1, 2, 0, 0]))
