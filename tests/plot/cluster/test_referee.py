"""Pictures of mixtures and of the referee."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans

from octavo.cluster import ClusteringReferee, make_overlap_mixture
from octavo.plot import (
    plot_mixture,
    plot_overlap_map,
    plot_parallel_distribution,
    plot_referee,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def mixture():
    return make_overlap_mixture(3, 4, max_omega=0.05, random_state=0)


def test_mixture_has_two_ellipses_a_component(mixture):
    X, y = mixture.sample(20, random_state=0)
    ax = plot_mixture(mixture, X, y, dims=(1, 3))
    assert len(ax.patches) == 6
    assert_allclose(ax.patches[0].center, mixture.means[0, [1, 3]])
    assert_allclose(ax.patches[1].width, 2 * ax.patches[0].width)
    assert_allclose(ax.collections[0].get_offsets(), X[:, [1, 3]])


def test_overlap_map_leaves_the_diagonal_out(mixture):
    overlap = mixture.overlap_map()
    shown = plot_overlap_map(overlap).images[0].get_array()
    assert np.ma.getmaskarray(np.ma.masked_invalid(shown)).diagonal().all()
    assert_allclose(shown[0, 1], overlap.omega[0, 1])


def test_parallel_distribution_is_standardised(mixture):
    ax = plot_parallel_distribution(mixture)
    middles = np.array([line.get_ydata() for line in ax.lines])
    assert middles.shape == (3, 4)
    assert_allclose(mixture.weights @ middles, 0, atol=1e-12)


def test_referee_draws_medians():
    referee = ClusteringReferee(
        {"k-means": KMeans(n_init=1)}, overlaps=[0.01, 0.1], n_datasets=3, n_samples=50
    )
    referee.run()
    line = plot_referee(referee).lines[0]
    assert_allclose(line.get_xdata(), [0.01, 0.1])
    medians = referee.summary().sort_values("overlap")["median"]
    assert_allclose(line.get_ydata(), medians)
