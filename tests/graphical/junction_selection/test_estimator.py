"""Algorithm 3: exact with a perfect selector, one region with a complete graph, pairs of a star."""

import networkx as nx
import numpy as np
import pytest

from octavo.graphical import (
    JunctionTreeUGMS,
    MaskedGraphicalLasso,
    MaskedNeighbourhoodLasso,
    PairwiseTestUGMS,
    PCSkeletonUGMS,
    Selection,
    graph_recovery,
    junction_tree,
    make_weak_edge_network,
    marginal_graph,
    region_graph,
    ugms_region,
)
from octavo.graphical.junction_selection.estimator import decide_by_regions, pruned
from octavo.graphical.junction_selection.moments import moments
from tests.graphical.junction_selection.test_clusters import random_graph


class Oracle:
    """Knows the true graph: over the closure, it sees that graph's marginal."""

    def __init__(self, truth):
        self.truth = truth
        self.asked = []

    def select(self, X, nodes, allowed, penalised):
        assert list(nodes) == sorted(nodes)
        true = marginal_graph(self.truth, [int(v) for v in nodes])
        for i, j in true.edges:  # what is left and found holds all that is true
            a, b = (list(nodes).index(v) for v in (i, j))
            assert allowed[a, b]
        pairs = [(int(nodes[i]), int(nodes[j])) for i, j in np.argwhere(np.triu(penalised, 1))]
        self.asked += pairs
        return Selection(tuple(pair for pair in pairs if true.has_edge(*pair)), 0.0, 0.0)


def screened(truth, seed, share=0.15):
    extra = random_graph(seed + 1, len(truth), len(truth), share)
    return truth | extra


def run(oracle, H, **options):
    found = np.zeros_like(H)

    def decide_all(jobs):
        return [oracle.select(None, task.closure, *masks) for task, *masks in jobs]

    for _, _, selection in decide_by_regions(H, decide_all, **options):
        for i, j in selection.edges:
            found[i, j] = found[j, i] = True
    return found


@pytest.mark.parametrize("block", range(6))
def test_with_a_perfect_selector_the_graph_is_exact(block):
    for seed in range(50 * block, 50 * (block + 1)):
        truth = random_graph(seed, 4, 14, 0.25)
        H = screened(truth, seed)
        oracle = Oracle(truth)
        found = run(oracle, H, max_separator=1 + seed % 3)
        np.testing.assert_array_equal(found, truth)
        assert sorted(oracle.asked) == [tuple(e) for e in np.argwhere(np.triu(H, 1)).tolist()]


def test_the_estimator_is_exact_with_a_perfect_selector():
    for seed in range(8):
        truth = random_graph(seed, 6, 12, 0.3)
        X = np.random.RandomState(seed).standard_normal((60, len(truth)))
        H = screened(truth, seed)
        oracle = Oracle(truth)
        model = JunctionTreeUGMS(oracle, screen=nx.from_numpy_array(H), small_region=0, prune=False)
        model.fit(X)
        np.testing.assert_array_equal(model.adjacency_, truth)
        decided = [pair for step in model.history_ for pair in step.decided]
        assert sorted(decided) == sorted(oracle.asked)
        assert len(set(decided)) == len(decided) == H.sum() // 2
        assert nx.to_numpy_array(model.screen_graph_).sum() == H.sum()


def test_exact_with_the_covariance_of_the_population():
    sample = make_weak_edge_network("CY1", 5, 0, n_features=13, n_weak=4)
    S = np.linalg.inv(sample.precision)

    class Exact:
        def select(self, X, nodes, allowed, penalised):
            precision = np.linalg.inv(S[np.ix_(nodes, nodes)])
            found = np.argwhere(np.triu(penalised & (np.abs(precision) > 1e-9), 1))
            return Selection(tuple((int(nodes[i]), int(nodes[j])) for i, j in found), 0.0, 0.0)

    H = sample.adjacency | random_graph(3, 13, 13, 0.15)
    np.testing.assert_array_equal(run(Exact(), H), sample.adjacency)


def test_a_complete_screen_is_the_base_itself():
    X = make_weak_edge_network("CH1", 200, 0, n_features=12, n_weak=4).X
    for base in (MaskedGraphicalLasso(), MaskedNeighbourhoodLasso(), PCSkeletonUGMS()):
        whole = JunctionTreeUGMS(base, screen=np.ones((12, 12)), prune=False).fit(X)
        assert len(whole.history_) == 1
        np.testing.assert_array_equal(whole.adjacency_, base.fit(X).adjacency_)


def test_a_star_splits_into_pairs():
    X = make_weak_edge_network("HB1", 300, 0, n_features=6, n_weak=1).X
    star = nx.star_graph(5)
    model = JunctionTreeUGMS(screen=star).fit(X)
    assert sorted(step.closure for step in model.history_) == [(0, v) for v in range(1, 6)]
    assert {step.selector for step in model.history_} == {"PairwiseTestUGMS"}


def test_one_region_as_in_algorithm_2():
    sample = make_weak_edge_network("CH1", 800, 1, n_features=5, n_weak=1)
    H = sample.adjacency.copy()
    H[0, 2] = H[2, 0] = True
    regions = region_graph(junction_tree(H))
    found = ugms_region(sample.X, regions, (0, frozenset([0, 1, 2])), H, base=PairwiseTestUGMS())
    assert found.edges == ((0, 1), (1, 2))
    at = next(region for region in regions.rows[1] if region == frozenset([2]))
    assert ugms_region(sample.X, regions, (1, at), H) == Selection((), 0.0, 0.0)
    with pytest.raises(ValueError, match="no region"):
        ugms_region(sample.X, regions, (0, frozenset([0, 4])), H)


def test_fitted_attributes_agree():
    sample = make_weak_edge_network("CY1", 500, 2, n_features=30, n_weak=8)
    model = JunctionTreeUGMS().fit(sample.X)
    S = np.cov(sample.X, rowvar=False, bias=True)
    covariance = np.linalg.inv(model.precision_)
    on = model.adjacency_ | np.eye(30, dtype=bool)
    np.testing.assert_allclose(covariance[on], S[on], atol=1e-6)
    assert (model.precision_[~on] == 0).all()
    units = np.sqrt(np.diag(model.precision_))
    np.testing.assert_allclose(
        model.edge_strength_[model.adjacency_],
        (-model.precision_ / np.outer(units, units))[model.adjacency_],
    )
    assert set(model.graph_.nodes) == set(range(30))
    assert nx.to_numpy_array(model.graph_).sum() == model.adjacency_.sum()
    assert graph_recovery(model.graph_, sample.adjacency).tpr > 0.8
    threads = JunctionTreeUGMS(n_jobs=2).fit(sample.X)
    np.testing.assert_array_equal(threads.adjacency_, model.adjacency_)
    moved = JunctionTreeUGMS().fit(sample.X * 1e-5)
    np.testing.assert_array_equal(moved.adjacency_, model.adjacency_)


def test_pruning_takes_away_what_a_lost_edge_made():
    sample = make_weak_edge_network("CH1", 2000, 3, n_features=4, n_weak=1)
    false = sample.adjacency.copy()
    false[0, 2] = false[2, 0] = True
    np.testing.assert_array_equal(pruned(moments(sample.X), false, 0.5), sample.adjacency)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n", [6, 12])
def test_pruning_is_a_test_given_the_neighbours_by_regressions(n, gamma):
    """Of six rows a regression has at most n - 4 = 2 variables: the most correlated neighbours."""
    n_decided = np.zeros(2)
    for seed in range(60):
        graph = random_graph(seed, 7, 7, 0.5)
        X = np.random.RandomState(seed).standard_normal((n, 7))
        X[:, 1:] += 1.2 * X[:, :-1]
        X -= X.mean(axis=0)
        R = np.abs(np.corrcoef(X.T))
        expected = graph.copy()
        for i, j in np.argwhere(np.triu(graph)):
            end, other = (i, j) if graph[i].sum() <= graph[j].sum() else (j, i)
            near = [v for v in np.flatnonzero(graph[end]) if v != other]
            near = sorted(near, key=lambda v: -max(R[i, v], R[j, v]))[: n - 4]
            a, b = (
                X[:, k] - X[:, near] @ np.linalg.lstsq(X[:, near], X[:, k], rcond=None)[0]
                for k in (i, j)
            )
            gain = -n * np.log(1 - (a @ b) ** 2 / (a @ a * (b @ b)))
            stays = gain > np.log(n) + 4 * gamma * np.log(len(near) + 2)
            expected[i, j] = expected[j, i] = stays
            n_decided[int(stays)] += 1
        np.testing.assert_array_equal(pruned(moments(X), graph, gamma), expected)
    assert n_decided.min() > 20  # some of each


def test_names_of_columns_serve_as_nodes():
    pd = pytest.importorskip("pandas")
    X = make_weak_edge_network("CH1", 300, 0, n_features=5, n_weak=1).X
    frame = pd.DataFrame(X, columns=list("abcde"))
    graph = nx.path_graph(list("edcba"))
    model = JunctionTreeUGMS(screen=graph).fit(frame)
    assert set(model.screen_graph_.edges) == {(0, 1), (1, 2), (2, 3), (3, 4)}


def test_fewer_rows_than_the_graph_needs():
    X = np.random.RandomState(0).standard_normal((5, 8))
    everything = Oracle(~np.eye(8, dtype=bool))
    with pytest.warns(UserWarning, match="too few"):
        model = JunctionTreeUGMS(
            everything, screen=np.ones((8, 8)), small_region=0, prune=False
        ).fit(X)
    assert model.adjacency_.sum() == 56
    assert np.isfinite(model.precision_).all()


def test_bad_input():
    X = np.random.RandomState(0).standard_normal((20, 4))
    with pytest.raises(ValueError, match="screen must be a graph over the 4 columns"):
        JunctionTreeUGMS(screen=np.ones((3, 3))).fit(X)
    with pytest.raises(ValueError, match="'z' among them"):
        JunctionTreeUGMS(screen=nx.path_graph(["z", "y", "x", "w"])).fit(X)
    with pytest.raises(ValueError, match="symmetric"):
        JunctionTreeUGMS(screen=np.triu(np.ones((4, 4)))).fit(X)
    with pytest.raises(ValueError, match="needs more rows"):
        JunctionTreeUGMS(screen_order=3).fit(X[:5])
    with pytest.raises(ValueError, match="Column 1 is constant"):
        JunctionTreeUGMS().fit(X * [1, 0, 1, 1])
    with pytest.raises(ValueError, match="minimum of 4"):
        JunctionTreeUGMS().fit(X[:3])

    class Liar:
        def select(self, X, nodes, allowed, penalised):
            return Selection(((0, 3),), 0.0, 0.0)

    with pytest.raises(ValueError, match="not asked about"):
        JunctionTreeUGMS(Liar(), screen=nx.path_graph(4), small_region=0).fit(X)
