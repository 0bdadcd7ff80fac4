"""Neighbourhood graphs against all pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from octavo.engine.graphs.radius import cross_distances, mean_neighbours, radius_graph


@pytest.mark.parametrize("d", [1, 2, 7, 20])
def test_distances_are_those_of_all_pairs(d):
    X = np.random.default_rng(d).normal(size=(150, d))
    X[10] = X[3]  # duplicates are neighbours at distance zero
    D = cdist(X, X)
    radius = np.quantile(D, 0.2)
    graph = radius_graph(X, radius)
    assert graph.nnz == (radius >= D).sum()
    np.testing.assert_allclose(graph.toarray(), np.where(radius >= D, D, 0.0), atol=1e-12)
    assert mean_neighbours(X, radius, np.arange(150)) == pytest.approx(graph.nnz / 150)


@pytest.mark.parametrize("d", [2, 20])
def test_distances_between_two_samples(d):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, d)), rng.normal(size=(60, d))
    Y[5] = X[7]
    D = cdist(X, Y)
    radius = np.quantile(D, 0.3)
    found = cross_distances(X, Y, radius)
    assert found.nnz == (radius >= D).sum()
    np.testing.assert_allclose(found.toarray(), np.where(radius >= D, D, 0.0), atol=1e-7)


def test_a_radius_that_joins_everything_is_refused_before_memory_is_gone():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    with pytest.raises(ValueError, match=r"too many. Choose a smaller h"):
        radius_graph(X, 100.0)
