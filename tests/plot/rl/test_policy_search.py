"""Pictures of policy search show what they are given."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from octavo.plot import (
    plot_model_weight,
    plot_policy_kernels,
    plot_policy_search,
    plot_return_posterior,
)
from octavo.rl import Episode, GaussianLinearPolicy, TrajectoryBO


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def search():
    made = TrajectoryBO(
        GaussianLinearPolicy(1, 1), (-1, 1), RBF(0.5), lambda t: t[:, 0], noise=1e-6
    )
    for theta in (-0.5, 0.5):
        made.tell([theta], [Episode([[0.0]], [[0.0]], [theta])])
    return made


def test_curves_are_medians_of_the_best():
    ax = plot_policy_search({"a": [[1.0, 3.0, 2.0], [2.0, 1.0, 4.0], [0.0, 0.0, 9.0]]})
    assert ax.lines[0].get_ydata().tolist() == [1.0, 2.0, 4.0]


def test_belief_is_the_posterior(search):
    at = np.linspace(-1, 1, 5)
    ax = plot_return_posterior(search, at, truth=at)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), search.posterior(at[:, None]))
    assert len(ax.lines) == 4


def test_kernels_are_ordered_by_return():
    K = np.array([[1.0, 0.2], [0.2, 1.0]])
    K[0, 0] = 0.9
    axes = plot_policy_kernels({"one": K, "two": K}, [5.0, 1.0])
    assert axes[1].images[0].get_array()[1, 1] == 0.9


def test_weights(search):
    search.ask()
    assert len(plot_model_weight(search).lines[0].get_ydata()) == 2
