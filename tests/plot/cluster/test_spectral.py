"""Pictures of clusters hold the rows that they are given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.plot import plot_clusters


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_each_cluster_is_one_cloud_of_its_rows():
    X = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.repeat([2, -1, 0], 10)
    ax = plot_clusters(X, labels)
    assert [cloud.get_label() for cloud in ax.collections] == ["noise", "cluster 0", "cluster 2"]
    assert_allclose(ax.collections[1].get_offsets(), X[20:])


def test_many_features_are_seen_along_their_principal_axes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)) * [0.1, 5.0, 0.1, 2.0, 0.1]
    shown = plot_clusters(X, np.zeros(40, dtype=int)).collections[0].get_offsets()
    centred = X - X.mean(axis=0)
    # Distances in the picture are those of the best plane: no projection keeps more of them.
    kept = (np.asarray(shown) ** 2).sum()
    assert kept == pytest.approx((np.linalg.svd(centred)[1][:2] ** 2).sum())


def test_very_many_rows_are_thinned():
    ax = plot_clusters(np.zeros((1001, 1)), np.zeros(1001, dtype=int), max_points=500)
    assert len(ax.collections[0].get_offsets()) == 334
