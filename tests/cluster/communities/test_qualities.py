"""Quality functions beside printed fractions, other packages and their own identities."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.cluster import (
    AdaptiveScaleModularity,
    ConnectedComponents,
    ConstantPotts,
    FixedScaleModularity,
    GraphClustering,
    Modularity,
    NormalizedCut,
    ReichardtBornholdt,
    UnnormalizedCut,
    make_consistent_improvement,
    make_ring_of_cliques,
)

ALL = [
    AdaptiveScaleModularity(),
    AdaptiveScaleModularity(M=3.0, gamma=4.0),
    FixedScaleModularity(7.0),
    Modularity(),
    ReichardtBornholdt(1.5),
    ConstantPotts(0.3),
    NormalizedCut(),
    UnnormalizedCut(),
]


def weighted(links, n):
    E = np.zeros((n, n))
    for u, v, weight in links:
        E[u, v] = E[v, u] = weight
    return E


def random_case(seed, n=12, loops=True):
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(4, size=(n, n)) * (rng.random((n, n)) < 0.4), 0 if loops else 1)
    return (half + np.triu(half, 1).T).astype(float), rng.integers(4, size=n)


# Theorems 2 to 4, with the fractions that are printed (28/121 of Theorem 4 is 28/169).
LOCAL_1 = weighted([(0, 0, 2), (1, 1, 2), (0, 1, 1)], 2)
LOCAL_2 = weighted([(0, 0, 2), (1, 1, 2), (0, 1, 1), (2, 2, 4)], 3)
MONOTONE = weighted([(0, 1, 1), (2, 2, 2)], 3)
RELATIVE = [weighted([(0, 1, ab), (2, 2, 8), (3, 3, 1)], 4) for ab in (1, 2)]


@pytest.mark.parametrize(
    ("graph", "labels", "fraction"),
    [
        (LOCAL_1, [0, 1], Fraction(1, 6)),
        (LOCAL_1, [0, 0], Fraction(0)),
        (LOCAL_2, [0, 1, 2], Fraction(23, 50)),
        (LOCAL_2, [0, 0, 1], Fraction(24, 50)),
        (MONOTONE, [0, 1, 2], Fraction(1, 8)),
        (weighted([(2, 2, 2)], 3), [0, 1, 2], Fraction(0)),
        (RELATIVE[0], [0, 0, 0, 1], Fraction(20, 121)),
        (RELATIVE[0], [0, 1, 2, 2], Fraction(16, 121)),
        (RELATIVE[1], [0, 0, 0, 1], Fraction(24, 169)),
        (RELATIVE[1], [0, 1, 2, 2], Fraction(28, 169)),
    ],
)
def test_graphs_of_theorems_2_to_4(graph, labels, fraction):
    assert Modularity().score(graph, labels) == pytest.approx(float(fraction), abs=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_modularity_equals_networkx_without_loops(seed):
    E, labels = random_case(seed, loops=False)
    groups = [np.flatnonzero(labels == c).tolist() for c in np.unique(labels)]
    expected = nx.community.modularity(nx.from_numpy_array(E), groups)
    assert Modularity().score(E, labels) == pytest.approx(expected, abs=1e-14)


def test_a_loop_counts_once_in_degree_and_weight():
    loop = weighted([(0, 0, 2.0), (0, 1, 1.0)], 2)
    # v = (3, 1), w = (2, 0), v_V = 4
    assert Modularity().score(loop, [0, 1]) == pytest.approx(2 / 4 - (9 + 1) / 16)
    graph = nx.Graph([(0, 1)])
    graph.add_edge(0, 0, weight=2.0)
    assert Modularity().score(graph, [0, 1]) == Modularity().score(loop, [0, 1])
    assert Modularity().score([(0, 0, 2.0), (0, 1, 1.0)], [0, 1]) == Modularity().score(
        loop, [0, 1]
    )


@pytest.mark.parametrize("seed", range(3))
def test_values_equal_leidenalg(seed):
    igraph, leidenalg = pytest.importorskip("igraph"), pytest.importorskip("leidenalg")
    E, labels = random_case(seed, loops=False)
    graph = igraph.Graph.Weighted_Adjacency(E, mode="undirected")

    def theirs(kind, **options):
        kwargs = {"weights": "weight", "initial_membership": labels.tolist(), **options}
        return getattr(leidenalg, kind)(graph, **kwargs).quality()

    assert Modularity().score(E, labels) == pytest.approx(theirs("ModularityVertexPartition"))
    cpm = theirs("CPMVertexPartition", resolution_parameter=0.3)
    # leidenalg's quality is Σ w - γ n (n - 1): each node pays γ less
    assert ConstantPotts(0.3).score(E, labels) == pytest.approx(cpm - 0.3 * len(E))
    rb = theirs("RBConfigurationVertexPartition", resolution_parameter=1.5)
    assert ReichardtBornholdt(1.5).score(E, labels) == pytest.approx(rb)
    assert ReichardtBornholdt(1.5).score(graph, labels) == pytest.approx(rb)


@pytest.mark.parametrize("seed", range(3))
def test_identities_between_qualities(seed):
    E, labels = random_case(seed)
    total, gamma = E.sum(), 1.7
    M = total / gamma
    assert ReichardtBornholdt(gamma).score(E, labels) == pytest.approx(
        M * FixedScaleModularity(M).score(E, labels)
    )
    assert FixedScaleModularity(5.0).score(E, labels) == pytest.approx(
        AdaptiveScaleModularity(5.0, 0.0).cluster_term(*sums(E, labels)).sum()
    )
    # M = 0 is a normalised cut with a price a cluster: (1/γ) Σ (w/v - 1/γ), where all v > 0.
    w, v, _ = sums(E, labels)
    assert AdaptiveScaleModularity(0.0, 3.0).score(E, labels) == pytest.approx(
        ((w / v - 1 / 3) / 3).sum()
    )
    assert NormalizedCut().score(E, labels) == pytest.approx((w / v).sum() - len(w))
    huge = 1e9 * total
    # M · Q differs from Σ w by (γ Σ w v + Σ v²) / M, at most 3 total² / M
    assert huge * AdaptiveScaleModularity(huge, 2.0).score(E, labels) == pytest.approx(
        UnnormalizedCut().score(E, labels), abs=3e-9 * total
    )


def sums(E, labels):
    one = np.eye(labels.max() + 1)[labels][:, np.unique(labels)]
    return np.diag(one.T @ E @ one), E.sum(axis=1) @ one, one.sum(axis=0)


@pytest.mark.parametrize("quality", ALL, ids=str)
def test_score_is_the_sum_of_terms(quality):
    E, labels = random_case(5)
    terms = quality.cluster_term(*sums(E, labels))
    assert terms.sum() == pytest.approx(quality.score(E, labels), rel=1e-12)


def test_derivatives_of_appendix_c():
    # dq/db has 2 M where M is printed
    M, g, w, b, h = 3.0, 2.5, 4.0, 1.5, 1e-5
    term = AdaptiveScaleModularity(M, g).cluster_term
    d = M + g * (w + b)
    by_w = (term(w + h, w + h + b, 1.0) - term(w - h, w - h + b, 1.0)) / (2 * h)
    by_b = (term(w, w + b + h, 1.0) - term(w, w + b - h, 1.0)) / (2 * h)
    assert by_w == pytest.approx((M**2 + (g - 2) * M * (w + b) + g * b * d) / d**3, rel=1e-7)
    assert by_b == pytest.approx(-(g * w * M + (w + b) * (2 * M + g**2 * w)) / d**3, rel=1e-7)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), M=st.floats(0, 50), gamma=st.floats(2, 6))
def test_consistent_improvements_never_lower_adaptive_scale(seed, M, gamma):
    E, labels = random_case(seed, n=8)
    better = make_consistent_improvement(E, labels, random_state=seed).toarray()
    same = labels[:, None] == labels
    assert ((better >= E) | ~same).all()
    assert ((better <= E) | same).all()
    assert (better == better.T).all()
    quality = AdaptiveScaleModularity(M, gamma)
    assert quality.score(better, labels) >= quality.score(E, labels) - 1e-12


@pytest.mark.parametrize("quality", ALL, ids=str)
def test_renumbering_nodes_changes_nothing(quality):
    E, labels = random_case(6)
    order = np.random.default_rng(0).permutation(len(E))
    assert quality.score(E[np.ix_(order, order)], labels[order]) == pytest.approx(
        quality.score(E, labels), rel=1e-12
    )


@pytest.mark.parametrize("factor", [1e5, 1e-5, 2.0**300])
def test_families_are_scale_invariant(factor):
    E, labels = random_case(7)
    assert Modularity().score(factor * E, labels) == pytest.approx(Modularity().score(E, labels))
    assert AdaptiveScaleModularity(4.0 * factor).score(factor * E, labels) == pytest.approx(
        AdaptiveScaleModularity(4.0).score(E, labels)
    )
    assert ConstantPotts(0.2 * factor).score(factor * E, labels) == pytest.approx(
        factor * ConstantPotts(0.2).score(E, labels)
    )


def test_ring_of_cliques_thresholds():
    def pairs(n):
        return np.repeat(np.arange(n) // 2, 5)

    def singles(n):
        return np.repeat(np.arange(n), 5)

    ring = make_ring_of_cliques(22, 5)
    modularity = Modularity()
    assert modularity.score(ring, singles(22)) == pytest.approx(0.8636363636, abs=1e-9)
    assert modularity.score(ring, pairs(22)) == pytest.approx(modularity.score(ring, singles(22)))
    more, fewer = make_ring_of_cliques(23, 5), make_ring_of_cliques(21, 5)
    assert modularity.score(more, pairs(23)) > modularity.score(more, singles(23))
    assert modularity.score(fewer, pairs(21)) < modularity.score(fewer, singles(21))
    for n in (10, 200):
        ring = make_ring_of_cliques(n, 5)
        for M, gamma in ((1272.0, 2.0), (2098.0, 4.0)):
            quality = AdaptiveScaleModularity(M, gamma)
            assert quality.score(ring, singles(n)) > quality.score(ring, pairs(n))
        for M, gamma in ((1273.0, 2.0), (2100.0, 4.0)):
            quality = AdaptiveScaleModularity(M, gamma)
            assert quality.score(ring, singles(n)) < quality.score(ring, pairs(n))
        fixed = [FixedScaleModularity(M) for M in (483.9, 484.1)]
        gains = [q.score(ring, singles(n)) - q.score(ring, pairs(n)) for q in fixed]
        assert gains[0] > 0 > gains[1]


@pytest.mark.parametrize("size", [3, 4, 5, 6])
def test_modularity_joins_cliques_of_a_ring_beyond_the_volume_of_one(size):
    # joining two of n cliques of volume v = size (size - 1) + 2 gains 2 / (nv) (1 - v/n)
    volume = size * (size - 1) + 2
    for n in (volume - 1, volume, volume + 1):
        ring, cliques = make_ring_of_cliques(n, size), np.repeat(np.arange(n), size)
        joined = np.where(cliques == 1, 0, cliques)
        gain = Modularity().score(ring, joined) - Modularity().score(ring, cliques)
        assert gain == pytest.approx(2.0 / (n * volume) * (1.0 - volume / n), abs=1e-13)
        model = GraphClustering(Modularity(), random_state=0).fit(ring)
        assert (model.n_clusters_ < n) == (n > volume)


def test_adaptive_scale_does_not_end_in_one_cluster_where_groups_are_better():
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(12), 40)
    links = rng.uniform(size=(480, 480)) < np.where(groups[:, None] == groups, 0.2, 0.007)
    graph = sp.csr_array(np.triu(links, 1).astype(float))
    graph = graph + graph.T
    quality = AdaptiveScaleModularity()
    model = GraphClustering(quality, random_state=0).fit(graph)
    assert model.quality_ >= quality.score(graph, groups) > quality.score(graph, 0 * groups)


def test_components_are_told_from_other_clusterings():
    E = weighted([(0, 1, 1.0), (2, 3, 1e-9)], 5)
    quality = ConnectedComponents()
    assert quality.score(E, [0, 0, 1, 1, 2]) == 1.0
    assert quality.score(E, [0, 0, 1, 2, 3]) == 0.0
    assert quality.score(E, [0, 0, 1, 1, 1]) == 0.0
    # the terms count closed clusters
    assert quality.cluster_term([2.0, 0.0], [2.0, 1.0], [2.0, 1.0]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("quality", [*ALL, ConnectedComponents()], ids=str)
def test_graphs_of_every_kind_score_alike(quality):
    pandas = pytest.importorskip("pandas")
    links = [(0, 1, 2.0), (1, 2, 1.0), (2, 2, 3.0)]
    E, labels = weighted(links, 3), [0, 0, 1]
    graph = nx.Graph()
    graph.add_weighted_edges_from(links)
    frame = pandas.DataFrame(links, columns=["source", "target", "weight"])
    value = quality.score(E, labels)
    wide = sp.csr_array(E)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for form in (sp.coo_array(E), wide, E.astype(np.float32), graph, links, frame):
        assert quality.score(form, labels) == pytest.approx(value, rel=1e-12)
    assert quality.score(graph, {0: "a", 1: "a", 2: "b"}) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("graph", "labels", "words"),
    [
        ([[0, -1], [-1, 0]], [0, 0], "at least 0"),
        ([[0, 1], [2, 0]], [0, 0], "undirected"),
        ([[0, np.nan], [np.nan, 0]], [0, 0], "finite"),
        ([[0, 1], [1, 0]], [0, 0, 1], "one a node"),
        ([[0, 1], [1, 0]], [0, np.nan], "without NaN"),
        ([[0, 1e308], [1e308, 0]], [0, 1], "too large"),
        (np.zeros((0, 0)), [], "empty"),
    ],
)
def test_bad_graphs_and_labels(graph, labels, words):
    with pytest.raises(ValueError, match=words):
        Modularity().score(graph, labels)


def test_bad_parameters():
    with pytest.raises(ValueError, match="'M' parameter"):
        AdaptiveScaleModularity(M=-1.0).score([[0, 1], [1, 0]], [0, 0])
    with pytest.raises(ValueError, match="'M' parameter"):
        FixedScaleModularity(0.0).score([[0, 1], [1, 0]], [0, 0])
    with pytest.warns(UserWarning, match="gamma=0.5 is below 1"):
        AdaptiveScaleModularity(gamma=0.5).score([[0, 1], [1, 0]], [0, 0])


def test_graphs_without_links_score_zero_or_their_price():
    E = np.zeros((3, 3))
    assert Modularity().score(E, [0, 1, 2]) == 0.0
    assert AdaptiveScaleModularity().score(E, [0, 1, 2]) == 0.0
    assert ReichardtBornholdt().score(E, [0, 0, 0]) == 0.0
    assert ConstantPotts(0.5).score(E, [0, 1, 2]) == -1.5
