"""Pictures of the course's other methods show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.cluster import DoublyStochasticSpectral
from octavo.decomposition import ExactCCA
from octavo.info import MaxEntDistribution
from octavo.kernel import KernelFisherDiscriminant, KernelPCANovelty
from octavo.plot import (
    plot_affinity_eigenvalues,
    plot_canonical_variates,
    plot_discriminant_projections,
    plot_gibbs_distribution,
    plot_growth,
    plot_novelty_map,
    plot_sample_sizes,
    plot_scaled_affinity,
)
from octavo.teaching import pac_sample_size


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_growth_and_sizes():
    ax = plot_growth([1, 2, 4, 7], [1, 2, 4, 7])
    assert ax.lines[0].get_ydata().tolist() == [1, 2, 4, 8]
    assert ax.lines[2].get_ydata().tolist() == [1, 2, 4, 7]
    ax = plot_sample_sizes(lambda e, d: pac_sample_size("rectangle", eps=e, delta=d))
    assert ax.get_xscale() == "log"


def test_gibbs_bars_and_curves():
    model = MaxEntDistribution(np.arange(1.0, 7.0)[:, None]).fit([4.2])
    ax = plot_gibbs_distribution(model)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches[6:]], model.prob_)
    x = np.linspace(0, 1, 50)
    ax = plot_gibbs_distribution(MaxEntDistribution(x[:, None]).fit([0.3]), x)
    assert len(ax.lines[0].get_xdata()) == 50


def test_affinities_variates_and_maps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) + 4.0 * rng.integers(2, size=(30, 1))
    model = DoublyStochasticSpectral(2, random_state=0).fit(X)
    image = plot_scaled_affinity(model).images[0].get_array()
    np.testing.assert_allclose(image.sum(axis=1), 1.0, atol=1e-9)
    ax = plot_affinity_eigenvalues(model)
    assert ax.lines[0].get_ydata()[0] == pytest.approx(1.0)
    cca = ExactCCA().fit(X, X[:, ::-1] + rng.normal(size=(30, 2)))
    ax = plot_canonical_variates(cca, X, X)
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 0], cca.transform(X)[:, 0])
    y = (X[:, 0] > 2).astype(int)
    ax = plot_discriminant_projections(KernelFisherDiscriminant().fit(X, y), X, y)
    assert sum(bar.get_height() for bar in ax.patches) == 30
    ax = plot_novelty_map(KernelPCANovelty(5).fit(X), X, resolution=10)
    assert ax.collections
