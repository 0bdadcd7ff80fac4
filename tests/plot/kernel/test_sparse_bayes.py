"""Pictures of sparse Bayes kernel machines."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from octavo.kernel import SparseBayesKernelClassifier, cusum_hairiness
from octavo.plot import (
    plot_active_surface,
    plot_active_trace,
    plot_hairiness,
    plot_inclusion,
    plot_relevance,
    plot_reliability,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X, y = make_moons(40, noise=0.2, random_state=0)
    model = SparseBayesKernelClassifier(
        ard=True, k_max=20, n_iter=60, burn_in=20, thin=2, n_chains=2, random_state=0
    )
    return model.fit(X, y), X, y


def test_a_trace_has_a_line_per_chain(fitted):
    ax = plot_active_trace(fitted[0])
    assert len(ax.lines) == 2
    assert_allclose(ax.lines[1].get_ydata(), fitted[0].traces_["n_active"][1])


def test_inclusion_shows_every_sample(fitted):
    ax = plot_inclusion(fitted[0])
    assert_allclose(ax.containers[0].lines[0].get_ydata(), fitted[0].inclusion_probs_)


def test_the_surface_has_all_samples(fitted):
    ax = plot_active_surface(*fitted, resolution=8)
    assert_allclose(ax.collections[-1].get_offsets(), fitted[1])


def test_a_perfect_forecast_lies_on_the_diagonal():
    p = np.repeat([0.05, 0.55], 20)
    y = np.concatenate([np.arange(20) < 1, np.arange(20) < 11])
    ax = plot_reliability(y, {"perfect": p})
    assert_allclose(ax.lines[1].get_xdata(), ax.lines[1].get_ydata())


def test_relevance_has_a_box_per_feature(fitted):
    ax = plot_relevance(fitted[0], names=["a", "b"])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b"]


def test_hairiness_lies_over_its_bounds():
    path, bounds = cusum_hairiness(np.random.default_rng(0).normal(size=100))
    ax = plot_hairiness(path, bounds)
    assert_allclose(ax.lines[0].get_ydata(), path)
