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
    ax = plot.plot_predictive_bands(model, X[:5])
    assert ax.get_ylabel() == "mean of y given x"
    assert np.allclose(ax.lines[0].get_xydata(), np.column_stack([X[:5, 0], model.predict(X[:5])]))
    bars = np.array(ax.collections[0].get_segments())[:, :, 1]
    assert np.allclose(bars.T, model.predict_interval(X[:5], 0.95, target="mean"))
    classes = EnrichedDPClassifier(n_iter=100, burn_in=50, random_state=0).fit(X, Y > 4.5)
    assert "True" in plot.plot_predictive_bands(classes, X[:5]).get_ylabel()


def test_clusters(model):
    ax = plot.plot_co_clustering(model)
    shown, whole = ax.images[0].get_array(), model.co_clustering_y_
    assert np.allclose(np.sort(shown.ravel()), np.sort(whole.ravel()))
    ends = np.cumsum(np.bincount(model.y_partition_))
    for k, (size, end) in enumerate(zip(np.diff(ends, prepend=0), ends)):  # clusters lie together
        own = model.y_partition_ == k
        assert shown[end - size : end, end - size : end].sum() == pytest.approx(
            whole[np.ix_(own, own)].sum()
        )
    nested = plot.plot_co_clustering(model, nested=True).images[0].get_array()
    assert np.allclose(np.sort(nested.ravel()), np.sort(model.co_clustering_x_.ravel()))
    assert "y-clusters" in plot.plot_cluster_tree(model).get_title()
    with pytest.raises(ValueError, match="threshold"):
        plot.plot_cluster_tree(model, threshold=2.0)
