"""Pictures of mixed models show what the models hold."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo import plot
from octavo.bayes import HeteroscedasticAdditiveRegressor, VariationalMixedModel


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    groups, x = np.repeat(np.arange(12), 8), rng.random((96, 1))
    y = rng.poisson(np.exp(1 + x[:, 0] + rng.normal(0, 0.4, 12)[groups]))
    return VariationalMixedModel(random_slopes=[0]).fit(x, y, groups=groups)


@pytest.fixture(scope="module")
def curves():
    rng = np.random.default_rng(1)
    X = rng.random((150, 2))
    y = X[:, 0] + np.exp(X[:, 1] - 1) * rng.normal(size=150)
    return HeteroscedasticAdditiveRegressor(n_basis=4).fit(X, y), X, y


@pytest.mark.parametrize("column", [0, 1])
def test_caterpillar_is_in_ascending_order(mixed, column):
    ax = plot.plot_caterpillar(mixed, column=column)
    shown = ax.lines[0].get_xdata()
    np.testing.assert_allclose(shown, np.sort(mixed.ranef_[0][:, column]))
    assert len(ax.get_yticklabels()) == 12
    assert len(plot.plot_caterpillar(mixed, top=5).lines[0].get_xdata()) == 5


def test_density_and_draws(mixed):
    draws = mixed.sample_posterior(500, random_state=0)["coef"][:, 1]
    ax = plot.plot_posterior_density(mixed, "x0", draws)
    grid, density = ax.lines[0].get_data()
    np.testing.assert_allclose(density, mixed.posterior_pdf("x0", grid))
    assert len(ax.patches) == 60


def test_bound_still_to_be_gained_falls(mixed):
    missing = plot.plot_lower_bounds(mixed).lines[0].get_ydata()
    assert (np.diff(missing) <= 0).all()


def test_curves_fans_and_transforms(curves):
    model, X, y = curves
    axes = plot.plot_partial_effects(model)
    assert axes.shape == (2, 2)
    np.testing.assert_allclose(axes[1, 1].lines[0].get_ydata(), model.partial_effect(1, "sd")[1])
    ax = plot.plot_prediction_fan(model, X, y, feature=1)
    assert len(ax.collections) == 3
    ax = plot.plot_probability_transform(model, X, y, n_bins=5)
    np.testing.assert_allclose(sum(p.get_height() for p in ax.patches) / 5, 1.0)
