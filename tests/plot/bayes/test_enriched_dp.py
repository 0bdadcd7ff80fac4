"""Pictures of nested mixtures hold what the model holds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo import plot
from octavo.bayes import EnrichedDPClassifier, EnrichedDPRegressor
from octavo.data import make_two_regimes

X, Y = make_two_regimes(50, 2, random_state=0)


@pytest.fixture(scope="module")
def model():
    return EnrichedDPRegressor(n_iter=200, burn_in=100, random_state=0).fit(X, Y)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_partition_and_traces(model):
    ax = plot.plot_nested_partition(model, X, Y)
    assert sum(len(c.get_offsets()) for c in ax.collections) == 50
    assert np.array_equal(plot.plot_cluster_traces(model).lines[1].get_ydata(), model.k_trace_)
    with pytest.raises(ValueError, match="50 rows of fit"):
        plot.plot_nested_partition(model, X[:3], Y[:3])


def test_densities_and_bands(model):
    grid = np.linspace(1, 8, 30)
    ax = plot.plot_conditional_density(model, X[:2], grid)
    assert np.allclose(ax.lines[1].get_ydata(), model.predict_density(X[1:2], grid)[0])
    plot.plot_conditional_density(model, X[:1], grid, band=None)
    assert plot.plot_predictive_bands(model, X[:5]).get_ylabel() == "mean of y given x"
    classes = EnrichedDPClassifier(n_iter=100, burn_in=50, random_state=0).fit(X, Y > 4.5)
    assert "True" in plot.plot_predictive_bands(classes, X[:5]).get_ylabel()


def test_clusters(model):
    ax = plot.plot_co_clustering(model)
    assert ax.images[0].get_array().shape == (50, 50)
    plot.plot_co_clustering(model, nested=True)
    assert "y-clusters" in plot.plot_cluster_tree(model).get_title()
    with pytest.raises(ValueError, match="threshold"):
        plot.plot_cluster_tree(model, threshold=2.0)
