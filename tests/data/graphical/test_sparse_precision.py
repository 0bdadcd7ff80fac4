"""The generator of sparse Gaussian data."""

import numpy as np
import pytest

import octavo.data
import octavo.graphical
from octavo.data import make_sparse_precision

GRAPHS = ["random", "hub", "cluster", "band", "scale-free"]


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("d", [1, 2, 7, 60])
def test_model_is_a_sparse_gaussian(graph, d):
    sample = make_sparse_precision(d, 5, graph=graph, random_state=0)
    assert sample.X.shape == (5, d)
    np.testing.assert_allclose(sample.precision @ sample.covariance, np.eye(d), atol=1e-8)
    np.testing.assert_array_equal(np.diag(sample.covariance), 1.0)
    assert np.linalg.eigvalsh(sample.precision)[0] > 0
    off_diagonal = sample.precision.copy()
    np.fill_diagonal(off_diagonal, 0.0)
    np.testing.assert_array_equal(off_diagonal != 0, sample.adjacency)
    np.testing.assert_array_equal(sample.adjacency, sample.adjacency.T)
    assert not np.diag(sample.adjacency).any()


def n_edges(**options):
    return int(make_sparse_precision(**options).adjacency.sum()) // 2


def test_graphs_have_the_edges_they_promise():
    assert n_edges(n_features=60, n_samples=1, graph="hub") == 60 - 3
    assert n_edges(n_features=60, n_samples=1, graph="hub", n_groups=5) == 60 - 5
    assert n_edges(n_features=60, n_samples=1, graph="band", bandwidth=2) == 59 + 58
    assert n_edges(n_features=60, n_samples=1, graph="scale-free", random_state=1) == 59
    degrees = make_sparse_precision(400, 1, graph="random", random_state=0).adjacency.sum(axis=0)
    assert abs(degrees.mean() - 3.0) < 4 * np.sqrt(2 * 3 / 400)  # four standard errors
    cluster = make_sparse_precision(80, 1, graph="cluster", n_groups=4, prob=1.0, random_state=0)
    expected = np.kron(np.eye(4), np.ones((20, 20))) - np.eye(80)
    np.testing.assert_array_equal(cluster.adjacency, expected.astype(bool))


def test_scale_free_graph_is_a_tree_with_a_heavy_tail():
    adjacency = make_sparse_precision(300, 1, graph="scale-free", random_state=2).adjacency
    reached = np.linalg.matrix_power(adjacency.astype(float) + np.eye(300), 40) > 0
    assert reached.all()
    assert adjacency.sum(axis=0).max() > 10  # a random tree of 300 nodes has degrees near 6


def test_sample_has_the_covariance():
    sample = make_sparse_precision(5, 200_000, graph="band", random_state=0)
    np.testing.assert_allclose(np.cov(sample.X.T), sample.covariance, atol=0.02)


def test_seed_and_errors():
    first, second = (make_sparse_precision(10, 4, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    with pytest.raises(ValueError, match="n_groups=9 must not exceed n_features=5"):
        make_sparse_precision(5, 4, graph="hub", n_groups=9)
    with pytest.raises(ValueError, match="'graph' parameter"):
        make_sparse_precision(5, 4, graph="star")


def test_it_is_exported_by_both_rooms():
    assert octavo.data.make_sparse_precision is octavo.graphical.make_sparse_precision
