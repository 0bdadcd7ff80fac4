"""GraphClustering beside enumeration, known optima and its own invariances."""

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from octavo.cluster import (
    AdaptiveScaleModularity,
    ConnectedComponents,
    ConstantPotts,
    FixedScaleModularity,
    GraphClustering,
    Modularity,
    NormalizedCut,
    ReichardtBornholdt,
    make_cliques_and_random,
    make_ring_of_cliques,
    resolution_profile,
)
from octavo.engine.discrete.set_partitions import set_partitions
from octavo.engine.graphs.local_moving import flat_graph, move_locally

QUALITIES = [
    AdaptiveScaleModularity(),
    AdaptiveScaleModularity(2.0, 4.0),
    Modularity(),
    ConstantPotts(0.3),
    ReichardtBornholdt(1.5),
]


def random_graph(seed, low=4, high=10):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(low, high))
    half = np.triu(rng.choice([0, 0, 1, 2], size=(n, n)), int(rng.random() < 0.7))
    return (half + np.triu(half, 1).T).astype(float)


@pytest.mark.parametrize("quality", QUALITIES, ids=str)
def test_leiden_equals_enumeration_on_small_graphs(quality):
    hits = 0
    for seed in range(40):
        E = random_graph(seed)
        best = GraphClustering(quality, "exact").fit(E).quality_
        found = GraphClustering(quality, random_state=seed).fit(E).quality_
        assert found <= best + 1e-9
        hits += found >= best - 1e-9
    assert hits >= 38  # 95 %


@pytest.mark.parametrize("quality", [*QUALITIES, NormalizedCut()], ids=str)
def test_exact_equals_every_partition(quality):
    E = random_graph(100, 6, 7)
    values = [quality.score(E, C) for C in set_partitions(len(E))]
    model = GraphClustering(quality, "exact").fit(E)
    assert model.quality_ == pytest.approx(max(values), abs=1e-12)


def test_integer_program_equals_subsets():
    E = random_graph(3, 9, 10)
    from octavo.cluster.communities.searches import _by_integer_program

    for quality in (Modularity(), ConstantPotts(0.3)):
        labels = _by_integer_program(E, quality.compiled_term(E.sum()))
        best = GraphClustering(quality, "exact").fit(E).quality_
        assert quality.score(E, labels) == pytest.approx(best, abs=1e-12)


def test_karate_club_has_the_known_modularity():
    graph = nx.Graph(nx.karate_club_graph().edges)
    for optimizer in ("leiden", "exact"):
        model = GraphClustering(Modularity(), optimizer, random_state=0).fit(graph)
        assert model.quality_ == pytest.approx(0.41978961, abs=1e-8)
        assert model.n_clusters_ == 4


def test_adaptive_scale_never_merges_cliques_of_a_ring():
    for n in (10, 30, 100):
        model = GraphClustering(AdaptiveScaleModularity(1200.0), random_state=0, n_init=3)
        labels = model.fit(make_ring_of_cliques(n, 5)).labels_
        assert model.n_clusters_ == n
        assert (labels.reshape(n, 5) == labels[::5, None]).all()


def test_modularity_merges_cliques_of_a_long_ring():
    ring = make_ring_of_cliques(30, 5)
    model = GraphClustering(Modularity(), random_state=0).fit(ring)
    assert model.n_clusters_ < 30
    assert model.quality_ > Modularity().score(ring, np.repeat(np.arange(30), 5))


def test_what_is_far_away_changes_nothing():
    ring, other = make_ring_of_cliques(8, 5), make_ring_of_cliques(300, 4)
    alone = GraphClustering(random_state=0).fit(ring)
    both = GraphClustering(random_state=0).fit(sp.block_diag([ring, other], format="csr"))
    inner = both.labels_[: ring.shape[0]]
    assert len(set(zip(inner, alone.labels_))) == alone.n_clusters_ == len(set(inner))


def test_optimum_of_a_union_is_the_union_of_optima():
    # as argued in Section 4.1; by enumeration, on graphs whose parts have links
    quality = AdaptiveScaleModularity(1.0)
    for seed in range(10):
        parts = [random_graph(2 * seed + k, 4, 6) for k in (0, 1)]
        if any(E.sum() == 0 for E in parts):
            continue
        best = [GraphClustering(quality, "exact").fit(E).quality_ for E in parts]
        union = GraphClustering(quality, "exact").fit(sp.block_diag(parts, format="csr"))
        assert union.quality_ == pytest.approx(sum(best), abs=1e-12)


def test_best_clusters_are_connected_on_all_small_connected_graphs():
    # Merging apart clusters can raise this quality, so that neighbours alone are a heuristic.
    graphs = [g for g in nx.graph_atlas_g() if g.number_of_nodes() == 6 and nx.is_connected(g)]
    assert len(graphs) == 112
    for M, gamma in ((0.0, 1.2), (0.0, 2.0), (0.0, 4.0), (2.0, 2.0), (2.0, 4.0), (10.0, 2.0)):
        quality = AdaptiveScaleModularity(M, gamma)
        for graph in graphs[:: 1 if M == 0.0 else 3]:
            labels = GraphClustering(quality, "exact").fit(graph).labels_
            for c in set(labels):
                assert nx.is_connected(graph.subgraph(np.flatnonzero(labels == c).tolist()))


@pytest.mark.parametrize("optimizer", ["leiden", "louvain", "greedy", "exact"])
def test_attributes_agree(optimizer):
    E = random_graph(11, 9, 10)
    model = GraphClustering(Modularity(), optimizer, random_state=0).fit(E)
    assert model.quality_ == pytest.approx(Modularity().score(E, model.labels_))
    assert set(model.labels_) == set(range(model.n_clusters_))
    counts = np.bincount(model.labels_)
    assert (np.diff(counts) <= 0).all()
    np.testing.assert_array_equal(model.levels_[-1], model.labels_)
    np.testing.assert_array_equal(clone(model).fit_predict(E), model.labels_)


def test_two_cliques_beside_a_random_part():
    # Section 6.2: modularity joins the cliques, adaptive scale modularity keeps them apart
    graph = make_cliques_and_random(10, 1000, mean_degree=16, random_state=0)
    labels = GraphClustering(AdaptiveScaleModularity(100.0), random_state=0, n_init=2).fit_predict(
        graph
    )
    assert len(set(labels[:10])) == len(set(labels[10:20])) == 1 != len(set(labels[:20]))
    merged = GraphClustering(Modularity(), random_state=0, n_init=2).fit_predict(graph)
    assert len(set(merged[:20])) == 1
    # The random part stays whole but for a few nodes; modularity cuts it to pieces.
    assert np.bincount(labels[20:]).max() >= 950
    assert np.bincount(merged[20:]).max() < 500


def test_components_and_nodes_without_links():
    graph = [(0, 1), (1, 2), (3, 4)]
    model = GraphClustering(ConnectedComponents()).fit(nx.Graph(graph + [(5, 5)]))
    assert model.n_clusters_ == 3
    assert model.quality_ == 1.0
    E = np.zeros((4, 4))
    E[0, 1] = E[1, 0] = 1.0
    labels = GraphClustering(random_state=0).fit_predict(E)
    assert labels[0] == labels[1]
    assert len(set(labels[1:])) == 3
    assert GraphClustering().fit(np.zeros((1, 1))).n_clusters_ == 1
    assert GraphClustering().fit(np.zeros((3, 3))).n_clusters_ == 3


@pytest.mark.parametrize("factor", [1e5, 1e-5, 1e150, 1e-150])
def test_units_of_weights_do_not_matter(factor):
    E = random_graph(5, 9, 10)
    for make in (lambda f: AdaptiveScaleModularity(2.0 * f), lambda f: Modularity()):
        one = GraphClustering(make(1.0), random_state=0).fit(E)
        other = GraphClustering(make(factor), random_state=0).fit(factor * E)
        np.testing.assert_array_equal(one.labels_, other.labels_)
        assert other.quality_ == pytest.approx(one.quality_, rel=1e-9)


def test_names_of_nodes_are_kept():
    model = GraphClustering(random_state=0).fit([("a", "b"), ("b", "c"), ("x", "y")])
    groups = dict(zip(model.nodes_, model.labels_))
    assert [sorted(names) for names in model.communities()] == [["a", "b", "c"], ["x", "y"]]
    assert groups["a"] == groups["b"] == groups["c"] != groups["x"]


class Halves:
    """A quality of one's own: weight within, less a price for the square of a cluster's size."""

    def score(self, graph, labels):
        E = np.asarray(graph.toarray() if sp.issparse(graph) else graph)
        same = np.equal.outer(labels, labels)
        return float(E[same].sum() - 0.3 * same.sum())

    def cluster_term(self, w, v, n, total=None):
        return np.asarray(w) - 0.3 * np.square(n)


class OwnModularity:
    """Modularity written by a user: a term alone, with the volume of the graph."""

    def cluster_term(self, w, v, n, total):
        return w / total - (v / total) ** 2


class Plain:
    """The least that a quality has: a term of w, v and n."""

    def cluster_term(self, w, v, n):
        return w - 0.3 * n**2


@pytest.mark.parametrize("quality", [Halves(), Plain()])
@pytest.mark.parametrize("optimizer", ["leiden", "louvain", "greedy", "exact"])
def test_a_quality_of_ones_own(quality, optimizer):
    for seed in (21, 22, 23):
        E = random_graph(seed, 8, 9)
        mine = GraphClustering(quality, optimizer, random_state=0).fit(E)
        ours = GraphClustering(ConstantPotts(0.3), optimizer, random_state=0).fit(E)
        assert mine.quality_ == pytest.approx(ours.quality_)
        assert mine.quality_ == pytest.approx(ConstantPotts(0.3).score(E, mine.labels_))


@pytest.mark.parametrize("optimizer", ["leiden", "louvain"])
def test_a_term_of_ones_own_reaches_the_optimum_of_the_karate_club(optimizer):
    A = nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None).astype(float)
    found = GraphClustering(OwnModularity(), optimizer, random_state=0).fit(A)
    assert found.quality_ == pytest.approx(0.4197896, abs=1e-6)  # known to be the optimum
    assert found.quality_ == pytest.approx(
        nx.community.modularity(
            nx.karate_club_graph(), [set(map(int, c)) for c in found.communities()], weight=None
        )
    )


def test_a_term_of_ones_own_that_is_wrong_is_named():
    class Wrong:
        def __init__(self, answer):
            self.answer = answer

        def cluster_term(self, w, v, n):
            return self.answer

    with pytest.raises(ValueError, match="must return a term for each cluster"):
        GraphClustering(Wrong(1.0)).fit([(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="Wrong is NaN at w="):
        GraphClustering(Wrong(np.array([np.nan])), "greedy").fit([(0, 0)])


def test_bad_input():
    with pytest.raises(ValueError, match="at most 16 nodes"):
        GraphClustering(optimizer="exact").fit(make_ring_of_cliques(4, 5))
    with pytest.raises(ValueError, match="at most 60 nodes"):
        GraphClustering(Modularity(), "exact").fit(make_ring_of_cliques(20, 5))
    with pytest.raises(ValueError, match="must be an instance"):
        GraphClustering(Modularity).fit([(0, 1)])
    with pytest.raises(ValueError, match="too far apart"):
        GraphClustering(FixedScaleModularity(1e-300)).fit([(0, 1)])
    with pytest.warns(UserWarning, match="gamma=0.5"):
        GraphClustering(AdaptiveScaleModularity(gamma=0.5)).fit([(0, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraphClustering().fit([(0, 1)])


def test_profile_never_beaten_by_a_known_clustering():
    ring = make_ring_of_cliques(12, 5)
    profile = resolution_profile(ring, [0.0, 500.0, 3000.0], random_state=0)
    assert profile.n_clusters[0] == profile.n_clusters[1] == 12 > profile.n_clusters[2]
    for M, value in zip(profile.Ms, profile.qualities):
        scores = [AdaptiveScaleModularity(M).score(ring, row) for row in profile.labels]
        assert value == pytest.approx(max(scores))


@pytest.mark.parametrize("seed", [300, 303, 304])
def test_loosely_linked_groups_get_the_best_clusters_that_forty_starts_find(seed):
    """Moves of single nodes end in one cluster there, and undone clusters come together again."""
    sizes = {"min_community": 20, "max_community": 80, "max_degree": 50, "average_degree": 12}
    graph = nx.LFR_benchmark_graph(600, 2.5, 1.5, 0.3, seed=seed, **sizes)
    matrix = sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=float))
    matrix.setdiag(0.0)
    matrix.eliminate_zeros()
    flat, total = flat_graph(matrix), float(matrix.sum())
    term, rng = AdaptiveScaleModularity().compiled_term(total), np.random.default_rng(0)
    known = 0.0
    for resolution in np.geomspace(0.5, 4.0, 40):
        usual = ReichardtBornholdt(resolution).compiled_term(total)
        start = move_locally(flat, usual, refine=True, rng=rng).labels
        known = max(known, move_locally(flat, term, refine=True, start=start, rng=rng).quality)
    for state in (0, 1):
        assert GraphClustering(random_state=state).fit(matrix).quality_ >= known * (1 - 1e-9)
