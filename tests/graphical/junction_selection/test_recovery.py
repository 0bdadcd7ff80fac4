"""Metrics, matched numbers of edges, orders of sample sizes, and the generators."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import BaseEstimator

from octavo.graphical import (
    MaskedGraphicalLasso,
    graph_recovery,
    make_weak_edge_network,
    match_n_edges,
    sample_complexity,
)


@pytest.mark.parametrize(
    ("model", "n_edges", "n_weak"),
    # 99 + 33 chords, 8 + 8 + 4 and 12 + 8 nodes in weak stars: the totals behind the tables
    [("CH1", 99, 19), ("CH2", 99, 19), ("CY1", 132, 26), ("HB1", 81, 17), ("HB2", 82, 18)],
)
def test_numbers_of_edges(model, n_edges, n_weak):
    sample = make_weak_edge_network(model, 10, 0)
    assert sample.adjacency.sum() // 2 == n_edges
    assert sample.weak.sum() // 2 == n_weak
    assert (np.diag(sample.precision) == 1).all()
    assert (sample.weak <= sample.adjacency).all()


def test_strengths():
    chain = make_weak_edge_network("CH2", 5, 0).precision
    assert chain[18, 19] == 0.075
    assert chain[19, 20] == 0.245
    hubs = make_weak_edge_network("HB2", 5, 0).precision
    assert hubs[0, 11] == 1 / 12
    assert hubs[20, 24] == 1 / 5
    assert make_weak_edge_network("CY1", 5, 0, chords="all").adjacency.sum() // 2 == 99 + 97


def test_neighbors_on_the_square():
    sample = make_weak_edge_network("NB1", 5, 0)
    inside = sample.adjacency.copy()
    assert sample.X.shape == (5, 300)
    assert inside[:30, 30:].sum() == 4
    inside[:30, 30:] = inside[30:, :30] = False
    assert inside[:30].sum(axis=1).max() <= 6
    assert inside[30:].sum(axis=1).max() <= 4
    assert 500 < sample.adjacency.sum() // 2 < 640
    np.testing.assert_array_equal(sample.X, make_weak_edge_network("NB1", 5, 0).X)


def test_the_sample_has_the_precision_that_it_says():
    sample = make_weak_edge_network("CH1", 20_000, 0, n_features=6, n_weak=3)
    error = np.linalg.inv(np.cov(sample.X, rowvar=False)) - sample.precision
    assert np.abs(error).max() < 5 * np.sqrt(2 / 20_000)  # five standard errors of a variance


def test_recovery_by_hand():
    truth = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4)])
    found = nx.Graph([(0, 1), (1, 2), (0, 4)])
    found.add_node(3)
    weak = nx.Graph([(0, 1), (3, 4)])
    weak.add_node(2)
    result = graph_recovery(found, truth, weak)
    assert result == (0.5, 1 / 3, 0.5, 3)
    nothing = graph_recovery(np.zeros((3, 3)), np.zeros((3, 3)))
    assert nothing == (None, 0.0, 1.0, 0)


def test_as_many_edges_as_asked_for():
    sample = make_weak_edge_network("CH1", 300, 0, n_features=20, n_weak=5)
    for wanted in (3, 12):
        model = match_n_edges(MaskedGraphicalLasso(), sample.X, wanted)
        assert model.adjacency_.sum() // 2 == wanted
    grows = match_n_edges(
        MaskedGraphicalLasso(), sample.X, 0, parameter="gamma", low=0.1, high=50.0
    )
    assert grows.adjacency_.sum() == 0


class Stairs(BaseEstimator):
    """Joins as many pairs as log2(1 / alpha) is long, and counts how often it is fitted."""

    fits = 0

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X):
        Stairs.fits += 1
        self.adjacency_ = np.zeros((9, 9), dtype=bool)
        i, j = np.triu_indices(9, 1)
        count = int(np.floor(-np.log2(self.alpha) + 1e-9))
        self.adjacency_[i[:count], j[:count]] = self.adjacency_[j[:count], i[:count]] = True
        return self


@pytest.mark.filterwarnings("ignore:No alpha from")
def test_the_nearest_number_of_edges_is_kept_and_the_logarithm_is_bisected():
    X = np.zeros((4, 9))

    def nearest(n_edges, steps, **options):
        Stairs.fits = 0
        low, high = (2.0**-k for k in steps)
        found = match_n_edges(Stairs(), X, n_edges, low=low, high=high, **options)
        return int(found.adjacency_.sum()) // 2, Stairs.fits

    # two fits are the ends: the nearer is kept, whichever it is
    assert nearest(4, (10, 3), max_iter=2) == (3, 2)
    assert nearest(9, (10, 3), max_iter=2) == (10, 2)
    assert nearest(0, (10, 3), max_iter=2) == (3, 2)
    # ends at 0 and 32; halves at 16, 8, 12 and 10
    assert nearest(10, (32, 0)) == (10, 6)
    assert nearest(11, (32, 0), max_iter=5) in ((10, 5), (12, 5))


def test_orders_of_sample_sizes():
    need = sample_complexity([0.3, 0.1, 0.3, 0.2], [1, 3], 8, 100, 6)
    assert need.junction_tree == pytest.approx(3 * np.log(8) / 0.01)
    assert need.plain == pytest.approx(3 * np.log(107) / 0.01)
    assert need.junction_tree <= need.plain


def test_bad_input():
    with pytest.raises(ValueError, match="n_weak=9 must be below"):
        make_weak_edge_network("CH1", 5, n_features=9, n_weak=9)
    with pytest.raises(ValueError, match="model"):
        make_weak_edge_network("XX", 5)
    with pytest.raises(ValueError, match="over the nodes of truth"):
        graph_recovery(np.zeros((3, 3)), np.zeros((4, 4)))
    with pytest.raises(ValueError, match="low and high"):
        match_n_edges(MaskedGraphicalLasso(), np.ones((5, 2)), 1, low=2.0)
    with pytest.raises(ValueError, match="rho"):
        sample_complexity([0.1], [1, 2], 3, 4, 5)
    with pytest.raises(ValueError, match="eta"):
        sample_complexity([0.1] * 4, [3, 2], 3, 4, 5)


def test_edges_that_cannot_be_are_refused_and_those_out_of_reach_warned_of():
    X = make_weak_edge_network("CH1", 100, random_state=0, n_features=10, n_weak=2).X
    with pytest.raises(ValueError, match="at most 45, as many as 10 columns have pairs; got 46"):
        match_n_edges(MaskedGraphicalLasso(), X, 46)
    with pytest.warns(UserWarning, match="Widen low and high"):
        match_n_edges(MaskedGraphicalLasso(), X, 45, low=0.2)
