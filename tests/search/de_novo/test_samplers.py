"""Proposals against their exact laws."""

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from networkx.generators.atlas import graph_atlas_g
from scipy.stats import chisquare

from octavo.data import is_connected_planar, is_hamiltonian
from octavo.search import (
    SparseVectorSampler,
    SubstituentSampler,
    UnlabeledGraphSampler,
    count_unlabeled_graphs,
)
from octavo.search.de_novo.unlabeled_graphs import (
    cycle_types,
    edge_orbits,
    most_moved,
    n_orbits,
    vertex_pairs,
)


def atlas(n):
    return [g for g in graph_atlas_g() if g.number_of_nodes() == n]


def key(graph):
    """Degrees with those of neighbours and triangles tell most small graphs apart."""
    around = nx.triangles(graph)
    return tuple(sorted((around[v], *sorted(graph.degree(u) for u in graph[v])) for v in graph))


class Classes:
    """Which graph of the atlas a graph is."""

    def __init__(self, n):
        self.graphs, self.buckets = atlas(n), {}
        for i, g in enumerate(self.graphs):
            self.buckets.setdefault(key(g), []).append(i)

    def __call__(self, graph):
        bucket = self.buckets[key(graph)]
        if len(bucket) == 1:
            return bucket[0]
        return next(i for i in bucket if nx.is_isomorphic(self.graphs[i], graph))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_every_class_is_equally_likely_by_enumeration(n):
    which, types, pairs = Classes(n), cycle_types(n), vertex_pairs(n)
    law = np.zeros(len(which.graphs))
    for moved, p in zip(types.moved, np.diff(types.cumulative, prepend=0.0)):
        orbit = edge_orbits(moved, n)
        assert orbit.max() + 1 == n_orbits(moved, n)
        for coins in itertools.product((0, 1), repeat=n_orbits(moved, n)):
            graph = nx.empty_graph(n)
            graph.add_edges_from(itertools.compress(pairs, np.array(coins)[orbit]))
            law[which(graph)] += p / 2 ** len(coins)
    np.testing.assert_allclose(law, 1.0 / len(law), rtol=1e-12)


@pytest.mark.slow
def test_draws_are_uniform_over_the_atlas():
    which, sampler, rng = Classes(7), UnlabeledGraphSampler(7), np.random.default_rng(0)
    seen = np.bincount([which(sampler(None, rng)) for _ in range(30_000)], minlength=1044)
    assert chisquare(seen).pvalue > 1e-3


def test_counts_and_what_is_left_out():
    # OEIS A000088
    known = [1, 1, 2, 4, 11, 34, 156, 1044, 12346, 274668, 12005168, 1018997864]
    assert [count_unlabeled_graphs(n) for n in range(12)] == known
    assert most_moved(7) == 7
    assert most_moved(60) < 12
    with pytest.raises(ValueError, match="at most 40"):
        count_unlabeled_graphs(41)


def test_large_graphs_are_random_graphs():
    graph = UnlabeledGraphSampler(100)(None, np.random.default_rng(0))
    # nearly all graphs have no symmetry: 4950 fair coins, standard deviation 35
    assert abs(graph.number_of_edges() - 2475) < 5 * 35.2


def test_bad_sizes():
    for wrong in (0, -1, 2.5, "x", None, 501):
        with pytest.raises(ValueError):
            UnlabeledGraphSampler(wrong)(None, np.random.default_rng(0))
    with pytest.raises(ValueError, match="Generator"):
        UnlabeledGraphSampler(3)(None, 0)


def test_published_fractions_on_the_atlas():
    graphs = atlas(7)
    assert sum(is_hamiltonian(g) for g in graphs) == 383
    assert sum(is_connected_planar(g) for g in graphs) == 646


def test_hamiltonian_by_permutations():
    for g in atlas(5):
        tours = ((0, *p) for p in itertools.permutations(range(1, 5)))
        exact = any(all(g.has_edge(t[i], t[(i + 1) % 5]) for i in range(5)) for t in tours)
        assert is_hamiltonian(g) == exact
    assert not is_hamiltonian(nx.petersen_graph())
    with pytest.raises(ValueError, match="at most 22"):
        is_hamiltonian(nx.path_graph(23))


RECIPES = np.array(
    [[0.5, 0.5, 0, 0, 0], [0.3, 0.3, 0.4, 0, 0], [0, 0, 0.2, 0.8, 0], [0.6, 0, 0.4, 0, 0]]
)


def test_moments_by_hand():
    sampler = SparseVectorSampler().fit(RECIPES)
    assert sampler.mean_count_ == 9 / 4
    np.testing.assert_allclose(sampler.first_, np.array([3, 2, 3, 1, 0]) / 9)
    # column 0 stands in rows of 2, 3 and 2 parts: 1 + 2 + 1 partners
    np.testing.assert_allclose(sampler.together_[0], [0, 2 / 4 + 0.2, 2 / 4 + 0.2, 0.2, 0])
    np.testing.assert_allclose(sampler.mode_[:2], [1.4 / 3, 0.4])
    np.testing.assert_allclose(sampler.low_[1], 0.4 - 2 * 0.1)
    for other in (1e5 * RECIPES, 1e-5 * RECIPES, sp.csr_matrix(RECIPES)):
        np.testing.assert_allclose(SparseVectorSampler().fit(other).together_, sampler.together_)


def test_vectors_are_recipes():
    sampler, rng = SparseVectorSampler().fit(RECIPES), np.random.default_rng(0)
    draws = np.array([sampler(None, rng) for _ in range(4000)])
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    assert (draws >= 0).all()
    assert not draws[:, 4].any()
    count = (draws > 0).sum(axis=1)
    # Poisson(9/4) given at least two, cut at the four columns that occur
    law = np.array([2.25**k / np.prod(range(1, k + 1)) for k in range(2, 30)])
    assert abs((count == 2).mean() - law[0] / law.sum()) < 4 * np.sqrt(0.25 / 4000)


def test_first_pair_follows_the_component_graph():
    sampler = SparseVectorSampler().fit(RECIPES)
    sampler.mean_count_ = 2.0
    rng = np.random.default_rng(0)
    pairs = Counter()
    for _ in range(6000):
        found = np.flatnonzero(sampler(None, rng))
        if len(found) == 2:
            pairs[tuple(found.tolist())] += 1
    tau = sampler.together_ / sampler.together_.sum(axis=1, keepdims=True)
    law = {
        (i, j): sampler.first_[i] * tau[i, j] + sampler.first_[j] * tau[j, i]
        for i, j in itertools.combinations(range(4), 2)
    }
    total = sum(pairs.values())
    for pair, p in law.items():
        assert abs(pairs[pair] / total - p) < 4.5 * np.sqrt(p * (1 - p) / total)


def test_recipes_that_are_none():
    with pytest.raises(ValueError, match="Negative"):
        SparseVectorSampler().fit(-RECIPES)
    with pytest.raises(ValueError, match="none has"):
        SparseVectorSampler().fit(np.zeros((2, 3)))
    one, two = (SparseVectorSampler().fit(X) for X in (RECIPES, np.r_[RECIPES, np.zeros((2, 5))]))
    np.testing.assert_array_equal(one.together_, two.together_)
    assert one.mean_count_ == two.mean_count_


PARTS = {"F": 19.0, "OH": 17.0, "NH2": 16.0}
LIMITS = {"donors": {"OH": 1, "NH2": 2}, "max_donors": 3, "neighbors": [(0, 1), (1, 2)]}


def exact_law(room=50.0):
    """Algorithm 5.5 by recursion over sites, fragments and the stop."""
    donors, near = {"F": 0, "OH": 1, "NH2": 2}, {0: {1}, 1: {0, 2}, 2: {1}}
    law = Counter()

    def go(placed, sites, p):
        weight = sum(PARTS[f] for f in placed.values())
        used = sum(donors[f] for f in placed.values())
        fits = [f for f in PARTS if weight + PARTS[f] <= room and used + donors[f] <= 3]
        if not sites or not fits:
            law[tuple(placed.get(s) for s in range(3))] += p
            return
        for site in sites:
            shy = any(donors[placed[o]] for o in near[site] if o in placed)
            here = [f for f in fits if not (shy and donors[f])]
            rest = [s for s in sites if s != site]
            if not here:
                go(placed, rest, p / len(sites))
            for f in here:
                q, new = p / len(sites) / len(here), {**placed, site: f}
                stop = sum(PARTS[x] for x in new.values()) / room
                law[tuple(new.get(s) for s in range(3))] += q * stop
                go(new, rest, q * (1 - stop))

    go({}, [0, 1, 2], 1.0)
    return law


def test_substituents_follow_the_algorithm():
    sampler, rng = SubstituentSampler(PARTS, [0, 1, 2], 50.0, **LIMITS), np.random.default_rng(0)
    law = exact_law()
    assert sum(law.values()) == pytest.approx(1.0)
    seen = Counter(sampler(None, rng) for _ in range(8000))
    assert set(seen) <= set(law)
    apart = 0.5 * sum(abs(seen[x] / 8000 - p) for x, p in law.items())
    assert apart < 0.02 + 0.5 * sum(np.sqrt(2 * p / np.pi / 8000) for p in law.values())


def test_states_can_be_built():
    sampler = SubstituentSampler(PARTS, "abc"[:0] or ["a", "b"], 30.0, build=dict)
    assert isinstance(sampler(None, np.random.default_rng(0)), dict)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fragments": {}}, "at least one fragment"),
        ({"fragments": {"F": np.nan}}, "positive weight"),
        ({"sites": []}, "At least one site"),
        ({"sites": [1, 1]}, "named once"),
        ({"max_weight": 10.0}, "No fragment fits"),
        ({"max_weight": np.nan}, "finite weight"),
        ({"neighbors": [(0, 9)]}, "must be sites"),
    ],
)
def test_parents_that_cannot_be_used(change, words):
    given = {"fragments": PARTS, "sites": [0, 1, 2], "max_weight": 50.0} | change
    with pytest.raises(ValueError, match=words):
        SubstituentSampler(**given)(None, np.random.default_rng(0))
