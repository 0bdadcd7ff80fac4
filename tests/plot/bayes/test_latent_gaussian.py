"""Pictures of latent Gaussian models show what they say."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo import plot
from octavo.bayes import LatentGaussianModel, StochasticVolatility, ar1


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def model():
    return LatentGaussianModel("probit", prior=ar1(4, 0.8)).fit([1, 0, 1, 1])


def test_one_line_per_method(model):
    ax = plot.plot_marginal_methods(model, 0, draws=model.sample(100, 0)[:, 0])
    assert [line.get_label() for line in ax.lines] == ["EP-G", "EP-L", "EP-FACT"]
    assert np.allclose(ax.lines[2].get_ydata(), model.marginal(0).pdf)


def test_correction_lies_in_the_picture_of_its_bounds(model):
    ax = plot.plot_correction_bounds(model, 0)
    assert np.allclose(ax.lines[0].get_ydata(), model.bounds(0).lower)


def test_hyper_grid_draws_every_node():
    two = LatentGaussianModel(
        "gaussian",
        prior=lambda t: np.exp(t[0]) * ar1(20, float(np.tanh(t[1]))),
        hyperprior=lambda t: -0.5 * float(t @ t),
        theta0=[0.0, 0.0],
    ).fit(np.random.default_rng(0).standard_normal(20))
    ax = plot.plot_hyper_grid(two)
    assert len(ax.collections[0].get_offsets()) == len(two.theta_grid_)


def test_hyper_grid_needs_hyper_parameters(model):
    with pytest.raises(ValueError, match="no hyper-parameters"):
        plot.plot_hyper_grid(model)


def test_maps_show_both_fields():
    mean, sd = np.arange(12.0).reshape(3, 4), np.ones((3, 4))
    axes = plot.plot_field_map(mean, sd, points=[[0, 1]])
    assert np.allclose(axes[0].images[0].get_array(), mean)
    assert np.allclose(axes[1].images[0].get_array(), sd)


def test_volatility_band():
    returns = np.random.default_rng(0).standard_normal(15)
    fitted = StochasticVolatility(method="laplace").fit(returns)
    ax = plot.plot_volatility(fitted, returns)
    assert np.allclose(ax.lines[1].get_ydata(), 2 * fitted.volatility_)
