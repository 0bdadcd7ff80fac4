"""Pictures of searches."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Ellipse
from numpy.testing import assert_allclose

from octavo.plot import (
    plot_run_lengths,
    plot_search_distributions,
    plot_search_progress,
    plot_search_rate,
    plot_success_rate,
)
from octavo.search import minimize_nes


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result():
    return minimize_nes(
        lambda X: np.sum(X**2, axis=1), np.ones(3), vectorized=True, max_evals=200, random_state=0
    )


def test_progress_and_rate_draw_the_history(result):
    ax = plot_search_progress({"one": result})
    assert_allclose(ax.lines[0].get_ydata(), result.history["best_f"])
    assert_allclose(ax.lines[1].get_ydata(), result.history["sigma"])
    ax = plot_search_rate({"one": result})
    assert_allclose(ax.lines[0].get_ydata(), result.history["eta_sigma"])


def test_ellipse_has_the_axes_of_the_covariance():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    cov = turn @ np.diag([9.0, 1.0]) @ turn.T
    ax = plot_search_distributions([((1.0, 2.0), cov)])
    (ellipse,) = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert_allclose(ellipse.center, (1, 2))
    assert_allclose((ellipse.width, ellipse.height), (6, 2))
    assert_allclose(np.tan(np.radians(ellipse.angle)), 0.8 / 0.6)


def test_run_lengths_count_failures():
    ax = plot_run_lengths({"one": [40.0, np.nan, 20.0, np.inf]}, n_dims=10)
    assert_allclose(ax.lines[0].get_xdata(), [2, 4])
    assert_allclose(ax.lines[0].get_ydata(), [0.25, 0.5])
    assert plot_success_rate({"one": [3.0]}).get_ylabel() == "success rate"
