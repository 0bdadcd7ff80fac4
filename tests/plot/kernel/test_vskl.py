"""What the pictures of grouped weights show is what they are given."""

import matplotlib
import numpy as np
import pytest

from octavo import plot

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_bars_are_nested_weights():
    shares = [np.array([0.25, 0.75]), np.array([1.0])]
    ax = plot.plot_group_weights(shares, [0.5, 0.0], q=2.0, names=["a", "b"])
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, [0.5, 1.5, 0.0])  # 1/γ, and none for γ = 0
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
    ax = plot.plot_group_weights(shares, [0.5, 0.25], q=0.75)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0.125, 0.375, 0.25])


def test_gaps_are_relative_to_the_best_objective():
    history = [[4.0, 1.0, 3.0, 1.0], [5.0, 2.0, 2.0, 4.0]]
    ax = plot.plot_gap_by_machines({"m": history})
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1.0, 4.0])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.75, 0.5])


def test_accuracy_by_q():
    ax = plot.plot_accuracy_by_q([1.0, np.inf], [80.0, 82.0], {"sum": 79.0})
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "∞"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [80.0, 82.0])
