"""Pictures of learned Fourier features."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.kernel import GreedyFourierFeatures, GreedyFourierRegressor
from octavo.plot import plot_descents, plot_spectrum

X = np.random.default_rng(0).standard_normal((200, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_descents_are_drawn_as_roots_of_errors():
    model = GreedyFourierRegressor(2, 3, random_state=0).fit(X, Y)
    ax = plot_descents(model)
    assert len(ax.lines) == 2
    assert_allclose(ax.lines[0].get_ydata(), np.sqrt(model.descent_errors_[0]))


def test_spectrum_sums_amplitudes_or_counts():
    model = GreedyFourierRegressor(2, 3, random_state=0).fit(X, Y)
    ax = plot_spectrum(model, bins=5)
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(model.amplitudes_.sum())
    features = GreedyFourierFeatures(2, 3, random_state=0).fit(X, Y)
    ax = plot_spectrum(features, bins=5)
    assert sum(bar.get_height() for bar in ax.patches) == len(features.frequencies_)
