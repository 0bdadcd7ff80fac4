"""Pictures of questions about pairs show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.plot import (
    plot_cluster_pairs,
    plot_pair_weights,
    plot_queried_pairs,
    plot_query_curve,
)
from octavo.search import SRRAClusterer, SRRARanker


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_curves_and_the_best_error():
    ax = plot_query_curve({"a": ([1, 2], [0.3, 0.2]), "b": ([1], [0.4])}, best=0.1)
    assert [line.get_ydata()[0] for line in ax.lines] == [0.3, 0.4, 0.1]


def test_asked_pairs_lie_along_the_diagonal():
    model = SRRARanker(1, 1, random_state=0).fit(40, lambda u, v: u < v)
    share = plot_queried_pairs(model, n_bins=40).images[0].get_array()
    assert np.array_equal(share, share.T)
    assert (np.diag(share, 1) == 1.0).all()  # neighbours are always asked
    assert share.sum() == 2 * len(model.pairs_)
    ax = plot_pair_weights(model)
    assert sum(bar.get_height() for bar in ax.patches) == len(model.weights_)


def test_clusters_are_blocks():
    model = SRRAClusterer(2, q=2, random_state=0).fit(12, lambda u, v: u % 2 == v % 2)
    ax = plot_cluster_pairs(model)
    assert ax.images[0].get_array()[:6, :6].all()
    assert len(ax.lines[0].get_xdata()) == len(model.pairs_)
