"""What the pictures of kernel weights show is what they are given."""

import matplotlib
import numpy as np
import pytest

from octavo import plot

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_stacked_shares_add_to_one():
    ax = plot.plot_kernel_weights({"1": [3.0, 1.0], "2": [1.0, 1.0]}, ["a", "b"])
    heights = np.array([[bar.get_height() for bar in group] for group in ax.containers])
    np.testing.assert_allclose(heights, [[0.75, 0.5], [0.25, 0.5]])


def test_alignment_shows_the_matrix():
    A = np.array([[1.0, 0.3], [0.3, 1.0]])
    ax = plot.plot_kernel_alignment(A, ["a", "b"])
    np.testing.assert_array_equal(ax.images[0].get_array(), A)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]


def test_errors_convergence_times_and_widths():
    ax = plot.plot_error_by_norm({"s": [4.0, 9.0]}, [1.0, np.inf], bayes=4.0)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "∞"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [4.0, 9.0])
    ax = plot.plot_mkl_convergence({"w": [[3.0, 1.0, 2.0], [2.0, 1.5, 0.5]]})
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [2.0, 0.5])
    ax = plot.plot_mkl_times([10, 100], {"w": [0.1, 1.0]}, xlabel="kernels")
    assert ax.get_xlabel() == "kernels"
    assert ax.get_xscale() == ax.get_yscale() == "log"
    ax = plot.plot_weights_by_width({"p": [0.2, 0.8]}, [1.0, 2.0])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.2, 0.8])
