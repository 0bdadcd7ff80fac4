"""What the pictures of subspaces show is what the objects hold."""

import matplotlib
import numpy as np
import pytest

from octavo import plot

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_spectrum_is_decreasing_and_shows_the_gap():
    ax = plot.plot_precision_spectrum([0.0, 1e-9, 0.2, 0.8], n_components=2, label="Q")
    drawn = ax.get_lines()[0].get_ydata()
    np.testing.assert_allclose(drawn, [0.8, 0.2, 1e-9, 0.8 * np.finfo(float).eps])
    assert ax.get_yscale() == "log"
    assert "dimension 2" in ax.get_title()
    assert plot.plot_precision_spectrum([0.5, 0.5]).get_title() == ""


def test_histogram_counts_every_row():
    distances = np.r_[np.zeros(30), np.ones(20)]
    ax = plot.plot_residual_histogram(distances, distances == 0)
    counts = [sum(bar.get_height() for bar in group) for group in ax.containers]
    assert counts == [30, 20]
    assert sum(bar.get_height() for bar in plot.plot_residual_histogram(distances).patches) == 50


def test_recovery_map():
    ax = plot.plot_recovery_map([0.1, 0.2, 0.3], [0.2, 0.5], [[1, 1, 0.5], [1, 0, 0]])
    np.testing.assert_allclose(ax.collections[0].get_array().ravel(), [1, 1, 0.5, 1, 0, 0])


def test_descent_ends_at_rounding():
    ax = plot.plot_objective_descent({"a": [2.0, 1.5, 1.0], "b": [3.0, 1.0]})
    lines = ax.get_lines()
    np.testing.assert_allclose(lines[0].get_ydata()[:2], [1.0, 0.5])
    assert len(lines) == 2
    assert plot.plot_objective_descent([2.0, 1.0]).get_legend() is None


def test_background():
    axes = plot.plot_background(np.arange(6.0), np.ones(6), (2, 3))
    np.testing.assert_allclose(axes[2].images[0].get_array(), [[1, 0, 1], [2, 3, 4]])
    assert [ax.get_title() for ax in axes] == ["frame", "background", "foreground"]


def test_ellipses_have_the_ratio_of_axes_and_the_same_area():
    X = np.random.default_rng(0).standard_normal((50, 2))
    ax = plot.plot_shape_ellipses(X, {"round": np.eye(2), "long": np.diag([9.0, 1.0])})
    one, other = ax.patches
    assert other.width / other.height == pytest.approx(3.0)
    assert one.width * one.height == pytest.approx(other.width * other.height)
